// Bits of an x in which another dimension than the last one is contiguous: a column of elements
// lies in memory, and its bits belong to as many rows.
#pragma once

#include "common/division.cuh"
#include "common/memory.cuh"
#include "nonzero/bits.cuh"
#include "nonzero/inputs.cuh"

namespace ck {

/// x (outer, rows, inner), contiguous along the rows. Its bits have rows of their own of `pitch`
/// words. A block has 1, 2, 4 or 8 strips of 32 columns; a lane has the vectors of 8 columns.
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
  uint32 lanes_shift;   ///< the same of the lanes that have neighbouring vectors of a column
};

/// Up to eight lanes read 128 bytes of a column at once, in each of eight columns. The bits of
/// these columns are a byte of the word of each row; four lanes make words.
template <int kWidth, int kRank>
struct ColumnsInput {
  static constexpr uint32 kRows = 16 / kWidth;  // of a vector
  // With more loads in flight registers spill.
  static constexpr uint32 kLoads = kRank > 1 && sizeof(Offset) == 8 ? 4 : 8;
  static constexpr uint32 kRowBits = kWidth < 4 ? 8 * kWidth : 32;  // from row to row in `bytes`
  static constexpr uint32 kPitch = kRows + 1;  // words of a vector: lanes use other banks
  using Arguments = ColumnsArguments<kRank>;
  const Arguments& a;

  /// Returns the bytes of the lane's rows, in four words.
  CK_DEVICE uint4 load(const char* source, uint32 column, bool exists) const {
    Packed<uint4, uint32> bytes = {make_uint4(0, 0, 0, 0)};
#pragma unroll 1
    for (uint32 first = 0; first < 8; first += kLoads) {
      uint4 value[kLoads];
      unrolled<kLoads>([&](uint32 i) {
        const uint32 c = column + first + i;
        const Offset offset = offsets_of(static_cast<Offset>(c), a.inner).value[0];
        value[i] = load_if<true>(exists && c < a.columns, at<uint4>(source, offset));
      });
      unrolled<kLoads>([&](uint32 i) {
        const Packed<uint4, uint32> marks = {marks_of<kWidth>(value[i], a.common.value_bits)};
        unrolled<4>([&](uint32 k) {
          if constexpr (kWidth < 4) {
            bytes.piece[k] |= marks.piece[k] >> (kRowBits - 1 - first - i);
          } else if (k < kRows) {
            bytes.piece[k] |= is_marked<kWidth>(marks.vector, k) ? 1u << (first + i) : 0;
          }
        });
      });
    }
    return bytes.vector;
  }

  CK_DEVICE void leave_bits(char* shared) const {
    const uint32 lanes = a.lanes_shift, strips = a.strips_shift;
    const Division<Offset> across = divide(static_cast<Offset>(blockIdx.x), a.chunks);
    const Division<Offset> along = divide(across.quotient, a.lines);
    const Offset first = along.remainder * ((kThreads / 4 >> strips) * kRows);
    const uint32 strip = static_cast<uint32>(across.remainder) << strips;
    // The threads of a strip of a line of rows: vectors, then bytes of words.
    const uint32 own = threadIdx.x >> (lanes + 2), byte = threadIdx.x >> lanes & 3;
    const uint32 vector = threadIdx.x & ((1 << lanes) - 1);
    const Offset row = first + ((own >> strips << lanes) + vector) * kRows;
    const uint32 column = (strip + (own & ((1 << strips) - 1))) * 32 + byte * 8;
    const char* const plane = at<char>(a.common.x, offsets_of(along.quotient, a.outer).value[0]);
    const Packed<uint4, uint32> bits = {load(at<char>(plane, row * kWidth), column, row < a.rows)};
    char* const mine = shared + ((own << lanes) + vector) * kPitch * 4 + byte;
    unrolled<kRows>([&](uint32 r) {
      mine[4 * r] = static_cast<char>(bits.piece[r * kRowBits / 32] >> r * kRowBits % 32);
    });
    __syncthreads();
    // Words of a row lie next to each other in memory.
    for (uint32 k = threadIdx.x; k < kThreads / 4 * kRows; k += kThreads) {
      const uint32 s = k & ((1 << strips) - 1), r = k >> strips, v = r / kRows;
      const uint32 slot = ((v >> lanes << strips) + s << lanes) + (v & ((1 << lanes) - 1));
      const uint32 word = reinterpret_cast<const uint32*>(shared)[slot * kPitch + r % kRows];
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
