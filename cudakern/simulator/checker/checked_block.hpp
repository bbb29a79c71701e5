// What the checker keeps about the threads of a resident block.
#pragma once

#include "containers.hpp"
#include "runtime.hpp"
#include "tags.hpp"

namespace ck_sim {

/// The accesses of one thread that are not sorted into requests yet, see traffic.hpp. A key has the
/// slot of an access and, in the lowest eight bits, its bytes. Keys are apart from addresses, so
/// that those of two lanes are compared at once. All-zero memory is an empty list.
struct Events {
  uint64_t* addresses;
  uint32_t* keys;  // in the same allocation
  uint32_t size, capacity;

  void push(uint64_t address, uint32_t key) {
    if (size == capacity) {
      grow();
    }
    addresses[size] = address;
    keys[size++] = key;
  }
  void clear() { size = 0; }

  __attribute__((noinline)) void grow() {
    const uint32_t more = capacity == 0 ? 64 : 2 * capacity;
    const size_t bytes = more * (sizeof *addresses + sizeof *keys);
    addresses = require<uint64_t>(realloc(addresses, bytes));
    uint64_t* const old_keys = addresses + capacity;
    keys = static_cast<uint32_t*>(memmove(addresses + more, old_keys, size * sizeof *keys));
    capacity = more;
  }
};

constexpr int kLanes = kWarpSize;
constexpr int kScopes = 3;       // that differ on one device: block, cluster, GPU
constexpr int kProxySpaces = 2;  // which a fence between proxies may be for: global, shared

/// The last accesses to four bytes of memory, see shadow.hpp.
struct Cell {
  WriteTag write;
  FirstReadTag first_read;
  LatestReadTag latest_read;
};

/// Those to each of the bytes, where these were accessed one by one.
struct ByteCells {
  Cell byte[4];
};

struct Knowledge;
struct PendingEntries;
struct Release;
struct SeenEntries;

/// Entries of a channel that a thread has taken already: polling does not pile them up.
struct TakenEntries {
  const void* channel;
  size_t first, count;
  Scope scope;
  bool sequential;
};

/// What a thread knows of others: which of their accesses came before its own. See order.hpp.
struct ThreadOrder {
  uint32_t time;
  uint32_t matched;            // the time of its latest match
  uint32_t known[kLanes];      // the time up to which each lane of the warp is known
  const uint32_t* published;   // a copy of `known` for others to keep; null if `known` has changed
  const Knowledge* knowledge;  // of other warps and blocks, by acquiring
  SeenEntries* seen;           // what relaxed reads saw, which it knows from its next fence on
  SeenEntries* spare;          // for new ones
  PendingEntries* pending;     // what strong accesses met, which it knows from its next fence.sc on
  TakenEntries taken[4];
  const Release* released;        // the latest release
  const Release* fence[kScopes];  // what its latest fence in each scope or a wider one released
  const Release* sequential[kScopes];  // ... and the latest fence.sc
  // What its latest fence between proxies released for each space, until that is passed on.
  const Release* proxy[kProxySpaces];
  bool dirty;     // whether it has accessed memory since its latest release
  bool operated;  // whether an access of it has released
};

/// The aligned barriers that the lanes of a warp came to. A lane is ahead of others by fewer than
/// `kMostAhead`: it waits at the next one, or has arrived at each barrier of the block.
constexpr uint32_t kMostAhead = 32;
struct WarpBarriers {
  uint32_t count[kLanes], most;
  struct {
    const Site* site;
    uint64_t calls;      // by which it was reached
  } latest[kMostAhead];  // by number
};

/// The latest access of a thread to the shared memory of another block of its cluster.
struct RemoteAccess {
  Tag tag;
  const Site* site;  // null without any
  uint32_t kind, bytes;
  uint64_t offset;   // in the window
  bool only_strict;  // whether a launch that is not strict would see it come before the block's end
};

struct CheckedBlock {
  uint64_t serial;  // of the block in the order of starts, counted over all launches
  uint64_t first;   // of the first block of its cluster
  uint32_t base;    // accesses of the block before this time came before a barrier
  Cell* cells;      // of its shared memory
  size_t cell_count;
  Vector<ByteCells> split_cells;  // of these
  ThreadOrder order[kMaxThreads];
  // What fences of all threads had released by the latest barrier, in each scope.
  const Release* fenced[kScopes];
  WarpBarriers barriers[kMaxThreads / kLanes];
  Vector<RemoteAccess> remote;  // of others of the cluster, by rank and thread; or empty
  // For the traffic report.
  Events events[kMaxThreads];
  Vector<uint32_t> executions;  // see traffic.hpp
};

inline void release_checked(CheckedBlock* c) {
  free(c->cells);
  free(c->split_cells.data);
  for (Events& events : c->events) {
    free(events.addresses);
  }
  free(c->remote.data);
  free(c->executions.data);
}

}  // namespace ck_sim
