// SPDX-License-Identifier: MIT
// Stacks with a guard page, and signals that become reports instead of a dead process.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/// What a failed launch leaves behind.
struct ck_sim_report {
  char kind[32];
  char message[480];
  uint32_t block[3];
  uint32_t thread[3];
};

namespace ck_sim {

constexpr size_t kStackBytes = 128 * 1024;
constexpr size_t kGuardBytes = 16 * 1024;  // a whole number of pages on every supported machine
constexpr size_t kSignalStackBytes = 64 * 1024;
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

struct Stack {
  Stack* next;
};
inline Stack* free_stacks = nullptr;
inline pthread_mutex_t stacks_lock = PTHREAD_MUTEX_INITIALIZER;

/// A stack of kStackBytes, new or used before; null without memory.
inline char* take_stack() {
  pthread_mutex_lock(&stacks_lock);
  Stack* stack = free_stacks;
  if (stack != nullptr) {
    free_stacks = stack->next;
  }
  pthread_mutex_unlock(&stacks_lock);
  if (stack != nullptr) {
    return reinterpret_cast<char*>(stack);
  }
  void* memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return nullptr;
  }
  mprotect(memory, kGuardBytes, PROT_NONE);
  return static_cast<char*>(memory) + kGuardBytes;
}

inline void give_stack(char* memory) {
  Stack* stack = reinterpret_cast<Stack*>(memory);
  pthread_mutex_lock(&stacks_lock);
  stack->next = free_stacks;
  free_stacks = stack;
  pthread_mutex_unlock(&stacks_lock);
}

/// While armed, a fault on this OS thread belongs to the kernel.
struct FaultGuard {
  bool armed;
  void (*handler)(void* context, const char* kind, const char* message);
  void* context;
  stack_t previous;
  void* signal_stack;
  FaultGuard* outer;
};

inline __thread FaultGuard* fault_guard = nullptr;
inline struct sigaction previous_actions[4];
inline int guards = 0;
inline pthread_mutex_t guards_lock = PTHREAD_MUTEX_INITIALIZER;

inline void on_signal(int number, siginfo_t* info, void*) {
  FaultGuard* guard = fault_guard;
  if (guard == nullptr || !guard->armed) {  // not a kernel's: whoever came before deals with it
    for (int i = 0; i < 4; ++i) {
      if (kSignals[i] == number) {
        sigaction(number, &previous_actions[i], nullptr);
      }
    }
    return;
  }
  guard->armed = false;
  char message[200];
  const char* kind = "out_of_bounds";
  if (number == SIGFPE) {
    kind = "arithmetic";
    snprintf(message, sizeof message, "the kernel divided an integer by zero");
  } else if (number == SIGILL) {
    kind = "trap";
    snprintf(message, sizeof message, "the kernel executed a trap");
  } else {
    snprintf(message, sizeof message, "the kernel accessed memory that is not mapped, at address %p",
             info->si_addr);
  }
  guard->handler(guard->context, kind, message);
}

/// Routes faults of this OS thread to `handler`, which must not return.
inline void enter_guard(FaultGuard* guard, void (*handler)(void*, const char*, const char*),
                        void* context) {
  guard->armed = false;
  guard->handler = handler;
  guard->context = context;
  guard->outer = fault_guard;
  guard->signal_stack = malloc(kSignalStackBytes);
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
    for (int i = 0; i < 4; ++i) {
      sigaction(kSignals[i], &action, &previous_actions[i]);
    }
  }
  pthread_mutex_unlock(&guards_lock);
}

inline void leave_guard(FaultGuard* guard) {
  pthread_mutex_lock(&guards_lock);
  if (--guards == 0) {
    for (int i = 0; i < 4; ++i) {
      sigaction(kSignals[i], &previous_actions[i], nullptr);
    }
  }
  pthread_mutex_unlock(&guards_lock);
  fault_guard = guard->outer;
  sigaltstack(&guard->previous, nullptr);
  free(guard->signal_stack);
}

}  // namespace ck_sim
