// Two launches: the first one leaves a bit for each element in memory, and counts them; the second
// one writes rows from bits. Neither waits for another block.
//
// Bits lie in words of 32, in the order of the elements. A tile is kWarps parts of `turns` words,
// one for each warp. A part without bits may be left out. The scratch memory has counts of the
// parts, 16 bits each, of all tiles; then bits.
#pragma once

#include "common/memory.cuh"
#include "nonzero/coordinate_writer.cuh"
#include "nonzero/inputs.cuh"
#include "nonzero/look_back.cuh"

namespace ck {

CK_DEVICE uint16* counts_of(const NonzeroArguments& a) {
  return reinterpret_cast<uint16*>(a.scratch);
}
CK_DEVICE uint32* bits_of(const NonzeroArguments& a) { return a.scratch + 4 * a.slots; }

/// Leaves the bits of an input, tile by tile. By one warp for each part.
template <typename Input>
CK_DEVICE void leave_bits(const Input& input, char* shared) {
  const NonzeroArguments& a = input.common();
  const uint32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const uint32 words = a.turns * Input::kTurnWords;
  uint32* const masks = reinterpret_cast<uint32*>(shared);
  for (uint32 tile = blockIdx.x; tile < a.tiles; tile += gridDim.x) {
    const uint32 count = sum_of_warp(input.load(tile, masks));
    __syncwarp();
    const uint64 part = static_cast<uint64>(tile) * kWarps + warp;
    if (lane == 0) counts_of(a)[part] = static_cast<uint16>(count);
    for (uint32 k = lane * 4; k < words && count != 0; k += 128) {
      *reinterpret_cast<uint4*>(bits_of(a) + part * words + k) =
          *reinterpret_cast<const uint4*>(masks + warp * words + k);
    }
    __syncwarp();  // the masks of the next tile take the place of these
  }
}

/// Tiles whose counts are known: what look-back finds out about others. One warp calls it.
struct CountedTiles {
  static constexpr bool kLooksBack = false;
  static constexpr uint32 kPrefix = 0, kAggregate = 0;

  const uint4* counts;
  uint32 tiles;
  uint32 next = blockIdx.x;  ///< the block's next tile, if it has bits
  uint32 summed = 0;         ///< tiles in front of which all are counted ...
  uint64 before = 0;         ///< ... and their bits

  CK_DEVICE uint32 count_of(uint32 tile) const {
    const uint4 parts = load(counts + tile);
    const auto both = [](uint32 word) { return (word & 0xFFFF) + (word >> 16); };
    return both(parts.x) + both(parts.y) + both(parts.z) + both(parts.w);
  }

  /// Returns the block's next tile that has bits.
  CK_DEVICE uint32 begin() {
    while (next < tiles) {
      const uint32 tile = next + threadIdx.x % 32 * gridDim.x;
      const uint32 found = __ballot_sync(kAllLanes, tile < tiles && count_of(tile) != 0);
      next += (found == 0 ? 32 : static_cast<uint32>(__ffs(found))) * gridDim.x;
      if (found != 0) return next - gridDim.x;
    }
    return tiles;
  }
  CK_DEVICE uint64 draw() const { return 0; }
  CK_DEVICE uint32 settle(uint64) { return begin(); }
  CK_DEVICE void publish(uint32, uint32, uint64) const {}

  /// Returns the sum of all tiles before this one, which is not in front of the last.
  template <typename O>
  CK_DEVICE O sum_before(uint32 tile) {
    uint64 sum = 0;
#pragma unroll 4
    for (uint32 k = summed + threadIdx.x % 32; k < tile; k += 32) sum += count_of(k);
    summed = tile;
    before += sum_of_warp(sum);
    return static_cast<O>(before);
  }
  CK_DEVICE uint64 total() { return sum_before<uint64>(tiles); }
  CK_DEVICE void finish(uint32) const {}
};

/// Bits that the launch before has left, in rows of `padded` bits, of which `columns` are elements.
struct BitsArguments {
  NonzeroArguments common;
  uint64 words;  ///< that all rows have
  Divisor<Offset> padded;
  Offset gap;  ///< bits behind the columns
};

struct BitsInput {
  static constexpr uint32 kMaskWords = CK_MAX_PLACES / 32;
  static constexpr uint32 kTurnWords = 1;
  using Arguments = BitsArguments;
  const Arguments& a;

  CK_DEVICE const NonzeroArguments& common() const { return a.common; }

  CK_DEVICE Elements elements_of(uint32 tile) const {
    return {Offset{tile} * (a.common.turns * kReaders) - a.common.lead, &a.padded, a.gap};
  }

  CK_DEVICE uint32 load(uint32 tile, uint32* masks) const {
    const uint32 words = a.common.turns, lane = threadIdx.x % 32;
    const uint64 part = static_cast<uint64>(tile) * kWarps + threadIdx.x / 32;
    const uint64 first = part * words;
    const uint32 count = ck::load(counts_of(a.common) + part);
    const uint64 end = count == 0 ? 0 : a.words;
    masks += threadIdx.x / 32 * words;
#pragma unroll 8
    for (uint32 k = lane; k < words; k += 32) {
      masks[k] = first + k < end ? ck::load(bits_of(a.common) + first + k) : 0;
    }
    return lane == 0 ? count : 0;
  }
};

}  // namespace ck
