// SPDX-License-Identifier: MIT
// Ends a checked launch whose running thread does nothing that anybody could see: a loop that the
// compiler has left without any access to memory, waiting for a value that was read before it.
#pragma once

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "callbacks.hpp"

namespace ck_sim {

constexpr uint32_t kEndlessLoop = 16;  // in ck_sim_finding::access

struct Watchdog {
  timer_t timer;
  bool armed;
  uint64_t seen;
  uint32_t ticks, most_ticks;
};

inline Watchdog watchdog;

inline int watchdog_signal() { return SIGRTMAX - 5; }

inline const void* interrupted_at(const void* context) {
  const ucontext_t* c = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(c->uc_mcontext.gregs[16]);  // REG_RIP
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(c->uc_mcontext.pc);
#else
  (void)c;
  return nullptr;
#endif
}

/// Ten times a second, on the thread that runs the kernel.
inline void on_tick(int, siginfo_t*, void* context) {
  Worker* w = worker;
  const uint64_t code = reinterpret_cast<uint64_t>(interrupted_at(context));
  if (w == nullptr || !w->guard.armed || checker.steps != watchdog.seen) {
    watchdog.seen = checker.steps;
    watchdog.ticks = 0;
    return;
  }
  const MemoryMap& m = memory_map;
  if (++watchdog.ticks < watchdog.most_ticks ||
      code - reinterpret_cast<uint64_t>(m.image) >= m.image_bytes) {
    return;  // not long enough, or in the middle of a library's function
  }
  w->guard.armed = false;
  ck_sim_finding& found = add_finding("deadlock", w->running->view);
  found.site = code + 1;  // as a return address: one past an instruction's start
  found.access = kEndlessLoop;
  w->launch->failed = 1;
  suspend(w, w->running);
}

inline void start_watchdog(uint32_t tenths) {
  watchdog.seen = checker.steps;
  watchdog.ticks = 0;
  watchdog.most_ticks = tenths;
  struct sigaction action = {};
  action.sa_sigaction = on_tick;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
  sigaction(watchdog_signal(), &action, nullptr);  // for good: one may be on its way at the end
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = watchdog_signal();
#ifdef sigev_notify_thread_id
  event.sigev_notify_thread_id = static_cast<int>(syscall(SYS_gettid));
#else
  event._sigev_un._tid = static_cast<int>(syscall(SYS_gettid));
#endif
  watchdog.armed = timer_create(CLOCK_MONOTONIC, &event, &watchdog.timer) == 0;
  if (watchdog.armed) {
    const itimerspec every = {{0, 100000000}, {0, 100000000}};
    timer_settime(watchdog.timer, 0, &every, nullptr);
  }
}

inline void stop_watchdog() {
  if (watchdog.armed) {
    timer_delete(watchdog.timer);
  }
}

}  // namespace ck_sim
