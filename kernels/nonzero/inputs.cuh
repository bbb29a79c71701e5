// SPDX-License-Identifier: MIT
// How a tile of x becomes masks of the elements that are not zero, for each way x can lie in
// memory.
//
// An input has
//   kMaskWords         masks of a tile at most,
//   kTurnWords         masks of a warp's turn,
//   load(tile, masks)  puts a tile's bits into the block's masks, of which each warp has `turns`
//                      times kTurnWords, in order; returns how many of the lane's are set; called
//                      by the first kWarps warps,
//   elements_of(tile)  which element belongs to a bit.
#pragma once

#include "common/division.cuh"
#include "common/memory.cuh"
#include "common/strided.cuh"
#include "common/types.cuh"
#include "nonzero/bit_masks.cuh"
#include "nonzero/coordinate_writer.cuh"

namespace ck {

constexpr int kReaders = kThreads - 32;  // one warp of a block works on no tile
constexpr uint32 kWarps = kReaders / 32;
constexpr uint32 kTileBytes = 64 * 1024;  // of x at most, but in columns
constexpr uint32 kMostPlaces = 65536;     // of a tile: they have 16 bits

/// Fields with pointers first, then by size: there is no padding.
template <typename O>
struct NonzeroArguments {
  const void* x;
  void* count;
  void* coordinates;
  uint64* workspace;
  uint64 elements;  ///< of x
  CoordinateTable table;
  KeptBits kept;
  uint32 count_bytes;  ///< of the count: 4 or 8
  uint32 fills;        ///< 1: rows beyond the count get the fill value
  uint32 tiles;
  uint32 slots;         ///< tiles that the workspace has room for
  uint32 turns;         ///< how often a lane loads, for a tile
  uint32 lead;          ///< elements between a 16-byte boundary and x
  Divisor<O> sizes[7];  ///< innermost first
};

/// Which element of x is at a place of a tile: they follow each other.
template <typename O>
struct Consecutive {
  O first;

  CK_DEVICE O operator()(uint32 place) const { return first + place; }
};

/// A contiguous x: a warp reads 512 bytes a turn, 8 turns at once. Elements are counted from the
/// 16-byte boundary at or before x.
template <int kWidth, typename O>
struct StreamInput {
  static constexpr uint32 kOfVector = 16 / kWidth;
  static constexpr uint32 kMaskWords = kTileBytes / kWidth / 32;
  static constexpr uint32 kTurnWords = kOfVector;
  static constexpr int kLoads = 8;
  const NonzeroArguments<O>& a;

  CK_DEVICE Consecutive<O> elements_of(uint32 tile) const {
    return {static_cast<O>(static_cast<O>(tile) * (a.turns * kReaders * kOfVector) - a.lead)};
  }

  CK_DEVICE uint32 load(uint32 tile, uint32* masks) const {
    const uint32 lane = threadIdx.x % 32, vectors = a.turns * 32;  // of the warp
    const uint64 start =
        static_cast<uint64>(tile) * (a.turns * kReaders) + threadIdx.x / 32 * vectors;
    const uint64 elements = a.elements + a.lead, end = elements / kOfVector;  // of whole vectors
    const uint64 left = end > start ? end - start : 0;
    const uint32 from = start == 0 && a.lead != 0 ? 1 : 0;
    const uint32 to = left < vectors ? static_cast<uint32>(left) : vectors;
    const char* const x = static_cast<const char*>(a.x) - a.lead * kWidth;
    const uint4* const source = reinterpret_cast<const uint4*>(x) + start;
    uint32 count = 0;
    masks += threadIdx.x / 32 * a.turns * kTurnWords;
    for (uint32 first = 0; first < vectors; first += kLoads * 32) {
      uint4 value[kLoads];
#pragma unroll
      for (uint32 r = 0; r < kLoads; ++r) {
        const uint32 vector = first + r * 32 + lane;
        value[r] = load_if<true>(vector >= from && vector < to, source + vector);
      }
#pragma unroll
      for (uint32 r = 0; r < kLoads; ++r) {
        if (first + r * 32 >= vectors) {
          break;
        }
        const uint32 bits = bits_of<kWidth>(value[r], a.kept);
        count += static_cast<uint32>(__popc(bits));
        store_bits<kWidth>(masks, first + r * 32 + lane, bits, true);
      }
    }
    // The first and the last vector may lie in x in part.
    const bool ends = end >= start && end - start < vectors && elements % kOfVector != 0;
    __syncwarp();
    if (lane == 0 && from != 0) {
      count += add_part(masks, 0, 0);
    }
    if (lane == 0 && ends && (from == 0 || end != 0)) {
      count += add_part(masks, to, end);
    }
    return count;
  }

  /// Adds the bits of a vector that lies in x in part; returns how many are set.
  CK_DEVICE uint32 add_part(uint32* masks, uint32 at, uint64 vector) const {
    uint32 count = 0;
#pragma unroll 1
    for (uint32 k = 0; k < kOfVector; ++k) {
      const uint64 element = vector * kOfVector + k - a.lead;  // those before the first one wrap
      if (element < a.elements &&
          is_nonzero(ck::load(static_cast<const Bytes<kWidth>*>(a.x) + element), a.kept)) {
        masks[(at * kOfVector + k) / 32] |= 1u << ((at * kOfVector + k) % 32);
        ++count;
      }
    }
    return count;
  }
};

template <typename O, int kRank>
struct StridedArguments {
  NonzeroArguments<O> common;
  Dimension<O, 1> dimensions[kRank];
};

/// Any layout: a warp reads 32 elements at once, which are one mask. Elements of 16 bytes may lie
/// on 8.
template <int kWidth, typename O, int kRank>
struct StridedInput {
  static constexpr bool kIsLong = kRank * sizeof(O) > 16;
  static constexpr int kMost = kWidth == 16 || kIsLong ? 4 : 8;
  // With more, registers spill.
  static constexpr int kLoads = kWidth == 16 && (kIsLong || sizeof(O) == 8) ? 2 : kMost;
  static constexpr uint32 kMaskWords = kTileBytes / kWidth / 32;
  static constexpr uint32 kTurnWords = 8;
  using Piece = Bytes<kWidth == 16 ? 8 : kWidth>;
  static constexpr int kPieces = kWidth / sizeof(Piece);
  const NonzeroArguments<O>& a;
  const Dimension<O, 1> (&dimensions)[kRank];

  CK_DEVICE Consecutive<O> elements_of(uint32 tile) const {
    return {static_cast<O>(static_cast<O>(tile) * (a.turns * kTurnWords * kReaders))};
  }

  CK_DEVICE uint32 load(uint32 tile, uint32* masks) const {
    const uint32 lane = threadIdx.x % 32, words = a.turns * kTurnWords;
    const uint32 begin = threadIdx.x / 32 * words;
    const O start = elements_of(tile)(begin * 32 + lane);
    const O elements = static_cast<O>(a.elements);
    uint32 count = 0;
    for (uint32 word = 0; word < words; word += kLoads) {
      Piece value[kLoads][kPieces];
      uint32 mask = 0;
#pragma unroll
      for (int r = 0; r < kLoads; ++r) {
        const O element = start + static_cast<O>((word + r) * 32);
        const O offset =
            offsets_of(element < elements ? element : elements - 1, dimensions).value[0];
#pragma unroll
        for (int k = 0; k < kPieces; ++k) {
          value[r][k] = ck::load(at<Piece>(a.x, offset) + k);
        }
      }
#pragma unroll
      for (int r = 0; r < kLoads; ++r) {
        bool set = false;
#pragma unroll
        for (int k = 0; k < kPieces; ++k) {
          set = set || is_nonzero(value[r][k], a.kept);
        }
        const bool exists = start + static_cast<O>((word + r) * 32) < elements;
        const uint32 bits = __ballot_sync(kAllLanes, set && exists);
        mask = lane == static_cast<uint32>(r) ? bits : mask;
      }
      if (lane < kLoads) {
        masks[begin + word + lane] = mask;
        count += static_cast<uint32>(__popc(mask));
      }
    }
    return count;
  }
};

template <typename O>
struct ColumnsArguments {
  NonzeroArguments<O> common;
  Dimension<O, 1> outer[4];
  Dimension<O, 1> inner[4];
  Divisor<O> groups;       ///< of rows
  O rows;                  ///< along the contiguous dimension
  uint32 group;            ///< rows of a tile, in whole vectors; of parts, a power of two
  uint32 columns;          ///< elements of a row, in the dimensions inside
  Divisor<uint32> strips;  ///< of 32 columns
  Divisor<uint32> padded;  ///< columns in whole strips
};

/// The dimension that is contiguous in memory is not the last one: a tile is some of its rows, all
/// of each. A lane reads the elements that a column has in several rows as one vector; a vote makes
/// a mask of 32 columns of a row. In the masks, rows are padded to whole ones. If columns are too
/// many for all rows of a vector, a tile is parts of vectors: it uses some of these rows, and other
/// tiles read the vector again.
template <int kWidth, typename O, bool kParts>
struct ColumnsInput {
  static constexpr uint32 kOfVector = 16 / kWidth;
  static constexpr uint32 kMaskWords = kMostPlaces / 32;
  static constexpr uint32 kTurnWords = 1;
  static constexpr uint32 kLoads = 4;
  const ColumnsArguments<O>& a;

  struct Elements {
    O first;
    Divisor<uint32> padded;
    uint32 columns;

    CK_DEVICE O operator()(uint32 place) const {
      return first + (place - quotient(place, padded) * (padded.value - columns));
    }
  };

  CK_DEVICE Elements elements_of(uint32 tile) const {
    const Division<O> part = divide(static_cast<O>(tile), a.groups);
    return {static_cast<O>((part.quotient * a.rows + part.remainder * a.group) * a.columns),
            a.padded, a.columns};
  }

  CK_DEVICE uint32 load(uint32 tile, uint32* masks) const {
    const uint32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, words = a.common.turns;
    const Division<O> part = divide(static_cast<O>(tile), a.groups);
    const O row = part.remainder * a.group;
    const O left = a.rows - row;
    const uint32 skipped = kParts ? static_cast<uint32>(row) % kOfVector : 0;
    const uint32 used = kParts ? a.group : kOfVector;
    const O start = offsets_of(part.quotient, a.outer).value[0] + (row - skipped) * kWidth;
    const uint32 rows = left < a.group ? static_cast<uint32>(left) : a.group;
    const uint32 vectors = (kParts ? 1 : a.group / kOfVector) * a.strips.value;
    for (uint32 first = warp; first < vectors; first += kWarps * kLoads) {
      bool exists[kLoads];
      const uint4* source[kLoads];
      uint4 value[kLoads];
      uint32 bits[kLoads];
#pragma unroll
      for (uint32 r = 0; r < kLoads; ++r) {
        const Division<uint32> at_row = divide(first + r * kWarps, a.strips);
        const uint32 inside = at_row.quotient * kOfVector, column = at_row.remainder * 32 + lane;
        const O offset = offsets_of(static_cast<O>(column), a.inner).value[0];
        exists[r] = inside < rows && column < a.columns;
        source[r] = at<uint4>(a.common.x, static_cast<O>(start + inside * kWidth + offset));
      }
#pragma unroll
      for (uint32 r = 0; r < kLoads; ++r) {
        // The other half of the sector is read next.
        value[r] = load_if<false>(exists[r], source[r]);
      }
#pragma unroll
      for (uint32 r = 0; r < kLoads; ++r) {
        bits[r] = bits_of<kWidth>(value[r], a.common.kept);
      }
#pragma unroll
      for (uint32 r = 0; r < kLoads; ++r) {
        const Division<uint32> at_row = divide(first + r * kWarps, a.strips);
        uint32 mask = 0;
#pragma unroll(kParts ? 1 : kOfVector)
        for (uint32 k = 0; k < used; ++k) {
          const uint32 votes = __ballot_sync(kAllLanes, (bits[r] >> (k + skipped) & 1) != 0);
          mask = lane == k ? votes : mask;
        }
        if (first + r * kWarps < vectors && lane < used) {
          masks[(at_row.quotient * kOfVector + lane) * a.strips.value + at_row.remainder] = mask;
        }
      }
    }
    for (uint32 k = a.group * a.strips.value + threadIdx.x; k < words * kWarps; k += kReaders) {
      masks[k] = 0;
    }
    sync_first_threads<kReaders>();
    uint32 count = 0;
    for (uint32 k = lane; k < words; k += 32) {
      count += static_cast<uint32>(__popc(masks[warp * words + k]));
    }
    return count;
  }
};

}  // namespace ck
