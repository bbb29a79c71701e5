// SPDX-License-Identifier: MIT
// Rows that are contiguous, or made of contiguous pieces: a warp or a block reads a row as 16-byte
// vectors, 8 in flight for each thread. Blocks may share a row.
#pragma once

#include "common/memory.cuh"
#include "common/strided.cuh"
#include "common/types.cuh"
#include "reduce/fold.cuh"
#include "reduce/functions.cuh"

namespace ck {

template <typename O, int kRank, typename R>
struct StreamArguments {
  const void* x;
  void* out;
  uint64* workspace;
  R rest;                         ///< what finish takes beside a state
  Dimension<O, 2> kept[kRank];    ///< with strides of x and out
  Dimension<O, 1> pieces[kRank];  ///< of a row
  Divisor<O> splits;              ///< teams that share a row
  Divisor<O> parts;               ///< of a piece
  O rows;
  O length;  ///< elements of a piece
  O part;    ///< elements of a part; the last may have fewer
  O units;   ///< parts of a row
  O share;   ///< of them for a team
};

/// Takes in the elements of a vector, the first of which has a place.
template <typename F, typename In, typename O, int kChains>
CK_DEVICE void take_vector(typename F::State (&state)[kChains], const uint4& vector, O place) {
  constexpr uint32 kItems = 16 / sizeof(In);
  if constexpr (F::kIsLong && sizeof(In) < 8) {
    constexpr uint32 kBits = sizeof(In) * 8;
#pragma unroll 1
    for (uint32 i = 0; i < kItems; ++i) {
      const uint32 at = i * kBits;
      const uint32 low = at < 32 ? vector.x : vector.y, high = at < 96 ? vector.z : vector.w;
      Packed<uint32, In> word;
      word.vector = (at < 64 ? low : high) >> at % 32;
      F::take(state[0], word.piece[0], static_cast<O>(place + i));
    }
  } else {
    Packed<uint4, In> items;
    items.vector = vector;
    take_all<F>(state, items.piece, place);
  }
}

/// Takes in the vectors of a turn that exist, `kTeam` apart, the first of which has a place.
template <typename F, typename In, int kTeam, typename O, int kChains, int kLoads>
CK_DEVICE void take_turn(typename F::State (&state)[kChains], const uint4 (&vector)[kLoads],
                         O exist, O place) {
  constexpr O kStep = kTeam * (16 / sizeof(In));
  if constexpr (F::kTakesBytes) {
    BytePlaces<F, In>::take(state[0], vector, exist, place, kStep);
  } else {
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      if (k < exist) {
        take_vector<F, In>(state, vector[k], static_cast<O>(place + k * kStep));
      }
    }
  }
}

/// Takes in `count` elements from `x` on, the first of which has a place, with `kTeam` threads. The
/// 16 bytes that `base` lies in count as the first half of a sector: then who takes what does not
/// depend on more of an address than plans do.
template <typename F, int kTeam, typename In, typename O, int kChains>
CK_DEVICE void take_range(typename F::State (&state)[kChains], const void* base, const In* x,
                          O count, O place) {
  constexpr int kLoads = 8;
  constexpr uint32 kItems = 16 / sizeof(In);
  const uint32 thread = threadIdx.x % kTeam;
  const uint64 sector = reinterpret_cast<uint64>(base) / 16 * 16;
  const uint32 misaligned =
      static_cast<uint32>(sector - reinterpret_cast<uint64>(x)) % kSectorBytes / sizeof(In);
  const uint32 head = misaligned < count ? misaligned : static_cast<uint32>(count);
  if (thread < head) {
    F::take(state[0], load_struct(x + thread), static_cast<O>(place + thread));
  }
  const O vectors = (count - head) / kItems;
  const uint4* const source = reinterpret_cast<const uint4*>(x + head);
  O first = thread;
  if constexpr (!F::kIsLong) {
#pragma unroll 1
    for (; first < vectors && vectors - first > (kLoads - 1) * kTeam; first += kLoads * kTeam) {
      uint4 value[kLoads];
#pragma unroll
      for (int k = 0; k < kLoads; ++k) {
        value[k] = load_once(source + first + k * kTeam);
      }
      take_turn<F, In, kTeam>(state, value, O{kLoads},
                              static_cast<O>(place + head + first * kItems));
    }
  }
#pragma unroll 1
  for (; first < vectors; first += kLoads * kTeam) {
    uint4 value[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      const O vector = first + k * kTeam;
      value[k] = load_if<true>(vector < vectors, source + vector);
    }
    const O exist = (vectors - first + kTeam - 1) / kTeam;
    take_turn<F, In, kTeam>(state, value, exist, static_cast<O>(place + head + first * kItems));
  }
  const O tail = head + vectors * kItems;
  if (thread < count - tail) {
    F::take(state[0], load_struct(x + tail + thread), static_cast<O>(place + tail + thread));
  }
}

template <typename F, typename In, typename Out, int kTeam, typename O, int kRank>
CK_DEVICE void reduce_stream(const StreamArguments<O, kRank, typename F::Rest>& a, char* shared) {
  using State = typename F::State;
  constexpr uint32 kItems = 16 / sizeof(In);
  constexpr uint32 kMost = F::kTakesMany || F::kTakesBytes || F::kAddsWords ? 1
                           : sizeof(State) <= 4                             ? 4
                           : sizeof(State) <= 8                             ? 2
                                                                            : 1;
  constexpr int kChains = kItems < kMost ? kItems : kMost;
  constexpr uint32 kTeams = kThreads / kTeam;
  const Division<O> team =
      divide(static_cast<O>(blockIdx.x * static_cast<O>(kTeams) + threadIdx.x / kTeam), a.splits);
  const O row = team.quotient, split = team.remainder;
  if (kTeam < kThreads && row >= a.rows) {
    return;
  }
  const Offsets<O, 2> offset = offsets_of(row, a.kept);
  State state[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) {
    state[c] = F::identity();
  }
  const O from = split * a.share, left = a.units - from;
  const O to = from + (left < a.share ? left : a.share);
#pragma unroll 1
  for (O unit = from; unit < to; ++unit) {
    const Division<O> piece = divide(unit, a.parts);
    const O start = piece.remainder * a.part, rest = a.length - start;
    const O in_piece = offsets_of(piece.quotient, a.pieces).value[0];
    const In* const x = at<In>(a.x, static_cast<O>(offset.value[0] + in_piece));
    take_range<F, kTeam>(state, a.x, x + start, rest < a.part ? rest : a.part,
                         static_cast<O>(piece.quotient * a.length + start));
  }
#pragma unroll
  for (int c = 1; c < kChains; ++c) {
    state[0] = F::combine(state[0], state[c]);
  }
  if constexpr (kTeam == kThreads) {
    State* const folded = reinterpret_cast<State*>(shared);
    state[0] = fold_block<F>(state[0], folded);
    const uint32 splits = static_cast<uint32>(a.splits.value);
    const auto put = [&](State* states) {
      if (threadIdx.x == 0) {
        *states = state[0];
      }
    };
    const auto get = [&](const State* states, uint32 count) {
      state[0] = threadIdx.x < count ? states[threadIdx.x] : F::identity();
      state[0] = fold_block<F>(state[0], folded);
    };
    if (splits > 1 &&
        !fold_blocks<State, kThreads>(a.workspace, static_cast<uint32>(row),
                                      static_cast<uint32>(split), splits, 1, put, get)) {
      return;
    }
  } else {
    state[0] = fold_lanes<F>(state[0], 32);
  }
  if (threadIdx.x % kTeam == 0) {
    store(at<Out>(a.out, offset.value[1]), convert<Out>(F::finish(state[0], a.rest)));
  }
}

}  // namespace ck
