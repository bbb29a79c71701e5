// Folding the states of lanes, of groups of threads and of blocks, always in the same order.
//
// Blocks that share a result put their states into the workspace and count themselves in. The block
// that arrives last folds the states. More blocks than a group has are folded in groups first, all
// groups at the same time, and then the groups' states; here 96 blocks in three groups of 32:
//
//   time  block 0             block 31              block 64             block 95
//    |    puts its state      puts its state        puts its state       puts its state
//    |    counter 0: 0 -> 1   ...                   counter 2: 0 -> 1    ...
//    |    ends                counter 0: 31 -> 0    ends                 counter 2: 31 -> 0
//    |                        folds states 0..31                         folds states 64..95
//    |                        puts state of group 0                      puts state of group 2
//    |                        counter 3: 0 -> 1                          ...
//    |                        ends                                       counter 3: 2 -> 0
//    |                                                                   folds the groups' states
//    v                                                                   writes the result
//
// Counting in releases what the block wrote and acquires what the blocks before it wrote. A counter
// wraps to zero by itself: nothing is cleared between launches, and a captured launch can be
// replayed.
//
// The workspace starts as zeros. Of s blocks that share a result, in g groups:
//
//   byte 0     2048 counters of 32 bits; a result has one, or g + 1 if g > 1: counter i < g is of
//              group i, counter g is of the groups
//   byte 8192  states; a result has s + g times `states`: first of each block, then of each group
#pragma once

#include "common/division.cuh"
#include "common/memory.cuh"
#include "reduce/functions.cuh"

namespace ck {

constexpr uint32 kCounters = CK_COUNTERS;         // at the start of the workspace
constexpr uint32 kGroupBlocks = CK_GROUP_BLOCKS;  // blocks whose states one of them folds

/// What the arguments of all variants begin with.
struct ReduceArguments {
  const void* x;
  void* out;
  uint64* workspace;
  Rest rest;  ///< what finish takes beside a state
};

/// A contiguous array in bytes, counted from the 16-byte boundary at or before it.
template <typename O>
struct Extent {
  const char* base;
  uint32 begin;
  O end;

  CK_DEVICE Extent(const void* x, O bytes) {
    begin = static_cast<uint32>(reinterpret_cast<uint64>(x)) % 16;
    base = static_cast<const char*>(x) - begin;
    end = bytes + begin;
  }
};

/// Makes states those of no elements.
template <int kCount>
CK_DEVICE void clear(State (&state)[kCount]) {
#pragma unroll
  for (int k = 0; k < kCount; ++k) state[k] = Function::identity();
}

CK_DEVICE State shuffle_down(const State& state, uint32 distance) {
  Packed<State, uint32> words;
  words.vector = state;
#pragma unroll
  for (int k = 0; k < Packed<State, uint32>::kPieces; ++k) {
    words.piece[k] = __shfl_down_sync(kAllLanes, words.piece[k], distance);
  }
  return words.vector;
}

/// The state of `lanes` lanes, a power of two, in the first of them; by whole warps.
CK_DEVICE State fold_lanes(State state, uint32 lanes) {
#pragma unroll 1
  for (uint32 distance = lanes / 2; distance > 0; distance /= 2) {
    state = Function::combine(state, shuffle_down(state, distance));
  }
  return state;
}

/// The state of a block, in its first thread; `shared` has one for each warp.
CK_DEVICE State fold_block(State state, State* shared) {
  constexpr uint32 kWarps = kThreads / 32;
  state = fold_lanes(state, 32);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = state;
  __syncthreads();
  if (threadIdx.x < 32) {
    state = threadIdx.x < kWarps ? shared[threadIdx.x] : Function::identity();
    state = fold_lanes(state, kWarps);
  }
  return state;
}

/// Folds `groups` groups of `width` threads each into the first group. This is thread q of group g.
/// Each thread has `kItems` states; `shared` has room for those of all threads. By the whole block.
template <int kItems>
CK_DEVICE void fold_groups(State (&state)[kItems], State* shared, uint32 q, uint32 g, uint32 width,
                           uint32 groups) {
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
        state[k] = Function::combine(state[k], shared[k * kThreads + g * width + q]);
      }
    }
    __syncthreads();
    span = half;
  }
}

/// Counts this block in. Returns whether it is the last of the counter's `blocks` blocks: then what
/// the others wrote can be read. By the whole block.
CK_DEVICE bool arrives_last(uint64* workspace, uint32 counter, uint32 blocks) {
  __syncthreads();
  bool last = false;
  if (threadIdx.x == 0) {
    last = increment_acquire_release(reinterpret_cast<uint32*>(workspace) + counter, blocks - 1) ==
           blocks - 1;
  }
  return __syncthreads_or(last) != 0;
}

/// Folds the states of the `splits` blocks that share a result, `states` states each; this is block
/// `split` of them. Returns true in one block, which then has the result. put(s) writes this
/// block's states to s; get(s, n) makes them the fold of what n blocks wrote from s on.
template <uint32 kGroup = kGroupBlocks, typename Put, typename Get>
CK_DEVICE bool fold_blocks(uint64* workspace, uint32 result, uint32 split, uint32 splits,
                           uint32 states, const Put& put, const Get& get) {
  const uint32 groups = (splits + kGroup - 1) / kGroup;
  const uint32 group = split / kGroup, first = group * kGroup;
  const uint32 members = splits - first < kGroup ? splits - first : kGroup;
  const uint32 counter = result * (groups > 1 ? groups + 1 : 1);
  State* const partials = reinterpret_cast<State*>(workspace + kCounters / 2) +
                          static_cast<uint64>(result) * (splits + groups) * states;
  put(partials + split * states);
  if (!arrives_last(workspace, counter + group, members)) return false;
  get(partials + first * states, members);
  if (groups == 1) return true;
  State* const of_groups = partials + splits * states;
  put(of_groups + group * states);
  if (!arrives_last(workspace, counter + groups, groups)) return false;
  get(of_groups, groups);
  return true;
}

}  // namespace ck
