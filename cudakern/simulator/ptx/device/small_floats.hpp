// f16 and bf16 as numbers: to f32, which holds each of them, and back with one rounding.
#pragma once

#include "rounding.hpp"

namespace ck_ptx {

#if defined(__F16C__)
typedef f32 Floats __attribute__((vector_size(16)));
typedef short Shorts __attribute__((vector_size(16)));
#endif

CK_INLINE f32 to_f32(f16 x) {
  const u32 rest = x.bits & 0x7fff;
  if (rarely(rest > 0x7c00)) return nan_of<f32>();
#if defined(__F16C__) && !defined(__clang__)  // clang has it no more
  return __builtin_ia32_vcvtph2ps(Shorts{static_cast<short>(x.bits)})[0];
#else
  const f32 size = rest == 0x7c00 ? __builtin_inff() : bit_cast<f32>(rest << 13) * 0x1p112f;
  return bit_cast<f32>(bit_cast<u32>(size) | static_cast<u32>(x.bits & 0x8000) << 16);
#endif
}
CK_INLINE f32 to_f32(bf16 x) {
  const u32 bits = static_cast<u32>(x.bits) << 16;
  return rarely((bits & 0x7fffffff) > 0x7f800000) ? nan_of<f32>() : bit_cast<f32>(bits);
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

// Pairs: the first half is the lower one

CK_INLINE f16 low(f16x2 x) { return {static_cast<u16>(x.bits)}; }
CK_INLINE f16 high(f16x2 x) { return {static_cast<u16>(x.bits >> 16)}; }
CK_INLINE bf16 low(bf16x2 x) { return {static_cast<u16>(x.bits)}; }
CK_INLINE bf16 high(bf16x2 x) { return {static_cast<u16>(x.bits >> 16)}; }
CK_INLINE f16x2 pair(f16 low, f16 high) { return {low.bits | static_cast<u32>(high.bits) << 16}; }
CK_INLINE bf16x2 pair(bf16 low, bf16 high) {
  return {low.bits | static_cast<u32>(high.bits) << 16};
}

/// A function of halves, for each half of pairs.
template <typename F, typename... More>
CK_INLINE f16 each(F f, f16 a, More... more) {
  return f(a, more...);
}
template <typename F, typename... More>
CK_INLINE bf16 each(F f, bf16 a, More... more) {
  return f(a, more...);
}
template <typename F, typename... More>
CK_INLINE f16x2 each(F f, f16x2 a, More... more) {
  return pair(f(low(a), low(more)...), f(high(a), high(more)...));
}
template <typename F, typename... More>
CK_INLINE bf16x2 each(F f, bf16x2 a, More... more) {
  return pair(f(low(a), low(more)...), f(high(a), high(more)...));
}

}  // namespace ck_ptx
