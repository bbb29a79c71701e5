// Conversions between integers and floats of all widths. Each rounds once.
#pragma once

#include "floats.hpp"
#include "small_floats.hpp"

namespace ck_ptx {

template <typename T>
constexpr bool is_signed = static_cast<T>(-1) < static_cast<T>(0);
template <typename T>
constexpr T greatest =
    is_signed<T> ? static_cast<T>((1ull << (8 * sizeof(T) - 1)) - 1) : static_cast<T>(-1);
template <typename T>
constexpr T smallest = is_signed<T> ? static_cast<T>(1ull << (8 * sizeof(T) - 1)) : T(0);

// Integers

template <typename To, int SAT, typename T>
CK_INLINE To to_width(T x) {
  if (SAT && x < 0) return !is_signed<To> ? 0 : s64(x) < s64(smallest<To>) ? smallest<To> : To(x);
  if (SAT && u64(x) > u64(greatest<To>)) return greatest<To>;
  return static_cast<To>(x);
}

template <int RNI, typename T>
CK_INLINE T integral(T x) {
  if constexpr (sizeof(T) == 4) {
    return RNI == rni   ? __builtin_rintf(x)
           : RNI == rzi ? __builtin_truncf(x)
           : RNI == rmi ? __builtin_floorf(x)
                        : __builtin_ceilf(x);
  } else if constexpr (sizeof(T) == 8) {
    return RNI == rni   ? __builtin_rint(x)
           : RNI == rzi ? __builtin_trunc(x)
           : RNI == rmi ? __builtin_floor(x)
                        : __builtin_ceil(x);
  } else {
    return from_f32<T>(integral<RNI>(to_f32(x)));
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

// Floats

template <int FTZ, int SAT>
CK_INLINE f32 same(f32 x) {
  return SAT ? saturated(flushed<FTZ>(x)) : flushed<FTZ>(x);
}
template <int FTZ, int SAT>
CK_INLINE f64 same(f64 x) {
  return SAT ? saturated(x) : x;
}
template <int FTZ, int SAT>
CK_INLINE f16 same(f16 x) {
  return SAT ? from_f32<f16>(saturated(to_f32(x))) : x;
}
template <int FTZ, int SAT>
CK_INLINE bf16 same(bf16 x) {
  return x;
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

/// The code of a float in a small format, its largest finite number for those beyond, `nan` for
/// NaN.
template <typename F, int RND, int RELU>
static inline u32 finite_code(f32 x, u32 nan) {
  if (x != x) return nan;
  const bool negative = __builtin_signbit(x);
  if (RELU && negative) return 0;
  u64 code = F::largest;
  if (is_finite(x)) code = magnitude_code<F, RND>(exact(x));
  if (code > F::largest) code = F::largest;
  return static_cast<u32>(code | (negative ? F::sign : 0));
}

/// With RELU at least +0; with FINITE at most the largest finite number.
template <typename To, int RND, int RELU, int FINITE>
CK_INLINE To small(f32 x) {
  if (FINITE) {
    return {static_cast<u16>(finite_code<FloatOf<To>, RND, RELU>(x, FloatOf<To>::nan))};
  }
  return RELU && __builtin_signbit(x) && x == x ? To{0} : narrow<To, RND>(x);
}

/// A float of 19 bits, in the upper ones of the word.
template <int RND, int RELU, int FINITE>
static inline u32 to_tf32(f32 x) {
  using TF32 = Format<8, 10>;
  if (x != x) return 0x7fffffff;
  if (FINITE || (RELU && __builtin_signbit(x))) return finite_code<TF32, RND, RELU>(x, 0) << 13;
  if (!is_finite(x)) return bit_cast<u32>(x);
  const u64 code = magnitude_code<TF32, RND>(exact(x));
  return static_cast<u32>(code | (__builtin_signbit(x) ? TF32::sign : 0)) << 13;
}

// Floats of 8, 6 and 4 bits: e4m3 has NaN and no infinity, e5m2 both, the others neither

using E4M3 = Format<4, 3, 0x7e>;
using E5M2 = Format<5, 2, 0x7b>;
using E2M3 = Format<2, 3, 0x1f>;
using E3M2 = Format<3, 2, 0x1f>;
using E2M1 = Format<2, 1, 0x7>;

/// The number of a code, as f32 holds it.
template <typename F>
static inline f32 number_of(u32 code) {
  const u32 exponent = (code & (F::sign - 1)) >> F::mantissa;
  const u32 mantissa = code & ((1u << F::mantissa) - 1);
  const u32 scale =
      127 + 2 - (1u << (F::exponent - 1)) - F::mantissa + (exponent ? exponent - 1 : 0);
  const f32 size = static_cast<f32>(exponent ? mantissa | 1u << F::mantissa : mantissa) *
                   bit_cast<f32>(scale << 23);
  return code & F::sign ? -size : size;
}

template <int RELU>
CK_INLINE f16 half_of(f32 x) {
  return RELU && __builtin_signbit(x) ? f16{0} : from_f32<f16>(x);
}

#define CK_SMALL_FORMAT(name, F, NAN_CODE, WIDTH, WORD) \
  template <int RELU> \
  CK_INLINE WORD to_##name(f32 a, f32 b) { \
    return static_cast<WORD>(finite_code<F, rn, RELU>(a, NAN_CODE) << WIDTH | \
                             finite_code<F, rn, RELU>(b, NAN_CODE)); \
  } \
  template <int RELU> \
  CK_INLINE f16x2 from_##name(WORD x) { \
    return pair(half_of<RELU>(value_of<F>(x & (2 * F::sign - 1))), \
                half_of<RELU>(value_of<F>(x >> WIDTH & (2 * F::sign - 1)))); \
  }
/// Of any code: NaN and infinities too.
template <typename F>
static inline f32 value_of(u32 code) {
  const u32 size = code & (F::sign - 1);
  if (F::exponent == 5 && size == F::largest + 1) {
    return code & F::sign ? -__builtin_inff() : __builtin_inff();
  }
  return size > F::largest ? nan_of<f32>() : number_of<F>(code);
}
CK_SMALL_FORMAT(e4m3x2, E4M3, 0x7f, 8, u16)
CK_SMALL_FORMAT(e5m2x2, E5M2, 0x7f, 8, u16)
CK_SMALL_FORMAT(e2m3x2, E2M3, 0x1f, 8, u16)
CK_SMALL_FORMAT(e3m2x2, E3M2, 0x1f, 8, u16)
CK_SMALL_FORMAT(e2m1x2, E2M1, 0x7, 4, u8)
#undef CK_SMALL_FORMAT

/// The power of two of a magnitude, from 2^-127, next below or next above; 0xff is NaN.
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

// cvt.pack: a above b, and in narrower types both below what c held in its lower part

template <typename To>
CK_INLINE u32 pack(s32 a, s32 b) {
  return static_cast<u32>(static_cast<u16>(to_width<To, 1>(a))) << 16 |
         static_cast<u16>(to_width<To, 1>(b));
}
template <int WIDTH>
CK_INLINE u32 packed(s32 a, s32 b, u32 c, s32 least, s32 most) {
  const u32 mask = (1u << WIDTH) - 1;
  a = a < least ? least : a > most ? most : a;
  b = b < least ? least : b > most ? most : b;
  return (static_cast<u32>(a) & mask) << WIDTH | (static_cast<u32>(b) & mask) | c << 2 * WIDTH;
}
CK_INLINE u32 pack_u8(s32 a, s32 b, u32 c) { return packed<8>(a, b, c, 0, 255); }
CK_INLINE u32 pack_s8(s32 a, s32 b, u32 c) { return packed<8>(a, b, c, -128, 127); }
CK_INLINE u32 pack_u4(s32 a, s32 b, u32 c) { return packed<4>(a, b, c, 0, 15); }
CK_INLINE u32 pack_s4(s32 a, s32 b, u32 c) { return packed<4>(a, b, c, -8, 7); }
CK_INLINE u32 pack_u2(s32 a, s32 b, u32 c) { return packed<2>(a, b, c, 0, 3); }
CK_INLINE u32 pack_s2(s32 a, s32 b, u32 c) { return packed<2>(a, b, c, -2, 1); }

}  // namespace ck_ptx
