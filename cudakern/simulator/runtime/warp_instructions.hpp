// Instructions that the lanes of a warp carry out together: shuffles, votes, matrix products.
#pragma once

#include "collectives.hpp"

namespace ck_sim {

inline bool same_text(const char* a, const char* b) {
  return a == b || (a != nullptr && b != nullptr && strcmp(a, b) == 0);
}

/// Whether two threads wait by the same instruction with the same qualifiers. PTX asks for no more,
/// so lanes may come from several places in the code.
inline bool same_instruction(const Site& a, const Site& b) { return same_text(a.opcode, b.opcode); }

/// Whether a lane waits for those of `mask` by the instruction at `site`.
inline bool takes_part(const Thread& lane, unsigned mask, const Site& site) {
  return lane.state == State::kCollective && lane.mask == mask &&
         same_instruction(*lane.site, site);
}

/// A lane of `rest` that does not take part yet, or -1. Lanes may take long to come, so the search
/// begins with the lane that was absent last.
inline int absent_lane(Warp* warp, const Thread* self, unsigned rest) {
  const Thread* lanes = self - self->view.lane;
  const unsigned late = rest & (~0u << warp->absent);
  for (unsigned order = 0; order < 2; ++order) {
    for (const unsigned i : SetBits{order == 0 ? late : rest & ~late}) {
      if (!takes_part(lanes[i], self->mask, *self->site)) {
        warp->absent = i;
        return static_cast<int>(i);
      }
    }
  }
  return -1;
}

/// Fails the launch: some lanes of a collective will not come.
inline void report_lanes(Worker* w, const Thread& waiting) {
  const Site& site = *waiting.site;
  const Thread* lanes = &waiting - waiting.view.lane;
  const unsigned exited = waiting.mask & w->warps[(lanes - w->threads) / kWarpSize].exited;
  unsigned elsewhere = 0;
  for (const unsigned i : SetBits{waiting.mask & ~exited}) {
    elsewhere += lanes[i].state > State::kReady && !takes_part(lanes[i], waiting.mask, site);
  }
  char gone[40] = "";
  if (kChecked && exited != 0) {
    snprintf(gone, sizeof gone, "%d of them exited and ", __builtin_popcount(exited));
  }
  fail(w->launch, "barrier_divergence", waiting.view, &site,
       "%s:%d: all lanes of mask 0x%08x must reach %s with that mask; %s%u %swait elsewhere",
       site.file, site.line, waiting.mask, site.opcode, gone, elsewhere,
       gone[0] == 0 ? "of them " : "");
}

/// Whether a lane waits for one that has exited, or that waits for it by another instruction. In
/// plain launches, a lane that has exited counts as arrived, and the other case is found when no
/// thread can run. Lanes that wait with the same mask wait by the same instruction: one is enough.
inline bool diverges(const Warp& warp, const Thread& waiting) {
  if (!kChecked || (waiting.mask & warp.exited) != 0) return kChecked;
  const Thread* lanes = &waiting - waiting.view.lane;
  for (const unsigned i : SetBits{waiting.mask}) {
    const Thread& lane = lanes[i];
    if (&lane != &waiting && lane.state == State::kCollective && lane.mask == waiting.mask) {
      return !same_instruction(*lane.site, *waiting.site);
    }
  }
  return false;
}

/// Carries out the instruction of a lane for all lanes of its mask, which have come.
inline void carry_out(Worker* w, const Thread& self) {
  Thread* lanes = w->threads + (&self - w->threads) / kWarpSize * kWarpSize;
  void* given[kWarpSize];
  const unsigned present = self.mask & ~w->warps[(lanes - w->threads) / kWarpSize].exited;
  for (const unsigned i : SetBits{present}) {
    given[i] = lanes[i].data;
  }
  order_lanes(w, static_cast<uint32_t>(lanes - w->threads), present, self.site);
  self.function(given, present);
  w->waiting -= static_cast<uint32_t>(__builtin_popcount(present)) - 1;
  for (const unsigned i : SetBits{present}) {
    lanes[i].data = nullptr;
    lanes[i].state = State::kReady;
  }
  w->changes += !in_regions(w->launch);  // in regions, it may be part of a loop that polls
}

/// Has the waiting lanes of a warp look again for whom they wait.
inline void look_again(Worker* w, Thread* lanes) {
  Warp* warp = &w->warps[(lanes - w->threads) / kWarpSize];
  for (const unsigned i : SetBits{lanes->view.warp & ~warp->exited}) {
    Thread& lane = lanes[i];
    if (lane.state != State::kCollective) continue;
    if (diverges(*warp, lane)) {
      report_lanes(w, lane);
    } else if (absent_lane(warp, &lane, lane.mask & ~warp->exited) < 0) {
      --w->waiting;
      if (in_regions(w->launch)) {
        carry_out(w, lane);
      } else {
        lane.state = State::kReady;  // it carries the instruction out, or waits for another lane
      }
    }
  }
}

/// Has the running thread come to a collective of its warp.
inline void come_to_collective(Worker* w, unsigned mask, void* data, ck_sim_warp_function function,
                               const Site* site) {
  Thread* self = w->running;
  if ((mask >> self->view.lane & 1) == 0) {
    char what[200];
    snprintf(what, sizeof what, "the mask of %s must name the calling lane; mask 0x%08x, lane %u",
             site->opcode, mask, self->view.lane);
    ck_sim_stop("barrier_divergence", what, site);
  }
  self->site = site;
  self->mask = mask & self->view.warp;  // lanes beyond the block do not exist
  self->data = data;
  self->function = function;
  self->state = State::kCollective;
}

/// Whether all lanes that a waiting one waits for have come.
inline bool all_present(Worker* w, const Thread& self) {
  Warp* warp = &w->warps[(&self - w->threads) / kWarpSize];
  return absent_lane(warp, &self, self.mask & ~warp->exited) < 0;
}

CK_SIM_EXPORT void ck_sim_warp(unsigned mask, void* data, ck_sim_warp_function function,
                               const Site* site) {
  Worker* w = current();
  Thread* self = w->running;
  come_to_collective(w, mask, data, function, site);
  for (;; self->state = State::kCollective) {
    if (diverges(w->warps[(self - w->threads) / kWarpSize], *self)) {
      report_lanes(w, *self);
      suspend(w);
    }
    if (all_present(w, *self)) break;
    ++w->waiting;
    suspend(w);
    if (self->data == nullptr) {
      return;  // the last lane carried it out
    }
  }
  carry_out(w, *self);
}

}  // namespace ck_sim
