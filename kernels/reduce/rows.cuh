// Rows whose elements lie next to each other, at any multiple of their size: a warp or a block
// reads a row as 16-byte vectors. Blocks may share a row.
//
// A warp combines a chunk of neighbouring vectors at a time, while the next one is on its way. If a
// row does not start on a vector, neighbours in the tree lie in a lane's vector and in that of the
// next lane, which hands over its first one. Here the elements of a row that starts one element
// behind a vector, four to a vector; y is the next lane's:
//
//   lane's vector    x0  x1  x2  x3 | y0      next lane's vector
//                         \ /     \ /
//   level 1               x12     x3y0        one state was handed over
//                           \    /
//   level 2                  x1 ... y0        four neighbours from a multiple of four on
#pragma once

#include "reduce/bytes.cuh"
#include "reduce/tree.cuh"

namespace ck {

#if defined(CK_ON_VECTORS)
constexpr bool kOnVectors = true;  // all rows start on vectors
#else
constexpr bool kOnVectors = false;
#endif

template <int kRank>
struct RowArguments : ReduceArguments {
  Dimension<Offset, 2> kept[kRank];  ///< with strides of x and out
  Offset rows;
  Offset length;
  Offset share;  ///< elements of a block: as many as there are, or a power of two
};

/// A row for a warp, which combines a chunk of 32 kLoads vectors at a time.
template <int kLoads>
class RowReader {
 public:
  static constexpr Offset kChunk = 32 * kLoads;  // vectors
  static constexpr Offset kItemsOfChunk = kChunk * kItems;

  CK_DEVICE RowReader(const Input* row, Offset length, uint32 lane)
      : row_(row),
        phase_(kOnVectors ? 0 : static_cast<uint32>(reinterpret_cast<uint64>(row)) % 16),
        vectors_(reinterpret_cast<const uint4*>(reinterpret_cast<const char*>(row) - phase_)),
        length_(length),
        lane_(lane) {}

  /// The state of a chunk.
  CK_DEVICE State fold_chunk(Offset chunk) const {
    return kOnVectors || phase_ == 0 ? fold_one<true>(chunk) : fold_one<false>(chunk);
  }
  /// Combines chunks from `chunk` on, every so many, before `end`: put(chunk, state) gets each.
  template <typename Put>
  CK_DEVICE void fold_chunks(Offset chunk, Offset every, Offset end, const Put& put) const {
    if (kOnVectors || phase_ == 0) {
      fold_all<true>(chunk, every, end, put);
    } else {
      fold_all<false>(chunk, every, end, put);
    }
  }

 private:
  using Vectors = uint4[kLoads + 1];  // the last one is lane 0's, behind the chunk

  static constexpr int kLevels = kItems <= 2 ? 1 : kItems <= 4 ? 2 : kItems <= 8 ? 3 : 4;

  template <bool kAligned>
  CK_DEVICE State fold_one(Offset chunk) const {
    Vectors vector;
    load_chunk<kAligned>(vector, chunk);
    if constexpr (Function::kHasShifts) {
      return fold_with_shifts<Function, kAligned>(vector);
    } else {
      State state[kLoads];
      fold_loaded<kAligned>(state, vector, chunk);
      return fold_warp(state, Lanes{lane_});
    }
  }
  template <bool kAligned, typename Put>
  CK_DEVICE void fold_all(Offset chunk, Offset every, Offset end, const Put& put) const {
    // Not both, where they take too many registers.
    constexpr bool kLoadsAhead = !Function::kHasShifts && sizeof(State) <= 16;
    if constexpr (!kLoadsAhead) {
#pragma unroll 1
      for (; chunk < end; chunk += every) put(chunk, fold_one<kAligned>(chunk));
    } else {
      Vectors vector;
      State state[kLoads];
      Offset folded = end;  // the chunk whose states wait, if there is one
#pragma unroll 1
      for (;;) {
        if (chunk < end) load_chunk<kAligned>(vector, chunk);
        if (folded < end) put(folded, fold_warp(state, Lanes{lane_}));  // while vectors arrive
        if (chunk >= end) break;
        fold_loaded<kAligned>(state, vector, chunk);
        folded = chunk;
        chunk += every;
      }
    }
  }
  /// The states of a chunk's loads.
  template <bool kAligned>
  CK_DEVICE void fold_loaded(State (&state)[kLoads], Vectors& vector, Offset chunk) const {
    fold_vectors<kAligned, kLoads>(state, vector, Combine{});
    if constexpr (!Function::kHasAbsent) {
      if (!is_whole<kAligned>(chunk)) put_states<kAligned>(state, chunk);
    }
  }
  /// Whether lanes have whole vectors of a chunk, and lane 0 the one behind them.
  template <bool kAligned>
  CK_DEVICE bool is_whole(Offset chunk) const {
    return (kAligned || chunk != 0) &&
           (chunk + 1) * kItemsOfChunk + (kAligned ? 0 : kItems) <= length_;
  }
  template <bool kAligned>
  CK_DEVICE void load_chunk(Vectors& vector, Offset chunk) const {
    if (!is_whole<kAligned>(chunk)) return load_end<kAligned>(vector, chunk);
    const uint4* const own = vectors_ + chunk * kChunk + lane_;
    unrolled<kLoads>([&](uint32 k) { vector[k] = load_once(own + 32 * k); });
    if (!kAligned) vector[kLoads] = load_if<true>(lane_ == 0, own + kChunk);
  }
  /// Loads a chunk at an end of the row.
  template <bool kAligned>
  CK_DEVICE void load_end(Vectors& vector, Offset chunk) const {
    const Offset first = chunk * kChunk + lane_, bytes = length_ * sizeof(Input) + phase_;
    const uint4 absent = absent_vector();
    unrolled<kLoads + 1>([&](uint32 k) {
      const Offset at = first + 32 * k;
      const bool has = at < bytes / 16 && (kAligned || (at != 0 && (k < kLoads || lane_ == 0)));
      if (k < kLoads || !kAligned) vector[k] = load_if<true>(has, vectors_ + at, absent);
    });
    if constexpr (Function::kHasAbsent) {
#pragma unroll 1
      for (int end = kAligned ? 1 : 0; end < 2; ++end) {
        if (end == 0 || bytes % 16 != 0) put_items(vector, first, end == 0 ? 0 : bytes / 16);
      }
    }
  }
  /// Reads the elements of a vector that lies in the row in part, if it is one of this lane's.
  CK_DEVICE void put_items(Vectors& vector, Offset first, Offset number) const {
    const Offset apart = number - first;
    if (apart % 32 != 0 || apart > (lane_ == 0 ? kChunk : kChunk - 32)) return;
    Packed<uint4, Input> items;
    items.vector = absent_vector();
    unrolled<kItems>([&](uint32 i) {
      const Offset at = number * kItems + i - phase_ / sizeof(Input);
      if (at < length_) items.piece[i] = load(row_ + at);
    });
    unrolled<kLoads + 1>([&](uint32 k) {  // without a table of jumps
      Packed<uint4, uint32> words, own;
      words.vector = items.vector;
      own.vector = vector[k];
      unrolled<4>(
          [&](uint32 i) { own.piece[i] = apart == 32 * k ? words.piece[i] : own.piece[i]; });
      vector[k] = own.vector;
    });
  }
  /// The state of a chunk, of functions that take less for elements that all have one shift.
  template <typename F, bool kAligned>
  CK_DEVICE State fold_with_shifts(Vectors& vector) const {
    constexpr int kVectors = kAligned ? kLoads : kLoads + 1;
    State item[kVectors * kItems], state[kLoads];
    unrolled<kVectors>([&](uint32 k) { put_leaves(item + k * kItems, vector[k]); });
    bool holds;
    typename F::Alike alike = F::alike(item, holds);
    const auto first =
        exchanged(alike.terms, [](uint32 word) { return __shfl_sync(kAllLanes, word, 0); });
    holds = __all_sync(kAllLanes, holds && !(alike.terms != first));
    alike.terms = first;
    const bool has_absent = !holds && __all_sync(kAllLanes, F::are_near_or_absent(item));
    if (has_absent) {
      alike = F::alike_near();
      unrolled<kVectors>([&](uint32 k) { vector[k] = F::without_absent(vector[k]); });
    }
    if (holds || has_absent) {
      fold_vectors<kAligned, kLoads>(state, vector, alike);
      const State one = fold_warp(state, Lanes{lane_}, 32, alike);
      return has_absent ? F::with_absent(one) : one;
    }
    fold_vectors<kAligned, 1>(state, vector, Combine{});
    return fold_warp_by_turns(state, Lanes{lane_});
  }
  CK_DEVICE static void put_leaves(State* state, const uint4& vector) {
    Packed<uint4, Input> items;
    items.vector = vector;
    unrolled<kItems>([&](uint32 i) { state[i] = leaf<Function>(items.piece[i]); });
  }
  /// Replaces states of a chunk at an end of the row that are not of whole vectors.
  template <bool kAligned>
  CK_DEVICE void put_states(State (&state)[kLoads], Offset chunk) const {
    const Offset first = chunk * kChunk + lane_, last = length_ / kItems;
    unrolled<kLoads>([&](uint32 k) {
      if ((first + 32 * k) * kItems >= length_) state[k] = Function::identity();
    });
#pragma unroll 1
    for (int end = kAligned ? 2 : 0; end < 3; ++end) {
      const Offset number = end == 0 ? 0 : last - 2 + end;
      if (end == 2 ? last * kItems != length_ : number < last) put_state(state, first, number);
    }
  }
  /// Reads the elements of a lane's state one by one, if it has it.
  CK_DEVICE void put_state(State (&state)[kLoads], Offset first, Offset number) const {
    const Offset apart = number - first;
    if (apart % 32 != 0 || apart >= kChunk) return;
    State item[kItems];
    unrolled<kItems>([&](uint32 i) {
      const Offset at = number * kItems + i;
      item[i] = at < length_ ? leaf<Function>(load(row_ + at)) : Function::identity();
    });
    const State one = ck::fold(item);
    unrolled<kLoads>([&](uint32 k) { state[k] = first + 32 * k == number ? one : state[k]; });
  }

  /// The states of as many neighbouring elements as a vector has, for each load: from the last ones
  /// on, of which each lane has the states that it hands over. Vectors in front move up meanwhile.
  template <bool kAligned, int kUnroll, typename How>
  CK_DEVICE void fold_vectors(State (&state)[kLoads], Vectors& vector, const How& combine) const {
    constexpr int kTogether = kAligned ? 1 : 2;
    const uint32 shift = phase_ / sizeof(Input);
    State first[kLevels];
    if constexpr (!kAligned) {
      State last[1][kItems];
      put_leaves(last[0], vector[kLoads]);
      fold_shifted<kItems>(last, first, shift, combine);
    }
    unrolled<kLoads>([&](uint32 k) { state[k] = Function::identity(); });
#pragma unroll kUnroll
    for (int turn = 0; turn < kLoads / kTogether; ++turn) {
      State item[kTogether][kItems];
      unrolled<kTogether>([&](uint32 j) { put_leaves(item[j], vector[kLoads - kTogether + j]); });
      if constexpr (kAligned) {
        item[0][0] = ck::fold(item[0], combine);
      } else {
        fold_shifted<kItems>(item, first, shift, combine);
      }
      unrolled<kLoads - kTogether>([&](uint32 k) {
        vector[kLoads - 1 - k] = vector[kLoads - 1 - k - kTogether];
        state[kLoads - 1 - k] = state[kLoads - 1 - k - kTogether];
      });
      unrolled<kTogether>([&](uint32 j) { state[j] = item[j][0]; });
    }
  }
  /// Combines neighbours, of which the first ones are number `shift` of each lane. `first` has the
  /// first states of the vector behind, of each level; then those of the first one here.
  template <uint32 kCount, int kLevel = 0, int kVectors, typename How>
  CK_DEVICE void fold_shifted(State (&item)[kVectors][kItems], State (&first)[kLevels],
                              uint32 shift, const How& combine) const {
    if constexpr (kCount > 1) {
      const State own = item[0][0];
      if (shift % 2 == 0) {
        unrolled<kVectors>([&](uint32 k) {
          unrolled<kCount / 2>(
              [&](uint32 i) { item[k][i] = combine(item[k][2 * i], item[k][2 * i + 1]); });
        });
      } else {
        unrolled<kVectors>([&](uint32 k) {
          const State behind =
              k + 1 < kVectors ? item[k + 1 < kVectors ? k + 1 : 0][0] : first[kLevel];
          const State given = lane_ == 0 ? behind : item[k][0];
          const State next = exchanged(
              given, [=](uint32 word) { return __shfl_sync(kAllLanes, word, lane_ + 1); });
          combine_behind<kCount>(item[k], next, combine);
        });
      }
      first[kLevel] = own;
      fold_shifted<kCount / 2, kLevel + 1>(item, first, shift / 2, combine);
    }
  }
  template <uint32 kCount, typename How>
  CK_DEVICE static void combine_behind(State (&item)[kItems], const State& next,
                                       const How& combine) {
    unrolled<kCount / 2>([&](uint32 i) {
      const State& second = 2 * i + 2 < kCount ? item[2 * i + 2 < kCount ? 2 * i + 2 : 0] : next;
      item[i] = combine(item[2 * i + 1], second);
    });
  }

  const Input* row_;
  uint32 phase_;          // bytes of the first vector in front of the row
  const uint4* vectors_;  // the first one holds the first element
  Offset length_;
  uint32 lane_;
};

/// Takes the elements of a vector, the first of which has a place.
template <int kChains>
CK_DEVICE void take_vector(State (&state)[kChains], const uint4& vector, Offset place) {
  Packed<uint4, Input> items;
  items.vector = vector;
  take_all<Function>(state, items.piece, place);
}

/// Takes the vectors of a turn that exist, `kTeam` apart, the first of which has a place.
template <typename F, int kTeam, int kChains, int kLoads>
CK_DEVICE void take_turn(typename F::State (&state)[kChains], const uint4 (&vector)[kLoads],
                         Offset exist, Offset place) {
  constexpr Offset kStep = kTeam * kItems;
  if constexpr (F::kTakesBytes) {
    BytePlaces<F, Input>::take(state[0], vector, exist, place, kStep);
  } else {
    unrolled<kLoads>([&](uint32 k) {
      if (k < exist) take_vector(state, vector[k], place + k * kStep);
    });
  }
}

/// Takes `count` elements from `x` on, the first of which has a place, with `kTeam` threads.
template <int kTeam, int kChains>
CK_DEVICE void take_range(State (&state)[kChains], const Input* x, Offset count, Offset place) {
  constexpr int kLoads = 8;
  const uint32 thread = threadIdx.x % kTeam;
  const uint32 misaligned =
      static_cast<uint32>(-reinterpret_cast<uint64>(x)) % kSectorBytes / sizeof(Input);
  const uint32 head = misaligned < count ? misaligned : static_cast<uint32>(count);
  if (thread < head) take<Function>(state[0], load(x + thread), place + thread);
  const Offset vectors = (count - head) / kItems;
  const uint4* const source = reinterpret_cast<const uint4*>(x + head);
  Offset first = thread;
#pragma unroll 1
  for (; first < vectors && vectors - first > (kLoads - 1) * kTeam; first += kLoads * kTeam) {
    uint4 value[kLoads];
    unrolled<kLoads>([&](uint32 k) { value[k] = load_once(source + first + k * kTeam); });
    take_turn<Function, kTeam>(state, value, Offset{kLoads}, place + head + first * kItems);
  }
#pragma unroll 1
  for (; first < vectors; first += kLoads * kTeam) {
    uint4 value[kLoads];
    unrolled<kLoads>([&](uint32 k) {
      const Offset vector = first + k * kTeam;
      value[k] = load_if<true>(vector < vectors, source + vector);
    });
    const Offset exist = (vectors - first + kTeam - 1) / kTeam;
    take_turn<Function, kTeam>(state, value, exist, place + head + first * kItems);
  }
  const Offset tail = head + vectors * kItems;
  if (thread < count - tail) {
    take<Function>(state[0], load(x + tail + thread), place + tail + thread);
  }
}

/// The state of `count` elements from `x` on in any order, by a team; in all lanes, of each warp.
template <int kTeam>
CK_DEVICE State take_row(const Input* x, Offset count, Offset place, uint32 lane) {
  constexpr uint32 kMost = Function::kTakesBytes || Function::kAddsWords ? 1
                           : sizeof(State) <= 4                          ? 4
                           : sizeof(State) <= 8                          ? 2
                                                                         : 1;
  constexpr int kChains = kItems < kMost ? kItems : kMost;
  State state[kChains];
  unrolled<kChains>([&](uint32 c) { state[c] = Function::identity(); });
  take_range<kTeam>(state, x, count, place);
#pragma unroll
  for (int c = 1; c < kChains; ++c) state[0] = Function::combine(state[0], state[c]);
  return fold_lanes(state[0], Lanes{lane});
}

/// A row by each warp.
template <int kRank>
CK_DEVICE void reduce_rows_by_warps(const RowArguments<kRank>& a) {
  const uint32 lane = threadIdx.x % 32;
  const Offset row = static_cast<Offset>(blockIdx.x) * (blockDim.x / 32) + warp_number();
  if (row >= a.rows) return;
  const Offsets<Offset, 2> offset = offsets_of(row, a.kept);
  const Input* const x = at<Input>(a.x, offset.value[0]);
  State state = Function::identity();
  if constexpr (Function::kAnyOrder) {
    state = take_row<32>(x, a.length, 0, lane);
  } else {
    constexpr Offset kChunk = RowReader<CK_LOADS>::kItemsOfChunk;
    RowReader<CK_LOADS>(x, a.length, lane)
        .fold_chunks(0, 1, (a.length - 1) / kChunk + 1, [&](Offset chunk, const State& one) {
          if (lane == chunk) state = one;
        });
    if (a.length > kChunk) state = fold_lanes(state, Lanes{lane});
  }
  if (lane == 0) store_result(a, at<Output>(a.out, offset.value[1]), state);
}

/// A row, or a share of it, by each block; shares are numbered along the grid's second dimension.
template <int kRank>
CK_DEVICE void reduce_rows_by_blocks(const RowArguments<kRank>& a, char* shared) {
  Slot* const stage = reinterpret_cast<Slot*>(shared);
  Slot* const room = stage + kStageStates;
  const uint32 lane = threadIdx.x % 32, warp = kOnce ? threadIdx.x / 32 : warp_number();
  const Offsets<Offset, 2> offset = offsets_of(static_cast<Offset>(blockIdx.x), a.kept);
  const Input* const x = at<Input>(a.x, offset.value[0]);
  Output* const out = at<Output>(a.out, offset.value[1]);
  const Offset from = blockIdx.y * a.share;
  const Offset count = a.length - from < a.share ? a.length - from : a.share;
  uint32 states = kWarps;
  if constexpr (Function::kAnyOrder) {
    const State state = take_row<kThreads>(x + from, count, from, lane);
    if (lane == 0) stage[warp].state = state;
  } else if constexpr (kOnce) {
    const RowReader<CK_LOADS> row(x, a.length, lane);
    const State state = row.fold_chunk(from / row.kItemsOfChunk + warp);
    if (lane == 0) stage[warp].state = state;
  } else {
    const RowReader<CK_LOADS> row(x, a.length, lane);
    constexpr Offset kChunk = row.kItemsOfChunk;
    const auto fill = [&](Offset first, uint32 chunks) {
      const Offset begin = from / kChunk + first;
      row.fold_chunks(begin + warp, blockDim.x / 32, begin + chunks,
                      [&](Offset chunk, const State& state) {
                        if (lane == 0) stage[chunk - begin].state = state;
                      });
    };
    states = stage_parts(stage, (count - 1) / kChunk + 1, kStageStates, 1, room, room + kWarps,
                         PartOfOne{}, fill);
  }
  finish(a, States{stage, states, 1}, room, PartOfOne{},
         [&](uint32, const State& one) { store_result(a, out, one); });
}

}  // namespace ck
