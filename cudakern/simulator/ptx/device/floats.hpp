// Instructions on floats of 32 and 64 bits. Results that are NaN have the GPU's bits in f32; in f64
// they are any NaN, as the manual says.
#pragma once

#include "rounding.hpp"

namespace ck_ptx {

// Pairs of f32 in a word
CK_INLINE f32 low(u64 x) { return bit_cast<f32>(static_cast<u32>(x)); }
CK_INLINE f32 high(u64 x) { return bit_cast<f32>(static_cast<u32>(x >> 32)); }
CK_INLINE u64 pair(f32 low, f32 high) {
  return bit_cast<u32>(low) | static_cast<u64>(bit_cast<u32>(high)) << 32;
}

// Modifiers

// Both test bits, as compilers know identities of floats by which another test could go.

CK_INLINE f32 canonical(f32 x) {
  return rarely((bit_cast<u32>(x) & 0x7fffffff) > 0x7f800000) ? nan_of<f32>() : x;
}

/// Subnormal numbers become zeros of their sign.
template <int FTZ>
CK_INLINE f32 flushed(f32 x) {
  const u32 bits = bit_cast<u32>(x);
  return FTZ && rarely((bits << 1) - 1 < 0xffffff) ? bit_cast<f32>(bits & 0x80000000) : x;
}

/// From +0 to 1; NaN becomes +0.
template <typename T>
CK_INLINE T saturated(T x) {
  return x > 0 ? x < 1 ? x : 1 : 0;
}

template <int FTZ, int SAT>
CK_INLINE f32 finished(f32 x) {
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
template <int RND, typename T>
CK_INLINE T quotient_of(T a, T b) {
  if constexpr (is_nearest(RND))
    return a / b;
  else
    return divided_exactly<T, RND>(a, b);
}

template <int RND, int FTZ, int SAT>
CK_INLINE f32 add(f32 a, f32 b) {
  return finished<FTZ, SAT>(sum_of<RND>(flushed<FTZ>(a), flushed<FTZ>(b)));
}
template <int RND, int FTZ, int SAT>
CK_INLINE f32 sub(f32 a, f32 b) {
  return finished<FTZ, SAT>(sum_of<RND>(flushed<FTZ>(a), -flushed<FTZ>(b)));
}
template <int RND, int FTZ, int SAT>
CK_INLINE f32 mul(f32 a, f32 b) {
  return finished<FTZ, SAT>(product_of<RND>(flushed<FTZ>(a), flushed<FTZ>(b)));
}
template <int RND, int FTZ>
CK_INLINE f32 div(f32 a, f32 b) {
  return finished<FTZ, 0>(quotient_of<RND>(flushed<FTZ>(a), flushed<FTZ>(b)));
}

template <int RND>
CK_INLINE f64 add(f64 a, f64 b) {
  return sum_of<RND>(a, b);
}
template <int RND>
CK_INLINE f64 sub(f64 a, f64 b) {
  return sum_of<RND>(a, -b);
}
template <int RND>
CK_INLINE f64 mul(f64 a, f64 b) {
  return product_of<RND>(a, b);
}
template <int RND>
CK_INLINE f64 div(f64 a, f64 b) {
  return quotient_of<RND>(a, b);
}

/// a * b + c. Without an instruction of the host, f32 goes through f64, where the product is exact.
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
template <int RND, int FTZ, int SAT>
CK_INLINE f32 fma(f32 a, f32 b, f32 c) {
  return finished<FTZ, SAT>(fused_of<RND>(flushed<FTZ>(a), flushed<FTZ>(b), flushed<FTZ>(c)));
}
template <int RND>
CK_INLINE f64 fma(f64 a, f64 b, f64 c) {
  return fused_of<RND>(a, b, c);
}

template <int RND, int FTZ>
CK_INLINE u64 add_f32x2(u64 a, u64 b) {
  return pair(add<RND, FTZ, 0>(low(a), low(b)), add<RND, FTZ, 0>(high(a), high(b)));
}
template <int RND, int FTZ>
CK_INLINE u64 sub_f32x2(u64 a, u64 b) {
  return pair(sub<RND, FTZ, 0>(low(a), low(b)), sub<RND, FTZ, 0>(high(a), high(b)));
}
template <int RND, int FTZ>
CK_INLINE u64 mul_f32x2(u64 a, u64 b) {
  return pair(mul<RND, FTZ, 0>(low(a), low(b)), mul<RND, FTZ, 0>(high(a), high(b)));
}
template <int RND, int FTZ>
CK_INLINE u64 fma_f32x2(u64 a, u64 b, u64 c) {
  return pair(fma<RND, FTZ, 0>(low(a), low(b), low(c)),
              fma<RND, FTZ, 0>(high(a), high(b), high(c)));
}

/// As a * (1 / b), whose second factor is flushed to 0 for large b.
template <int FTZ>
CK_INLINE f32 div_approx(f32 a, f32 b) {
  const f32 size = __builtin_fabsf(b);
  const bool lost = size > 0x1p126f && size <= 0x1.fffffep127f;
  return lost ? mul<rn, FTZ, 0>(a, __builtin_copysignf(0, b)) : div<rn, FTZ>(a, b);
}

// Signs, classes, minima and maxima: 9.7.3.1, 9.7.3.2, 9.7.3.9 to 9.7.3.12

template <int FTZ>
CK_INLINE f32 magnitude(f32 a) {
  return __builtin_fabsf(flushed<FTZ>(a));
}
CK_INLINE f64 magnitude(f64 a) { return __builtin_fabs(a); }
template <int FTZ>
CK_INLINE f32 negated(f32 a) {
  return -flushed<FTZ>(a);
}
CK_INLINE f64 negated(f64 a) { return -a; }

/// The value of b with the sign of a.
CK_INLINE f32 with_sign(f32 a, f32 b) { return __builtin_copysignf(b, a); }
CK_INLINE f64 with_sign(f64 a, f64 b) { return __builtin_copysign(b, a); }

template <typename T>
CK_INLINE bool is_subnormal(T x) {
  constexpr T least = sizeof(T) == 4 ? T(0x1p-126) : T(0x1p-1022);
  return x != 0 && x < least && x > -least;
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

/// The lesser number; -0 is less than +0. Of a number and NaN the number, unless NaN is asked for.
template <int NAN_, typename T>
CK_INLINE T lesser(T a, T b) {
  if (rarely(a != a || b != b)) return NAN_ || (a != a && b != b) ? nan_of<T>() : a != a ? b : a;
  return a < b || (a == b && __builtin_signbit(a)) ? a : b;
}
template <int NAN_, typename T>
CK_INLINE T greater(T a, T b) {
  return -lesser<NAN_>(-a, -b);
}

template <int FTZ, int NAN_>
CK_INLINE f32 minimum(f32 a, f32 b) {
  return lesser<NAN_>(flushed<FTZ>(a), flushed<FTZ>(b));
}
template <int FTZ, int NAN_>
CK_INLINE f32 maximum(f32 a, f32 b) {
  return canonical(greater<NAN_>(flushed<FTZ>(a), flushed<FTZ>(b)));
}
template <int FTZ, int NAN_, int ABS>
CK_INLINE f32 minimum(f32 a, f32 b, f32 c) {
  if (ABS) return minimum<FTZ, NAN_, 0>(magnitude<0>(a), magnitude<0>(b), magnitude<0>(c));
  return minimum<FTZ, NAN_>(minimum<FTZ, NAN_>(a, b), c);
}
template <int FTZ, int NAN_, int ABS>
CK_INLINE f32 maximum(f32 a, f32 b, f32 c) {
  if (ABS) return maximum<FTZ, NAN_, 0>(magnitude<0>(a), magnitude<0>(b), magnitude<0>(c));
  return maximum<FTZ, NAN_>(maximum<FTZ, NAN_>(a, b), c);
}
CK_INLINE f64 minimum(f64 a, f64 b) { return lesser<0>(a, b); }
CK_INLINE f64 maximum(f64 a, f64 b) { return greater<0>(a, b); }

/// Of the magnitudes, with the product of the signs.
CK_INLINE f32 with_signs(f32 a, f32 b, f32 result) {
  const u32 sign = (bit_cast<u32>(a) ^ bit_cast<u32>(b)) & 0x80000000;
  return result != result ? result : bit_cast<f32>(bit_cast<u32>(result) | sign);
}
template <int FTZ, int NAN_>
CK_INLINE f32 minimum_xorsign(f32 a, f32 b) {
  return with_signs(a, b, minimum<FTZ, NAN_>(magnitude<0>(a), magnitude<0>(b)));
}
template <int FTZ, int NAN_>
CK_INLINE f32 maximum_xorsign(f32 a, f32 b) {
  return with_signs(a, b, maximum<FTZ, NAN_>(magnitude<0>(a), magnitude<0>(b)));
}

// Roots and transcendental functions: 9.7.3.13 to 9.7.3.22

template <int RND, typename T>
CK_INLINE T root_of(T a) {
  if constexpr (!is_nearest(RND))
    return root_exactly<T, RND>(a);
  else if constexpr (sizeof(T) == 4)
    return __builtin_sqrtf(a);
  else
    return __builtin_sqrt(a);
}
template <int RND, int FTZ>
CK_INLINE f32 square_root(f32 a) {
  return finished<FTZ, 0>(root_of<RND>(flushed<FTZ>(a)));
}
template <int RND>
CK_INLINE f64 square_root(f64 a) {
  return root_of<RND>(a);
}

/// The upper half of an f64, without subnormals.
CK_INLINE f64 upper_half(f64 x) {
  if (x != x) return nan_of<f64>();
  if (__builtin_fabs(x) < 0x1p-1022) return __builtin_copysign(0., x);
  return bit_cast<f64>(bit_cast<u64>(x) & 0xffffffff00000000);
}
CK_INLINE f64 rcp_approx_ftz(f64 a) { return upper_half(1 / upper_half(a)); }
CK_INLINE f64 rsqrt_approx_ftz(f64 a) { return upper_half(1 / __builtin_sqrt(upper_half(a))); }
CK_INLINE f64 rsqrt_approx(f64 a) { return 1 / __builtin_sqrt(a); }

template <int FTZ>
CK_INLINE f32 rsqrt_approx(f32 a) {
  return finished<FTZ, 0>(static_cast<f32>(1 / __builtin_sqrt(static_cast<f64>(flushed<FTZ>(a)))));
}
template <int FTZ>
CK_INLINE f32 sin_approx(f32 a) {
  return finished<FTZ, 0>(__builtin_sinf(flushed<FTZ>(a)));
}
template <int FTZ>
CK_INLINE f32 cos_approx(f32 a) {
  return finished<FTZ, 0>(__builtin_cosf(flushed<FTZ>(a)));
}
template <int FTZ>
CK_INLINE f32 lg2_approx(f32 a) {
  return finished<FTZ, 0>(__builtin_log2f(flushed<FTZ>(a)));
}
template <int FTZ>
CK_INLINE f32 ex2_approx(f32 a) {
  return finished<FTZ, 0>(__builtin_exp2f(flushed<FTZ>(a)));
}
CK_INLINE f32 tanh_approx(f32 a) { return canonical(__builtin_tanhf(a)); }

}  // namespace ck_ptx
