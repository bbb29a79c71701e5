// The resident blocks of a plain launch that one OS thread runs, in turns: a cluster, or a block of
// a kernel without clusters, and more if those wait for one that nobody runs.
#pragma once

#include "deadlock.hpp"
#include "workers.hpp"

namespace ck_sim {

struct Places {
  Runner runner;
  Worker** workers;  // those of a cluster follow each other
  uint32_t count, capacity;
};

/// Whether a worker has a block that has not ended.
inline bool is_running(const Worker* w) { return w->done < w->launch->threads; }

inline bool has_blocks_left(const Launch* launch) {
  return __atomic_load_n(&launch->next_block, __ATOMIC_SEQ_CST) < launch->blocks;
}

/// Whether there are blocks that nobody runs, and room for them.
inline bool can_grow(const Launch* launch) {
  return has_blocks_left(launch) &&
         __atomic_load_n(&launch->resident, __ATOMIC_SEQ_CST) < launch->room;
}

/// Gives the workers of a cluster the next blocks of the grid; false if there are none.
inline bool take_blocks(Launch* launch, Worker** workers) {
  const uint32_t ranks = launch->ranks;
  const uint64_t next = __atomic_fetch_add(&launch->next_block, ranks, __ATOMIC_SEQ_CST);
  if (next >= launch->blocks) return false;
  if (ranks == 1) {
    workers[0]->group.block = place_in(launch->grid, next);
    start_block(workers[0]);
    return true;
  }
  Cluster* cluster = make_cluster(launch);
  for (uint32_t i = 0; i < ranks && cluster != nullptr; ++i) {
    join_cluster(workers[i], cluster, next + i);
    start_block(workers[i]);
  }
  return cluster != nullptr;
}

/// Gives up the places of the last cluster.
inline void remove_places(Places* p, uint32_t count) {
  for (; count > 0; --count) {
    Worker* w = p->workers[--p->count];
    leave_cluster(w);
    leave_worker(w);
  }
}

/// Has room for a cluster more; false, and a failure, without memory.
inline bool add_places(Places* p) {
  Launch* launch = p->runner.launch;
  const uint32_t ranks = launch->ranks;
  if (p->count + ranks > p->capacity) {
    const uint32_t capacity = 2 * p->capacity + ranks;
    Worker** const workers = static_cast<Worker**>(realloc(p->workers, capacity * sizeof(Worker*)));
    if (workers == nullptr) {
      return refuse(launch, "a block needs more memory than there is", "out_of_memory");
    }
    p->workers = workers;
    p->capacity = capacity;
  }
  for (uint32_t i = 0; i < ranks; ++i) {
    Worker* w = enter_worker(&p->runner);
    if (w == nullptr) {
      remove_places(p, i);
      return false;
    }
    p->workers[p->count++] = w;
  }
  return true;
}

/// Has another cluster resident, the last one of the places; false if there is none to start, no
/// room, or no memory.
inline bool add_cluster(Places* p) {
  Launch* launch = p->runner.launch;
  const uint32_t ranks = launch->ranks;
  if (can_grow(launch)) {
    const uint32_t resident = __atomic_add_fetch(&launch->resident, ranks, __ATOMIC_SEQ_CST);
    if (resident <= launch->room && add_places(p)) {
      if (take_blocks(launch, p->workers + p->count - ranks)) {
        note_progress(launch);
        return true;
      }
      remove_places(p, ranks);
    }
    __atomic_fetch_sub(&launch->resident, ranks, __ATOMIC_SEQ_CST);
  }
  return false;
}

/// A digest of all threads of all blocks.
inline uint64_t digest_of(const Places& places) {
  uint64_t digest = 0;
  for (uint32_t i = 0; i < places.count; ++i) {
    if (is_running(places.workers[i])) {
      digest = (digest ^ digest_of(places.workers[i])) * 0x9E3779B97F4A7C15u;
    }
  }
  return digest;
}

}  // namespace ck_sim
