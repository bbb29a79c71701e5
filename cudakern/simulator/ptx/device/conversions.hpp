// Conversions between integers and floats of all widths. Each rounds once.
#pragma once

#include "integers.hpp"
#include "small_floats.hpp"

namespace ck_ptx {

template <typename T>
constexpr bool is_signed = static_cast<T>(-1) < static_cast<T>(0);
template <typename T>
constexpr T greatest =
    is_signed<T> ? static_cast<T>((1ull << (8 * sizeof(T) - 1)) - 1) : static_cast<T>(-1);
template <typename T>
constexpr T smallest = is_signed<T> ? static_cast<T>(1ull << (8 * sizeof(T) - 1)) : T(0);

template <typename To, typename T>
CK_INLINE To saturated(T x) {
  if (x < 0) return !is_signed<To> ? 0 : s64(x) < s64(smallest<To>) ? smallest<To> : To(x);
  return u64(x) > u64(greatest<To>) ? greatest<To> : static_cast<To>(x);
}

template <int RNI, typename T>
CK_INLINE T integral(T x) {
  if constexpr (sizeof(T) == 2) {
    return from_f32<T>(integral<RNI>(to_f32(x)));
  } else {
    return static_cast<T>(RNI == rni   ? __builtin_rint(x)
                          : RNI == rzi ? __builtin_trunc(x)
                          : RNI == rmi ? __builtin_floor(x)
                                       : __builtin_ceil(x));
  }
}

template <typename To, int RNI, typename T>
CK_INLINE To to_integer(T a) {
  constexpr f64 above = 2. * static_cast<f64>(greatest<To> / 2 + 1);  // 2^63 and 2^64 are exact
  if (a != a) return sizeof(T) == 8 || sizeof(To) == 8 ? To(1ull << (8 * sizeof(To) - 1)) : To(0);
  const T x = RNI == rzi ? a : integral<RNI>(a);
  if (x >= static_cast<T>(above)) return greatest<To>;
  if (x <= static_cast<T>(smallest<To>)) return smallest<To>;
  return static_cast<To>(x);
}

template <typename To, int RND, int SAT, typename T>
CK_INLINE To from_integer(T a) {
  if (SAT) a = a > 0 ? 1 : 0;
  if constexpr (is_nearest(RND) && sizeof(To) >= 4) {
    return static_cast<To>(a);
  } else {
    const bool negative = a < 0;
    return rounded<To, RND>(Exact{negative, 0, negative ? -static_cast<u64>(a) : u64(a)});
  }
}

template <int FTZ, int SAT, typename T>
CK_INLINE T same(T x) {
  return SAT ? saturated(flushed<FTZ>(x)) : flushed<FTZ>(x);
}

template <typename To, int RND, typename T>
CK_INLINE To narrow(T x) {
  if constexpr (is_nearest(RND) && sizeof(To) == 4)
    return static_cast<To>(x);
  else if constexpr (is_nearest(RND) && sizeof(T) == 4)
    return from_f32<To>(x);
  else
    return rounded<To, RND>(static_cast<f64>(x));
}

/// The code of a float in a small format; beyond its largest finite number, the code of that.
template <typename F, int RND, int RELU>
static inline u32 finite_code(f32 x) {
  if (x != x) return F::nan;
  const bool negative = __builtin_signbit(x);
  if (RELU && negative) return 0;
  const u64 code = is_finite(x) ? magnitude_code<F, RND>(exact(x)) : F::largest;
  return static_cast<u32>((code < F::largest ? code : F::largest) | (negative ? F::sign : 0));
}

/// With RELU at least +0; with FINITE at most the largest finite number.
template <typename To, int RND, int RELU, int FINITE>
CK_INLINE To small(f32 x) {
  if (FINITE) return of_bits<To>(finite_code<FloatOf<To>, RND, RELU>(x));
  return RELU && __builtin_signbit(x) && x == x ? To{0} : narrow<To, RND>(x);
}

/// A float of 19 bits, in the upper ones of the word.
template <int RND, int RELU, int FINITE>
static inline u32 to_tf32(f32 x) {
  using TF32 = Format<8, 10>;
  if (x != x) return 0x7fffffff;
  if (FINITE || (RELU && __builtin_signbit(x))) return finite_code<TF32, RND, RELU>(x) << 13;
  if (!is_finite(x)) return bit_cast<u32>(x);
  const u64 code = magnitude_code<TF32, RND>(exact(x));
  return static_cast<u32>(code | (__builtin_signbit(x) ? TF32::sign : 0)) << 13;
}

/// By how many bits the codes of a pair of small floats are apart.
template <typename F>
constexpr int code_bits = F::sign > 0x8 ? 8 : 4;

template <typename F, int RELU>
static inline u32 to_small(f32 a, f32 b) {
  return finite_code<F, rn, RELU>(a) << code_bits<F> | finite_code<F, rn, RELU>(b);
}
template <typename F, int RELU>
CK_INLINE f16 from_code(u32 code) {
  const f32 x = value_of<F>(code);
  return RELU && __builtin_signbit(x) ? f16{0} : from_f32<f16>(x);
}
template <typename F, int RELU>
static inline f16x2 from_small(u32 x) {
  return pair(from_code<F, RELU>(x), from_code<F, RELU>(x >> code_bits<F>));
}

/// The code of the next power of two below or above a magnitude, from 2^-127 on; 0xff is NaN.
template <int RND, int FINITE>
static inline u32 ue8m0_code(f32 x) {
  const u32 size = bit_cast<u32>(x) & 0x7fffffff;
  if (size > 0x7f800000) return 0xff;
  u32 code = size >> 23;
  const bool inexact = code ? (size & 0x7fffff) != 0 : size > 0x400000;
  if (RND == rp && inexact) ++code;
  return FINITE && code > 0xfe ? 0xfe : code;
}
template <int RND, int FINITE>
CK_INLINE u16 to_ue8m0x2(f32 a, f32 b) {
  return static_cast<u16>(ue8m0_code<RND, FINITE>(a) << 8 | ue8m0_code<RND, FINITE>(b));
}
CK_INLINE bf16 from_ue8m0(u32 code) {
  return {static_cast<u16>(code == 0xff ? 0x7fff : code ? code << 7 : 0x40)};
}
CK_INLINE bf16x2 from_ue8m0x2(u16 x) { return pair(from_ue8m0(x & 0xff), from_ue8m0(x >> 8)); }

// cvt.pack: a above b, and in narrower types the lower part of c above both

template <typename To>
CK_INLINE u32 pack(s32 a, s32 b) {
  return static_cast<u32>(static_cast<u16>(saturated<To>(a))) << 16 |
         static_cast<u16>(saturated<To>(b));
}
template <typename T, int WIDTH>
CK_INLINE u32 packed(s32 a, s32 b, u32 c) {
  const u32 high = static_cast<u32>(clamped<T>(a, WIDTH) & ((1 << WIDTH) - 1));
  const u32 low = static_cast<u32>(clamped<T>(b, WIDTH) & ((1 << WIDTH) - 1));
  return high << WIDTH | low | c << 2 * WIDTH;
}
CK_INLINE u32 pack_u8(s32 a, s32 b, u32 c) { return packed<u32, 8>(a, b, c); }
CK_INLINE u32 pack_s8(s32 a, s32 b, u32 c) { return packed<s32, 8>(a, b, c); }
CK_INLINE u32 pack_u4(s32 a, s32 b, u32 c) { return packed<u32, 4>(a, b, c); }
CK_INLINE u32 pack_s4(s32 a, s32 b, u32 c) { return packed<s32, 4>(a, b, c); }
CK_INLINE u32 pack_u2(s32 a, s32 b, u32 c) { return packed<u32, 2>(a, b, c); }
CK_INLINE u32 pack_s2(s32 a, s32 b, u32 c) { return packed<s32, 2>(a, b, c); }

}  // namespace ck_ptx
