// SPDX-License-Identifier: MIT
// What kernels call: barriers, warp collectives, yields. Each may leave the running thread; and
// what is reported when nobody comes back.
#pragma once

#include <stdarg.h>

#include "scheduler.hpp"
#ifdef CK_SIM_CHECKED
#include "checker.hpp"
#endif

namespace ck_sim {

/// Reports a failure of the running thread and leaves it for good.
__attribute__((noreturn, noinline)) inline void stop(Worker* w, const char* kind,
                                                     const char* message) {
  fail(w->launch, kind, w->running->view, message);
  suspend(w, w->running);
  __builtin_unreachable();
}

inline bool same_place(const Site& a, const Site& b) {
  return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0);
}

/// Called by the last thread that arrives: all must have come to the same barrier.
inline void check_barrier(Worker* w, const Thread& last) {
  for (uint32_t i = 0; i < w->launch->threads; ++i) {
    const Thread& other = w->threads[i];
    if (other.kind != last.kind || !same_place(other.site, last.site)) {
      const Index3 at = other.view.thread;
      char message[400];
      snprintf(message, sizeof message,
               "%s:%d: all threads of the block must wait at the same barrier; thread (%u, %u, %u) "
               "waits at %s:%d",
               last.site.file, last.site.line, at.x, at.y, at.z, other.site.file, other.site.line);
      stop(w, "barrier_divergence", message);
    }
  }
}

inline bool has_started(const Worker* w, const Thread* thread) {
#ifdef CK_SIM_CHECKED
  (void)w;
  return thread->state != State::kFresh;
#else
  return thread < w->threads + w->next_fresh;
#endif
}

/// A result of the warp that every lane has read.
inline Result* free_result(Warp* warp) {
  Result* result = warp->results;
  while (result->unread != 0) {
    ++result;
  }
  return result;
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
    if (leader == nullptr || (wait && !forced)) {
      continue;
    }
    unsigned mask = 0;
    for (unsigned rest = warp; rest != 0; rest &= rest - 1) {
      const Thread& lane = lanes[__builtin_ctz(rest)];
      if (lane.state == State::kConverge && same_place(lane.site, leader->site)) {
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

/// The same in a kernel translated from PTX.
void report_incomplete(Worker* w, const Thread& thread);

/// Nobody can run: says who waits for whom.
inline void report_stuck(Worker* w) {
  char message[400];
  const Thread* barrier = nullptr;
  const Thread* collective = nullptr;
  for (uint32_t i = 0; i < w->next_fresh; ++i) {
    const Thread& t = w->threads[i];
    if (t.state == State::kBarrier && barrier == nullptr) {
      barrier = &t;
    } else if (t.state == State::kCollective && collective == nullptr) {
      collective = &t;
    }
  }
#ifndef CK_SIM_CHECKED
  if (w->launch->kernel != nullptr) {
    report_incomplete(w, collective != nullptr ? *collective : *barrier);
    return;
  }
#endif
  if (collective == nullptr) {
    snprintf(
        message, sizeof message,
        "%s:%d: all %u threads of the block must reach the barrier; %u wait there and %u exited",
        barrier->site.file, barrier->site.line, w->launch->threads, w->arrived, w->done);
    fail(w->launch, "barrier_divergence", barrier->view, message);
    return;
  }
  unsigned exited = 0, elsewhere = 0;
  const Thread* lanes = collective - collective->view.lane;
  for (unsigned rest = collective->mask; rest != 0; rest &= rest - 1) {
    const Thread& lane = lanes[__builtin_ctz(rest)];
    if (lane.state == State::kDone) {
      ++exited;
    } else if (lane.state != State::kCollective || lane.mask != collective->mask ||
               !same_place(lane.site, collective->site)) {
      ++elsewhere;
    }
  }
  snprintf(
      message, sizeof message,
      "%s:%d: all lanes of mask 0x%08x must reach the warp collective; %u of them exited and %u "
      "wait elsewhere",
      collective->site.file, collective->site.line, collective->mask, exited, elsewhere);
  fail(w->launch, "barrier_divergence", collective->view, message);
}

}  // namespace ck_sim

int ck_sim_barrier(ck_sim::Barrier kind, int predicate, const ck_sim::Site* site) {
  using namespace ck_sim;
  Worker* w = worker;
  Thread* self = w->running;
  self->site = *site;
  self->kind = kind;
  self->predicate = predicate;
  self->state = State::kBarrier;
  if (++w->arrived == w->launch->threads) {
    check_barrier(w, *self);
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->launch->threads; ++i) {
      count += w->threads[i].predicate != 0;
      w->threads[i].state = State::kReady;
    }
    w->arrived = 0;
#ifdef CK_SIM_CHECKED
    on_barrier(w);
#endif
    w->barrier_result = kind == Barrier::kCount ? static_cast<int>(count)
                        : kind == Barrier::kAnd ? count == w->launch->threads
                                                : count != 0;
    note_progress(w->launch);
  }
  suspend(w, self);  // the last one too, so that nobody runs ahead to the next barrier
  return w->barrier_result;
}

const uint64_t* ck_sim_collective(unsigned mask, uint64_t value, const ck_sim::Site* site) {
  using namespace ck_sim;
  Worker* w = worker;
  Thread* self = w->running;
  Thread* lanes = self - self->view.lane;
  const uint32_t first = static_cast<uint32_t>(lanes - w->threads);
  self->site = *site;
  if ((mask >> self->view.lane & 1) == 0) {
    char message[400];
    snprintf(
        message, sizeof message,
        "%s:%d: the mask of a warp collective must name the calling lane; mask 0x%08x, lane %u",
        site->file, site->line, mask, self->view.lane);
    stop(w, "barrier_divergence", message);
  }
  mask &= self->view.warp;  // a partial warp: lanes beyond the block do not exist
  self->mask = mask;
  self->value = value;
  self->state = State::kCollective;
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    const Thread& lane = lanes[__builtin_ctz(rest)];
    if (!has_started(w, &lane) || lane.state != State::kCollective || lane.mask != mask ||
        !same_place(lane.site, *site)) {
      suspend(w, self);  // the lane that comes last wakes this one
      --self->result->unread;
      return self->result->values;
    }
  }
  Result* result = free_result(&w->warps[first / kWarpSize]);
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    const int i = __builtin_ctz(rest);
    result->values[i] = lanes[i].value;
    lanes[i].result = result;
    lanes[i].state = State::kReady;
    ++result->unread;
  }
  --result->unread;  // by this lane
#ifdef CK_SIM_CHECKED
  on_collective(w, first, mask);
#endif
  note_progress(w->launch);
  return result->values;
}

void ck_sim_yield(int progress, const ck_sim::Site* site) {
  using namespace ck_sim;
  Worker* w = worker;
  Thread* self = w->running;
  if (progress != 0) {
    note_progress(w->launch);
  }
  self->site = *site;
  self->state = State::kReady;
  suspend(w, self);
}

unsigned ck_sim_converge(const ck_sim::Site* site) {
  using namespace ck_sim;
  Worker* w = worker;
  Thread* self = w->running;
  self->site = *site;
  self->state = State::kConverge;
  ++w->converging;
  suspend(w, self);
  return self->mask;
}

void ck_sim_stop(const char* kind, const char* what, const ck_sim::Site* site) {
  using namespace ck_sim;
  char message[400];
  snprintf(message, sizeof message, "%s:%d: %s", site->file, site->line, what);
  stop(worker, kind, message);
}

namespace ck_sim {

/// What kernels printed comes before what follows the launch.
inline void flush_printed() {
  if (__atomic_exchange_n(&printed, 0, __ATOMIC_RELAXED) != 0) {
    fflush(stdout);
  }
}

}  // namespace ck_sim

int ck_sim_print(const char* format, ...) {
  va_list values;
  va_start(values, format);
  const int characters = vprintf(format, values);
  va_end(values);
  __atomic_store_n(&ck_sim::printed, 1, __ATOMIC_RELAXED);
  return characters;
}
