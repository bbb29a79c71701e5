// Terms exp(x - shift) of a sum, for elements x that are at most as large as a maximum.
//
// A shift is near the maximum, but one of few numbers that are far apart. So it seldom changes
// while a maximum rises, and it is 0 for all maxima near zero, where x - maximum would be rounded.
// For a maximum of kMost or more, where floats are 16 apart or more, a sum does not show in the
// result: it may be anything, but is NaN only if there is one.
#pragma once

#include "common/ptx.cuh"
#include "reduce/numbers.cuh"

namespace ck {

/// The higher of two numbers, or y if x is NaN.
CK_DEVICE float higher_of(float x, float y) { return fmax(x, y); }
CK_DEVICE double higher_of(double x, double y) { return x > y ? x : y; }

/// The one of two that the higher one is not: x if it is NaN.
CK_DEVICE float other_of(float x, float y, float higher) {
  return __uint_as_float(__float_as_uint(x) ^ __float_as_uint(y) ^ __float_as_uint(higher));
}
CK_DEVICE double other_of(double x, double y, double higher) {
  return __longlong_as_double(__double_as_longlong(x) ^ __double_as_longlong(y) ^
                              __double_as_longlong(higher));
}

/// Above, exp(maximum) - 1 has more digits than exp(maximum).
constexpr float kNearZero = -0.6875f;

/// Terms for a maximum. `kIsRough`: of results of 16 bits.
template <typename T, bool kIsRough>
class Terms;

/// In float, exp(shift) is a power of two, whose exponent is a multiple of 64. Terms are 2^24 times
/// as large: so they are not rounded as subnormal numbers are.
template <bool kIsRough>
class Terms<float, kIsRough> {
 public:
  static constexpr float kMost = 1 << 27;
  static constexpr float kNear = 16;       // maxima of less have a shift of 0
  static constexpr float kNone = -104.5f;  // whose term is 0 then: the last bits of biased are 0

  Terms() = default;
  CK_DEVICE static Terms near_zero() {
    Terms terms;
    terms.half_ = 0;
    return terms;
  }
  CK_DEVICE explicit Terms(float maximum) : half_(half_exponent(maximum)) {}
  /// A sum with the term of x. Rough ones take an exponential of the GPU, the others the steps of
  /// expf: the exponent is floor(x / log(2)), clamped to those of floats. `kAlike`: the shift is
  /// that of x, too, which is less than kMost; the bits are the same.
  template <bool kAlike = false>
  CK_DEVICE float with(float sum, float x) const {
    const float base = fma(half_, -2.0f, kIsRough ? kUnit : kBias);
    if constexpr (kIsRough) {
      return sum + exp2_approximate(fma(x, kLog2E, base));
    } else {
      float biased = __fmaf_rd(x, kLog2E, base);
      if (!kAlike) biased = fmin(fmax(biased, kBias - kLeast), kBias + kLargest);
      const float rest = fma(x, kLog2ELow, fma(x, kLog2E, base - biased));
      return fma(exp2_approximate(rest), __uint_as_float(__float_as_uint(biased) << 23), sum);
    }
  }
  /// Those for the higher one of two maxima.
  CK_DEVICE Terms(const Terms& a, const Terms& b, float) : half_(fmax(a.half_, b.half_)) {}
  CK_DEVICE bool operator!=(const Terms& other) const { return half_ != other.half_; }
  /// A sum of terms for a maximum that is not above this one, as one of terms for this one.
  CK_DEVICE float moved(float sum, const Terms& from) const {
    const float root = exp2_approximate(from.half_ - half_);
    return rounded_product(rounded_product(sum, root), root);
  }
  /// log(exp(maximum) + the sum of exp(x) for all terms of x).
  CK_DEVICE float log_sum(float sum, float maximum) const {
    constexpr float kLog2 = 0.693147182f, kLog2Low = -1.90465421e-9f;
    const float shift = 2 * half_;
    if (shift == 0 && maximum > kNearZero) return log1p(fma(sum, kOfUnit, expm1(maximum)));
    const float factor = exp(fma(shift, kLog2Low, fma(shift, kLog2, -maximum)));
    return maximum + log1p(sum * kOfUnit * factor);
  }

 private:
  static constexpr float kLog2E = 1.44269502f, kLog2ELow = 1.92596303e-8f;
  static constexpr float kUnit = 24, kOfUnit = 0x1p-24f;   // the exponent of a term of 1
  static constexpr float kLeast = 126 + kUnit;             // exponents are not below -kLeast
  static constexpr float kLargest = 126 - kUnit;           // nor above this
  static constexpr float kBias = 0x1.8p23f + 127 + kUnit;  // the last bits are those of an exponent

  /// Half the exponent for a maximum: maximum / log(2) / 2, about, as a multiple of 32; clamped at
  /// kMost.
  CK_DEVICE static float half_exponent(float maximum) {
    constexpr float kRange = 193635264, kRounder = 3 << 27;  // kMost / log(2); has steps of 32
    return fma(saturated_fma(maximum, 0.5f / kMost, 0.5f), kRange, kRounder) -
           (kRounder + kRange / 2);
  }

  float half_;
};

/// Of the exponential of r, |r| <= log(2) / 2, as 1 + r + r^2 q(r): the coefficients of q, which is
/// off by 1.1e-16 at most. In constant memory, operands need no instructions of their own.
static __constant__ double exponential_coefficients[] = {
    0x1.af38a9b0ec855p-26, 0x1.289185613a3d6p-22, 0x1.71de0dae63bb3p-19, 0x1.a019b90d2ae7ap-16,
    0x1.a01a01a7c41d5p-13, 0x1.6c16c1788bd90p-10, 0x1.11111111109b3p-7,  0x1.5555555553d63p-5,
    0x1.5555555555556p-3,  0x1.0000000000001p-1};

/// In double, shifts are multiples of 512. Terms are 2^512 times as large.
template <bool kIsRough>
class Terms<double, kIsRough> {
 public:
  static constexpr double kMost = 1ll << 56;
  static constexpr double kNear = 256;

  Terms() = default;
  CK_DEVICE static Terms near_zero() {
    Terms terms;
    terms.shift_ = 0;
    return terms;
  }
  CK_DEVICE explicit Terms(double maximum) : shift_(shift_of(maximum)) {}
  /// A sum with the term of x, which is right to a unit in the last place if x - shift is at most
  /// 256, and does not show if that is below -kLowest.
  template <bool kAlike = false>
  CK_DEVICE double with(double sum, double x) const {
    constexpr double kLog2E = 1.4426950408889634, kLog2 = 0.6931471805599453;
    constexpr double kLog2Low = 2.3190468138462996e-17;
    const double difference = x - shift_;
    const double d = fabs(difference) > kLowest ? copysign(kLowest, difference) : difference;
    const double biased = fma(d, kLog2E, kBias), exponent = biased - kBias;
    const double r = fma(exponent, -kLog2Low, fma(exponent, -kLog2, d));
    double q = exponential_coefficients[0];
#pragma unroll
    for (int k = 1; k < 10; ++k) q = fma(q, r, exponential_coefficients[k]);
    const double scale = __hiloint2double(__double2loint(biased) << 20, 0);
    return fma(fma(fma(q, r, 1.0), r, 1.0), scale, sum);
  }
  CK_DEVICE Terms(const Terms&, const Terms&, double maximum) : shift_(shift_of(maximum)) {}
  CK_DEVICE bool operator!=(const Terms& other) const { return shift_ != other.shift_; }
  CK_DEVICE double moved(double sum, const Terms& from) const {
    constexpr double kOfStep = 4.377491037053051e-223;  // exp(-kStep); exp(-2 kStep) is 0
    const double gap = shift_ - from.shift_;
    return rounded_product(sum, gap == kStep ? kOfStep : gap > 0 ? 0.0 : 1.0);
  }
  CK_DEVICE double log_sum(double sum, double maximum) const {
    if (shift_ == 0 && maximum > kNearZero) return log1p(fma(sum, kOfUnit, expm1(maximum)));
    return maximum + log1p(sum * kOfUnit * exp(shift_ - maximum));
  }

 private:
  static constexpr double kOfUnit = 0x1p-512;
  static constexpr double kStep = 512;
  static constexpr double kLowest = 1060;  // so that 2^512 exp(-kLowest) is not subnormal
  static constexpr double kBias = 0x1.8p52 + 512 + 1023;  // the last bits are those of an exponent

  CK_DEVICE static double shift_of(double maximum) {
    constexpr double kRounder = kStep * (3ll << 51);  // has steps of kStep
    return fabs(maximum) < kMost ? maximum + kRounder - kRounder : 0;
  }

  double shift_;
};

}  // namespace ck
