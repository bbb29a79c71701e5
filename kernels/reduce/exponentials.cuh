// Terms exp(x - shift) of a sum, for elements x that are at most as large as a maximum.
//
// A shift is near the maximum, but one of few numbers that are far apart. So it seldom changes while
// a maximum rises, and it is 0 for all maxima near zero, where x - maximum would be rounded. Above
// kMost, where floats are 16 apart or more, a sum does not show in maximum + log(sum), and may be
// infinite.
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

/// Terms for a maximum. `kIsRough`: to 16 bits. Subnormal terms are kept.
template <typename T, bool kIsRough>
class Terms;

/// In float, exp(shift) is a power of two, whose exponent is a multiple of 64. Terms are 2^24 times as
/// large: so no sum of theirs is rounded as subnormal numbers are.
template <bool kIsRough>
class Terms<float, kIsRough> {
 public:
  static constexpr float kMost = 1 << 27;

  CK_DEVICE explicit Terms(float maximum) : half_(half_exponent(maximum)) {}
  /// The term of x. Rough ones take an exponential of the GPU, the others the steps of expf: the
  /// exponent is floor(x / log(2)), clamped to those of floats.
  CK_DEVICE float operator()(float x) const {
    if constexpr (kIsRough) {
      return exp2_approximate(fma(x, kLog2E, fma(half_, -2.0f, kUnit)));
    } else {
      const float clamped = saturated_fma(x, kLog2E / 252, fma(half_, -2.0f / 252, kLeast / 252));
      const float biased = __fmaf_rd(clamped, 252, kBias - kLeast);
      const float exponent = biased + fma(half_, 2.0f, -kBias);
      const float rest = fma(x, kLog2ELow, fma(x, kLog2E, -exponent));
      return exp2_approximate(rest) * __uint_as_float(__float_as_uint(biased) << 23);
    }
  }
  /// A sum of terms for a maximum that is not above this one, as a sum of these terms.
  CK_DEVICE float moved(float sum, float maximum) const {
    const float root = exp2_approximate(half_exponent(maximum) - half_);
    return sum * root * root;
  }
  /// log(exp(maximum) + the sum of exp(x) for all terms of x).
  CK_DEVICE float log_sum(float sum, float maximum) const {
    constexpr float kLog2 = 0.693147182f, kLog2Low = -1.90465421e-9f;
    const float shift = 2 * half_, terms = sum / (1 << kUnit);
    if (shift == 0 && maximum > kNearZero) return log1p(expm1(maximum) + terms);
    return maximum + log1p(terms * exp(fma(shift, kLog2Low, fma(shift, kLog2, -maximum))));
  }

 private:
  static constexpr float kLog2E = 1.44269502f, kLog2ELow = 1.92596303e-8f;
  static constexpr int kUnit = 24;                        // the exponent of a term of 1
  static constexpr float kLeast = 126 + kUnit;            // exponents are not below -kLeast
  static constexpr float kBias = (3 << 22) + 127 + kUnit;  // the last bits are those of an exponent

  /// Half the exponent for a maximum: maximum / log(2) / 2, about, as a multiple of 32; clamped at
  /// kMost.
  CK_DEVICE static float half_exponent(float maximum) {
    constexpr float kRange = 193635264, kRounder = 3 << 27;  // kMost / log(2); has steps of 32
    return fma(saturated_fma(maximum, 0.5f / kMost, 0.5f), kRange, kRounder) -
           (kRounder + kRange / 2);
  }

  float half_;
};

/// In double, shifts are multiples of 64.
template <bool kIsRough>
class Terms<double, kIsRough> {
 public:
  static constexpr double kMost = 1ll << 57;

  CK_DEVICE explicit Terms(double maximum) : shift_(shift_of(maximum)) {}
  CK_DEVICE double operator()(double x) const { return exp(x - shift_); }
  CK_DEVICE double moved(double sum, double maximum) const {
    double gap = shift_ - shift_of(maximum);
#pragma unroll 1
    for (int step = 0; gap > 0 && step < 16; ++step) {  // after which nothing is left
      sum *= 1.603810890548638e-28;                     // exp(-64)
      gap -= 64;
    }
    return sum;
  }
  CK_DEVICE double log_sum(double sum, double maximum) const {
    if (shift_ == 0 && maximum > kNearZero) return log1p(expm1(maximum) + sum);
    return maximum + log1p(sum * exp(shift_ - maximum));
  }

 private:
  CK_DEVICE static double shift_of(double maximum) {
    constexpr double kRounder = 3 * kMost;  // has steps of 64
    return fabs(maximum) < kMost ? maximum + kRounder - kRounder : 0;
  }

  double shift_;
};

}  // namespace ck
