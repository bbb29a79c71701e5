// The twelve functions of reduce, a struct each, over a state that elements are taken into.
//
// A function of elements `In`, in arithmetic of `T`, has
//   State                    what is known of some elements: words, which are copied freely
//   identity()               the state of no element
//   take(state, x, place)    adds an element whose place is above those that the state has
//   combine(a, b)            the state of both, in either order
//   finish(state, rest)      the result; `Rest` is the number of elements or an initial value
//   kIsPlace, kIsLong        whether a state has a place; whether taking is long code
//   kIsSum                   whether it adds; then -0.0 changes no state
//   kFoldsTurns              whether what a turn of a loop takes is folded before it is added,
//                            which bounds the error of long sums
//   kTakesMany               how many numbers take_many(state, numbers) is best for; 0 if none
//   kTakesBytes              whether BytePlaces (reduce/bytes.cuh) takes many
//   kAddsWords               whether add_word(sum, word) adds four bytes to an integer
//
// Products in sums are written as fma, so that no compiler has a choice. Additions, products, fma,
// divisions and square roots are rounded as in IEEE 754: functions made of them have the same bits
// everywhere. Functions that call ex2.approx, log, hypot or atan2 do not. Subnormal numbers are
// kept.
#pragma once

#include "reduce/bytes.cuh"
#include "reduce/exponentials.cuh"
#include "reduce/numbers.cuh"

namespace ck {

/// a * b + c, rounded once for floats.
template <typename T>
CK_DEVICE T multiply_add(T a, T b, T c) {
  if constexpr (kIsFloat<T>) {
    return fma(a, b, c);
  } else {
    return a * b + c;
  }
}
template <typename T>
CK_DEVICE Complex<T> multiply_add(Complex<T> a, Complex<T> b, Complex<T> c) {
  return {multiply_add(a.re, b.re, multiply_add(-a.im, b.im, c.re)),
          multiply_add(a.re, b.im, multiply_add(a.im, b.re, c.im))};
}

template <typename T>
CK_DEVICE T add(T a, T b) {
  return a + b;
}
template <typename T>
CK_DEVICE Complex<T> add(Complex<T> a, Complex<T> b) {
  return {a.re + b.re, a.im + b.im};
}

template <typename T>
CK_DEVICE T infinity() {
  return static_cast<T>(__uint_as_float(0x7f800000));
}
template <typename T>
CK_DEVICE T not_a_number() {
  if constexpr (kIsComplex<T>) {
    const auto part = not_a_number<decltype(T::re)>();
    return {part, part};
  } else if constexpr (sizeof(T) == 4) {
    return __uint_as_float(0x7fffffff);
  } else {
    return __longlong_as_double(0x7fffffffffffffff);
  }
}

template <typename T>
CK_DEVICE bool is_nan(T x) {
  return x != x;
}
template <typename T>
CK_DEVICE bool is_nan(Complex<T> x) {
  return is_nan(x.re) || is_nan(x.im);
}

/// What functions have unless they say otherwise: the result is a number, taking is short code.
struct Defaults {
  using Rest = uint64;
  static constexpr bool kIsPlace = false;
  static constexpr bool kIsLong = false;
  static constexpr bool kIsSum = false;
  static constexpr bool kFoldsTurns = false;
  static constexpr int kTakesMany = 0;
  static constexpr bool kTakesBytes = false;
  static constexpr bool kAddsWords = false;
};

/// What a turn of a loop takes elements into.
template <typename F>
CK_DEVICE typename F::State begun_turn(typename F::State state) {
  return F::kFoldsTurns ? F::identity() : state;
}
/// The state after a turn.
template <typename F>
CK_DEVICE typename F::State ended_turn(typename F::State state, typename F::State turn) {
  return F::kFoldsTurns ? F::combine(state, turn) : turn;
}

/// Functions that sum.
template <typename T>
struct Additive : Defaults {
  static constexpr bool kIsSum = true;
  static constexpr bool kFoldsTurns = kIsFloat<T> || kIsComplex<T>;
  using State = T;
  CK_DEVICE static State identity() { return convert<T>(0); }
  CK_DEVICE static State combine(State a, State b) { return add(a, b); }
  CK_DEVICE static T finish(State state, uint64) { return state; }
};

/// The same, of elements of type In.
template <typename In, typename T>
struct AdditiveOf : Additive<T> {
  static constexpr bool kAddsWords = sizeof(In) == 1;
};

template <typename In, typename T>
struct Sum : AdditiveOf<In, T> {
  template <typename P>
  CK_DEVICE static void take(T& state, In x, P) {
    state = add(state, convert<T>(x));
  }
  CK_DEVICE static int32 add_word(int32 sum, uint32 word) {
    return add_products<In>(numbers_of<In>(word), 0x01010101, sum);
  }
};

template <typename In, typename T>
struct Average : Sum<In, T> {
  CK_DEVICE static T finish(T state, uint64 count) {
    if constexpr (kIsComplex<T>) {
      const auto n = static_cast<decltype(T::re)>(count);
      return {state.re / n, state.im / n};
    } else {
      return state / static_cast<T>(count);
    }
  }
};

template <typename In, typename T>
struct LogSum : Sum<In, T> {
  CK_DEVICE static T finish(T state, uint64) {
    if constexpr (kIsComplex<T>) {
      return {log(hypot(state.re, state.im)), atan2(state.im, state.re)};
    } else {
      return log(state);
    }
  }
};

/// |x| of an integer in the type that is computed with, where 128 is that of the int8 -128.
template <typename T, typename In>
CK_DEVICE T magnitude_of(In x) {
  if constexpr (kIsSigned<In> && sizeof(In) <= sizeof(int32)) {
    return static_cast<uint32>(absolute_word(x));
  } else if constexpr (kIsSigned<In>) {
    return x < In{0} ? T{0} - static_cast<T>(x) : static_cast<T>(x);
  } else {
    return convert<T>(x);
  }
}

template <typename In, typename T>
struct L1 : AdditiveOf<In, T> {
  template <typename P>
  CK_DEVICE static void take(T& state, In x, P) {
    if constexpr (kIsComplex<In>) {
      state += hypot(static_cast<T>(x.re), static_cast<T>(x.im));
    } else if constexpr (kIsFloat<T>) {
      state += fabs(convert<T>(x));
    } else {
      state += magnitude_of<T>(x);
    }
  }
  CK_DEVICE static int32 add_word(int32 sum, uint32 word) {
    return dot_product_unsigned(magnitudes_of<In>(word), 0x01010101, sum);
  }
};

template <typename In, typename T>
struct SumSquare : AdditiveOf<In, T> {
  template <typename P>
  CK_DEVICE static void take(T& state, In x, P) {
    if constexpr (kIsBool<In>) {
      state += convert<T>(x);  // what is true is its own square
    } else {
      state = multiply_add(convert<T>(x), convert<T>(x), state);
    }
  }
  CK_DEVICE static int32 add_word(int32 sum, uint32 word) {
    const uint32 numbers = numbers_of<In>(word);
    return add_products<In>(numbers, numbers, sum);
  }
};

/// The square root of the sum of squared magnitudes, which are not scaled.
template <typename In, typename T>
struct L2 : SumSquare<In, T> {
  template <typename P>
  CK_DEVICE static void take(T& state, In x, P place) {
    if constexpr (kIsComplex<In>) {
      const T re = static_cast<T>(x.re), im = static_cast<T>(x.im);
      state = multiply_add(re, re, multiply_add(im, im, state));
    } else {
      SumSquare<In, T>::take(state, x, place);
    }
  }
  CK_DEVICE static T finish(T state, uint64) { return sqrt(state); }
};

template <typename In, typename T>
struct Multiply : Defaults {
  using State = T;
  CK_DEVICE static State identity() { return convert<T>(1); }
  template <typename P>
  CK_DEVICE static void take(State& state, In x, P) {
    state = combine(state, convert<T>(x));
  }
  CK_DEVICE static State combine(State a, State b) {
    if constexpr (kIsComplex<T>) {
      return {multiply_add(a.re, b.re, -(a.im * b.im)), multiply_add(a.re, b.im, a.im * b.re)};
    } else {
      return a * b;
    }
  }
  CK_DEVICE static T finish(State state, uint64) { return state; }
};

/// log(sum(exp(x))) in one pass, as m + log1p(sum) for the largest element m. The sum has a term of
/// each element but that one: so results near zero keep their digits. Complex elements are states.
template <typename In, typename T>
struct LogSumExp : Defaults {
  static constexpr bool kIsLong = sizeof(T) > 4;
  static constexpr int kTakesMany = kIsComplex<In> ? 0 : kIsLong ? 2 : 8;
  using Number = T;
  struct State {
    T maximum;
    T sum;
  };
  CK_DEVICE static State identity() { return {-infinity<T>(), T{0}}; }
  template <typename P>
  CK_DEVICE static void take(State& state, In element, P) {
    if constexpr (kIsComplex<In>) {
      state = combine(state, {element.re, element.im});
    } else {
      const T x[] = {convert<T>(element)};
      take_many(state, x);
    }
  }
  /// A number that changes nothing.
  CK_DEVICE static T absent() { return -infinity<T>(); }
  template <int kCount>
  CK_DEVICE static void take_many(State& state, const T (&x)[kCount]) {
    T maximum = state.maximum, lesser[kCount];
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const T higher = higher_of(x[k], maximum);
      lesser[k] = other_of(x[k], maximum, higher);
      maximum = higher;
    }
    const TermsOf terms(maximum);
    T sum{0};
#pragma unroll
    for (int k = 0; k < kCount; ++k) sum = terms.with(sum, lesser[k]);
    state = {maximum, terms.with(sum, state.sum, state.maximum)};
  }
  CK_DEVICE static State combine(State a, State b) {
    const T maximum = higher_of(a.maximum, b.maximum);
    const TermsOf terms(maximum);
    const T sum = terms.with(T{0}, other_of(a.maximum, b.maximum, maximum));
    return {maximum, terms.with(terms.with(sum, a.sum, a.maximum), b.sum, b.maximum)};
  }
  CK_DEVICE static T finish(State state, uint64) {
    const T maximum = state.maximum, sum = state.sum;
    if (!(fabs(maximum) < TermsOf::kMost)) return sum == sum ? maximum : sum;
    return TermsOf(maximum).log_sum(sum, maximum);
  }

 private:
  using TermsOf = Terms<T, kIsShortFloat<CK_OUTPUT_T>>;
};

/// The state of log(sum(exp(x))) as a complex number: for the state of more elements.
template <typename In, typename T>
struct LogSumExpState : LogSumExp<In, T> {
  CK_DEVICE static Complex<T> finish(typename LogSumExp<In, T>::State state, uint64) {
    return {state.maximum, state.sum};
  }
};

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
  /// The number that beats no other.
  CK_DEVICE static T worst() {
    if constexpr (kIsFloat<T>) {
      return kMax ? -infinity<T>() : infinity<T>();
    } else if constexpr (kIsSigned<T>) {
      constexpr T kLowest = static_cast<T>(T{1} << (sizeof(T) * 8 - 2)) * -2;
      return kMax ? kLowest : ~kLowest;
    } else {
      return kMax ? T{0} : ~T{0};
    }
  }
};

/// Complex numbers: by their real parts, then by their imaginary parts.
template <typename T, bool kMax, bool kIgnore>
struct Order<Complex<T>, kMax, kIgnore> {
  CK_DEVICE static bool beats(Complex<T> a, Complex<T> b) {
    if (is_nan(a) || is_nan(b)) return !is_nan(kIgnore ? a : b);
    const Complex<T> x = kMax ? a : b, y = kMax ? b : a;
    return x.re > y.re || (x.re == y.re && x.im > y.im);
  }
  CK_DEVICE static Complex<T> worst() {
    const T part = Order<T, kMax, kIgnore>::worst();
    return {part, part};
  }
};

/// The extreme element; of equal real ones, any.
template <typename In, typename T, bool kMax, bool kIgnore>
struct Extreme : Defaults {
  using State = T;
  using Ordered = Order<T, kMax, kIgnore>;
  CK_DEVICE static State identity() {
    if constexpr ((kIsFloat<T> || kIsComplex<T>) && kIgnore) {
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
    if constexpr (kIsComplex<T>) {
      return Ordered::beats(a, b) ? a : b;
    } else if constexpr (kIsFloat<T> && kIgnore) {
      return kMax ? fmax(a, b) : fmin(a, b);
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
struct ExtremePlace : Defaults {
  using Ordered = Order<T, kMax, kIgnore>;
  struct State {
    T value;
    P place;
  };
  static constexpr bool kIsPlace = true;
  static constexpr bool kTakesBytes = sizeof(In) == 1;
  static constexpr bool kTakesHighest = kMax;
  static constexpr bool kTakesLast = kLast;
  static constexpr P kNone = static_cast<P>(-1);

  CK_DEVICE static State identity() { return {Extreme<In, T, kMax, kIgnore>::identity(), kNone}; }
  CK_DEVICE static void take(State& state, In element, P place) {
    const T x = convert<T>(element);
    // A state without a place has the worst value. If no element beats it, all elements are equal
    // to it (there is no NaN then), and finish makes the missing place 0.
    const bool later = kLast && !Ordered::beats(state.value, x) && (!kIgnore || !is_nan(x));
    if (later || Ordered::beats(x, state.value)) state = {x, place};
  }
  /// Takes an element whose place may be below those that the state has.
  CK_DEVICE static void take_anywhere(State& state, In element, P place) {
    const T x = convert<T>(element);
    if (!kIgnore || !is_nan(x)) state = combine(state, {x, place});
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

/// The first extreme element: of complex numbers, equal ones and NaNs differ.
template <typename In, typename T, typename P, bool kMax, bool kIgnore>
struct FirstExtreme : ExtremePlace<In, T, P, kMax, kIgnore, false> {
  using typename ExtremePlace<In, T, P, kMax, kIgnore, false>::State;
  CK_DEVICE static T finish(State state, uint64) { return state.value; }
};

/// An initial value in the type that it is combined in.
template <typename T>
struct alignas(8) Initial {
  T value;
};

/// A function `F` whose result is combined once with an initial value, by `G`: the same function of
/// values of type T.
template <typename F, typename G, typename T>
struct WithInitial : F {
  using Rest = Initial<T>;
  using State = typename F::State;
  /// Sums begin with -0.0: then elements of -0.0 leave the sign to the initial value.
  CK_DEVICE static State identity() {
    if constexpr (F::kIsSum && kIsComplex<State>) {
      return {-F::identity().re, -F::identity().im};
    } else if constexpr (F::kIsSum) {
      return -F::identity();
    } else {
      return F::identity();
    }
  }
  CK_DEVICE static typename G::State finish(State state, const Rest& initial) {
    typename G::State all = convert<typename G::State>(convert<T>(F::finish(state, 0)));
    G::take(all, initial.value, 0);
    return all;
  }
};

using Input = CK_INPUT_T;
using Number = CK_NUMBER_T;
using Output = CK_OUTPUT_T;
using Offset = CK_OFFSET_T;
#if defined(CK_INITIAL)
using Function = WithInitial<CK_FUNCTION, CK_INITIAL, CK_INITIAL_T>;
#else
using Function = CK_FUNCTION;
#endif
using State = Function::State;
static_assert(sizeof(State) == CK_STATE_BYTES,
              "state_bytes of a Reduction must be the size of State");
using Rest = Function::Rest;

/// Takes all numbers, as many as are good at a time.
template <typename F, int kCount>
CK_DEVICE void take_numbers(typename F::State& state, const typename F::Number (&x)[kCount]) {
  constexpr int kMany = kCount < F::kTakesMany ? kCount : F::kTakesMany;
  static_assert(kCount % kMany == 0, "groups are whole");
#pragma unroll
  for (int first = 0; first < kCount; first += kMany) {
    typename F::Number group[kMany];
#pragma unroll
    for (int k = 0; k < kMany; ++k) group[k] = x[first + k];
    F::take_many(state, group);
  }
}

/// Takes elements next to each other into states that share them; `place` is the first one's.
template <typename F, typename In, typename P, int kStates, int kCount>
CK_DEVICE void take_all(typename F::State (&state)[kStates], const In (&x)[kCount], P place) {
  if constexpr ((F::kTakesBytes || F::kAddsWords) && kCount == 16) {
    Packed<uint4, In> items;
#pragma unroll
    for (int k = 0; k < kCount; ++k) items.piece[k] = x[k];
    const uint4 vector[] = {items.vector};
    if constexpr (F::kTakesBytes) {
      BytePlaces<F, In>::take(state[0], vector, P{1}, place, P{0});
    } else {
      int32 sum = F::add_word(0, vector->x);
      sum = F::add_word(sum, vector->y);
      sum = F::add_word(sum, vector->z);
      sum = F::add_word(sum, vector->w);
      state[0] += static_cast<typename F::State>(sum);
    }
  } else if constexpr (F::kTakesMany > 0) {
    typename F::Number numbers[kCount];
#pragma unroll
    for (int k = 0; k < kCount; ++k) numbers[k] = convert<typename F::Number>(x[k]);
    take_numbers<F>(state[0], numbers);
  } else {
#pragma unroll
    for (int k = 0; k < kCount; ++k) F::take(state[k % kStates], x[k], place + k);
  }
}

}  // namespace ck
