// SPDX-License-Identifier: MIT
// Stands for common/ptx.cuh in checked launches, whose compiler is the host's.
#pragma once

#include "common/types.cuh"

namespace ck {

/// A vector that is read once: it takes no place in L1.
__device__ __forceinline__ uint4 load_once(const uint4* address) { return __ldg(address); }

/// A vector, or zeros unless there is one: without a branch, so that many are in flight. Of what
/// is read once, none takes a place in L1.
template <bool kOnce>
__device__ __forceinline__ uint4 load_if(bool exists, const uint4* address) {
  uint4 value = make_uint4(0, 0, 0, 0);
  if (exists) {
    value = __ldg(address);
  }
  return value;
}

/// A read and a write of a word that blocks exchange. They say nothing about other words.
__device__ __forceinline__ uint64 load_relaxed(uint64* address) {
  return atomicAdd(address, 0);  // others may run meanwhile, which polling needs
}
__device__ __forceinline__ void store_relaxed(uint64* address, uint64 value) {
  atomicExch(address, value);
}

/// Adds 1, or goes back to 0 from `limit`; returns what was there. What the threads that came
/// before it wrote can be read afterwards.
__device__ __forceinline__ uint32 increment_acquire_release(uint32* address, uint32 limit) {
  __threadfence();
  const uint32 before = atomicInc(address, limit);
  __threadfence();
  return before;
}

__device__ __forceinline__ float half_to_float(uint16 bits) {
  const uint32 magnitude = bits & 0x7fff;
  const float scaled = __uint_as_float(magnitude << 13) * 0x1p112f;
  const uint32 beyond = magnitude >= 0x7c00 ? 0x7f800000 : 0;  // infinite or NaN
  return __uint_as_float(__float_as_uint(scaled) | beyond | (bits & 0x8000u) << 16);
}
__device__ __forceinline__ uint16 float_to_half(float x) {
  const uint32 bits = __float_as_uint(x), magnitude = bits & 0x7fffffff;
  uint32 result;
  if (magnitude >= 0x47800000) {
    result = magnitude > 0x7f800000 ? 0x7fff : 0x7c00;
  } else if (magnitude < 0x38800000) {  // subnormal: the addition rounds
    result = __float_as_uint(__uint_as_float(magnitude) + 0.5f) - 0x3f000000;
  } else {
    result = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
  }
  return static_cast<uint16>(result | (bits >> 16 & 0x8000));
}
__device__ __forceinline__ float exp2_approximate(float x) { return exp2f(x); }

}  // namespace ck
