// Finds deadlocks among workers: one all of whose threads wait or are in a cycle is stuck; when all
// are, each looks for one more cycle, in case another wrote just before it got stuck, and confirms.
#pragma once

#include <sched.h>

#include "deadlock.hpp"

namespace ck_sim {

constexpr int kBusyPasses = 1000;                  // fruitless passes before the clock is asked
constexpr uint64_t kQuietTime = 500 * 1000000ull;  // then before stacks are compared
constexpr uint64_t kGrowTime = 20 * 1000000ull;    // the same while more blocks can be run

// A census is a number of workers and, above it, the launch's progress when they were counted: as
// soon as anything happens, the count is out of date and starts again.
constexpr int kCensusBits = 12;

inline void count_in(uint64_t* census, uint64_t progress) {
  uint64_t seen = __atomic_load_n(census, __ATOMIC_SEQ_CST), wanted;
  do {
    const bool current = seen >> kCensusBits << kCensusBits == progress << kCensusBits;
    wanted = current ? seen + 1 : progress << kCensusBits | 1;
  } while (!__atomic_compare_exchange_n(census, &seen, wanted, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST));
}

inline bool all_counted(const Launch* launch, const uint64_t* census, uint64_t progress) {
  const uint64_t active = static_cast<uint64_t>(__atomic_load_n(&launch->active, __ATOMIC_SEQ_CST));
  return __atomic_load_n(census, __ATOMIC_SEQ_CST) == (progress << kCensusBits | active);
}

/// Whether there are blocks that nobody runs, and may be workers to run them.
inline bool can_grow(const Launch* launch) {
  return __atomic_load_n(&launch->next_block, __ATOMIC_SEQ_CST) < launch->blocks &&
         __atomic_load_n(&launch->max_workers, __ATOMIC_SEQ_CST) < launch->most_workers;
}

/// Watches the passes over the threads of one block.
class Watch {
 public:
  /// After a pass in which threads ran but none ended.
  void pass(Worker* w) {
    Launch* launch = w->launch;
    const uint64_t now = __atomic_load_n(&launch->progress, __ATOMIC_SEQ_CST);
    if (now != progress_) {
      *this = Watch();
      progress_ = now;
      return;
    }
    sched_yield();
    if (++passes_ < kBusyPasses) return;
    const uint64_t time = nanoseconds();
    if (passes_ == kBusyPasses) {
      since_ = time;
    } else if (time - since_ > kGiveUpTime) {
      report(w);
    } else if (time - since_ > (can_grow(w->launch) ? kGrowTime : kQuietTime)) {
      compare(w);
    }
  }

 private:
  void compare(Worker* w) {
    Launch* launch = w->launch;
    if (search_.repeats(digest_of(w))) {
      if (!stuck_) {
        stuck_ = true;
        count_in(&launch->stuck, progress_);
      } else if (confirming_ && !confirmed_) {
        confirmed_ = true;
        count_in(&launch->confirmed, progress_);
      }
      // The next cycle begins after all were stuck, so it sees all they wrote.
      confirming_ = confirming_ || all_counted(launch, &launch->stuck, progress_);
      if (confirmed_ && all_counted(launch, &launch->confirmed, progress_)) {
        report(w);
      }
    } else if (stuck_ && search_.steps == 0) {
      note_progress(launch);  // left its cycle: something did happen
    }
  }

  void report(Worker* w) {
    Launch* launch = w->launch;
    if (can_grow(launch)) {
      if (w->first) {  // perhaps they wait for a block that nobody runs
        const uint32_t twice = 2 * launch->max_workers;
        note_progress(launch);  // first: who sees the new number must see that it is news
        __atomic_store_n(&launch->max_workers,
                         twice < launch->most_workers ? twice : launch->most_workers,
                         __ATOMIC_SEQ_CST);
        call_helpers(launch);
        note_progress(launch);
      }
      return;
    }
    if (__atomic_load_n(&launch->progress, __ATOMIC_SEQ_CST) != progress_) return;
    const Thread* thread = w->threads;
    while (thread < w->threads + w->next_fresh && thread->state != State::kReady) {
      ++thread;
    }
    if (thread == w->threads + w->next_fresh) {
      return;  // the last one that polled waits at a barrier now: the next pass reports that
    }
    report_deadlock(w->launch, *thread);
  }

  uint64_t progress_ = 0;
  int passes_ = 0;
  uint64_t since_ = 0;
  CycleSearch search_;
  bool stuck_ = false, confirming_ = false, confirmed_ = false;
};

}  // namespace ck_sim
