// Instructions on floats of 32 and 64 bits, and most of those of 16 bits. A NaN as a result has the
// GPU's bits; in f64 it is any NaN, as the manual says.
#pragma once

#include "float_bits.hpp"

namespace ck_ptx {

// Of halves, and of other directions than to the nearest; see small_floats.hpp and rounding.hpp.
template <typename H>
CK_INLINE H from_f32(f32 x);
template <typename T, int ROUNDING>
static inline T fused_exactly(f64 a, f64 b, f64 c);
template <typename T, int ROUNDING>
static inline T divided_exactly(f64 a, f64 b);
template <typename T, int ROUNDING>
static inline T root_exactly(f64 a);

/// a + b, with the last bit set if the sum is not exact. It rounds again as the exact sum does.
CK_INLINE f64 odd_sum(f64 a, f64 b) {
  const f64 s = a + b;
  if (rarely(!is_finite(s))) return s;
  const f64 part = s - a;
  const f64 error = (a - (s - part)) + (b - part);
  const u64 bits = bit_cast<u64>(s);
  if (error == 0 || (bits & 1)) return s;
  return bit_cast<f64>((error > 0) == (s > 0) ? bits + 1 : bits - 1);
}

// Pairs of f32 in a word
CK_INLINE f32 low(u64 x) { return bit_cast<f32>(static_cast<u32>(x)); }
CK_INLINE f32 high(u64 x) { return bit_cast<f32>(static_cast<u32>(x >> 32)); }
CK_INLINE u64 pair(f32 low, f32 high) {
  return bit_cast<u32>(low) | static_cast<u64>(bit_cast<u32>(high)) << 32;
}

template <typename T>
CK_INLINE T canonical(T x) {
  return sizeof(T) < 8 && rarely(is_nan(x)) ? nan_of<T>() : x;
}

/// Makes subnormal numbers zeros of the same sign.
template <int FTZ, typename T>
CK_INLINE T flushed(T x) {
  return FTZ && rarely(is_subnormal(x)) ? of_bits<T>(bits_of(x) & FloatOf<T>::sign) : x;
}

/// Clamps to +0 and 1; NaN becomes +0.
template <typename T>
CK_INLINE T saturated(T x) {
  if constexpr (sizeof(T) == 2)
    return from_f32<T>(saturated(to_f32(x)));
  else
    return x > 0 ? x < 1 ? x : 1 : 0;
}

template <int FTZ, int SAT = 0, typename T>
CK_INLINE T finished(T x) {
  return SAT ? saturated(flushed<FTZ>(x)) : canonical(flushed<FTZ>(x));
}

// Arithmetic: 9.7.3.3 to 9.7.3.8

template <int RND, typename T>
CK_INLINE T sum_of(T a, T b) {
  if constexpr (is_nearest(RND))
    return a + b;
  else
    return fused_exactly<T, RND>(a, 1, b);
}
template <int RND, typename T>
CK_INLINE T product_of(T a, T b) {
  if constexpr (is_nearest(RND))
    return a * b;
  else
    return fused_exactly<T, RND>(a, b, __builtin_copysign(0., a) * __builtin_copysign(1., b));
}

// Where FTZ is 2, subnormal operands are zeros by FloatControl. Only the result is looked at then.
#ifdef __x86_64__
template <int RND, int FTZ, int SAT, typename T>
constexpr bool finishes_quickly = FTZ == 2 && sizeof(T) == 4 && is_nearest(RND) && SAT == 0;
#else
template <int RND, int FTZ, int SAT, typename T>
constexpr bool finishes_quickly = false;
#endif
CK_OUTLINE f32 finished_small(f32 x) { return finished<1>(x); }
CK_INLINE f32 finished_quickly(f32 x) {
  return rarely(!(__builtin_fabsf(x) >= 0x1p-126f)) ? finished_small(x) : x;
}

template <int RND, int FTZ = 0, int SAT = 0, typename T>
CK_INLINE T add(T a, T b) {
  if constexpr (finishes_quickly<RND, FTZ, SAT, T>)
    return finished_quickly(a + b);
  else
    return finished<FTZ, SAT>(sum_of<RND>(flushed<FTZ>(a), flushed<FTZ>(b)));
}
template <int RND, int FTZ = 0, int SAT = 0, typename T>
CK_INLINE T sub(T a, T b) {
  return add<RND, FTZ, SAT>(a, -b);
}
template <int RND, int FTZ = 0, int SAT = 0, typename T>
CK_INLINE T mul(T a, T b) {
  if constexpr (finishes_quickly<RND, FTZ, SAT, T>)
    return finished_quickly(a * b);
  else
    return finished<FTZ, SAT>(product_of<RND>(flushed<FTZ>(a), flushed<FTZ>(b)));
}
template <int RND, int FTZ = 0, typename T>
CK_INLINE T div(T a, T b) {
  a = flushed<FTZ>(a);
  b = flushed<FTZ>(b);
  if constexpr (is_nearest(RND))
    return finished<FTZ>(a / b);
  else
    return finished<FTZ>(divided_exactly<T, RND>(a, b));
}

/// a * b + c. If the host has no instruction for it, f32 goes through f64, where the product is
/// exact.
CK_INLINE f32 fused(f32 a, f32 b, f32 c) {
#if defined(__FMA__) || defined(__aarch64__)
  return __builtin_fmaf(a, b, c);
#else
  return static_cast<f32>(odd_sum(static_cast<f64>(a) * b, c));
#endif
}
CK_INLINE f64 fused(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }

template <int RND, typename T>
CK_INLINE T fused_of(T a, T b, T c) {
  if constexpr (is_nearest(RND))
    return fused(a, b, c);
  else
    return fused_exactly<T, RND>(a, b, c);
}
template <int RND, int FTZ = 0, int SAT = 0, typename T>
CK_OUTLINE T fma(T a, T b, T c) {
  return finished<FTZ, SAT>(fused_of<RND>(flushed<FTZ>(a), flushed<FTZ>(b), flushed<FTZ>(c)));
}
template <int RND, int FTZ, int SAT>
CK_INLINE f32 fma_2(f32 a, f32 b, f32 c) {
  if constexpr (finishes_quickly<RND, 2, SAT, f32>)
    return finished_quickly(fused(a, b, c));
  else
    return fma<RND, FTZ, SAT>(a, b, c);
}
// Macros, since compilers take longer with another function in between.
#define fma_0 fma
#define fma_1 fma

/// a * (1 / b), where the second factor is flushed to 0 for large b.
template <int FTZ>
CK_INLINE f32 div_approx(f32 a, f32 b) {
  const f32 size = __builtin_fabsf(b);
  const bool lost = size > 0x1p126f && size <= 0x1.fffffep127f;
  return lost ? mul<rn, FTZ>(a, __builtin_copysignf(0, b)) : div<rn, FTZ>(a, b);
}

// Signs, classes, minima and maxima: 9.7.3.1, 9.7.3.2, 9.7.3.9 to 9.7.3.12

template <int FTZ = 0, typename T>
CK_INLINE T magnitude(T a) {
  return of_bits<T>(size_bits(flushed<FTZ>(a)));
}
template <int FTZ = 0, typename T>
CK_INLINE T negated(T a) {
  return -flushed<FTZ>(a);
}
/// The value of b with the sign of a.
template <typename T>
CK_INLINE T with_sign(T a, T b) {
  return of_bits<T>(size_bits(b) | (bits_of(a) & FloatOf<T>::sign));
}

CK_INLINE bool testp_finite(f64 x) { return is_finite(x); }
CK_INLINE bool testp_infinite(f64 x) { return x == x && !is_finite(x); }
CK_INLINE bool testp_number(f64 x) { return x == x; }
CK_INLINE bool testp_notanumber(f64 x) { return x != x; }
template <typename T>
CK_INLINE bool testp_normal(T x) {
  return is_finite(x) && !is_subnormal(x);
}
template <typename T>
CK_INLINE bool testp_subnormal(T x) {
  return is_subnormal(x);
}

/// The lesser number; -0 is less than +0. Of a number and NaN it is the number, or NaN with NAN_.
template <int NAN_, typename T>
CK_INLINE T lesser(T a, T b) {
  if constexpr (sizeof(T) == 2) {
    return from_f32<T>(lesser<NAN_>(to_f32(a), to_f32(b)));
  } else {
    if (rarely(a != a || b != b)) return NAN_ || (a != a && b != b) ? nan_of<T>() : a != a ? b : a;
    return a < b || (a == b && __builtin_signbit(a)) ? a : b;
  }
}
template <int FTZ, int NAN_, typename T>
CK_OUTLINE T minimum_of_any(T a, T b) {
  return lesser<NAN_>(flushed<FTZ>(a), flushed<FTZ>(b));
}
template <int FTZ, int NAN_, typename T>
CK_OUTLINE T maximum_of_any(T a, T b) {
  return canonical(-minimum_of_any<FTZ, NAN_>(-a, -b));
}
/// Whether the result of a comparison of two numbers is their minimum or maximum: it is neither
/// zero nor flushed, and no operand is NaN. If only `a` is NaN, the result is not `a`.
template <int FTZ, int NAN_, typename T>
CK_INLINE bool is_found(T one, T a) {
  return (FTZ ? __builtin_fabs(one) >= 0x1p-126 : one < 0 || one > 0) && (NAN_ == 0 || a == a);
}
template <int FTZ = 0, int NAN_ = 0, typename T>
CK_INLINE T minimum(T a, T b) {
  if constexpr (sizeof(T) > 2) {
    const T least = a < b ? a : b;
    if (!rarely(!is_found<FTZ, NAN_>(least, a))) return least;
  }
  return minimum_of_any<FTZ, NAN_>(a, b);
}
template <int FTZ = 0, int NAN_ = 0, typename T>
CK_INLINE T maximum(T a, T b) {
  if constexpr (sizeof(T) > 2) {
    const T most = a > b ? a : b;
    if (!rarely(!is_found<FTZ, NAN_>(most, a))) return most;
  }
  return maximum_of_any<FTZ, NAN_>(a, b);
}
template <int FTZ, int NAN_, int ABS>
CK_INLINE f32 minimum(f32 a, f32 b, f32 c) {
  if (ABS) return minimum<FTZ, NAN_, 0>(magnitude(a), magnitude(b), magnitude(c));
  return minimum<FTZ, NAN_>(minimum<FTZ, NAN_>(a, b), c);
}
template <int FTZ, int NAN_, int ABS>
CK_INLINE f32 maximum(f32 a, f32 b, f32 c) {
  if (ABS) return maximum<FTZ, NAN_, 0>(magnitude(a), magnitude(b), magnitude(c));
  return maximum<FTZ, NAN_>(maximum<FTZ, NAN_>(a, b), c);
}

/// A magnitude with the product of the signs of a and b.
template <typename T>
CK_INLINE T with_signs(T a, T b, T size) {
  const u64 sign = (bits_of(a) ^ bits_of(b)) & FloatOf<T>::sign;
  return is_nan(size) ? size : of_bits<T>(bits_of(size) | sign);
}

// Roots: 9.7.3.13 to 9.7.3.17

template <int RND, int FTZ = 0, typename T>
CK_INLINE T square_root(T a) {
  a = flushed<FTZ>(a);
  if constexpr (is_nearest(RND))
    return finished<FTZ>(static_cast<T>(__builtin_sqrt(a)));  // exact enough to be rounded to f32
  else
    return finished<FTZ>(root_exactly<T, RND>(a));
}

/// The upper half of an f64, without subnormals.
CK_INLINE f64 upper_half(f64 x) {
  if (x != x) return nan_of<f64>();
  return bit_cast<f64>(bit_cast<u64>(flushed<1>(x)) & 0xffffffff00000000);
}

}  // namespace ck_ptx
