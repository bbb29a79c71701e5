// SPDX-License-Identifier: MIT
// Max, min, argmax and argmin, as reduce/functions.cuh describes functions.
#pragma once

#include "common/types.cuh"
#include "reduce/functions.cuh"
#include "reduce/numbers.cuh"

namespace ck {

/// Which of two numbers max or min prefers. `kIgnore`: NaN counts as absent; else it wins.
template <typename T, bool kMax, bool kIgnore>
struct Order {
  CK_DEVICE static bool beats(T a, T b) {
    const bool better = kMax ? a > b : a < b;
    if constexpr (kIsFloat<T>) {
      return kIgnore ? better || (b != b && a == a) : better || (a != a && b == b);
    } else {
      return better;
    }
  }
  /// What no number loses to.
  CK_DEVICE static T worst() {
    if constexpr (kIsFloat<T>) {
      return kMax ? -infinity<T>() : infinity<T>();
    } else if constexpr (static_cast<T>(-1) < T{0}) {
      constexpr T kLowest = static_cast<T>(T{1} << (sizeof(T) * 8 - 2)) * -2;
      return kMax ? kLowest : ~kLowest;
    } else {
      return kMax ? T{0} : ~T{0};
    }
  }
};

template <typename In, typename T, bool kMax, bool kIgnore>
struct Extreme : OfNumbers {
  using State = T;
  using Ordered = Order<T, kMax, kIgnore>;
  CK_DEVICE static State identity() {
    if constexpr (kIsFloat<T> && kIgnore) {
      return not_a_number<T>();
    } else {
      return Ordered::worst();
    }
  }
  template <typename P>
  CK_DEVICE static void take(State& state, In x, P) {
    state = combine(state, convert<T>(x));
  }
  CK_DEVICE static State combine(State a, State b) {
    if constexpr (kIsFloat<T> && kIgnore) {
      if constexpr (sizeof(T) == 4) {
        return kMax ? fmaxf(a, b) : fminf(a, b);
      } else {
        return kMax ? fmax(a, b) : fmin(a, b);
      }
    } else if constexpr (kIsFloat<T>) {
      return (kMax ? a > b : a < b) || a != a ? a : b;
    } else {
      return (kMax ? a > b : a < b) ? a : b;
    }
  }
  CK_DEVICE static T finish(State state, uint64) { return state; }
};

/// The place of an extreme element; of equal ones the first, or the last.
template <typename In, typename T, typename P, bool kMax, bool kIgnore, bool kLast>
struct ExtremePlace {
  using Ordered = Order<T, kMax, kIgnore>;
  struct State {
    T value;
    P place;
  };
  using Rest = uint64;
  static constexpr bool kIsPlace = true;
  static constexpr bool kIsLong = false;
  static constexpr bool kFoldsTurns = false;
  static constexpr bool kTakesMany = false;
  static constexpr bool kTakesBytes = sizeof(In) == 1;
  static constexpr bool kAddsWords = false;
  static constexpr bool kTakesHighest = kMax;
  static constexpr bool kTakesLast = kLast;
  static constexpr P kNone = static_cast<P>(-1);

  CK_DEVICE static State identity() { return {Extreme<In, T, kMax, kIgnore>::identity(), kNone}; }
  CK_DEVICE static void take(State& state, In element, P place) {
    const T x = convert<T>(element);
    // Without NaN, a state that has no place yet only loses to what is better than the worst; if
    // nothing is, all elements are equal.
    const bool later = kLast && !Ordered::beats(state.value, x) && (!kIgnore || x == x);
    if (later || Ordered::beats(x, state.value)) {
      state = {x, place};
    }
  }
  /// The same for an element whose place may be anywhere.
  CK_DEVICE static void take_anywhere(State& state, In element, P place) {
    const T x = convert<T>(element);
    if (!kIgnore || x == x) {
      state = combine(state, {x, place});
    }
  }
  CK_DEVICE static State combine(State a, State b) {
    const bool better = Ordered::beats(b.value, a.value);
    const bool equal = !better && !Ordered::beats(a.value, b.value);
    const bool nearer = kLast ? b.place + 1 > a.place + 1 : b.place < a.place;  // none is lowest
    return better || (equal && nearer) ? b : a;
  }
  CK_DEVICE static P finish(State state, uint64) {
    return state.place == kNone ? P{0} : state.place;
  }
};

}  // namespace ck
