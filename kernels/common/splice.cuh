// Copies rows of 16 bytes and more, on any alignment, into one packed output stream.
//
// It stands in for copy_rows where the 16-byte words of rows and output do not coincide. A block
// takes a tile of the output at a time. It reads the segments of rows in the tile once, coalesced,
// as the aligned words they lie in, into shared memory. There it puts the output's words together.
#pragma once

#include "common/division.cuh"
#include "common/memory.cuh"
#include "common/row_copy.cuh"

namespace ck {

constexpr uint32 kSpliceLoads = 4;  ///< words of a thread in flight

/// Bits of what a block knows of a segment: the byte of its first word where it begins, whether the
/// fill value takes its place, whether all of its words lie in x, and the byte where it ends.
constexpr uint32 kSegmentBegin = 15, kSegmentFilled = 16, kSegmentWhole = 32, kSegmentEnd = 8;

/// How a tile is staged. In StreamShape, pieces are single bytes here.
struct SpliceShape {
  uint64 x_bytes;         ///< from x on, if there is nothing between its rows; else 0
  Divisor<uint32> words;  ///< that a segment takes at most
  uint32 segments;        ///< of a tile at most, rounded up to even
  uint32 tile;            ///< bytes of the output that a block takes at a time
};

/// The arguments of a kernel that splices rows.
template <typename S>
struct SplicedArguments {
  S stream;
  SpliceShape splice;
};

/// Shared memory: what is known of each segment, the place of its first word in x, the stage.
template <typename O>
struct SpliceStage {
  uint32* entry;
  O* source;
  char* words;

  CK_DEVICE SpliceStage(char* shared, const SpliceShape& shape)
      : entry(reinterpret_cast<uint32*>(shared)),
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
  CK_DEVICE uint32 length(uint32 segment, O row) const {
    return (segment + 1 == count ? to : static_cast<uint32>(row)) - (segment == 0 ? from : 0);
  }
};

/// The aligned word of a slot of the stage.
template <typename O>
struct SpliceWord {
  uint32 entry;
  uint32 byte;  ///< of the segment's words
  O source;     ///< its place in x
  bool exists;  ///< else the segment takes less words

  CK_DEVICE SpliceWord(uint32 slot, const SpliceShape& shape, uint32 count,
                       const SpliceStage<O>& stage) {
    const Division<uint32> part = divide(slot, shape.words);
    const uint32 number = part.quotient;
    const uint32 segment = number < count ? number : 0;
    entry = stage.entry[segment];
    byte = part.remainder * 16;
    source = stage.source[segment] + byte;
    exists = (number < count) & (byte < end());
  }
  CK_DEVICE uint32 begin() const { return entry & kSegmentBegin; }
  CK_DEVICE uint32 end() const { return entry >> kSegmentEnd; }
  CK_DEVICE bool is_filled() const { return (entry & kSegmentFilled) != 0; }

  /// Whether all of it is x's.
  CK_DEVICE bool is_whole() const {
    return ((entry & kSegmentWhole) != 0) | ((byte >= begin()) & (byte + 16 <= end()));
  }

  /// Copies the segment's bytes, piece after piece.
  template <typename T>
  CK_DEVICE void copy_pieces(const void* x, uint4* target) const {
    const uint32 last = end() - byte < 16 ? end() - byte : 16;
#pragma unroll 1
    for (uint32 k = byte == 0 ? begin() : 0; k < last; k += sizeof(T)) {
      *at<T>(target, uint64{k}) = load(at<T>(x, source + k));
    }
  }
};

/// Reads the words of the segments, kSpliceLoads of a thread at once.
template <typename T, typename Rows, typename O>
CK_DEVICE void stage_words(const Rows& rows, const SpliceShape& shape, uint32 count,
                           const SpliceStage<O>& stage) {
  const uint32 slots = count * shape.words.value;
  uint4* const words = reinterpret_cast<uint4*>(stage.words);
#pragma unroll 1
  for (uint32 turn = threadIdx.x; turn < slots; turn += kThreads * kSpliceLoads) {
    uint4 value[kSpliceLoads];
    bool put[kSpliceLoads];
    bool parts = false;
    unrolled<kSpliceLoads>([&](uint32 k) {
      const SpliceWord<O> word(turn + k * kThreads, shape, count, stage);
      const bool fills = Rows::kFills & word.is_filled();
      put[k] = word.exists & (word.is_whole() | fills);
      parts |= word.exists & !put[k];
      value[k] = load_if<false>(put[k] & !fills, at<uint4>(rows.x(), word.source),
                                fill_piece<uint4>(rows.fill(), 0));
    });
    unrolled<kSpliceLoads>([&](uint32 k) {
      if (put[k]) words[turn + k * kThreads] = value[k];
    });
    if (parts) {
#pragma unroll 1
      for (uint32 slot = turn; slot < turn + kSpliceLoads * kThreads; slot += kThreads) {
        const SpliceWord<O> word(slot, shape, count, stage);
        if (word.exists & !(Rows::kFills & word.is_filled()) & !word.is_whole()) {
          word.template copy_pieces<T>(rows.x(), words + slot);
        }
      }
    }
  }
}

template <typename T, typename Rows, typename O>
CK_DEVICE void stage_segments(const Rows& rows, const StreamShape<O>& shape,
                              const SpliceShape& splice, const Segments<O>& segments,
                              const SpliceStage<O>& stage) {
  for (uint32 i = threadIdx.x; i < segments.count; i += kThreads) {
    const Position<O> row = rows.locate(segments.first_row + i);
    const uint32 from = i == 0 ? segments.from : 0;
    const O first = row.value + from;
    const bool fills = Rows::kFills && !row.valid;
    const uint32 low =
        (fills ? from : static_cast<uint32>(reinterpret_cast<uint64>(at<char>(rows.x(), first)))) &
        15;
    const uint32 end = low + segments.length(i, shape.row.value);
    const int64 place = signed_offset(first - low);
    const bool whole =
        place >= 0 && static_cast<uint64>(place) + (end + 15) / 16 * 16 <= splice.x_bytes;
    stage.entry[i] =
        end << kSegmentEnd | (whole ? kSegmentWhole : 0) | (fills ? kSegmentFilled : 0) | low;
    stage.source[i] = first - low;
  }
  __syncthreads();
  stage_words<T>(rows, splice, segments.count, stage);
}

/// Walks along the staged bytes of the output, from row to row.
template <typename T, typename O>
struct SpliceCursor {
  const SpliceStage<O>& stage;
  uint32 pitch;  ///< bytes of the stage that a segment has
  O row;
  uint32 segment;
  O left;          ///< bytes to the end of the row
  const char* at;  ///< the next piece

  CK_DEVICE SpliceCursor(const SpliceStage<O>& stage, const Segments<O>& segments,
                         const Divisor<O>& row, uint32 words, O byte)
      : stage(stage), pitch(words * 16), row(row.value) {
    const Division<O> place = divide(byte, row);
    segment = static_cast<uint32>(place.quotient - segments.first_row);
    left = row.value - place.remainder;
    at = address(segment) +
         (static_cast<uint32>(place.remainder) - (segment == 0 ? segments.from : 0));
  }
  CK_DEVICE const char* address(uint32 index) const {
    return stage.words + (index * pitch + (stage.entry[index] & kSegmentBegin));
  }
  CK_DEVICE T piece() const { return *reinterpret_cast<const T*>(at); }
  CK_DEVICE void advance() {
    at += sizeof(T);
    left -= static_cast<O>(sizeof(T));
    if (left == 0) {
      left = row;
      at = address(++segment);
    }
  }
};

template <typename T, typename Rows, typename O>
CK_DEVICE void splice_rows(Rows& rows, void* out, const StreamShape<O>& shape,
                           const SpliceShape& splice, char* shared) {
  constexpr int kPieces = Packed<uint4, T>::kPieces;
  const SpliceStage<O> stage(shared, splice);
  const O end = shape.pieces + shape.lead;
  const O step = static_cast<O>(gridDim.x) * splice.tile;
  for (O begin = static_cast<O>(blockIdx.x) * splice.tile; begin < end; begin += step) {
    const O limit = end - begin < splice.tile ? end : begin + splice.tile;
    const O first = begin < shape.lead ? O{0} : begin - shape.lead;
    const Division<O> start = divide(first, shape.row);
    const Division<O> last = divide(limit - shape.lead - 1, shape.row);
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
      SpliceCursor<T, O> cursor(stage, segments, shape.row, splice.words.value, from - shape.lead);
      char* const target = static_cast<char*>(out) + signed_offset(from - shape.lead);
      if (whole) {
        Packed<uint4, T> word;
        unrolled<kPieces>([&](int k) {
          word.piece[k] = cursor.piece();
          if (k + 1 < kPieces) cursor.advance();
        });
        store_streaming(reinterpret_cast<uint4*>(target), word.vector);
      } else {
        const O to = at_byte + 16 < limit ? at_byte + 16 : limit;
#pragma unroll 1
        for (O k = from; k < to; k += static_cast<O>(sizeof(T))) {
          reinterpret_cast<T*>(target)[(k - from) / sizeof(T)] = cursor.piece();
          if (k + sizeof(T) < to) cursor.advance();
        }
      }
    }
    __syncthreads();  // the next tile takes the same stage
  }
}

}  // namespace ck
