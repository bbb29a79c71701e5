// SPDX-License-Identifier: MIT
// The sixteen barriers of a block.
#pragma once

#include "warp_instructions.hpp"

namespace ck_sim {

/// Ends the launch: a thread came to a barrier otherwise than those before it.
__attribute__((noreturn, noinline)) inline void stop_at(const BlockBarrier& barrier,
                                                        const char* what, const Site* site) {
  char text[300];
  snprintf(text, sizeof text, "%s; another came by %s at %s:%d", what, barrier.site->opcode,
           barrier.site->file, barrier.site->line);
  ck_sim_stop("barrier_divergence", text, site);
}

/// Counts the running thread in.
inline BlockBarrier* join(Worker* w, Barrier kind, unsigned number, unsigned threads,
                          const Site* site) {
  char text[160];
  if (number >= kBarriers) {
    snprintf(text, sizeof text, "a barrier must have a number below %d; got %u", kBarriers, number);
    ck_sim_stop("misuse", text, site);
  }
  if (threads % kWarpSize != 0) {
    snprintf(text, sizeof text, "a barrier's threads must be a multiple of %d; got %u", kWarpSize,
             threads);
    ck_sim_stop("misuse", text, site);
  }
  const Thread* self = w->running;
  BlockBarrier* barrier = &w->barriers[number];
  // All of a block are as many as its warps have lanes.
  const uint32_t all = (w->launch->threads + kWarpSize - 1) / kWarpSize * kWarpSize;
  threads = threads == all ? 0 : threads;
  const uint32_t i = static_cast<uint32_t>(self - w->threads);
  if (barrier->arrived == 0) {
    barrier->kind = kind;
    barrier->threads = threads;
    barrier->site = site;
    w->barriers_used |= 1u << number;
  } else if (barrier->kind != kind) {
    stop_at(*barrier, "all threads must reach a barrier by the same instruction", site);
  } else if (barrier->threads != threads) {
    stop_at(*barrier, "all threads must give a barrier the same number of threads", site);
  } else if ((barrier->lanes[i / kWarpSize] >> self->view.lane & 1) != 0) {
    stop_at(*barrier, "a thread must reach a barrier once before it completes", site);
  }
  barrier->lanes[i / kWarpSize] |= 1u << self->view.lane;
  ++barrier->arrived;
  return barrier;
}

/// Whether enough threads have arrived. Lanes that have exited, or that a block does not have,
/// arrive with their warp; of a barrier for all threads they need no company.
inline bool is_complete(const Worker* w, const BlockBarrier& barrier) {
  const uint32_t threads = w->launch->threads;
  const uint32_t all = (threads + kWarpSize - 1) / kWarpSize * kWarpSize;
  const uint32_t needed = barrier.threads == 0 ? all : barrier.threads;
  if (barrier.arrived + w->done + (all - threads) < needed) {
    return false;
  }
  uint32_t count = 0;
  for (uint32_t i = 0; i < all / kWarpSize; ++i) {
    const unsigned missing = ~w->threads[i * kWarpSize].view.warp | w->warps[i].exited;
    if (barrier.threads == 0 || barrier.lanes[i] != 0) {
      count += static_cast<uint32_t>(__builtin_popcount(barrier.lanes[i] | missing));
    }
  }
  return count >= needed;
}

inline void forget(BlockBarrier* barrier) {
  barrier->arrived = barrier->holding = 0;
  memset(barrier->lanes, 0, sizeof barrier->lanes);
}

/// Lets the threads at a barrier go on.
inline void complete(Worker* w, unsigned number) {
  BlockBarrier* barrier = &w->barriers[number];
  uint32_t predicates = 0;
  for (uint32_t i = 0; i < w->next_fresh; ++i) {
    const Thread& thread = w->threads[i];
    predicates += thread.state == State::kBarrier && thread.barrier == number;
  }
  const uint32_t holding = barrier->holding;
  const int result = barrier->kind == Barrier::kCount ? static_cast<int>(holding)
                     : barrier->kind == Barrier::kAnd ? holding == predicates
                                                      : holding != 0;
  for (uint32_t i = 0; i < w->next_fresh; ++i) {
    Thread& thread = w->threads[i];
    if (thread.state == State::kBarrier && thread.barrier == number) {
      thread.predicate = result;
      thread.state = State::kReady;
      --w->waiting;
    }
  }
  forget(barrier);
  ++w->changes;
}

inline void forget_barriers(Worker* w) {
  for (unsigned rest = w->barriers_used; rest != 0; rest &= rest - 1) {
    forget(&w->barriers[__builtin_ctz(rest)]);
  }
  w->barriers_used = 0;
}

/// After threads have exited: who waited for them alone goes on.
inline void release_for_exited(Worker* w) {
  for (unsigned rest = w->barriers_used; rest != 0; rest &= rest - 1) {
    const unsigned number = static_cast<unsigned>(__builtin_ctz(rest));
    if (w->barriers[number].arrived != 0 && is_complete(w, w->barriers[number])) {
      complete(w, number);
    }
  }
  for (uint32_t first = 0; first < w->next_fresh; first += kWarpSize) {
    if (w->warps[first / kWarpSize].exited != 0) {
      look_again(w, w->threads + first);
    }
  }
}

/// Nobody can run: says which barrier or warp lacks whom.
inline void report_stuck(Worker* w) {
  const Thread* first = nullptr;
  for (uint32_t i = 0; i < w->next_fresh; ++i) {
    const Thread& t = w->threads[i];
    if (t.state == State::kCollective || (t.state == State::kBarrier && first == nullptr)) {
      first = first == nullptr || first->state == State::kBarrier ? &t : first;
    }
  }
  const Thread& thread = *first;
  const Site& site = *thread.site;
  char text[400];
  if (thread.state == State::kCollective) {
    const Thread* lanes = &thread - thread.view.lane;
    unsigned elsewhere = 0;
    for (unsigned rest = thread.mask & ~w->warps[(lanes - w->threads) / kWarpSize].exited;
         rest != 0; rest &= rest - 1) {
      elsewhere += !takes_part(w, lanes[__builtin_ctz(rest)], thread.mask, site);
    }
    snprintf(text, sizeof text,
             "%s:%d: all lanes of mask 0x%08x must reach %s with that mask; %u of them wait "
             "elsewhere",
             site.file, site.line, thread.mask, site.opcode, elsewhere);
  } else {
    const BlockBarrier& barrier = w->barriers[thread.barrier];
    const uint32_t threads = barrier.threads == 0 ? w->launch->threads : barrier.threads;
    snprintf(text, sizeof text,
             "%s:%d: %u threads of the block must reach barrier %u; %u came, %u exited and %u wait "
             "elsewhere",
             site.file, site.line, threads, thread.barrier, barrier.arrived, w->done,
             w->launch->threads - w->done - barrier.arrived);
  }
  fail(w->launch, "barrier_divergence", thread.view, text, &site);
}

}  // namespace ck_sim

int ck_sim_barrier_wait(ck_sim::Barrier kind, unsigned number, unsigned threads, int predicate,
                        const ck_sim::Site* site) {
  using namespace ck_sim;
  Worker* w = worker;
  Thread* self = w->running;
  BlockBarrier* barrier = join(w, kind, number, threads, site);
  barrier->holding += predicate != 0;
  self->site = site;
  self->barrier = number;
  self->state = State::kBarrier;
  ++w->waiting;
  if (is_complete(w, *barrier)) {
    complete(w, number);
  }
  suspend(w, self);  // the last one too, so that nobody runs ahead to the next barrier
  return self->predicate;
}

void ck_sim_barrier_arrive(unsigned number, unsigned threads, const ck_sim::Site* site) {
  using namespace ck_sim;
  Worker* w = worker;
  if (is_complete(w, *join(w, Barrier::kPlain, number, threads, site))) {
    complete(w, number);
  }
}
