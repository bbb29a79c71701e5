// What leaves the running thread: failures, yields, and waiting for the lanes that are near.
#pragma once

#include "scheduler.hpp"

namespace ck_sim {

/// Leaves the running thread for good, as it has failed.
__attribute__((noreturn)) inline void leave(Worker* w) {
  suspend(w);
  __builtin_unreachable();
}

/// Gives the others a turn. `turns`: from a loop that does nothing else.
inline void let_others_run(Worker* w, const Site* site, bool turns = false) {
  Thread* self = w->running;
  if (in_regions(w->launch) && !turns) {
    w->yields = true;  // the thread asks for that where it can be left
    return;
  }
  self->site = site;
  self->turns = turns;
  self->state = State::kReady;
  w->turning = turns;
  suspend(w);
  w->turning = false;
}

inline bool same_place(const Site& a, const Site& b) {
  return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0);
}

/// Lets lanes go on that asked which of their warp are active: those that came to the same place,
/// once no other lane of the warp can come, or, if `forced`, without waiting longer.
inline bool release_converged(Worker* w, bool forced) {
  bool released = false;
  for (uint32_t first = 0; first < w->launch->threads; first += kWarpSize) {
    Thread* const lanes = w->threads + first;
    const unsigned warp = lanes->view.warp;
    const Thread* leader = nullptr;
    bool wait = false;
    for (unsigned rest = warp; rest != 0; rest &= rest - 1) {
      const Thread& lane = lanes[__builtin_ctz(rest)];
      leader = leader == nullptr && lane.state == State::kConverge ? &lane : leader;
      wait = wait || lane.state == State::kReady;
    }
    if (leader == nullptr || (wait && !forced)) continue;
    unsigned mask = 0;
    for (unsigned rest = warp; rest != 0; rest &= rest - 1) {
      const Thread& lane = lanes[__builtin_ctz(rest)];
      if (lane.state == State::kConverge && same_place(*lane.site, *leader->site)) {
        mask |= 1u << __builtin_ctz(rest);
      }
    }
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
      Thread& lane = lanes[__builtin_ctz(rest)];
      lane.mask = mask;
      lane.state = State::kReady;
      --w->converging;
    }
    released = true;
  }
  return released;
}

}  // namespace ck_sim

void ck_sim_yield(const ck_sim::Site* site) { ck_sim::let_others_run(ck_sim::current(), site); }

unsigned ck_sim_converge(const ck_sim::Site* site) {
  using namespace ck_sim;
  Worker* w = current();
  Thread* self = w->running;
  self->site = site;
  self->state = State::kConverge;
  ++w->converging;
  suspend(w);
  return self->mask;
}

void ck_sim_stop(const char* kind, const char* what, const ck_sim::Site* site) {
  using namespace ck_sim;
  Worker* w = current();
  fail(w->launch, kind, w->running->view, site, "%s:%d: %s", site->file, site->line, what);
  leave(w);
}

namespace ck_sim {

/// What kernels printed comes before what follows the launch.
inline void flush_printed() {
  if (__atomic_exchange_n(&printed, 0, __ATOMIC_RELAXED) != 0) {
    fflush(stdout);
  }
}

}  // namespace ck_sim
