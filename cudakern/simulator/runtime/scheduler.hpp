// The state of a launch: its workers, the threads of their blocks, and what these wait for.
#pragma once

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "context.hpp"
#include "faults.hpp"
#include "runtime_api.hpp"
#include "stacks.hpp"
#ifdef CK_SIM_CHECKED
#include "checked_block.hpp"
#endif

/// What a failed launch leaves. The engine knows its layout.
struct ck_sim_report {
  char kind[32];
  char message[480];
  uint32_t block[3];
  uint32_t thread[3];
  const ck_sim::Site* site;  // where it failed; may be null
  uint32_t nowhere;          // whether block and thread are unknown
  void* raised[3];           // an exception of Python: its type, itself, its traceback; or nulls
};

namespace ck_sim {

struct GuardedArrays;

constexpr uint32_t kMaxRanks = 16;  // of a cluster

/// An asynchronous copy that has not happened yet, or an arrival after some; see mbarrier.hpp.
struct Copy {
  enum Kind { kGroup, kBulk, kArrival } kind;
  char* to;  // null if no bytes may move
  const char* from;
  uint32_t bytes, size;  // to write; to read
  char* mbarrier;
  uint32_t group;
  const Site* site;
  uint64_t mark;   // the checker's
  bool undefined;  // the checker's: whether some bytes of the source are
};

/// The copies of a thread, in the order in which they began.
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

/// The offset of an address in a window; at least its `bytes` if the address is elsewhere.
inline uint64_t window_offset(const Window& window, const void* address) {
  return static_cast<uint64_t>(static_cast<const char*>(address) - window.start);
}

struct Warp {
  unsigned exited;  // lanes of the running block
  unsigned absent;  // the lane that a collective lacked last
  // In regions: whether its lanes go on one by one. If not, from which point they go on, and
  // whether they wait there at a barrier.
  bool apart, waits;
  uint16_t point;
};

/// A barrier of a block, while threads are on their way to it.
struct BlockBarrier {
  uint32_t arrived;  // threads
  uint32_t threads;  // that must arrive, as the first one said; 0 for all
  uint32_t aligned;  // warps, a bit each, whose lanes must come together
  Barrier kind;
  const Site* site;                         // of the first one, ...
  const View* first;                        // ... and that thread
  uint32_t lanes[kMaxThreads / kWarpSize];  // that have arrived, of each warp
};
constexpr int kBarriers = 16;

struct Worker;

/// Blocks that run side by side, on one OS thread, and reach each other's shared memory.
struct Cluster {
  uint32_t ranks, left;  // its blocks; those that have not ended
  Worker* workers[kMaxRanks];
  char* windows[kMaxRanks];
  // Its barrier.
  uint32_t phase, arrived, exited;
  uint32_t gone;  // threads that arrived in this phase and have exited
  char keys[2];   // their addresses stand for an even and an odd phase in the order of accesses
};

enum class State { kDone, kReady, kBarrier, kCollective, kConverge };

struct Thread {
  View view;
  State state;   // kDone before it starts, too
  Fiber* fiber;  // while it runs or waits
  // Where it waits: a site, the number of a barrier, or what it gave its warp.
  const Site* site;
  unsigned barrier;
  int predicate;  // what it gave the barrier, then the result
  unsigned mask;
  bool turns;  // whether it is in a loop that does nothing else
  void* data;
  ck_sim_warp_function function;
  const void* polled;  // the last address that it read and others may write
  unsigned polls;
  unsigned updates;  // by atomics
  uint32_t cluster_phase;
  bool cluster_arrived;
  Copies copies;
#ifdef CK_SIM_CHECKED
  ck_sim_local* locals;  // the innermost one
#endif
};

struct Launch {
  const ck_sim_kernel* kernel;
  char* parameter_bytes;        // a copy
  void** parameters;            // the address of each in it
  Index3 grid, block, cluster;  // cluster: its size in blocks
  uint32_t threads, ranks;      // of a block; blocks of a cluster
  uint32_t shared_bytes;        // dynamic
  uint64_t blocks;              // that run: of the whole grid, unless it is sampled
  uint32_t id;                  // its number in the process
  bool cooperative;             // whether all blocks must be resident
  bool strict;                  // whether exited threads must not count at barriers
  bool apart;                   // whether each thread goes on by itself in regions
  uint64_t start;               // nanoseconds
  uint32_t forks;               // see ticks.hpp
  pthread_t* helper_threads;
  // Used by the first runner only: whether it called the others, its helpers, and how many came.
  bool helped;
  uint32_t helpers;
  uint32_t runners;  // how many OS threads may run it, if it is plain
  // How many blocks run side by side, in whole clusters: as long as none has to wait for one that
  // does not run, and at most.
  uint32_t wanted, most_resident;
  bool capped;  // whether the GPU has room for more
  ck_sim_report* report;
  GuardedArrays* arrays;  // null if all are worked on in place
  int failed;
  // What is written while others read what is above: on cache lines of its own.
  alignas(64) uint64_t next_block;
  uint32_t resident;  // blocks
  uint32_t workers;   // that have come
  alignas(64) uint32_t workspace[2];
  alignas(64) uint64_t progress;     // grows whenever a waiting thread could perhaps go on
  uint64_t quiet, stuck, confirmed;  // see watch.hpp
  uint32_t clusters_each;            // how many clusters each runner may have resident
  int active;                        // runners
};

/// An OS thread that runs resident blocks in turns.
struct Runner {
  Launch* launch;
  bool first;  // the launching thread
  FaultGuard guard;
  // See ticks.hpp: whether it is to look after its launch, and whether it left a thread for that.
  bool looks, left;
};

/// Runs a resident block, and then others.
struct Worker {
  Launch* launch;
  Runner* runner;
  Context scheduler;
  Group group;
  Thread* running;
  Fiber* fiber;  // of the running thread, or of the block in regions
  Fiber* idle_fibers;
  uint32_t next_fresh, done, converging;
  uint32_t waiting;  // threads at collectives and barriers, at most
  uint32_t changes;  // of memory that others may wait for, since it last noted progress
  uint32_t later;    // copies and arrivals that an mbarrier waits for, at most
  bool copies;       // whether a thread of the block has begun any
  // In regions: whose turn it is in a round, and what has happened in it.
  uint32_t next_warp, next_lane;
  bool ran, moved;
  uint32_t ended;  // threads before the round
  uint32_t rounds;
  uint32_t goes;  // how often teams have gone on at once
  uint32_t turn;  // the number of the running thread
  bool yields;    // whether that thread is to let others run
  bool turning;   // whether it does so in the middle of a loop
  Cluster* cluster;
  // Below is kept from launch to launch.
  Worker* next;
  Index3 block;  // the views of `threads` are those of a block of this size
  Thread threads[kMaxThreads];
  Warp warps[kMaxThreads / kWarpSize];
  Window window;
  Cluster alone;                 // of a kernel without clusters
  uint16_t points[kMaxThreads];  // in regions: where threads are left, ...
  char* saved;                   // ... and what they keep there
  uint64_t saved_bytes;
  BlockBarrier barriers[kBarriers];
  uint32_t barriers_used;  // by the block, a bit each
  char* text;              // what printf prints
  size_t text_bytes, text_capacity;
#ifdef CK_SIM_CHECKED
  uint16_t order[kMaxThreads];  // in which threads take turns
  CheckedBlock checked;
#endif
};

inline CK_SIM_OWN Worker* worker = nullptr;
inline int printed = 0;  // whether a kernel has printed since standard output was flushed

inline uint64_t nanoseconds(clockid_t clock = CLOCK_MONOTONIC) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

inline uint64_t count_blocks(const Index3& grid) { return uint64_t{grid.x} * grid.y * grid.z; }

/// Whether a worker has a block that has not ended.
inline bool is_running(const Worker* w) { return w->done < w->launch->threads; }

/// The index of number `i` in a grid of this size.
inline Index3 unravel_index(const Index3& size, uint64_t i) {
  return {static_cast<unsigned>(i % size.x), static_cast<unsigned>(i / size.x % size.y),
          static_cast<unsigned>(i / size.x / size.y)};
}

/// The end of a message without a line. A checked launch knows the line, as it checks each access.
#ifdef CK_SIM_CHECKED
constexpr char kWhereLine[] = "";
#else
constexpr char kWhereLine[] = ": run it inside of cudakern.simulator.checked() for the line";
#endif

/// Fails the launch. Only its first failure is reported. `site` may be null.
__attribute__((format(printf, 5, 6))) inline void fail(Launch* launch, const char* kind,
                                                       const View& view, const Site* site,
                                                       const char* format, ...) {
  int expected = 0;
  if (__atomic_compare_exchange_n(&launch->failed, &expected, 1, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    ck_sim_report* report = launch->report;
    snprintf(report->kind, sizeof report->kind, "%s", kind);
    va_list values;
    va_start(values, format);
    vsnprintf(report->message, sizeof report->message, format, values);
    va_end(values);
    memcpy(report->block, &view.group->block, sizeof report->block);
    memcpy(report->thread, &view.thread, sizeof report->thread);
    report->site = site;
  }
}

/// Fails a launch that the runtime cannot run.
inline bool refuse(Launch* launch, const char* message, const char* kind = "launch") {
  const Group group = {};
  fail(launch, kind, {{0, 0, 0}, 0, 0, &group}, nullptr, "%s", message);
  return false;
}

// What the plain and the checked runtime do in their own ways.

/// Is called when a thread has ended and before another one starts on its stack.
void thread_ended(Worker* w);
/// The thread of the block to start after `next_fresh` others.
Thread* next_thread(Worker* w);

inline bool has_failed(const Launch* launch) {
  return __atomic_load_n(&launch->failed, __ATOMIC_RELAXED) != 0;
}

inline void note_progress(Launch* launch) {
  __atomic_fetch_add(&launch->progress, 1, __ATOMIC_SEQ_CST);
}

/// Leaves the running thread. Returns when the scheduler resumes it.
inline void suspend(Worker* w) {
  if (kChecked || w->launch->kernel->flushes == 0) {
    switch_context(&w->fiber->context, &w->scheduler);
    return;
  }
  const FloatControl others(false);
  switch_context(&w->fiber->context, &w->scheduler);
}

/// Whether loops run the threads of a block; see regions.hpp.
inline bool in_regions(const Launch* launch) {
  return !kChecked && launch->kernel->in_regions != 0;
}

/// The worker of this OS thread, when a kernel calls the runtime.
inline Worker* current() {
  Worker* const w = worker;
  if (in_regions(w->launch)) {
    w->running = &w->threads[w->turn];
  }
  return w;
}

}  // namespace ck_sim
