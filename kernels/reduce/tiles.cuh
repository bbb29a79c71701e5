// Many short reductions next to each other: a block reads a tile of whole slabs, of `rows` by
// `columns` elements each, into shared memory. One to 32 lanes then fold each column.
#pragma once

#include "common/division.cuh"
#include "common/memory.cuh"
#include "reduce/fold.cuh"
#include "reduce/functions.cuh"

namespace ck {

constexpr uint32 kStageBytes = CK_STAGE_BYTES;            // of a tile, with what is in front of it
constexpr int kStageLoads = kStageBytes / 16 / kThreads;  // vectors of a thread in flight
constexpr uint32 kGatheredBytes = CK_GATHERED_BYTES;      // of results, behind the tile

/// How far a byte lies behind the start of its sector.
CK_DEVICE uint32 phase_of(Offset byte) { return static_cast<uint32>(byte % kSectorBytes); }

/// The `count` vectors that a stage holds of a range; the first one begins a sector. Those in
/// [from, to) lie in x as a whole.
struct StageRange {
  Offset first;
  uint32 count;
  uint32 from;
  uint32 to;

  CK_DEVICE StageRange(const Extent<Offset>& x, Offset begin, uint32 bytes) {
    first = begin / kSectorBytes * (kSectorBytes / 16);
    count = bytes == 0 ? 0 : (phase_of(begin) + bytes + 15) / 16;
    const Offset inside = (x.begin + 15) / 16, whole = x.end / 16;
    from = inside > first ? static_cast<uint32>(inside - first) : 0;
    const Offset left = whole > first ? whole - first : 0;
    to = left < count ? static_cast<uint32>(left) : count;
  }
};

/// Copies the elements of a range's vectors that lie in x in part.
CK_DEVICE void stage_parts(const Extent<Offset>& x, const StageRange& range, char* shared,
                           uint32 vector) {
  if (vector >= range.count || (vector >= range.from && vector < range.to)) return;
#pragma unroll 1
  for (uint32 byte = 0; byte < 16; byte += sizeof(Input)) {
    const Offset place = (range.first + vector) * 16 + byte;
    if (place >= x.begin && place < x.end) {
      *reinterpret_cast<Input*>(shared + vector * 16 + byte) =
          load(reinterpret_cast<const Input*>(x.base + place));
    }
  }
}

/// Copies `bytes` bytes of x from `begin` on. They keep their place in a sector: with what is in
/// front of them there, they are at most kStageBytes. By the whole block.
CK_DEVICE void stage_run(const Extent<Offset>& x, Offset begin, uint32 bytes, char* shared) {
  const StageRange range(x, begin, bytes);
  const uint4* const source = reinterpret_cast<const uint4*>(x.base) + range.first;
  uint4* const stage = reinterpret_cast<uint4*>(shared);
  uint4 value[kStageLoads];
  unrolled<kStageLoads>([&](uint32 k) {
    const uint32 vector = k * kThreads + threadIdx.x;
    value[k] = load_if<true>(vector >= range.from && vector < range.to, source + vector);
  });
  unrolled<kStageLoads>([&](uint32 k) { stage[k * kThreads + threadIdx.x] = value[k]; });
#pragma unroll 1
  for (uint32 k = 0; k < kStageLoads; ++k) {
    stage_parts(x, range, shared, k * kThreads + threadIdx.x);
  }
}

/// Both arrays are contiguous.
struct TileArguments : ReduceArguments {
  Offset bytes;  ///< of x
  Offset slabs;
  Offset tile_bytes;
  uint32 tile_slabs;
  uint32 rows;  ///< units of a column: elements, or vectors if a slab has one column
  uint32 slab_bytes;
  uint32 lane_shift;        ///< log2 of the lanes that share a column
  Divisor<uint32> columns;  ///< of a slab
};

template <int kWidth>
CK_DEVICE void reduce_tiles(const TileArguments& a, char* shared) {
  using Unit = Packed<Bytes<kWidth>, Input>;
  constexpr uint32 kItems = kWidth / sizeof(Input);
  const Extent<Offset> x(a.x, a.bytes);
  const Offset tile = blockIdx.x, first_slab = tile * a.tile_slabs, left = a.slabs - first_slab;
  const uint32 slabs = left < a.tile_slabs ? static_cast<uint32>(left) : a.tile_slabs;
  const Offset begin = x.begin + tile * a.tile_bytes;
  const uint32 phase = phase_of(begin);
  stage_run(x, begin, slabs * a.slab_bytes, shared);
  __syncthreads();
  const uint32 lanes = 1u << a.lane_shift, results = slabs * a.columns.value;
  Output* const result_of_tile = static_cast<Output*>(a.out) + first_slab * a.columns.value;
  // Few lanes of a warp have results where lanes share columns: gathered, they fill sectors.
  const bool gathers = lanes > 1 && results * sizeof(Output) <= kGatheredBytes;
  Output* const gathered = reinterpret_cast<Output*>(shared + kStageBytes);
#pragma unroll 1
  for (uint32 first = 0; first < results << a.lane_shift; first += kThreads) {
    const uint32 result = (first + threadIdx.x) >> a.lane_shift;
    const uint32 lane = threadIdx.x & (lanes - 1);
    State state[] = {Function::identity()};
    if (result < results) {
      const Division<uint32> place = divide(result, a.columns);
      const char* const column =
          shared + phase + place.quotient * a.slab_bytes + place.remainder * kWidth;
#pragma unroll 4
      for (uint32 row = lane; row < a.rows; row += lanes) {
        Unit unit;
        unit.vector =
            *reinterpret_cast<const Bytes<kWidth>*>(column + row * a.columns.value * kWidth);
        take_all<Function>(state, unit.piece, static_cast<Offset>(row * kItems));
      }
    }
    state[0] = fold_lanes(state[0], lanes);
    if (result < results && lane == 0) {
      const Output value = convert<Output>(Function::finish(state[0], a.rest));
      if (gathers) {
        gathered[result] = value;
      } else {
        store(result_of_tile + result, value);
      }
    }
  }
  if (gathers) {
    __syncthreads();
#pragma unroll 1
    for (uint32 result = threadIdx.x; result < results; result += kThreads) {
      store(result_of_tile + result, gathered[result]);
    }
  }
}

}  // namespace ck
