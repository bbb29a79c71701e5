// SPDX-License-Identifier: MIT
// How kernels touch global memory: cached reads, streaming writes, and 16-byte vectors put together
// from narrower pieces.
#pragma once

#include "common/types.cuh"

// The block's dynamic shared memory as bytes on a 16-byte boundary. The simulator defines its own.
#ifndef CK_DYNAMIC_SHARED
#define CK_DYNAMIC_SHARED(name) extern __shared__ __align__(16) char name[]
#endif

namespace ck {

/// A read through the read-only path; nothing writes the array while the kernel runs.
template <typename T>
__device__ __forceinline__ T load(const T* address) {
  return __ldg(address);
}

/// A write whose result is not read again soon: evict-first.
template <typename T>
__device__ __forceinline__ void store_streaming(T* address, T value) {
  __stcs(address, value);
}

/// `kPieces` values of `T` that fill one `V`, written as a whole.
template <typename V, typename T>
union Packed {
  static constexpr int kPieces = sizeof(V) / sizeof(T);
  static_assert(sizeof(V) % sizeof(T) == 0, "pieces fill the vector");
  V vector;
  T piece[kPieces];
};

/// The fill pattern: one element repeated to 16 bytes, given as two words.
struct FillPattern {
  uint64 word[2];
};

/// The piece of the pattern that belongs `phase` bytes into an element row. Shifts instead of an
/// array subscript keep the pattern in constant memory.
template <typename T>
__device__ __forceinline__ T fill_piece(const FillPattern& fill, uint32 phase) {
  if constexpr (sizeof(T) == 16) {
    return make_uint4(static_cast<uint32>(fill.word[0]), static_cast<uint32>(fill.word[0] >> 32),
                      static_cast<uint32>(fill.word[1]), static_cast<uint32>(fill.word[1] >> 32));
  } else {
    const uint64 word = (phase & 8) != 0 ? fill.word[1] : fill.word[0];
    return static_cast<T>(word >> ((phase & 7) * 8));
  }
}

}  // namespace ck
