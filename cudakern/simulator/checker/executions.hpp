// SPDX-License-Identifier: MIT
// Which instructions warps execute. Generated code counts, for each thread, how often each basic
// block runs: count_block of memory.hpp. A warp issues a block as often as the lane does that
// executes it most: lanes that diverge and execute it apart are taken to do so together.
#pragma once

#include "launch_api.hpp"
#include "runtime.hpp"
#include "scheduler.hpp"

namespace ck_sim {

inline uint64_t* executions = nullptr;  // of the launch, for each basic block

/// Numbers of a warp: the lanes of the first basic block, then of the next.
inline size_t execution_count(const Worker* w) {
  return size_t{w->launch->kernel->basic_blocks} * kLanes;
}

/// Has the threads of a block count from zero, if anybody wants that.
inline void begin_executions(Worker* w) {
  const uint32_t threads = w->launch->threads, warps = (threads + kLanes - 1) / kLanes;
  Vector<uint32_t>& counts = w->checked.executions;
  if (executions != nullptr) {
    counts.fill(execution_count(w) * warps);
  }
  for (uint32_t i = 0; i < threads; ++i) {
    uint32_t* const first = counts.data + execution_count(w) * (i / kLanes) + i % kLanes;
    w->threads[i].view.executions = executions == nullptr ? nullptr : first;
  }
}

/// Adds what the warps of a block executed.
inline void end_executions(Worker* w) {
  const Vector<uint32_t>& counts = w->checked.executions;
  const uint32_t blocks = w->launch->kernel->basic_blocks;
  for (size_t i = 0; executions != nullptr && i < counts.size / kLanes; ++i) {
    const uint32_t* const lanes = counts.data + i * kLanes;
    uint32_t most = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      most = lanes[lane] > most ? lanes[lane] : most;
    }
    executions[i % blocks] += most;
  }
}

}  // namespace ck_sim
