// SPDX-License-Identifier: MIT
// The state of a launch: its workers, the threads of the block that a worker runs, and what they
// wait for.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "context.hpp"
#include "faults.hpp"
#include "runtime.hpp"
#include "runtime_api.hpp"
#include "stacks.hpp"
#ifdef CK_SIM_CHECKED
#include "checked_block.hpp"
#endif

/// What a failed launch leaves behind. The engine knows its layout.
struct ck_sim_report {
  char kind[32];
  char message[480];
  uint32_t block[3];
  uint32_t thread[3];
};

namespace ck_sim {

constexpr int kWarpSize = 32;
constexpr uint32_t kMaxRanks = 16;  // of a cluster
constexpr uint32_t kMaxThreads = 1024;
// Every lane can have one result that it has not read yet; one more is being written.
constexpr int kResults = kWarpSize + 1;

/// Something that a thread has begun and that has not happened yet; see copies.hpp.
struct Copy {
  enum Kind { kGroup, kBulk, kArrival } kind;
  char* to;
  const char* from;
  uint32_t bytes, size;  // to write; to read
  char* mbarrier;
  uint32_t group;
};

/// Those of a thread, in the order in which they began.
struct Copies {
  Copy* items;
  uint32_t count, capacity;
  uint32_t group, bulk_group;  // that are open
};

/// The addresses of a block's shared memory.
struct Window {
  char* start;
  uint64_t bytes;  // reserved
  uint64_t open;   // accessible, from the start
};

/// What a collective gave to its lanes.
struct Result {
  uint64_t values[kWarpSize];
  int unread;
};

struct Warp {
  Result results[kResults];
  unsigned exited;  // lanes of the running block
  unsigned absent;  // the lane that a collective was last found to lack
};

enum class State { kReady, kBarrier, kCollective, kConverge, kDone, kFresh };

struct Thread {
  View view;
  State state;
  Fiber* fiber;  // while it runs or waits
  Site site;     // where it waits
  Barrier kind;
  int predicate;
  unsigned mask;
  uint64_t value;
  Result* result;
  const void* polled;  // the last address it read as volatile
  unsigned polls;
  const void* code;  // of that read
  // Of kernels translated from PTX. What it waits at: a barrier's number, or what it gave its warp.
  unsigned barrier;
  void* data;
  unsigned updates;  // by atomics
  uint32_t cluster_phase;
  bool cluster_arrived;
  Copies copies;
};

/// A barrier of a block, while threads are on their way to it.
struct BlockBarrier {
  uint32_t arrived;  // threads
  uint32_t threads;  // that must arrive, as the first one said; 0 for all
  uint32_t holding;  // predicates
  Barrier kind;
  Site site;                                // of the first one
  uint32_t lanes[kMaxThreads / kWarpSize];  // that have arrived, of each warp
};
constexpr int kBarriers = 16;

/// Blocks that run side by side and reach each other's shared memory.
struct Cluster {
  pthread_mutex_t lock;
  uint64_t first_block;
  uint32_t ranks, resident, left;  // blocks: of it, that run or ran, that have not ended
  char* windows[kMaxRanks];
  // Its barrier.
  uint32_t phase, arrived, exited;
  uint32_t gone;  // threads that arrived in this phase and exited
};

struct Launch {
  void (*entry)(void**);
  const ck_sim_kernel* kernel;  // null if it is not translated from PTX
  void** parameters;
  Index3 grid, block;
  uint32_t threads;
  uint32_t shared_bytes, static_bytes;  // dynamic and static
  uint64_t blocks;
  Index3 cluster;  // its size in blocks
  uint32_t id;     // among those of the process
#ifdef CK_SIM_CHECKED
  uint64_t first_serial;  // of its blocks
#endif
  bool cooperative;                    // whether all blocks must be resident
  uint64_t start;                      // nanoseconds
  uint32_t max_workers, most_workers;  // at first, and when all wait for a block nobody runs
  pthread_t* helper_threads;
  ck_sim_report* report;
  int failed;
  // Touched by the first worker only: whether the others, the helpers, were called, and how many
  // came.
  bool helped;
  uint32_t helpers;
  // Written while others read what is above: on cache lines of their own.
  alignas(64) uint64_t next_block;
  uint32_t workers;  // that have come
  pthread_mutex_t cluster_lock;
  Cluster* open_cluster;  // the one that lacks blocks
  alignas(64) uint32_t workspace[2];
  alignas(64) uint64_t progress;  // grows whenever a waiting thread could perhaps go on
  uint64_t stuck, confirmed;      // see watch.hpp
  int active;                     // workers
};

/// Runs one block at a time on one OS thread.
struct Worker {
  Launch* launch;
  bool first;  // the one on the launching thread
  Context scheduler;
  Group group;
  Thread* running;
  Fiber* idle_fibers;
  uint32_t next_fresh, done, arrived, converging;
  int barrier_result;
  uint32_t waiting;  // at collectives and barriers of PTX, at most
  uint32_t changes;  // of memory that others may wait for, not yet told to the launch
  uint32_t later;    // copies and arrivals that an mbarrier waits for, at most
  Cluster* cluster;
  FaultGuard guard;
  // Below is kept from launch to launch.
  Worker* next;
  Index3 block;  // the views of `threads` are those of a block of this size
  uint32_t shared_bytes;
  char* shared;
  Window window;
  Cluster alone;  // of a kernel without clusters
  BlockBarrier barriers[kBarriers];
  uint32_t barriers_used;  // by the running block, a bit each
  char* text;              // what printf prints
  size_t text_bytes, text_capacity;
  Thread threads[kMaxThreads];
  Warp warps[kMaxThreads / kWarpSize];
#ifdef CK_SIM_CHECKED
  uint16_t order[kMaxThreads];  // in which threads start
  CheckedBlock checked;
#endif
};

inline CK_SIM_OWN Worker* worker = nullptr;
inline int printed = 0;  // whether printf has run since standard output was flushed

inline uint64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

/// The place of a block in its grid.
inline Index3 block_at(const Launch* launch, uint64_t block) {
  return {static_cast<unsigned>(block % launch->grid.x),
          static_cast<unsigned>(block / launch->grid.x % launch->grid.y),
          static_cast<unsigned>(block / launch->grid.x / launch->grid.y)};
}

/// A launch of `shape`: grid (3), block (3), bytes of dynamic shared memory.
inline Launch make_launch(void (*entry)(void**), void** parameters, const uint32_t* shape,
                          ck_sim_report* report) {
  Launch launch = {};
  launch.entry = entry;
  launch.parameters = parameters;
  launch.grid = {shape[0], shape[1], shape[2]};
  launch.block = {shape[3], shape[4], shape[5]};
  launch.threads = shape[3] * shape[4] * shape[5];
  launch.shared_bytes = shape[6];
  launch.blocks = static_cast<uint64_t>(shape[0]) * shape[1] * shape[2];
  launch.cluster = {1, 1, 1};
  pthread_mutex_init(&launch.cluster_lock, nullptr);
  launch.report = report;
  launch.active = 1;
  return launch;
}

/// Ends the launch; the first failure is the one that is reported.
inline void fail(Launch* launch, const char* kind, const View& view, const char* message) {
  int expected = 0;
  if (__atomic_compare_exchange_n(&launch->failed, &expected, 1, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    ck_sim_report* report = launch->report;
    snprintf(report->kind, sizeof report->kind, "%s", kind);
    snprintf(report->message, sizeof report->message, "%s", message);
    memcpy(report->block, &view.group->block, sizeof report->block);
    memcpy(report->thread, &view.thread, sizeof report->thread);
  }
}

/// Starts workers up to `max_workers`. Called by the first one only.
void call_helpers(Launch* launch);
/// Called when a thread has run to its end and another starts on its stack.
void thread_ended(Worker* w);
/// Called when a thread of a kernel translated from PTX has run to its end.
void translated_ended(Worker* w, Thread* thread);

inline bool has_failed(const Launch* launch) {
  return __atomic_load_n(&launch->failed, __ATOMIC_RELAXED) != 0;
}

inline void note_progress(Launch* launch) {
  __atomic_fetch_add(&launch->progress, 1, __ATOMIC_SEQ_CST);
}

/// Leaves the running thread; returns when the scheduler takes it up again.
inline void suspend(Worker* w, Thread* thread) {
  switch_context(&thread->fiber->context, &w->scheduler);
}

}  // namespace ck_sim
