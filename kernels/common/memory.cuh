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

/// `kPieces` values of `T` that fill one `V`, written as a whole.
template <typename V, typename T>
union Packed {
  static constexpr int kPieces = sizeof(V) / sizeof(T);
  static_assert(sizeof(V) % sizeof(T) == 0, "pieces fill the vector");
  V vector;
  T piece[kPieces];
};

/// A read through the read-only path; nothing writes the array while the kernel runs.
template <typename T>
__device__ __forceinline__ T load(const T* address) {
  return __ldg(address);
}

/// The same for a type that is no built-in one.
template <typename T>
__device__ __forceinline__ T load_struct(const T* address) {
  Packed<Bytes<sizeof(T)>, T> value;
  value.vector = load(reinterpret_cast<const Bytes<sizeof(T)>*>(address));
  return value.piece[0];
}

/// A vector that is read once: it takes no place in L1.
__device__ __forceinline__ uint4 load_once(const uint4* address) {
#ifdef CK_SIMULATOR
  return __ldg(address);
#else
  uint4 value;
  asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
      : "l"(address));
  return value;
#endif
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

/// Adds 1, or goes back to 0 from `limit`; returns what was there. What the threads that came
/// before it wrote can be read afterwards.
__device__ __forceinline__ uint32 increment_acquire_release(uint32* address, uint32 limit) {
#ifdef CK_SIMULATOR
  __threadfence();
  const uint32 before = atomicInc(address, limit);
  __threadfence();
  return before;
#else
  uint32 before;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(address), "r"(limit)
               : "memory");
  return before;
#endif
}

/// A write whose result is not read again soon: evict-first.
template <typename T>
__device__ __forceinline__ void store_streaming(T* address, T value) {
  __stcs(address, value);
}

/// Writes a value; one of 16 bytes may lie on 8.
template <typename T>
__device__ __forceinline__ void store(T* address, const T& value) {
  if constexpr (sizeof(T) == 16) {
    Packed<T, uint64> halves;
    halves.vector = value;
    reinterpret_cast<uint64*>(address)[0] = halves.piece[0];
    reinterpret_cast<uint64*>(address)[1] = halves.piece[1];
  } else {
    *address = value;
  }
}

/// Writes `kCount` values next to each other: as vectors, if they lie like that.
template <typename T, int kCount>
__device__ __forceinline__ void store_packed(T* address, const T (&value)[kCount]) {
  constexpr int kBytes = kCount * sizeof(T) < 16 ? kCount * sizeof(T) : 16;
  using Vector = Bytes<kBytes>;
  constexpr int kPieces = Packed<Vector, T>::kPieces;
  if (reinterpret_cast<uint64>(address) % kBytes == 0) {
#pragma unroll
    for (int k = 0; k < kCount; k += kPieces) {
      Packed<Vector, T> packed;
#pragma unroll
      for (int i = 0; i < kPieces; ++i) {
        packed.piece[i] = value[k + i];
      }
      *reinterpret_cast<Vector*>(address + k) = packed.vector;
    }
  } else {
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      store(address + k, value[k]);
    }
  }
}

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
