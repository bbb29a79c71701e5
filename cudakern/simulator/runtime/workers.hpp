// Workers and their memory, kept from launch to launch.
#pragma once

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "block.hpp"
#include "residency.hpp"

namespace ck_sim {

constexpr uint32_t kMostFreeWorkers = 64;  // that are kept for later launches

// The addresses of a block's shared memory. All that a 32-bit offset can reach are reserved, but
// only the pages that the kernel asked for can be accessed. So a wrong offset is a fault.
constexpr uint64_t kWindowBytes = uint64_t{1} << 32;
constexpr uint64_t kLeastWindowBytes = uint64_t{1} << 24;  // where there is little address space

inline Worker* free_workers = nullptr;
inline uint32_t free_worker_count = 0;
inline pthread_mutex_t workers_lock = PTHREAD_MUTEX_INITIALIZER;

/// Keeps a worker for later launches, or frees it.
inline void give_worker(Worker* w) {
  pthread_mutex_lock(&workers_lock);
  const bool keeps = free_worker_count < kMostFreeWorkers;
  if (keeps) {
    w->next = free_workers;
    free_workers = w;
    ++free_worker_count;
  }
  pthread_mutex_unlock(&workers_lock);
  if (keeps) return;
  for (Thread& thread : w->threads) {
    free(thread.copies.items);
  }
#ifdef CK_SIM_CHECKED
  release_checked(&w->checked);
#endif
  free(w->text);
  free(w->saved);
  if (w->window.start != nullptr) {
    munmap(w->window.start, w->window.bytes);
  }
  munmap(static_cast<void*>(w), sizeof(Worker));
}

/// A worker with threads for a block of the launch; null without memory.
inline Worker* take_worker(Launch* launch) {
  pthread_mutex_lock(&workers_lock);
  Worker* w = free_workers;
  if (w != nullptr) {
    free_workers = w->next;
    --free_worker_count;
  }
  pthread_mutex_unlock(&workers_lock);
  if (w == nullptr) {
    w = reinterpret_cast<Worker*>(map_pages(sizeof(Worker)));
    if (w == nullptr) return nullptr;
  }
  const Index3 block = launch->block;
  if (w->block.x != block.x || w->block.y != block.y || w->block.z != block.z) {
    for (uint32_t i = 0; i < launch->threads; ++i) {
      const uint32_t left = launch->threads - i / kWarpSize * kWarpSize;
      const unsigned warp = left < kWarpSize ? (1u << left) - 1 : 0xFFFFFFFFu;
      w->threads[i].view = {unravel_index(block, i), i % kWarpSize, warp, &w->group};
    }
    w->block = block;
  }
  w->launch = launch;
  w->done = launch->threads;  // it has no block yet
  w->running = nullptr;
  w->fiber = nullptr;
  w->idle_fibers = nullptr;
  return w;
}

/// Makes just the first `bytes` of a window accessible; false without memory.
inline bool open_window(Window* window, uint64_t bytes) {
  for (uint64_t reserved = kWindowBytes; window->start == nullptr; reserved /= 16) {
    if (reserved < kLeastWindowBytes) return false;
    *window = {map_pages(reserved, PROT_NONE), reserved, 0};
  }
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t wanted = (bytes + page - 1) / page * page;
  const bool grows = wanted > window->open;
  const uint64_t first = grows ? window->open : wanted, last = grows ? wanted : window->open;
  const int access = grows ? PROT_READ | PROT_WRITE : PROT_NONE;
  if (first != last && mprotect(window->start + first, last - first, access) != 0) return false;
  window->open = wanted;
  return true;
}

/// Prepares a worker for blocks of the launch; false without memory.
inline bool prepare(Worker* w, Launch* launch) {
  const uint32_t static_bytes = launch->kernel->static_shared;
  if (!open_window(&w->window, uint64_t{static_bytes} + launch->shared_bytes)) return false;
  const uint64_t saved = uint64_t{launch->kernel->saved_bytes} * launch->threads;
  if (saved > w->saved_bytes) {
    free(w->saved);
    w->saved = static_cast<char*>(aligned_alloc(4096, (saved + 4095) / 4096 * 4096));
    w->saved_bytes = w->saved == nullptr ? 0 : saved;
    if (w->saved == nullptr) return false;
  }
  w->group = {};
  w->group.block_size = launch->block;
  w->group.grid_size = launch->grid;
  w->group.window = w->window.start;
  w->group.window_bytes = w->window.bytes;
  w->group.dynamic_offset = static_bytes;
  w->group.dynamic_bytes = launch->shared_bytes;
  w->group.cluster_size = launch->cluster;
  w->group.ranks = launch->ranks;
  w->group.has_clusters = launch->kernel->cluster[0] != 0;
  w->group.processor = __atomic_fetch_add(&launch->workers, 1, __ATOMIC_RELAXED) % kMultiprocessors;
  w->group.processors = kMultiprocessors;
  w->group.grid_id = launch->id;
  w->group.windows = w->alone.windows;
  w->group.workspace = launch->cooperative ? launch->workspace : nullptr;
  w->alone.windows[0] = w->window.start;
  w->alone.ranks = 1;
  w->cluster = &w->alone;
  w->later = w->changes = 0;
  return true;
}

/// Makes this OS thread a runner of a launch.
inline void enter_runner(Runner* r, Launch* launch, bool first) {
  r->launch = launch;
  r->first = first;
  r->looks = r->left = false;
  r->guard.handler = on_fault;
  enter_guard(&r->guard);
}

/// A worker for a runner, until leave_worker; null, and a failure, without memory.
inline Worker* enter_worker(Runner* r) {
  Launch* launch = r->launch;
  Worker* w = take_worker(launch);
  if (w != nullptr && !prepare(w, launch)) {
    give_worker(w);
    w = nullptr;
  }
  if (w == nullptr) {
    refuse(launch, "a block needs more memory than there is", "out_of_memory");
    return nullptr;
  }
  w->runner = r;
  return w;
}

inline void leave_worker(Worker* w) {
  leave_cluster(w);
  if (has_failed(w->launch)) {
    clean_up(w);
  }
  give_fibers(w->idle_fibers);
  give_worker(w);
}

}  // namespace ck_sim
