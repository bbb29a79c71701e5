// How a launch begins, in both libraries.
#pragma once

#include "device_heap.hpp"
#include "printing.hpp"
#include "workers.hpp"

/// The shape of a launch, and which of its blocks run side by side.
struct ck_sim_shape {
  uint32_t grid[3];       // blocks; a multiple of the kernel's cluster
  uint32_t block[3];      // threads
  uint32_t shared_bytes;  // dynamic
  uint32_t resident;      // blocks that run side by side; a checked launch has them in its options
  uint32_t eager;         // whether all of those start at once
  uint32_t grows;         // whether more blocks run when all of those wait for another one
  uint32_t cooperative;   // whether all blocks of the grid must be resident
};

CK_SIM_OWN const ck_sim::View* ck_sim_current = nullptr;

namespace ck_sim {

constexpr uint32_t kMaxParameterBytes = 32764;
constexpr uint32_t kMaxWorkers = 256;
// Stacks of one launch: each is two mappings, and a process has at most 65530 of those by default.
constexpr uint32_t kMaxStacks = 8192;

inline uint32_t launches = 0;

/// A launch's copy of its parameters.
struct Parameters {
  alignas(64) char bytes[kMaxParameterBytes];
  void* addresses[kMaxParameterBytes / 8];
};

/// Copies the parameters, the i-th one at byte `offsets[i]`.
inline void copy_parameters(Launch* launch, Parameters* copy, const void* parameters,
                            uint32_t bytes, const uint32_t* offsets, uint32_t count) {
  memcpy(copy->bytes, parameters, bytes);
  for (uint32_t i = 0; i < count; ++i) {
    copy->addresses[i] = copy->bytes + offsets[i];
  }
  launch->parameters = copy->addresses;
}

/// Begins a launch that Python has held against a GPU's limits; false if it is refused.
inline bool accept_launch(Launch* launch, const ck_sim_kernel* kernel, const ck_sim_shape* shape,
                          ck_sim_report* report) {
  const uint32_t* cluster = kernel->cluster;
  launch->kernel = kernel;
  launch->entry = kernel->entry;
  launch->grid = {shape->grid[0], shape->grid[1], shape->grid[2]};
  launch->block = {shape->block[0], shape->block[1], shape->block[2]};
  launch->cluster = {1, 1, 1};
  launch->threads = shape->block[0] * shape->block[1] * shape->block[2];
  launch->ranks = 1;
  launch->shared_bytes = shape->shared_bytes;
  launch->blocks = count_blocks(launch->grid);
  launch->cooperative = shape->cooperative != 0;
  launch->id = __atomic_fetch_add(&launches, 1, __ATOMIC_RELAXED);
  launch->report = report;
  launch->active = 1;
  if (cluster[0] != 0) {
    launch->cluster = {cluster[0], cluster[1], cluster[2]};
    launch->ranks = cluster[0] * cluster[1] * cluster[2];
  }
  return launch->ranks <= kMaxRanks ||
         refuse(launch, "the grid must be a multiple of the kernel's cluster of 1 to 16 blocks");
}

/// Decides how many blocks run side by side: `wanted`, or all of a cluster at least; up to `most`
/// when all of those wait for another one. False if a cooperative launch does not find room.
inline bool count_workers(Launch* launch, uint64_t wanted, uint64_t most) {
  uint64_t limit = kMaxStacks / launch->threads;
  limit = limit < kMaxWorkers ? limit : kMaxWorkers;
  limit = limit < launch->ranks ? launch->ranks : limit;
  limit = limit < launch->blocks ? limit : launch->blocks;
  wanted = wanted < launch->ranks ? launch->ranks : wanted;
  wanted = wanted < limit ? wanted : limit;
  most = launch->cooperative ? limit : most < wanted ? wanted : most;
  launch->max_workers = static_cast<uint32_t>(wanted);
  launch->most_workers = static_cast<uint32_t>(most < limit ? most : limit);
  if (launch->cooperative && limit < launch->blocks) {
    char message[200];
    snprintf(message, sizeof message,
             "all blocks of a cooperative launch must be resident; there is room for %u of %llu",
             launch->most_workers, static_cast<unsigned long long>(launch->blocks));
    return refuse(launch, message);
  }
  return true;
}

// A process that forks while another of its threads launches: the child must not find a lock held
// that nobody will release.
inline pthread_mutex_t* const all_locks[] = {&heap.lock, &wide_lock, &workers_lock, &fibers_lock,
                                             &guards_lock};
inline void lock_all() {
  for (pthread_mutex_t* lock : all_locks) {
    pthread_mutex_lock(lock);
  }
}
inline void unlock_all() {
  for (pthread_mutex_t* lock : all_locks) {
    pthread_mutex_unlock(lock);
  }
}
__attribute__((constructor)) static void watch_forks() {
  pthread_atfork(lock_all, unlock_all, unlock_all);
}

}  // namespace ck_sim
