// How many blocks are resident at once on the GPU that is modelled, an H200.
#pragma once

#include "scheduler.hpp"

namespace ck_sim {

constexpr uint32_t kMultiprocessors = CK_SIM_MULTIPROCESSORS;
// What each of these has.
constexpr uint32_t kThreadsEach = 2048;
constexpr uint32_t kBlocksEach = 32;
constexpr uint32_t kSharedEach = 57 << 12;                       // 228 KiB; a block takes ...
constexpr uint32_t kSystemShared = 1 << 10;                      // ... this besides its own, ...
constexpr uint32_t kSharedUnit = 128;                            // ... in multiples of this
constexpr uint32_t kRegistersEach = 65536, kRegisterUnit = 256;  // a warp's are a multiple of that
constexpr uint32_t kMostRegisters = 255;                         // of a thread
constexpr uint32_t kWarpUnit = 4;  // registers are given to so many warps together

/// How many blocks of a launch one multiprocessor holds. A kernel that does not say how many
/// registers its threads may use counts as if they were few.
inline uint32_t blocks_each(const Launch& launch) {
  const ck_sim_kernel& kernel = *launch.kernel;
  const uint32_t warps = (launch.threads + kWarpSize - 1) / kWarpSize;
  const uint32_t shared = kernel.packed_shared + launch.shared_bytes + kSystemShared;
  uint32_t blocks = least(kBlocksEach, kThreadsEach / kWarpSize / warps);
  blocks = least(blocks, kSharedEach / ((shared + kSharedUnit - 1) / kSharedUnit * kSharedUnit));
  if (kernel.max_registers != 0) {
    const uint32_t wanted = least(kernel.max_registers, kMostRegisters) * kWarpSize;
    const uint32_t registers = (wanted + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit;
    blocks = least(blocks, kRegistersEach / registers / kWarpUnit * kWarpUnit / warps);
  }
  return blocks == 0 ? 1 : blocks;
}

/// How many blocks of a launch can be resident, in whole clusters: as many as the GPU holds, and as
/// there are stacks for their threads, but at least one cluster.
inline uint64_t most_resident_blocks(const Launch& launch) {
  const uint64_t stacks = most_stacks() / launch.threads;
  uint64_t blocks = uint64_t{kMultiprocessors} * blocks_each(launch);
  blocks = (blocks < stacks ? blocks : stacks) / launch.ranks * launch.ranks;
  return blocks < launch.ranks ? launch.ranks : blocks;
}

}  // namespace ck_sim
