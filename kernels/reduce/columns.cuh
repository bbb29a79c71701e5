// Results that lie next to each other in x: a block is a grid of `width` units of them, vectors or
// elements, by strips of threads. A thread reads neighbouring rows of a unit at a time, all in
// flight, and leaves the states of the unit's results in shared memory: those of each time, or
// once. In narrow arrays whose rows lie one behind the other, lanes of a warp read neighbouring
// rows: each side of the warp reads every so many.
#pragma once

#include "reduce/bytes.cuh"
#include "reduce/tree.cuh"

#if defined(CK_WIDTH)
namespace ck {

constexpr int kWidth = CK_WIDTH;                                     // bytes of a unit
constexpr int kResults = kWidth / sizeof(Input);                     // of a unit
constexpr int kTurnLevels = kResults * sizeof(State) <= 16 ? 3 : 1;  // of turns of a thread, once
constexpr int kAlongRank = CK_RANK < 3 ? 1 : CK_RANK;
constexpr int kRows = CK_LOADS;  // of a thread in flight
#if defined(CK_INTERLEAVED)
constexpr bool kInterleaved = true;  // sides of a warp read neighbouring rows: eight or more
#else
constexpr bool kInterleaved = false;  // each thread reads neighbouring rows
#endif

struct ColumnArguments : ReduceArguments {
  Dimension<Offset, 2> kept[CK_RANK];      ///< of units; with strides of x and out
  Dimension<Offset, 2> along[kAlongRank];  ///< what is reduced; with strides of x and of places
  Offset units;
  Offset length;            ///< rows
  Offset share;             ///< of them for a block: as many as there are, or a power of two
  Offset step;              ///< bytes from one result of a unit to the next
  Divisor<uint32> width;    ///< units of a block
  Divisor<uint32> results;  ///< of a block
  uint32 strips;            ///< threads that read a unit's rows, or warps, if sides do
  uint32 sides;             ///< of a warp: a power of two
  uint32 width_shift;       ///< log2 of the width, if it is a power of two
  uint32 strip_shift;       ///< log2 of strips that leave a state together, once
  uint32 states;            ///< of each result that are left, once
  uint32 turns;             ///< once: parts of a thread, next to each other: a power of two
  uint32 round;  ///< states of each that shared memory has room for: a power of two if not all
  uint32 room;   ///< parts of these, of all levels
};

/// A vector, or as many bytes as there are in an element; complex128 may lie on 8 bytes. What does
/// not exist changes no state, if there are such elements.
template <int kWidth, bool kAlways>
CK_DEVICE Packed<Bytes<kWidth>, Input> load_unit(bool exists, const char* address) {
  Packed<Bytes<kWidth>, Input> unit;
  unit.vector = absent_vector<Bytes<kWidth>>();
  if constexpr (kWidth == 16 && sizeof(Input) == 16) {
    Packed<Bytes<kWidth>, uint64> halves;
    halves.vector = unit.vector;
    if (exists) halves.piece[0] = load(reinterpret_cast<const uint64*>(address));
    if (exists) halves.piece[1] = load(reinterpret_cast<const uint64*>(address) + 1);
    unit.vector = halves.vector;
  } else if constexpr (kWidth == 16 && kAlways) {
    unit.vector = load_once(reinterpret_cast<const uint4*>(address));
  } else if constexpr (kWidth == 16) {
    unit.vector = load_if<true>(exists, reinterpret_cast<const uint4*>(address), unit.vector);
  } else if (exists) {
    unit.vector = load(reinterpret_cast<const Bytes<kWidth>*>(address));
  }
  return unit;
}

/// The state of an element that may not exist, as load_unit gives it.
CK_DEVICE State leaf_of(bool exists, Input x) {
  return Function::kHasAbsent || exists ? leaf<Function>(x) : Function::identity();
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
                         Offset first, Offset end, uint32 step, const Sides& by) {
  const auto exists = [=](uint32 k) { return kAll || first + k * step < end; };
  Packed<Bytes<kWidth>, Input> unit[kRows];
  Offset place[kRows];
  if constexpr (kAlongRank == 1) {  // one multiplication a row
    const auto& along = a.along[0];
    const char* const row = at<char>(x, first * along.stride[0]);
    const int64 apart = signed_offset(step * along.stride[0]);
    unrolled<kRows>([&](uint32 k) {
      unit[k] = load_unit<kWidth, kAll>(exists(k), row + k * apart);
      place[k] = (first + k * step) * along.stride[1];
    });
  } else {
    unrolled<kRows>([&](uint32 k) {
      const Offsets<Offset, 2> offset = offsets_of(first + k * step, a.along);
      unit[k] = load_unit<kWidth, kAll>(exists(k), at<char>(x, offset.value[0]));
      place[k] = offset.value[1];
    });
  }
  if constexpr (Function::kAnyOrder) {
    take_units<Function>(state, unit, place, exists);
  } else {
    unrolled<kResults>([&](uint32 i) {
      State row[kRows];
      unrolled<kRows>([&](uint32 k) { row[k] = leaf_of(exists(k), unit[k].piece[i]); });
      if constexpr (kInterleaved) {
        state[i] = fold_warp(row, by, a.sides);
      } else {
        state[i] = fold_leaves<Function>(row);
      }
    });
  }
}

CK_DEVICE void reduce_columns(const ColumnArguments& a, char* shared) {
  const uint32 width = a.width.value, results = a.results.value, lane = threadIdx.x % 32;
  Division<uint32> place;
  if constexpr (kOnce && !kInterleaved) {  // the width is a power of two
    place = {threadIdx.x >> a.width_shift, threadIdx.x & (width - 1)};
  } else {
    place = divide(kInterleaved ? lane : threadIdx.x, a.width);
  }
  const uint32 q = place.remainder, side = place.quotient & (a.sides - 1);
  const uint32 strip = kInterleaved ? threadIdx.x / 32 : place.quotient;
  const uint32 step = kInterleaved ? a.sides : 1, apart = step * kRows;
  const bool reads = kInterleaved ? place.quotient < a.sides : strip < a.strips;
  const Sides by = {lane, side, width};
  Slot* const stage = reinterpret_cast<Slot*>(shared);
  const Offset unit = static_cast<Offset>(blockIdx.x) * width + q;
  const char* const x = at<char>(a.x, offsets_of(unit, a.kept).value[0]);
  const Offset from = blockIdx.y * a.share, left = a.length - from;
  const Offset rows = left < a.share ? left : a.share;
  // Threads of other units have no rows. Sides of no use read what others read.
  const Offset end = (reads || kInterleaved) && unit < a.units ? from + rows : from;
  State state[kResults];
  unrolled<kResults>([&](uint32 i) { state[i] = Function::identity(); });
  const auto leave = [&](uint32 part) {
    unrolled<kResults>(
        [&](uint32 i) { stage[part * results + q * kResults + i].state = state[i]; });
  };
  const auto first_of = [&](Offset part) {
    return from + part * apart + (kInterleaved ? side : 0);
  };
  const auto take = [&](Offset part) {
    const Offset first = first_of(part);
    if (!Function::kIsLong && from + part * apart + (apart - 1) < end) {
      take_rows<true>(state, a, x, first, end, step, by);
    } else {
      take_rows<false>(state, a, x, first, end, step, by);
    }
  };
  const auto part_of = [&](uint32 item) { return divide(item, a.results); };
  const auto write = [&](uint32 result, const State& one) {
    const Offset own = static_cast<Offset>(blockIdx.x) * width + result / kResults;
    if (own < a.units) {
      const Offset written = offsets_of(own, a.kept).value[1] + result % kResults * a.step;
      store_result(a, at<Output>(a.out, written), one);
    }
  };
  const Offset parts = ((rows - 1) >> (31 - __clz(apart))) + 1;  // which is a power of two
  Slot* const room = stage + a.round * results;
  if constexpr (Function::kAnyOrder || kOnce) {
    if constexpr (kOnce) {
      Pending<kTurnLevels> pending[kResults];
      Offset first = first_of(strip * a.turns);
#pragma unroll 1
      for (uint32 turn = 0; turn < a.turns; ++turn, first += apart) {
        take_rows<false>(state, a, x, first, end, step, by);
        unrolled<kResults>([&](uint32 i) { state[i] = pending[i].push(turn, state[i]); });
      }
    } else {
#pragma unroll 1
      for (Offset part = strip; part < parts; part += a.strips) take(part);
    }
    if constexpr (!kInterleaved) {
      if (a.sides > 1) {  // and have all lanes
#pragma unroll kUnrolledLevels
        for (uint32 bit = 1; bit < 32; bit *= 2) {
          if (bit < width) continue;
          unrolled<kResults>(
              [&](uint32 i) { state[i] = fold_neighbours(state[i], Lanes{lane}, bit); });
        }
      }
    } else if constexpr (Function::kAnyOrder) {
      unrolled<kResults>([&](uint32 i) { state[i] = fold_lanes(state[i], by, a.sides); });
    }
    if (reads && side == 0) leave(strip >> a.strip_shift);
    const States found = {stage, a.states, results};
    finish(a, found, room, part_of, write);
  } else {
    const auto fill = [&](Offset first, uint32 count) {
#pragma unroll 1
      for (uint32 k = strip; k < count; k += a.strips) {
        take(first + k);
        if (reads && side == 0) leave(k);
      }
    };
    const uint32 states =
        stage_parts(stage, parts, a.round, results, room, room + a.room * results, part_of, fill);
    finish(a, States{stage, states, results}, room, part_of, write);
  }
}

}  // namespace ck
#endif
