// SPDX-License-Identifier: MIT
// Floats of 2 bytes: half (10 bits of mantissa) and bfloat16 (7), as CUDA has them. Results are
// rounded once. What takes one of them is a friend that its class defines: it is found by its
// argument, and takes what converts as well.
#pragma once

#include <math.h>
#include <stdint.h>

#include "rounding.hpp"

namespace ck_sim {

/// The 16 bits nearest to x: a sign, an exponent, and kMantissa bits.
template <int kMantissa>
inline uint16_t encode_small(double x, Round mode = Round::kNearest) {
  constexpr int kBias = (1 << (14 - kMantissa)) - 1;
  constexpr uint32_t kInfinity = (2u * kBias + 1) << kMantissa;
  uint64_t bits;
  __builtin_memcpy(&bits, &x, 8);
  const bool negative = bits >> 63 != 0;
  const uint32_t sign = negative ? 0x8000u : 0;
  bits &= ~(uint64_t{1} << 63);
  constexpr uint64_t kDoubleInfinity = uint64_t{0x7FF} << 52;
  if (bits >= kDoubleInfinity) {
    return static_cast<uint16_t>(bits == kDoubleInfinity ? sign | kInfinity : 0x7FFFu);
  }
  const bool away = mode == (negative ? Round::kDown : Round::kUp);
  const int exponent = static_cast<int>(bits >> 52) - 1023 + kBias;  // as it is stored, from 1 on
  uint64_t whole = bits & ((uint64_t{1} << 52) - 1);
  whole |= static_cast<uint64_t>(bits >> 52 != 0) << 52;
  int shift = 52 - kMantissa + (exponent < 1 ? 1 - exponent : 0);
  shift = shift > 54 ? 54 : shift;
  const uint64_t rest = whole & ((uint64_t{1} << shift) - 1), half = uint64_t{1} << (shift - 1);
  uint64_t result = whole >> shift;
  const bool up = mode == Round::kNearest ? rest > half || (rest == half && (result & 1) != 0)
                                          : away && rest != 0;
  result += up;  // may carry into the exponent, as it should
  result += exponent < 1 ? 0 : static_cast<uint64_t>(exponent - 1) << kMantissa;
  if (result >= kInfinity) {
    result = mode == Round::kNearest || away ? kInfinity : kInfinity - 1;
  }
  return static_cast<uint16_t>(sign | result);
}

template <int kMantissa>
inline float decode_small(uint16_t small) {
  constexpr int kShift = 23 - kMantissa;
  constexpr uint32_t kBias = (1u << (14 - kMantissa)) - 1, kInfinity = (2 * kBias + 1) << kMantissa;
  const uint32_t magnitude = small & 0x7FFFu;
  uint32_t bits = magnitude << kShift;
  if (kBias != 127 && magnitude >= kInfinity) {
    bits |= 0x7F800000u;
  } else if (kBias != 127 && magnitude < 1u << kMantissa) {
    // A subnormal: the same number of steps from the least normal number, less that number.
    const uint32_t least = (127 - kBias + 1) << 23;
    bits += least;
    float value, base;
    __builtin_memcpy(&value, &bits, 4);
    __builtin_memcpy(&base, &least, 4);
    value -= base;
    __builtin_memcpy(&bits, &value, 4);
  } else {
    bits += (127 - kBias) << 23;
  }
  bits |= static_cast<uint32_t>(small & 0x8000u) << 16;
  float result;
  __builtin_memcpy(&result, &bits, 4);
  return result;
}

#define CK_SIM_INTEGERS(each) \
  each(signed char) each(unsigned char) each(char) each(short) each(unsigned short) each(int) \
      each(unsigned) each(long) each(unsigned long) each(long long) each(unsigned long long)

struct RawSmall {
  unsigned short x;
};

template <int kMantissa>
class SmallFloat {
  using Self = SmallFloat;

 public:
  SmallFloat() = default;
  constexpr SmallFloat(const RawSmall& raw) : bits_(raw.x) {}
  SmallFloat(float x) : bits_(encode_small<kMantissa>(x)) {}
  SmallFloat(double x) : bits_(encode_small<kMantissa>(x)) {}
#define CK_SIM_FROM(type) \
  SmallFloat(type x) \
      : bits_(encode_small<kMantissa>(x < 0 \
                                          ? integer_to_odd(static_cast<long long>(x)) \
                                          : integer_to_odd(static_cast<unsigned long long>(x)))) { \
  }
  CK_SIM_INTEGERS(CK_SIM_FROM)
#undef CK_SIM_FROM
  operator float() const { return decode_small<kMantissa>(bits_); }
  operator bool() const { return (bits_ & 0x7FFF) != 0; }
  operator RawSmall() const { return {bits_}; }
#define CK_SIM_TO(type) \
  operator type() const { return saturated<type>(::trunc(value())); }
  CK_SIM_INTEGERS(CK_SIM_TO)
#undef CK_SIM_TO

  static Self of(double x, Round mode = Round::kNearest) {
    return RawSmall{encode_small<kMantissa>(x, mode)};
  }
  static constexpr Self of_bits(uint32_t bits) { return RawSmall{static_cast<uint16_t>(bits)}; }
  constexpr uint16_t bits() const { return bits_; }
  double value() const { return decode_small<kMantissa>(bits_); }
  constexpr bool is_nan() const { return (bits_ & 0x7FFF) > kInfinity; }
  friend Self operator+(const Self& a, const Self& b) { return of(a.value() + b.value()); }
  friend Self operator-(const Self& a, const Self& b) { return of(a.value() - b.value()); }
  friend Self operator*(const Self& a, const Self& b) { return of(a.value() * b.value()); }
  friend Self operator/(const Self& a, const Self& b) { return of(a.value() / b.value()); }
  friend Self operator+(const Self& a) { return a; }
  friend Self operator-(const Self& a) { return of_bits(a.bits_ ^ 0x8000u); }
  friend Self& operator+=(Self& a, const Self& b) { return a = a + b; }
  friend Self& operator-=(Self& a, const Self& b) { return a = a - b; }
  friend Self& operator*=(Self& a, const Self& b) { return a = a * b; }
  friend Self& operator/=(Self& a, const Self& b) { return a = a / b; }
  friend Self& operator++(Self& a) { return a = a + Self(1); }
  friend Self& operator--(Self& a) { return a = a - Self(1); }
  friend Self operator++(Self& a, int) {
    const Self old = a;
    ++a;
    return old;
  }
  friend Self operator--(Self& a, int) {
    const Self old = a;
    --a;
    return old;
  }

#define CK_SIM_COMPARE(name, sign) \
  friend bool operator sign(const Self& a, const Self& b) { return a.value() sign b.value(); } \
  friend bool __h##name(Self a, Self b) { \
    return !a.is_nan() && !b.is_nan() && a.value() sign b.value(); \
  } \
  friend bool __h##name##u(Self a, Self b) { \
    return a.is_nan() || b.is_nan() || a.value() sign b.value(); \
  }
  CK_SIM_COMPARE(eq, ==)
  CK_SIM_COMPARE(ne, !=)
  CK_SIM_COMPARE(lt, <)
  CK_SIM_COMPARE(le, <=)
  CK_SIM_COMPARE(gt, >)
  CK_SIM_COMPARE(ge, >=)
#undef CK_SIM_COMPARE
  friend bool __hisnan(Self a) { return a.is_nan(); }
  friend int __hisinf(Self a) {
    return (a.bits_ & 0x7FFF) != kInfinity ? 0 : a.bits_ >> 15 != 0 ? -1 : 1;
  }

  friend Self __hadd(Self a, Self b) { return a + b; }
  friend Self __hsub(Self a, Self b) { return a - b; }
  friend Self __hmul(Self a, Self b) { return a * b; }
  friend Self __hdiv(Self a, Self b) { return a / b; }
  friend Self __hadd_rn(Self a, Self b) { return a + b; }
  friend Self __hsub_rn(Self a, Self b) { return a - b; }
  friend Self __hmul_rn(Self a, Self b) { return a * b; }
  friend Self __hfma(Self a, Self b, Self c) {
    return of(add_to_odd(a.value() * b.value(), c.value()));
  }
  friend Self __hadd_sat(Self a, Self b) { return saturate(a + b); }
  friend Self __hsub_sat(Self a, Self b) { return saturate(a - b); }
  friend Self __hmul_sat(Self a, Self b) { return saturate(a * b); }
  friend Self __hfma_sat(Self a, Self b, Self c) { return saturate(__hfma(a, b, c)); }
  friend Self __hfma_relu(Self a, Self b, Self c) {
    return __hmax_nan(__hfma(a, b, c), of_bits(0));
  }
  friend Self __hneg(Self a) { return -a; }
  friend Self __habs(Self a) { return of_bits(a.bits_ & 0x7FFFu); }
  friend Self __hcopysign(Self a, Self b) {
    return of_bits((a.bits_ & 0x7FFFu) | (b.bits_ & 0x8000u));
  }
  // A NaN gives way to a number; +0 is greater than -0.
  friend Self __hmax(Self a, Self b) {
    return a.is_nan() ? (b.is_nan() ? of_bits(0x7FFF) : b) : b.is_nan() || less(b, a) ? a : b;
  }
  friend Self __hmin(Self a, Self b) {
    return a.is_nan() ? (b.is_nan() ? of_bits(0x7FFF) : b) : b.is_nan() || less(a, b) ? a : b;
  }
  friend Self __hmax_nan(Self a, Self b) {
    return a.is_nan() || b.is_nan() ? of_bits(0x7FFF) : __hmax(a, b);
  }
  friend Self __hmin_nan(Self a, Self b) {
    return a.is_nan() || b.is_nan() ? of_bits(0x7FFF) : __hmin(a, b);
  }

#define CK_SIM_UNARY(name, expression) \
  friend Self name(Self a) { \
    const double x = a.value(); \
    return of(expression); \
  }
  CK_SIM_UNARY(hsqrt, ::sqrt(x))
  CK_SIM_UNARY(hrsqrt, 1 / ::sqrt(x))
  CK_SIM_UNARY(hrcp, 1 / x)
  CK_SIM_UNARY(hexp, ::exp(x))
  CK_SIM_UNARY(hexp2, ::exp2(x))
  CK_SIM_UNARY(hexp10, ::pow(10.0, x))
  CK_SIM_UNARY(hlog, ::log(x))
  CK_SIM_UNARY(hlog2, ::log2(x))
  CK_SIM_UNARY(hlog10, ::log10(x))
  CK_SIM_UNARY(hsin, ::sin(x))
  CK_SIM_UNARY(hcos, ::cos(x))
  CK_SIM_UNARY(htanh, ::tanh(x))
  CK_SIM_UNARY(htanh_approx, ::tanh(x))
  CK_SIM_UNARY(hfloor, ::floor(x))
  CK_SIM_UNARY(hceil, ::ceil(x))
  CK_SIM_UNARY(hrint, ::rint(x))
  CK_SIM_UNARY(htrunc, ::trunc(x))
#undef CK_SIM_UNARY

 private:
  static constexpr uint32_t kInfinity = ((2u << (14 - kMantissa)) - 1) << kMantissa;
  static Self saturate(Self a) {
    const double x = a.value();
    return x > 0 ? (x < 1 ? a : Self(1)) : of_bits(0);
  }
  static bool less(Self a, Self b) {
    return a.value() < b.value() || (a.value() == b.value() && a.bits_ > b.bits_);
  }

  uint16_t bits_;
};

}  // namespace ck_sim
