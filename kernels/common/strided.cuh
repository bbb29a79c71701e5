// SPDX-License-Identifier: MIT
// Iteration over tensors of any strides: one linear work item becomes an offset for each operand.
#pragma once

#include "common/division.cuh"
#include "common/types.cuh"

namespace ck {

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
    if (d == kRank - 1) {
      result.last = part.remainder;
    }
#pragma unroll
    for (int k = 0; k < kOperands; ++k) {
      result.value[k] += part.remainder * dimensions[d].stride[k];
    }
    item = part.quotient;
  }
  return result;
}

}  // namespace ck
