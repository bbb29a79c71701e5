// SPDX-License-Identifier: MIT
// Blocks that number tiles in order and add up what the tiles before theirs have, in one launch.
//
// A block draws tickets: the numbers of its tiles, lowest first. It publishes the sum of a tile as
// soon as it knows it, and then looks back: it adds up the sums of the tiles before, until it comes
// to one whose inclusive prefix is known, and publishes its own. Nobody waits for a higher ticket,
// and who has a lower one is running already, so nobody waits forever, however few blocks run.
//
// All of it is in a workspace of 64-bit words that starts as zeros: the word of the tickets (epoch,
// next ticket), a count of finished blocks, and a word for each tile (status, epoch, value), which
// is read and written as a whole, so nothing has to be fenced. Each launch is an epoch. A word of
// another epoch counts as empty, so nothing has to be cleared either, but in one of 2^18 launches.
// The number of draws is known: each block draws until a ticket is no tile any more. Who draws last
// starts the next epoch.
#pragma once

#include "common/launch.cuh"
#include "common/memory.cuh"
#include "common/types.cuh"

namespace ck {

/// The workspace of a launch, as one block sees it.
struct LookBack {
  static constexpr int kValueBits = 44;
  static constexpr uint32 kLastEpoch = (1u << (62 - kValueBits)) - 1;
  static constexpr uint64 kAggregate = 1, kPrefix = 2;
  static constexpr uint32 kHeaderWords = 2;

  uint64* words;
  uint32 tiles;
  uint32 slots;  ///< words for tiles that the workspace has
  uint32 epoch;

  /// Draws a ticket, by one thread; the high half is the epoch. It is to be settled.
  __device__ __forceinline__ uint64 draw() const { return atomicAdd(words, uint64{1}); }

  /// Starts the next epoch if a ticket is the last one; later than the draw, so that nothing waits
  /// for it. Returns its number.
  __device__ __forceinline__ uint32 settle(uint64 ticket) const {
    if (static_cast<uint32>(ticket) == tiles + gridDim.x - 1) {
      const uint64 next = ticket >> 32 == kLastEpoch ? 0 : (ticket >> 32) + 1;
      store_relaxed(words, next << 32);
    }
    return static_cast<uint32>(ticket);
  }

  /// Tells the others what a tile has, or what it and all before it have; by one thread.
  __device__ __forceinline__ void publish(uint32 tile, uint64 status, uint64 value) const {
    const uint64 stamp = status << 62 | static_cast<uint64>(epoch) << kValueBits;
    store_relaxed(words + kHeaderWords + tile, stamp | value);
  }

  __device__ __forceinline__ uint64 read(uint32 tile) const {
    return load_relaxed(words + kHeaderWords + tile);
  }
  __device__ __forceinline__ bool is_set(uint64 word) const {
    return word >> 62 != 0 && (static_cast<uint32>(word >> kValueBits) & kLastEpoch) == epoch;
  }
  template <typename O>
  __device__ __forceinline__ static O value_of(uint64 word) {
    return static_cast<O>(word & ((uint64{1} << kValueBits) - 1));
  }

  /// Returns what all tiles before this one have; by one whole warp. It reads 32 words, which are
  /// enough where others are done, and then 256 at once.
  template <typename O>
  __device__ __forceinline__ O sum_before(uint32 tile) const {
    constexpr uint32 kReads = 8;
    const uint32 lane = threadIdx.x % 32;
    O sum = 0;
    for (uint32 back = lane, reads = 1;; back += 32 * reads, reads = kReads) {
      uint64 word[kReads];
#pragma unroll
      for (uint32 r = 0; r < kReads; ++r) {
        const uint32 before = back + r * 32;
        // In front of the first tile there is nothing.
        word[r] = kPrefix << 62 | static_cast<uint64>(epoch) << kValueBits;
        if (r < reads && before < tile) {
          word[r] = read(tile - 1 - before);
        }
      }
#pragma unroll
      for (uint32 r = 0; r < kReads; ++r) {
        if (r == reads) {
          break;
        }
        uint32 prefixes, needed;
        while (true) {
          const bool set = is_set(word[r]);
          prefixes = __ballot_sync(kAllLanes, set && word[r] >> 62 == kPrefix);
          needed = prefixes == 0 ? kAllLanes : prefixes ^ (prefixes - 1);
          if ((__ballot_sync(kAllLanes, !set) & needed) == 0) {
            break;
          }
          if (!set) {
            word[r] = read(tile - 1 - (back + r * 32));
          }
        }
        sum += (needed >> lane & 1) != 0 ? value_of<O>(word[r]) : O{0};
        if (prefixes != 0) {
#pragma unroll
          for (int step = 16; step > 0; step /= 2) {
            sum += __shfl_xor_sync(kAllLanes, sum, step);
          }
          return sum;
        }
      }
    }
  }

  /// Returns what all tiles have, as soon as that is known; by one thread.
  __device__ __forceinline__ uint64 total() const {
    uint64 word;
    do {
      word = read(tiles - 1);
    } while (!is_set(word) || word >> 62 != kPrefix);
    return value_of<uint64>(word);
  }

  /// Called by all threads of each block at its end, `flag` being shared memory: in the last epoch
  /// the last block to come here empties the words, lest they count when the epochs begin anew. No
  /// other block reads one any more; the fence has what they wrote be there before.
  __device__ __forceinline__ void finish(uint32* flag) const {
    if (epoch != kLastEpoch) {
      return;
    }
    if (threadIdx.x == 0) {
      __threadfence();
      uint32* const finished = reinterpret_cast<uint32*>(words + 1);
      *flag = atomicInc(finished, gridDim.x - 1) == gridDim.x - 1 ? 1 : 0;
      __threadfence();
    }
    __syncthreads();
    if (*flag != 0) {
#pragma unroll 1
      for (uint32 k = threadIdx.x; k < slots; k += blockDim.x) {
        words[kHeaderWords + k] = 0;
      }
    }
  }
};

}  // namespace ck
