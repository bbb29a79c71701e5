// SPDX-License-Identifier: MIT
// Coordinates of the elements that are not zero, in ascending row-major order, and their count.
//
// One launch reads x once. A tile of x becomes bits in shared memory; the block publishes how many
// are set, and while other blocks do so, it loads its next tile; then it looks back for the row at
// which its tile begins (common/look_back.cuh), turns bits into coordinates and writes them as
// 16-byte vectors (common/coordinate_writer.cuh). A grid of one block has one tile and needs no
// workspace. Variants, chosen by cudakern/operators/nonzero_plan.py: stream reads a contiguous x in
// 16-byte vectors, strided any layout element by element, in logical order. Macros: CK_VARIANT_*,
// CK_ENTRY, CK_WIDTH, CK_COORDINATE_T, CK_OFFSET_T, CK_RANK. Numeric contract: an element is zero
// if all its bits are, those of signs of floats aside; so NaN and subnormals count and -0.0 does
// not, whatever the compiler flushes.
#include "common/bit_masks.cuh"
#include "common/coordinate_writer.cuh"
#include "common/division.cuh"
#include "common/launch.cuh"
#include "common/look_back.cuh"
#include "common/memory.cuh"
#include "common/strided.cuh"
#include "common/types.cuh"

namespace ck {

constexpr uint32 kWarps = kThreads / 32;
constexpr uint32 kTileBytes = 64 * 1024;  // of x at most

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
  uint32 slots;  ///< tiles that the workspace has room for
  uint32 turns;  ///< how often a lane loads, for a tile
  uint32 lead;   ///< elements between a 16-byte boundary and x
  Divisor<O> sizes[7];  ///< innermost first
};

/// The block's shared memory.
template <int kWidth>
struct NonzeroShared {
  uint32 masks[2][kTileBytes / kWidth / 32];
  CoordinateStage stages[kWarps];
  uint64 prefix[2];
  uint64 ticket[2];
  uint64 total;
  uint32 counts[2][kWarps];
  uint32 flag;
};

/// A contiguous x: a warp reads 512 bytes a turn, 8 turns at once. Elements are counted from the
/// 16-byte boundary at or before x.
template <int kWidth, typename O>
struct StreamInput {
  static constexpr uint32 kOfVector = 16 / kWidth;
  static constexpr uint32 kTurnWords = kOfVector;  // masks of a warp's turn
  static constexpr int kLoads = 8;
  const NonzeroArguments<O>& a;

  /// The element of bit 0 of a tile's first mask.
  __device__ __forceinline__ O first_of(uint32 tile) const {
    return static_cast<O>(tile) * (a.turns * kThreads * kOfVector) - a.lead;
  }

  /// Puts a tile's bits into the warp's masks; returns how many of the lane's are set.
  __device__ __forceinline__ uint32 load(uint32 tile, uint32* masks) const {
    const uint64 tile_vector = static_cast<uint64>(tile) * (a.turns * kThreads);
    const uint64 elements = a.elements + a.lead;
    const uint64 begin = a.lead == 0 ? 0 : 1, end = elements / kOfVector;  // whole vectors
    const bool whole = tile_vector >= begin && tile_vector + a.turns * kThreads <= end;
    const uint32 lane = threadIdx.x % 32, start = threadIdx.x / 32 * a.turns * 32 + lane;
    const char* const x = static_cast<const char*>(a.x) - a.lead * kWidth;
    const uint4* const source = reinterpret_cast<const uint4*>(x) + tile_vector + start;
    uint32 count = 0;
    for (uint32 turn = 0; turn < a.turns; turn += kLoads) {
      uint4 value[kLoads];
      uint32 bits[kLoads];
      if (whole && turn + kLoads <= a.turns) {
#pragma unroll
        for (int r = 0; r < kLoads; ++r) {
          value[r] = load_once(source + (turn + r) * 32);
        }
#pragma unroll
        for (int r = 0; r < kLoads; ++r) {
          bits[r] = bits_of<kWidth>(value[r], a.kept);
        }
      } else {
#pragma unroll
        for (int r = 0; r < kLoads; ++r) {
          const uint64 vector = tile_vector + start + (turn + r) * 32;
          value[r] = make_uint4(0, 0, 0, 0);
          if (turn + r < a.turns && vector >= begin && vector < end) {
            value[r] = load_once(source + (turn + r) * 32);
          }
        }
#pragma unroll
        for (int r = 0; r < kLoads; ++r) {
          const uint64 vector = tile_vector + start + (turn + r) * 32;
          bits[r] = bits_of<kWidth>(value[r], a.kept);
          const bool outside = vector < begin || vector >= end;
          if (turn + r < a.turns && outside && vector * kOfVector < elements) {
            bits[r] = bits_of_part(vector);
          }
        }
      }
#pragma unroll
      for (int r = 0; r < kLoads; ++r) {
        if (turn + r < a.turns) {
          count += static_cast<uint32>(__popc(bits[r]));
          store_bits<kWidth>(masks, (turn + r) * 32 + lane, bits[r]);
        }
      }
    }
    return count;
  }

  /// The bits of a vector that lies in x in part.
  __device__ __forceinline__ uint32 bits_of_part(uint64 vector) const {
    using T = Bytes<kWidth>;
    uint32 bits = 0;
    for (uint32 k = 0; k < kOfVector; ++k) {
      const uint64 element = vector * kOfVector + k - a.lead;  // those before the first one wrap
      if (element < a.elements && is_nonzero(ck::load(static_cast<const T*>(a.x) + element), a.kept)) {
        bits |= 1u << k;
      }
    }
    return bits;
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
  static constexpr int kLoads = kWidth == 16 || kRank * sizeof(O) > 16 ? 4 : 8;
  static constexpr uint32 kTurnWords = 8;
  using Piece = Bytes<kWidth == 16 ? 8 : kWidth>;
  static constexpr int kPieces = kWidth / sizeof(Piece);
  const NonzeroArguments<O>& a;
  const Dimension<O, 1> (&dimensions)[kRank];

  __device__ __forceinline__ O first_of(uint32 tile) const {
    return static_cast<O>(tile) * (a.turns * kTurnWords * kThreads);
  }

  __device__ __forceinline__ uint32 load(uint32 tile, uint32* masks) const {
    const uint32 lane = threadIdx.x % 32, words = a.turns * kTurnWords;
    const O start = first_of(tile) + static_cast<O>(threadIdx.x / 32 * words * 32 + lane);
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
        masks[word + lane] = mask;
        count += static_cast<uint32>(__popc(mask));
      }
    }
    return count;
  }
};

/// What a block has of a tile, and a warp before its part of it.
struct Counts {
  uint32 total;
  uint32 before;
};

__device__ __forceinline__ void store_count(uint32* counts, uint32 count) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    count += __shfl_xor_sync(kAllLanes, count, step);
  }
  if (threadIdx.x % 32 == 0) {
    counts[threadIdx.x / 32] = count;
  }
}

__device__ __forceinline__ Counts sum_counts(const uint32* counts) {
  Counts sum = {0, 0};
#pragma unroll
  for (uint32 w = 0; w < kWarps; ++w) {
    sum.before += w < threadIdx.x / 32 ? counts[w] : 0;
    sum.total += counts[w];
  }
  return sum;
}

template <typename C, int kWidth, typename Input, typename O>
__device__ __forceinline__ void write_coordinates(const Input& input, const NonzeroArguments<O>& a,
                                                  char* memory) {
  using Shared = NonzeroShared<kWidth>;
  Shared& s = *reinterpret_cast<Shared*>(memory);
  const bool alone = gridDim.x == 1, first = threadIdx.x == 0;
  const uint32 warp = threadIdx.x / 32, words = a.turns * Input::kTurnWords;
  LookBack tiles = {a.workspace, a.tiles, a.slots, 0};
  CoordinateWriter<C, O> writer(a.coordinates, a.table, a.sizes, s.stages[warp]);

  if (first) {
    s.ticket[0] = alone ? 0 : tiles.draw();
  }
  __syncthreads();
  tiles.epoch = static_cast<uint32>(s.ticket[0] >> 32);
  uint32 tile = static_cast<uint32>(s.ticket[0]), next = a.tiles;
  Counts counts = {0, 0};
  if (tile < a.tiles) {
    const uint64 drawn = first && !alone ? tiles.draw() : a.tiles;
    store_count(s.counts[0], input.load(tile, s.masks[0] + warp * words));
    if (first) {
      s.ticket[1] = drawn;
    }
    __syncthreads();
    next = static_cast<uint32>(s.ticket[1]);
    counts = sum_counts(s.counts[0]);
    if (first && !alone) {
      tiles.publish(tile, tile == 0 ? tiles.kPrefix : tiles.kAggregate, counts.total);
    }
  }
  // Two of everything: a warp that is ahead writes into the other one.
  for (uint32 turn = 0; tile < a.tiles; turn ^= 1) {
    const uint32 other = turn ^ 1;
    uint64 drawn = a.tiles;
    if (next < a.tiles) {
      drawn = first ? tiles.draw() : 0;
      store_count(s.counts[other], input.load(next, s.masks[other] + warp * words));
    }
    if (warp == 0) {
      const O before = tile == 0 ? O{0} : tiles.template sum_before<O>(tile);
      if (first) {
        const uint64 all = static_cast<uint64>(before) + counts.total;
        if (tile != 0) {
          tiles.publish(tile, tiles.kPrefix, all);
        }
        if (tile == a.tiles - 1 && a.count_bytes == 4) {
          *static_cast<uint32*>(a.count) = static_cast<uint32>(all);
        } else if (tile == a.tiles - 1) {
          *static_cast<uint64*>(a.count) = all;
        }
        s.prefix[turn] = before;
        s.ticket[turn] = drawn;
      }
    }
    __syncthreads();
    const O row = static_cast<O>(s.prefix[turn]) + counts.before;
    const uint32 upcoming = static_cast<uint32>(s.ticket[turn]);
    const uint32 total = counts.total;
    if (next < a.tiles) {
      counts = sum_counts(s.counts[other]);
      if (first) {
        tiles.publish(next, tiles.kAggregate, counts.total);
      }
    }
    const O element = input.first_of(tile) + static_cast<O>(warp * words * 32);
    writer.write(s.masks[turn] + warp * words, words, element, row);
    if (alone && a.fills != 0) {
      fill_rows<C>(a.coordinates, a.table, total);
    }
    tile = next;
    next = upcoming;
  }
  if (!alone) {
    if (a.fills != 0) {
      if (first) {
        s.total = tiles.total();
      }
      __syncthreads();
      fill_rows<C>(a.coordinates, a.table, s.total);
    }
    tiles.finish(&s.flag);
  }
}

using Coordinate = CK_COORDINATE_T;
using Offset = CK_OFFSET_T;

}  // namespace ck

#if defined(CK_VARIANT_STREAM)
CK_KERNEL CK_ENTRY(const __grid_constant__ ck::NonzeroArguments<ck::Offset> a) {
  CK_DYNAMIC_SHARED(shared);
  const ck::StreamInput<CK_WIDTH, ck::Offset> input{a};
  ck::write_coordinates<ck::Coordinate, CK_WIDTH>(input, a, shared);
}
#elif defined(CK_VARIANT_STRIDED)
CK_KERNEL CK_ENTRY(const __grid_constant__ ck::StridedArguments<ck::Offset, CK_RANK> a) {
  CK_DYNAMIC_SHARED(shared);
  const ck::StridedInput<CK_WIDTH, ck::Offset, CK_RANK> input{a.common, a.dimensions};
  ck::write_coordinates<ck::Coordinate, CK_WIDTH>(input, a.common, shared);
}
#endif
