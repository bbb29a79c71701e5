// Finds out that all runners wait: for blocks that nobody runs, of which each runner then takes
// more, or forever. A runner is stuck if all of its threads wait or are in a cycle. When all
// are stuck, each looks for one more cycle, since another may have written before, and confirms.
#pragma once

#include <sched.h>

#include "resident_blocks.hpp"

namespace ck_sim {

constexpr uint32_t kBusyPasses = 1000;  // of blocks, without progress, before the clock is read
constexpr uint64_t kGrowTime = 10 * 1000000ull;    // then before more blocks start
constexpr uint64_t kQuietTime = 500 * 1000000ull;  // ... before stacks are compared

// A census is a number of runners and, in the higher bits, the launch's progress when they were
// counted. As soon as there is progress, the count is out of date and starts again.
constexpr int kCensusBits = 12;

inline void count_in(uint64_t* census, uint64_t progress) {
  uint64_t seen = __atomic_load_n(census, __ATOMIC_SEQ_CST), wanted;
  do {
    if (seen >> kCensusBits > progress) return;  // it is this runner that is out of date
    const bool current = seen >> kCensusBits << kCensusBits == progress << kCensusBits;
    wanted = current ? seen + 1 : progress << kCensusBits | 1;
  } while (!__atomic_compare_exchange_n(census, &seen, wanted, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST));
}

inline bool all_counted(const Launch* launch, const uint64_t* census, uint64_t progress) {
  const uint64_t active = static_cast<uint64_t>(__atomic_load_n(&launch->active, __ATOMIC_SEQ_CST));
  return __atomic_load_n(census, __ATOMIC_SEQ_CST) == (progress << kCensusBits | active);
}

/// Watches the rounds that a runner's blocks take.
class Watch {
 public:
  /// Takes note of a round of a runner's blocks.
  void pass(const ResidentBlocks& resident) {
    Launch* launch = resident.runner.launch;
    const uint64_t now = __atomic_load_n(&launch->progress, __ATOMIC_SEQ_CST);
    if (now != progress_) {
      *this = Watch();
      progress_ = now;
      return;
    }
    sched_yield();
    passes_ += resident.count;
    if (passes_ < kBusyPasses) return;
    const uint64_t time = nanoseconds();
    if (since_ == 0) {
      since_ = time;
    } else if (can_grow(launch)) {
      if (time - since_ > kGrowTime) {
        ask_for_clusters(resident);
      }
    } else if (time - since_ > kGiveUpTime) {
      report(resident);
    } else if (time - since_ > kQuietTime) {
      compare(resident);
    }
  }

 private:
  /// Has runners take more blocks once all of them wait: perhaps for a block that nobody runs.
  void ask_for_clusters(const ResidentBlocks& resident) {
    Launch* launch = resident.runner.launch;
    if (!quiet_) {
      quiet_ = true;
      count_in(&launch->quiet, progress_);
    }
    if (all_counted(launch, &launch->quiet, progress_)) {
      const uint32_t twice = 2 * (resident.count / launch->ranks);
      if (__atomic_load_n(&launch->clusters_each, __ATOMIC_RELAXED) < twice) {
        __atomic_store_n(&launch->clusters_each, twice, __ATOMIC_RELAXED);
      }
    }
  }

  void compare(const ResidentBlocks& resident) {
    Launch* launch = resident.runner.launch;
    if (search_.repeats(digest_of(resident.workers, resident.count))) {
      if (!stuck_) {
        stuck_ = true;
        count_in(&launch->stuck, progress_);
      } else if (confirming_ && !confirmed_) {
        confirmed_ = true;
        count_in(&launch->confirmed, progress_);
      }
      // The next cycle begins after all were stuck, and so sees all that they wrote.
      confirming_ = confirming_ || all_counted(launch, &launch->stuck, progress_);
      if (confirmed_ && all_counted(launch, &launch->confirmed, progress_)) {
        report(resident);
      }
    } else if (stuck_ && search_.steps == 0) {
      note_progress(launch);  // it left its cycle: something has happened
    }
  }

  void report(const ResidentBlocks& resident) {
    Launch* launch = resident.runner.launch;
    if (__atomic_load_n(&launch->progress, __ATOMIC_SEQ_CST) != progress_) return;
    const Thread* thread = find_polling(resident.workers, resident.count);
    if (thread == nullptr) return;  // the next round reports the barrier where the last one waits
    report_deadlock(launch, *thread, has_blocks_left(launch));
  }

  uint64_t progress_ = 0;
  uint32_t passes_ = 0;
  uint64_t since_ = 0;
  CycleSearch search_;
  bool quiet_ = false, stuck_ = false, confirming_ = false, confirmed_ = false;
};

}  // namespace ck_sim
