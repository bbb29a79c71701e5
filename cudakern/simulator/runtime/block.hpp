// Runs the threads of one block as fibers on one OS thread, which may run other blocks in turns. A
// thread that never waits runs to its end on a stack that others use after it. A thread that comes
// to a barrier, a collective of its warp or an atomic keeps its stack and lets others run.
#pragma once

#include "clusters.hpp"
#include "guarded_arrays.hpp"
#include "mbarrier.hpp"
#include "ticks.hpp"

namespace ck_sim {

/// Gives a worker block `next`, of a cluster or of none, and forgets the one before. The blocks of
/// a cluster have numbers one after the other.
inline void start_block(Worker* w, Cluster* cluster, uint64_t next) {
  if (cluster == nullptr) {
    w->group.block = unravel_index(w->launch->grid, next);
  } else {
    join_cluster(w, cluster, next);
  }
  w->next_fresh = w->done = w->converging = w->waiting = 0;
  w->copies = false;
  w->alone.phase = w->alone.arrived = w->alone.gone = 0;
  order_forget(&w->alone.keys[0]);
  order_forget(&w->alone.keys[1]);
  for (const unsigned number : SetBits{w->barriers_used}) {
    reset_barrier(&w->barriers[number]);
  }
  w->barriers_used = 0;
  for (uint32_t first = 0; first < w->launch->threads; first += kWarpSize) {
    w->warps[first / kWarpSize].exited = 0;
  }
}

inline Thread* start_thread(Worker* w, Fiber* fiber) {
  Thread* thread = next_thread(w);
  ++w->next_fresh;
  thread->state = State::kReady;
  thread->fiber = fiber;
  thread->polled = nullptr;
  thread->polls = thread->updates = 0;
  thread->cluster_arrived = false;
  w->running = thread;
  w->fiber = fiber;
  ck_sim_current = &thread->view;
  begin_turn(w, thread);
  return thread;
}

inline void end_thread(Worker* w, Thread* thread) {
  w->warps[(thread - w->threads) / kWarpSize].exited |= 1u << thread->view.lane;
  if (thread->copies.count != 0) {
    finish_copies(w, thread);
  }
  if (w->cluster != &w->alone || thread->cluster_arrived) {
    exit_cluster(w, thread);
  }
  thread->state = State::kDone;
  thread->fiber = nullptr;
  ++w->done;
}

/// The function of every fiber: it runs threads that have not started yet, until one suspends.
inline void fiber_main() {
  Worker* w = worker;
  for (;;) {
    Thread* thread = w->running;
    Fiber* fiber = w->fiber;
    for (;;) {
      w->launch->kernel->entry(w->launch->parameters);
      if (in_regions(w->launch)) break;
      end_thread(w, thread);
      if (w->next_fresh >= w->launch->threads || has_failed(w->launch)) break;
      thread_ended(w);
      thread = start_thread(w, fiber);  // on the same stack
    }
    fiber->next = w->idle_fibers;
    w->idle_fibers = fiber;
    switch_context(&fiber->context, &w->scheduler);
  }
}

/// Runs the running thread, and others on its stack, until one suspends.
inline void enter(Worker* w) {
  Runner* const r = w->runner;
  do {
    r->left = false;
    r->guard.armed = true;
    switch_context(&w->scheduler, &w->fiber->context);
    r->guard.armed = false;
    if (r->looks) {
      look(r);
    }
  } while (r->left && !has_failed(w->launch));
}

inline void resume(Worker* w, Thread* thread) {
  w->running = thread;
  w->fiber = thread->fiber;
  ck_sim_current = &thread->view;
  begin_turn(w, thread);
  enter(w);
}

/// A fiber that starts at its beginning; null, and a failure, without memory.
inline Fiber* fresh_fiber(Worker* w) {
  Fiber* fiber = w->idle_fibers;
  if (fiber != nullptr) {
    w->idle_fibers = fiber->next;
    if (fiber->restart != nullptr) {
      start_context(fiber, fiber->restart);
    }
    return fiber;
  }
  fiber = take_fiber(fiber_main);
  if (fiber == nullptr) {
    fail(w->launch, "out_of_memory", next_thread(w)->view, nullptr,
         "the threads need more stacks than there is memory for");
  }
  return fiber;
}

inline void start_fresh(Worker* w) {
  Fiber* fiber = fresh_fiber(w);
  if (fiber == nullptr) return;
  start_thread(w, fiber);
  enter(w);
}

/// Fails the launch at a fault: in a signal handler, on its stack. The fiber is left where it is.
inline void on_fault(void*, const siginfo_t* info) {
  Worker* w = current();
  Thread* thread = w->running;
  char text[300];
  const char* kind = "out_of_bounds";
  const char* message = text;
  if (info->si_signo == SIGILL) {
    kind = "trap";
    message = "the kernel must not execute a trap";
  } else if (is_overflow(w->fiber, info->si_addr)) {
    kind = "stack_overflow";
    snprintf(text, sizeof text, "a thread must use at most %u bytes of stack",
             static_cast<unsigned>(kStackBytes));
  } else if (window_offset(w->window, info->si_addr) < w->window.bytes) {
    snprintf(text, sizeof text,
             "shared memory must be accessed within its %llu bytes; offset %llu is not",
             static_cast<unsigned long long>(w->group.dynamic_offset) + w->group.dynamic_bytes,
             static_cast<unsigned long long>(window_offset(w->window, info->si_addr)));
  } else if (describe_near_array(w->launch, info->si_addr, text, sizeof text)) {
    kind = "out_of_bounds";
  } else if (info->si_addr == nullptr && info->si_code != SEGV_MAPERR) {
    // The processor does not say which address it refused: one beyond all memory, or that of a
    // vector which is not a multiple of 16.
    message = "memory must be mapped where it is accessed, and vectors aligned; one access was not";
  } else {
    const bool is_null = reinterpret_cast<uint64_t>(info->si_addr) < 65536;
    snprintf(text, sizeof text, "memory must be mapped where it is accessed; address %p is not%s",
             info->si_addr, is_null ? ": a null pointer, or near one" : "");
  }
  const bool is_access = strcmp(kind, "out_of_bounds") == 0;
  fail(w->launch, kind, thread->view, nullptr, "%s%s", message, is_access ? kWhereLine : "");
  suspend(w);
}

/// Takes back the fibers that a failure left in the middle of threads, and forgets their copies.
inline void clean_up(Worker* w) {
  if (in_regions(w->launch) && w->fiber != nullptr) {
    w->fiber->next = w->idle_fibers;
    w->idle_fibers = w->fiber;
  }
  for (uint32_t i = 0; i < w->launch->threads; ++i) {
    Thread& thread = w->threads[i];
    thread.copies.count = 0;
    thread.state = State::kDone;
    if (thread.fiber != nullptr) {
      thread.fiber->next = w->idle_fibers;
      w->idle_fibers = thread.fiber;
      thread.fiber = nullptr;
    }
  }
}

CK_SIM_EXPORT __attribute__((noreturn)) void ck_sim_exit() {
  Worker* w = current();
  Fiber* fiber = w->fiber;
  end_thread(w, w->running);
  fiber->restart = fiber_main;  // its frames are given up
  fiber->next = w->idle_fibers;
  w->idle_fibers = fiber;
  Context left;
  switch_context(&left, &w->scheduler);
  __builtin_unreachable();
}

CK_SIM_EXPORT int ck_sim_is_local(const void* address) {
  const Worker* w = worker;
  const uint64_t kept = static_cast<uint64_t>(static_cast<const char*>(address) - w->saved);
  return w->fiber->has(address) || kept < w->saved_bytes;
}

}  // namespace ck_sim
