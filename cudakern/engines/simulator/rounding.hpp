// SPDX-License-Identifier: MIT
// Rounding in CUDA's four directions, whatever the host's mode: what conversions are made of.
#pragma once

#include <math.h>
#include <stdint.h>

namespace ck_sim {

enum class Round { kNearest, kZero, kUp, kDown };

/// x, or where `error` says that it is not exact, its neighbor with an odd mantissa: rounded again
/// to at most 51 bits, in any direction, it gives what the exact number would.
inline double to_odd(double x, double error) {
  uint64_t bits;
  __builtin_memcpy(&bits, &x, 8);
  if ((error < 0 || error > 0) && x - x == 0 && (bits & 1) == 0) {
    bits += (error > 0) == (x > 0) ? 1 : -1;
    __builtin_memcpy(&x, &bits, 8);
  }
  return x;
}
inline double add_to_odd(double a, double b) {
  const double sum = a + b, part = sum - a;
  return to_odd(sum, (a - (sum - part)) + (b - part));
}
inline double integer_to_odd(unsigned long long x) {
  return static_cast<double>(x >> 53 != 0 ? (x >> 11 | ((x & 2047) != 0)) << 11 : x);
}
inline double integer_to_odd(long long x) {
  const auto bits = static_cast<unsigned long long>(x);
  return x < 0 ? -integer_to_odd(0 - bits) : integer_to_odd(bits);
}

/// The integer next to x, still as a double.
inline double to_integral(double x, Round mode) {
  switch (mode) {
    case Round::kZero:
      return ::trunc(x);
    case Round::kUp:
      return ::ceil(x);
    case Round::kDown:
      return ::floor(x);
    default:
      return ::rint(x);
  }
}

/// An integral double as an integer, kept in range.
template <typename I>
inline I saturated(double x, I of_nan = 0) {
  constexpr bool kSigned = I(-1) < I(0);
  constexpr int kBits = 8 * sizeof(I);
  constexpr unsigned long long kGreatest = (~0ull >> (64 - kBits)) >> kSigned;
  constexpr double kLimit = 2.0 * (1ull << (kBits - 1 - kSigned));
  if (x != x) {
    return of_nan;
  }
  if (x >= kLimit) {
    return static_cast<I>(kGreatest);
  }
  const double least = kSigned ? -kLimit : 0.0;
  return x <= least ? static_cast<I>(~kGreatest * kSigned) : static_cast<I>(x);
}

/// The float next to a double that is exact or `to_odd`.
inline float to_float(double x, Round mode) {
  float result = static_cast<float>(x);
  if (mode == Round::kNearest || result == x || x != x) {
    return result;
  }
  const bool down = mode == Round::kDown || (mode == Round::kZero && x > 0);
  if (down && result > x) {
    result = ::nextafterf(result, -__builtin_inff());
  } else if (!down && result < x) {
    result = ::nextafterf(result, __builtin_inff());
  }
  return result;
}

}  // namespace ck_sim
