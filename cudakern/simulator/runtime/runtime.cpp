// Runs a kernel on the host. Each OS thread of a launch runs some of its resident blocks in turns.
// The threads of a block are fibers, which never leave their OS thread.
#include "launch.hpp"
#include "regions.hpp"
#include "shuffles.hpp"
#include "watch.hpp"

namespace ck_sim {

constexpr uint32_t kMaxRunners = 256;
constexpr uint64_t kAloneTime = 100000;  // nanoseconds; starting an OS thread takes about as long
constexpr uint32_t kThreadsPerLook = 32;
constexpr uint32_t kPassesPerTurn = 256;  // while others of the OS thread wait for theirs

static void* run_helper(void* argument);

/// Starts the other runners: when the first one has to wait for a block that nobody runs yet, or
/// has run for longer than it takes to start them. Most launches end before that.
static void call_helpers(Launch* launch) {
  launch->helped = true;
  for (; launch->helpers + 1 < launch->runners; ++launch->helpers) {
    __atomic_fetch_add(&launch->active, 1, __ATOMIC_SEQ_CST);
    if (pthread_create(&launch->helper_threads[launch->helpers], nullptr, run_helper, launch) !=
        0) {
      __atomic_fetch_sub(&launch->active, 1, __ATOMIC_SEQ_CST);
      break;
    }
  }
}

static void look_for_helpers(const Runner* r) {
  if (r->first && !r->launch->helped && nanoseconds() - r->launch->start > kAloneTime) {
    call_helpers(r->launch);
  }
}

inline Thread* next_thread(Worker* w) { return &w->threads[w->next_fresh]; }

inline void thread_ended(Worker* w) {
  if (w->next_fresh % kThreadsPerLook == 0) {
    look_for_helpers(w->runner);
  }
}

/// Runs the threads of a block in regions, until they only wait or have had many turns.
static void run_regions(Worker* w) {
  if (w->next_fresh == 0) {
    w->next_fresh = w->launch->threads;
    w->running = w->threads;
    w->fiber = fresh_fiber(w);
    if (w->fiber == nullptr) return;
  }
  ck_sim_current = &w->running->view;
  enter(w);
  if (w->done == w->launch->threads) {
    w->fiber = nullptr;  // it is idle
  }
}

/// Gives all fibers of a block a turn; false if none has run.
static bool run_fibers(Worker* w) {
  Launch* launch = w->launch;
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
  return ran;
}

/// Gives all threads of a block a turn; false if nothing has changed.
static bool pass(Worker* w) {
  Launch* launch = w->launch;
  const uint32_t done = w->done;
  const uint64_t progress = __atomic_load_n(&launch->progress, __ATOMIC_RELAXED);
  bool ran = true;
  if (in_regions(launch)) {
    run_regions(w);
  } else {
    ran = run_fibers(w);
    if (!has_failed(launch) && w->waiting != 0 && w->done != done) {
      release_for_exited(w);
    }
  }
  if (has_failed(launch)) return false;
  const bool changed = w->changes != 0 || w->done != done;
  if (changed) {
    w->changes = 0;
    note_progress(launch);
  }
  const bool idle = progress == __atomic_load_n(&launch->progress, __ATOMIC_RELAXED);
  if (w->converging != 0 && release_converged(w, !ran || idle)) return true;
  if (!ran) {
    report_stuck(w);
  } else if (idle && w->runner->first && !launch->helped) {
    call_helpers(launch);  // perhaps it waits for one of their blocks
  } else {
    look_for_helpers(w->runner);
  }
  return changed;
}

/// Gives the blocks of a cluster turns, until they only wait or have had many; after these have
/// ended, the next blocks of the grid. False if there are no more.
static bool run(Launch* launch, Worker** workers) {
  const uint32_t ranks = launch->ranks;
  for (uint32_t passes = 0; passes < kPassesPerTurn; ++passes) {
    bool changed = false, running = false;
    for (uint32_t i = 0; i < ranks && !has_failed(launch); ++i) {
      Worker* w = workers[i];
      if (is_running(w)) {
        worker = w;
        changed |= pass(w);
        running |= is_running(w);
      }
    }
    if (has_failed(launch)) return true;
    if (!running) {
      for (uint32_t i = 0; i < ranks; ++i) {
        leave_cluster(workers[i]);
      }
      if (!take_blocks(launch, workers)) return false;
      passes = 0;
    } else if (!changed) {
      return true;
    }
  }
  return true;
}

/// Runs the cluster whose first worker has this number. True if there are no blocks left for these
/// workers: then the last cluster has their place.
static bool run_cluster(ResidentBlocks* r, uint32_t first) {
  Launch* launch = r->runner.launch;
  if (run(launch, r->workers + first)) return false;
  for (uint32_t i = 0; i < launch->ranks; ++i) {
    Worker* const ended = r->workers[first + i];
    Worker** const last = &r->workers[r->count - launch->ranks + i];
    r->workers[first + i] = *last;
    *last = ended;
  }
  worker = nullptr;  // a tick must not find a worker that is gone
  remove_workers(r, launch->ranks);
  __atomic_fetch_sub(&launch->resident, launch->ranks, __ATOMIC_SEQ_CST);
  return true;
}

/// Runs blocks until none is left to start, or the launch has failed.
static void run_resident_blocks(ResidentBlocks* r) {
  Launch* launch = r->runner.launch;
  Watch watch;
  for (;;) {
    const uint32_t wanted = __atomic_load_n(&launch->clusters_each, __ATOMIC_RELAXED);
    uint32_t clusters = r->count / launch->ranks;
    for (; clusters < wanted && !has_failed(launch) && add_cluster(r); ++clusters) {
      run_cluster(r, r->count - launch->ranks);
    }
    if (r->count == 0 || has_failed(launch)) return;
    watch.pass(*r);
    for (uint32_t i = 0; i < r->count && !has_failed(launch);) {
      i += run_cluster(r, i) ? 0 : launch->ranks;
    }
  }
}

static void work(Launch* launch, bool first) {
  ResidentBlocks resident = {};
  Worker* const outer = worker;
  enter_runner(&resident.runner, launch, first);
  run_resident_blocks(&resident);
  worker = outer;
  remove_workers(&resident, resident.count);
  free(resident.workers);
  leave_guard(&resident.runner.guard);
}

static void* run_helper(void* argument) {
  Launch* launch = static_cast<Launch*>(argument);
  keep_signals_out();
  work(launch, false);
  __atomic_fetch_sub(&launch->active, 1, __ATOMIC_SEQ_CST);
  note_progress(launch);
  return nullptr;
}

/// Waits for the end of a helper, and looks after the launch meanwhile.
static void join_helper(Launch* launch, uint32_t helper) {
  for (unsigned looks = 1;; ++looks) {
    timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += kTickTime;
    soon.tv_sec += soon.tv_nsec / 1000000000;
    soon.tv_nsec %= 1000000000;
    if (pthread_timedjoin_np(launch->helper_threads[helper], nullptr, &soon) == 0) return;
    if (has_failed(launch)) {
      for (uint32_t i = helper; i < launch->helpers && tick_signal != 0; ++i) {
        pthread_kill(launch->helper_threads[i], tick_signal);
      }
    } else if (looks % kTicksPerLook == 0) {
      handle_signals(launch);
      if (helper >= launch->helpers) return;  // there are none in a forked process
    }
  }
}

static void run_launch(Launch* launch, bool eager) {
  pthread_t helper_threads[kMaxRunners];
  launch->helper_threads = helper_threads;
  launch->helped = launch->runners == 1;
  launch->start = nanoseconds();
  if (eager && !launch->helped) {
    call_helpers(launch);
  }
  work(launch, true);
  __atomic_fetch_sub(&launch->active, 1, __ATOMIC_SEQ_CST);
  note_progress(launch);
  for (uint32_t i = 0; i < launch->helpers; ++i) {
    join_helper(launch, i);
  }
  trim_fibers();
  flush_printed();
}

}  // namespace ck_sim

/// Runs a launch to its end. Returns 0, or 1 with `report` filled in. For `offsets` see launch.hpp;
/// `arrays` are those that may be guarded, or null.
CK_SIM_EXPORT int ck_sim_launch_kernel(const ck_sim_kernel* kernel, const void* parameters,
                                       uint32_t bytes, const uint32_t* offsets, uint32_t count,
                                       const ck_sim_shape* shape, const ck_sim_arrays* arrays,
                                       ck_sim_report* report) {
  using namespace ck_sim;
  Launch launch = {};
  launch.report = report;
  begin_ticks(&launch);
  if (copy_parameters(&launch, parameters, bytes, offsets, count) &&
      accept_launch(&launch, kernel, shape) &&
      count_resident(&launch, shape->resident, shape->grows != 0 ? UINT64_MAX : 0)) {
    const uint32_t clusters = launch.most_resident / launch.ranks;
    launch.runners = least(shape->resident, least(clusters, kMaxRunners));
    launch.clusters_each =
        launch.cooperative ? (clusters + launch.runners - 1) / launch.runners : 1;
    enter_arrays(&launch, arrays, launch.parameter_bytes, bytes);
    run_launch(&launch, shape->eager != 0);
    leave_arrays(&launch);
  }
  end_ticks();
  free(launch.parameter_bytes);
  return launch.failed;
}
