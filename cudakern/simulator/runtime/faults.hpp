// Signals that become reports instead of a dead process.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

namespace ck_sim {

constexpr size_t kSignalStackBytes = 64 * 1024;
constexpr int kSignalCount = 3;
constexpr int kSignals[kSignalCount] = {SIGSEGV, SIGBUS, SIGILL};

/// While armed, a fault on this OS thread belongs to the kernel.
struct FaultGuard {
  bool armed;
  void (*handler)(void* context, const siginfo_t* info);  // must not return
  void* context;
  void* signal_stack;  // kept by the owner of the guard
  stack_t previous;
  FaultGuard* outer;
};

inline __thread FaultGuard* fault_guard = nullptr;
inline struct sigaction previous_actions[kSignalCount];
inline int guards = 0;
inline pthread_mutex_t guards_lock = PTHREAD_MUTEX_INITIALIZER;

inline void on_signal(int number, siginfo_t* info, void*) {
  FaultGuard* guard = fault_guard;
  const bool sent = info->si_code <= 0;  // by kill or raise: nothing went wrong at this instruction
  if (guard != nullptr && guard->armed && !sent) {
    guard->armed = false;
    guard->handler(guard->context, info);
  }
  // Not a kernel's. Whoever was there before deals with it, once the instruction is run again.
  for (int i = 0; i < kSignalCount; ++i) {
    if (kSignals[i] == number) {
      sigaction(number, &previous_actions[i], nullptr);
    }
  }
  if (sent) {
    raise(number);
  }
}

inline bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_signal;
}

/// Routes faults of this OS thread to the guard's handler.
inline void enter_guard(FaultGuard* guard) {
  guard->armed = false;
  guard->outer = fault_guard;
  if (guard->signal_stack == nullptr) {
    guard->signal_stack = malloc(kSignalStackBytes);
  }
  stack_t stack = {};
  stack.ss_sp = guard->signal_stack;
  stack.ss_size = kSignalStackBytes;
  sigaltstack(&stack, &guard->previous);
  fault_guard = guard;
  pthread_mutex_lock(&guards_lock);
  if (guards++ == 0) {
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (int i = 0; i < kSignalCount; ++i) {
      struct sigaction before;
      sigaction(kSignals[i], &action, &before);
      if (!is_ours(before)) {  // else another simulator, which left after us, put it back
        previous_actions[i] = before;
      }
    }
  }
  pthread_mutex_unlock(&guards_lock);
}

inline void leave_guard(FaultGuard* guard) {
  pthread_mutex_lock(&guards_lock);
  if (--guards == 0) {
    for (int i = 0; i < kSignalCount; ++i) {
      struct sigaction now;
      sigaction(kSignals[i], &previous_actions[i], &now);
      if (!is_ours(now)) {  // somebody installed a handler while the kernel ran: it stays
        sigaction(kSignals[i], &now, nullptr);
      }
    }
  }
  pthread_mutex_unlock(&guards_lock);
  fault_guard = guard->outer;
  sigaltstack(&guard->previous, nullptr);
}

}  // namespace ck_sim
