// From masks to coordinates: a warp turns its bits into places, in order, places into coordinates,
// and writes these as 16-byte vectors.
#pragma once

#include "common/division.cuh"
#include "common/memory.cuh"
#include "nonzero/look_back.cuh"

namespace ck {

using Coordinate = CK_COORDINATE_T;
using Offset = CK_OFFSET_T;

constexpr int kReaders = kThreads / 64 * 64;  // threads that work on tiles: all but the scout's
constexpr uint32 kWarps = kReaders / 32;
constexpr uint32 kChunkWords = 32;                  // masks that a warp turns into places at once
constexpr uint32 kStagedPlaces = CK_STAGED_PLACES;  // that it keeps until it writes them
constexpr uint32 kDensePlaces = 8 * kChunkWords;    // from which on lanes take bits, not words
constexpr uint32 kBankBytes = 128;                  // of rows, after which a gap may be left
constexpr uint32 kBufferBytes =
    CK_BUFFER_BYTES + 16 + CK_BUFFER_BYTES / kBankBytes * 8;  // for rows, their phase, gaps
constexpr uint32 kAlignedRows = CK_ALIGNED_ROWS;  // of coordinates: they end where a sector does

enum Form : uint32 { kRows, kAxes, kScattered };

/// From the place of a bit in a tile to the number of its element. If there are gaps, the last bits
/// of each row of bits are no elements.
struct Elements {
  Offset first;  ///< bit of the tile
  const Divisor<Offset>* row;
  Offset gap;

  CK_DEVICE Offset operator()(uint32 place) const {
    const Offset bit = first + place;
    return gap == 0 ? bit : bit - quotient(bit, *row) * gap;
  }
};

/// Coordinates as memory: those of the last `axes` in each row, strides in bytes.
struct CoordinateTable {
  int64 capacity;  ///< rows
  int64 row_step;
  int64 axis_step;
  int64 fill_value;
  uint32 axes;
  uint32 form;         ///< kRows: the coordinates of a row follow each other; kAxes: rows do
  uint32 buffer_rows;  ///< that a warp writes at once, a multiple of kAlignedRows
  uint32 buffer_step;  ///< bytes from one axis to the next there, of kAxes
};

/// Shared memory of a block's writer: for each warp a buffer of rows, and places of elements in the
/// tile.
struct CoordinateStage {
  uint4 buffers[kWarps][kBufferBytes / 16];
  uint16 places[kWarps][kStagedPlaces];
};

/// Writes the coordinates of a tile's elements. `sizes` are those of x, innermost first.
class CoordinateWriter {
 public:
  /// What a warp has to know of a tile.
  struct Tile {
    const uint32* masks;  ///< those of the warp's part
    uint32 total;         ///< rows of the tile; 0 if there is no tile
    uint32 before;        ///< rows of the tile in front of the warp's part
    Offset row;           ///< number of the tile's first row; of the next tile not known yet
  };

  CK_DEVICE CoordinateWriter(void* out, const CoordinateTable& table, const Divisor<Offset>* sizes,
                             CoordinateStage& stage)
      : out_(static_cast<char*>(out)),
        table_(table),
        sizes_(sizes),
        places_(stage.places[0]),
        buffer_(reinterpret_cast<char*>(stage.buffers[threadIdx.x / 32])),
        lane_(threadIdx.x % 32),
        gap_(gap_of(table)) {}

  /// Writes the rows of a tile, and puts down the places of the next tile, if there is one.
  ///
  /// If all places of a tile fit into shared memory, its warps share them out anew, so that fewer
  /// runs of rows begin and end. Places are put down one turn ahead, and written when all warps
  /// know where. Otherwise each warp puts down its own places and writes them whenever its part of
  /// shared memory is full. A warp has `words` masks.
  CK_DEVICE void write_and_place(const Tile& tile, const Tile& next, uint32 words,
                                 const Elements& element_of) const {
    const uint32 warp = threadIdx.x / 32;
    Run run = {places_ + warp * kStagedPlaces, 0, tile.row + tile.before};
    uint32 room = kStagedPlaces, word = 0;
    const uint32* masks = tile.masks;
    if (tile.total <= kPlaces) {
      word = words;
      if (tile.total != 0) run = share_of(tile.row, tile.total, warp);
    }
    for (;;) {
      if (run.count != 0) {
        write_rows(run, element_of);
        __syncwarp();  // all lanes have read the places that others follow on
      }
      const bool ends = word >= words;
      if (ends) {
        if (next.total == 0 || next.total > kPlaces) return;
        if (tile.total != 0) sync_first_threads<32 * kWarps>();
        masks = next.masks;
        word = 0;
        run.places = places_ + next.before;
        room = kPlaces;
      }
      run.row += run.count;
      run.count = 0;
      for (; word < words; word += kChunkWords) {
        const Chunk chunk = chunk_of(masks + word, words - word);
        if (run.count + chunk.total > room) break;
        put_places(chunk, (warp * words + word) * 32, run.places + run.count);
        run.count += chunk.total;
      }
      if (ends) return;
      __syncwarp();
    }
  }

 private:
  static constexpr uint32 kPlaces = kWarps * kStagedPlaces;  // that there is room for

  /// Consecutive rows, and the places of their elements.
  struct Run {
    uint16* places;
    uint32 count;
    Offset row;
  };

  /// Masks, one for each lane: the set bits before the lane's mask, and of all masks.
  struct Chunk {
    uint32 mask;
    uint32 before;
    uint32 total;
  };

  CK_DEVICE Chunk chunk_of(const uint32* masks, uint32 words) const {
    const uint32 mask = lane_ < words ? masks[lane_] : 0;
    if (__all_sync(kAllLanes, mask == 0)) return {0, 0, 0};
    const uint32 count = static_cast<uint32>(__popc(mask));
    uint32 inclusive = count;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const uint32 below = __shfl_up_sync(kAllLanes, inclusive, step);
      inclusive += lane_ >= step ? below : 0;
    }
    return {mask, inclusive - count, __shfl_sync(kAllLanes, inclusive, 31)};
  }

  CK_DEVICE void put_places(const Chunk& chunk, uint32 place, uint16* places) const {
    if (chunk.total < kDensePlaces) {
      place_bits_of_word(chunk.mask, place + lane_ * 32, places + chunk.before);
    } else {
      place_words(chunk, place, places);
    }
  }

  /// A warp's share of the tile's rows, from sector to sector.
  CK_DEVICE Run share_of(Offset row, uint32 total, uint32 warp) const {
    const uint32 phase = static_cast<uint32>(row) % kAlignedRows;
    const uint32 rows =
        ((total + phase + kWarps - 1) / kWarps + kAlignedRows - 1) / kAlignedRows * kAlignedRows;
    const uint32 begin = warp == 0 ? 0 : warp * rows - phase;
    const uint32 end = (warp + 1) * rows - phase < total ? (warp + 1) * rows - phase : total;
    return {places_ + begin, begin < end ? end - begin : 0, row + begin};
  }

  /// Few bits: each lane has a word and goes from bit to bit.
  CK_DEVICE void place_bits_of_word(uint32 mask, uint32 element, uint16* places) const {
#pragma unroll 1
    for (; mask != 0; mask &= mask - 1) {
      *places++ = static_cast<uint16>(element + static_cast<uint32>(__ffs(mask)) - 1);
    }
  }

  /// Many bits: eight lanes share a word, each goes through four bits of it. Half of the lanes
  /// begin with the last one: if all bits are set, no two lanes meet in a bank.
  CK_DEVICE void place_words(const Chunk& chunk, uint32 element, uint16* places) const {
    constexpr uint32 kBits = 4, kLanes = 32 / kBits;  // of a lane; of a word
    const uint32 lane = read_lane();
    const bool back = lane >= 16;
    const int32 step = back ? -1 : 1;
    const uint32 shift = lane % kLanes * kBits, from = back ? 32 - kBits - shift : shift;
    const uint32 lower = ((back ? 1u << kBits : 1u) << shift) - 1;
    element += lane * kBits + (back ? kBits - 1 : 0);
    places -= back ? 1 : 0;
#pragma unroll 4
    for (uint32 k = 0; k < kChunkWords; k += kBits) {
      const uint32 word = k + lane / kLanes;
      const uint32 mask = __shfl_sync(kAllLanes, chunk.mask, word);
      const uint32 before = __shfl_sync(kAllLanes, chunk.before, word);
      const uint32 bits = (back ? __brev(mask) : mask) >> from;
      uint16* next = places + before + __popc(mask & lower);
#pragma unroll
      for (uint32 bit = 0; bit < kBits; ++bit) {
        if ((bits & 1 << bit) != 0) {
          *next = static_cast<uint16>(element + k * 32 + bit * step);
          next += step;
        }
      }
    }
  }

  /// Writes the rows of a run, as far as there is room.
  CK_DEVICE void write_rows(const Run& run, const Elements& element_of) const {
    const int64 room = table_.capacity - static_cast<int64>(run.row);
    const uint32 end = room >= run.count ? run.count : room > 0 ? static_cast<uint32>(room) : 0;
    char* const first = out_ + static_cast<int64>(run.row) * table_.row_step;
    if (table_.axes == 1 && table_.form != kScattered) {
      write_vectors<1>(first, run.places, end, element_of);
      return;
    }
    constexpr uint32 kRowBytes = 2 * sizeof(Coordinate);
    if (table_.axes == 2 && table_.form == kRows &&
        reinterpret_cast<uint64>(first) % kRowBytes == 0) {
      write_vectors<2>(first, run.places, end, element_of);
      return;
    }
    uint32 rows;
    for (uint32 done = 0; done < end; done += rows) {
      const uint64 row = static_cast<uint64>(run.row) + done;
      rows = table_.buffer_rows - static_cast<uint32>(row) % kAlignedRows;
      rows = rows < end - done ? rows : end - done;
      char* const target = out_ + static_cast<int64>(row) * table_.row_step;
      if (table_.form == kScattered) {
        scatter(target, run.places + done, rows, element_of);
      } else {
        const bool packed = table_.form == kRows;
        const uint32 streams = packed ? 1 : table_.axes;
        const uint32 bytes = rows * (packed ? table_.axes : 1) * sizeof(Coordinate);
        fill_buffer(target, run.places + done, rows, element_of);
        __syncwarp();
#pragma unroll 1
        for (uint32 k = 0; k < streams; ++k) {
          copy_out(target + k * table_.axis_step, buffer_ + k * table_.buffer_step, bytes);
        }
        __syncwarp();
      }
    }
  }

  /// Calls put(axis, coordinate) for an element.
  template <typename Put>
  CK_DEVICE void decompose(Offset element, Put put) const {
    Offset rest = element;
    uint32 axis = table_.axes - 1;
#pragma unroll 1
    for (uint32 d = 0; axis > 0; ++d, --axis) {
      const Division<Offset> part = divide(rest, sizes_[d]);
      put(axis, static_cast<Coordinate>(part.remainder));
      rest = part.quotient;
    }
    put(0, static_cast<Coordinate>(rest));
  }

  /// In rows of 2, 4 or 8 coordinates, the coordinates of an axis would lie in few banks. A gap of
  /// one coordinate behind every 128 bytes spreads them over all banks.
  CK_DEVICE static uint32 gap_of(const CoordinateTable& table) {
    const bool few = table.axes % 2 == 0 && (table.axes & (table.axes - 1)) == 0;
    return table.form == kRows && few ? sizeof(Coordinate) : 0;
  }

  /// The gaps in front of so many bytes of rows.
  CK_DEVICE uint32 gaps(uint32 bytes) const { return bytes / kBankBytes * gap_; }

  /// A few rows, all of whose coordinates are in registers.
  template <uint32 kColumns, uint32 kRows>
  CK_DEVICE void decompose_rows(Coordinate (&row)[kRows * kColumns], const uint16* places,
                                const Elements& element_of) const {
#pragma unroll
    for (uint32 i = 0; i < kRows; ++i) {
      Offset rest = element_of(places[i]);
#pragma unroll
      for (uint32 axis = kColumns - 1; axis > 0; --axis) {
        const Division<Offset> part = divide(rest, sizes_[kColumns - 1 - axis]);
        row[i * kColumns + axis] = static_cast<Coordinate>(part.remainder);
        rest = part.quotient;
      }
      row[i * kColumns] = static_cast<Coordinate>(rest);
    }
  }

  /// Writes rows of few coordinates to a target on a multiple of their size. A lane writes a vector
  /// of the target; the rows at both ends that fill no vector follow one by one.
  template <uint32 kColumns>
  CK_DEVICE void write_vectors(char* target, const uint16* places, uint32 rows,
                               const Elements& element_of) const {
    constexpr uint32 kRowBytes = kColumns * sizeof(Coordinate), kOfVector = 16 / kRowBytes;
    const uint32 to_vector =
        static_cast<uint32>(0 - reinterpret_cast<uint64>(target)) % 16 / kRowBytes;
    const uint32 head = to_vector < rows ? to_vector : rows;
    const uint32 tail = (rows - head) % kOfVector, whole = rows - tail;
#pragma unroll 2
    for (uint32 k = head + lane_ * kOfVector; k < whole; k += 32 * kOfVector) {
      Packed<uint4, Coordinate> vector;
      decompose_rows<kColumns, kOfVector>(vector.piece, places + k, element_of);
      store_streaming(reinterpret_cast<uint4*>(target + k * kRowBytes), vector.vector);
    }
    if (lane_ < head + tail) {
      const uint32 k = lane_ < head ? lane_ : whole + lane_ - head;
      Coordinate row[kColumns];
      decompose_rows<kColumns, 1>(row, places + k, element_of);
      unrolled<kColumns>([&](uint32 axis) {
        reinterpret_cast<Coordinate*>(target + k * kRowBytes)[axis] = row[axis];
      });
    }
  }

  /// Puts rows into the buffer, where they have the same phase as at their target.
  CK_DEVICE void fill_buffer(const char* target, const uint16* places, uint32 rows,
                             const Elements& element_of) const {
    const bool packed = table_.form == kRows;
    const uint32 row_step = packed ? table_.axes * sizeof(Coordinate) : sizeof(Coordinate);
    const uint32 axis_step = packed ? sizeof(Coordinate) : table_.buffer_step;
    const uint32 phase = static_cast<uint32>(reinterpret_cast<uint64>(target));
    const uint32 change = packed ? 0 : static_cast<uint32>(table_.axis_step);
    char* row = buffer_ + lane_ * row_step + gaps(lane_ * row_step);
#pragma unroll 1
    for (uint32 k = lane_; k < rows; k += 32, row += 32 * row_step + gaps(32 * row_step)) {
      decompose(element_of(places[k]), [&](uint32 axis, Coordinate coordinate) {
        const uint32 offset = axis * axis_step + (phase + axis * change) % 16;
        *reinterpret_cast<Coordinate*>(row + offset) = coordinate;
      });
    }
  }

  /// Copies from the buffer to a target of the same phase: vectors first, then both ends.
  CK_DEVICE void copy_out(char* target, const char* source, uint32 bytes) const {
    const uint32 phase = static_cast<uint32>(reinterpret_cast<uint64>(target)) % 16;
    const uint32 end = phase + bytes;
    target -= phase;
    const uint32 whole = (phase + 15) / 16 * 16;  // where vectors begin ...
    const uint32 rest = end / 16 * 16;            // ... and end
    constexpr uint32 kOfVector = 16 / sizeof(Coordinate);
    const auto coordinate = [&](uint32 k) {
      return *reinterpret_cast<const Coordinate*>(source + k + gaps(k - phase));
    };
    if (gap_ != 0) {
#pragma unroll 2
      for (uint32 k = whole + lane_ * 16; k < rest; k += 32 * 16) {
        Packed<uint4, Coordinate> vector;
        unrolled<kOfVector>(
            [&](uint32 i) { vector.piece[i] = coordinate(k + i * sizeof(Coordinate)); });
        store_streaming(reinterpret_cast<uint4*>(target + k), vector.vector);
      }
    } else {
#pragma unroll 4
      for (uint32 k = whole + lane_ * 16; k < rest; k += 32 * 16) {
        store_streaming(reinterpret_cast<uint4*>(target + k),
                        *reinterpret_cast<const uint4*>(source + k));
      }
    }
    const bool head = lane_ < kOfVector;
    const uint32 begin = head ? phase : rest < whole ? whole : rest;
    const uint32 stop = head && whole < end ? whole : end;
    const uint32 k = begin + lane_ % kOfVector * sizeof(Coordinate);
    if (lane_ < 2 * kOfVector && k < stop) {
      *reinterpret_cast<Coordinate*>(target + k) = coordinate(k);
    }
  }

  /// Writes coordinates one by one.
  CK_DEVICE void scatter(char* target, const uint16* places, uint32 rows,
                         const Elements& element_of) const {
#pragma unroll 1
    for (uint32 k = lane_; k < rows; k += 32) {
      decompose(element_of(places[k]), [&](uint32 axis, Coordinate coordinate) {
        *reinterpret_cast<Coordinate*>(target + k * table_.row_step + axis * table_.axis_step) =
            coordinate;
      });
    }
  }

  char* out_;
  const CoordinateTable& table_;
  const Divisor<Offset>* sizes_;
  uint16* places_;
  char* buffer_;
  uint32 lane_;
  uint32 gap_;
};

/// Fills the rows from `first` on; each block fills its share.
CK_DEVICE void fill_rows(void* out, const CoordinateTable& table, uint64 first) {
  const int64 step = static_cast<int64>(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (uint32 axis = 0; axis < table.axes; ++axis) {
    char* const target = static_cast<char*>(out) + axis * table.axis_step;
    int64 row = static_cast<int64>(first) + blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (; row < table.capacity; row += step) {
      store_streaming(reinterpret_cast<Coordinate*>(target + row * table.row_step),
                      static_cast<Coordinate>(table.fill_value));
    }
  }
}

}  // namespace ck
