// SPDX-License-Identifier: MIT
// Runs the threads of one block as fibers on one OS thread. A thread that waits for nobody runs to
// its end on a shared stack; one that meets a barrier, a warp collective or an atomic keeps its
// stack and lets others run.
#pragma once

#include "collectives.hpp"
#include "faults.hpp"
#include "scheduler.hpp"
#ifdef CK_SIM_CHECKED
#include "checker.hpp"
#else
#include "window.hpp"
#endif

namespace ck_sim {

/// The next thread of the block that has not started yet.
inline Thread* next_thread(Worker* w) {
#ifdef CK_SIM_CHECKED
  return &w->threads[w->order[w->next_fresh++]];
#else
  Thread* thread = &w->threads[w->next_fresh++];
  thread->polled = nullptr;
  thread->cluster_arrived = false;
  return thread;
#endif
}

inline void end_thread(Worker* w, Thread* thread) {
  exit_thread(w, thread);
  thread->state = State::kDone;
  thread->fiber = nullptr;
  ++w->done;
}

/// Where every fiber starts: runs threads that have not started yet, until one of them suspends.
inline void fiber_main() {
  Worker* w = worker;
  for (;;) {
    Thread* thread = w->running;
    Fiber* fiber = thread->fiber;
    for (;;) {
      w->launch->entry(w->launch->parameters);
      end_thread(w, thread);
      if (w->next_fresh >= w->launch->threads || has_failed(w->launch)) {
        break;
      }
      thread_ended(w);
      thread = next_thread(w);  // the next one starts on the same stack
      thread->fiber = fiber;
      w->running = thread;
      ck_sim_current = &thread->view;
    }
    fiber->next = w->idle_fibers;
    w->idle_fibers = fiber;
    switch_context(&fiber->context, &w->scheduler);
  }
}

inline void resume(Worker* w, Thread* thread) {
  w->running = thread;
  ck_sim_current = &thread->view;
#ifdef CK_SIM_CHECKED
  checker.stack = thread->fiber->bottom();
  checker.turn = ++checker.steps;
#endif
  w->guard.armed = true;
  switch_context(&w->scheduler, &thread->fiber->context);
  w->guard.armed = false;
}

inline void start_fresh(Worker* w) {
  Thread* thread = next_thread(w);
  Fiber* fiber = w->idle_fibers;
  if (fiber != nullptr) {
    w->idle_fibers = fiber->next;
    if (fiber->restart != nullptr) {
      start_context(fiber, fiber->restart);
    }
  } else {
    fiber = take_fiber(fiber_main);
    if (fiber == nullptr) {
      fail(w->launch, "out_of_memory", thread->view,
           "the threads need more stacks than there is memory for");
      return;
    }
  }
  thread->fiber = fiber;
  resume(w, thread);
}

/// Called in a signal handler, on the signal stack: the fiber is given up where it stands.
inline void on_fault(void* context, const siginfo_t* info) {
  Worker* w = static_cast<Worker*>(context);
  Thread* thread = w->running;
  char text[200];
  const char* kind = "out_of_bounds";
  const char* message = text;
  if (info->si_signo == SIGFPE) {
    kind = "arithmetic";
    message = "an integer must not be divided by zero";
  } else if (info->si_signo == SIGILL) {
    kind = "trap";
    message = "the kernel must not execute a trap";
  } else if (is_overflow(thread->fiber, info->si_addr)) {
    kind = "stack_overflow";
    snprintf(text, sizeof text, "a thread must use at most %u bytes of stack",
             static_cast<unsigned>(kStackBytes));
#ifndef CK_SIM_CHECKED
  } else if (window_offset(w->window, info->si_addr) < w->window.bytes) {
    kind = "out_of_bounds";
    snprintf(text, sizeof text,
             "shared memory must be accessed within its %llu bytes; offset %llu is not",
             static_cast<unsigned long long>(w->group.dynamic_offset) + w->group.dynamic_bytes,
             static_cast<unsigned long long>(window_offset(w->window, info->si_addr)));
#endif
  } else if (info->si_addr == nullptr && info->si_code != SEGV_MAPERR) {
    // The processor does not say which address it refused: beyond any memory, or not on a multiple
    // of 16 where a vector must lie.
    message = "memory must be mapped where it is accessed, and vectors aligned; one access was not";
  } else {
    snprintf(text, sizeof text, "memory must be mapped where it is accessed; address %p is not",
             info->si_addr);
  }
  fail(w->launch, kind, thread->view, message);
  suspend(w, thread);
}

/// Takes the fibers that a failure left in the middle of a thread, and forgets what they waited
/// for.
inline void clean_up(Worker* w) {
  for (uint32_t i = 0; i < w->launch->threads; ++i) {
    Thread& thread = w->threads[i];
#ifndef CK_SIM_CHECKED
    thread.copies.count = 0;
#endif
    if (thread.fiber != nullptr) {
      thread.fiber->next = w->idle_fibers;
      w->idle_fibers = thread.fiber;
      thread.fiber = nullptr;
    }
  }
#ifdef CK_SIM_CHECKED
  for (Warp& warp : w->warps) {
    for (Result& result : warp.results) {
      result.unread = 0;
    }
  }
#else
  w->later = 0;
#endif
}

}  // namespace ck_sim
