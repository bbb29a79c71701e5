// Any layout: a block is a grid of `width` results by `groups` threads that share each. A thread
// reads vectors of results that are next to each other in x, or single elements.
#pragma once

#include "common/division.cuh"
#include "common/memory.cuh"
#include "reduce/bytes.cuh"
#include "reduce/fold.cuh"

namespace ck {

constexpr uint32 kThreadShift = 8;
static_assert(1 << kThreadShift == kThreads, "log2 of the threads");

template <int kRank>
struct GridArguments : ReduceArguments {
  Dimension<Offset, 2> kept[kRank];   ///< of units: vectors of results; with strides of x and out
  Dimension<Offset, 2> along[kRank];  ///< what is reduced; with strides of x and of places
  Divisor<Offset> splits;             ///< blocks that share a result
  Offset units;
  Offset length;       ///< elements of x that a result takes
  Offset share;        ///< of these for a block
  Offset step;         ///< bytes from one result of a unit to the next
  uint32 width_shift;  ///< log2 of the units of a block
  uint32 along_first;  ///< 1 if neighbouring threads share a result, 0 if each has its own
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

/// Vectors are taken in the order of their places, single elements in any.
template <typename F, bool kInOrder, typename P>
CK_DEVICE void take(typename F::State& state, Input x, P place) {
  if constexpr (kInOrder || !F::kIsPlace) {
    F::take(state, x, place);
  } else {
    F::take_anywhere(state, x, place);
  }
}

/// Takes the units that exist, each element into the state of its own result. The places of several
/// units ascend; with `kRegular` they are equally far apart.
template <typename F, bool kRegular, typename V, int kLoads, int kItems, typename P,
          typename Exists>
CK_DEVICE void take_units(typename F::State (&state)[kItems],
                          const Packed<V, Input> (&unit)[kLoads], const P (&place)[kLoads],
                          const Exists& exists) {
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if constexpr (F::kTakesBytes && sizeof(V) >= 4) {
      BytePlaces<F, Input>::template take_item<kRegular>(state[i], i, unit, place, exists);
    } else if constexpr (F::kTakesMany > 0 && !F::kIsLong) {
      typename F::Number numbers[kLoads];
#pragma unroll
      for (uint32 k = 0; k < kLoads; ++k) {
        numbers[k] = exists(k) ? convert<typename F::Number>(unit[k].piece[i]) : F::absent();
      }
      take_numbers<F>(state[i], numbers);
    } else {
      typename F::State turn = begun_turn<F>(state[i]);
#pragma unroll
      for (uint32 k = 0; k < kLoads; ++k) {
        if (exists(k)) take<F, (kItems > 1)>(turn, unit[k].piece[i], place[k]);
      }
      state[i] = ended_turn<F>(state[i], turn);
    }
  }
}

/// Takes kLoads units of x in, `step` elements apart; all of them, or those before `end`.
template <int kWidth, int kLoads, bool kAll, int kRank, int kItems>
CK_DEVICE void take_turn(State (&state)[kItems], const Dimension<Offset, 2> (&along)[kRank],
                         const char* x, Offset first, Offset end, uint32 step) {
  const auto exists = [=](uint32 k) { return kAll || first + k * step < end; };
  Packed<Bytes<kWidth>, Input> value[kLoads];
  Offset place[kLoads];
#pragma unroll
  for (uint32 k = 0; k < kLoads; ++k) {
    const Offsets<Offset, 2> offset = offsets_of(first + k * step, along);
    value[k] = load_unit<kWidth, kAll>(exists(k), at<char>(x, offset.value[0]));
    place[k] = offset.value[1];
  }
  take_units<Function, kRank == 1>(state, value, place, exists);
}

template <int kWidth, int kRank>
CK_DEVICE void reduce_grid(const GridArguments<kRank>& a, char* shared) {
  constexpr int kItems = kWidth / sizeof(Input);
  constexpr bool kHasManyOffsets = kRank > 1 && sizeof(Offset) > 4 && kItems >= 8;
  constexpr int kLoads = kItems > 1 && !kHasManyOffsets ? 8 : 4;
  State* const folded = reinterpret_cast<State*>(shared);
  const uint32 width = 1u << a.width_shift, groups = kThreads >> a.width_shift;
  const uint32 thread = threadIdx.x;
  const bool along_first = a.along_first != 0;
  const uint32 low_shift = along_first ? kThreadShift - a.width_shift : a.width_shift;
  const uint32 low = thread & ((1u << low_shift) - 1), high = thread >> low_shift;
  const uint32 q = along_first ? high : low, g = along_first ? low : high;
  const Division<Offset> block = divide(static_cast<Offset>(blockIdx.x), a.splits);
  const Offset tile = block.quotient, split = block.remainder;
  const Offset unit = tile * width + q;
  State state[kItems];
  clear(state);
  Offsets<Offset, 2> offset = {};
  if (unit < a.units) {
    offset = offsets_of(unit, a.kept);
    const char* const x = at<char>(a.x, offset.value[0]);
    const Offset from = split * a.share, left = a.length - from;
    const Offset to = from + (left < a.share ? left : a.share);
    const auto is_whole = [=](Offset first) {
      return first < to && to - first > (kLoads - 1) * groups;
    };
    Offset first = from + g;
    if constexpr (!Function::kIsLong && kItems > 1) {
#pragma unroll 1
      for (; is_whole(first); first += kLoads * groups) {
        take_turn<kWidth, kLoads, true>(state, a.along, x, first, to, groups);
      }
    }
#pragma unroll 1
    for (; first < to; first += kLoads * groups) {
      take_turn<kWidth, kLoads, false>(state, a.along, x, first, to, groups);
    }
  }
  fold_groups(state, folded, q, g, width, groups);
  const uint32 splits = static_cast<uint32>(a.splits.value), states = width * kItems;
  const auto put = [&](State* all) {
    if (g == 0) {
#pragma unroll
      for (int i = 0; i < kItems; ++i) all[i * width + q] = state[i];
    }
  };
  const auto get = [&](const State* all, uint32 count) {
    clear(state);
#pragma unroll 1
    for (uint32 k = g; k < count; k += groups) {
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        state[i] = Function::combine(state[i], all[k * states + i * width + q]);
      }
    }
    fold_groups(state, folded, q, g, width, groups);
  };
  if (splits > 1 && !fold_blocks(a.workspace, static_cast<uint32>(tile), static_cast<uint32>(split),
                                 splits, states, put, get)) {
    return;
  }
  if (g == 0 && unit < a.units) {
    Output result[kItems];
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      result[i] = convert<Output>(Function::finish(state[i], a.rest));
    }
    if (kItems == 1 || a.step == sizeof(Output)) {
      store_packed(at<Output>(a.out, offset.value[1]), result);
    } else {
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        store(at<Output>(a.out, offset.value[1] + i * a.step), result[i]);
      }
    }
  }
}

}  // namespace ck
