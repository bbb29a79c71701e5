// What the checker keeps about the threads of a resident block.
#pragma once

#include "containers.hpp"
#include "runtime.hpp"
#include "tags.hpp"

namespace ck_sim {

/// The accesses of one thread that are not sorted into requests yet, see traffic.hpp: a list of
/// addresses, and of what the accesses are. Those in a key's low eight bits are bytes.
/// Apart from each other, so that the keys of two lanes are compared at once. All-zero memory is an
/// empty list.
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
    uint64_t* memory = required<uint64_t>(malloc(more * (sizeof *addresses + sizeof *keys)));
    uint32_t* const new_keys = reinterpret_cast<uint32_t*>(memory + more);
    if (size != 0) {
      memcpy(memory, addresses, size * sizeof *addresses);
      memcpy(new_keys, keys, size * sizeof *keys);
    }
    free(addresses);
    addresses = memory;
    keys = new_keys;
    capacity = more;
  }
};

constexpr int kLanes = kWarpSize;
constexpr int kScopes = 3;       // as far as they differ on one device: block, cluster, all
constexpr int kProxySpaces = 2;  // that a fence between proxies is for: global, shared

/// The accesses to four bytes of memory: who wrote last, and two who read since: the first one and
/// the latest. See shadow.hpp.
struct Cell {
  WriteTag write;
  FirstReadTag first_read;
  LatestReadTag latest_read;
};

/// Those of each of the bytes, where these have been accessed one by one.
struct ByteCells {
  Cell byte[4];
};

struct Knowledge;
struct Pending;
struct Release;
struct Seen;
struct WarpTimes;

/// Entries of a channel that a thread has taken already, so that polling does not pile them up.
struct Taken {
  const void* channel;
  size_t first, count;
  Scope scope;
  bool sequential;
};

/// What a thread knows about the others: which of their accesses came before its own. Times count a
/// thread's releases; see order.hpp.
struct ThreadOrder {
  uint32_t time;
  uint32_t known[kLanes];      // the time up to which each lane of the warp is known
  const WarpTimes* published;  // `known`, as others can keep it; null if it has changed
  const Knowledge* knowledge;  // what came from other warps and blocks by acquiring
  Seen* seen;                  // what relaxed reads saw: known from the next fence on
  Seen* spare;                 // of those lists, to be used again
  Pending* pending;            // what strong accesses met: known from the next fence.sc on
  Taken taken[4];
  const Release* released;             // the latest release
  const Release* fence[kScopes];       // what the latest fence of at least each scope released
  const Release* sequential[kScopes];  // ... and the latest fence.sc
  // What the latest fence between proxies did for each space, until it is passed on: proxies.hpp.
  const Release* proxy[kProxySpaces];
  bool dirty;     // it accessed memory since its latest release
  bool operated;  // an access of it has released
};

/// The aligned barriers that the lanes of a warp came to. Before others come to one, a lane comes
/// to fewer than `kMostAhead`: it waits at the next, or has arrived at each barrier of the block.
constexpr uint32_t kMostAhead = 32;
struct WarpBarriers {
  uint32_t count[kLanes], most;
  struct {
    const Site* site;
    uint64_t calls;      // that it was reached by
  } latest[kMostAhead];  // by number
};

/// The latest access of a thread to the shared memory of another block of its cluster.
struct RemoteAccess {
  Tag tag;
  const Site* site;  // null without any
  uint32_t kind, bytes;
  uint64_t offset;  // in the window
};

struct CheckedBlock {
  uint64_t serial;  // of the block in the order of starts, counted over all launches
  uint64_t first;   // of the first block of its cluster
  uint32_t base;    // all accesses of the block before this time came before a barrier
  Cell* cells;      // of its shared memory
  size_t cell_count;
  Vector<ByteCells> split_cells;  // of these
  ThreadOrder order[kMaxThreads];
  // What fences of all threads released by the latest barrier, for each scope.
  const Release* fenced[kScopes];
  WarpBarriers barriers[kMaxThreads / kLanes];
  Vector<RemoteAccess> remote;  // by others of the cluster, by rank and thread; or empty
  // For the traffic report.
  Events events[kMaxThreads];
  Vector<uint32_t> executions;  // see traffic.hpp
};

/// Gives back what a block has had, for good.
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
