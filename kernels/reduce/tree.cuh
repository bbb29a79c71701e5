// The order in which states are combined: the balanced binary tree over the sequence of elements.
//
// Neighbours are combined, then neighbours of these, and so on; an odd one passes up. Here seven:
//
//   element  0   1   2   3   4   5   6
//             \ /     \ /     \ /    |
//   states    01      23      45     6
//               \    /          \   /
//                0123           456
//                    \         /
//                     result
//
// So 2^k neighbours from a multiple of 2^k on always form a part of the tree, whoever combines
// them: a thread those of a vector, lanes theirs by exchanges of the lowest bits first, a block
// what its warps found, the last block what all blocks found. Elements behind the last one count as
// the identity, which changes no state. Functions of any order take elements as they come.
//
// Blocks that share results put states into the workspace, in the order of their elements, and
// count themselves in. The block that arrives last combines them:
//
//   time  block 0                block 1                block 2
//    |    puts its states        puts its states        puts its states
//    |    counter: 0 -> 1        counter: 2 -> 0        counter: 1 -> 2
//    |    ends                   combines all states    ends
//    v                           writes the results
//
// Counting in releases what the block wrote and acquires what the blocks before it wrote. A counter
// wraps to zero by itself: nothing is cleared between launches, and a captured launch can be
// replayed. The workspace starts as zeros:
//
//   byte 0     2048 counters of 32 bits, one for the results that some blocks share
//   byte 8192  their states: those of the first block, of the second one, ...
#pragma once

#include "common/division.cuh"
#include "common/memory.cuh"
#include "reduce/functions.cuh"

namespace ck {

constexpr uint32 kCounters = CK_COUNTERS;  // at the start of the workspace
constexpr uint32 kWarps = kThreads / 32;
constexpr uint32 kStageStates = CK_STAGE_STATES;  // that warps leave in shared memory
constexpr int kSteps = 8;                         // states that a thread combines at a time
constexpr int kUnrolledLevels = Function::kIsLong ? 1 : 5;  // of lanes
#if defined(CK_ONCE)
constexpr bool kOnce = true;    // each thread leaves a state once
constexpr int kLeft = CK_ONCE;  // states of a result that a block leaves: a power of two
#else
constexpr bool kOnce = false;
constexpr int kLeft = kSteps;
#endif
#if defined(CK_ALONE)
constexpr bool kAlone = true;  // blocks share no results
#else
constexpr bool kAlone = false;
#endif
constexpr uint32 kItems = sizeof(Input) < 16 ? 16 / sizeof(Input) : 1;  // of a vector

/// What the arguments of all variants begin with.
struct ReduceArguments {
  const void* x;
  void* out;
  uint64* workspace;
  Rest rest;  ///< what finish takes beside a state
};

/// Writes the result of a state.
CK_DEVICE void store_result(const ReduceArguments& a, Output* out, const State& state) {
  store(out, convert<Output>(Function::finish(state, a.rest)));
}

/// The number of this warp, of which the compiler knows that all lanes have the same.
CK_DEVICE uint32 warp_number() { return __shfl_sync(kAllLanes, threadIdx.x / 32, 0); }

struct Combine {
  CK_DEVICE State operator()(State a, State b) const { return Function::combine(a, b); }
};

/// The state of states next to each other; the count is a power of two.
template <int kCount, typename How = Combine>
CK_DEVICE State fold(const State (&state)[kCount], const How& combine = {}) {
  if constexpr (kCount == 1) {
    return state[0];
  } else {
    State pair[kCount / 2];
    unrolled<kCount / 2>([&](uint32 k) { pair[k] = combine(state[2 * k], state[2 * k + 1]); });
    return fold(pair, combine);
  }
}
/// The same, of parts of long rows: long functions have one combination in the code, of the first
/// two in a queue.
template <int kCount>
CK_DEVICE State fold_queue(State (&state)[kCount]) {
  if constexpr (!Function::kIsLong) {
    return fold(state);
  } else {
#pragma unroll 1
    for (int left = kCount; left > 1; --left) {
      const State one = Function::combine(state[0], state[1]);
      unrolled<kCount - 1>(
          [&](int k) { state[k] = k == left - 2 ? one : state[k + 2 < kCount ? k + 2 : k]; });
    }
    return state[0];
  }
}
/// The same, of states of an element each.
template <typename F, int kCount>
CK_DEVICE typename F::State fold_leaves(typename F::State (&state)[kCount]) {
  if constexpr (F::kHasShifts) {
    bool holds;
    const typename F::Alike alike = F::alike(state, holds);
    if (holds) return fold(state, alike);
  }
  return fold(state);
}

/// A vector, or so many bytes, of elements that change no state.
template <typename V = uint4>
CK_DEVICE V absent_vector() {
  Packed<V, Input> items;
  unrolled<Packed<V, Input>::kPieces>(
      [&](uint32 i) { items.piece[i] = absent<Function, Input>(); });
  return items.vector;
}

template <typename T, typename Exchange>
CK_DEVICE T exchanged(const T& value, const Exchange& exchange) {
  Packed<T, uint32> words;
  words.vector = value;
  unrolled<Packed<T, uint32>::kPieces>([&](int k) { words.piece[k] = exchange(words.piece[k]); });
  return words.vector;
}

/// Combines a lane's own state and its neighbour's, which is behind or in front of it.
template <typename How>
CK_DEVICE State combine_lanes(State own, State other, bool behind, const How& combine) {
  if constexpr (Function::kCommutes) {
    return combine(own, other);
  } else {
    return combine(behind ? other : own, behind ? own : other);
  }
}

/// The lanes of a warp, in their order.
struct Lanes {
  uint32 lane;

  /// Whether a lane is behind its neighbour by a bit of their numbers.
  CK_DEVICE bool is_behind(uint32 bit) const { return (lane & bit) != 0; }
  /// What this neighbour has.
  template <typename T>
  CK_DEVICE T neighbour(const T& value, uint32 bit) const {
    return exchanged(value, [=](uint32 word) { return __shfl_xor_sync(kAllLanes, word, bit); });
  }
};

/// Sides of a warp: `width` lanes each. A lane's neighbours have its place in other sides.
struct Sides {
  uint32 lane;
  uint32 side;
  uint32 width;

  CK_DEVICE bool is_behind(uint32 bit) const { return (side & bit) != 0; }
  template <typename T>
  CK_DEVICE T neighbour(const T& value, uint32 bit) const {
    const uint32 from = is_behind(bit) ? lane - bit * width : lane + bit * width;
    return exchanged(value, [=](uint32 word) { return __shfl_sync(kAllLanes, word, from); });
  }
};

/// The state of this lane and of its neighbour by a bit.
template <typename By, typename How = Combine>
CK_DEVICE State fold_neighbours(State state, const By& by, uint32 bit, const How& combine = {}) {
  return combine_lanes(state, by.neighbour(state, bit), by.is_behind(bit), combine);
}

/// The state of `count` lanes or sides next to each other, a power of two, in all of them; by whole
/// warps.
template <typename By>
CK_DEVICE State fold_lanes(State state, const By& by, uint32 count = 32) {
#pragma unroll kUnrolledLevels
  for (uint32 bit = 1; bit < 32; bit *= 2) {
    if (bit < count) state = fold_neighbours(state, by, bit);
  }
  return state;
}

/// One level over lanes: each lane keeps half of its states, of which it gets the neighbour's.
template <int kHalf, int kCount, typename By, typename How = Combine>
CK_DEVICE void exchange_halves(State (&state)[kCount], const By& by, uint32 bit,
                               const How& combine = {}) {
  const bool behind = by.is_behind(bit);
  unrolled<kHalf>([&](int k) {
    const State own = behind ? state[k + kHalf] : state[k];
    const State given = behind ? state[k] : state[k + kHalf];
    state[k] = combine_lanes(own, by.neighbour(given, bit), behind, combine);
  });
}

/// The state of states next to each other: of the first ones of all lanes or sides, and then of
/// their next ones. There are `count` lanes, a power of two, and at least kCount. In all of them.
template <int kCount, typename By, typename How = Combine>
CK_DEVICE State fold_warp(State (&state)[kCount], const By& by, uint32 count = 32,
                          const How& combine = {}) {
  static_assert(kCount == 4 || kCount == 8, "two or three levels");
  exchange_halves<kCount / 2>(state, by, 1, combine);
  exchange_halves<kCount / 4>(state, by, 2, combine);
  if constexpr (kCount == 8) exchange_halves<1>(state, by, 4, combine);
  State one = state[0];
#pragma unroll
  for (uint32 bit = kCount; bit < 32; bit *= 2) {
    if (bit < count) one = fold_neighbours(one, by, bit, combine);
  }
#pragma unroll
  for (uint32 bit = kCount / 2; bit > 0; bit /= 2) one = fold_neighbours(one, by, bit, combine);
  return one;
}

/// The same of all lanes, of long functions: two combinations in the code. The states of a level
/// are the last ones.
template <int kCount>
CK_DEVICE State fold_warp_by_turns(State (&state)[kCount], const Lanes& by) {
  static_assert(kCount == 4 || kCount == 8, "two or three levels");
  constexpr int kHalf = kCount / 2, kLast = kCount - 1;
  int half = kHalf;
  uint32 bit = 1;
#pragma unroll 1
  for (int turn = kLast; turn > 0; --turn) {
    const bool behind = by.is_behind(bit);
    const State first = half == kHalf ? state[0] : half == 1 ? state[kLast - 1] : state[kHalf];
    const State second = half == kHalf ? state[kHalf]
                         : half == 1   ? state[kLast]
                                       : state[kCount / 4 * 3];
    const State own = behind ? second : first, given = behind ? first : second;
    const State one = combine_lanes(own, by.neighbour(given, bit), behind, Combine{});
    unrolled<kLast>([&](int k) { state[k] = state[k + 1]; });
    state[kLast] = one;
    if (turn == half) {
      half /= 2;
      bit *= 2;
    }
  }
  constexpr int kAbove = kCount == 8 ? 2 : 3;  // levels of lanes that are left
  State one = state[kLast];
#pragma unroll 1
  for (int turn = 0; turn < 5; ++turn) {
    one = fold_neighbours(one, by, turn < kAbove ? kCount << turn : kCount >> (turn - kAbove + 1));
  }
  return one;
}

/// A state in memory, where its words are read together.
struct alignas(sizeof(State) % 16 == 0 ? 16 : sizeof(State) % 8 == 0 ? 8 : 4) Slot {
  State state;
};

/// `count` states of each of some results: all of number 0, all of number 1, ...
struct States {
  Slot* first;
  uint32 count;
  uint32 results;

  /// The state of all, which are kLeft.
  CK_DEVICE State all(uint32 result) const {
    State state[kLeft];
    unrolled<kLeft>([&](uint32 k) { state[k] = first[k * results + result].state; });
    return fold(state);
  }
  /// The state of kSteps neighbours, or as many as there are, from number `part * kSteps` on.
  CK_DEVICE State part(uint32 number, uint32 result) const {
    const Slot* const own = first + (number * kSteps * results + result);
    const uint32 left = count - number * kSteps;
    State state[kSteps];
    unrolled<kSteps>([&](uint32 k) {
      const State one = own[k < left ? k * results : 0].state;  // without a branch
      state[k] = k < left ? one : Function::identity();
    });
    return fold_queue(state);
  }
};

/// How many parts so many states are combined by.
CK_DEVICE uint32 parts_of(uint32 states) { return (states + kSteps - 1) / kSteps; }

/// Combines neighbouring parts of results: read(part, result) has a part's state. Puts those of
/// several parts into `parts`; put(result, state) gets those of one part. part_of(item) says which
/// part of which result is the item'th of all. By the whole block.
template <typename PartOf, typename Read, typename Put>
CK_DEVICE void fold_level(const States& parts, const PartOf& part_of, const Read& read,
                          const Put& put) {
#pragma unroll 1
  for (uint32 item = threadIdx.x; item < parts.count * parts.results; item += blockDim.x) {
    const Division<uint32> part = parts.count == 1 ? Division<uint32>{0, item} : part_of(item);
    const State folded = read(part.quotient, part.remainder);
    if (parts.count == 1) {
      put(part.remainder, folded);
    } else {
      parts.first[item].state = folded;
    }
  }
}
/// The same, of all levels: states that lie one behind the other, kSteps of them, kSteps of these.
/// `room` has room for the states of all parts.
template <typename PartOf, typename Put>
CK_DEVICE void fold_states(States states, Slot* room, const PartOf& part_of, const Put& put) {
#pragma unroll 1
  for (;;) {
    const States parts = {room, parts_of(states.count), states.results};
    const auto read = [&](uint32 part, uint32 result) { return states.part(part, result); };
    fold_level(parts, part_of, read, put);
    if (parts.count == 1) return;
    __syncthreads();
    room += parts.count * parts.results;
    states = parts;
  }
}
/// The same, of `count` parts, of which read(part, result) has the states.
template <typename PartOf, typename Read, typename Put>
CK_DEVICE void fold_parts(uint32 count, uint32 results, Slot* room, const PartOf& part_of,
                          const Read& read, const Put& put) {
  const States parts = {room, count, results};
  fold_level(parts, part_of, read, put);
  if (count == 1) return;
  __syncthreads();
  fold_states(parts, room + count * results, part_of, put);
}

/// Which part an item is of the single result that a block has.
struct PartOfOne {
  CK_DEVICE Division<uint32> operator()(uint32 item) const { return {item, 0}; }
};

/// The same of a single result, by exchanges: there are no more parts than threads.
template <typename Read, typename Put>
CK_DEVICE void fold_parts(uint32 count, uint32, Slot* room, const PartOfOne&, const Read& read,
                          const Put& put) {
  const Lanes lane = {threadIdx.x % 32};
  const uint32 warp = threadIdx.x / 32;
  State one = Function::identity();
  if (threadIdx.x < count) one = read(threadIdx.x, 0);
  if (count > 1 && warp * 32 < count) one = fold_lanes(one, lane);
  if (count > 32) {
    if (lane.lane == 0) room[warp].state = one;
    __syncthreads();
    if (threadIdx.x == 0) one = States{room, kWarps, 1}.part(0, 0);
  }
  if (threadIdx.x == 0) put(0, one);
}
template <typename Put>
CK_DEVICE void fold_states(const States& states, Slot* room, const PartOfOne& part_of,
                           const Put& put) {
  const auto read = [&](uint32 part, uint32 result) { return states.part(part, result); };
  fold_parts(parts_of(states.count), 1, room, part_of, read, put);
}

/// The states of parts of the same size that a thread finds one behind the other, as far as they
/// wait for as many parts behind them.
template <int kLevels>
struct Pending {
  State waiting[kLevels];

  /// Adds the state of a part: returns that of it and of all in front of it, if there are 2^k
  /// parts.
  CK_DEVICE State push(uint32 number, State state) {
    unrolled<kLevels>([&](uint32 level) {
      const uint32 low = (2u << level) - 1;
      if ((number & low) == low) state = Function::combine(waiting[level], state);
    });
    unrolled<kLevels>([&](uint32 level) {
      if ((number & ((2u << level) - 1)) == (1u << level) - 1) waiting[level] = state;
    });
    return state;
  }
  /// The state of so many parts.
  CK_DEVICE State all(uint32 parts) const {
    State state = Function::identity();
    unrolled<kLevels>([&](uint32 level) {
      if ((parts >> level & 1) != 0) state = Function::combine(waiting[level], state);
    });
    return state;
  }
};

/// States of parts of the same size, one behind the other, of some results: of all parts so far,
/// the states that wait for as many parts behind them, by the logarithm of these. A thread has the
/// same results each time.
struct Waiting {
  Slot* first;
  uint32 results;

  CK_DEVICE State& at(uint32 level, uint32 result) const {
    return first[level * results + result].state;
  }
  /// Adds the part behind `count` parts.
  CK_DEVICE void push(uint32 count, uint32 result, State state) const {
    uint32 level = 0;
#pragma unroll 1
    for (; (count >> level & 1) != 0; ++level) state = Function::combine(at(level, result), state);
    at(level, result) = state;
  }
  /// Puts the states of `count` parts, those of all results, at an address.
  CK_DEVICE void fold(uint32 count, Slot* to) const {
#pragma unroll 1
    for (uint32 result = threadIdx.x; result < results; result += blockDim.x) {
      State all = Function::identity();
#pragma unroll 1
      for (uint32 level = 0; count >> level != 0; ++level) {
        if ((count >> level & 1) != 0) all = Function::combine(at(level, result), all);
      }
      to[result].state = all;
    }
  }
};

/// Leaves states of `parts` parts of some results in `stage`, in shared memory: returns how many of
/// each. fill(first, count) leaves some of them: of more than `round`, a power of two, so many are
/// combined each time. `room` has room for parts of them, `behind` for what waits. By the whole
/// block.
template <typename PartOf, typename Fill>
CK_DEVICE uint32 stage_parts(Slot* stage, Offset parts, uint32 round, uint32 results, Slot* room,
                             Slot* behind, const PartOf& part_of, const Fill& fill) {
  const Waiting waiting = {behind, results};
  uint32 rounds = 0;
#pragma unroll 1
  for (Offset first = 0;; first += round) {
    const Offset left = parts - first;
    const uint32 count = left < round ? static_cast<uint32>(left) : round;
    const States found = {stage, count, results};
    fill(first, count);
    if (parts <= round) return count;
    __syncthreads();
    fold_states(found, room, part_of,
                [&](uint32 result, const State& one) { waiting.push(rounds, result, one); });
    __syncthreads();
    ++rounds;
    if (left <= round) {
      waiting.fold(rounds, stage);
      return 1;
    }
  }
}

/// Counts this block in. Returns whether it is the last of the counter's `blocks` blocks: then what
/// the others wrote can be read. By the whole block.
CK_DEVICE bool arrives_last(uint64* workspace, uint32 counter, uint32 blocks) {
  __syncthreads();
  bool last = false;
  if (threadIdx.x == 0) {
    last = increment_acquire_release(reinterpret_cast<uint32*>(workspace) + counter, blocks - 1) ==
           blocks - 1;
  }
  return __syncthreads_or(last) != 0;
}

/// Results that the blocks of a column of the grid share, if there are several. It gets the states
/// of what this block has read; write(result, state) gets those of what all have.
template <typename PartOf, typename Write>
class SharedResults {
 public:
  CK_DEVICE SharedResults(const ReduceArguments& a, uint32 results, const PartOf& part_of,
                          const Write& write)
      : workspace_(a.workspace), results_(results), part_of_(part_of), write_(write) {}

  CK_DEVICE void operator()(uint32 result, const State& state) const {
    if (splits() == 1) {
      write_(result, state);
    } else {
      states()[blockIdx.y * results_ + result].state = state;
    }
  }
  /// Combines the states of all blocks: `room`, in shared memory, has room for parts of them. By
  /// the whole block.
  CK_DEVICE void fold(Slot* room) const {
    if (splits() == 1 || !arrives_last(workspace_, blockIdx.x, splits())) return;
    // Not by fold_states, whose loop would read them as it reads shared memory, each in more steps.
    const States all = {states(), splits(), results_};
    const auto read = [&](uint32 part, uint32 result) { return all.part(part, result); };
    fold_parts(parts_of(all.count), results_, room, part_of_, read, write_);
  }

 private:
  CK_DEVICE static uint32 splits() { return kAlone ? 1 : gridDim.y; }
  CK_DEVICE Slot* states() const {
    return reinterpret_cast<Slot*>(workspace_ + kCounters / 2) +
           static_cast<uint64>(blockIdx.x) * splits() * results_;
  }

  uint64* workspace_;
  uint32 results_;
  const PartOf& part_of_;
  const Write& write_;
};

/// Combines states that lie one behind the other in shared memory, of which `room` has room for
/// parts, and those of blocks that share their results. One of these calls write(result, state). By
/// the whole block.
template <typename PartOf, typename Write>
CK_DEVICE void finish(const ReduceArguments& a, const States& found, Slot* room,
                      const PartOf& part_of, const Write& write) {
  const SharedResults<PartOf, Write> all(a, found.results, part_of, write);
  __syncthreads();
  if constexpr (kOnce) {
    const auto read = [&](uint32, uint32 result) { return found.all(result); };
    fold_parts(1, found.results, room, part_of, read, all);
  } else {
    fold_states(found, room, part_of, all);
  }
  all.fold(found.first);
}

}  // namespace ck
