// What every kernel needs: how entry points begin, integer types, the types of byte widths,
// addresses. No header of the CUDA toolkit is included: a kernel compiles in about 0.05 s.
#pragma once

/// The head of an entry point, which takes one struct.
#define CK_KERNEL(...) \
  extern "C" __global__ void __launch_bounds__(CK_THREADS, CK_RESIDENT_BLOCKS) \
      CK_ENTRY(const __grid_constant__ __VA_ARGS__)

/// What every other function begins with: all are inlined.
#define CK_DEVICE __device__ __forceinline__

namespace ck {

using int32 = int;
using int64 = long long;
using uint8 = unsigned char;
using uint16 = unsigned short;
using uint32 = unsigned int;
using uint64 = unsigned long long;

template <typename T>
constexpr bool kIsSigned = static_cast<T>(-1) < static_cast<T>(0);

constexpr int kThreads = CK_THREADS;  // of a block
constexpr uint32 kAllLanes = 0xFFFFFFFF;
constexpr uint32 kSectorBytes = 32;  // what memory moves at least

/// The unsigned type of a byte width: copies move bytes, so any data type of that width is served.
template <int width>
CK_DEVICE constexpr auto bytes_of() {
  if constexpr (width == 1) {
    return uint8{};
  } else if constexpr (width == 2) {
    return uint16{};
  } else if constexpr (width == 4) {
    return uint32{};
  } else if constexpr (width == 8) {
    return uint64{};
  } else {
    return uint4{};
  }
}
template <int width>
using Bytes = decltype(bytes_of<width>());

/// Calls act(k) for each k < kCount, without a loop in the machine code.
template <uint32 kCount, typename Act>
CK_DEVICE void unrolled(const Act& act) {
#pragma unroll
  for (uint32 k = 0; k < kCount; ++k) act(k);
}

/// An offset as the kernels compute it: modulo 2^32 or 2^64. The host chose 32 bits only when every
/// byte offset lies in [-2^31, 2^31), so sign extension gives back the exact value.
CK_DEVICE int64 signed_offset(uint32 offset) { return static_cast<int32>(offset); }
CK_DEVICE int64 signed_offset(uint64 offset) { return static_cast<int64>(offset); }

/// The address `offset` bytes from `base`.
template <typename T, typename O>
CK_DEVICE const T* at(const void* base, O offset) {
  return reinterpret_cast<const T*>(static_cast<const char*>(base) + signed_offset(offset));
}
template <typename T, typename O>
CK_DEVICE T* at(void* base, O offset) {
  return reinterpret_cast<T*>(static_cast<char*>(base) + signed_offset(offset));
}

}  // namespace ck
