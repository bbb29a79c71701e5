// The sixteen barriers of a block.
#pragma once

#include "warp_instructions.hpp"

namespace ck_sim {

inline bool have_same_line(const Site& a, const Site& b) {
  return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0);
}

/// Ends the launch: a thread came to a barrier in another way than those before it.
__attribute__((noreturn, noinline)) inline void stop_at(const Site& other, const char* what,
                                                        const Site* site) {
  char text[400];
  const bool alike =
      &other != site && have_same_line(other, *site) && same_text(other.opcode, site->opcode);
  const int length =
      snprintf(text, sizeof text, "%s; another came by %s at %s:%d%s", what, other.opcode,
               other.file, other.line, alike ? ", another instruction" : "");
  const char* calls = other.stack == nullptr ? nullptr : strchr(other.stack, '\n');
  if (calls != nullptr && length > 0 && static_cast<size_t>(length) < sizeof text) {
    char* end = text + length;
    snprintf(end, sizeof text - static_cast<size_t>(length), " (called at %s)", calls + 1);
    for (; *end != 0; ++end) {
      *end = *end == '\n' ? ',' : *end;
    }
  }
  ck_sim_stop("barrier_divergence", text, site);
}

constexpr const char* kTogether =
    "all lanes of a warp must reach a barrier by the same instruction";

/// Counts the running thread at a barrier.
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
  come_together(w, site);
  const Thread* self = w->running;
  BlockBarrier* barrier = &w->barriers[number];
  // A barrier of the whole block counts all lanes of its warps.
  const uint32_t all = (w->launch->threads + kWarpSize - 1) / kWarpSize * kWarpSize;
  threads = threads == all ? 0 : threads;
  const uint32_t i = static_cast<uint32_t>(self - w->threads) / kWarpSize;
  const bool aligned = kChecked && (site->access & kAligned) != 0;
  if (barrier->arrived == 0) {
    barrier->kind = kind;
    barrier->threads = threads;
    barrier->site = site;
    barrier->first = &self->view;
    w->barriers_used |= 1u << number;
  } else if (barrier->kind != kind) {
    stop_at(*barrier->site, "all threads must reach a barrier by the same instruction", site);
  } else if (barrier->threads != threads) {
    stop_at(*barrier->site, "all threads must give a barrier the same number of threads", site);
  } else if ((barrier->lanes[i] >> self->view.lane & 1) != 0) {
    stop_at(*barrier->site, "a thread must reach a barrier once before it completes", site);
  } else if (barrier->lanes[i] != 0 && aligned != ((barrier->aligned >> i & 1) != 0)) {
    stop_at(*barrier->site, kTogether, site);
  }
  barrier->lanes[i] |= 1u << self->view.lane;
  barrier->aligned |= aligned ? 1u << i : 0u;
  ++barrier->arrived;
  return barrier;
}

/// Which lanes of a warp count as arrived. Lanes that have exited, or that the block does not have,
/// arrive with the first lane of their warp; at a barrier for all threads, they have always
/// arrived. Lanes that must come together count once all of them have come.
inline unsigned lanes_arrived(const Worker* w, const BlockBarrier& barrier, uint32_t warp) {
  if (barrier.threads != 0 && barrier.lanes[warp] == 0) return 0;
  const unsigned missing = ~w->threads[warp * kWarpSize].view.warp | w->warps[warp].exited;
  const unsigned lanes = barrier.lanes[warp] | missing;
  return (barrier.aligned >> warp & 1) != 0 && lanes != ~0u ? 0 : lanes;
}

inline bool is_complete(const Worker* w, const BlockBarrier& barrier) {
  const uint32_t threads = w->launch->threads;
  const uint32_t all = (threads + kWarpSize - 1) / kWarpSize * kWarpSize;
  const uint32_t needed = barrier.threads == 0 ? all : barrier.threads;
  if (barrier.arrived + w->done + (all - threads) < needed) return false;
  uint32_t count = 0;
  for (uint32_t i = 0; i < all / kWarpSize; ++i) {
    count += static_cast<uint32_t>(__builtin_popcount(lanes_arrived(w, barrier, i)));
  }
  return count >= needed;
}

inline void reset_barrier(BlockBarrier* barrier) {
  barrier->arrived = barrier->aligned = 0;
  memset(barrier->lanes, 0, sizeof barrier->lanes);
  order_forget(barrier);
}

/// Fails the launch: threads that must come to a barrier will not. `only_strict`: all others have
/// come, and these have exited.
inline void report_barrier(Worker* w, unsigned number, const View& view, const Site& site,
                           bool only_strict = false) {
  const BlockBarrier& barrier = w->barriers[number];
  const uint32_t threads = w->launch->threads;
  fail(w->launch, "barrier_divergence", view, &site,
       "%s:%d: %u threads of the block must reach barrier %u; %u came, %u exited and %u wait "
       "elsewhere%s",
       site.file, site.line, barrier.threads == 0 ? threads : barrier.threads, number,
       barrier.arrived, w->done, threads - w->done - barrier.arrived,
       only_strict ? ", which only strict reports" : "");
}

/// Whether threads that have exited count as arrived.
inline bool counts_exited(const Worker* w, const BlockBarrier& barrier) {
  for (uint32_t i = 0; i * kWarpSize < w->launch->threads; ++i) {
    if ((lanes_arrived(w, barrier, i) & w->warps[i].exited & ~barrier.lanes[i]) != 0) return true;
  }
  return false;
}

/// Calls `act` with each thread that waits at a barrier and counts there.
template <typename Act>
inline void each_waiting(Worker* w, unsigned number, Act act) {
  const BlockBarrier& barrier = w->barriers[number];
  for (uint32_t i = 0; i * kWarpSize < w->launch->threads; ++i) {
    for (const uint32_t lane : SetBits{lanes_arrived(w, barrier, i) & barrier.lanes[i]}) {
      Thread& thread = w->threads[i * kWarpSize + lane];
      if (thread.state == State::kBarrier && thread.barrier == number) {
        act(thread);
      }
    }
  }
}

/// Forgets the lanes that a barrier has counted. Those of warps of which more lanes must come stay.
inline void begin_phase(const Worker* w, BlockBarrier* barrier) {
  uint32_t left = 0;
  for (uint32_t i = 0; i * kWarpSize < w->launch->threads; ++i) {
    if (lanes_arrived(w, *barrier, i) != 0) {
      barrier->lanes[i] = 0;
      barrier->aligned &= ~(1u << i);
    }
    left += static_cast<uint32_t>(__builtin_popcount(barrier->lanes[i]));
  }
  barrier->arrived = left;
  if (left == 0) {
    reset_barrier(barrier);
  }
}

/// Has what threads did before they arrived come before what the waiting ones do.
inline void order_barrier(Worker* w, unsigned number, uint32_t waiting) {
  const BlockBarrier* barrier = &w->barriers[number];
  if (waiting == barrier->arrived && waiting + w->done == w->launch->threads) {
    order_block(w);
    return;
  }
  each_waiting(w, number,
               [w, barrier](Thread& thread) { order_release(w, &thread, barrier, Scope::kCta); });
  each_waiting(w, number,
               [w, barrier](Thread& thread) { order_acquire(w, &thread, barrier, Scope::kCta); });
}

/// What threads get at a barrier, by how many of their predicates hold.
inline int count_votes(Barrier kind, uint32_t holding, uint32_t threads) {
  if (kind == Barrier::kCount) return static_cast<int>(holding);
  return kind == Barrier::kAnd ? holding == threads : holding != 0;
}

inline void complete(Worker* w, unsigned number) {
  BlockBarrier* barrier = &w->barriers[number];
  if (kChecked && counts_exited(w, *barrier)) {
    const bool passed = passed_by(w, *barrier->first, barrier->site);
    if (passed || w->launch->strict) {
      report_barrier(w, number, *barrier->first, *barrier->site, !passed);
      return;
    }
  }
  uint32_t waiting = 0, holding = 0;
  each_waiting(w, number, [&waiting, &holding](const Thread& thread) {
    ++waiting;
    holding += thread.predicate != 0;
  });
  if (kChecked) {
    order_barrier(w, number, waiting);
  }
  const int result = count_votes(barrier->kind, holding, waiting);
  each_waiting(w, number, [result](Thread& thread) {
    thread.predicate = result;
    thread.state = State::kReady;
  });
  w->waiting -= waiting;  // without this, exits of threads would be looked at in vain
  begin_phase(w, barrier);
  ++w->changes;
}

/// Lets threads go on that only waited for those that have exited.
inline void release_for_exited(Worker* w) {
  for (const unsigned number : SetBits{w->barriers_used}) {
    if (w->barriers[number].arrived != 0 && is_complete(w, w->barriers[number])) {
      complete(w, number);
    }
  }
  for (uint32_t first = 0; first < w->launch->threads; first += kWarpSize) {
    if (w->warps[first / kWarpSize].exited != 0) {
      look_again(w, w->threads + first);
    }
  }
}

/// Fails the launch, in which no thread can run: says which barrier or warp lacks threads.
inline void report_stuck(Worker* w) {
  const Thread* waiting = nullptr;
  for (const Thread* t = w->threads; t < w->threads + w->launch->threads; ++t) {
    if (t->state == State::kCollective) {
      report_lanes(w, *t);
      return;
    }
    waiting = waiting == nullptr && t->state == State::kBarrier ? t : waiting;
  }
  report_barrier(w, waiting->barrier, waiting->view, *waiting->site);
}

/// Has the running thread come to a barrier, and wait there until that is complete.
inline void come_to_barrier(Worker* w, const BlockMeeting& given, const Site* site) {
  Thread* self = w->running;
  BlockBarrier* barrier = join(w, given.kind, given.number, given.threads, site);
  self->site = site;
  self->predicate = given.predicate;
  self->barrier = given.number;
  self->state = State::kBarrier;
  ++w->waiting;
  if (is_complete(w, *barrier)) {
    complete(w, given.number);
  }
}

CK_SIM_EXPORT int ck_sim_barrier_wait(const BlockMeeting& given, const Site* site) {
  Worker* w = current();
  const Thread* self = w->running;
  come_to_barrier(w, given, site);
  suspend(w);  // the last thread too, so that none runs ahead to the next barrier
  return self->predicate;
}

CK_SIM_EXPORT void ck_sim_barrier_arrive(unsigned number, unsigned threads, const Site* site) {
  Worker* w = current();
  const BlockBarrier* barrier = join(w, Barrier::kPlain, number, threads, site);
  order_release(w, w->running, barrier, Scope::kCta);
  if (is_complete(w, *barrier)) {
    complete(w, number);
  }
}

}  // namespace ck_sim
