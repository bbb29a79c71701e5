// SPDX-License-Identifier: MIT
// Runs a kernel on the host. Each resident block has an OS thread, its worker; the threads of a
// block are fibers that never leave it.
#include "runtime.hpp"
#include "runtime_api.hpp"

#include <pthread.h>
#include <string.h>

#include "block.hpp"
#include "volatile.hpp"
#include "watch.hpp"
#include "workers.hpp"

CK_SIM_OWN const ck_sim::View* ck_sim_current = nullptr;

namespace ck_sim {

constexpr uint32_t kMaxParameterBytes = 4096;
constexpr uint32_t kMaxWorkers = 256;
// Stacks of one launch: each is two mappings, and a process has at most 65530 of those by default.
constexpr uint32_t kMaxStacks = 8192;
constexpr uint64_t kAloneTime = 100000;  // nanoseconds; starting an OS thread takes about as long
constexpr uint32_t kThreadsPerLook = 32;

static void* run_worker(void* argument);

/// Starts the other workers: when the first has to wait for a block that nobody runs yet, or has
/// run for longer than starting them takes. Most launches are over before that.
void call_helpers(Launch* launch) {
  launch->helped = true;
  for (; launch->helpers + 1 < launch->max_workers; ++launch->helpers) {
    __atomic_fetch_add(&launch->active, 1, __ATOMIC_SEQ_CST);
    if (pthread_create(&launch->helper_threads[launch->helpers], nullptr, run_worker, launch) !=
        0) {
      __atomic_fetch_sub(&launch->active, 1, __ATOMIC_SEQ_CST);
      break;
    }
  }
}

static void look_for_helpers(Worker* w) {
  if (w->first && !w->launch->helped && nanoseconds() - w->launch->start > kAloneTime) {
    call_helpers(w->launch);
  }
}

inline void thread_ended(Worker* w) {
  if (w->next_fresh % kThreadsPerLook == 0) {
    look_for_helpers(w);
  }
}

static void run_block(Worker* w, uint64_t block) {
  Launch* launch = w->launch;
  w->group.block = block_at(launch, block);
  w->next_fresh = w->done = w->arrived = w->converging = 0;
  Watch watch;
  while (w->done < launch->threads) {
    const uint32_t done = w->done;
    const uint64_t progress = __atomic_load_n(&launch->progress, __ATOMIC_RELAXED);
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
    const bool idle =
        w->done == done && progress == __atomic_load_n(&launch->progress, __ATOMIC_RELAXED);
    if (w->converging != 0 && release_converged(w, !ran || idle)) {
      continue;
    }
    if (!ran) {
      report_stuck(w);
      break;
    }
    if (w->done != done) {
      note_progress(launch);
      look_for_helpers(w);
    } else {
      if (w->first && !launch->helped && idle) {
        call_helpers(launch);  // perhaps it waits for one of their blocks
      }
      look_for_helpers(w);
      watch.pass(w);
    }
  }
}

static void work(Launch* launch, bool first) {
  Worker* w = take_worker(launch);
  if (w == nullptr) {
    const Group group = {{0, 0, 0}, launch->block, launch->grid, nullptr};
    fail(launch, "out_of_memory", {{0, 0, 0}, 0, 0, &group},
         "a block needs more memory than there is");
    return;
  }
  w->first = first;
  w->guard.handler = on_fault;
  w->guard.context = w;
  Worker* const outer = worker;
  worker = w;
  enter_guard(&w->guard);
  while (!has_failed(launch)) {
    const uint64_t block = __atomic_fetch_add(&launch->next_block, 1, __ATOMIC_RELAXED);
    if (block >= launch->blocks) {
      break;
    }
    run_block(w, block);
  }
  leave_guard(&w->guard);
  worker = outer;
  if (has_failed(launch)) {
    clean_up(w);
  }
  give_fibers(w->idle_fibers);
  give_worker(w);
}

static void* run_worker(void* argument) {
  Launch* launch = static_cast<Launch*>(argument);
  work(launch, false);
  __atomic_fetch_sub(&launch->active, 1, __ATOMIC_SEQ_CST);
  note_progress(launch);
  return nullptr;
}

}  // namespace ck_sim

/// Runs a launch to its end; 0, or 1 with `report` filled in. `parameters` holds the kernel's
/// parameters, the i-th one at byte `offsets[i]`. `shape` is grid (3), block (3), bytes of dynamic
/// shared memory, blocks resident at once, 1 to have them resident from the start, and 1 to have
/// more of them when all wait for a block that is not.
CK_SIM_EXPORT int ck_sim_launch(const ck_sim_kernel* kernel, const void* parameters, uint32_t bytes,
                                const uint32_t* offsets, uint32_t count, const uint32_t* shape,
                                ck_sim_report* report) {
  using namespace ck_sim;
  alignas(64) char copy[kMaxParameterBytes];
  void* addresses[kMaxParameterBytes / 8];
  pthread_t helper_threads[kMaxWorkers];
  Launch launch = make_launch(kernel->entry, addresses, shape, report);
  launch.shared_bytes += kernel->static_shared;
  launch.helper_threads = helper_threads;
  if (bytes > kMaxParameterBytes || count > kMaxParameterBytes / 8 ||
      launch.threads - 1 >= kMaxThreads) {
    const Group group = {};
    fail(&launch, "launch", {{0, 0, 0}, 0, 0, &group},
         "the launch must keep to the runtime's limits");
    return 1;
  }
  memcpy(copy, parameters, bytes);
  for (uint32_t i = 0; i < count; ++i) {
    addresses[i] = copy + offsets[i];
  }
  uint64_t limit =
      kMaxStacks / launch.threads < kMaxWorkers ? kMaxStacks / launch.threads : kMaxWorkers;
  limit = limit < launch.blocks ? limit : launch.blocks;
  launch.max_workers = static_cast<uint32_t>(shape[7] < limit ? shape[7] : limit);
  launch.most_workers = shape[9] != 0 ? static_cast<uint32_t>(limit) : launch.max_workers;
  launch.helped = launch.max_workers == 1;
  launch.start = nanoseconds();
  if (shape[8] != 0 && !launch.helped) {
    call_helpers(&launch);
  }
  work(&launch, true);
  __atomic_fetch_sub(&launch.active, 1, __ATOMIC_SEQ_CST);
  note_progress(&launch);
  for (uint32_t i = 0; i < launch.helpers; ++i) {
    pthread_join(helper_threads[i], nullptr);
  }
  flush_printed();
  return launch.failed;
}
