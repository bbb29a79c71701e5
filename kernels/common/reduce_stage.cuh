// SPDX-License-Identifier: MIT
// Pieces of a contiguous x on their way into shared memory, as the aligned vectors that hold them:
// no sector is read twice but where two pieces meet.
#pragma once

#include "common/launch.cuh"
#include "common/memory.cuh"
#include "common/types.cuh"

namespace ck {

/// Vectors that each thread of a block reads at once.
constexpr int kStageLoads = 8;
constexpr uint32 kStageBytes = kStageLoads * kThreads * 16;

/// A contiguous array in bytes, counted from the 16-byte boundary at or before it.
template <typename O>
struct Extent {
  const char* base;
  uint32 begin;
  O end;

  __device__ __forceinline__ Extent(const void* x, O bytes) {
    begin = static_cast<uint32>(reinterpret_cast<uint64>(x)) % 16;
    base = static_cast<const char*>(x) - begin;
    end = bytes + begin;
  }
};

/// The first vector of the sector of a byte, and how far behind it the byte is.
template <typename O>
__device__ __forceinline__ O sector_of(O byte) {
  return byte / kSectorBytes * (kSectorBytes / 16);
}
template <typename O>
__device__ __forceinline__ uint32 phase_of(O byte) {
  return static_cast<uint32>(byte % kSectorBytes);
}

/// Copies kStageLoads ranges of vectors, of which thread t reads the t-th; `first_of(k)` and
/// `count_of(k)` say which those of range k are. Elements outside of the array are not read. By the
/// whole block.
template <typename In, typename O, typename First, typename Count>
__device__ __forceinline__ void stage(const Extent<O>& x, char* shared, const First& first_of,
                                      const Count& count_of) {
  const uint32 thread = threadIdx.x;
  const O inside = (x.begin + 15) / 16, whole = x.end / 16;  // vectors that lie in x as a whole
  uint4* const stage = reinterpret_cast<uint4*>(shared);
  uint4 value[kStageLoads];
#pragma unroll
  for (int k = 0; k < kStageLoads; ++k) {
    const O vector = first_of(k) + thread;
    const bool exists = thread < count_of(k) && vector >= inside && vector < whole;
    value[k] = load_if<true>(exists, reinterpret_cast<const uint4*>(x.base) + vector);
  }
#pragma unroll
  for (int k = 0; k < kStageLoads; ++k) {
    const O vector = first_of(k) + thread;
    if (thread < count_of(k) && vector >= inside && vector < whole) {
      stage[k * kThreads + thread] = value[k];
    }
  }
  // The first and the last vector may lie in x in part. Few ranges have one.
#pragma unroll 1
  for (int k = 0; k < kStageLoads; ++k) {
    const O vector = first_of(k) + thread;
    if (thread < count_of(k) && (vector < inside || vector >= whole)) {
#pragma unroll 1
      for (uint32 byte = 0; byte < 16; byte += sizeof(In)) {
        const O place = vector * 16 + byte;
        if (place >= x.begin && place < x.end) {
          *reinterpret_cast<In*>(shared + (k * kThreads + thread) * 16 + byte) =
              load_struct(reinterpret_cast<const In*>(x.base + place));
        }
      }
    }
  }
}

}  // namespace ck
