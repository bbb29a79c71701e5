// How a launch begins, in both libraries.
#pragma once

#include "approximations.hpp"
#include "device_heap.hpp"
#include "printing.hpp"
#include "workers.hpp"

/// The shape of a launch, and how many of its blocks run side by side.
struct ck_sim_shape {
  uint32_t grid[3];       // blocks; a multiple of the kernel's cluster
  uint32_t block[3];      // threads
  uint32_t shared_bytes;  // dynamic
  // Of plain launches; checked ones have options instead.
  uint32_t resident;     // blocks that run side by side, each on an OS thread
  uint32_t eager;        // whether all of those start at once
  uint32_t grows;        // whether more blocks run when all of those wait for another one
  uint32_t cooperative;  // whether all blocks of the grid must be resident
  uint32_t apart;        // in regions: whether each thread goes on alone, which is slow
};

CK_SIM_OWN const ck_sim::View* ck_sim_current = nullptr;

namespace ck_sim {

inline uint32_t launches = 0;

/// Copies the parameters, of which number i is at byte `offsets[i]`; false without memory. The copy
/// is not on the stack: threads of the program may have small ones.
inline bool copy_parameters(Launch* launch, const void* parameters, uint32_t bytes,
                            const uint32_t* offsets, uint32_t count) {
  const size_t line = 64, room = (bytes + line - 1) / line * line;
  launch->parameter_bytes = static_cast<char*>(aligned_alloc(line, room + line * (count / 8 + 1)));
  if (launch->parameter_bytes == nullptr) {
    return refuse(launch, "a launch needs more memory than there is", "out_of_memory");
  }
  launch->parameters = reinterpret_cast<void**>(launch->parameter_bytes + room);
  memcpy(launch->parameter_bytes, parameters, bytes);
  for (uint32_t i = 0; i < count; ++i) {
    launch->parameters[i] = launch->parameter_bytes + offsets[i];
  }
  return true;
}

/// Begins a launch that Python has checked against the limits of a GPU; false if it is refused.
inline bool accept_launch(Launch* launch, const ck_sim_kernel* kernel, const ck_sim_shape* shape) {
  const uint32_t* cluster = kernel->cluster;
  launch->kernel = kernel;
  launch->grid = {shape->grid[0], shape->grid[1], shape->grid[2]};
  launch->block = {shape->block[0], shape->block[1], shape->block[2]};
  launch->cluster = cluster[0] == 0 ? Index3{1, 1, 1} : Index3{cluster[0], cluster[1], cluster[2]};
  launch->threads = shape->block[0] * shape->block[1] * shape->block[2];
  launch->ranks = launch->cluster.x * launch->cluster.y * launch->cluster.z;
  launch->shared_bytes = shape->shared_bytes;
  launch->blocks = count_blocks(launch->grid);
  launch->cooperative = shape->cooperative != 0;
  launch->apart = shape->apart != 0;
  launch->id = __atomic_fetch_add(&launches, 1, __ATOMIC_RELAXED);
  launch->active = 1;
  return launch->ranks <= kMaxRanks ||
         refuse(launch, "the grid must be a multiple of the kernel's cluster of 1 to 16 blocks");
}

/// Decides how many blocks run side by side: `wanted` at first, and up to `most` when these wait
/// for another one, as far as they fit. False if the blocks of a cooperative launch do not fit.
inline bool count_resident(Launch* launch, uint64_t wanted, uint64_t most) {
  const uint64_t ranks = launch->ranks;
  const uint64_t fits = most_resident_blocks(*launch);
  const uint64_t limit = fits < launch->blocks ? fits : launch->blocks;
  wanted = wanted < limit ? wanted / ranks * ranks : limit;
  wanted = launch->cooperative ? limit : wanted < ranks ? ranks : wanted;
  launch->wanted = static_cast<uint32_t>(wanted);
  most = most < wanted ? wanted : most;
  launch->most_resident = static_cast<uint32_t>(most < limit ? most : limit);
  launch->capped = launch->most_resident < limit;
  if (launch->cooperative && limit < launch->blocks) {
    char message[200];
    snprintf(message, sizeof message,
             "all blocks of a cooperative launch must be resident; there is room for %u of %llu",
             launch->wanted, static_cast<unsigned long long>(launch->blocks));
    return refuse(launch, message);
  }
  return true;
}

// A process may fork while another of its threads launches. In the child, nobody releases a lock.
inline pthread_mutex_t* const all_locks[] = {&heap.lock, &wide_lock, &workers_lock, &fibers_lock,
                                             &copies_lock};
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
/// The child of a fork has no timers, and no other threads' launches, whose copies stay in use.
inline void begin_fork() {
  copies_in_use = nullptr;
  unlock_all();
  ++forks;
  ticker.has_timer = ticker.set = false;
}
__attribute__((constructor)) static void watch_forks() {
  pthread_atfork(lock_all, unlock_all, begin_fork);
}

}  // namespace ck_sim

/// Fills in the sites of a library, from six numbers for each: file, line, opcode, stack, access
/// and column. A text is given by its offset in `texts`, or as 0 if there is none.
CK_SIM_EXPORT void ck_sim_fill_sites(ck_sim::Site* site, const char* numbers, const char* texts) {
  const auto number = [&numbers] {
    uint32_t value = 0;
    for (; *numbers >= '0'; ++numbers) value = 10 * value + static_cast<uint32_t>(*numbers - '0');
    numbers += *numbers != 0;
    return value;
  };
  const auto text = [&] {
    const uint32_t offset = number();
    return offset == 0 ? nullptr : texts + offset;
  };
  for (; *numbers != 0; ++site) {
    site->file = text();
    site->line = static_cast<int>(number());
    site->opcode = text();
    site->stack = text();
    site->access = number();
    site->column = number();
  }
}

/// Connects a runtime with Python, which handles signals, and with `shared`: memory that all
/// runtimes of a process share, `kSharedBytes` that live as long as the process.
CK_SIM_EXPORT void ck_sim_connect(const ck_sim_python* python, void* shared) {
  ck_sim::python = *python;
  ck_sim::join_simulators(static_cast<ck_sim::SharedSignals*>(shared));
}
