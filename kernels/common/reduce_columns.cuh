// SPDX-License-Identifier: MIT
// Columns of a contiguous x whose rows do not start on vectors: a block reads tiles of rows into
// shared memory, whole rows one after another or a range of columns of each, and its threads keep
// the states of their columns from tile to tile. Blocks may share columns.
#pragma once

#include "common/division.cuh"
#include "common/reduce_fold.cuh"
#include "common/reduce_stage.cuh"
#include "common/types.cuh"

namespace ck {

/// Both arrays are contiguous.
template <typename O, typename R>
struct ColumnArguments {
  const void* x;
  void* out;
  uint64* workspace;
  R rest;                 ///< what finish takes beside a state
  Divisor<O> splits;      ///< blocks that share columns
  Divisor<O> ranges;      ///< of columns
  O bytes;                ///< of x
  O rows;                 ///< of a slab
  O share;                ///< of them for a block
  O columns;              ///< of a slab
  Divisor<uint32> width;  ///< columns of a range; the last may have fewer
  uint32 depth;           ///< rows of a tile
  uint32 whole;           ///< 1 if a range is whole rows: a tile is contiguous
  uint32 groups;          ///< of threads that share the columns
};

/// Folds the groups of threads that share columns; if there are several, each has one column.
template <typename F, int kColumns, typename O>
__device__ __forceinline__ void fold_columns(typename F::State (&state)[kColumns],
                                             typename F::State* shared, uint32 q, uint32 g,
                                             const ColumnArguments<O, typename F::Rest>& a) {
  typename F::State first[1] = {state[0]};
  fold_groups<F>(first, shared, q, g, a.width.value, a.groups);
  state[0] = first[0];
}

template <typename F, typename In, typename Out, int kColumns, typename O>
__device__ __forceinline__ void reduce_columns(const ColumnArguments<O, typename F::Rest>& a,
                                               char* shared) {
  using State = typename F::State;
  constexpr int kUnrolled = F::kIsLong ? 1 : 4;
  State* const folded = reinterpret_cast<State*>(shared);
  const Extent<O> x(a.x, a.bytes);
  const Division<O> block = divide(static_cast<O>(blockIdx.x), a.splits);
  const Division<O> range = divide(block.quotient, a.ranges);
  const O slab = range.quotient, first_column = range.remainder * a.width.value;
  const O left = a.columns - first_column;
  const uint32 width = left < a.width.value ? static_cast<uint32>(left) : a.width.value;
  const Division<uint32> place = divide(threadIdx.x, a.width);
  const uint32 g = place.quotient, q = place.remainder;
  State state[kColumns];
#pragma unroll
  for (int j = 0; j < kColumns; ++j) {
    state[j] = F::identity();
  }
  const O row_bytes = a.columns * sizeof(In);
  const O from = block.remainder * a.share, rest = a.rows - from;
  const O to = from + (rest < a.share ? rest : a.share);
#pragma unroll 1
  for (O row = from; row < to; row += a.depth) {
    const uint32 depth = to - row < a.depth ? static_cast<uint32>(to - row) : a.depth;
    const O begin = x.begin + (slab * a.rows + row) * row_bytes + first_column * sizeof(In);
    if (a.whole != 0) {
      stage_run<In>(x, begin, depth * static_cast<uint32>(row_bytes), shared);
    } else {
      stage_rows<In>(x, begin, row_bytes, depth, width * static_cast<uint32>(sizeof(In)), shared);
    }
    __syncthreads();
    if (g < a.groups) {
      State turn[kColumns];
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        turn[j] = F::kFoldsTurns ? F::identity() : state[j];
      }
#pragma unroll 1
      for (uint32 k = g; k < depth; k += a.groups) {
        const uint32 whole_at = phase_of(begin) + k * static_cast<uint32>(row_bytes);
        const uint32 range_at =
            k * (kThreads * 16) + phase_of(static_cast<O>(begin + k * row_bytes));
        const In* const piece =
            reinterpret_cast<const In*>(shared + (a.whole != 0 ? whole_at : range_at));
#pragma unroll
        for (int j = 0; j < kColumns; ++j) {
          if (q + j * kThreads < width) {
            F::take(turn[j], piece[q + j * kThreads], static_cast<O>(row + k));
          }
        }
      }
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        state[j] = F::kFoldsTurns ? F::combine(state[j], turn[j]) : turn[j];
      }
    }
    __syncthreads();
  }
  fold_columns<F>(state, folded, q, g, a);
  const uint32 splits = static_cast<uint32>(a.splits.value), states = a.width.value;
  const auto put = [&](State* all) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      if (g == 0 && q + j * kThreads < width) {
        all[q + j * kThreads] = state[j];
      }
    }
  };
  const auto get = [&](const State* all, uint32 count) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      state[j] = F::identity();
      if (g < a.groups && q + j * kThreads < width) {
#pragma unroll kUnrolled
        for (uint32 k = g; k < count; k += a.groups) {
          state[j] = F::combine(state[j], all[k * states + q + j * kThreads]);
        }
      }
    }
    fold_columns<F>(state, folded, q, g, a);
  };
  if (splits > 1 &&
      !fold_blocks<State>(a.workspace, static_cast<uint32>(block.quotient),
                          static_cast<uint32>(block.remainder), splits, states, put, get)) {
    return;
  }
  Out* const out = static_cast<Out*>(a.out) + slab * a.columns + first_column;
#pragma unroll
  for (int j = 0; j < kColumns; ++j) {
    if (g == 0 && q + j * kThreads < width) {
      store(out + q + j * kThreads, convert<Out>(F::finish(state[j], a.rest)));
    }
  }
}

}  // namespace ck
