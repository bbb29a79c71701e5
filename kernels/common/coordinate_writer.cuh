// SPDX-License-Identifier: MIT
// From masks to coordinates: a warp turns its bits into places, in order, places into coordinates,
// and writes these as 16-byte vectors.
#pragma once

#include "common/division.cuh"
#include "common/look_back.cuh"
#include "common/memory.cuh"
#include "common/types.cuh"

namespace ck {

constexpr uint32 kChunkWords = 32;               // masks that a warp turns into places at once
constexpr uint32 kStagedPlaces = 32 * kChunkWords;  // that it keeps until it writes them
constexpr uint32 kDensePlaces = 4 * kChunkWords;    // from which on lanes take bits, not words
constexpr uint32 kBufferBytes = 1536 + 16;
constexpr uint32 kAlignedRows = 8;  // of coordinates: they end where a sector does

enum Form : uint32 { kRows, kAxes, kScattered };

/// Coordinates as memory: `columns` of each row, strides in bytes.
struct CoordinateTable {
  int64 capacity;  ///< rows
  int64 row_step;
  int64 axis_step;
  int64 fill_value;
  uint32 columns;
  uint32 form;         ///< kRows: the columns of a row follow each other; kAxes: rows do
  uint32 buffer_rows;  ///< that a warp writes at once, a multiple of kAlignedRows
  uint32 buffer_step;  ///< bytes from one axis to the next there, of kAxes
};

/// A warp's part of the block's shared memory.
struct CoordinateStage {
  uint4 buffer[kBufferBytes / 16];
  uint16 places[kStagedPlaces];
};

/// Writes the coordinates of a warp's elements. `C` is the type of a coordinate, `O` that of the
/// number of an element; `sizes` are those of x, innermost first.
template <typename C, typename O>
class CoordinateWriter {
 public:
  __device__ __forceinline__ CoordinateWriter(void* out, const CoordinateTable& table,
                                              const Divisor<O>* sizes, CoordinateStage& stage)
      : out_(static_cast<char*>(out)),
        table_(table),
        sizes_(sizes),
        stage_(stage),
        lane_(threadIdx.x % 32) {}

  /// Writes rows for the bits set in the first `words` of `masks`, from row `row` on; bit 0 of them
  /// is element `first`.
  __device__ __forceinline__ void write(const uint32* masks, uint32 words, O first, O row) {
    first_ = first;
    row_ = row;
    uint32 pending = 0;
    for (uint32 base = 0;; base += kChunkWords) {
      const uint32 mask = base + lane_ < words ? masks[base + lane_] : 0;
      const uint32 count = static_cast<uint32>(__popc(mask));
      uint32 inclusive = count;
#pragma unroll
      for (int step = 1; step < 32; step *= 2) {
        const uint32 below = __shfl_up_sync(kAllLanes, inclusive, step);
        inclusive += lane_ >= step ? below : 0;
      }
      const uint32 total = __shfl_sync(kAllLanes, inclusive, 31);
      if (base >= words || pending + total > kStagedPlaces) {
        flush(pending);
        pending = 0;
      }
      if (base >= words) {
        return;
      }
      if (total < kDensePlaces) {
        place_bits_of_word(mask, (base + lane_) * 32, pending + inclusive - count);
      } else {
        place_words(masks + base, words - base, base * 32, pending);
      }
      pending += total;
    }
  }

 private:
  /// Few bits: each lane has a word and goes from bit to bit.
  __device__ __forceinline__ void place_bits_of_word(uint32 mask, uint32 element, uint32 at) {
#pragma unroll 1
    for (; mask != 0; mask &= mask - 1) {
      stage_.places[at++] = static_cast<uint16>(element + static_cast<uint32>(__ffs(mask)) - 1);
    }
  }

  /// Many bits: each lane has a bit of word after word.
  __device__ __forceinline__ void place_words(const uint32* masks, uint32 words, uint32 element,
                                              uint32 at) {
    const uint32 below = (1u << lane_) - 1;
#pragma unroll 4
    for (uint32 k = 0; k < kChunkWords; ++k) {
      const uint32 mask = k < words ? masks[k] : 0;
      if ((mask >> lane_ & 1) != 0) {
        stage_.places[at + static_cast<uint32>(__popc(mask & below))] =
            static_cast<uint16>(element + k * 32 + lane_);
      }
      at += static_cast<uint32>(__popc(mask));
    }
  }

  /// Writes the rows of the first `count` places, as far as there is room.
  __device__ __forceinline__ void flush(uint32 count) {
    __syncwarp();
    const int64 room = table_.capacity - static_cast<int64>(row_);
    uint32 done = 0;
    const uint32 end = room >= count ? count : room > 0 ? static_cast<uint32>(room) : 0;
    while (done < end) {
      const uint64 row = static_cast<uint64>(row_) + done;
      uint32 rows = table_.buffer_rows - static_cast<uint32>(row) % kAlignedRows;
      rows = rows < end - done ? rows : end - done;
      char* const target = out_ + static_cast<int64>(row) * table_.row_step;
      if (table_.form == kScattered) {
        scatter(target, done, rows);
      } else {
        const bool packed = table_.form == kRows;
        const uint32 streams = packed ? 1 : table_.columns;
        const uint32 bytes = rows * (packed ? table_.columns : 1) * sizeof(C);
        fill_buffer(target, done, rows);
        __syncwarp();
#pragma unroll 1
        for (uint32 k = 0; k < streams; ++k) {
          copy_out(target + k * table_.axis_step, buffer() + k * table_.buffer_step, bytes);
        }
        __syncwarp();
      }
      done += rows;
    }
    __syncwarp();
    row_ += count;
  }

  __device__ __forceinline__ char* buffer() const {
    return reinterpret_cast<char*>(stage_.buffer);
  }

  /// Calls put(axis, coordinate) for the element at a place.
  template <typename Put>
  __device__ __forceinline__ void decompose(uint32 place, Put put) const {
    O rest = first_ + stage_.places[place];
    uint32 axis = table_.columns - 1;
#pragma unroll 1
    for (uint32 d = 0; axis > 0; ++d, --axis) {
      const Division<O> part = divide(rest, sizes_[d]);
      put(axis, static_cast<C>(part.remainder));
      rest = part.quotient;
    }
    put(0, static_cast<C>(rest));
  }

  /// Puts rows into the buffer, where they have the same phase as at their target.
  __device__ __forceinline__ void fill_buffer(const char* target, uint32 done, uint32 rows) const {
    const bool packed = table_.form == kRows;
    const uint32 row_step = packed ? table_.columns * sizeof(C) : sizeof(C);
    const uint32 axis_step = packed ? sizeof(C) : table_.buffer_step;
    const uint32 phase = static_cast<uint32>(reinterpret_cast<uint64>(target));
    const uint32 change = packed ? 0 : static_cast<uint32>(table_.axis_step);
#pragma unroll 1
    for (uint32 k = lane_; k < rows; k += 32) {
      decompose(done + k, [&](uint32 axis, C coordinate) {
        const uint32 offset = axis * axis_step + (phase + axis * change) % 16;
        *reinterpret_cast<C*>(buffer() + offset + k * row_step) = coordinate;
      });
    }
  }

  /// Copies from the buffer to a target of the same phase: vectors, and what is left at both ends.
  __device__ __forceinline__ void copy_out(char* target, const char* source, uint32 bytes) const {
    const uint32 phase = static_cast<uint32>(reinterpret_cast<uint64>(target)) % 16;
    const uint32 end = phase + bytes;
    target -= phase;
    const uint32 whole = (phase + 15) / 16 * 16;  // where vectors begin ...
    const uint32 rest = end / 16 * 16;            // ... and end
#pragma unroll 4
    for (uint32 k = whole + lane_ * 16; k < rest; k += 32 * 16) {
      store_streaming(reinterpret_cast<uint4*>(target + k),
                      *reinterpret_cast<const uint4*>(source + k));
    }
    constexpr uint32 kOfVector = 16 / sizeof(C);
    const bool head = lane_ < kOfVector;
    const uint32 begin = head ? phase : rest < whole ? whole : rest;
    const uint32 stop = head && whole < end ? whole : end;
    const uint32 k = begin + lane_ % kOfVector * sizeof(C);
    if (lane_ < 2 * kOfVector && k < stop) {
      *reinterpret_cast<C*>(target + k) = *reinterpret_cast<const C*>(source + k);
    }
  }

  /// Writes coordinates one by one.
  __device__ __forceinline__ void scatter(char* target, uint32 done, uint32 rows) const {
#pragma unroll 1
    for (uint32 k = lane_; k < rows; k += 32) {
      decompose(done + k, [&](uint32 axis, C coordinate) {
        *reinterpret_cast<C*>(target + k * table_.row_step + axis * table_.axis_step) = coordinate;
      });
    }
  }

  char* out_;
  const CoordinateTable& table_;
  const Divisor<O>* sizes_;
  CoordinateStage& stage_;
  uint32 lane_;
  O first_;
  O row_;
};

/// Fills the rows from `first` on that are left, each block its share.
template <typename C>
__device__ __forceinline__ void fill_rows(void* out, const CoordinateTable& table, uint64 first) {
  const int64 step = static_cast<int64>(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (uint32 axis = 0; axis < table.columns; ++axis) {
    char* const target = static_cast<char*>(out) + axis * table.axis_step;
    int64 row = static_cast<int64>(first) + blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (; row < table.capacity; row += step) {
      store_streaming(reinterpret_cast<C*>(target + row * table.row_step),
                      static_cast<C>(table.fill_value));
    }
  }
}

}  // namespace ck
