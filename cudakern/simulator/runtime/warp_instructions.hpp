// SPDX-License-Identifier: MIT
// Instructions that the lanes of a warp carry out together: shuffles, votes, matrix products.
#pragma once

#include "collectives.hpp"

namespace ck_sim {

/// Whether two threads wait by the same instruction. Compilers make copies of code, so not its
/// place counts but its opcode.
inline bool same_instruction(const Site& a, const Site& b) {
  return a.opcode == b.opcode ||
         (a.opcode != nullptr && b.opcode != nullptr && strcmp(a.opcode, b.opcode) == 0);
}

/// Whether a lane waits for those of `mask` by the instruction at `site`.
inline bool takes_part(const Worker* w, const Thread& lane, unsigned mask, const Site& site) {
  return has_started(w, &lane) && lane.state == State::kCollective && lane.mask == mask &&
         same_instruction(*lane.site, site);
}

/// A lane of `rest` that does not take part yet, or -1. It may take long to come, so the one that
/// lacked last is asked first.
inline int absent_lane(const Worker* w, Warp* warp, const Thread* self, unsigned rest) {
  const Thread* lanes = self - self->view.lane;
  const unsigned late = rest & (~0u << warp->absent);
  for (unsigned order = 0; order < 2; ++order) {
    for (unsigned part = order == 0 ? late : rest & ~late; part != 0; part &= part - 1) {
      const unsigned i = static_cast<unsigned>(__builtin_ctz(part));
      if (!takes_part(w, lanes[i], self->mask, *self->site)) {
        warp->absent = i;
        return static_cast<int>(i);
      }
    }
  }
  return -1;
}

/// Lets the waiting lanes of a warp look again whom they wait for.
inline void look_again(Worker* w, Thread* lanes) {
  Warp* warp = &w->warps[(lanes - w->threads) / kWarpSize];
  for (unsigned rest = lanes->view.warp & ~warp->exited; rest != 0; rest &= rest - 1) {
    Thread& lane = lanes[__builtin_ctz(rest)];
    if (has_started(w, &lane) && lane.state == State::kCollective &&
        absent_lane(w, warp, &lane, lane.mask & ~warp->exited) < 0) {
      lane.state = State::kReady;  // it carries the instruction out, or waits for another
      --w->waiting;
    }
  }
}

}  // namespace ck_sim

void ck_sim_warp(unsigned mask, void* data, ck_sim_warp_function function,
                 const ck_sim::Site* site) {
  using namespace ck_sim;
  Worker* w = worker;
  Thread* self = w->running;
  Thread* lanes = self - self->view.lane;
  Warp* warp = &w->warps[(lanes - w->threads) / kWarpSize];
  if ((mask >> self->view.lane & 1) == 0) {
    char what[200];
    snprintf(what, sizeof what, "the mask of %s must name the calling lane; mask 0x%08x, lane %u",
             site->opcode, mask, self->view.lane);
    ck_sim_stop("barrier_divergence", what, site);
  }
  self->site = site;
  self->mask = mask & self->view.warp;  // lanes beyond the block do not exist
  self->data = data;
  for (;;) {
    self->state = State::kCollective;
    if (absent_lane(w, warp, self, self->mask & ~warp->exited) < 0) {
      break;
    }
    ++w->waiting;
    suspend(w, self);
    if (self->data == nullptr) {
      return;  // the last lane carried it out
    }
  }
  void* given[kWarpSize];
  const unsigned present = self->mask & ~warp->exited;
  for (unsigned rest = present; rest != 0; rest &= rest - 1) {
    const int i = __builtin_ctz(rest);
    given[i] = lanes[i].data;
  }
  function(given, present);
  w->waiting -= static_cast<uint32_t>(__builtin_popcount(present)) - 1;
  for (unsigned rest = present; rest != 0; rest &= rest - 1) {
    Thread& lane = lanes[__builtin_ctz(rest)];
    lane.data = nullptr;
    lane.state = State::kReady;
  }
  ++w->changes;
}
