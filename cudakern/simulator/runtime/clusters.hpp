// Clusters: blocks that run side by side and share a barrier.
#pragma once

#include "barriers.hpp"

namespace ck_sim {

/// A cluster without its blocks; null, and a failure of the launch, without memory.
inline Cluster* make_cluster(Launch* launch) {
  Cluster* cluster = static_cast<Cluster*>(calloc(1, sizeof(Cluster)));
  if (cluster == nullptr) {
    refuse(launch, "a cluster needs more memory than there is", "out_of_memory");
    return nullptr;
  }
  cluster->ranks = cluster->left = launch->ranks;
  return cluster;
}

inline void join_cluster(Worker* w, Cluster* cluster, uint64_t next) {
  const Index3 grid = w->launch->grid, size = w->launch->cluster;
  const uint32_t rank = static_cast<uint32_t>(next % cluster->ranks);
  const Index3 at = unravel_index(size, rank);
  const Index3 clusters = {grid.x / size.x, grid.y / size.y, grid.z / size.z};
  const Index3 which = unravel_index(clusters, next / cluster->ranks);
  w->cluster = cluster;
  w->group.block = {which.x * size.x + at.x, which.y * size.y + at.y, which.z * size.z + at.z};
  w->group.cluster = at;
  w->group.rank = rank;
  w->group.windows = cluster->windows;
  cluster->workers[rank] = w;
  cluster->windows[rank] = w->window.start;
}

inline void leave_cluster(Worker* w) {
  if (w->cluster != &w->alone && --w->cluster->left == 0) {
    free(w->cluster);
  }
  w->cluster = &w->alone;
}

/// Counts a thread that has exited: the barrier does not wait for it.
inline void exit_cluster(Worker* w, Thread* thread) {
  Cluster* cluster = w->cluster;
  if (!thread->cluster_arrived) {
    order_release(w, thread, &cluster->keys[cluster->phase & 1], Scope::kCluster, true);
  }
  ++cluster->exited;
  cluster->gone += thread->cluster_arrived && thread->cluster_phase == cluster->phase;
}

/// Completes the barrier of a cluster if all threads that are left have arrived.
inline void try_complete(const Worker* w, Cluster* cluster) {
  const bool alone = cluster == &w->alone;
  const uint32_t exited = (alone ? w->done : cluster->exited) - cluster->gone;
  if (cluster->arrived + exited >= cluster->ranks * w->launch->threads) {
    cluster->arrived = cluster->gone = 0;
    order_forget(&cluster->keys[~cluster->phase & 1]);  // nobody is at that barrier any more
    ++cluster->phase;
    note_progress(w->launch);
  }
}

CK_SIM_EXPORT void ck_sim_cluster_arrive(const Site* site) {
  Worker* w = current();
  Thread* self = w->running;
  come_together(w, site);
  if (self->cluster_arrived) {
    ck_sim_stop("barrier_divergence",
                "a thread must wait at the barrier of its cluster before it arrives again", site);
  }
  Cluster* cluster = w->cluster;
  self->cluster_arrived = true;
  self->cluster_phase = cluster->phase;
  if ((site->access & kReleases) != 0) {
    order_release(w, self, &cluster->keys[cluster->phase & 1], Scope::kCluster);
  }
  ++cluster->arrived;
  try_complete(w, cluster);
}

CK_SIM_EXPORT void ck_sim_cluster_wait(const Site* site) {
  Worker* w = current();
  Thread* self = w->running;
  come_together(w, site);
  if (!self->cluster_arrived) {
    ck_sim_stop("barrier_divergence",
                "a thread must arrive at the barrier of its cluster before it waits there", site);
  }
  Cluster* cluster = w->cluster;
  while (cluster->phase == self->cluster_phase) {
    try_complete(w, cluster);  // others may have exited
    let_others_run(w, site);
  }
  order_acquire(w, self, &cluster->keys[self->cluster_phase & 1], Scope::kCluster);
  self->cluster_arrived = false;
}

}  // namespace ck_sim
