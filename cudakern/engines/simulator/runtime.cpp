// SPDX-License-Identifier: MIT
// Runs a kernel on the host. Each resident block has an OS thread; the threads of a block are fibers
// that never leave it. A thread that waits for nobody runs to its end on a shared stack; one that
// meets a barrier, a warp collective or an atomic keeps its stack and lets others run.
#include "runtime.hpp"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.hpp"
#include "faults.hpp"

__thread const ck_sim::View* ck_sim_current = nullptr;

namespace ck_sim {

constexpr int kRing = 128;             // collectives of a warp that may be read late
constexpr int kIdlePasses = 20000;     // passes without progress before a launch counts as stuck
constexpr size_t kMaxParameters = 4096;

enum class State { kFresh, kReady, kBarrier, kCollective, kDone };

struct Fiber {
  Context context;
  char* stack;
  Fiber* next;
};

struct Thread {
  View view;
  State state;
  Fiber* fiber;
  Site site;
  Barrier kind;
  int predicate;
  unsigned mask;
  uint64_t value;
  const uint64_t* received;
};

struct Warp {
  unsigned next;
  uint64_t values[kRing][32];
};

struct Launch {
  void (*entry)(void**);
  void** parameters;
  Index3 grid, block;
  uint32_t threads;
  uint32_t shared_bytes;
  uint64_t blocks;
  uint64_t next_block;
  uint64_t progress;  // grows whenever anything happens that could let a waiting thread go on
  int active, idle;   // workers; those that only poll
  int failed;
  ck_sim_report* report;
};

struct Worker {
  Launch* launch;
  Context scheduler;
  Thread* threads;
  Warp* warps;
  char* shared;
  Thread* running;
  Fiber* idle_fibers;
  uint32_t next_fresh, done, arrived;
  int barrier_result;
  FaultGuard guard;
};

static __thread Worker* worker;

static void fail(Launch* launch, const char* kind, const View& view, const char* message) {
  int expected = 0;
  if (__atomic_compare_exchange_n(&launch->failed, &expected, 1, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    ck_sim_report* report = launch->report;
    snprintf(report->kind, sizeof report->kind, "%s", kind);
    snprintf(report->message, sizeof report->message, "%s", message);
    memcpy(report->block, &view.block, sizeof report->block);
    memcpy(report->thread, &view.thread, sizeof report->thread);
  }
}

static bool has_failed(const Launch* launch) {
  return __atomic_load_n(&launch->failed, __ATOMIC_RELAXED) != 0;
}

static void note_progress(Launch* launch) {
  __atomic_fetch_add(&launch->progress, 1, __ATOMIC_RELAXED);
}

/// Leaves the running thread; returns when the scheduler takes it up again.
static void suspend(Worker* w, Thread* thread) {
  switch_context(&thread->fiber->context, &w->scheduler);
}

static void fiber_main() {
  Worker* w = worker;
  for (;;) {
    Thread* thread = w->running;
    Fiber* fiber = thread->fiber;
    for (;;) {
      w->launch->entry(w->launch->parameters);
      thread->state = State::kDone;
      thread->fiber = nullptr;
      ++w->done;
      if (w->next_fresh >= w->launch->threads || has_failed(w->launch)) {
        break;
      }
      thread = &w->threads[w->next_fresh++];  // the next one starts on the same stack
      thread->fiber = fiber;
      w->running = thread;
      ck_sim_current = &thread->view;
    }
    fiber->next = w->idle_fibers;
    w->idle_fibers = fiber;
    switch_context(&fiber->context, &w->scheduler);
  }
}

static void resume(Worker* w, Thread* thread) {
  w->running = thread;
  ck_sim_current = &thread->view;
  w->guard.armed = true;
  switch_context(&w->scheduler, &thread->fiber->context);
  w->guard.armed = false;
}

static bool start_fresh(Worker* w) {
  Fiber* fiber = w->idle_fibers;
  if (fiber != nullptr) {
    w->idle_fibers = fiber->next;
  } else {
    char* stack = take_stack();
    if (stack == nullptr) {
      fail(w->launch, "out_of_memory", w->threads[w->next_fresh].view, "no memory for a stack");
      return false;
    }
    fiber = static_cast<Fiber*>(malloc(sizeof(Fiber)));
    fiber->stack = stack;
    make_context(&fiber->context, stack, kStackBytes, fiber_main);
  }
  Thread* thread = &w->threads[w->next_fresh++];
  thread->fiber = fiber;
  resume(w, thread);
  return true;
}

/// Nobody can run: says who waits for whom.
static void report_stuck(Worker* w) {
  char message[400];
  const Thread* barrier = nullptr;
  const Thread* collective = nullptr;
  for (uint32_t i = 0; i < w->launch->threads; ++i) {
    const Thread& t = w->threads[i];
    if (t.state == State::kBarrier && barrier == nullptr) {
      barrier = &t;
    } else if (t.state == State::kCollective && collective == nullptr) {
      collective = &t;
    }
  }
  const Thread* first = collective != nullptr ? collective : barrier;
  if (collective != nullptr) {
    snprintf(message, sizeof message,
             "%s:%d: lanes of mask 0x%08x must all reach the warp collective; some exited or wait "
             "elsewhere",
             collective->site.file, collective->site.line, collective->mask);
  } else {
    snprintf(message, sizeof message,
             "%s:%d: all %u threads of the block must reach the barrier; %u wait there and %u exited",
             barrier->site.file, barrier->site.line, w->launch->threads, w->arrived, w->done);
  }
  fail(w->launch, "barrier_divergence", first->view, message);
}

/// Counts passes in which every thread only polled; all workers in that state are a deadlock.
struct IdleWatch {
  uint64_t seen = 0;
  int passes = 0;
  bool counted = false;

  void leave(Launch* launch) {
    if (counted) {
      __atomic_fetch_sub(&launch->idle, 1, __ATOMIC_ACQ_REL);
      counted = false;
    }
  }

  void pass(Worker* w) {
    Launch* launch = w->launch;
    const uint64_t now = __atomic_load_n(&launch->progress, __ATOMIC_RELAXED);
    if (now != seen) {
      seen = now;
      passes = 0;
      leave(launch);
      return;
    }
    sched_yield();
    if (++passes < kIdlePasses) {
      return;
    }
    if (!counted) {
      counted = true;
      __atomic_fetch_add(&launch->idle, 1, __ATOMIC_ACQ_REL);
    }
    if (passes >= 2 * kIdlePasses && __atomic_load_n(&launch->idle, __ATOMIC_ACQUIRE) ==
                                         __atomic_load_n(&launch->active, __ATOMIC_ACQUIRE)) {
      fail(launch, "deadlock", w->running->view,
           "every resident thread polls memory that no one changes");
    }
  }
};

static void run_block(Worker* w, uint64_t block) {
  Launch* launch = w->launch;
  const Index3 at = {static_cast<unsigned>(block % launch->grid.x),
                     static_cast<unsigned>(block / launch->grid.x % launch->grid.y),
                     static_cast<unsigned>(block / launch->grid.x / launch->grid.y)};
  for (uint32_t i = 0; i < launch->threads; ++i) {
    w->threads[i].view.block = at;
    w->threads[i].state = State::kFresh;
  }
  w->next_fresh = w->done = w->arrived = 0;
  IdleWatch watch;
  while (w->done < launch->threads) {
    const uint32_t done = w->done;
    bool ran = false;
    for (uint32_t i = 0; i < w->next_fresh && !has_failed(launch); ++i) {
      if (w->threads[i].state == State::kReady) {
        resume(w, &w->threads[i]);
        ran = true;
      }
    }
    while (w->next_fresh < launch->threads && !has_failed(launch)) {
      start_fresh(w);
      ran = true;
    }
    if (has_failed(launch)) {
      break;
    }
    if (!ran) {
      report_stuck(w);
      break;
    }
    if (w->done != done) {
      note_progress(launch);
    } else {
      watch.pass(w);
    }
  }
  watch.leave(launch);
}

static void on_fault(void* context, const char* kind, const char* message) {
  Worker* w = static_cast<Worker*>(context);
  fail(w->launch, kind, w->running->view, message);
  switch_context(&w->running->fiber->context, &w->scheduler);  // for good: the stack is given up
}

static void* run_worker(void* argument) {
  Launch* launch = static_cast<Launch*>(argument);
  const uint32_t threads = launch->threads;
  Worker w = {};
  w.launch = launch;
  w.threads = static_cast<Thread*>(calloc(threads, sizeof(Thread)));
  w.warps = static_cast<Warp*>(calloc((threads + 31) / 32, sizeof(Warp)));
  w.shared = static_cast<char*>(aligned_alloc(128, (launch->shared_bytes + 255) / 128 * 128));
  for (uint32_t i = 0; i < threads; ++i) {
    View& view = w.threads[i].view;
    view.thread = {i % launch->block.x, i / launch->block.x % launch->block.y,
                   i / launch->block.x / launch->block.y};
    view.block_size = launch->block;
    view.grid_size = launch->grid;
    view.lane = i % 32;
    view.dynamic_shared = w.shared;
  }
  Worker* const outer = worker;
  worker = &w;
  enter_guard(&w.guard, on_fault, &w);
  while (!has_failed(launch)) {
    const uint64_t block = __atomic_fetch_add(&launch->next_block, 1, __ATOMIC_RELAXED);
    if (block >= launch->blocks) {
      break;
    }
    run_block(&w, block);
  }
  leave_guard(&w.guard);
  worker = outer;
  for (uint32_t i = 0; i < threads; ++i) {  // left behind by a failure
    if (w.threads[i].fiber != nullptr) {
      w.threads[i].fiber->next = w.idle_fibers;
      w.idle_fibers = w.threads[i].fiber;
    }
  }
  while (w.idle_fibers != nullptr) {
    Fiber* fiber = w.idle_fibers;
    w.idle_fibers = fiber->next;
    give_stack(fiber->stack);
    free(fiber);
  }
  free(w.shared);
  free(w.warps);
  free(w.threads);
  __atomic_fetch_sub(&launch->active, 1, __ATOMIC_ACQ_REL);
  return nullptr;
}

}  // namespace ck_sim

using ck_sim::Thread;

int ck_sim_barrier(ck_sim::Barrier kind, int predicate, const ck_sim::Site* site) {
  ck_sim::Worker* w = ck_sim::worker;
  Thread* self = w->running;
  self->site = *site;
  self->kind = kind;
  self->predicate = predicate;
  if (++w->arrived < w->launch->threads) {
    self->state = ck_sim::State::kBarrier;
    ck_sim::suspend(w, self);
    return w->barrier_result;
  }
  int count = 0;
  for (uint32_t i = 0; i < w->launch->threads; ++i) {
    Thread& t = w->threads[i];
    if (t.site.line != site->line || t.kind != kind || strcmp(t.site.file, site->file) != 0) {
      char message[400];
      snprintf(message, sizeof message,
               "%s:%d: all threads of the block must wait at the same barrier; thread %u waits at "
               "%s:%d",
               site->file, site->line, i, t.site.file, t.site.line);
      ck_sim::fail(w->launch, "barrier_divergence", self->view, message);
    }
    count += t.predicate != 0;
    t.state = ck_sim::State::kReady;
  }
  w->arrived = 0;
  const int all = static_cast<int>(w->launch->threads);
  w->barrier_result = kind == ck_sim::Barrier::kCount ? count
                      : kind == ck_sim::Barrier::kAnd ? count == all
                                                      : count != 0;
  ck_sim::note_progress(w->launch);
  ck_sim::suspend(w, self);  // in turn again, so that nobody runs ahead to the next barrier
  return w->barrier_result;
}

const uint64_t* ck_sim_collective(unsigned mask, uint64_t value, const ck_sim::Site* site) {
  ck_sim::Worker* w = ck_sim::worker;
  Thread* self = w->running;
  Thread* lanes = self - self->view.lane;
  const uint32_t first = static_cast<uint32_t>(lanes - w->threads);
  const uint32_t present = w->launch->threads - first < 32 ? w->launch->threads - first : 32;
  if (present < 32) {
    mask &= (1u << present) - 1;  // a partial warp: lanes beyond the block do not exist
  }
  self->site = *site;
  self->mask = mask;
  self->value = value;
  self->state = ck_sim::State::kCollective;
  bool complete = (mask >> self->view.lane & 1) != 0;
  for (uint32_t i = 0; i < present && complete; ++i) {
    complete = (mask >> i & 1) == 0 || (lanes[i].state == ck_sim::State::kCollective &&
                                        lanes[i].mask == mask && lanes[i].site.line == site->line &&
                                        lanes[i].site.file == site->file);
  }
  if (!complete) {
    ck_sim::suspend(w, self);
    return self->received;
  }
  ck_sim::Warp& warp = w->warps[first / 32];
  uint64_t* values = warp.values[warp.next++ % ck_sim::kRing];
  for (uint32_t i = 0; i < present; ++i) {
    if (mask >> i & 1) {
      values[i] = lanes[i].value;
      lanes[i].received = values;
      lanes[i].state = ck_sim::State::kReady;
    }
  }
  ck_sim::note_progress(w->launch);
  return values;
}

void ck_sim_yield(int progress) {
  ck_sim::Worker* w = ck_sim::worker;
  if (progress != 0) {
    ck_sim::note_progress(w->launch);
  }
  Thread* self = w->running;
  self->state = ck_sim::State::kReady;
  ck_sim::suspend(w, self);
}

/// Runs a launch to its end; 0, or 1 with `report` filled in. `parameters` holds the kernel's
/// parameters, the i-th one at byte `offsets[i]`.
CK_SIM_EXPORT int ck_sim_launch(void (*entry)(void**), const void* parameters, uint32_t bytes,
                                const uint32_t* offsets, uint32_t count, const uint32_t* shape,
                                ck_sim_report* report) {
  using namespace ck_sim;
  alignas(64) char copy[kMaxParameters];
  void* addresses[kMaxParameters / 8];
  if (bytes > kMaxParameters || count > kMaxParameters / 8) {
    return 2;
  }
  memcpy(copy, parameters, bytes);
  for (uint32_t i = 0; i < count; ++i) {
    addresses[i] = copy + offsets[i];
  }
  Launch launch = {};
  launch.entry = entry;
  launch.parameters = addresses;
  launch.grid = {shape[0], shape[1], shape[2]};
  launch.block = {shape[3], shape[4], shape[5]};
  launch.threads = shape[3] * shape[4] * shape[5];
  launch.shared_bytes = shape[6];
  launch.blocks = static_cast<uint64_t>(shape[0]) * shape[1] * shape[2];
  launch.report = report;
  constexpr uint32_t kMaxWorkers = 256;
  uint32_t workers = shape[7] < kMaxWorkers ? shape[7] : kMaxWorkers;
  workers = workers < launch.blocks ? workers : static_cast<uint32_t>(launch.blocks);
  pthread_t others[kMaxWorkers];
  uint32_t started = 0;
  __atomic_store_n(&launch.active, 1, __ATOMIC_RELEASE);
  for (; started + 1 < workers; ++started) {
    __atomic_fetch_add(&launch.active, 1, __ATOMIC_ACQ_REL);
    if (pthread_create(&others[started], nullptr, run_worker, &launch) != 0) {
      __atomic_fetch_sub(&launch.active, 1, __ATOMIC_ACQ_REL);
      break;
    }
  }
  run_worker(&launch);
  for (uint32_t i = 0; i < started; ++i) {
    pthread_join(others[i], nullptr);
  }
  return launch.failed;
}
