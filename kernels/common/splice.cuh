// SPDX-License-Identifier: MIT
// Copies rows of 16 bytes and more, on any alignment, into one packed output stream.
//
// The counterpart of copy_rows for rows whose 16-byte words are not those of the output. A block
// takes a tile of the output at a time: the segments of rows in it are read once, coalesced, as the
// aligned words they lie in, into shared memory; the output's words are put together from there.
#pragma once

#include "common/division.cuh"
#include "common/launch.cuh"
#include "common/memory.cuh"
#include "common/row_copy.cuh"
#include "common/types.cuh"

namespace ck {

constexpr uint32 kSpliceTile = 8192;  ///< bytes of the output; operators/splice.py knows it too
constexpr uint32 kFilledSegment = 0x80000000;

/// How a tile is staged. In StreamShape, pieces are single bytes here.
struct SpliceShape {
  uint64 x_bytes;         ///< from x on, if there is nothing between its rows; else 0
  Divisor<uint32> words;  ///< that a segment takes at most
  uint32 segments;        ///< of a tile at most, rounded up to even
  uint32 unused;
};

/// Shared memory: where each segment starts in the stage, where its first word lies in x, the
/// stage.
template <typename O>
struct SpliceStage {
  uint32* start;
  O* source;
  char* words;

  __device__ __forceinline__ SpliceStage(char* shared, const SpliceShape& shape)
      : start(reinterpret_cast<uint32*>(shared)),
        source(reinterpret_cast<O*>(shared + shape.segments * sizeof(uint32))),
        words(shared + (shape.segments * (sizeof(uint32) + sizeof(O)) + 15) / 16 * 16) {}
};

/// The part of a tile's rows that lies in the tile.
template <typename O>
struct Segments {
  O first_row;
  uint32 count;
  uint32 from;  ///< first byte of the first segment in its row
  uint32 to;    ///< one past the last byte of the last segment in its row

  /// The bytes of a segment; rows longer than the tile have 32-bit segments all the same.
  __device__ __forceinline__ uint32 length(uint32 segment, O row) const {
    return (segment + 1 == count ? to : static_cast<uint32>(row)) - (segment == 0 ? from : 0);
  }
};

/// One aligned word of a segment that takes bytes [low, low + length) of its words. `offset` is the
/// word's place in x, `at_byte` its place in the segment's words.
template <typename T, typename O>
__device__ __forceinline__ uint4 read_word(const void* x, const SpliceShape& shape, O offset,
                                           uint32 at_byte, uint32 low, uint32 length) {
  const int64 place = signed_offset(offset);
  const bool inside = at_byte >= low && at_byte + 16 <= low + length;
  if (inside || (place >= 0 && static_cast<uint64>(place) + 16 <= shape.x_bytes)) {
    return load(at<uint4>(x, offset));
  }
  Packed<uint4, T> word;  // what lies around the row is not x's
  word.vector = make_uint4(0, 0, 0, 0);
#pragma unroll
  for (int k = 0; k < Packed<uint4, T>::kPieces; ++k) {
    const uint32 byte = at_byte + static_cast<uint32>(k * sizeof(T));
    if (byte >= low && byte < low + length) {
      word.piece[k] = load(at<T>(x, static_cast<O>(offset + static_cast<O>(k * sizeof(T)))));
    }
  }
  return word.vector;
}

template <typename T, typename Rows, typename O>
__device__ __forceinline__ void stage_segments(const Rows& rows, const StreamShape<O>& shape,
                                               const SpliceShape& splice,
                                               const Segments<O>& segments,
                                               const SpliceStage<O>& stage) {
  for (uint32 i = threadIdx.x; i < segments.count; i += kThreads) {
    const Position<O> row = rows.locate(static_cast<O>(segments.first_row + i));
    const uint32 from = i == 0 ? segments.from : 0;
    const O first = static_cast<O>(row.value + from);
    const bool fills = Rows::kFills && !row.valid;
    const uint32 low =
        (fills ? from : static_cast<uint32>(reinterpret_cast<uint64>(at<char>(rows.x(), first)))) &
        15;
    stage.start[i] = (i * splice.words.value * 16 + low) | (fills ? kFilledSegment : 0);
    stage.source[i] = static_cast<O>(first - low);
  }
  __syncthreads();
  const uint32 slots = segments.count * splice.words.value;
#pragma unroll 2
  for (uint32 slot = threadIdx.x; slot < slots; slot += kThreads) {
    const Division<uint32> part = divide(slot, splice.words);
    const uint32 start = stage.start[part.quotient];
    const uint32 length = segments.length(part.quotient, shape.row.value);
    const uint32 byte = part.remainder * 16;
    if (byte < (start & 15) + length) {
      reinterpret_cast<uint4*>(stage.words)[slot] =
          (start & kFilledSegment) != 0
              ? fill_piece<uint4>(rows.fill(), 0)
              : read_word<T>(rows.x(), splice,
                             static_cast<O>(stage.source[part.quotient] + static_cast<O>(byte)),
                             byte, start & 15, length);
    }
  }
}

/// Walks along the staged bytes of the output, from row to row.
template <typename T, typename O>
struct SpliceCursor {
  const SpliceStage<O>& stage;
  O row;
  uint32 segment;
  O left;          ///< bytes to the end of the row
  const char* at;  ///< the next piece

  __device__ __forceinline__ SpliceCursor(const SpliceStage<O>& stage, const Segments<O>& segments,
                                          const Divisor<O>& row, O byte)
      : stage(stage), row(row.value) {
    const Division<O> place = divide(byte, row);
    segment = static_cast<uint32>(place.quotient - segments.first_row);
    left = static_cast<O>(row.value - place.remainder);
    at = address(segment) +
         (static_cast<uint32>(place.remainder) - (segment == 0 ? segments.from : 0));
  }
  __device__ __forceinline__ const char* address(uint32 index) const {
    return stage.words + (stage.start[index] & ~kFilledSegment);
  }
  __device__ __forceinline__ T piece() const { return *reinterpret_cast<const T*>(at); }
  __device__ __forceinline__ void advance() {
    at += sizeof(T);
    left -= static_cast<O>(sizeof(T));
    if (left == 0) {
      left = row;
      at = address(++segment);
    }
  }
};

template <typename T, typename Rows, typename O>
__device__ __forceinline__ void splice_rows(Rows& rows, void* out, const StreamShape<O>& shape,
                                            const SpliceShape& splice, char* shared) {
  constexpr int kPieces = Packed<uint4, T>::kPieces;
  const SpliceStage<O> stage(shared, splice);
  const O end = shape.pieces + shape.lead;
  const O step = static_cast<O>(gridDim.x) * kSpliceTile;
  for (O begin = static_cast<O>(blockIdx.x) * kSpliceTile; begin < end; begin += step) {
    const O limit = end - begin < kSpliceTile ? end : static_cast<O>(begin + kSpliceTile);
    const O first = begin < shape.lead ? O{0} : static_cast<O>(begin - shape.lead);
    const Division<O> start = divide(first, shape.row);
    const Division<O> last = divide(static_cast<O>(limit - shape.lead - 1), shape.row);
    const Segments<O> segments = {
        start.quotient, static_cast<uint32>(last.quotient - start.quotient) + 1,
        static_cast<uint32>(start.remainder), static_cast<uint32>(last.remainder) + 1};
    if constexpr (Rows::kStaged) {
      rows.stage(segments.first_row, segments.count);
    }
    stage_segments<T>(rows, shape, splice, segments, stage);
    __syncthreads();
    for (O at_byte = begin + threadIdx.x * 16; at_byte < limit; at_byte += kThreads * 16) {
      const bool whole = at_byte >= shape.lead && at_byte + 16 <= limit;
      const O from = at_byte < shape.lead ? shape.lead : at_byte;
      SpliceCursor<T, O> cursor(stage, segments, shape.row, static_cast<O>(from - shape.lead));
      char* const target =
          static_cast<char*>(out) + signed_offset(static_cast<O>(from - shape.lead));
      if (whole) {
        Packed<uint4, T> word;
#pragma unroll
        for (int k = 0; k < kPieces; ++k) {
          word.piece[k] = cursor.piece();
          if (k + 1 < kPieces) {
            cursor.advance();
          }
        }
        store_streaming(reinterpret_cast<uint4*>(target), word.vector);
      } else {
        const O to = at_byte + 16 < limit ? static_cast<O>(at_byte + 16) : limit;
#pragma unroll 1
        for (O k = from; k < to; k += static_cast<O>(sizeof(T))) {
          reinterpret_cast<T*>(target)[(k - from) / sizeof(T)] = cursor.piece();
          if (k + sizeof(T) < to) {
            cursor.advance();
          }
        }
      }
    }
    __syncthreads();  // the next tile takes the same stage
  }
}

}  // namespace ck
