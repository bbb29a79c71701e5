// The turns that blocks and threads take in a checked launch. All resident blocks share one OS
// thread, so that a seed alone decides who runs when.
#pragma once

#include "deadlock.hpp"
#include "launch.hpp"
#include "observer.hpp"

namespace ck_sim {

constexpr int kGrowRounds = 4;    // rounds without progress before more blocks start, ...
constexpr int kQuietRounds = 64;  // ... or states are compared
constexpr uint32_t kGrowth = 4;   // the factor by which resident blocks become more
constexpr uint32_t kMostWaiting = 16;
constexpr unsigned char kPoison = 0xFF;

void thread_ended(Worker*) {}
Thread* next_thread(Worker* w) { return &w->threads[w->order[w->next_fresh]]; }

struct Rounds {
  Launch* launch;
  uint64_t random;  // the state of a generator
  Runner runner;
  uint32_t wanted;                 // blocks that are to be resident
  uint64_t waiting[kMostWaiting];  // clusters of which one starts next
  uint32_t waiting_count;
  // For how long there has been no progress, and the search for a cycle.
  uint64_t seen;
  int quiet;
  CycleSearch search;
  uint64_t since;
};

/// A random number below `n`.
inline uint32_t draw(Rounds* r, uint32_t n) {
  r->random = r->random * 6364136223846793005u + 1442695040888963407u;
  return static_cast<uint32_t>((r->random >> 33) * n >> 31);
}

/// Draws a new order of threads: mostly of warps and of the lanes of each, which keeps accesses to
/// neighbours together; every fourth time of all threads alike.
inline void shuffle(Rounds* r, Worker* w) {
  const uint32_t threads = r->launch->threads;
  const uint32_t unit = draw(r, 4) == 0 ? 1 : kLanes, units = (threads + unit - 1) / unit;
  uint16_t starts[kMaxThreads];
  for (uint32_t i = 0; i < units; ++i) {
    const uint32_t k = draw(r, i + 1);
    starts[i] = starts[k];
    starts[k] = static_cast<uint16_t>(i * unit);
  }
  uint32_t done = 0;
  for (uint32_t i = 0; i < units; ++i) {
    const uint32_t count = threads - starts[i] < unit ? threads - starts[i] : unit;
    const uint32_t turn = draw(r, count), flip = draw(r, 2) * (count - 1);
    for (uint32_t k = 0; k < count; ++k) {
      const uint32_t lane = (flip != 0 ? flip - k : k) + turn;
      w->order[done++] = static_cast<uint16_t>(starts[i] + (lane < count ? lane : lane - count));
    }
  }
}

/// How many clusters have not started; without clusters, each block is one.
inline uint64_t clusters_left(const Rounds* r) {
  const Launch* launch = r->launch;
  return launch->blocks / launch->ranks - launch->next_block + r->waiting_count;
}

/// Takes the cluster to start next: they start in order, but some overtake a few.
inline uint64_t take_cluster(Rounds* r) {
  while (r->waiting_count < kMostWaiting && clusters_left(r) > r->waiting_count) {
    r->waiting[r->waiting_count++] = r->launch->next_block++;
  }
  const uint32_t k = draw(r, r->waiting_count);
  const uint64_t cluster = r->waiting[k];
  r->waiting[k] = r->waiting[--r->waiting_count];
  return cluster;
}

/// The cluster of the grid that is number `i` of a sample: the middle one of those it stands for.
inline uint64_t cluster_at(const Launch* launch, uint64_t i) {
  const uint64_t all = count_blocks(launch->grid) / launch->ranks;
  const uint64_t run = launch->blocks / launch->ranks, least = all / run;
  return i * least + (least * run + (2 * i + 1) * (all % run)) / (2 * run);
}

/// Starts a cluster on enough idle workers, from number `i` on. Returns the number after the last.
inline size_t start_cluster(Rounds* r, size_t i) {
  const uint32_t ranks = r->launch->ranks;
  Cluster* cluster = ranks == 1 ? nullptr : make_cluster(r->launch);
  if (ranks > 1 && cluster == nullptr) return i;
  uint64_t next = cluster_at(r->launch, take_cluster(r)) * ranks;
  const uint64_t end = next + ranks;
  for (; next < end; ++i) {
    Worker* w = checker.residents[i];
    if (is_running(w)) continue;
    start_block(w, cluster, next++);
    memset(w->window.start, kPoison, w->group.dynamic_offset + w->group.dynamic_bytes);
    shuffle(r, w);
    start_checked_block(w);
    ++r->launch->resident;
  }
  return i;
}

/// Starts as many blocks as may be resident; false if the launch has failed.
inline bool fill(Rounds* r) {
  const Launch* launch = r->launch;
  Vector<Worker*>& workers = checker.residents;
  while (workers.size < r->wanted &&
         workers.size - launch->resident < clusters_left(r) * launch->ranks) {
    Worker* w = enter_worker(&r->runner);
    if (w == nullptr) return false;
    workers.push(w);
  }
  size_t next = 0;
  while (workers.size - launch->resident >= launch->ranks && clusters_left(r) != 0 &&
         !has_failed(launch)) {
    next = start_cluster(r, next);
  }
  return !has_failed(launch);
}

/// A number that changes whenever memory may have changed.
inline uint64_t progress_of(const Launch* launch) { return launch->progress + checker.writes; }

/// Gives every thread of a block a turn. Returns false if none of them can go on.
inline bool pass(Rounds* r, Worker* w) {
  Launch* launch = r->launch;
  worker = w;
  const uint32_t done = w->done;
  const uint64_t progress = progress_of(launch);
  bool ran = w->next_fresh < launch->threads;
  if (ran) {
    while (w->next_fresh < launch->threads && !has_failed(launch)) {
      start_fresh(w);
    }
  } else {
    if (r->quiet < kQuietRounds) {
      shuffle(r, w);
    }
    for (uint32_t i = 0; i < launch->threads && !has_failed(launch); ++i) {
      Thread* thread = &w->threads[w->order[i]];
      if (thread->state == State::kReady) {
        resume(w, thread);
        ran = true;
      }
    }
  }
  if (!has_failed(launch) && w->waiting != 0 && w->done != done) {
    release_for_exited(w);
  }
  if (has_failed(launch)) return true;
  launch->progress += w->changes + (w->done - done);
  w->changes = 0;
  if (w->converging != 0 && release_converged(w, !ran || progress == progress_of(launch))) {
    ran = true;
  }
  if (!is_running(w)) {
    end_checked_block(w);
    leave_cluster(w);
    --launch->resident;
  }
  return ran;
}

inline bool is_deadlock(Rounds* r) {
  if (r->quiet < kQuietRounds) return false;
  if (r->quiet == kQuietRounds) {
    r->search = CycleSearch();
    r->since = nanoseconds();
  }
  const uint64_t digest = digest_of(checker.residents.data, checker.residents.size);
  return r->search.repeats(digest) || nanoseconds() - r->since > kGiveUpTime;
}

/// After a round without progress: runs more blocks side by side, since threads may wait for one of
/// them, or ends a launch that waits forever.
inline void grow_or_fail(Rounds* r) {
  const Launch* launch = r->launch;
  const bool can_grow = r->wanted < launch->most_resident && clusters_left(r) != 0;
  ++r->quiet;
  if (can_grow && r->quiet >= kGrowRounds) {
    r->wanted =
        r->wanted < launch->most_resident / kGrowth ? kGrowth * r->wanted : launch->most_resident;
    r->quiet = 0;
  } else if (!can_grow && is_deadlock(r)) {
    const Thread* thread = find_polling(checker.residents.data, checker.residents.size);
    if (thread != nullptr) {
      report_deadlock(r->launch, *thread, clusters_left(r) != 0);
    }
  }
}

inline void run_rounds(Rounds* r) {
  Launch* launch = r->launch;
  Vector<Worker*>& workers = checker.residents;
  while (fill(r) && launch->resident != 0) {
    // Without progress for long, all rounds are alike: otherwise there is no cycle to be found.
    const bool quiet = r->quiet >= kQuietRounds;
    const uint32_t first = quiet ? 0 : draw(r, static_cast<uint32_t>(workers.size));
    for (size_t i = 0; i < workers.size; ++i) {
      Worker* w = workers[(first + i) % workers.size];
      uint32_t turns = quiet ? 1 : 1 + draw(r, 3);
      for (; turns > 0 && is_running(w) && !has_failed(launch); --turns) {
        if (!pass(r, w)) {
          report_stuck(w);
        }
      }
    }
    const uint64_t seen = progress_of(launch);
    if (seen != r->seen) {
      r->seen = seen;
      r->quiet = 0;
    } else if (!has_failed(launch)) {
      grow_or_fail(r);
    }
  }
}

}  // namespace ck_sim
