// Elements of one byte, many at a time.
//
// Sums multiply and add four elements with one instruction. Argmax and argmin compare an element in
// the top byte of a word, whatever the bits below are: that takes a shift and a maximum, and no
// place. A place is looked for only after something better was found.
#pragma once

#include "common/memory.cuh"
#include "reduce/numbers.cuh"

namespace ck {

/// Four elements that compare as bytes: true is 0x80, false is 0.
template <typename In>
CK_DEVICE uint32 comparable(uint32 word) {
  return kIsBool<In> ? (((word & 0x7f7f7f7f) + 0x7f7f7f7f) | word) & 0x80808080 : word;
}
/// The element in the top byte of a word.
template <typename In, typename T>
CK_DEVICE T top_element(T word) {
  return word >> (kIsBool<In> ? 31 : 24);
}

/// The bytes of a word that are zero, as their top bits.
CK_DEVICE uint32 zero_bytes(uint32 word) {
  return ~(((word & 0x7f7f7f7f) + 0x7f7f7f7f) | word | 0x7f7f7f7f);
}

/// The sum of the products of four elements each, and of a number.
template <typename In>
CK_DEVICE int32 add_products(uint32 a, uint32 b, int32 sum) {
  return kIsSigned<In> ? dot_product_signed(a, b, sum) : dot_product_unsigned(a, b, sum);
}
/// Four elements as numbers: true is 1.
template <typename In>
CK_DEVICE uint32 numbers_of(uint32 word) {
  return kIsBool<In> ? comparable<In>(word) >> 7 : word;
}
/// |x| of four elements: of the least signed one, 128.
template <typename In>
CK_DEVICE uint32 magnitudes_of(uint32 word) {
  const uint32 negative = kIsSigned<In> ? (word >> 7) & 0x01010101 : 0;
  return (numbers_of<In>(word) ^ negative * 0xff) + negative;
}

/// Argmax and argmin of bytes, as `F` takes them one by one.
template <typename F, typename In>
struct BytePlaces {
  using State = typename F::State;
  using T = decltype(State::value);

  CK_DEVICE static T better(T a, T b) { return F::Ordered::beats(a, b) ? a : b; }
  /// Whether an element that comes later takes the place of the state's.
  CK_DEVICE static bool replaces(T value, const State& state) {
    return F::kTakesLast ? !F::Ordered::beats(state.value, value)
                         : F::Ordered::beats(value, state.value);
  }

  /// Takes the first `exist` vectors, whose places ascend, `step` from one to the next.
  template <int kCount, typename P>
  CK_DEVICE static void take(State& state, const uint4 (&vector)[kCount], P exist, P place,
                             P step) {
    T best[kCount], all = F::Ordered::worst();
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      best[k] = best_of(vector[k]);
      all = k < exist ? better(all, best[k]) : all;
    }
    const T value = top_element<In>(all);
    if (!replaces(value, state)) return;
    uint4 winner = vector[0];
    P at = place;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const int other = F::kTakesLast ? k : kCount - 1 - k;
      if (other < exist && top_element<In>(best[other]) == value) {
        winner = vector[other];
        at = place + other * step;
      }
    }
    state = {value, at + index_of(winner, static_cast<uint32>(all) >> 24)};
  }

  /// Takes element `item` of each unit that exists into the state of its own result. The first unit
  /// exists. Places ascend; with `kRegular` they are equally far apart. The number of the unit lies
  /// below the element and decides ties.
  template <bool kRegular, int kCount, typename V, typename P, typename Exists>
  CK_DEVICE static void take_item(State& state, int item, const Packed<V, In> (&unit)[kCount],
                                  const P (&place)[kCount], const Exists& exists) {
    constexpr uint32 kFlip = F::kTakesHighest == F::kTakesLast ? 0 : kCount - 1;
    T best = F::Ordered::worst();
#pragma unroll
    for (uint32 k = 0; k < kCount; ++k) {
      Packed<V, uint32> words;
      words.vector = unit[k].vector;
      const uint32 word = comparable<In>(words.piece[item / 4]);
      const T key = static_cast<T>(__byte_perm(word, k ^ kFlip, 0x554 | item % 4 << 12));
      best = exists(k) ? better(best, key) : best;
    }
    const T value = top_element<In>(best);
    if (replaces(value, state)) {
      const uint32 which = static_cast<uint32>(best) % kCount ^ kFlip;
      const P behind = kRegular ? which * (place[1] - place[0]) : 0;
      state = {value, place[0] + behind};
#pragma unroll
      for (uint32 k = 1; k < kCount && !kRegular; ++k) {
        state.place = which == k ? place[k] : state.place;
      }
    }
  }

 private:
  /// The best of 16 elements, in the top byte.
  CK_DEVICE static T best_of(const uint4& vector) {
    Packed<uint4, uint32> words;
    words.vector = vector;
    if constexpr (kIsBool<In>) {  // any that is true, or all
      uint32 all = comparable<In>(words.piece[0]);
#pragma unroll
      for (int k = 1; k < 4; ++k) {
        const uint32 word = comparable<In>(words.piece[k]);
        all = F::kTakesHighest ? all | word : all & word;
      }
      return (F::kTakesHighest ? all != 0 : all == 0x80808080) ? 0x80000000 : 0;
    }
    T best = F::Ordered::worst();
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const uint32 word = comparable<In>(words.piece[k]);
#pragma unroll
      for (int shift = 0; shift < 32; shift += 8) {
        best = better(best, static_cast<T>(word << shift));
      }
    }
    return best;
  }
  /// The position of a byte among 16 elements; it is one of them.
  CK_DEVICE static uint32 index_of(const uint4& vector, uint32 byte) {
    Packed<uint4, uint32> words;
    words.vector = vector;
    uint32 matches = 0, at = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int word = F::kTakesLast ? k : 3 - k;
      const uint32 equal = zero_bytes(comparable<In>(words.piece[word]) ^ byte * 0x01010101);
      matches = equal != 0 ? equal : matches;
      at = equal != 0 ? word * 4 : at;
    }
    return at + (F::kTakesLast ? 31 - __clz(matches) : __ffs(matches) - 1) / 8;
  }
};

}  // namespace ck
