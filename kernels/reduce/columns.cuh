// Columns of a contiguous x whose rows do not start on vectors. A thread reads aligned vectors at
// such a distance that each of them holds the same columns. It keeps a state for each element of a
// vector. At the end the states of a column meet in shared memory. Blocks may share columns.
//
// Few columns: a block takes rows as a whole. Its threads follow x through the ends of rows; a turn
// is `groups` times `span` vectors, which are whole rows. Many columns: a block takes a range of
// them. Each group of its threads reads rows that start at the same phase of a vector. Vectors at
// the ends of the range also hold neighbours, which are dropped.
#pragma once

#include "common/division.cuh"
#include "reduce/fold.cuh"
#include "reduce/grid.cuh"

namespace ck {

constexpr int kColumnLoads = 8;  // vectors of a thread in flight

/// Both arrays are contiguous.
struct ColumnArguments : ReduceArguments {
  Divisor<Offset> splits;  ///< blocks that share columns
  Divisor<Offset> ranges;  ///< of columns
  Offset bytes;            ///< of x
  Offset rows;             ///< of a slab
  Offset share;            ///< of them for a block
  Offset columns;          ///< of a slab
  Divisor<Offset> step;    ///< from a thread's vector, or row, to its next
  Divisor<uint32> span;    ///< threads side by side, a vector each
  Divisor<uint32> across;  ///< columns that are folded at once
  uint32 width;            ///< columns of a range; the last may have fewer
  uint32 groups;           ///< of threads side by side
  uint32 parts;            ///< of threads that fold a column
  uint32 period;           ///< rows of `span` vectors; 0 if a block has a range of columns
};

/// How many elements of its vector lie in front of the one at a byte of x.
template <int kWidth>
CK_DEVICE uint32 phase_of_item(Offset byte) {
  return static_cast<uint32>(byte % kWidth) / sizeof(Input);
}

/// A block's part of x: `rows` rows of a slab from row `from` on, and `width` columns from
/// `first_column` on. The first of these elements is at byte `begin`.
struct ColumnShare {
  Division<Offset> block;
  Offset slab;
  Offset from;
  Offset rows;
  Offset first_column;
  uint32 width;
  Offset row_bytes;
  Offset begin;

  CK_DEVICE ColumnShare(const ColumnArguments& a, Offset x, uint32 item) {
    block = divide(static_cast<Offset>(blockIdx.x), a.splits);
    const Division<Offset> range = divide(block.quotient, a.ranges);
    slab = range.quotient, first_column = range.remainder * a.width;
    const Offset left = a.columns - first_column;
    width = left < a.width ? static_cast<uint32>(left) : a.width;
    from = block.remainder * a.share;
    rows = a.rows - from < a.share ? a.rows - from : a.share;
    row_bytes = a.columns * item;
    begin = x + (slab * a.rows + from) * row_bytes + first_column * item;
  }
};

/// The vectors of a thread: numbers first, first + step, ... below count. A vector counts as far as
/// it lies in [low, high): the first and the last one may lie there in part.
struct ColumnWalk {
  const char* vector;  ///< number `first`
  Offset byte;         ///< of x, where that is
  Offset first;
  Offset step;
  Offset count;
  Offset unit;       ///< bytes from a number to the next
  Offset last_byte;  ///< of x, where number count - 1 is
  Offset low;
  Offset high;
};

/// A vector; also of one complex128, which lies on 16 bytes here.
template <int kWidth, bool kAlways>
CK_DEVICE Packed<Bytes<kWidth>, Input> load_vector(bool exists, const char* address) {
  if constexpr (sizeof(Input) == 16) {
    Packed<uint4, Input> item;
    const uint4* const vector = reinterpret_cast<const uint4*>(address);
    item.vector = kAlways ? load_once(vector) : load_if<true>(exists, vector);
    return item;
  } else {
    return load_unit<kWidth, kAlways>(exists, address);
  }
}

/// Takes kColumnLoads vectors, `step` bytes apart; all of them, or as many as are left.
template <int kWidth, bool kAll, int kItems>
CK_DEVICE void take_vectors(State (&state)[kItems], const char* vector, uint64 step, Offset left,
                            Offset every, Offset turn) {
  const auto exists = [=](uint32 k) { return kAll || static_cast<Offset>(k) * every < left; };
  Packed<Bytes<kWidth>, Input> value[kColumnLoads];
  Offset place[kColumnLoads];
  unrolled<kColumnLoads>([&](uint32 k) {
    value[k] = load_vector<kWidth, kAll>(exists(k), vector + k * step);
    place[k] = turn + k;
  });
  take_units<Function, true>(state, value, place, exists);
}

/// Takes the elements of a vector that are the block's.
template <int kItems>
CK_DEVICE void take_part(State (&state)[kItems], const char* vector, Offset byte,
                         const ColumnWalk& walk, Offset turn) {
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const Offset at = byte + i * sizeof(Input);
    if (at >= walk.low && at < walk.high) {
      Function::take(state[i], load(reinterpret_cast<const Input*>(vector) + i), turn);
    }
  }
}

/// Takes the vectors of a thread; places are turns.
template <int kWidth, int kItems>
CK_DEVICE void take_walk(State (&state)[kItems], const ColumnWalk& walk,
                         const Divisor<Offset>& by) {
  const uint64 step = static_cast<uint64>(walk.step) * walk.unit;
  const char* vector = walk.vector;
  Offset number = walk.first, turn = 0;
  if (number < walk.count && walk.byte < walk.low) {
    take_part(state, vector, walk.byte, walk, turn);
    number += walk.step, vector += step, turn = 1;
  }
  const bool ends = walk.last_byte + kWidth > walk.high;
  const Offset whole = walk.count - (ends ? 1 : 0);
  if constexpr (!Function::kIsLong) {
#pragma unroll 1
    for (; number < whole && whole - number > (kColumnLoads - 1) * walk.step;
         turn += kColumnLoads) {
      take_vectors<kWidth, true>(state, vector, step, whole - number, walk.step, turn);
      number += kColumnLoads * walk.step, vector += kColumnLoads * step;
    }
  }
#pragma unroll 1
  for (; number < whole; turn += kColumnLoads) {
    take_vectors<kWidth, false>(state, vector, step, whole - number, walk.step, turn);
    number += kColumnLoads * walk.step, vector += kColumnLoads * step;
  }
  const Division<Offset> last = divide(whole, by);
  if (ends && last.remainder == walk.first && (last.quotient != 0 || walk.byte >= walk.low)) {
    take_part(state, walk.vector + last.quotient * step, walk.last_byte, walk, last.quotient);
  }
}

/// The states of a block's threads, by thread and element of a vector.
template <int kItems>
struct ColumnStage {
  static constexpr uint32 kPad = CK_PAD;
  static constexpr uint32 kStates = kItems * (kThreads + kPad);
  State* states;

  CK_DEVICE State& at(uint32 thread, uint32 item) const {
    return states[item * (kThreads + kPad) + thread];
  }
};

/// Folds `count` states of each of `width` columns: from(m, column) is the m-th state. Gives each
/// result to put(column, state). The same thread always has the same columns. All threads call it.
template <typename From, typename Put>
CK_DEVICE void fold_columns(const ColumnArguments& a, State* tree, uint32 width, uint32 count,
                            const From& from, const Put& put) {
  constexpr int kUnrolled = Function::kIsLong ? 1 : 8;
  const Division<uint32> place = divide(threadIdx.x, a.across);
  const uint32 part = place.quotient;
#pragma unroll 1
  for (uint32 base = 0; base < width; base += a.across.value) {
    const uint32 column = base + place.remainder;
    State state[1] = {Function::identity()};
    if (part < a.parts && column < width) {
#pragma unroll kUnrolled
      for (uint32 m = part; m < count; m += a.parts) {
        state[0] = Function::combine(state[0], from(m, column));
      }
    }
    fold_groups(state, tree, place.remainder, part, a.across.value, a.parts);
    if (part == 0 && column < width) put(column, state[0]);
  }
}

/// Calls act(column) for each of `width` columns whose state fold_columns gives to this thread.
template <typename Act>
CK_DEVICE void for_columns(const ColumnArguments& a, uint32 width, const Act& act) {
  const Division<uint32> own = divide(threadIdx.x, a.across);
  for (uint32 c = own.remainder; own.quotient == 0 && c < width; c += a.across.value) {
    act(c);
  }
}

/// The walk of this thread, and whether it has one.
template <int kWidth>
CK_DEVICE bool find_walk(ColumnWalk& walk, const ColumnArguments& a, const Extent<Offset>& x,
                         const ColumnShare& share) {
  constexpr uint32 kItems = kWidth / sizeof(Input);
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
    const Offset row = share.begin + g * share.row_bytes;
    const Offset last = share.begin + (share.rows - 1) * share.row_bytes;
    walk.low = x.begin, walk.high = x.end;
    walk.unit = share.row_bytes, walk.first = g;
    walk.byte = row / kWidth * kWidth + v * kWidth;
    walk.count = share.rows;
    walk.last_byte = last / kWidth * kWidth + v * kWidth;
    reads = reads && v * kItems < phase_of_item<kWidth>(row) + share.width;
  }
  walk.vector = x.base + walk.byte;
  return reads;
}

/// The m-th of the states that threads have for a column. Places, which are turns, become rows.
template <typename F, int kItems>
CK_DEVICE typename F::State staged_state(const ColumnStage<kItems>& stage, const ColumnArguments& a,
                                         const ColumnShare& share, uint32 m, uint32 column) {
  constexpr int kWidth = kItems * sizeof(Input);
  uint32 element, thread = 0, turn_rows = a.groups;
  Offset row = share.from + m;
  if (a.period != 0) {
    element = column + phase_of_item<kWidth>(share.begin);
    for (; element >= share.width; element -= share.width) --row;
    element += m * share.width;
    turn_rows *= a.period;
  } else {
    element = column + phase_of_item<kWidth>(share.begin + m * share.row_bytes);
    thread = m * a.span.value;
  }
  typename F::State state = stage.at(thread + element / kItems, element % kItems);
  if constexpr (F::kIsPlace) {
    state.place = state.place == F::kNone ? F::kNone : row + state.place * turn_rows;
  }
  return state;
}

template <int kColumns>
CK_DEVICE void reduce_columns(const ColumnArguments& a, char* shared) {
  constexpr int kWidth = kColumns * sizeof(Input);
  using Stage = ColumnStage<kColumns>;
  const Stage stage = {reinterpret_cast<State*>(shared)};
  State* const tree = stage.states + Stage::kStates;
  State* const total = tree + kThreads;
  const Extent<Offset> x(a.x, a.bytes);
  const ColumnShare share(a, x.begin, sizeof(Input));
  State state[kColumns];
  clear(state);
  ColumnWalk walk;
  if (find_walk<kWidth>(walk, a, x, share)) take_walk<kWidth>(state, walk, a.step);
  unrolled<kColumns>([&](int i) { stage.at(threadIdx.x, i) = state[i]; });
  __syncthreads();
  const auto from_threads = [&](uint32 m, uint32 column) {
    return staged_state<Function>(stage, a, share, m, column);
  };
  const auto keep = [&](uint32 column, const State& folded) { total[column] = folded; };
  const uint32 states = a.groups * (a.period != 0 ? a.period : 1);  // of a column
  fold_columns(a, tree, share.width, states, from_threads, keep);
  // A thread has the same columns in each fold.
  const auto put = [&](State* all) {
    for_columns(a, share.width, [&](uint32 c) { all[c] = total[c]; });
  };
  const auto get = [&](const State* all, uint32 count) {
    const auto from_blocks = [&](uint32 m, uint32 column) { return all[m * a.width + column]; };
    fold_columns(a, tree, share.width, count, from_blocks, keep);
  };
  const uint32 splits = static_cast<uint32>(a.splits.value);
  if (splits > 1 && !fold_blocks(a.workspace, share.block.quotient, share.block.remainder, splits,
                                 a.width, put, get)) {
    return;
  }
  Output* const out = static_cast<Output*>(a.out) + share.slab * a.columns + share.first_column;
  for_columns(a, share.width, [&](uint32 c) {
    store(out + c, convert<Output>(Function::finish(total[c], a.rest)));
  });
}

}  // namespace ck
