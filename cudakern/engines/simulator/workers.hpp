// SPDX-License-Identifier: MIT
// Workers and their memory, kept from launch to launch.
#pragma once

#include <pthread.h>
#include <stdlib.h>

#include "scheduler.hpp"
#include "window.hpp"

namespace ck_sim {

inline Worker* free_workers = nullptr;
inline pthread_mutex_t workers_lock = PTHREAD_MUTEX_INITIALIZER;

inline void give_worker(Worker* w) {
  pthread_mutex_lock(&workers_lock);
  w->next = free_workers;
  free_workers = w;
  pthread_mutex_unlock(&workers_lock);
}

/// A worker whose threads are those of a block of the launch; null without memory.
inline Worker* take_worker(Launch* launch) {
  pthread_mutex_lock(&workers_lock);
  Worker* w = free_workers;
  if (w != nullptr) {
    free_workers = w->next;
  }
  pthread_mutex_unlock(&workers_lock);
  if (w == nullptr) {
    w = static_cast<Worker*>(calloc(1, sizeof(Worker)));  // pages nobody uses are never touched
    if (w == nullptr) {
      return nullptr;
    }
  }
  if (w->shared == nullptr || w->shared_bytes < launch->shared_bytes) {
    free(w->shared);
    w->shared = static_cast<char*>(aligned_alloc(128, (launch->shared_bytes + 255) / 128 * 128));
    w->shared_bytes = launch->shared_bytes;
    if (w->shared == nullptr) {
      free(w);
      return nullptr;
    }
  }
#ifndef CK_SIM_CHECKED
  if (!open_window(&w->window, uint64_t{launch->static_bytes} + launch->shared_bytes)) {
    give_worker(w);
    return nullptr;
  }
#endif
  const Index3 block = launch->block;
  if (w->block.x != block.x || w->block.y != block.y || w->block.z != block.z) {
    Thread* thread = w->threads;
    for (unsigned z = 0; z < block.z; ++z) {
      for (unsigned y = 0; y < block.y; ++y) {
        for (unsigned x = 0; x < block.x; ++x, ++thread) {
          const uint32_t i = static_cast<uint32_t>(thread - w->threads);
          const uint32_t left = launch->threads - i / kWarpSize * kWarpSize;
          const unsigned warp = left < kWarpSize ? (1u << left) - 1 : 0xFFFFFFFFu;
          thread->view = {{x, y, z}, i % kWarpSize, warp, &w->group};
        }
      }
    }
    w->block = block;
  }
  w->launch = launch;
  const Index3 size = launch->cluster;
  w->group = {{0, 0, 0}, block, launch->grid, w->shared, w->window.start, w->window.bytes};
  w->group.dynamic_offset = launch->static_bytes;
  w->group.dynamic_bytes = launch->shared_bytes;
  w->group.cluster_size = size;
  w->group.ranks = size.x * size.y * size.z;
  w->group.has_clusters = launch->kernel != nullptr && launch->kernel->cluster[0] != 0;
  w->group.processor = __atomic_fetch_add(&launch->workers, 1, __ATOMIC_RELAXED);
  w->group.processors = launch->most_workers;
  w->group.grid_id = launch->id;
  w->group.windows = w->alone.windows;
  w->group.workspace = launch->cooperative ? launch->workspace : nullptr;
  w->alone.windows[0] = w->window.start;
  w->alone.ranks = 1;
  w->cluster = &w->alone;
  w->later = w->changes = 0;
  w->running = nullptr;
  w->idle_fibers = nullptr;
  w->first = false;
  return w;
}

// A process that forks while another of its threads launches: the child must not find a lock held
// that nobody will release.
inline void lock_all() {
  pthread_mutex_lock(&workers_lock);
  pthread_mutex_lock(&fibers_lock);
  pthread_mutex_lock(&guards_lock);
}
inline void unlock_all() {
  pthread_mutex_unlock(&guards_lock);
  pthread_mutex_unlock(&fibers_lock);
  pthread_mutex_unlock(&workers_lock);
}
__attribute__((constructor)) static void watch_forks() {
  pthread_atfork(lock_all, unlock_all, unlock_all);
}

}  // namespace ck_sim
