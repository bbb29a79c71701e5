// SPDX-License-Identifier: MIT
// Clusters: blocks that run side by side, each on its worker, and have a barrier in common.
#pragma once

#include "barriers.hpp"
#include "watch.hpp"

namespace ck_sim {

/// The block of a grid that is number `rank` of a cluster, with the place of the cluster.
inline Index3 block_of(const Launch* launch, uint64_t cluster, uint32_t rank) {
  const Index3 size = launch->cluster;
  const uint64_t across = launch->grid.x / size.x, down = launch->grid.y / size.y;
  return {static_cast<unsigned>(cluster % across) * size.x + rank % size.x,
          static_cast<unsigned>(cluster / across % down) * size.y + rank / size.x % size.y,
          static_cast<unsigned>(cluster / across / down) * size.z + rank / size.x / size.y};
}

/// Takes the next block of the grid into a cluster; false if there is none, or no memory. Blocks of
/// a cluster follow each other, so as many workers as a cluster has blocks come to run one whole.
inline bool enter_cluster(Worker* w) {
  Launch* launch = w->launch;
  const uint32_t ranks = launch->cluster.x * launch->cluster.y * launch->cluster.z;
  pthread_mutex_lock(&launch->cluster_lock);
  const uint64_t next = __atomic_load_n(&launch->next_block, __ATOMIC_RELAXED);
  Cluster* cluster = launch->open_cluster;
  if (next < launch->blocks && cluster == nullptr) {
    cluster = static_cast<Cluster*>(calloc(1, sizeof(Cluster)));
    if (cluster == nullptr) {
      fail(launch, "out_of_memory", {{0, 0, 0}, 0, 0, &w->group},
           "a cluster needs more memory than there is");
    } else {
      pthread_mutex_init(&cluster->lock, nullptr);
      cluster->ranks = cluster->left = ranks;
    }
  }
  w->cluster = next < launch->blocks ? cluster : nullptr;
  if (w->cluster != nullptr) {
    const uint32_t rank = static_cast<uint32_t>(next % ranks);
    w->group.block = block_of(launch, next / ranks, rank);
    const Index3 size = launch->cluster;
    w->group.cluster = {rank % size.x, rank / size.x % size.y, rank / size.x / size.y};
    w->group.rank = rank;
    w->group.windows = cluster->windows;
    cluster->windows[rank] = w->window.start;
    launch->open_cluster = rank + 1 == ranks ? nullptr : cluster;
    __atomic_fetch_add(&cluster->resident, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&launch->next_block, next + 1, __ATOMIC_RELAXED);
  }
  pthread_mutex_unlock(&launch->cluster_lock);
  return w->cluster != nullptr;
}

/// Waits until all blocks of the cluster are resident, or the launch has failed.
inline void await_cluster(Worker* w) {
  for (uint32_t i = 0; i < w->launch->threads; ++i) {
    w->threads[i].state = State::kFresh;  // of the block before
  }
  w->next_fresh = 0;
  Watch watch;
  while (__atomic_load_n(&w->cluster->resident, __ATOMIC_ACQUIRE) != w->cluster->ranks &&
         !has_failed(w->launch)) {
    watch.pass(w);
  }
}

inline void leave_cluster(Worker* w) {
  if (__atomic_sub_fetch(&w->cluster->left, 1, __ATOMIC_ACQ_REL) == 0) {
    pthread_mutex_destroy(&w->cluster->lock);
    free(w->cluster);
  }
  w->cluster = nullptr;
}

/// Counts a thread that has exited: it keeps nobody at the barrier.
inline void exit_cluster(Worker* w, Thread* thread) {
  Cluster* cluster = w->cluster;
  pthread_mutex_lock(&cluster->lock);
  ++cluster->exited;
  cluster->gone += thread->cluster_arrived && thread->cluster_phase == cluster->phase;
  pthread_mutex_unlock(&cluster->lock);
}

/// Completes the barrier of a cluster if all threads that are left have arrived. Locked.
inline void try_complete(const Worker* w, Cluster* cluster) {
  const bool alone = cluster == &w->alone;
  const uint32_t exited = (alone ? w->done : cluster->exited) - cluster->gone;
  if (cluster->arrived + exited >= cluster->ranks * w->launch->threads) {
    cluster->arrived = cluster->gone = 0;
    __atomic_store_n(&cluster->phase, cluster->phase + 1, __ATOMIC_RELEASE);
    note_progress(w->launch);
  }
}

}  // namespace ck_sim

void ck_sim_cluster_arrive(const ck_sim::Site* site) {
  using namespace ck_sim;
  Worker* w = worker;
  Thread* self = w->running;
  if (self->cluster_arrived) {
    ck_sim_stop("barrier_divergence",
                "a thread must wait at the barrier of its cluster before it arrives again", site);
  }
  Cluster* cluster = w->cluster;
  pthread_mutex_lock(&cluster->lock);
  self->cluster_arrived = true;
  self->cluster_phase = cluster->phase;
  ++cluster->arrived;
  try_complete(w, cluster);
  pthread_mutex_unlock(&cluster->lock);
}

void ck_sim_cluster_wait(const ck_sim::Site* site) {
  using namespace ck_sim;
  Worker* w = worker;
  Thread* self = w->running;
  if (!self->cluster_arrived) {
    ck_sim_stop("barrier_divergence",
                "a thread must arrive at the barrier of its cluster before it waits there", site);
  }
  Cluster* cluster = w->cluster;
  while (__atomic_load_n(&cluster->phase, __ATOMIC_ACQUIRE) == self->cluster_phase) {
    pthread_mutex_lock(&cluster->lock);
    if (cluster->phase == self->cluster_phase) {
      try_complete(w, cluster);  // others may have exited
    }
    pthread_mutex_unlock(&cluster->lock);
    ck_sim_yield(0, site);
  }
  self->cluster_arrived = false;
}
