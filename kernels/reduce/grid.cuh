// SPDX-License-Identifier: MIT
// Any layout: a block is a grid of `width` results by `groups` threads that share each. A thread
// reads vectors of results that are next to each other in x, or single elements.
#pragma once

#include "common/memory.cuh"
#include "common/strided.cuh"
#include "common/types.cuh"
#include "reduce/bytes.cuh"
#include "reduce/fold.cuh"

namespace ck {

constexpr uint32 kThreadShift = 8;
static_assert(1 << kThreadShift == kThreads, "log2 of the threads");

template <typename O, int kRank, typename R>
struct GridArguments {
  const void* x;
  void* out;
  uint64* workspace;
  R rest;                        ///< what finish takes beside a state
  Dimension<O, 2> kept[kRank];   ///< of units: vectors of results; with strides of x and out
  Dimension<O, 2> along[kRank];  ///< what is reduced; with strides of x and of places
  Divisor<O> splits;             ///< blocks that share a result
  O units;
  O length;            ///< elements of x for one of out
  O share;             ///< of them for a block
  O step;              ///< bytes from one result of a unit to the next
  uint32 width_shift;  ///< log2 of the units of a block
  uint32 along_first;  ///< 1 if neighbouring threads share a result, 0 if each has its own
};

/// A vector, or as many bytes as there are in an element; complex128 may lie on 8 bytes.
template <typename In, int kWidth, bool kAlways>
CK_DEVICE Packed<Bytes<kWidth>, In> load_unit(bool exists, const char* address) {
  Packed<Bytes<kWidth>, In> unit;
  if constexpr (kWidth == 16 && sizeof(In) == 16) {
    Packed<In, uint64> halves;
    halves.piece[0] = exists ? load(reinterpret_cast<const uint64*>(address)) : 0;
    halves.piece[1] = exists ? load(reinterpret_cast<const uint64*>(address) + 1) : 0;
    unit.piece[0] = halves.vector;
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
template <typename F, bool kInOrder, typename In, typename P>
CK_DEVICE void take(typename F::State& state, In x, P place) {
  if constexpr (kInOrder || !F::kIsPlace) {
    F::take(state, x, place);
  } else {
    F::take_anywhere(state, x, place);
  }
}

/// Takes those of some units that exist, each element into the state of its own result; places
/// ascend if there are several, equally far apart if `kRegular`.
template <typename F, bool kRegular, typename In, typename V, int kLoads, int kItems, typename P,
          typename Exists>
CK_DEVICE void take_units(typename F::State (&state)[kItems], const Packed<V, In> (&unit)[kLoads],
                          const P (&place)[kLoads], const Exists& exists) {
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if constexpr (F::kTakesBytes && sizeof(V) >= 4) {
      BytePlaces<F, In>::template take_item<kRegular>(state[i], i, unit, place, exists);
    } else if constexpr (F::kTakesMany) {
      typename F::Number numbers[kLoads];
#pragma unroll
      for (uint32 k = 0; k < kLoads; ++k) {
        numbers[k] = exists(k) ? convert<typename F::Number>(unit[k].piece[i]) : F::absent();
      }
      F::take_many(state[i], numbers);
    } else {
      typename F::State turn = F::kFoldsTurns ? F::identity() : state[i];
#pragma unroll
      for (uint32 k = 0; k < kLoads; ++k) {
        if (exists(k)) {
          take<F, (kItems > 1)>(turn, unit[k].piece[i], place[k]);
        }
      }
      state[i] = F::kFoldsTurns ? F::combine(state[i], turn) : turn;
    }
  }
}

/// Takes kLoads units of x in, `step` elements apart; all of them, or those before `end`.
template <typename F, typename In, int kWidth, int kLoads, bool kAll, typename O, int kRank,
          int kItems>
CK_DEVICE void take_turn(typename F::State (&state)[kItems], const Dimension<O, 2> (&along)[kRank],
                         const char* x, O first, O end, uint32 step) {
  const auto exists = [=](uint32 k) { return kAll || first + k * step < end; };
  Packed<Bytes<kWidth>, In> value[kLoads];
  O place[kLoads];
#pragma unroll
  for (uint32 k = 0; k < kLoads; ++k) {
    const Offsets<O, 2> offset = offsets_of(static_cast<O>(first + k * step), along);
    value[k] = load_unit<In, kWidth, kAll>(exists(k), at<char>(x, offset.value[0]));
    place[k] = offset.value[1];
  }
  take_units<F, kRank == 1>(state, value, place, exists);
}

template <typename F, typename In, typename Out, int kWidth, typename O, int kRank>
CK_DEVICE void reduce_grid(const GridArguments<O, kRank, typename F::Rest>& a, char* shared) {
  using State = typename F::State;
  constexpr int kItems = kWidth / sizeof(In);
  constexpr bool kHasManyOffsets = kRank > 1 && sizeof(O) > 4 && kItems >= 8;
  constexpr int kLoads = kItems > 1 && !kHasManyOffsets ? 8 : 4;
  State* const folded = reinterpret_cast<State*>(shared);
  const uint32 width = 1u << a.width_shift, groups = kThreads >> a.width_shift;
  const uint32 thread = threadIdx.x;
  const bool along_first = a.along_first != 0;
  const uint32 low_shift = along_first ? kThreadShift - a.width_shift : a.width_shift;
  const uint32 low = thread & ((1u << low_shift) - 1), high = thread >> low_shift;
  const uint32 q = along_first ? high : low, g = along_first ? low : high;
  const Division<O> block = divide(static_cast<O>(blockIdx.x), a.splits);
  const O tile = block.quotient, split = block.remainder;
  const O unit = tile * width + q;
  State state[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    state[i] = F::identity();
  }
  Offsets<O, 2> offset = {};
  if (unit < a.units) {
    offset = offsets_of(unit, a.kept);
    const char* const x = at<char>(a.x, offset.value[0]);
    const O from = split * a.share, left = a.length - from;
    const O to = from + (left < a.share ? left : a.share);
    const auto is_whole = [=](O first) { return first < to && to - first > (kLoads - 1) * groups; };
    O first = from + g;
    if constexpr (!F::kIsLong && kItems > 1) {
#pragma unroll 1
      for (; is_whole(first); first += kLoads * groups) {
        take_turn<F, In, kWidth, kLoads, true>(state, a.along, x, first, to, groups);
      }
    }
#pragma unroll 1
    for (; first < to; first += kLoads * groups) {
      take_turn<F, In, kWidth, kLoads, false>(state, a.along, x, first, to, groups);
    }
  }
  fold_groups<F>(state, folded, q, g, width, groups);
  const uint32 splits = static_cast<uint32>(a.splits.value), states = width * kItems;
  const auto put = [&](State* all) {
    if (g == 0) {
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        all[i * width + q] = state[i];
      }
    }
  };
  const auto get = [&](const State* all, uint32 count) {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      state[i] = F::identity();
    }
#pragma unroll 1
    for (uint32 k = g; k < count; k += groups) {
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        state[i] = F::combine(state[i], all[k * states + i * width + q]);
      }
    }
    fold_groups<F>(state, folded, q, g, width, groups);
  };
  if (splits > 1 && !fold_blocks<State>(a.workspace, static_cast<uint32>(tile),
                                        static_cast<uint32>(split), splits, states, put, get)) {
    return;
  }
  if (g == 0 && unit < a.units) {
    Out result[kItems];
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      result[i] = convert<Out>(F::finish(state[i], a.rest));
    }
    if (kItems == 1 || a.step == sizeof(Out)) {
      store_packed(at<Out>(a.out, offset.value[1]), result);
    } else {
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        store(at<Out>(a.out, static_cast<O>(offset.value[1] + i * a.step)), result[i]);
      }
    }
  }
}

}  // namespace ck
