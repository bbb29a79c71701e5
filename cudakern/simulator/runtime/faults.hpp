// Has signals of faults become reports, instead of ending the process, whatever the program does
// with signals. A launch claims them when it begins, and again while it runs; see ticks.hpp.
#pragma once

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

namespace ck_sim {

constexpr size_t kSignalStackBytes = 64 * 1024;
constexpr size_t kLeastSignalStackBytes = 32 * 1024;
constexpr int kSignalCount = 3;
constexpr int kSignals[kSignalCount] = {SIGSEGV, SIGBUS, SIGILL};

/// While armed, a fault on this OS thread belongs to the kernel.
struct FaultGuard {
  bool armed;
  void (*handler)(void* context, const siginfo_t* info);  // must not return
  void* context;
  sigset_t blocked;  // which signals the program blocks
  FaultGuard* outer;
};

inline __thread FaultGuard* fault_guard = nullptr;

// What all simulators of a process share. A simulator replaces the handler of another one, and each
// handler asks all simulators whose fault it is.

typedef void (*SignalHandler)(int, siginfo_t*, void*);
constexpr uint32_t kMostSimulators = 64;

struct SharedSignals {
  struct sigaction previous[kSignalCount];  // of the program
  uint32_t count;
  SignalHandler handlers[kMostSimulators];
  void (*offers[kMostSimulators])(const siginfo_t*);
};
constexpr uint32_t kSharedBytes = 4096;
static_assert(sizeof(SharedSignals) <= kSharedBytes, "Python allocates so many");

inline SharedSignals* shared_signals = nullptr;  // until join_simulators
inline __thread bool passes_on = false;

/// Handles a fault of a kernel of this simulator, and does not return then.
inline void offer_fault(const siginfo_t* info) {
  FaultGuard* guard = fault_guard;
  if (guard != nullptr && guard->armed) {
    guard->armed = false;
    guard->handler(guard->context, info);
  }
}

/// Lets a signal that nobody handles end the process: at once, or when the instruction runs again.
inline void give_up(int number, bool sent) {
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(number, &standard, nullptr);
  if (sent) {
    raise(number);
  }
}

/// Passes a signal on to the program's own handler, which may raise it again.
inline void pass_on(int number, siginfo_t* info, void* context, bool sent) {
  int i = 0;
  while (kSignals[i] != number) {
    ++i;
  }
  const struct sigaction action = shared_signals->previous[i];
  const bool has_siginfo = (action.sa_flags & SA_SIGINFO) != 0;
  const bool standard = !has_siginfo && action.sa_handler == SIG_DFL;
  const bool ignored = !has_siginfo && action.sa_handler == SIG_IGN;
  if (ignored && sent) return;
  if (standard || ignored || passes_on) {
    give_up(number, sent);
    return;
  }
  passes_on = true;
  if (has_siginfo) {
    action.sa_sigaction(number, info, context);
  } else {
    action.sa_handler(number);
  }
  passes_on = false;
}

inline void claim_signals();

inline void on_signal(int number, siginfo_t* info, void* context) {
  const int error = errno;
  const bool sent = info->si_code <= 0;  // by kill or raise, and not by this instruction
  if (!sent) {
    for (uint32_t i = 0; i < shared_signals->count; ++i) {
      shared_signals->offers[i](info);
    }
  }
  FaultGuard* const guard = fault_guard;
  if (sent && guard != nullptr && guard->armed && info->si_code == SI_TKILL &&
      info->si_pid == getpid()) {
    // A handler that the program installed over this one, as faulthandler does, has passed the
    // fault on. The instruction runs again, and then its fault comes here.
    claim_signals();
  } else {
    pass_on(number, info, context, sent);
  }
  errno = error;
}

inline bool is_simulators(const struct sigaction& action) {
  for (uint32_t i = 0; i < shared_signals->count; ++i) {
    if ((action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == shared_signals->handlers[i]) {
      return true;
    }
  }
  return false;
}

/// Has faults come to on_signal, whoever handled them before.
inline void claim_signals() {
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (int i = 0; i < kSignalCount; ++i) {
    struct sigaction before;
    sigaction(kSignals[i], &action, &before);
    if (!is_simulators(before)) {
      shared_signals->previous[i] = before;
    }
  }
}

inline void join_simulators(SharedSignals* shared) {
  shared_signals = shared;
  if (shared->count < kMostSimulators) {
    shared->handlers[shared->count] = on_signal;
    shared->offers[shared->count] = offer_fault;
    __atomic_fetch_add(&shared->count, 1, __ATOMIC_RELEASE);
  }
}

// The stack on which handlers run. Each OS thread that launches has one until it ends.

inline __thread void* signal_stack = nullptr;
inline pthread_key_t thread_end;  // its destructor runs when an OS thread ends

inline void use_signal_stack() {
  stack_t now = {};
  sigaltstack(nullptr, &now);
  if ((now.ss_flags & SS_DISABLE) == 0 && now.ss_size >= kLeastSignalStackBytes) return;
  if (signal_stack == nullptr) {
    signal_stack = malloc(kSignalStackBytes);
    if (signal_stack == nullptr) return;
    pthread_setspecific(thread_end, signal_stack);
  }
  stack_t stack = {};
  stack.ss_sp = signal_stack;
  stack.ss_size = kSignalStackBytes;
  sigaltstack(&stack, nullptr);
}

inline void free_signal_stack() {
  stack_t now = {};
  sigaltstack(nullptr, &now);
  if (now.ss_sp == signal_stack) {
    now.ss_flags = SS_DISABLE;
    sigaltstack(&now, nullptr);
  }
  free(signal_stack);
  signal_stack = nullptr;
}

/// Has faults of this OS thread come to the guard's handler.
inline void enter_guard(FaultGuard* guard) {
  guard->armed = false;
  guard->outer = fault_guard;
  fault_guard = guard;
  use_signal_stack();
  sigset_t faults;
  sigemptyset(&faults);
  for (int number : kSignals) {
    sigaddset(&faults, number);
  }
  pthread_sigmask(SIG_UNBLOCK, &faults, &guard->blocked);
  claim_signals();
}

inline void leave_guard(FaultGuard* guard) {
  fault_guard = guard->outer;
  for (int number : kSignals) {
    if (sigismember(&guard->blocked, number) == 1) {
      pthread_sigmask(SIG_SETMASK, &guard->blocked, nullptr);
      break;
    }
  }
}

/// Runs a function that reads or writes the program's memory; false if some of that is not mapped.
template <class Function>
inline bool survives(const Function& function) {
  struct {
    FaultGuard guard;
    sigjmp_buf back;
  } attempt = {};
  attempt.guard.context = &attempt.back;
  attempt.guard.handler = [](void* back, const siginfo_t*) {
    siglongjmp(*static_cast<sigjmp_buf*>(back), 1);
  };
  enter_guard(&attempt.guard);
  const bool whole = sigsetjmp(attempt.back, 0) == 0;
  if (whole) {
    attempt.guard.armed = true;
    function();
  }
  attempt.guard.armed = false;
  leave_guard(&attempt.guard);
  return whole;
}

}  // namespace ck_sim
