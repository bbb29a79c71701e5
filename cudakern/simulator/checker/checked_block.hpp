// SPDX-License-Identifier: MIT
// What the checker keeps about the threads of a resident block.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "containers.hpp"
#include "runtime.hpp"

namespace ck_sim {

constexpr int kLanes = kWarpSize;
constexpr int kMostThreads = kMaxThreads;

// Every lane can have one result that it has not read yet; one more is being written.
constexpr int kResults = kLanes + 1;

/// What a collective gave to its lanes.
struct Result {
  uint64_t values[kLanes];
  int unread;
};

struct Warp {
  Result results[kResults];
};

/// The accesses to four bytes of memory: who wrote last, and two who read since. See shadow.hpp.
struct Cell {
  uint64_t write;
  uint64_t read[2];
};

struct Knowledge;
struct WarpTimes;

/// What a thread knows about the others: which of their accesses came before its own. Times count a
/// thread's releases; see order.hpp.
struct ThreadOrder {
  uint32_t time;
  uint32_t known[kLanes];      ///< the time up to which each lane of the warp is known
  const WarpTimes* published;  ///< `known`, as others can keep it; null if it has changed
  const Knowledge* knowledge;  ///< what came from other warps and blocks through atomics
  uint64_t released;           ///< where it released last, and what it knew then
  const Knowledge* released_knowledge;
  bool dirty;  ///< it accessed memory since
};

/// One access, for the traffic report.
struct Event {
  uint64_t address;
  uint16_t site;
  uint8_t bytes;
  uint8_t kind;
};

struct CheckedBlock {
  uint64_t serial;    ///< of the block in the order of starts, counted over all launches
  uint32_t base;      ///< all accesses of the block before this time came before a barrier
  uint64_t activity;  ///< writes that its threads did
  bool live;
  Cell* cells;  ///< of static, then dynamic shared memory
  size_t cell_count;
  char* shared_copy;  ///< static shared memory while another block runs
  size_t shared_copy_bytes;
  char* dynamic_memory;  ///< dynamic shared memory between two red zones
  size_t dynamic_bytes;
  ThreadOrder order[kMostThreads];
  Vector<Event> events[kMostThreads];  ///< for the traffic report
};

}  // namespace ck_sim
