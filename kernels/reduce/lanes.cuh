// Short rows of whole 16-byte vectors: one to 32 lanes read a row, a vector each.
#pragma once

#include "reduce/rows.cuh"

#if defined(CK_VARIANT_LANES)
namespace ck {

constexpr int kRows = CK_LOADS;  // of a lane: one or two

template <int kRank>
struct LaneArguments : ReduceArguments {
  Dimension<Offset, 2> kept[kRank];  ///< with strides of x and out
  Offset rows;
  uint32 vectors;     ///< of a row
  uint32 lane_shift;  ///< log2 of the lanes that share a row
};

/// The state of a vector of a row.
CK_DEVICE State state_of_vector(const uint4& vector, uint32 number) {
  if constexpr (Function::kAnyOrder) {
    State state[] = {Function::identity()};
    take_vector(state, vector, static_cast<Offset>(number * kItems));
    return state[0];
  } else {
    Packed<uint4, Input> items;
    items.vector = vector;
    State item[kItems];
    unrolled<kItems>([&](uint32 i) { item[i] = leaf<Function>(items.piece[i]); });
    return fold_leaves<Function>(item);
  }
}

template <int kRank>
CK_DEVICE void reduce_rows_by_lanes(const LaneArguments<kRank>& a) {
  const uint32 lanes = 1u << a.lane_shift, number = threadIdx.x & (lanes - 1);
  const uint32 teams = blockDim.x >> a.lane_shift;
  const Lanes lane = {threadIdx.x % 32};
  const Offset first =
      static_cast<Offset>(blockIdx.x) * teams * kRows + (threadIdx.x >> a.lane_shift);
  uint4 vector[kRows];
  Offset out[kRows];
  unrolled<kRows>([&](uint32 k) {
    const Offset row = first + k * teams;
    const Offsets<Offset, 2> offset = offsets_of(row, a.kept);
    const bool exists = row < a.rows && number < a.vectors;
    vector[k] = load_if<true>(exists, at<uint4>(a.x, offset.value[0]) + number, absent_vector());
    out[k] = offset.value[1];
  });
  State state[kRows];
  unrolled<kRows>([&](uint32 k) {
    state[k] = state_of_vector(vector[k], number);
    if (!Function::kHasAbsent && number >= a.vectors) state[k] = Function::identity();
  });
  const auto write = [&](Offset row, Offset place, const State& one) {
    if (row < a.rows) {
      store_once(at<Output>(a.out, place), convert<Output>(Function::finish(one, a.rest)));
    }
  };
  if constexpr (kRows > 1) {
    if (lanes > 1) {  // each lane keeps one of the rows
      exchange_halves<kRows / 2>(state, lane, 1);
      State one = state[0];
#pragma unroll
      for (uint32 bit = 2; bit < 32; bit *= 2) {
        if (bit < lanes) one = fold_neighbours(one, lane, bit);
      }
      const Offset place = number == 0 ? out[0] : out[kRows - 1];
      if (number < kRows) write(first + number * teams, place, one);
      return;
    }
  }
  unrolled<kRows>([&](uint32 k) {
    const State one = fold_lanes(state[k], lane, lanes);
    if (number == 0) write(first + k * teams, out[k], one);
  });
}

}  // namespace ck
#endif
