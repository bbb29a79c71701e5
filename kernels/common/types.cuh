// SPDX-License-Identifier: MIT
// Fixed-width integers, byte-width data types and the helpers every kernel needs. No header of the
// CUDA toolkit is included: a kernel compiles in about 0.05 s.
#pragma once

namespace ck {

using int32 = int;
using int64 = long long;
using uint8 = unsigned char;
using uint16 = unsigned short;
using uint32 = unsigned int;
using uint64 = unsigned long long;

static_assert(sizeof(uint16) == 2 && sizeof(uint32) == 4 && sizeof(uint64) == 8, "integer widths");

/// The unsigned type of a byte width: copies move bytes, so any data type of that width is served.
template <int width>
struct BytesOf;
template <>
struct BytesOf<1> {
  using type = uint8;
};
template <>
struct BytesOf<2> {
  using type = uint16;
};
template <>
struct BytesOf<4> {
  using type = uint32;
};
template <>
struct BytesOf<8> {
  using type = uint64;
};
template <>
struct BytesOf<16> {
  using type = uint4;
};
template <int width>
using Bytes = typename BytesOf<width>::type;

/// An offset as the kernels compute it: modulo 2^32 or 2^64. The host chose 32 bits only when every
/// byte offset lies in [-2^31, 2^31), so sign extension gives back the exact value.
__device__ __forceinline__ int64 signed_offset(uint32 offset) { return static_cast<int32>(offset); }
__device__ __forceinline__ int64 signed_offset(uint64 offset) { return static_cast<int64>(offset); }

/// The address `offset` bytes from `base`.
template <typename T, typename O>
__device__ __forceinline__ const T* at(const void* base, O offset) {
  return reinterpret_cast<const T*>(static_cast<const char*>(base) + signed_offset(offset));
}
template <typename T, typename O>
__device__ __forceinline__ T* at(void* base, O offset) {
  return reinterpret_cast<T*>(static_cast<char*>(base) + signed_offset(offset));
}

}  // namespace ck
