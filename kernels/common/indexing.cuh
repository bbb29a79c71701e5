// From an index as the user gave it to a position on the axis, for every index type and mode.
#pragma once

#include "common/division.cuh"
#include "common/memory.cuh"

namespace ck {

/// What becomes of an index outside [0, extent).
enum class IndexMode {
  kClamp,  ///< negative values count from the end once, then the nearest valid index
  kWrap,   ///< modulo the extent
  kFill,   ///< negative values count from the end once; still outside: the fill value
};

/// The unsigned type in which an index is compared with its extent: 64 bits if either needs them.
template <typename I, typename O>
using Wide = Bytes<(sizeof(I) > 4 || sizeof(O) > 4) ? 8 : 4>;

/// A position that is safe to read, and whether the index named it.
template <typename O>
struct Position {
  O value;
  bool valid;
};

/// The extent is at least 1 and below 2^63, and below 2^31 when `U` has 32 bits. 64-bit values are
/// narrowed after the comparison, never before.
template <IndexMode mode, typename O, typename I, typename U>
CK_DEVICE Position<O> resolve_index(I index, const Divisor<U>& extent) {
  constexpr bool kSigned = kIsSigned<I>;
  if constexpr (mode == IndexMode::kWrap) {
    if constexpr (kSigned) {
      // The complement of a negative index is its distance below zero, minus one.
      const bool negative = index < 0;
      const U remainder = divide(static_cast<U>(negative ? ~index : index), extent).remainder;
      return {static_cast<O>(negative ? extent.value - 1 - remainder : remainder), true};
    } else {
      return {static_cast<O>(divide(static_cast<U>(index), extent).remainder), true};
    }
  } else {
    bool below = false;
    U position = static_cast<U>(index);  // sign-extended: below zero becomes at least 2^(N-1)
    if constexpr (kSigned) {
      if (index < 0) {
        position += extent.value;  // wraps to a valid position unless the index is below -extent
        below = position >= extent.value;
      }
    }
    const bool beyond = !below && position >= extent.value;
    if constexpr (mode == IndexMode::kClamp) {
      const U nearest = beyond ? extent.value - 1 : position;
      return {static_cast<O>(below ? U{0} : nearest), true};
    } else {
      const bool valid = !below && !beyond;
      return {static_cast<O>(valid ? position : U{0}), valid};
    }
  }
}

/// Reads indices that lie `step` bytes apart, the first `count`; or all, as vectors, if they lie
/// next to each other and on as many bytes.
template <int kCount, typename I, typename O>
CK_DEVICE void load_indices(I* index, const I* source, O step, uint32 count, bool vectors) {
  constexpr int kBytes = kCount * sizeof(I) < 16 ? kCount * sizeof(I) : 16;
  using Group = Packed<Bytes<kBytes>, I>;
  if (vectors) {
#pragma unroll
    for (int k = 0; k < kCount; k += Group::kPieces) {
      Group group;
      group.vector = load(reinterpret_cast<const Bytes<kBytes>*>(source + k));
      unrolled<Group::kPieces>([&](uint32 j) { index[k + j] = group.piece[j]; });
    }
  } else {
    unrolled<kCount>([&](uint32 k) {
      if (k < count) index[k] = load(at<I>(source, k * step));
    });
  }
}

/// Indices of any layout that must all lie in [-extent, extent); unsigned ones in [0, extent).
/// Their last dimension runs over the components of a tuple, each with an extent of its own.
template <int kRank, int kComponents>
struct CheckArguments {
  const void* indices;
  uint64* first_bad;  ///< row-major position of the first index outside, at most its initial value
  uint64 items;
  uint64 extent[kComponents];
  Dimension<uint64, 1> dimensions[kRank];
};

template <typename I, int kRank, int kComponents>
CK_DEVICE void check_indices(const CheckArguments<kRank, kComponents>& a) {
  const uint64 step = static_cast<uint64>(gridDim.x) * blockDim.x;
  for (uint64 item = static_cast<uint64>(blockIdx.x) * blockDim.x + threadIdx.x; item < a.items;
       item += step) {
    const Offsets<uint64, 1> offset = offsets_of(item, a.dimensions);
    const uint64 extent = a.extent[kComponents == 1 ? 0 : offset.last];
    const I index = __ldg(at<I>(a.indices, offset.value[0]));
    uint64 position = static_cast<uint64>(index);
    if (kIsSigned<I> && index < 0) position += extent;
    if (position >= extent) atomicMin(a.first_bad, item);
  }
}

}  // namespace ck
