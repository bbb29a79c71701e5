// Division by a divisor known to the host, and with it the way from the number of a work item to
// offsets in tensors of any strides.
//
// A division is one high multiplication, two shifts and two additions. The host prepares
// (multiplier, shifts) for a divisor d >= 1 (cudakern/values/argument_struct.py, prepare_division):
// with s = ceil(log2 d), multiplier = floor(2^N * (2^s - d) / d) + 1 modulo 2^N. Then, for every n
// below 2^N, the quotient is (t + ((n - t) >> min(1, s))) >> max(0, s - 1) with t = high(n *
// multiplier). It is exact for all n and d, and no 64-bit division is left in the code.
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

/// One dimension of the iteration space, outermost first, with the byte strides of `kOperands`
/// tensors along it.
template <typename O, int kOperands>
struct Dimension {
  Divisor<O> size;
  O stride[kOperands];
};

/// Byte offsets of one work item, and its coordinate in the last dimension.
template <typename O, int kOperands>
struct Offsets {
  O value[kOperands];
  O last;
};

template <int kRank, int kOperands, typename O>
CK_DEVICE Offsets<O, kOperands> offsets_of(O item,
                                           const Dimension<O, kOperands> (&dimensions)[kRank]) {
  Offsets<O, kOperands> result = {};
  // Ranks above 8, and above 4 with 64-bit offsets, stay a loop: unrolled, they would need more
  // registers than there are.
  constexpr int kUnroll = kRank * sizeof(O) > 32 ? 1 : kRank;
#pragma unroll kUnroll
  for (int d = kRank - 1; d >= 0; --d) {
    // What is left for the outermost dimension is its coordinate: no division.
    const Division<O> part = d == 0 ? Division<O>{O{0}, item} : divide(item, dimensions[d].size);
    if (d == kRank - 1) result.last = part.remainder;
#pragma unroll
    for (int k = 0; k < kOperands; ++k) {
      result.value[k] += part.remainder * dimensions[d].stride[k];
    }
    item = part.quotient;
  }
  return result;
}

}  // namespace ck
