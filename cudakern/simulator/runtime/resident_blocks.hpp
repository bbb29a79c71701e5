// The resident blocks of a plain launch that one OS thread runs in turns: those of a cluster, or
// one block of a kernel without clusters; more, if these wait for a block that nobody runs.
#pragma once

#include "deadlock.hpp"
#include "workers.hpp"

namespace ck_sim {

struct ResidentBlocks {
  Runner runner;
  Worker** workers;  // those of a cluster follow each other
  uint32_t count, capacity;
};

inline bool has_blocks_left(const Launch* launch) {
  return __atomic_load_n(&launch->next_block, __ATOMIC_SEQ_CST) < launch->blocks;
}

/// Whether there are blocks that nobody runs, and more may be resident.
inline bool can_grow(const Launch* launch) {
  return has_blocks_left(launch) &&
         __atomic_load_n(&launch->resident, __ATOMIC_SEQ_CST) < launch->most_resident;
}

/// Gives the workers of a cluster the next blocks of the grid; false if none are left.
inline bool take_blocks(Launch* launch, Worker** workers) {
  const uint32_t ranks = launch->ranks;
  const uint64_t next = __atomic_fetch_add(&launch->next_block, ranks, __ATOMIC_SEQ_CST);
  if (next >= launch->blocks) return false;
  Cluster* cluster = ranks == 1 ? nullptr : make_cluster(launch);
  if (ranks > 1 && cluster == nullptr) return false;
  for (uint32_t i = 0; i < ranks; ++i) {
    start_block(workers[i], cluster, next + i);
  }
  return true;
}

/// Gives up the last workers, so many.
inline void remove_workers(ResidentBlocks* r, uint32_t count) {
  for (; count > 0; --count) {
    leave_worker(r->workers[--r->count]);
  }
}

/// Adds workers for another cluster; false, and a failure, without memory.
inline bool add_workers(ResidentBlocks* r) {
  Launch* launch = r->runner.launch;
  const uint32_t ranks = launch->ranks;
  if (r->count + ranks > r->capacity) {
    const uint32_t capacity = 2 * r->capacity + ranks;
    Worker** const workers = static_cast<Worker**>(realloc(r->workers, capacity * sizeof(Worker*)));
    if (workers == nullptr) {
      return refuse(launch, "a block needs more memory than there is", "out_of_memory");
    }
    r->workers = workers;
    r->capacity = capacity;
  }
  for (uint32_t i = 0; i < ranks; ++i) {
    Worker* w = enter_worker(&r->runner);
    if (w == nullptr) {
      remove_workers(r, i);
      return false;
    }
    r->workers[r->count++] = w;
  }
  return true;
}

/// Has another cluster resident, on new workers, which come last. False if there is no cluster to
/// start, or no room or memory for it.
inline bool add_cluster(ResidentBlocks* r) {
  Launch* launch = r->runner.launch;
  const uint32_t ranks = launch->ranks;
  if (can_grow(launch)) {
    const uint32_t resident = __atomic_add_fetch(&launch->resident, ranks, __ATOMIC_SEQ_CST);
    if (resident <= launch->most_resident && add_workers(r)) {
      if (take_blocks(launch, r->workers + r->count - ranks)) {
        note_progress(launch);
        return true;
      }
      remove_workers(r, ranks);
    }
    __atomic_fetch_sub(&launch->resident, ranks, __ATOMIC_SEQ_CST);
  }
  return false;
}

}  // namespace ck_sim
