// Short rows of whole 16-byte vectors: one to 32 lanes read a row, a vector each, and four rows at
// a time.
#pragma once

#include "reduce/rows.cuh"

#if defined(CK_VARIANT_LANES)
namespace ck {

constexpr uint32 kRowsOfLanes = 4;

template <int kRank>
struct LaneArguments : ReduceArguments {
  Dimension<Offset, 2> kept[kRank];  ///< with strides of x and out
  Offset rows;
  uint32 vectors;     ///< of a row
  uint32 lane_shift;  ///< log2 of the lanes that share a row
  uint32 turns;       ///< rows of a lane: up to four
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
  const uint32 lanes = 1u << a.lane_shift, lane = threadIdx.x % 32;
  const uint32 number = threadIdx.x & (lanes - 1), teams = blockDim.x >> a.lane_shift;
  const Offset first =
      static_cast<Offset>(blockIdx.x) * teams * a.turns + (threadIdx.x >> a.lane_shift);
  uint4 vector[kRowsOfLanes];
  Offset out[kRowsOfLanes];
  unrolled<kRowsOfLanes>([&](uint32 k) {
    const Offset row = first + k * teams;
    const Offsets<Offset, 2> offset = offsets_of(row, a.kept);
    const bool exists = k < a.turns && row < a.rows && number < a.vectors;
    vector[k] = load_if<true>(exists, at<uint4>(a.x, offset.value[0]) + number, absent_vector());
    out[k] = offset.value[1];
  });
  State state[kRowsOfLanes];
  unrolled<kRowsOfLanes>([&](uint32 k) {
    state[k] = state_of_vector(vector[k], number);
    if (!Function::kHasAbsent && number >= a.vectors) state[k] = Function::identity();
  });
  const auto write = [&](uint32 k, Offset place, const State& one) {
    if (k < a.turns && first + k * teams < a.rows) {
      const Output value = convert<Output>(Function::finish(one, a.rest));
      store_once(at<Output>(a.out, place), value);
    }
  };
  if (lanes < kRowsOfLanes || a.turns == 1) {
    unrolled<kRowsOfLanes>([&](uint32 k) {
      if (k >= a.turns) return;
      const State one = fold_lanes(state[k], lane, lanes);
      if (number == 0) write(k, out[k], one);
    });
  } else {
    exchange_halves<2>(state, lane, 1);
    exchange_halves<1>(state, lane, 2);
    State one = state[0];
#pragma unroll
    for (uint32 bit = 4; bit < 32; bit *= 2) {
      if (bit < lanes) one = fold_neighbours(one, lane, bit);
    }
    const bool upper = (lane & 1) != 0, second = (lane & 2) != 0;
    const Offset place = upper ? (second ? out[3] : out[2]) : second ? out[1] : out[0];
    if (number < kRowsOfLanes) write((upper ? 2 : 0) + (second ? 1 : 0), place, one);
  }
}

}  // namespace ck
#endif
