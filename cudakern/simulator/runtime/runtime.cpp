// Runs a kernel on the host. Each resident block has an OS thread, its worker; the threads of a
// block are fibers that never leave it.
#include "launch.hpp"
#include "watch.hpp"

namespace ck_sim {

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

inline Thread* next_thread(Worker* w) { return &w->threads[w->next_fresh]; }

inline void thread_ended(Worker* w) {
  if (w->next_fresh % kThreadsPerLook == 0) {
    look_for_helpers(w);
  }
}

/// Takes the next block of the grid into a cluster; false if there is none. Blocks of a cluster
/// follow each other, so as many workers as a cluster has blocks come to run one whole.
static bool enter_cluster(Worker* w) {
  Launch* launch = w->launch;
  pthread_mutex_lock(&launch->cluster_lock);
  const uint64_t next = __atomic_load_n(&launch->next_block, __ATOMIC_RELAXED);
  Cluster* cluster = launch->open_cluster;
  if (next < launch->blocks && cluster == nullptr) {
    cluster = make_cluster(launch);
  }
  const bool joins = next < launch->blocks && cluster != nullptr;
  if (joins) {
    join_cluster(w, cluster, next);
    launch->open_cluster = (next + 1) % launch->ranks == 0 ? nullptr : cluster;
    __atomic_fetch_add(&cluster->resident, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&launch->next_block, next + 1, __ATOMIC_RELAXED);
  }
  pthread_mutex_unlock(&launch->cluster_lock);
  return joins;
}

/// Waits until all blocks of the cluster are resident, or the launch has failed.
static void await_cluster(Worker* w) {
  Watch watch;
  while (__atomic_load_n(&w->cluster->resident, __ATOMIC_ACQUIRE) != w->cluster->ranks &&
         !has_failed(w->launch)) {
    watch.pass(w);
    if (w->looks) {
      look(w);
    }
  }
}

/// Takes the next block of the grid; false if there is none.
static bool take_block(Worker* w) {
  Launch* launch = w->launch;
  if (launch->ranks > 1) return enter_cluster(w);
  const uint64_t block = __atomic_fetch_add(&launch->next_block, 1, __ATOMIC_RELAXED);
  w->group.block = place_in(launch->grid, block);
  return block < launch->blocks;
}

static void run_block(Worker* w) {
  Launch* launch = w->launch;
  start_block(w);
  if (w->cluster != &w->alone) {
    await_cluster(w);
  }
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
    if (has_failed(launch)) break;
    if (w->waiting != 0 && w->done != done) {
      release_for_exited(w);
    }
    if (w->changes != 0) {
      w->changes = 0;
      note_progress(launch);
    }
    const bool idle =
        w->done == done && progress == __atomic_load_n(&launch->progress, __ATOMIC_RELAXED);
    if (w->converging != 0 && release_converged(w, !ran || idle)) continue;
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
  Worker* w = enter_worker(launch);
  if (w == nullptr) return;
  w->first = first;
  Worker* const outer = worker;
  worker = w;
  while (!has_failed(launch) && take_block(w)) {
    run_block(w);
    leave_cluster(w);
  }
  worker = outer;
  leave_worker(w);
}

static void* run_worker(void* argument) {
  Launch* launch = static_cast<Launch*>(argument);
  keep_signals_out();
  work(launch, false);
  __atomic_fetch_sub(&launch->active, 1, __ATOMIC_SEQ_CST);
  note_progress(launch);
  return nullptr;
}

/// Waits for the end of a helper, and looks in on the launch meanwhile.
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
      if (helper >= launch->helpers) return;  // none is left in a forked process
    }
  }
}

static void run_launch(Launch* launch, bool eager) {
  pthread_t helper_threads[kMaxWorkers];
  launch->helper_threads = helper_threads;
  launch->helped = launch->max_workers == 1;
  launch->start = nanoseconds();
  if ((eager || launch->ranks > 1) && !launch->helped) {
    call_helpers(launch);
    if (launch->helpers + 1 < launch->ranks) {
      refuse(launch, "a cluster must have an OS thread for each of its blocks; the host has fewer");
    }
  }
  work(launch, true);
  __atomic_fetch_sub(&launch->active, 1, __ATOMIC_SEQ_CST);
  note_progress(launch);
  for (uint32_t i = 0; i < launch->helpers; ++i) {
    join_helper(launch, i);
  }
  free(launch->open_cluster);  // that of a launch that failed
  flush_printed();
}

}  // namespace ck_sim

/// Runs a launch to its end; 0, or 1 with `report` filled in. launch.hpp says what `offsets` are;
/// `arrays` are those that may be guarded, or null.
CK_SIM_EXPORT int ck_sim_launch_kernel(const ck_sim_kernel* kernel, const void* parameters,
                                       uint32_t bytes, const uint32_t* offsets, uint32_t count,
                                       const ck_sim_shape* shape, const ck_sim_arrays* arrays,
                                       ck_sim_report* report) {
  using namespace ck_sim;
  Launch launch = {};
  launch.report = report;
  pthread_mutex_init(&launch.cluster_lock, nullptr);
  begin_ticks(&launch);
  if (copy_parameters(&launch, parameters, bytes, offsets, count) &&
      accept_launch(&launch, kernel, shape) &&
      count_workers(&launch, shape->resident, shape->grows != 0 ? UINT64_MAX : 0)) {
    enter_arrays(&launch, arrays, launch.parameter_bytes, bytes);
    run_launch(&launch, shape->eager != 0);
    leave_arrays(&launch);
  }
  end_ticks();
  free(launch.parameter_bytes);
  return launch.failed;
}
