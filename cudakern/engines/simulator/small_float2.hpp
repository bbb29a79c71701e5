// SPDX-License-Identifier: MIT
// Pairs of small floats, and the conversions whose names differ for half and bfloat16.
#pragma once

#include "small_float.hpp"

namespace ck_sim {

struct RawSmall2 {
  unsigned short x, y;
};

template <int kMantissa>
struct alignas(4) SmallFloat2 {
  using Element = SmallFloat<kMantissa>;
  using Self = SmallFloat2;

  Element x, y;

  SmallFloat2() = default;
  constexpr SmallFloat2(const Element& x, const Element& y) : x(x), y(y) {}
  constexpr SmallFloat2(const RawSmall2& raw) : x(RawSmall{raw.x}), y(RawSmall{raw.y}) {}
  operator RawSmall2() const { return {x.bits(), y.bits()}; }

#define CK_SIM_BINARY(sign, function) \
  friend Self operator sign(const Self& a, const Self& b) { return {a.x sign b.x, a.y sign b.y}; } \
  friend Self& operator sign## = (Self & a, const Self& b) { return a = a sign b; } \
  friend Self function##2(Self a, Self b) { return {a.x sign b.x, a.y sign b.y}; } \
  friend Self function##2_rn(Self a, Self b) { return {a.x sign b.x, a.y sign b.y}; }
  CK_SIM_BINARY(+, __hadd)
  CK_SIM_BINARY(-, __hsub)
  CK_SIM_BINARY(*, __hmul)
  CK_SIM_BINARY(/, __h2div_)
#undef CK_SIM_BINARY
  friend Self __h2div(Self a, Self b) { return a / b; }
  friend Self operator+(const Self& a) { return a; }
  friend Self operator-(const Self& a) { return {-a.x, -a.y}; }
  friend Self& operator++(Self& a) { return a = Self(++a.x, ++a.y); }
  friend Self& operator--(Self& a) { return a = Self(--a.x, --a.y); }
  friend Self operator++(Self& a, int) { return {a.x++, a.y++}; }
  friend Self operator--(Self& a, int) { return {a.x--, a.y--}; }

#define CK_SIM_TWO(name, of_one) \
  friend Self name(Self a, Self b) { return {of_one(a.x, b.x), of_one(a.y, b.y)}; }
  CK_SIM_TWO(__hadd2_sat, __hadd_sat)
  CK_SIM_TWO(__hsub2_sat, __hsub_sat)
  CK_SIM_TWO(__hmul2_sat, __hmul_sat)
  CK_SIM_TWO(__hmax2, __hmax)
  CK_SIM_TWO(__hmin2, __hmin)
  CK_SIM_TWO(__hmax2_nan, __hmax_nan)
  CK_SIM_TWO(__hmin2_nan, __hmin_nan)
#undef CK_SIM_TWO

#define CK_SIM_THREE(name, of_one) \
  friend Self name(Self a, Self b, Self c) { \
    return {of_one(a.x, b.x, c.x), of_one(a.y, b.y, c.y)}; \
  }
  CK_SIM_THREE(__hfma2, __hfma)
  CK_SIM_THREE(__hfma2_sat, __hfma_sat)
  CK_SIM_THREE(__hfma2_relu, __hfma_relu)
#undef CK_SIM_THREE

#define CK_SIM_ONE(name, of_one) \
  friend Self name(Self a) { return {of_one(a.x), of_one(a.y)}; }
  CK_SIM_ONE(__hneg2, __hneg)
  CK_SIM_ONE(__habs2, __habs)
  CK_SIM_ONE(h2sqrt, hsqrt)
  CK_SIM_ONE(h2rsqrt, hrsqrt)
  CK_SIM_ONE(h2rcp, hrcp)
  CK_SIM_ONE(h2exp, hexp)
  CK_SIM_ONE(h2exp2, hexp2)
  CK_SIM_ONE(h2exp10, hexp10)
  CK_SIM_ONE(h2log, hlog)
  CK_SIM_ONE(h2log2, hlog2)
  CK_SIM_ONE(h2log10, hlog10)
  CK_SIM_ONE(h2sin, hsin)
  CK_SIM_ONE(h2cos, hcos)
  CK_SIM_ONE(h2tanh, htanh)
  CK_SIM_ONE(h2floor, hfloor)
  CK_SIM_ONE(h2ceil, hceil)
  CK_SIM_ONE(h2rint, hrint)
  CK_SIM_ONE(h2trunc, htrunc)
#undef CK_SIM_ONE

  // 1.0 or 0.0 per element; all bits or none; and whether it holds for both.
#define CK_SIM_COMPARE2(name) \
  friend Self __h##name##2(Self a, Self b) { \
    return {Element(__h##name(a.x, b.x) ? 1 : 0), Element(__h##name(a.y, b.y) ? 1 : 0)}; \
  } \
  friend unsigned __h##name##2_mask(Self a, Self b) { \
    return (__h##name(a.x, b.x) ? 0xFFFFu : 0) | (__h##name(a.y, b.y) ? 0xFFFF0000u : 0); \
  } \
  friend bool __hb##name##2(Self a, Self b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); }
  CK_SIM_COMPARE2(eq)
  CK_SIM_COMPARE2(ne)
  CK_SIM_COMPARE2(lt)
  CK_SIM_COMPARE2(le)
  CK_SIM_COMPARE2(gt)
  CK_SIM_COMPARE2(ge)
#undef CK_SIM_COMPARE2
#define CK_SIM_UNORDERED2(name, sign) \
  friend Self __h##name##u2(Self a, Self b) { \
    return {Element(__h##name##u(a.x, b.x) ? 1 : 0), Element(__h##name##u(a.y, b.y) ? 1 : 0)}; \
  } \
  friend bool __hb##name##u2(Self a, Self b) { \
    return __h##name##u(a.x, b.x) && __h##name##u(a.y, b.y); \
  } \
  friend bool operator sign(const Self& a, const Self& b) { return a.x sign b.x && a.y sign b.y; }
  CK_SIM_UNORDERED2(eq, ==)
  CK_SIM_UNORDERED2(ne, !=)
  CK_SIM_UNORDERED2(lt, <)
  CK_SIM_UNORDERED2(le, <=)
  CK_SIM_UNORDERED2(gt, >)
  CK_SIM_UNORDERED2(ge, >=)
#undef CK_SIM_UNORDERED2
  friend Self __hisnan2(Self a) {
    return {Element(a.x.is_nan() ? 1 : 0), Element(a.y.is_nan() ? 1 : 0)};
  }

  friend float __low2float(Self a) { return a.x; }
  friend float __high2float(Self a) { return a.y; }
  friend Self __lowhigh2highlow(Self a) { return {a.y, a.x}; }
};

}  // namespace ck_sim

#define CK_SIM_SMALL_INTEGER(name, type, word, of_nan) \
  CK_SIM_SMALL_INTEGER_TO(name, type, word, of_nan, rn, kNearest) \
  CK_SIM_SMALL_INTEGER_TO(name, type, word, of_nan, rz, kZero) \
  CK_SIM_SMALL_INTEGER_TO(name, type, word, of_nan, ru, kUp) \
  CK_SIM_SMALL_INTEGER_TO(name, type, word, of_nan, rd, kDown)
#define CK_SIM_SMALL_INTEGER_TO(name, type, word, of_nan, suffix, mode) \
  inline type __##name##2##word##_##suffix(CK_SIM_SMALL_##name a) { \
    return ck_sim::saturated<type>(ck_sim::to_integral(a.value(), ck_sim::Round::mode), of_nan); \
  } \
  inline CK_SIM_SMALL_##name __##word##2##name##_##suffix(type x) { \
    const double odd = x < 0 ? ck_sim::integer_to_odd(static_cast<long long>(x)) \
                             : ck_sim::integer_to_odd(static_cast<unsigned long long>(x)); \
    return CK_SIM_SMALL_##name::of(odd, ck_sim::Round::mode); \
  }

#define CK_SIM_SMALL_CONVERSIONS(name, Small, Pair) \
  CK_SIM_SMALL_INTEGER(name, short, short, 0) \
  CK_SIM_SMALL_INTEGER(name, unsigned short, ushort, 0) \
  CK_SIM_SMALL_INTEGER(name, int, int, 0) \
  CK_SIM_SMALL_INTEGER(name, unsigned, uint, 0) \
  CK_SIM_SMALL_INTEGER(name, long long, ll, 1ull << 63) \
  CK_SIM_SMALL_INTEGER(name, unsigned long long, ull, 1ull << 63) \
  inline signed char __##name##2char_rz(Small a) { return a; } \
  inline unsigned char __##name##2uchar_rz(Small a) { return a; } \
  inline Small __float2##name(float x) { return Small(x); } \
  inline Small __float2##name##_rn(float x) { return Small(x); } \
  inline Small __float2##name##_rz(float x) { return Small::of(x, ck_sim::Round::kZero); } \
  inline Small __float2##name##_ru(float x) { return Small::of(x, ck_sim::Round::kUp); } \
  inline Small __float2##name##_rd(float x) { return Small::of(x, ck_sim::Round::kDown); } \
  inline Small __double2##name(double x) { return Small(x); } \
  inline float __##name##2float(Small a) { return a; } \
  inline Small __ushort_as_##name(unsigned short bits) { return Small::of_bits(bits); } \
  inline Small __short_as_##name(short bits) { \
    return Small::of_bits(static_cast<uint16_t>(bits)); \
  } \
  inline unsigned short __##name##_as_ushort(Small a) { return a.bits(); } \
  inline short __##name##_as_short(Small a) { return static_cast<short>(a.bits()); } \
  inline Pair __float2##name##2_rn(float x) { return {Small(x), Small(x)}; } \
  inline Pair __floats2##name##2_rn(float x, float y) { return {Small(x), Small(y)}; } \
  inline Pair __float22##name##2_rn(float2 x) { return {Small(x.x), Small(x.y)}; } \
  inline float2 __##name##22float2(Pair a) { return {a.x, a.y}; } \
  inline Pair __##name##2##name##2(Small a) { return {a, a}; } \
  inline Pair __halves2##name##2(Small a, Small b) { return {a, b}; } \
  inline Small __low2##name(Pair a) { return a.x; } \
  inline Small __high2##name(Pair a) { return a.y; } \
  inline Pair __low2##name##2(Pair a) { return {a.x, a.x}; } \
  inline Pair __high2##name##2(Pair a) { return {a.y, a.y}; } \
  inline Pair __lows2##name##2(Pair a, Pair b) { return {a.x, b.x}; } \
  inline Pair __highs2##name##2(Pair a, Pair b) { return {a.y, b.y}; } \
  inline Pair make_##name##2(Small a, Small b) { return {a, b}; }
