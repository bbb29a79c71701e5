// Looks after launches that take long, 50 times a second: the signal of a timer leaves the running
// kernel, whatever loop it is in. So the program's own signals are handled, and a launch that has
// failed ends. Launches that end before that only read a flag.
#pragma once

#include <sys/syscall.h>
#include <ucontext.h>

#include "scheduler.hpp"

/// Functions of Python that run its handlers of signals, in the main thread.
struct ck_sim_python {
  int (*ensure)();  // PyGILState_Ensure
  void (*release)(int);
  int (*check_signals)();
  void (*fetch)(void**, void**, void**);  // PyErr_Fetch
};

namespace ck_sim {

constexpr long kTickTime = 20 * 1000000;  // nanoseconds
constexpr long kSoonTime = 1000000;       // if the kernel could not be left
constexpr unsigned kTicksPerLook = 10;    // Python is asked less often: others may hold its lock

inline ck_sim_python python = {};
inline uint32_t forks = 0;  // in which this process began
inline int tick_signal = 0;

/// The timer of an OS thread that launches.
struct Ticker {
  int timer;
  bool has_timer;
  bool set;           // whether it will tick
  uint32_t launches;  // that run on this thread, one within another
  unsigned ticks;
};
inline __thread Ticker ticker = {};

inline void set_tick(long nanoseconds) {
  itimerspec when = {};
  when.it_value.tv_nsec = nanoseconds;
  ticker.set = syscall(SYS_timer_settime, ticker.timer, 0, &when, nullptr) == 0;
}

/// Whether a signal interrupted the kernel's own code, which holds no lock, so it can be left.
inline bool is_in_kernel(const Launch* launch, const void* context) {
  const ucontext_t* interrupted = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
  const uint64_t at = static_cast<uint64_t>(interrupted->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  const uint64_t at = interrupted->uc_mcontext.pc;
#else
  const uint64_t at = (static_cast<void>(interrupted), 0);
#endif
  return at >= reinterpret_cast<uint64_t>(launch->kernel->code) &&
         at < reinterpret_cast<uint64_t>(launch->kernel->code_end);
}

/// Runs on the stack in use. That of a fiber then stays as it is, whether it is resumed or not.
inline void on_tick(int, siginfo_t*, void* context) {
  const int error = errno;
  ticker.set = false;
  Worker* const w = worker;
  if (w != nullptr) {
    w->runner->looks |= ++ticker.ticks % kTicksPerLook == 0 || has_failed(w->launch);
  }
  const bool runs = w != nullptr && w->runner->guard.armed;
  const bool can_leave = runs && is_in_kernel(w->launch, context);
  if (ticker.launches != 0) {
    claim_signals();
    set_tick(runs && w->runner->looks && !can_leave ? kSoonTime : kTickTime);
  }
  if (can_leave && w->runner->looks) {
    w->runner->left = true;
    suspend(w);
  }
  errno = error;
}

/// Installs the handler of ticks for a signal that the program does not use.
inline void install_tick() {
  struct sigaction action = {}, before;
  action.sa_sigaction = on_tick;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART;
  for (int number = SIGRTMAX; number >= SIGRTMIN; --number) {
    if (sigaction(number, nullptr, &before) == 0 && (before.sa_flags & SA_SIGINFO) == 0 &&
        before.sa_handler == SIG_DFL && sigaction(number, &action, nullptr) == 0) {
      tick_signal = number;
      return;
    }
  }
}

inline void make_timer() {
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = tick_signal;
#ifdef sigev_notify_thread_id
  event.sigev_notify_thread_id = static_cast<pid_t>(syscall(SYS_gettid));
#else
  event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
#endif
  // A system call, since before glibc 2.34 the function is in another library.
  ticker.has_timer = syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &ticker.timer) == 0;
  pthread_setspecific(thread_end, &ticker);
}

/// Has this thread tick from now on.
inline void begin_ticks(Launch* launch) {
  launch->forks = forks;
  ++ticker.launches;
  if (ticker.set || tick_signal == 0) return;
  if (!ticker.has_timer) {
    make_timer();
  }
  if (ticker.has_timer) {
    set_tick(kTickTime);
  }
}

/// Ends that. The last tick comes later, and does nothing.
inline void end_ticks() { --ticker.launches; }

/// Runs the program's handlers of signals. An exception that they raise ends the launch.
inline void handle_signals(Launch* launch) {
  if (python.ensure == nullptr || static_cast<pid_t>(syscall(SYS_gettid)) != getpid()) return;
  Worker* const w = worker;
  const View* const view = ck_sim_current;
  const int state = python.ensure();
  if (python.check_signals() != 0) {
    void** const raised = launch->report->raised;
    python.fetch(&raised[0], &raised[1], &raised[2]);
    refuse(launch, "a signal's handler has raised an exception", "interrupted");
  }
  python.release(state);
  worker = w;  // a handler may have launched a kernel, too
  ck_sim_current = view;
  if (forks != launch->forks) {  // a handler has forked: this is the child, which has one thread
    launch->helpers = 0;
    refuse(launch, "a signal's handler must not go on in a forked process");
  }
}

/// Looks after the launch of a runner that a tick has left.
inline void look(Runner* r) {
  r->looks = false;
  if (!has_failed(r->launch) && ticker.launches != 0) {  // not a helper's thread
    handle_signals(r->launch);
  }
}

/// Leaves the program's signals to its own threads. A helper calls this.
inline void keep_signals_out() {
  sigset_t others;
  sigfillset(&others);
  sigdelset(&others, tick_signal);
  pthread_sigmask(SIG_SETMASK, &others, nullptr);
}

inline void end_thread_signals(void*) {
  if (ticker.has_timer) {
    syscall(SYS_timer_delete, ticker.timer);
    ticker = {};
  }
  free_signal_stack();
}

__attribute__((constructor)) static void prepare_ticks() {
  pthread_key_create(&thread_end, end_thread_signals);
  install_tick();
}

}  // namespace ck_sim
