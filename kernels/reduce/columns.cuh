// SPDX-License-Identifier: MIT
// Columns of a contiguous x whose rows do not start on vectors. A thread reads aligned vectors that
// lie so far apart that the same columns come under them each time, and keeps a state for each
// element of a vector; at the end those of a column meet in shared memory. Blocks may share
// columns.
//
// Few columns, whole: the threads of a block follow x through the ends of rows, `groups` times
// `span` vectors a turn, which are whole rows. Many: a block has a range of columns, and each of
// its groups of threads reads rows that start at the same phase of a vector; vectors at the ends of
// the range hold neighbours too, which are dropped.
#pragma once

#include "common/division.cuh"
#include "common/types.cuh"
#include "reduce/fold.cuh"
#include "reduce/grid.cuh"
#include "reduce/stage.cuh"

namespace ck {

constexpr int kColumnLoads = 8;  // vectors of a thread in flight

/// Both arrays are contiguous.
template <typename O, typename R>
struct ColumnArguments {
  const void* x;
  void* out;
  uint64* workspace;
  R rest;                  ///< what finish takes beside a state
  Divisor<O> splits;       ///< blocks that share columns
  Divisor<O> ranges;       ///< of columns
  O bytes;                 ///< of x
  O rows;                  ///< of a slab
  O share;                 ///< of them for a block
  O columns;               ///< of a slab
  Divisor<O> step;         ///< from a thread's vector, or row, to its next
  Divisor<uint32> span;    ///< threads side by side, a vector each
  Divisor<uint32> across;  ///< columns that are folded at once
  uint32 width;            ///< columns of a range; the last may have fewer
  uint32 groups;           ///< of threads side by side
  uint32 parts;            ///< of threads that fold a column
  uint32 period;           ///< rows of `span` vectors; 0 if a block has a range of columns
};

/// How many elements of its vector lie in front of the one at a byte of x.
template <typename In, int kWidth, typename O>
CK_DEVICE uint32 phase_of_item(O byte) {
  return static_cast<uint32>(byte % kWidth) / sizeof(In);
}

/// What a block has of x: `rows` rows of a slab from `from` on, `width` columns from `first_column`
/// on; the first of these elements is at byte `begin`.
template <typename O>
struct ColumnShare {
  Division<O> block;
  O slab;
  O from;
  O rows;
  O first_column;
  uint32 width;
  O row_bytes;
  O begin;

  template <typename R>
  CK_DEVICE ColumnShare(const ColumnArguments<O, R>& a, O x, uint32 item) {
    block = divide(static_cast<O>(blockIdx.x), a.splits);
    const Division<O> range = divide(block.quotient, a.ranges);
    slab = range.quotient, first_column = range.remainder * a.width;
    const O left = a.columns - first_column;
    width = left < a.width ? static_cast<uint32>(left) : a.width;
    from = block.remainder * a.share;
    rows = a.rows - from < a.share ? a.rows - from : a.share;
    row_bytes = a.columns * item;
    begin = x + (slab * a.rows + from) * row_bytes + first_column * item;
  }
};

/// The vectors of a thread: number `first` and every `step`-th on, below `count`. They are whole
/// where they lie in [low, high); the first and the last may lie there in part.
template <typename O>
struct ColumnWalk {
  const char* vector;  ///< number `first`
  O byte;              ///< of x, where that is
  O first;
  O step;
  O count;
  O unit;       ///< bytes from a number to the next
  O last_byte;  ///< of x, where number count - 1 is
  O low;
  O high;
};

/// A vector; also of one complex128, which lies on 16 bytes here.
template <typename In, int kWidth, bool kAlways>
CK_DEVICE Packed<Bytes<kWidth>, In> load_vector(bool exists, const char* address) {
  if constexpr (sizeof(In) == 16) {
    Packed<uint4, In> item;
    const uint4* const vector = reinterpret_cast<const uint4*>(address);
    item.vector = kAlways ? load_once(vector) : load_if<true>(exists, vector);
    return item;
  } else {
    return load_unit<In, kWidth, kAlways>(exists, address);
  }
}

/// Takes kColumnLoads vectors, `step` bytes apart; all of them, or as many as are left.
template <typename F, typename In, int kWidth, bool kAll, typename O, int kItems>
CK_DEVICE void take_vectors(typename F::State (&state)[kItems], const char* vector, uint64 step,
                            O left, O every, O turn) {
  const auto exists = [=](uint32 k) { return kAll || static_cast<O>(k) * every < left; };
  Packed<Bytes<kWidth>, In> value[kColumnLoads];
  O place[kColumnLoads];
#pragma unroll
  for (uint32 k = 0; k < kColumnLoads; ++k) {
    value[k] = load_vector<In, kWidth, kAll>(exists(k), vector + k * step);
    place[k] = turn + k;
  }
  take_units<F, true>(state, value, place, exists);
}

/// Takes the elements of a vector that are the block's.
template <typename F, typename In, typename O, int kItems>
CK_DEVICE void take_part(typename F::State (&state)[kItems], const char* vector, O byte,
                         const ColumnWalk<O>& walk, O turn) {
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const O at = byte + i * sizeof(In);
    if (at >= walk.low && at < walk.high) {
      F::take(state[i], load_struct(reinterpret_cast<const In*>(vector) + i), turn);
    }
  }
}

/// Takes the vectors of a thread; places are turns.
template <typename F, typename In, int kWidth, typename O, int kItems>
CK_DEVICE void take_walk(typename F::State (&state)[kItems], const ColumnWalk<O>& walk,
                         const Divisor<O>& by) {
  const uint64 step = static_cast<uint64>(walk.step) * walk.unit;
  const char* vector = walk.vector;
  O number = walk.first, turn = 0;
  if (number < walk.count && walk.byte < walk.low) {
    take_part<F, In>(state, vector, walk.byte, walk, turn);
    number += walk.step, vector += step, turn = 1;
  }
  const bool ends = walk.last_byte + kWidth > walk.high;
  const O whole = walk.count - (ends ? 1 : 0);
  if constexpr (!F::kIsLong) {
#pragma unroll 1
    for (; number < whole && whole - number > (kColumnLoads - 1) * walk.step;
         turn += kColumnLoads) {
      take_vectors<F, In, kWidth, true>(state, vector, step, whole - number, walk.step, turn);
      number += kColumnLoads * walk.step, vector += kColumnLoads * step;
    }
  }
#pragma unroll 1
  for (; number < whole; turn += kColumnLoads) {
    take_vectors<F, In, kWidth, false>(state, vector, step, whole - number, walk.step, turn);
    number += kColumnLoads * walk.step, vector += kColumnLoads * step;
  }
  const Division<O> last = divide(whole, by);
  if (ends && last.remainder == walk.first && (last.quotient != 0 || walk.byte >= walk.low)) {
    take_part<F, In>(state, walk.vector + last.quotient * step, walk.last_byte, walk,
                     last.quotient);
  }
}

/// Where the states of a block's threads are, by thread and element of a vector: so that neither
/// threads nor elements side by side meet in a bank.
template <typename State, int kItems>
struct ColumnStage {
  static constexpr uint32 kPad = kItems > 1 ? 128 / sizeof(State) / kItems : 0;
  static constexpr uint32 kStates = kItems * (kThreads + kPad);
  State* states;

  CK_DEVICE State& at(uint32 thread, uint32 item) const {
    return states[item * (kThreads + kPad) + thread];
  }
};

/// Folds `count` states of each of `width` columns, from(m, column) being the m-th, and gives each
/// result to put(column, state), the same column always by the same thread. By the whole block.
template <typename F, typename O, typename From, typename Put>
CK_DEVICE void fold_columns(const ColumnArguments<O, typename F::Rest>& a, typename F::State* tree,
                            uint32 width, uint32 count, const From& from, const Put& put) {
  constexpr int kUnrolled = F::kIsLong ? 1 : 8;
  const Division<uint32> place = divide(threadIdx.x, a.across);
  const uint32 part = place.quotient;
#pragma unroll 1
  for (uint32 base = 0; base < width; base += a.across.value) {
    const uint32 column = base + place.remainder;
    typename F::State state[1] = {F::identity()};
    if (part < a.parts && column < width) {
#pragma unroll kUnrolled
      for (uint32 m = part; m < count; m += a.parts) {
        state[0] = F::combine(state[0], from(m, column));
      }
    }
    fold_groups<F>(state, tree, place.remainder, part, a.across.value, a.parts);
    if (part == 0 && column < width) {
      put(column, state[0]);
    }
  }
}

/// The walk of this thread, and whether it has one.
template <typename In, int kWidth, typename O, typename R>
CK_DEVICE bool find_walk(ColumnWalk<O>& walk, const ColumnArguments<O, R>& a, const Extent<O>& x,
                         const ColumnShare<O>& share) {
  constexpr uint32 kItems = kWidth / sizeof(In);
  const Division<uint32> place = divide(threadIdx.x, a.span);
  const uint32 v = place.remainder, g = place.quotient;
  bool reads = g < a.groups;
  walk.step = a.step.value;
  if (a.period != 0) {
    walk.low = share.begin, walk.high = share.begin + share.rows * share.row_bytes;
    walk.unit = kWidth, walk.first = threadIdx.x;
    walk.byte = share.begin / kWidth * kWidth + threadIdx.x * kWidth;
    walk.count = (walk.high + kWidth - 1) / kWidth - share.begin / kWidth;
    walk.last_byte = (walk.high - 1) / kWidth * kWidth;
  } else {
    const O row = share.begin + g * share.row_bytes;
    const O last = share.begin + (share.rows - 1) * share.row_bytes;
    walk.low = x.begin, walk.high = x.end;
    walk.unit = share.row_bytes, walk.first = g;
    walk.byte = row / kWidth * kWidth + v * kWidth;
    walk.count = share.rows;
    walk.last_byte = last / kWidth * kWidth + v * kWidth;
    reads = reads && v * kItems < phase_of_item<In, kWidth>(row) + share.width;
  }
  walk.vector = x.base + walk.byte;
  return reads;
}

/// The m-th of the states that threads have for a column. Places, which are turns, become rows.
template <typename F, typename In, int kItems, typename O>
CK_DEVICE typename F::State staged_state(const ColumnStage<typename F::State, kItems>& stage,
                                         const ColumnArguments<O, typename F::Rest>& a,
                                         const ColumnShare<O>& share, uint32 m, uint32 column) {
  constexpr int kWidth = kItems * sizeof(In);
  uint32 element, thread = 0, turn_rows = a.groups;
  O row = share.from + m;
  if (a.period != 0) {
    element = column + phase_of_item<In, kWidth>(share.begin);
    for (; element >= share.width; element -= share.width) {
      --row;
    }
    element += m * share.width;
    turn_rows *= a.period;
  } else {
    element = column + phase_of_item<In, kWidth>(static_cast<O>(share.begin + m * share.row_bytes));
    thread = m * a.span.value;
  }
  typename F::State state = stage.at(thread + element / kItems, element % kItems);
  if constexpr (F::kIsPlace) {
    state.place = state.place == F::kNone ? F::kNone : row + state.place * turn_rows;
  }
  return state;
}

template <typename F, typename In, typename Out, int kColumns, typename O>
CK_DEVICE void reduce_columns(const ColumnArguments<O, typename F::Rest>& a, char* shared) {
  using State = typename F::State;
  constexpr int kWidth = kColumns * sizeof(In);
  using Stage = ColumnStage<State, kColumns>;
  const Stage stage = {reinterpret_cast<State*>(shared)};
  State* const tree = stage.states + Stage::kStates;
  State* const total = tree + kThreads;
  const Extent<O> x(a.x, a.bytes);
  const ColumnShare<O> share(a, x.begin, sizeof(In));
  State state[kColumns];
#pragma unroll
  for (int i = 0; i < kColumns; ++i) {
    state[i] = F::identity();
  }
  ColumnWalk<O> walk;
  if (find_walk<In, kWidth>(walk, a, x, share)) {
    take_walk<F, In, kWidth>(state, walk, a.step);
  }
#pragma unroll
  for (int i = 0; i < kColumns; ++i) {
    stage.at(threadIdx.x, i) = state[i];
  }
  __syncthreads();
  const auto from_threads = [&](uint32 m, uint32 column) {
    return staged_state<F, In>(stage, a, share, m, column);
  };
  const auto keep = [&](uint32 column, const State& found) { total[column] = found; };
  const uint32 states = a.groups * (a.period != 0 ? a.period : 1);  // of a column
  fold_columns<F>(a, tree, share.width, states, from_threads, keep);
  // Each thread has to do with the same columns each time.
  const auto for_columns = [&](const auto& act) {
    const Division<uint32> own = divide(threadIdx.x, a.across);
    for (uint32 c = own.remainder; own.quotient == 0 && c < share.width; c += a.across.value) {
      act(c);
    }
  };
  const auto put = [&](State* all) { for_columns([&](uint32 c) { all[c] = total[c]; }); };
  const auto get = [&](const State* all, uint32 count) {
    const auto from_blocks = [&](uint32 m, uint32 column) { return all[m * a.width + column]; };
    fold_columns<F>(a, tree, share.width, count, from_blocks, keep);
  };
  const uint32 splits = static_cast<uint32>(a.splits.value);
  if (splits > 1 &&
      !fold_blocks<State>(a.workspace, static_cast<uint32>(share.block.quotient),
                          static_cast<uint32>(share.block.remainder), splits, a.width, put, get)) {
    return;
  }
  Out* const out = static_cast<Out*>(a.out) + share.slab * a.columns + share.first_column;
  for_columns([&](uint32 c) { store(out + c, convert<Out>(F::finish(total[c], a.rest))); });
}

}  // namespace ck
