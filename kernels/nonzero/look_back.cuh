// Blocks number tiles in order and add up what the tiles before theirs have, in one launch.
//
// A block draws tickets, which are the numbers of its tiles, lowest first. As soon as it knows the
// sum of its tile, it publishes this aggregate. Then it looks back: it adds up the aggregates of
// the tiles before, nearest first, until it meets a prefix, the sum of a tile and all before it. At
// the end it publishes its own prefix. A block waits only for lower tickets, whose blocks run
// already: no block waits forever, however few run at once.
//
//   time  block of tile 0         block of tile 1              block of tile 2
//    |    draws 0                 draws 1                      draws 2
//    |    counts 7                counts 4                     counts 9
//    |    publishes prefix 7      publishes aggregate 4        publishes aggregate 9
//    |    draws 3                 reads tile 0: prefix 7       reads tile 1: aggregate 4
//    |    counts 5                publishes prefix 11               tile 0: prefix 7
//    v    publishes aggregate 5   draws 4                      publishes prefix 20
//
// The workspace starts as zeros and has words of 64 bits. A word is read and written as a whole, so
// nothing has to be fenced.
//
//   byte 0          tickets          epoch (63..32), next ticket (31..0)
//   byte 8          finished blocks  number (31..0)
//   byte 16 + 8 t   tile t           status (63..62), epoch (61..44), value (43..0)
//                                    status: 0 none, 1 value is the aggregate, 2 the prefix
//
// Each launch is an epoch. A word of another epoch counts as empty, so words are cleared in one of
// 2^18 launches only. Each block draws until its ticket is not a tile. So the number of draws is
// known: the block that draws last starts the next epoch.
#pragma once

#include "common/memory.cuh"

namespace ck {

/// The sum of a value of each lane, in all lanes.
template <typename T>
CK_DEVICE T sum_of_warp(T value) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, step);
  }
  return value;
}

/// The workspace of a launch, as one block sees it.
struct LookBack {
  static constexpr bool kLooksBack = true;
  static constexpr int kValueBits = 44;
  static constexpr uint32 kLastEpoch = (1u << (62 - kValueBits)) - 1;
  static constexpr uint32 kAggregate = 1, kPrefix = 2;
  static constexpr uint32 kHeaderWords = CK_HEADER_WORDS;
  // Words that a lane reads at once: a warp reads 256 where each block has one tile, else 128.
  static constexpr uint32 kReads = 8, kReadsInTurn = 4;

  uint64* words;
  uint32 tiles;
  uint32 epoch = 0;

  /// Draws a ticket, which `settle` makes a number of. One warp of a block calls all of these.
  CK_DEVICE uint64 draw() const { return threadIdx.x % 32 == 0 ? draw_relaxed(words) : 0; }

  /// Returns the number of a ticket; the last ticket starts the next epoch. It is apart from the
  /// draw, whose latency other work hides.
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

  /// Tells other blocks a tile's aggregate or prefix.
  CK_DEVICE void publish(uint32 tile, uint32 status, uint64 value) const {
    if (threadIdx.x % 32 == 0) {
      store_relaxed(of_tile(tile), static_cast<uint64>(stamp(status)) << kValueBits | value);
    }
  }

  /// Returns the sum of all tiles before this one. Each lane reads some words at once, and reads
  /// empty ones again. Where each block has one tile, all tiles are under way together and prefixes
  /// come late: then a lane reads more words at once.
  template <typename O>
  CK_DEVICE O sum_before(uint32 tile) const {
    constexpr uint32 kNone = 0x80000000;
    const uint32 reads = tiles == gridDim.x ? kReads : kReadsInTurn;
    const uint32 lane = threadIdx.x % 32, aggregate = stamp(kAggregate), prefix = stamp(kPrefix);
    O sum = 0;
    for (uint32 back = lane;; back += 32 * reads) {
      uint64 word[kReads];
      unrolled<kReads>([&](uint32 r) {
        word[r] = r < reads ? 0 : static_cast<uint64>(aggregate) << kValueBits;
      });
      // Twice the distance of the nearest word but aggregates, plus one if it is empty. Words
      // beyond a prefix are not needed. Words in front of tile 0, which has a prefix, stay empty.
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
          const uint32 stamp_read = stamp_of(word[r]);
          const uint32 place = (r * 32 + lane) * 2 + (stamp_read == prefix ? 0 : 1);
          nearest = stamp_read == aggregate ? nearest : place;
        }
        nearest = lowest_of_warp(nearest);
      } while (nearest % 2 != 0);
      unrolled<kReads>(
          [&](uint32 r) { sum += r * 32 + lane <= nearest / 2 ? value_of<O>(word[r]) : O{0}; });
      if (nearest != kNone) break;
    }
    return sum_of_warp(sum);
  }

  /// Returns the sum of all tiles, as soon as it is known.
  CK_DEVICE uint64 total() const {
    uint64 word = 0;
    do {
      load_relaxed_if(true, of_tile(tiles - 1), word);
    } while (stamp_of(word) != stamp(kPrefix));
    return value_of<uint64>(word);
  }

  /// Each block calls this at its end. In the last epoch, the last block to call it clears the
  /// words: they would count again when epochs begin anew. No other block reads a word any more.
  /// The fences order what other blocks wrote before the zeros.
  CK_DEVICE void finish(uint32 slots) const {
    if (epoch != kLastEpoch) return;
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
      for (uint32 k = lane; k < slots; k += 32) words[kHeaderWords + k] = 0;
    }
  }

 private:
  CK_DEVICE uint64* of_tile(uint32 tile) const { return words + kHeaderWords + tile; }

  /// Status and epoch: of a word of this epoch, and of any word.
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
