// Conversions of f16 and bf16 to f32 (exact), and back (rounded once). Values of smaller floats.
#pragma once

#include "floats.hpp"
#include "rounding.hpp"

namespace ck_ptx {

#if defined(__F16C__)
typedef f32 Floats __attribute__((vector_size(16)));
typedef short Shorts __attribute__((vector_size(16)));
#endif

CK_INLINE f32 to_f32(f16 x) {
  if (rarely(is_nan(x))) return nan_of<f32>();
#if defined(__F16C__) && !defined(__clang__)  // clang does not have it any more
  return __builtin_ia32_vcvtph2ps(Shorts{static_cast<short>(x.bits)})[0];
#else
  const u32 rest = x.bits & 0x7fff;
  const f32 size = rest == 0x7c00 ? __builtin_inff() : bit_cast<f32>(rest << 13) * 0x1p112f;
  return bit_cast<f32>(bit_cast<u32>(size) | static_cast<u32>(x.bits & 0x8000) << 16);
#endif
}
CK_INLINE f32 to_f32(bf16 x) {
  return rarely(is_nan(x)) ? nan_of<f32>() : bit_cast<f32>(static_cast<u32>(x.bits) << 16);
}

CK_INLINE f16 to_f16(f32 x) {
  if (rarely(x != x)) return nan_of<f16>();
#if defined(__F16C__)
  return {static_cast<u16>(__builtin_ia32_vcvtps2ph(Floats{x}, 0)[0])};
#else
  return rounded<f16, rn>(static_cast<f64>(x));
#endif
}
CK_INLINE bf16 to_bf16(f32 x) {
  if (rarely(x != x)) return nan_of<bf16>();
  const u32 bits = bit_cast<u32>(x);
  return {static_cast<u16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
template <typename H>
CK_INLINE H from_f32(f32 x) {
  if constexpr (FloatOf<H>::mantissa == 10)
    return to_f16(x);
  else
    return to_bf16(x);
}

// Sums and products of halves go through f32. It has 24 bits, which is at least 2 * 11 + 2, so the
// second rounding gives what a single one would.

template <typename H, int = FloatOf<H>::mantissa>
CK_INLINE H operator+(H a, H b) {
  return from_f32<H>(to_f32(a) + to_f32(b));
}
template <typename H, int = FloatOf<H>::mantissa>
CK_INLINE H operator*(H a, H b) {
  return from_f32<H>(to_f32(a) * to_f32(b));
}
template <typename H, int = FloatOf<H>::mantissa>
CK_INLINE H operator-(H a) {
  return from_f32<H>(-to_f32(a));
}

/// a * b + c, by way of f64.
template <typename H>
static inline H fused(H a, H b, H c) {
  return rounded<H, rn>(odd_sum(static_cast<f64>(to_f32(a)) * to_f32(b), to_f32(c)));
}

template <typename H>
CK_INLINE H low(Pair<H> x) {
  return {static_cast<u16>(x.bits)};
}
template <typename H>
CK_INLINE H high(Pair<H> x) {
  return {static_cast<u16>(x.bits >> 16)};
}
template <typename H>
CK_INLINE Pair<H> pair(H low, H high) {
  return {low.bits | static_cast<u32>(high.bits) << 16};
}

// Floats of 8, 6 and 4 bits, by the names of their pairs. e4m3 and e5m2 have NaN, e5m2 infinity.

using e4m3x2 = Format<4, 3, 0x7e>;
using e5m2x2 = Format<5, 2, 0x7b>;
using e2m3x2 = Format<2, 3, 0x1f>;
using e3m2x2 = Format<3, 2, 0x1f>;
using e2m1x2 = Format<2, 1, 0x7>;

/// What a code stands for.
template <typename F>
static inline f32 value_of(u32 code) {
  const u32 size = code & (F::sign - 1);
  const bool is_infinity = F::exponent == 5 && size == F::largest + 1;
  if (size > F::largest && !is_infinity) return nan_of<f32>();
  const u32 exponent = size >> F::mantissa, steps = exponent ? exponent - 1 : 0;
  const u32 scale = 127 + 2 - (1u << (F::exponent - 1)) - F::mantissa + steps;
  const f32 number = static_cast<f32>(size - (steps << F::mantissa)) * bit_cast<f32>(scale << 23);
  const f32 value = is_infinity ? __builtin_inff() : number;
  return code & F::sign ? -value : value;
}

}  // namespace ck_ptx
