// SPDX-License-Identifier: MIT
// Folding the states of lanes, of groups of threads and of blocks, always in the same order.
//
// Blocks that share a result put their states into the workspace and count arrivals. The block that
// arrives last folds them. The counter wraps to zero by itself, so nothing is cleared between
// launches and a captured one can be replayed.
#pragma once

#include "common/memory.cuh"
#include "common/types.cuh"

namespace ck {

/// Counters at the start of the workspace; states follow.
constexpr uint32 kCounters = 2048;
/// Blocks whose states are folded by one of them, unless a block has a thread for each.
constexpr uint32 kGroupBlocks = 32;

template <typename S>
CK_DEVICE S shuffle_down(const S& state, uint32 distance) {
  Packed<S, uint32> words;
  words.vector = state;
#pragma unroll
  for (int k = 0; k < Packed<S, uint32>::kPieces; ++k) {
    words.piece[k] = __shfl_down_sync(kAllLanes, words.piece[k], distance);
  }
  return words.vector;
}

/// The state of `lanes` lanes, a power of two, in the first of them; by whole warps.
template <typename F>
CK_DEVICE typename F::State fold_lanes(typename F::State state, uint32 lanes) {
#pragma unroll 1
  for (uint32 distance = lanes / 2; distance > 0; distance /= 2) {
    state = F::combine(state, shuffle_down(state, distance));
  }
  return state;
}

/// The state of a block, in its first thread; `shared` has one for each warp.
template <typename F>
CK_DEVICE typename F::State fold_block(typename F::State state, typename F::State* shared) {
  constexpr uint32 kWarps = kThreads / 32;
  state = fold_lanes<F>(state, 32);
  if (threadIdx.x % 32 == 0) {
    shared[threadIdx.x / 32] = state;
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    state = threadIdx.x < kWarps ? shared[threadIdx.x] : F::identity();
    state = fold_lanes<F>(state, kWarps);
  }
  return state;
}

/// Folds `groups` groups of `width` threads each into the first group; thread q of group g. Each
/// has `kItems` states; `shared` has room for those of all threads. By the whole block.
template <typename F, int kItems>
CK_DEVICE void fold_groups(typename F::State (&state)[kItems], typename F::State* shared, uint32 q,
                           uint32 g, uint32 width, uint32 groups) {
#pragma unroll 1
  for (uint32 span = groups; span > 1;) {
    const uint32 half = (span + 1) / 2;
    if (g >= half && g < span) {
#pragma unroll
      for (int k = 0; k < kItems; ++k) {
        shared[k * kThreads + (g - half) * width + q] = state[k];
      }
    }
    __syncthreads();
    if (g + half < span) {
#pragma unroll
      for (int k = 0; k < kItems; ++k) {
        state[k] = F::combine(state[k], shared[k * kThreads + g * width + q]);
      }
    }
    __syncthreads();
    span = half;
  }
}

/// Counts this block in; whether all `blocks` that share a counter are, so that what they wrote
/// can be read. By the whole block.
CK_DEVICE bool arrives_last(uint64* workspace, uint32 counter, uint32 blocks) {
  __syncthreads();
  bool last = false;
  if (threadIdx.x == 0) {
    last = increment_acquire_release(reinterpret_cast<uint32*>(workspace) + counter, blocks - 1) ==
           blocks - 1;
  }
  return __syncthreads_or(last) != 0;
}

/// Folds the states of the `splits` blocks that share a result, of `states` states each; by one of
/// them, for which it is true. `put(s)` writes this block's states to s, `get(s, n)` makes its own
/// what n blocks wrote from s on. More blocks than kGroup are folded in groups first, at the same
/// time.
template <typename S, uint32 kGroup = kGroupBlocks, typename Put, typename Get>
CK_DEVICE bool fold_blocks(uint64* workspace, uint32 result, uint32 split, uint32 splits,
                           uint32 states, const Put& put, const Get& get) {
  const uint32 groups = (splits + kGroup - 1) / kGroup;
  const uint32 group = split / kGroup, first = group * kGroup;
  const uint32 members = splits - first < kGroup ? splits - first : kGroup;
  const uint32 counter = result * (groups > 1 ? groups + 1 : 1);
  S* const partials = reinterpret_cast<S*>(workspace + kCounters / 2) +
                      static_cast<uint64>(result) * (splits + groups) * states;
  put(partials + split * states);
  if (!arrives_last(workspace, counter + group, members)) {
    return false;
  }
  get(partials + first * states, members);
  if (groups == 1) {
    return true;
  }
  S* const of_groups = partials + splits * states;
  put(of_groups + group * states);
  if (!arrives_last(workspace, counter + groups, groups)) {
    return false;
  }
  get(of_groups, groups);
  return true;
}

}  // namespace ck
