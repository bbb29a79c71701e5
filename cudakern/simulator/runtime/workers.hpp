// SPDX-License-Identifier: MIT
// Workers and their memory, kept from launch to launch.
#pragma once

#include <pthread.h>
#include <stdlib.h>

#include "scheduler.hpp"

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
  w->group = {{0, 0, 0}, block, launch->grid};
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
