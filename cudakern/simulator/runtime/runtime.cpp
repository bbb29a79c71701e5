// SPDX-License-Identifier: MIT
// Runs a kernel on the host. Each resident block has an OS thread, its worker; the threads of a
// block are fibers that never leave it.
#include "runtime.hpp"

#include <pthread.h>
#include <string.h>

#include "barriers.hpp"
#include "block.hpp"
#include "clusters.hpp"
#include "device_heap.hpp"
#include "mbarrier.hpp"
#include "polling.hpp"
#include "printing.hpp"
#include "watch.hpp"
#include "window.hpp"
#include "workers.hpp"

CK_SIM_OWN const ck_sim::View* ck_sim_current = nullptr;

namespace ck_sim {

constexpr uint32_t kMaxParameterBytes = 32768;
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

inline void exit_thread(Worker* w, Thread* thread) {
  w->warps[(thread - w->threads) / kWarpSize].exited |= 1u << thread->view.lane;
  if (thread->copies.count != 0) {
    finish_copies(thread);
  }
  if (w->cluster != &w->alone || thread->cluster_arrived) {
    exit_cluster(w, thread);
  }
}

/// Takes the next block of the grid; false if there is none.
static bool take_block(Worker* w) {
  Launch* launch = w->launch;
  if (w->group.ranks > 1) {
    if (!enter_cluster(w)) {
      return false;
    }
    await_cluster(w);
    return true;
  }
  const uint64_t block = __atomic_fetch_add(&launch->next_block, 1, __ATOMIC_RELAXED);
  if (block >= launch->blocks) {
    return false;
  }
  w->group.block = block_at(launch, block);
  w->alone.phase = w->alone.arrived = w->alone.gone = 0;
  return true;
}

static void start_block(Worker* w) {
  w->next_fresh = w->done = w->converging = w->waiting = 0;
  forget_barriers(w);
  for (uint32_t first = 0; first < w->launch->threads; first += kWarpSize) {
    w->warps[first / kWarpSize].exited = 0;
  }
}

static void run_block(Worker* w) {
  Launch* launch = w->launch;
  start_block(w);
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
    if (w->waiting != 0 && w->done != done) {
      release_for_exited(w);
    }
    if (w->changes != 0) {
      w->changes = 0;
      note_progress(launch);
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

/// Gives a worker what blocks of the launch have; false without memory.
static bool prepare(Worker* w, Launch* launch) {
  const uint32_t static_bytes = launch->kernel->static_shared;
  if (!open_window(&w->window, uint64_t{static_bytes} + launch->shared_bytes)) {
    return false;
  }
  const Index3 size = launch->cluster;
  w->group.window = w->window.start;
  w->group.window_bytes = w->window.bytes;
  w->group.dynamic_offset = static_bytes;
  w->group.dynamic_bytes = launch->shared_bytes;
  w->group.cluster_size = size;
  w->group.ranks = size.x * size.y * size.z;
  w->group.has_clusters = launch->kernel->cluster[0] != 0;
  w->group.processor = __atomic_fetch_add(&launch->workers, 1, __ATOMIC_RELAXED);
  w->group.processors = launch->most_workers;
  w->group.grid_id = launch->id;
  w->group.windows = w->alone.windows;
  w->group.workspace = launch->cooperative ? launch->workspace : nullptr;
  w->alone.windows[0] = w->window.start;
  w->alone.ranks = 1;
  w->cluster = &w->alone;
  w->later = w->changes = 0;
  return true;
}

static void work(Launch* launch, bool first) {
  Worker* w = take_worker(launch);
  if (w != nullptr && !prepare(w, launch)) {
    give_worker(w);
    w = nullptr;
  }
  if (w == nullptr) {
    const Group group = {{0, 0, 0}, launch->block, launch->grid};
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
  while (!has_failed(launch) && take_block(w)) {
    run_block(w);
    if (w->cluster != &w->alone) {
      leave_cluster(w);
    }
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

namespace ck_sim {

/// Fails a launch that the runtime cannot run.
static int refuse(Launch* launch, const char* message) {
  const Group group = {};
  fail(launch, "launch", {{0, 0, 0}, 0, 0, &group}, message);
  return 1;
}

/// How many blocks run side by side: as `shape` says, but all of a cluster.
static void count_workers(Launch* launch, const uint32_t* shape) {
  const uint64_t ranks = launch->cluster.x * launch->cluster.y * launch->cluster.z;
  uint64_t limit = kMaxStacks / launch->threads;
  limit = limit < kMaxWorkers ? limit : kMaxWorkers;
  limit = limit < ranks ? ranks : limit;
  limit = limit < launch->blocks ? limit : launch->blocks;
  const uint64_t wanted = shape[7] < ranks ? ranks : shape[7];
  launch->max_workers = static_cast<uint32_t>(wanted < limit ? wanted : limit);
  const bool grows = shape[9] != 0 || launch->cooperative;
  launch->most_workers = grows ? static_cast<uint32_t>(limit) : launch->max_workers;
  launch->helped = launch->max_workers == 1;
}

static int run_launch(Launch* launch, const void* parameters, uint32_t bytes,
                      const uint32_t* offsets, uint32_t count, const uint32_t* shape) {
  alignas(64) char copy[kMaxParameterBytes];
  void* addresses[kMaxParameterBytes / 8];
  pthread_t helper_threads[kMaxWorkers];
  launch->parameters = addresses;
  launch->helper_threads = helper_threads;
  if (bytes > kMaxParameterBytes || count > kMaxParameterBytes / 8 ||
      launch->threads - 1 >= kMaxThreads) {
    return refuse(launch, "the launch must keep to the runtime's limits");
  }
  memcpy(copy, parameters, bytes);
  for (uint32_t i = 0; i < count; ++i) {
    addresses[i] = copy + offsets[i];
  }
  count_workers(launch, shape);
  if (launch->cooperative && launch->most_workers < launch->blocks) {
    char message[200];
    snprintf(message, sizeof message,
             "all blocks of a cooperative launch must be resident; there is room for %u of %llu",
             launch->most_workers, static_cast<unsigned long long>(launch->blocks));
    return refuse(launch, message);
  }
  launch->start = nanoseconds();
  const uint32_t ranks = launch->cluster.x * launch->cluster.y * launch->cluster.z;
  if ((shape[8] != 0 || ranks > 1) && !launch->helped) {
    call_helpers(launch);
    if (launch->helpers + 1 < ranks) {
      refuse(launch, "a cluster must have an OS thread for each of its blocks; the host has fewer");
    }
  }
  work(launch, true);
  __atomic_fetch_sub(&launch->active, 1, __ATOMIC_SEQ_CST);
  note_progress(launch);
  for (uint32_t i = 0; i < launch->helpers; ++i) {
    pthread_join(helper_threads[i], nullptr);
  }
  free(launch->open_cluster);  // that of a launch that failed
  flush_printed();
  return launch->failed;
}

inline uint32_t launches = 0;

// A child shall not find the locks of kernels held: see workers.hpp.
static void lock_memory() {
  pthread_mutex_lock(&heap.lock);
  pthread_mutex_lock(&wide_lock);
}
static void unlock_memory() {
  pthread_mutex_unlock(&wide_lock);
  pthread_mutex_unlock(&heap.lock);
}
__attribute__((constructor)) static void watch_forks_of_kernels() {
  pthread_atfork(lock_memory, unlock_memory, unlock_memory);
}

}  // namespace ck_sim

/// How large the structures are that Python has, too.
CK_SIM_EXPORT const uint32_t ck_sim_sizes[] = {
    sizeof(ck_sim_report), sizeof(ck_sim_kernel),        sizeof(ck_sim_variable),
    sizeof(ck_sim::Site),  sizeof(ck_sim_shared_object),
};

/// Runs a launch to its end; 0, or 1 with `report` filled in. `parameters` holds the kernel's
/// parameters, the i-th one at byte `offsets[i]`. `shape` is grid (3), which must be a multiple of
/// the kernel's cluster, block (3), bytes of dynamic shared memory, blocks resident at once, 1 to
/// have them resident from the start, 1 to have more of them when all wait for a block that is not,
/// and 1 for a cooperative launch.
CK_SIM_EXPORT int ck_sim_launch_kernel(const ck_sim_kernel* kernel, const void* parameters,
                                       uint32_t bytes, const uint32_t* offsets, uint32_t count,
                                       const uint32_t* shape, ck_sim_report* report) {
  using namespace ck_sim;
  Launch launch = make_launch(kernel->entry, nullptr, shape, report);
  launch.kernel = kernel;
  launch.cluster = {1, 1, 1};
  pthread_mutex_init(&launch.cluster_lock, nullptr);
  launch.cooperative = shape[10] != 0;
  launch.id = __atomic_fetch_add(&launches, 1, __ATOMIC_RELAXED);
  const uint32_t* cluster = kernel->cluster;
  if (cluster[0] != 0) {
    launch.cluster = {cluster[0], cluster[1], cluster[2]};
    if (uint64_t{cluster[0]} * cluster[1] * cluster[2] > kMaxRanks || shape[0] % cluster[0] != 0 ||
        shape[1] % cluster[1] != 0 || shape[2] % cluster[2] != 0) {
      return refuse(&launch,
                    "the grid must be a multiple of the kernel's cluster of 1 to 16 blocks");
    }
  }
  return run_launch(&launch, parameters, bytes, offsets, count, shape);
}

void ck_sim_exit() {
  using namespace ck_sim;
  Worker* w = worker;
  Thread* thread = w->running;
  Fiber* fiber = thread->fiber;
  end_thread(w, thread);
  fiber->restart = fiber_main;  // its frames are given up
  fiber->next = w->idle_fibers;
  w->idle_fibers = fiber;
  Context left;
  switch_context(&left, &w->scheduler);
  __builtin_unreachable();
}

int ck_sim_is_local(const void* address) {
  ck_sim::Fiber* fiber = ck_sim::worker->running->fiber;
  const char* at = static_cast<const char*>(address);
  return at >= fiber->bottom() && at < fiber->top();
}
