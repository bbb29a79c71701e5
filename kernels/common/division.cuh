// SPDX-License-Identifier: MIT
// Division by a divisor known to the host: one high multiplication, two shifts, two additions.
//
// The host prepares (multiplier, shift) for a divisor d >= 1 (cudakern/_layout.py,
// prepare_division): with s = ceil(log2 d), multiplier = floor(2^N * (2^s - d) / d) + 1 modulo 2^N.
// Then, for every n below 2^N, the quotient is (t + ((n - t) >> min(1, s))) >> max(0, s - 1) with
// t = high(n * multiplier). It is exact for all n and d, and no 64-bit division is left in the
// code.
#pragma once

#include "common/types.cuh"

namespace ck {

/// A prepared divisor: 16 bytes for 32-bit values, 24 for 64-bit ones.
template <typename T>
struct Divisor {
  T value;
  T multiplier;
  uint32 first_shift;
  uint32 second_shift;
};

template <typename T>
struct Division {
  T quotient;
  T remainder;
};

CK_DEVICE uint32 high_product(uint32 a, uint32 b) { return __umulhi(a, b); }
CK_DEVICE uint64 high_product(uint64 a, uint64 b) { return __umul64hi(a, b); }

template <typename T>
CK_DEVICE T quotient(T n, const Divisor<T>& d) {
  const T t = high_product(n, d.multiplier);
  return (t + ((n - t) >> d.first_shift)) >> d.second_shift;
}

template <typename T>
CK_DEVICE Division<T> divide(T n, const Divisor<T>& d) {
  const T q = quotient(n, d);
  return {q, static_cast<T>(n - q * d.value)};
}

}  // namespace ck
