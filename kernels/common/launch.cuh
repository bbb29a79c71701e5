// SPDX-License-Identifier: MIT
// What entry points have in common.
#pragma once

#define CK_KERNEL CK_KERNEL_OF(ck::kBlocksPerMultiprocessor)
#define CK_KERNEL_OF(blocks) CK_KERNEL_WITH(ck::kThreads, blocks)
#define CK_KERNEL_WITH(threads, blocks) \
  extern "C" __global__ void __launch_bounds__(threads, blocks)

namespace ck {

constexpr int kThreads = 256;
constexpr unsigned kAllLanes = 0xFFFFFFFF;
constexpr unsigned kSectorBytes = 32;        // what memory moves at least
constexpr int kBlocksPerMultiprocessor = 4;  // 64 registers each: leaves room for loads in flight

}  // namespace ck
