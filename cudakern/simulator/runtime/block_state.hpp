// SPDX-License-Identifier: MIT
// What is kept about the block that runs.
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "runtime_api.hpp"

namespace ck_sim {

constexpr uint32_t kMaxRanks = 16;  // of a cluster

/// Something that a thread has begun and that has not happened yet; see mbarrier.hpp.
struct Copy {
  enum Kind { kGroup, kBulk, kArrival } kind;
  char* to;  // null if no bytes must move
  const char* from;
  uint32_t bytes, size;  // to write; to read
  char* mbarrier;
  uint32_t group;
  const Site* site;
  uint64_t mark;  // the checker's
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

struct Warp {
  unsigned exited;  // lanes of the running block
  unsigned absent;  // the lane that a collective was last found to lack
};

/// A barrier of a block, while threads are on their way to it.
struct BlockBarrier {
  uint32_t arrived;  // threads
  uint32_t threads;  // that must arrive, as the first one said; 0 for all
  uint32_t holding;  // predicates
  Barrier kind;
  const Site* site;                         // of the first one, ...
  const View* first;                        // ... and who that is
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
  char keys[2];   // whose addresses stand for an even and an odd phase in the order of accesses
};

}  // namespace ck_sim
