// Rows of any layout: a warp or a block reads a row, elements or vectors of it, wherever they lie.
#pragma once

#include "reduce/columns.cuh"
#include "reduce/rows.cuh"

#if defined(CK_VARIANT_STRIDED)
namespace ck {

struct StridedArguments : ReduceArguments {
  Dimension<Offset, 2> kept[CK_RANK];      ///< with strides of x and out
  Dimension<Offset, 2> along[kAlongRank];  ///< of units: vectors or elements of a row
  Offset rows;
  Offset length;      ///< units of a row
  Offset share;       ///< of them for a block: as many as there are, or a power of two
  uint32 team_shift;  ///< log2 of the warps that share a row
};

constexpr uint32 kUnits = 8;  // of a lane in flight

/// The chunk of units from the `first` one on, below `end`: into a state of functions of any order,
/// or as their state.
CK_DEVICE State take_chunk(const State& before, const StridedArguments& a, const char* x,
                           Offset first, Offset end, uint32 lane) {
  Packed<Bytes<kWidth>, Input> unit[kUnits];
  State state[kUnits];
  Offset place[kUnits];
  const auto exists = [=](uint32 k) { return first + 32 * k + lane < end; };
  unrolled<kUnits>([&](uint32 k) {
    const Offsets<Offset, 2> offset = offsets_of(first + 32 * k + lane, a.along);
    unit[k] = load_unit<kWidth, false>(exists(k), at<char>(x, offset.value[0]));
    place[k] = offset.value[1];
  });
  if constexpr (Function::kAnyOrder) {
    state[0] = before;
    unrolled<kUnits>([&](uint32 k) {
      unrolled<kResults>([&](uint32 i) {
        if (exists(k)) take_at<Function>(state[0], unit[k].piece[i], place[k] + i);
      });
    });
    return state[0];
  } else {
    unrolled<kUnits>([&](uint32 k) {
      State item[kResults];
      unrolled<kResults>([&](uint32 i) { item[i] = leaf_of(exists(k), unit[k].piece[i]); });
      state[k] = fold(item);
    });
    return fold_warp(state, Lanes{lane});
  }
}

CK_DEVICE void reduce_strided(const StridedArguments& a, char* shared) {
  constexpr Offset kChunk = 32 * kUnits;
  Slot* const stage = reinterpret_cast<Slot*>(shared);
  Slot* const room = stage + kStageStates;
  const uint32 lane = threadIdx.x % 32, warp = warp_number();
  const uint32 team = 1u << a.team_shift, member = warp & (team - 1),
               teams = kWarps >> a.team_shift;
  const Offset row = static_cast<Offset>(blockIdx.x) * teams + (warp >> a.team_shift);
  if (team == 1 && row >= a.rows) return;
  const Offsets<Offset, 2> offset = offsets_of(row, a.kept);
  const char* const x = at<char>(a.x, offset.value[0]);
  Output* const out = at<Output>(a.out, offset.value[1]);
  const Offset from = blockIdx.y * a.share, left = a.length - from;
  const Offset end = from + (left < a.share ? left : a.share);
  uint32 states = team;
  State state = Function::identity();
  if constexpr (Function::kAnyOrder) {
#pragma unroll 1
    for (Offset first = from + member * kChunk; first < end; first += team * kChunk) {
      state = take_chunk(state, a, x, first, end, lane);
    }
    state = fold_lanes(state, Lanes{lane});
    if (lane == 0 && team > 1) stage[warp].state = state;
  } else {
    // The states of a warp alone are in its lanes.
    const auto fill = [&](Offset first, uint32 count) {
#pragma unroll 1
      for (uint32 k = member; k < count; k += team) {
        const State one = take_chunk(state, a, x, from + (first + k) * kChunk, end, lane);
        if (team == 1 && lane == k) state = one;
        if (team > 1 && lane == 0) stage[k].state = one;
      }
    };
    states = stage_parts(stage, (end - from - 1) / kChunk + 1, kStageStates, 1, room, room + kWarps,
                         PartOfOne{}, fill);
    if (team == 1) state = fold_lanes(state, Lanes{lane});
  }
  if (team == 1) {
    if (lane == 0) store_result(a, out, state);
    return;
  }
  finish(a, States{stage, states, 1}, room, PartOfOne{},
         [&](uint32, const State& one) { store_result(a, out, one); });
}

}  // namespace ck
#endif
