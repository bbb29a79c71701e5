// Bits of an x in which another dimension than the last one is contiguous: a column of elements
// lies in memory, and its bits belong to as many rows.
#pragma once

#include "common/division.cuh"
#include "common/memory.cuh"
#include "nonzero/bits.cuh"
#include "nonzero/inputs.cuh"

namespace ck {

/// x (outer, rows, inner), contiguous along the rows. Its bits have rows of their own of `pitch`
/// words. A block has strips of 32 columns, 1, 2, 4 or 8, and 8, 4, 2 or 1 lines of rows.
template <int kRank>
struct ColumnsArguments {
  NonzeroArguments common;
  Dimension<Offset, 1> outer[4];
  Dimension<Offset, 1> inner[kRank];
  Divisor<Offset> lines;   ///< of a plane, in blocks
  Divisor<Offset> chunks;  ///< of a row, in blocks
  Offset rows;
  Offset pitch;
  uint32 columns;
  uint32 strips_shift;  ///< how often a block has twice as many strips
  uint32 words_shift;   ///< the same of the words of a part
  uint32 unused;
};

/// A warp reads 32 columns of a line: 128 bytes of each, where eight lanes have a vector of some
/// rows each. A lane goes through eight columns; their bits are a byte of the word of each row.
template <int kWidth, int kRank>
struct ColumnsInput {
  static constexpr uint32 kRows = 16 / kWidth, kLine = 8 * kRows;   // of a lane, of a warp
  static constexpr uint32 kRowBits = kWidth < 4 ? 8 * kWidth : 32;  // from row to row in `bytes`
  static constexpr uint32 kPitch = 8 * (kRows + 1) + 1;  // words of a warp; lanes use other banks
  using Arguments = ColumnsArguments<kRank>;
  const Arguments& a;

  /// Returns the bytes of the lane's rows, in four words.
  CK_DEVICE uint4 load(const char* source, uint32 column, bool exists) const {
    uint4 value[8];
    unrolled<8>([&](uint32 i) {
      const Offset offset = offsets_of(static_cast<Offset>(column + i), a.inner).value[0];
      value[i] = load_if<true>(exists && column + i < a.columns, at<uint4>(source, offset));
    });
    Packed<uint4, uint32> bytes = {make_uint4(0, 0, 0, 0)};
    unrolled<8>([&](uint32 i) {
      Packed<uint4, uint32> marks = {marks_of<kWidth>(value[i], a.common.value_bits)};
      unrolled<4>([&](uint32 k) {
        if constexpr (kWidth < 4) {
          bytes.piece[k] |= marks.piece[k] >> (kRowBits - 1 - i);
        } else if (k < kRows) {
          bytes.piece[k] |= is_marked<kWidth>(marks.vector, k) ? 1u << i : 0;
        }
      });
    });
    return bytes.vector;
  }

  CK_DEVICE void leave_bits(char* shared) const {
    const uint32 warp = threadIdx.x / 32, part = threadIdx.x % 8, quarter = threadIdx.x % 32 / 8;
    const uint32 shift = a.strips_shift, strips = (1 << shift) - 1;
    const Division<Offset> across = divide(static_cast<Offset>(blockIdx.x), a.chunks);
    const Division<Offset> along = divide(across.quotient, a.lines);
    const Offset first = along.remainder * ((kWarps >> shift) * kLine);
    const uint32 strip = static_cast<uint32>(across.remainder) << shift;
    const Offset row = first + (warp >> shift) * kLine + part * kRows;
    const char* const plane = at<char>(a.common.x, offsets_of(along.quotient, a.outer).value[0]);
    const Packed<uint4, uint32> bytes = {load(
        at<char>(plane, row * kWidth), (strip + (warp & strips)) * 32 + quarter * 8, row < a.rows)};
    char* const mine = shared + (warp * kPitch + part * (kRows + 1)) * 4 + quarter;
    unrolled<kRows>([&](uint32 r) {
      mine[4 * r] = static_cast<char>(bytes.piece[r * kRowBits / 32] >> r * kRowBits % 32);
    });
    __syncthreads();
    // Words of a row lie next to each other in memory.
    for (uint32 k = threadIdx.x; k < kWarps * kLine; k += kThreads) {
      const uint32 s = k & strips, r = k >> shift;
      const uint32 place = r % kLine / kRows * (kRows + 1) + r % kRows;
      const uint32 word =
          reinterpret_cast<const uint32*>(shared)[((r / kLine << shift) + s) * kPitch + place];
      const bool exists = first + r < a.rows;
      const Offset number = (along.quotient * a.rows + first + r) * a.pitch + strip + s;
      if (exists) bits_of(a.common)[number] = word;
      count(number >> a.words_shift, exists ? static_cast<uint32>(__popc(word)) : 0);
    }
  }

 private:
  /// Adds to the counts of parts, zeros before; the lanes of a row have the same, or even all.
  CK_DEVICE void count(Offset part, uint32 bits) const {
    uint32 others = (1 << a.strips_shift) - 1;
    if (others < 7 && __all_sync(kAllLanes, part == __shfl_sync(kAllLanes, part, 0))) others = 31;
    for (uint32 step = 1; step <= others; step *= 2) {
      bits += __shfl_xor_sync(kAllLanes, bits, step);
    }
    if ((threadIdx.x & others) == 0 && bits != 0) {
      atomicAdd(a.common.scratch + part / 2, bits << (part % 2 * 16));
    }
  }
};

}  // namespace ck
