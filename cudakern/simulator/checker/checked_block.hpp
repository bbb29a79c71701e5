// SPDX-License-Identifier: MIT
// What the checker keeps about the threads of a resident block.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "containers.hpp"
#include "events.hpp"
#include "runtime.hpp"

namespace ck_sim {

constexpr int kLanes = kWarpSize;
constexpr int kScopes = 3;  // as far as they differ on one device: block, cluster, all

/// The accesses to four bytes of memory: who wrote last, and two who read since. See shadow.hpp.
struct Cell {
  uint64_t write;
  uint64_t read[2];
};

struct Knowledge;
struct Release;
struct WarpTimes;

/// Entries of a channel that a thread has taken already, so that polling does not pile them up.
struct Taken {
  const void* channel;
  size_t first, count;
  Scope scope;
};

/// What a thread knows about the others: which of their accesses came before its own. Times count a
/// thread's releases; see order.hpp.
struct ThreadOrder {
  uint32_t time;
  uint32_t known[kLanes];      // the time up to which each lane of the warp is known
  const WarpTimes* published;  // `known`, as others can keep it; null if it has changed
  const Knowledge* knowledge;  // what came from other warps and blocks by acquiring
  Knowledge* seen;             // what relaxed reads saw: known from the next fence on
  Knowledge* spare;            // of those lists, to be used again
  Taken taken[2];
  const Release* released;        // the latest release
  const Release* fence[kScopes];  // what the latest fence of at least each scope released
  bool dirty;                     // it accessed memory since its latest release
};

struct CheckedBlock {
  uint64_t serial;  // of the block in the order of starts, counted over all launches
  uint64_t first;   // of the first block of its cluster
  uint32_t base;    // all accesses of the block before this time came before a barrier
  Cell* cells;      // of its shared memory
  size_t cell_count;
  ThreadOrder order[kMaxThreads];
  // What fences of all threads released by the latest barrier, for each scope.
  Vector<const Release*> fenced[kScopes];
  // For the traffic report.
  Events events[kMaxThreads];
  Vector<uint32_t> executions;  // see executions.hpp
};

}  // namespace ck_sim
