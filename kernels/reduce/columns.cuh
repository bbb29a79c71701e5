// Results that lie next to each other in x: a block is a grid of `width` units of them, vectors or
// elements, by groups of threads. A thread reads neighbouring rows of a unit at a time, all in
// flight, and leaves the states of a unit's results in shared memory; functions of any order once.
#pragma once

#include "reduce/bytes.cuh"
#include "reduce/tree.cuh"

#if defined(CK_WIDTH)
namespace ck {

constexpr int kWidth = CK_WIDTH;                  // bytes of a unit
constexpr int kResults = kWidth / sizeof(Input);  // of a unit
constexpr int kAlongRank = CK_RANK < 3 ? 1 : CK_RANK;
constexpr int kRows = 8;  // of a thread in flight
#if defined(CK_INTERLEAVED)
constexpr bool kInterleaved = true;  // neighbouring lanes read neighbouring rows
#else
constexpr bool kInterleaved = false;  // a thread does
#endif

struct ColumnArguments : ReduceArguments {
  Dimension<Offset, 2> kept[CK_RANK];      ///< of units; with strides of x and out
  Dimension<Offset, 2> along[kAlongRank];  ///< what is reduced; with strides of x and of places
  Offset units;
  Offset length;       ///< rows
  Offset share;        ///< of them for a block: as many as there are, or a power of two
  Offset step;         ///< bytes from one result of a unit to the next
  uint32 width_shift;  ///< log2 of the units of a block
  uint32 round;  ///< states of each that shared memory has room for: a power of two if not all
  uint32 room;   ///< parts of these, of all levels
};

/// A vector, or as many bytes as there are in an element; complex128 may lie on 8 bytes.
template <int kWidth, bool kAlways>
CK_DEVICE Packed<Bytes<kWidth>, Input> load_unit(bool exists, const char* address) {
  Packed<Bytes<kWidth>, Input> unit;
  if constexpr (kWidth == 16 && sizeof(Input) == 16) {
    Packed<Bytes<kWidth>, uint64> halves;
    halves.piece[0] = exists ? load(reinterpret_cast<const uint64*>(address)) : 0;
    halves.piece[1] = exists ? load(reinterpret_cast<const uint64*>(address) + 1) : 0;
    unit.vector = halves.vector;
  } else if constexpr (kWidth == 16 && kAlways) {
    unit.vector = load_once(reinterpret_cast<const uint4*>(address));
  } else if constexpr (kWidth == 16) {
    unit.vector = load_if<true>(exists, reinterpret_cast<const uint4*>(address));
  } else {
    unit.vector = exists ? load(reinterpret_cast<const Bytes<kWidth>*>(address)) : 0;
  }
  return unit;
}

/// Adds an element of a unit. The places of single elements ascend in one dimension alone.
template <typename F, typename P>
CK_DEVICE void take_at(typename F::State& state, Input x, P place) {
  if constexpr (F::kIsPlace && kAlongRank > 1 && kResults == 1) {
    F::take_anywhere(state, x, place);
  } else {
    take<F>(state, x, place);
  }
}

/// Adds the units that exist to states of any order, each element to that of its own result.
template <typename F, int kCount, typename P, typename Exists>
CK_DEVICE void take_units(typename F::State (&state)[kResults],
                          const Packed<Bytes<kWidth>, Input> (&unit)[kCount],
                          const P (&place)[kCount], const Exists& exists) {
#pragma unroll
  for (int i = 0; i < kResults; ++i) {
    if constexpr (F::kTakesBytes && kWidth >= 4) {
      BytePlaces<F, Input>::template take_item<kAlongRank == 1>(state[i], i, unit, place, exists);
    } else {
      unrolled<kCount>([&](uint32 k) {
        if (exists(k)) take_at<F>(state[i], unit[k].piece[i], place[k]);
      });
    }
  }
}

/// Reads kRows rows of a unit below `end`, `step` apart: adds them to the states of its results, of
/// functions of any order, or finds their states.
template <bool kAll>
CK_DEVICE void take_rows(State (&state)[kResults], const ColumnArguments& a, const char* x,
                         Offset first, Offset end, uint32 step) {
  const auto exists = [=](uint32 k) { return kAll || first + k * step < end; };
  Packed<Bytes<kWidth>, Input> unit[kRows];
  Offset place[kRows];
  unrolled<kRows>([&](uint32 k) {
    const Offsets<Offset, 2> offset = offsets_of(first + k * step, a.along);
    unit[k] = load_unit<kWidth, kAll>(exists(k), at<char>(x, offset.value[0]));
    place[k] = offset.value[1];
  });
  if constexpr (Function::kAnyOrder) {
    take_units<Function>(state, unit, place, exists);
  } else {
    unrolled<kResults>([&](uint32 i) {
      State row[kRows];
      unrolled<kRows>([&](uint32 k) {
        row[k] = exists(k) ? leaf<Function>(unit[k].piece[i]) : Function::identity();
      });
      if constexpr (kInterleaved) {
        state[i] = fold_warp(row, threadIdx.x % 32, 1u << a.width_shift);
      } else {
        state[i] = fold_leaves<Function>(row);
      }
    });
  }
}

/// A strip of threads reads a unit's rows: a thread, or threads of neighbouring rows of a warp.
CK_DEVICE void reduce_columns(const ColumnArguments& a, char* shared) {
  const uint32 width = 1u << a.width_shift, results = width * kResults;
  const uint32 sides = kInterleaved ? 32u >> a.width_shift : 1, apart = sides * kRows;
  const uint32 strips = (kThreads >> a.width_shift) / sides;
  const uint32 q = threadIdx.x & (width - 1), row = threadIdx.x >> a.width_shift;
  const uint32 side = row & (sides - 1), g = kInterleaved ? threadIdx.x / 32 : row;
  Unit<1>* const stage = reinterpret_cast<Unit<1>*>(shared);
  const Offset unit = static_cast<Offset>(blockIdx.x) * width + q;
  const char* const x = at<char>(a.x, offsets_of(unit, a.kept).value[0]);
  const Offset from = blockIdx.y * a.share, left = a.length - from;
  const Offset rows = left < a.share ? left : a.share;
  const Offset end = unit < a.units ? from + rows : from;  // there are no rows of other units
  const uint32 shift = a.width_shift;
  const auto part_of = [=](uint32 item) {
    return Division<uint32>{(item >> shift) / kResults, item & (results - 1)};
  };
  State state[kResults];
  unrolled<kResults>([&](uint32 i) { state[i] = Function::identity(); });
  const auto leave = [&](uint32 part) {
    unrolled<kResults>(
        [&](uint32 i) { stage[part * results + q * kResults + i].state[0] = state[i]; });
  };
  const auto take = [&](Offset part) {
    const Offset first = from + part * apart + side;
    if (first + (kRows - 1) * sides < end) {
      take_rows<true>(state, a, x, first, end, sides);
    } else {
      take_rows<false>(state, a, x, first, end, sides);
    }
  };
  const Offset parts = (rows - 1) / apart + 1;
  Unit<1>* const room = stage + a.round * results;
  uint32 states = static_cast<uint32>(kThreads) >> shift;
  if constexpr (Function::kAnyOrder) {
#pragma unroll 1
    for (Offset part = g; part < parts; part += strips) take(part);
    leave(row);
  } else {
    const auto fill = [&](Offset first, uint32 count) {
#pragma unroll 1
      for (uint32 k = g; k < count; k += strips) {
        take(first + k);
        if (side == 0) leave(k);
      }
    };
    states =
        stage_parts(stage, parts, a.round, results, room, room + a.room * results, part_of, fill);
  }
  const States<1> found = {stage, states, results};
  finish(a, found, room, shared, part_of, [&](uint32 result, const Unit<1>& one) {
    const Offset own = static_cast<Offset>(blockIdx.x) * width + result / kResults;
    if (own < a.units) {
      const Offset place = offsets_of(own, a.kept).value[1] + result % kResults * a.step;
      store_result(a, at<Output>(a.out, place), one.state[0]);
    }
  });
}

}  // namespace ck
#endif
