// Instructions on f16, bf16 and pairs of them. Sums and products go through f32: of 24 bits, at
// least 2 * 11 + 2, the second rounding gives what one rounding would. A fused result goes through
// f64 with a sticky last bit.
#pragma once

#include "compare.hpp"
#include "floats.hpp"
#include "small_floats.hpp"

namespace ck_ptx {

template <int FTZ, typename H>
CK_INLINE H flushed_half(H x) {
  if (FTZ && !(x.bits & (FloatOf<H>::largest + 1))) x.bits &= FloatOf<H>::sign;
  return x;
}
template <int FTZ, typename H>
CK_INLINE f32 number(H x) {
  return to_f32(flushed_half<FTZ>(x));
}

/// What a result becomes: with SAT from +0 to 1, NaN as +0; with RELU at least +0, NaN as it is.
template <int FTZ, int SAT, int RELU, typename H>
CK_INLINE H finished_half(H x) {
  x = flushed_half<FTZ>(x);
  if (SAT) return from_f32<H>(saturated(to_f32(x)));
  return RELU && x.bits & FloatOf<H>::sign ? H{0} : x;
}

// Arithmetic: 9.7.4.1 to 9.7.4.4

template <int FTZ, int SAT, typename T, typename F>
CK_INLINE T combined(F f, T a, T b) {
  return each(
      [f](auto x, auto y) {
        const f32 made = f(number<FTZ>(x), number<FTZ>(y));
        return finished_half<FTZ, SAT, 0>(from_f32<decltype(x)>(made));
      },
      a, b);
}
template <int FTZ, int SAT, typename T>
CK_INLINE T add_half(T a, T b) {
  return combined<FTZ, SAT>([](f32 x, f32 y) { return x + y; }, a, b);
}
template <int FTZ, int SAT, typename T>
CK_INLINE T sub_half(T a, T b) {
  return combined<FTZ, SAT>([](f32 x, f32 y) { return x - y; }, a, b);
}
template <int FTZ, int SAT, typename T>
CK_INLINE T mul_half(T a, T b) {
  return combined<FTZ, SAT>([](f32 x, f32 y) { return x * y; }, a, b);
}
template <int FTZ, int SAT, int RELU, typename T>
CK_INLINE T fma_half(T a, T b, T c) {
  return each(
      [](auto x, auto y, auto z) {
        const f64 product = static_cast<f64>(number<FTZ>(x)) * number<FTZ>(y);
        const f64 total = odd_sum(product, number<FTZ>(z));
        return finished_half<FTZ, SAT, RELU>(rounded<decltype(x), rn>(total));
      },
      a, b, c);
}

// Signs, minima and maxima, functions: 9.7.4.5 to 9.7.4.10

template <int FTZ, typename T>
CK_INLINE T negated_half(T a) {
  return each([](auto x) { return from_f32<decltype(x)>(-number<FTZ>(x)); }, a);
}
template <int FTZ, typename T>
CK_INLINE T magnitude_half(T a) {
  return each([](auto x) { return from_f32<decltype(x)>(magnitude<0>(number<FTZ>(x))); }, a);
}
/// Of the magnitudes, with the product of the signs, if XORSIGN says so.
template <int XORSIGN, typename H, typename F>
CK_INLINE H extreme(F f, H x, H y) {
  if (!XORSIGN) return from_f32<H>(f(to_f32(x), to_f32(y)));
  H r = from_f32<H>(f(magnitude<0>(to_f32(x)), magnitude<0>(to_f32(y))));
  if (r.bits != FloatOf<H>::nan) r.bits |= (x.bits ^ y.bits) & FloatOf<H>::sign;
  return r;
}
template <int FTZ, int NAN_, int XORSIGN, typename T>
CK_INLINE T minimum_half(T a, T b) {
  return each(
      [](auto x, auto y) {
        return extreme<XORSIGN>([](f32 p, f32 q) { return minimum<0, NAN_>(p, q); },
                                flushed_half<FTZ>(x), flushed_half<FTZ>(y));
      },
      a, b);
}
template <int FTZ, int NAN_, int XORSIGN, typename T>
CK_INLINE T maximum_half(T a, T b) {
  return each(
      [](auto x, auto y) {
        return extreme<XORSIGN>([](f32 p, f32 q) { return maximum<0, NAN_>(p, q); },
                                flushed_half<FTZ>(x), flushed_half<FTZ>(y));
      },
      a, b);
}
template <typename T>
CK_INLINE T tanh_half(T a) {
  return each([](auto x) { return from_f32<decltype(x)>(tanh_approx(number<0>(x))); }, a);
}
template <int FTZ, typename T>
CK_INLINE T ex2_half(T a) {
  return each(
      [](auto x) {
        using H = decltype(x);
        return flushed_half<FTZ>(from_f32<H>(ex2_approx<0>(number<FTZ>(x))));
      },
      a);
}

// Comparison: 9.7.7

/// What is compared: halves as f32.
template <int FTZ, typename H>
CK_INLINE f32 operand(H x) {
  return number<FTZ>(x);
}
template <int FTZ>
CK_INLINE f32 operand(f32 x) {
  return flushed<FTZ>(x);
}

/// What `set` stores for a comparison in a half of a result.
template <typename H>
CK_INLINE H half_truth(bool x) {
  return x ? from_f32<H>(1) : H{0};
}
CK_INLINE u32 word_truth(bool low, bool high) {
  return (low ? 0xffffu : 0) | (high ? 0xffff0000u : 0);
}

}  // namespace ck_ptx
