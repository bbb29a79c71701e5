// Finds out that threads poll memory in vain. Between two polls a thread is its stack and its
// registers. If these return to what they were, and no memory has changed, it will poll forever.
#pragma once

#include "scheduler.hpp"

namespace ck_sim {

constexpr uint64_t kGiveUpTime = 60 * 1000000000ull;  // if threads count their polls

/// Brent's search for a cycle of digests.
struct CycleSearch {
  uint64_t marked = 0, steps = 0, span = 1;

  /// Adds a digest. Returns whether it is the marked one.
  bool repeats(uint64_t digest) {
    const bool repeated = digest == marked;
    if (repeated || ++steps >= span) {
      span *= repeated ? 1 : 2;
      marked = digest;
      steps = 0;
    }
    return repeated;
  }
};

/// A digest of all threads of the block: their states, registers and stacks.
inline uint64_t digest_of(Worker* w) {
  uint64_t digest = 1469598103934665603u;
  const auto add = [&digest](uint64_t word) {
    digest = (digest ^ word) * 0x9E3779B97F4A7C15u;
    digest ^= digest >> 29;
  };
  const auto add_stack = [&add](Fiber* fiber) {
    const uint64_t* word = static_cast<const uint64_t*>(live_stack(&fiber->context));
    for (; word < reinterpret_cast<const uint64_t*>(fiber->top()); ++word) {
      add(*word);
    }
  };
  for (uint32_t i = 0; i < w->launch->threads; ++i) {
    const Thread& thread = w->threads[i];
    add(static_cast<uint64_t>(thread.state));
    if (in_regions(w->launch)) {
      add(w->points[i]);
    } else if (thread.state == State::kReady || thread.state == State::kConverge) {
      add_stack(thread.fiber);
    }
  }
  if (in_regions(w->launch)) {
    add_stack(w->fiber);
    const uint64_t* const saved = reinterpret_cast<const uint64_t*>(w->saved);
    for (uint64_t i = 0; i < w->launch->kernel->saved_bytes * w->launch->threads / 8; ++i) {
      add(saved[i]);
    }
  }
  return digest;
}

inline uint64_t digest_of(Worker* const* workers, size_t count) {
  uint64_t digest = 0;
  for (size_t i = 0; i < count; ++i) {
    if (is_running(workers[i])) {
      digest = (digest ^ digest_of(workers[i])) * 0x9E3779B97F4A7C15u;
    }
  }
  return digest;
}

/// A thread that polls or waits in vain; null if all wait for others at barriers and collectives.
inline const Thread* find_polling(Worker* const* workers, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const Worker* w = workers[i];
    if (!is_running(w)) continue;
    if (!kChecked && w->turning) return w->running;
    for (uint32_t k = 0; k < w->launch->threads; ++k) {
      if (w->threads[k].state == State::kReady) return &w->threads[k];
    }
  }
  return nullptr;
}

/// Ends a launch whose resident threads all wait in vain; `thread` is one of them.
inline void report_deadlock(Launch* launch, const Thread& thread, bool blocks_left) {
  if (blocks_left && !launch->capped) {
    fail(launch, "launch", thread.view, thread.site,
         "%s:%d: no room for more blocks: %u of %llu are resident, and each of them polls or waits",
         thread.site->file, thread.site->line, launch->resident,
         static_cast<unsigned long long>(launch->blocks));
    return;
  }
  fail(launch, "deadlock", thread.view, thread.site,
       "%s:%d: %s; every resident thread polls or waits, and none changes memory",
       thread.site->file, thread.site->line,
       thread.turns ? "a loop must end" : "the launch must not wait forever");
}

}  // namespace ck_sim
