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

#include "common/memory.cuh"
#include "common/types.cuh"

namespace ck {

/// The workspace of a launch, as one block sees it.
struct LookBack {
  static constexpr int kValueBits = 44;
  static constexpr uint32 kLastEpoch = (1u << (62 - kValueBits)) - 1;
  static constexpr uint32 kAggregate = 1, kPrefix = 2;
  static constexpr uint32 kHeaderWords = 2;
  // Words that a lane reads at once: those of 256 tiles, where each block has one; else of 128.
  static constexpr uint32 kReads = 8, kReadsInTurn = 4;

  uint64* words;
  uint32 tiles;
  uint32 slots;  ///< words for tiles that the workspace has
  uint32 epoch;

  /// Draws a ticket, to be settled. All of the workspace is used by one warp of each block.
  CK_DEVICE uint64 draw() const { return threadIdx.x % 32 == 0 ? draw_relaxed(words) : 0; }

  /// Returns the number of a ticket; the last one starts the next epoch. It is later than the draw,
  /// so that nothing waits for that.
  CK_DEVICE uint32 settle(uint64 drawn) const {
    if (threadIdx.x % 32 == 0 && static_cast<uint32>(drawn) == tiles + gridDim.x - 1) {
      const uint64 next = drawn >> 32 == kLastEpoch ? 0 : (drawn >> 32) + 1;
      store_relaxed(words, next << 32);
    }
    return __shfl_sync(kAllLanes, static_cast<uint32>(drawn), 0);
  }

  /// Learns the epoch; returns the block's first tile.
  CK_DEVICE uint32 begin() {
    const uint64 drawn = draw();
    epoch = __shfl_sync(kAllLanes, static_cast<uint32>(drawn >> 32), 0);
    return settle(drawn);
  }

  /// Tells the others what a tile has, or what it and all before it have.
  CK_DEVICE void publish(uint32 tile, uint32 status, uint64 value) const {
    if (threadIdx.x % 32 == 0) {
      store_relaxed(of_tile(tile), static_cast<uint64>(stamp(status)) << kValueBits | value);
    }
  }

  /// Returns what all tiles before this one have. Each lane reads some words at once, and again
  /// those that say nothing yet: one round, where the others are done. Where each block has one
  /// tile, all are under way together, and no prefix is known before all the rest is.
  template <typename O>
  CK_DEVICE O sum_before(uint32 tile) const {
    constexpr uint32 kNone = 0x80000000;
    const uint32 reads = tiles == gridDim.x ? kReads : kReadsInTurn;
    const uint32 lane = threadIdx.x % 32, aggregate = stamp(kAggregate), prefix = stamp(kPrefix);
    O sum = 0;
    for (uint32 back = lane;; back += 32 * reads) {
      uint64 word[kReads];
#pragma unroll
      for (uint32 r = 0; r < kReads; ++r) {
        word[r] = r < reads ? 0 : static_cast<uint64>(aggregate) << kValueBits;
      }
      // The nearest word that is no aggregate: a prefix, after which none is needed, or an empty
      // one, which is odd here. In front of the first tile, which has a prefix, all are empty.
      uint32 nearest;
      do {
#pragma unroll
        for (uint32 r = 0; r < kReads; ++r) {
          const bool known = stamp_of(word[r]) == aggregate;
          const uint32 before = back + r * 32;
          load_relaxed_if(!known && before < tile, of_tile(tile - 1 - before), word[r]);
        }
        nearest = kNone;
#pragma unroll
        for (uint32 r = kReads; r-- > 0;) {
          const uint32 found = stamp_of(word[r]);
          const uint32 place = (r * 32 + lane) * 2 + (found == prefix ? 0 : 1);
          nearest = found == aggregate ? nearest : place;
        }
        nearest = lowest_of_warp(nearest);
      } while (nearest % 2 != 0);
#pragma unroll
      for (uint32 r = 0; r < kReads; ++r) {
        sum += r * 32 + lane <= nearest / 2 ? value_of<O>(word[r]) : O{0};
      }
      if (nearest != kNone) {
        break;
      }
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      sum += __shfl_xor_sync(kAllLanes, sum, step);
    }
    return sum;
  }

  /// Returns what all tiles have, as soon as that is known.
  CK_DEVICE uint64 total() const {
    uint64 word = 0;
    do {
      load_relaxed_if(true, of_tile(tiles - 1), word);
    } while (stamp_of(word) != stamp(kPrefix));
    return value_of<uint64>(word);
  }

  /// Called by each block at its end: in the last epoch the last block to come here empties the
  /// words, lest they count when the epochs begin anew. No other block reads one any more; the
  /// fence has what they wrote be there before.
  CK_DEVICE void finish() const {
    if (epoch != kLastEpoch) {
      return;
    }
    const uint32 lane = threadIdx.x % 32;
    uint32 before = 0;
    if (lane == 0) {
      __threadfence();
      before = atomicInc(reinterpret_cast<uint32*>(words + 1), gridDim.x - 1);
      __threadfence();
    }
    __syncwarp();
    const bool last = __shfl_sync(kAllLanes, before, 0) == gridDim.x - 1;
    if (last) {
#pragma unroll 1
      for (uint32 k = lane; k < slots; k += 32) {
        words[kHeaderWords + k] = 0;
      }
    }
  }

 private:
  CK_DEVICE uint64* of_tile(uint32 tile) const { return words + kHeaderWords + tile; }

  /// What is above the value in a word of this epoch, and in any word.
  CK_DEVICE uint32 stamp(uint32 status) const { return status << (62 - kValueBits) | epoch; }
  CK_DEVICE static uint32 stamp_of(uint64 word) { return static_cast<uint32>(word >> kValueBits); }
  template <typename O>
  CK_DEVICE static O value_of(uint64 word) {
    return static_cast<O>(word & ((uint64{1} << kValueBits) - 1));
  }

  CK_DEVICE static uint32 lowest_of_warp(uint32 value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(kAllLanes, value);
#else
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      const uint32 other = __shfl_xor_sync(kAllLanes, value, step);
      value = other < value ? other : value;
    }
    return value;
#endif
  }
};

}  // namespace ck
