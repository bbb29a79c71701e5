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

/// A vector, or zeros unless there is one: without a branch, so that many are in flight. Of what
/// is read once, none takes a place in L1.
template <bool kOnce>
__device__ __forceinline__ uint4 load_if(bool exists, const uint4* address) {
  uint4 value = make_uint4(0, 0, 0, 0);
#ifdef CK_SIMULATOR
  if (exists) {
    value = __ldg(address);
  }
#else
  if constexpr (kOnce) {
    asm("{\n"
        "  .reg .pred exists;\n"
        "  setp.ne.u32 exists, %5, 0;\n"
        "  @exists ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];\n"
        "}"
        : "+r"(value.x), "+r"(value.y), "+r"(value.z), "+r"(value.w)
        : "l"(address), "r"(static_cast<uint32>(exists)));
  } else {
    asm("{\n"
        "  .reg .pred exists;\n"
        "  setp.ne.u32 exists, %5, 0;\n"
        "  @exists ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];\n"
        "}"
        : "+r"(value.x), "+r"(value.y), "+r"(value.z), "+r"(value.w)
        : "l"(address), "r"(static_cast<uint32>(exists)));
  }
#endif
  return value;
}

/// A read and a write of a word that blocks exchange. They say nothing about other words.
__device__ __forceinline__ uint64 load_relaxed(uint64* address) {
#ifdef CK_SIMULATOR
  return atomicAdd(address, 0);  // others may run meanwhile, which polling needs
#else
  uint64 value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(address));
  return value;
#endif
}
__device__ __forceinline__ void store_relaxed(uint64* address, uint64 value) {
#ifdef CK_SIMULATOR
  atomicExch(address, value);
#else
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(address), "l"(value));
#endif
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
