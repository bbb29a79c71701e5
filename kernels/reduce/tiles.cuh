// SPDX-License-Identifier: MIT
// Many short reductions next to each other: a block reads a tile of whole slabs, of `rows` by
// `columns` elements each, into shared memory. One to 32 lanes then fold each column.
#pragma once

#include "common/division.cuh"
#include "common/types.cuh"
#include "reduce/fold.cuh"
#include "reduce/functions.cuh"
#include "reduce/stage.cuh"

namespace ck {

constexpr uint32 kGatheredBytes = 4096;  // of results, behind the tile

/// Both arrays are contiguous.
template <typename O, typename R>
struct TileArguments {
  const void* x;
  void* out;
  uint64* workspace;
  R rest;   ///< what finish takes beside a state
  O bytes;  ///< of x
  O slabs;
  O tile_bytes;
  uint32 tile_slabs;
  uint32 rows;  ///< units of a column: elements, or vectors if a slab has one column
  uint32 slab_bytes;
  uint32 lane_shift;        ///< log2 of the lanes that share a column
  Divisor<uint32> columns;  ///< of a slab
};

template <typename F, typename In, typename Out, int kWidth, typename O>
CK_DEVICE void reduce_tiles(const TileArguments<O, typename F::Rest>& a, char* shared) {
  using State = typename F::State;
  using Unit = Packed<Bytes<kWidth>, In>;
  constexpr uint32 kItems = kWidth / sizeof(In);
  const Extent<O> x(a.x, a.bytes);
  const O tile = blockIdx.x, first_slab = tile * a.tile_slabs, left = a.slabs - first_slab;
  const uint32 slabs = left < a.tile_slabs ? static_cast<uint32>(left) : a.tile_slabs;
  const O begin = x.begin + tile * a.tile_bytes;
  const uint32 phase = phase_of(begin);
  stage_run<In>(x, begin, slabs * a.slab_bytes, shared);
  __syncthreads();
  const uint32 lanes = 1u << a.lane_shift, results = slabs * a.columns.value;
  Out* const result_of_tile = static_cast<Out*>(a.out) + first_slab * a.columns.value;
  // Few lanes of a warp have results where lanes share columns: gathered, they fill sectors.
  const bool gathers = lanes > 1 && results * sizeof(Out) <= kGatheredBytes;
  Out* const gathered = reinterpret_cast<Out*>(shared + kStageBytes);
#pragma unroll 1
  for (uint32 first = 0; first < results << a.lane_shift; first += kThreads) {
    const uint32 result = (first + threadIdx.x) >> a.lane_shift;
    const uint32 lane = threadIdx.x & (lanes - 1);
    State state[] = {F::identity()};
    if (result < results) {
      const Division<uint32> place = divide(result, a.columns);
      const char* const column =
          shared + phase + place.quotient * a.slab_bytes + place.remainder * kWidth;
#pragma unroll 4
      for (uint32 row = lane; row < a.rows; row += lanes) {
        Unit unit;
        unit.vector =
            *reinterpret_cast<const Bytes<kWidth>*>(column + row * a.columns.value * kWidth);
        take_all<F>(state, unit.piece, static_cast<O>(row * kItems));
      }
    }
    state[0] = fold_lanes<F>(state[0], lanes);
    if (result < results && lane == 0) {
      const Out found = convert<Out>(F::finish(state[0], a.rest));
      if (gathers) {
        gathered[result] = found;
      } else {
        store(result_of_tile + result, found);
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
