// Columns of a contiguous x whose rows do not start on vectors, of functions of any order. A thread
// reads aligned vectors at such a distance that each of them holds the same columns. It keeps a
// state for each element of a vector. At the end the states of a column meet in shared memory.
// Blocks may share columns.
//
// Few columns: a block takes rows as a whole. Its threads follow x through the ends of rows; a turn
// is `groups` times `span` vectors, which are whole rows. Many columns: a block takes a range of
// them. Each group of its threads reads rows that start at the same phase of a vector. Vectors at
// the ends of the range also hold neighbours, which are dropped.
#pragma once

#include "reduce/columns.cuh"
#include "reduce/tiles.cuh"

#if defined(CK_VARIANT_PERIODS)
namespace ck {

constexpr int kColumnLoads = 8;  // vectors of a thread in flight

/// Both arrays are contiguous.
struct PeriodArguments : ReduceArguments {
  Divisor<Offset> ranges;  ///< of columns
  Offset bytes;            ///< of x
  Offset rows;             ///< of a slab
  Offset share;            ///< of them for a block
  Offset columns;          ///< of a slab
  Divisor<Offset> step;    ///< from a thread's vector, or row, to its next
  Divisor<uint32> span;    ///< threads side by side, a vector each
  Divisor<uint32> folded;  ///< `width`, which parts of states are divided by
  uint32 width;            ///< columns of a range; the last may have fewer
  uint32 groups;           ///< of threads side by side
  uint32 period;           ///< rows of `span` vectors; 0 if a block has a range of columns
};

/// How many elements of its vector lie in front of the one at a byte of x.
CK_DEVICE uint32 phase_of_item(Offset byte) {
  return static_cast<uint32>(byte % kWidth) / sizeof(Input);
}

/// A block's part of x: `rows` rows of a slab from row `from` on, and `width` columns from
/// `first_column` on. The first of these elements is at byte `begin`.
struct ColumnShare {
  Offset slab;
  Offset from;
  Offset rows;
  Offset first_column;
  uint32 width;
  Offset row_bytes;
  Offset begin;

  CK_DEVICE ColumnShare(const PeriodArguments& a, Offset x, uint32 item) {
    const Division<Offset> range = divide(static_cast<Offset>(blockIdx.x), a.ranges);
    slab = range.quotient, first_column = range.remainder * a.width;
    const Offset left = a.columns - first_column;
    width = left < a.width ? static_cast<uint32>(left) : a.width;
    from = blockIdx.y * a.share;
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
template <typename In, bool kAlways>
CK_DEVICE Packed<Bytes<kWidth>, In> load_vector(bool exists, const char* address) {
  if constexpr (kAlways && sizeof(In) == 16) {
    Packed<Bytes<sizeof(In)>, In> item;
    item.vector = load_once(reinterpret_cast<const uint4*>(address));
    return item;
  } else {
    return load_unit<kWidth, kAlways>(exists, address);
  }
}

/// Takes kColumnLoads vectors, `step` bytes apart; all of them, or as many as are left.
template <bool kAll>
CK_DEVICE void take_vectors(State (&state)[kResults], const char* vector, uint64 step, Offset left,
                            Offset every, Offset turn) {
  const auto exists = [=](uint32 k) { return kAll || static_cast<Offset>(k) * every < left; };
  Packed<Bytes<kWidth>, Input> value[kColumnLoads];
  Offset place[kColumnLoads];
  unrolled<kColumnLoads>([&](uint32 k) {
    value[k] = load_vector<Input, kAll>(exists(k), vector + k * step);
    place[k] = turn + k;
  });
  take_units<Function>(state, value, place, exists);
}

/// Takes the elements of a vector that are the block's.
CK_DEVICE void take_part(State (&state)[kResults], const char* vector, Offset byte,
                         const ColumnWalk& walk, Offset turn) {
#pragma unroll
  for (int i = 0; i < kResults; ++i) {
    const Offset at = byte + i * sizeof(Input);
    if (at >= walk.low && at < walk.high) {
      take<Function>(state[i], load(reinterpret_cast<const Input*>(vector) + i), turn);
    }
  }
}

/// Takes the vectors of a thread; places are turns.
CK_DEVICE void take_walk(State (&state)[kResults], const ColumnWalk& walk,
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
#pragma unroll 1
  for (; number < whole && whole - number > (kColumnLoads - 1) * walk.step; turn += kColumnLoads) {
    take_vectors<true>(state, vector, step, whole - number, walk.step, turn);
    number += kColumnLoads * walk.step, vector += kColumnLoads * step;
  }
#pragma unroll 1
  for (; number < whole; turn += kColumnLoads) {
    take_vectors<false>(state, vector, step, whole - number, walk.step, turn);
    number += kColumnLoads * walk.step, vector += kColumnLoads * step;
  }
  const Division<Offset> last = divide(whole, by);
  if (ends && last.remainder == walk.first && (last.quotient != 0 || walk.byte >= walk.low)) {
    take_part(state, walk.vector + last.quotient * step, walk.last_byte, walk, last.quotient);
  }
}

/// The states of a block's threads, by thread and element of a vector.
struct ColumnStage {
  static constexpr uint32 kPad = CK_PAD;
  static constexpr uint32 kStates = kResults * (kThreads + kPad);
  State* states;

  CK_DEVICE State& at(uint32 thread, uint32 item) const {
    return states[item * (kThreads + kPad) + thread];
  }
};

/// The walk of this thread, and whether it has one.
CK_DEVICE bool find_walk(ColumnWalk& walk, const PeriodArguments& a, const Extent<Offset>& x,
                         const ColumnShare& share) {
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
    reads = reads && v * kResults < phase_of_item(row) + share.width;
  }
  walk.vector = x.base + walk.byte;
  return reads;
}

/// The m-th of the states that threads have for a column. Places, which are turns, become rows.
template <typename F>
CK_DEVICE typename F::State staged_state(const ColumnStage& stage, const PeriodArguments& a,
                                         const ColumnShare& share, uint32 m, uint32 column) {
  uint32 element, thread = 0, turn_rows = a.groups;
  Offset row = share.from + m;
  if (a.period != 0) {
    element = column + phase_of_item(share.begin);
    for (; element >= share.width; element -= share.width) --row;
    element += m * share.width;
    turn_rows *= a.period;
  } else {
    element = column + phase_of_item(share.begin + m * share.row_bytes);
    thread = m * a.span.value;
  }
  typename F::State state = stage.at(thread + element / kResults, element % kResults);
  if constexpr (F::kIsPlace) {
    state.place = state.place == F::kNone ? F::kNone : row + state.place * turn_rows;
  }
  return state;
}

CK_DEVICE void reduce_periods(const PeriodArguments& a, char* shared) {
  const ColumnStage stage = {reinterpret_cast<State*>(shared)};
  const Extent<Offset> x(a.x, a.bytes);
  const ColumnShare share(a, x.begin, sizeof(Input));
  State state[kResults];
  unrolled<kResults>([&](uint32 i) { state[i] = Function::identity(); });
  ColumnWalk walk;
  if (find_walk(walk, a, x, share)) take_walk(state, walk, a.step);
  unrolled<kResults>([&](uint32 i) { stage.at(threadIdx.x, i) = state[i]; });
  const uint32 states = a.groups * (a.period != 0 ? a.period : 1);  // of a column
  const auto read = [&](uint32 part, uint32 column) {
    State one = Function::identity();
    unrolled<kSteps>([&](uint32 k) {
      const uint32 m = part * kSteps + k;
      if (m < states && column < share.width) {
        one = Function::combine(one, staged_state<Function>(stage, a, share, m, column));
      }
    });
    return one;
  };
  const auto part_of = [&](uint32 item) { return divide(item, a.folded); };
  Output* const out = static_cast<Output*>(a.out) + share.slab * a.columns + share.first_column;
  const auto write = [&](uint32 column, const State& one) {
    if (column < share.width) store_result(a, out + column, one);
  };
  Slot* const room = reinterpret_cast<Slot*>(stage.states + ColumnStage::kStates);
  const SharedResults<decltype(part_of), decltype(write)> all(a, a.width, part_of, write);
  __syncthreads();
  fold_parts(parts_of(states), a.width, room, part_of, read, all);
  all.fold(reinterpret_cast<Slot*>(shared));
}

}  // namespace ck
#endif
