// Leaving the running thread: at failures, for others, after polls in vain, for lanes to come.
#pragma once

#include "hooks.hpp"

namespace ck_sim {

/// Leaves the running thread, which has failed, for good.
__attribute__((noreturn)) inline void abandon_thread(Worker* w) {
  suspend(w);
  __builtin_unreachable();
}

/// Lets others run. `turns`: the thread is in a loop that does nothing else.
inline void let_others_run(Worker* w, const Site* site, bool turns = false) {
  Thread* self = w->running;
  if (in_regions(w->launch) && !turns) {
    w->yields = true;  // the thread reads that where it can be left
    return;
  }
  self->site = site;
  self->turns = turns;
  self->state = State::kReady;
  w->turning = turns;
  suspend(w);
  w->turning = false;
}

/// Lets lanes go on that asked which lanes of their warp are active: those that came to the same
/// instruction. It waits until no other lane of the warp can come, unless `forced`.
inline bool release_converged(Worker* w, bool forced) {
  bool released = false;
  for (uint32_t first = 0; first < w->launch->threads; first += kWarpSize) {
    Thread* const lanes = w->threads + first;
    const unsigned warp = lanes->view.warp;
    const Thread* leader = nullptr;
    bool wait = false;
    for (const unsigned i : SetBits{warp}) {
      const Thread& lane = lanes[i];
      leader = leader == nullptr && lane.state == State::kConverge ? &lane : leader;
      wait = wait || lane.state == State::kReady;
    }
    if (leader == nullptr || (wait && !forced)) continue;
    unsigned mask = 0;
    for (const unsigned i : SetBits{warp}) {
      const bool here = lanes[i].state == State::kConverge && lanes[i].site == leader->site;
      mask |= here ? 1u << i : 0u;
    }
    for (const unsigned i : SetBits{mask}) {
      lanes[i].mask = mask;
      lanes[i].state = State::kReady;
      --w->converging;
    }
    released = true;
  }
  return released;
}

CK_SIM_EXPORT void ck_sim_yield(const Site* site) { let_others_run(current(), site); }

CK_SIM_EXPORT unsigned ck_sim_converge(const Site* site) {
  Worker* w = current();
  Thread* self = w->running;
  self->site = site;
  self->state = State::kConverge;
  ++w->converging;
  suspend(w);
  return self->mask;
}

CK_SIM_EXPORT __attribute__((noreturn)) void ck_sim_stop(const char* kind, const char* what,
                                                         const Site* site) {
  Worker* w = current();
  fail(w->launch, kind, w->running->view, site, "%s:%d: %s", site->file, site->line, what);
  abandon_thread(w);
}

/// Flushes what kernels have printed: it comes before what the program prints after the launch.
inline void flush_printed() {
  if (__atomic_exchange_n(&printed, 0, __ATOMIC_RELAXED) != 0) {
    fflush(stdout);
  }
}

// Threads that wait by reading memory again and again let others run.

constexpr unsigned kLooksPerPoll = 16;
constexpr unsigned kLooksInRegions = 1024;  // a lane that yields alone makes its warp slow
constexpr unsigned kUpdatesPerPoll = 256;

inline pthread_mutex_t wide_lock = PTHREAD_MUTEX_INITIALIZER;  // of atomics of 16 bytes

CK_SIM_EXPORT void ck_sim_poll(const void* address, const Site* site) {
  Thread* self = current()->running;
  const unsigned looks = in_regions(worker->launch) ? kLooksInRegions : kLooksPerPoll;
  if (self->polled == address || ++self->polls % looks == 0) {
    let_others_run(current(), site);
  }
  self->polled = address;
}

CK_SIM_EXPORT void ck_sim_stored() { ++worker->changes; }

CK_SIM_EXPORT void ck_sim_turn(const Site* site) { let_others_run(current(), site, true); }

CK_SIM_EXPORT void ck_sim_updated(const void* address, ck_sim_update update, const Site* site) {
  Worker* w = current();
  end_atomic(w, address, update, site);
  if (update != ck_sim_changed) {
    ck_sim_poll(address, site);
    return;
  }
  ++w->changes;
  if (++w->running->updates % kUpdatesPerPoll == 0) {
    let_others_run(w, site);
  }
}

CK_SIM_EXPORT uint64_t ck_sim_time(int since_1970) {
  static const Site site = {"a loop around a clock", 0, "mov.u64"};
  ck_sim_poll(&site, &site);
  return nanoseconds(since_1970 != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC);
}

CK_SIM_EXPORT void ck_sim_exchange_16(void* address, const void* compare, const void* value,
                                      void* before) {
  // A fault must not happen while the lock is held.
  char old[16];
  memcpy(old, address, sizeof old);
  __atomic_fetch_or(static_cast<unsigned char*>(address), 0, __ATOMIC_RELAXED);
  pthread_mutex_lock(&wide_lock);
  memcpy(old, address, sizeof old);
  if (compare == nullptr || memcmp(old, compare, sizeof old) == 0) {
    memcpy(address, value, sizeof old);
  }
  pthread_mutex_unlock(&wide_lock);
  memcpy(before, old, sizeof old);
}

}  // namespace ck_sim
