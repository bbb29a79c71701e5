// SPDX-License-Identifier: MIT
// Barriers, warp collectives and printf of checked launches.
#pragma once

#include <stdarg.h>

#include "checked_api.hpp"
#include "checker.hpp"
#include "collectives.hpp"

namespace ck_sim {

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

/// A result of the warp that every lane has read.
inline Result* free_result(Warp* warp) {
  Result* result = warp->results;
  while (result->unread != 0) {
    ++result;
  }
  return result;
}

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
    on_barrier(w);
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
  on_collective(w, first, mask);
  note_progress(w->launch);
  return result->values;
}

int ck_sim_print(const char* format, ...) {
  va_list values;
  va_start(values, format);
  const int characters = vprintf(format, values);
  va_end(values);
  __atomic_store_n(&ck_sim::printed, 1, __ATOMIC_RELAXED);
  return characters;
}
