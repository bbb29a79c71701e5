// Rows that are contiguous, or made of contiguous pieces: a warp or a block reads a row as 16-byte
// vectors, 8 in flight for each thread. Blocks may share a row.
#pragma once

#include "common/division.cuh"
#include "common/memory.cuh"
#include "reduce/fold.cuh"
#include "reduce/functions.cuh"

namespace ck {

template <int kRank>
struct StreamArguments : ReduceArguments {
  Dimension<Offset, 2> kept[kRank];    ///< with strides of x and out
  Dimension<Offset, 1> pieces[kRank];  ///< of a row
  Divisor<Offset> splits;              ///< teams that share a row
  Divisor<Offset> parts;               ///< of a piece
  Offset rows;
  Offset length;  ///< elements of a piece
  Offset part;    ///< elements of a part; the last may have fewer
  Offset units;   ///< parts of a row
  Offset share;   ///< of them for a team
};

/// Takes in the elements of a vector, the first of which has a place.
template <typename F, typename In, int kChains>
CK_DEVICE void take_vector(typename F::State (&state)[kChains], const uint4& vector, Offset place) {
  constexpr uint32 kItems = 16 / sizeof(In);
  if constexpr (F::kIsLong && sizeof(In) < 8) {
    constexpr uint32 kBits = sizeof(In) * 8;
#pragma unroll 1
    for (uint32 i = 0; i < kItems; ++i) {
      const uint32 at = i * kBits;
      const uint32 low = at < 32 ? vector.x : vector.y, high = at < 96 ? vector.z : vector.w;
      Packed<uint32, In> word;
      word.vector = (at < 64 ? low : high) >> at % 32;
      F::take(state[0], word.piece[0], place + i);
    }
  } else {
    Packed<uint4, In> items;
    items.vector = vector;
    take_all<F>(state, items.piece, place);
  }
}

/// Takes in the vectors of a turn that exist, `kTeam` apart, the first of which has a place.
template <typename F, int kTeam, int kChains, int kLoads>
CK_DEVICE void take_turn(typename F::State (&state)[kChains], const uint4 (&vector)[kLoads],
                         Offset exist, Offset place) {
  constexpr Offset kStep = kTeam * (16 / sizeof(Input));
  if constexpr (F::kTakesBytes) {
    BytePlaces<F, Input>::take(state[0], vector, exist, place, kStep);
  } else if constexpr (F::kTakesMany > 16 / sizeof(Input)) {
    constexpr int kItems = 16 / sizeof(Input);
    typename F::Number numbers[kLoads * kItems];
#pragma unroll
    for (int k = 0; k < kLoads * kItems; ++k) {
      Packed<uint4, Input> items;
      items.vector = vector[k / kItems];
      numbers[k] =
          k / kItems < exist ? convert<typename F::Number>(items.piece[k % kItems]) : F::absent();
    }
    take_numbers<F>(state[0], numbers);
  } else {
    typename F::State turn[kChains];
#pragma unroll
    for (int c = 0; c < kChains; ++c) turn[c] = begun_turn<F>(state[c]);
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      if (k < exist) take_vector<F, Input>(turn, vector[k], place + k * kStep);
    }
#pragma unroll
    for (int c = 0; c < kChains; ++c) state[c] = ended_turn<F>(state[c], turn[c]);
  }
}

/// Takes in `count` elements from `x` on, the first of which has a place, with `kTeam` threads. The
/// 16 bytes that `base` lies in count as the first half of a sector: then who takes what does not
/// depend on more of an address than plans do.
template <int kTeam, int kChains>
CK_DEVICE void take_range(State (&state)[kChains], const void* base, const Input* x, Offset count,
                          Offset place) {
  constexpr int kLoads = 8;
  constexpr uint32 kItems = 16 / sizeof(Input);
  const uint32 thread = threadIdx.x % kTeam;
  const uint64 sector = reinterpret_cast<uint64>(base) / 16 * 16;
  const uint32 misaligned =
      static_cast<uint32>(sector - reinterpret_cast<uint64>(x)) % kSectorBytes / sizeof(Input);
  const uint32 head = misaligned < count ? misaligned : static_cast<uint32>(count);
  if (thread < head) Function::take(state[0], load(x + thread), place + thread);
  const Offset vectors = (count - head) / kItems;
  const uint4* const source = reinterpret_cast<const uint4*>(x + head);
  Offset first = thread;
  if constexpr (!Function::kIsLong) {
#pragma unroll 1
    for (; first < vectors && vectors - first > (kLoads - 1) * kTeam; first += kLoads * kTeam) {
      uint4 value[kLoads];
#pragma unroll
      for (int k = 0; k < kLoads; ++k) value[k] = load_once(source + first + k * kTeam);
      take_turn<Function, kTeam>(state, value, Offset{kLoads}, place + head + first * kItems);
    }
  }
#pragma unroll 1
  for (; first < vectors; first += kLoads * kTeam) {
    uint4 value[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      const Offset vector = first + k * kTeam;
      value[k] = load_if<true>(vector < vectors, source + vector);
    }
    const Offset exist = (vectors - first + kTeam - 1) / kTeam;
    take_turn<Function, kTeam>(state, value, exist, place + head + first * kItems);
  }
  const Offset tail = head + vectors * kItems;
  if (thread < count - tail) {
    Function::take(state[0], load(x + tail + thread), place + tail + thread);
  }
}

template <int kTeam, int kRank>
CK_DEVICE void reduce_stream(const StreamArguments<kRank>& a, char* shared) {
  constexpr uint32 kItems = 16 / sizeof(Input);
  constexpr uint32 kMost = Function::kTakesMany > 0 || Function::kTakesBytes || Function::kAddsWords
                               ? 1
                           : sizeof(State) <= 4 ? 4
                           : sizeof(State) <= 8 ? 2
                                                : 1;
  constexpr int kChains = kItems < kMost ? kItems : kMost;
  constexpr uint32 kTeams = kThreads / kTeam;
  const Division<Offset> team =
      divide(static_cast<Offset>(blockIdx.x * static_cast<Offset>(kTeams) + threadIdx.x / kTeam),
             a.splits);
  const Offset row = team.quotient, split = team.remainder;
  if (kTeam < kThreads && row >= a.rows) return;
  const Offsets<Offset, 2> offset = offsets_of(row, a.kept);
  State state[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) state[c] = Function::identity();
  const Offset from = split * a.share, left = a.units - from;
  const Offset to = from + (left < a.share ? left : a.share);
#pragma unroll 1
  for (Offset unit = from; unit < to; ++unit) {
    const Division<Offset> piece = divide(unit, a.parts);
    const Offset start = piece.remainder * a.part, rest = a.length - start;
    const Offset in_piece = offsets_of(piece.quotient, a.pieces).value[0];
    const Input* const x = at<Input>(a.x, offset.value[0] + in_piece);
    take_range<kTeam>(state, a.x, x + start, rest < a.part ? rest : a.part,
                      piece.quotient * a.length + start);
  }
#pragma unroll
  for (int c = 1; c < kChains; ++c) state[0] = Function::combine(state[0], state[c]);
  if constexpr (kTeam == kThreads) {
    State* const folded = reinterpret_cast<State*>(shared);
    state[0] = fold_block(state[0], folded);
    const uint32 splits = static_cast<uint32>(a.splits.value);
    const auto put = [&](State* states) {
      if (threadIdx.x == 0) *states = state[0];
    };
    const auto get = [&](const State* states, uint32 count) {
      state[0] = threadIdx.x < count ? states[threadIdx.x] : Function::identity();
      state[0] = fold_block(state[0], folded);
    };
    if (splits > 1 && !fold_blocks<kThreads>(a.workspace, row, split, splits, 1, put, get)) return;
  } else {
    state[0] = fold_lanes(state[0], 32);
  }
  if (threadIdx.x % kTeam == 0) {
    store(at<Output>(a.out, offset.value[1]), convert<Output>(Function::finish(state[0], a.rest)));
  }
}

}  // namespace ck
