// Threads that wait by reading memory again and again. A thread that repeats itself lets others
// run.
#pragma once

#include "hooks.hpp"

namespace ck_sim {

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
