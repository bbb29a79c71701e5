// SPDX-License-Identifier: MIT
// What the entry points of the copy operators have in common.
#pragma once

#define CK_KERNEL \
  extern "C" __global__ void __launch_bounds__(ck::kThreads, ck::kBlocksPerMultiprocessor)

namespace ck {

constexpr int kThreads = 256;
constexpr int kBlocksPerMultiprocessor = 4;  // 64 registers each: leaves room for loads in flight

}  // namespace ck
