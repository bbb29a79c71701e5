// The twelve functions of reduce, a struct each, over states: what is known of some elements.
//
// A function of elements `In`, in arithmetic of `T`, has
//   State                    words, which are copied freely
//   identity()               the state of no element: it changes no other
//   leaf(x)                  the state of an element
//   combine(a, b)            the state of both, a in front of b
//   finish(state, rest)      the result; `Rest` is the number of elements or an initial value
//   kAnyOrder                whether all orders of combinations have the same bits. If not, states
//                            are combined as reduce/tree.cuh says, if so, as elements come, by
//                            take(state, x, place), which adds an element whose place is above
//                            those that the state has
//   kCommutes                whether combine(a, b) has the bits of combine(b, a)
//   kHasAbsent               whether absent() is an element whose state changes no other
//   kHasShifts               whether states have shifts, so that combining some takes less if
//                            theirs are alike
//   kIsLong                  whether combine takes many instructions: rare combinations are in
//                            loops then, once in the code
//   kIsPlace                 whether a state has a place
//   kTakesBytes              whether BytePlaces (reduce/bytes.cuh) takes many
//   kAddsWords               whether add_word(sum, word) adds four bytes to an integer
//
// No compiler has a choice: products whose sums are rounded once are written as fma, others with an
// instruction that is not contracted. Additions, products, fma, divisions and square roots are
// rounded as in IEEE 754: functions made of them have the same bits everywhere. Functions that call
// ex2.approx, log, hypot or atan2 do not. Subnormal numbers are kept.
#pragma once

#include "reduce/bytes.cuh"
#include "reduce/exponentials.cuh"
#include "reduce/numbers.cuh"

namespace ck {

/// a * b, which no addition is contracted with.
template <typename T>
CK_DEVICE T product(T a, T b) {
  if constexpr (kIsFloat<T>) {
    return rounded_product(a, b);
  } else {
    return a * b;
  }
}
template <typename T>
CK_DEVICE Complex<T> product(Complex<T> a, Complex<T> b) {
  return {fma(a.re, b.re, -product(a.im, b.im)), fma(a.re, b.im, product(a.im, b.re))};
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

/// A zero that changes no sum, where there is one.
template <typename T>
CK_DEVICE T negative_zero() {
  if constexpr (kIsComplex<T>) {
    const auto part = negative_zero<decltype(T::re)>();
    return {part, part};
  } else if constexpr (kIsShortFloat<T>) {
    return {0x8000};
  } else if constexpr (kIsFloat<T>) {
    return -T{0};
  } else {
    return convert<T>(0);
  }
}

/// What functions have unless they say otherwise: the result is a number, all orders are the same.
struct Defaults {
  using Rest = uint64;
  static constexpr bool kAnyOrder = true;
  static constexpr bool kCommutes = true;
  static constexpr bool kHasShifts = false;
  static constexpr bool kIsLong = false;
  static constexpr bool kHasAbsent = false;
  static constexpr bool kIsPlace = false;
  static constexpr bool kTakesBytes = false;
  static constexpr bool kAddsWords = false;
};

/// Functions that sum. Sums of bytes are exact in any type.
template <typename In, typename T>
struct Additive : Defaults {
  static constexpr bool kAnyOrder = !(kIsFloat<T> || kIsComplex<T>) || sizeof(In) == 1;
  static constexpr bool kAddsWords = sizeof(In) == 1;
  static constexpr bool kHasAbsent = !kAnyOrder;
  using State = T;
  CK_DEVICE static State identity() { return negative_zero<T>(); }
  CK_DEVICE static In absent() { return negative_zero<In>(); }
  CK_DEVICE static State combine(State a, State b) { return add(a, b); }
  CK_DEVICE static T finish(State state, uint64) { return state; }
};

template <typename In, typename T>
struct Sum : Additive<In, T> {
  CK_DEVICE static T leaf(In x) { return convert<T>(x); }
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
struct L1 : Additive<In, T> {
  CK_DEVICE static T leaf(In x) {
    if constexpr (kIsComplex<In>) {
      return hypot(static_cast<T>(x.re), static_cast<T>(x.im));
    } else if constexpr (kIsFloat<T>) {
      return fabs(convert<T>(x));
    } else {
      return magnitude_of<T>(x);
    }
  }
  CK_DEVICE static int32 add_word(int32 sum, uint32 word) {
    return dot_product_unsigned(magnitudes_of<In>(word), 0x01010101, sum);
  }
};

template <typename In, typename T>
struct SumSquare : Additive<In, T> {
  static constexpr bool kHasAbsent = !Additive<In, T>::kAnyOrder && !kIsComplex<T>;
  CK_DEVICE static T leaf(In x) {
    if constexpr (kIsBool<In>) {
      return convert<T>(x);  // what is true is its own square
    } else {
      return product(convert<T>(x), convert<T>(x));
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
  CK_DEVICE static T leaf(In x) {
    if constexpr (kIsComplex<In>) {
      const T re = static_cast<T>(x.re), im = static_cast<T>(x.im);
      return fma(re, re, product(im, im));
    } else {
      return SumSquare<In, T>::leaf(x);
    }
  }
  CK_DEVICE static T finish(T state, uint64) { return sqrt(state); }
};

template <typename In, typename T>
struct Multiply : Defaults {
  static constexpr bool kAnyOrder = !kIsFloat<T>;
  static constexpr bool kHasAbsent = !kAnyOrder;
  using State = T;
  CK_DEVICE static State identity() { return convert<T>(1); }
  CK_DEVICE static In absent() { return convert<In>(1); }
  CK_DEVICE static State leaf(In x) { return convert<T>(x); }
  CK_DEVICE static State combine(State a, State b) { return a * b; }
  CK_DEVICE static T finish(State state, uint64) { return state; }
};

/// Complex numbers: no factor changes nothing, since 0 times infinity is NaN.
template <typename In, typename T>
struct Multiply<In, Complex<T>> : Defaults {
  static constexpr bool kAnyOrder = false;
  static constexpr bool kCommutes = false;
  struct State {
    T re;
    T im;
    T exists;  // 0 or 1
  };
  CK_DEVICE static State identity() { return {T{1}, T{0}, T{0}}; }
  CK_DEVICE static State leaf(In x) {
    const auto value = convert<Complex<T>>(x);
    return {value.re, value.im, T{1}};
  }
  CK_DEVICE static State combine(State a, State b) {
    if (a.exists == T{0}) return b;
    if (b.exists == T{0}) return a;
    const Complex<T> both = product(Complex<T>{a.re, a.im}, Complex<T>{b.re, b.im});
    return {both.re, both.im, T{1}};
  }
  CK_DEVICE static Complex<T> finish(State state, uint64) { return {state.re, state.im}; }
};

/// log(sum(exp(x))) in one pass, as m + log1p(sum) for the largest element m. The sum has a term of
/// each element but that one: so results near zero keep their digits. Complex elements are states.
template <typename In, typename T>
struct LogSumExp : Defaults {
  static constexpr bool kAnyOrder = false;
  static constexpr bool kHasShifts = !kIsComplex<In>;
  static constexpr bool kIsLong = true;
  static constexpr bool kHasAbsent = kIsFloat<In> || kIsShortFloat<In>;
  struct State {
    T maximum;
    T sum;
  };
  CK_DEVICE static In absent() { return convert<In>(-infinity<float>()); }
  CK_DEVICE static State identity() { return {-infinity<T>(), T{0}}; }
  CK_DEVICE static State leaf(In x) {
    if constexpr (kIsComplex<In>) {
      return {x.re, x.im};
    } else {
      return {convert<T>(x), T{0}};
    }
  }
  /// Combines states of elements that all have the same shift, as combine does.
  struct Alike {
    Terms<T, kIsShortFloat<CK_OUTPUT_T>> terms;
    CK_DEVICE State operator()(State a, State b) const {
      const T maximum = higher_of(a.maximum, b.maximum);
      const T other = other_of(a.maximum, b.maximum, maximum);
      return {maximum, terms.template with<true>(a.sum + b.sum, other)};
    }
  };
  CK_DEVICE static Alike alike_near() { return {TermsOf::near_zero()}; }
  /// Whether elements are near zero, or absent.
  template <int kCount>
  CK_DEVICE static bool are_near_or_absent(const State (&state)[kCount]) {
    bool are = true;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      are = are && (fabs(state[k].maximum) < TermsOf::kNear || state[k].maximum == -infinity<T>());
    }
    return are;
  }
  /// A vector's elements; for those that are absent, elements whose terms are 0 beside near ones.
  template <typename V>
  CK_DEVICE static V without_absent(const V& vector) {
    Packed<V, In> items;
    items.vector = vector;
    if constexpr (sizeof(T) == 4) {  // in double, those of absent ones are 0 themselves
      unrolled<Packed<V, In>::kPieces>([&](uint32 i) {
        items.piece[i] = convert<In>(fmax(convert<T>(items.piece[i]), TermsOf::kNone));
      });
    }
    return items.vector;
  }
  /// The state of such elements as that of the elements themselves.
  CK_DEVICE static State with_absent(State state) {
    const bool is_absent = sizeof(T) == 4 && state.maximum < -TermsOf::kNear;
    return {is_absent ? -infinity<T>() : state.maximum, state.sum};
  }
  /// The shift of the highest of some elements' states, and whether it is that of the lowest one.
  template <int kCount>
  CK_DEVICE static Alike alike(const State (&state)[kCount], bool& holds) {
    T most = fabs(state[0].maximum);
#pragma unroll
    for (int k = 1; k < kCount; ++k) most = fmax(most, fabs(state[k].maximum));
    holds = most < TermsOf::kNear;
    if (holds) return {TermsOf::near_zero()};
    T high = state[0].maximum, low = high;
#pragma unroll
    for (int k = 1; k < kCount; ++k) {
      high = fmax(high, state[k].maximum);
      low = fmin(low, state[k].maximum);
    }
    const TermsOf of_high(high), of_low(low);
    holds = !(of_high != of_low) && most < TermsOf::kMost;
    return {of_high};
  }
  CK_DEVICE static State combine(State a, State b) {
    const T maximum = higher_of(a.maximum, b.maximum);
    const TermsOf of_a(a.maximum), of_b(b.maximum), terms(of_a, of_b, maximum);
    if (of_a != of_b) {
      a.sum = terms.moved(a.sum, of_a);
      b.sum = terms.moved(b.sum, of_b);
    }
    return {maximum, terms.with(a.sum + b.sum, other_of(a.maximum, b.maximum, maximum))};
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
  CK_DEVICE static State leaf(In x) { return convert<T>(x); }
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
  CK_DEVICE static auto finish(typename F::State state, const Rest& initial) {
    const auto result = convert<T>(F::finish(state, 0));
    return G::finish(G::combine(G::leaf(result), G::leaf(initial.value)), 0);
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

/// The state of an element, and an element whose state is that of none; only of functions that have
/// an order.
template <typename F, typename In>
CK_DEVICE typename F::State leaf(In x) {
  if constexpr (F::kAnyOrder) {
    return F::identity();
  } else {
    return F::leaf(x);
  }
}
template <typename F, typename In>
CK_DEVICE In absent() {
  if constexpr (!F::kHasAbsent) {
    return In{};
  } else {
    return F::absent();
  }
}

/// Adds an element, whose place is above those that the state has, to a state of any order.
template <typename F, typename In, typename P>
CK_DEVICE void take(typename F::State& state, In x, P place) {
  if constexpr (F::kIsPlace) {
    F::take(state, x, place);
  } else {
    state = F::combine(state, F::leaf(x));
  }
}

/// Adds elements next to each other to states that share them; `place` is the first one's.
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
  } else {
#pragma unroll
    for (int k = 0; k < kCount; ++k) take<F>(state[k % kStates], x[k], place + k);
  }
}

}  // namespace ck
