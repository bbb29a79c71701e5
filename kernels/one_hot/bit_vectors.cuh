// Arrays of two values, written from one bit per element: 16-byte vectors are put together in
// registers, with neither a branch nor a lookup.
#pragma once

#include "common/memory.cuh"

namespace ck {

/// Off and on, each repeated to 16 bytes; or where they are, on `on_offset` bytes behind off.
template <typename O>
struct TwoValues {
  FillPattern off;
  FillPattern on;
  O on_offset;
  O in_memory;  ///< 1: read them
};

/// Off, and the bits in which on differs.
struct Palette {
  uint4 off;
  uint4 change;
};

/// Brings the values to 32 bytes of shared memory, for `palette_of` behind a barrier. Two threads
/// read them: otherwise every warp would move a sector. Elements of 16 bytes may lie on 8.
template <typename T, typename O>
CK_DEVICE void stage_values(const TwoValues<O>& pair, const void* memory, uint4* stage) {
  using Piece = Bytes<sizeof(T) < 8 ? sizeof(T) : 8>;
  constexpr int kOfElement = sizeof(T) / sizeof(Piece);
  if (threadIdx.x < 2) {
    const bool on = threadIdx.x == 1;
    Packed<uint4, Piece> pattern;
    pattern.vector = fill_piece<uint4>(on ? pair.on : pair.off, 0);
    if (pair.in_memory != 0) {
      const Piece* const value = at<Piece>(memory, on ? pair.on_offset : O{0});
#pragma unroll
      for (int k = 0; k < pattern.kPieces; ++k) {
        pattern.piece[k] = k < kOfElement ? load(value + k) : pattern.piece[k % kOfElement];
      }
    }
    stage[threadIdx.x] = pattern.vector;
  }
}

CK_DEVICE Palette palette_of(const uint4* stage) {
  const uint4 off = stage[0], on = stage[1];
  return {off, make_uint4(off.x ^ on.x, off.y ^ on.y, off.z ^ on.z, off.w ^ on.w)};
}

/// All ones in the bytes of a vector's `word` whose elements have their bit set.
template <int kWidth>
CK_DEVICE uint32 spread(uint32 bits, int word) {
  if constexpr (kWidth == 1) {
    return (((bits >> (4 * word) & 0xF) * 0x00204081) & 0x01010101) * 0xFF;
  } else if constexpr (kWidth == 2) {
    return (((bits >> (2 * word) & 3) * 0x8001) & 0x00010001) * 0xFFFF;
  } else {
    return 0 - (bits >> (word * 4 / kWidth) & 1);
  }
}

template <int kWidth>
CK_DEVICE uint4 paint(const Palette& palette, uint32 bits) {
  return make_uint4(palette.off.x ^ (palette.change.x & spread<kWidth>(bits, 0)),
                    palette.off.y ^ (palette.change.y & spread<kWidth>(bits, 1)),
                    palette.off.z ^ (palette.change.z & spread<kWidth>(bits, 2)),
                    palette.off.w ^ (palette.change.w & spread<kWidth>(bits, 3)));
}

/// The elements [from, to) of a run. `target` and `bits` belong to element 0, which lies on a
/// 16-byte boundary, maybe before the array.
template <typename T>
struct BitRun {
  static constexpr uint32 kPieces = 16 / sizeof(T);
  T* target;
  const uint32* bits;
  uint32 from;
  uint32 to;

  CK_DEVICE uint32 bits_from(uint32 element) const { return bits[element / 32] >> (element % 32); }

  /// Writes the vector that begins with an element, if all of it belongs to the run.
  CK_DEVICE void write_vector(uint32 first, const Palette& palette) const {
    if (first >= from && first + kPieces <= to) {
      store_streaming(reinterpret_cast<uint4*>(target + first),
                      paint<sizeof(T)>(palette, bits_from(first)));
    }
  }

  /// Writes what is left at both ends, each thread of the first warp one element.
  CK_DEVICE void write_ends(const Palette& palette) const {
    const uint32 whole = (from + kPieces - 1) / kPieces * kPieces;  // where vectors begin ...
    const uint32 rest = to / kPieces * kPieces;                     // ... and end
    const bool first = threadIdx.x < kPieces;
    const uint32 begin = first ? from : rest < whole ? whole : rest;
    const uint32 end = first && whole < to ? whole : to;
    const uint32 element = begin + threadIdx.x % kPieces;
    if (threadIdx.x < 2 * kPieces && element < end) {
      Packed<uint4, T> value;
      value.vector = paint<sizeof(T)>(palette, bits_from(element) & 1);
      target[element] = value.piece[0];
    }
  }
};

/// Clears 128 bits for each of `vectors`.
CK_DEVICE void clear_bits(uint32* bits, uint32 vectors) {
  for (uint32 k = threadIdx.x; k < vectors; k += kThreads) {
    reinterpret_cast<uint4*>(bits)[k] = make_uint4(0, 0, 0, 0);
  }
}

CK_DEVICE void set_bit(uint32* bits, uint32 bit) { atomicOr(bits + bit / 32, 1u << (bit % 32)); }

}  // namespace ck
