// SPDX-License-Identifier: MIT
// A piece of a contiguous x on its way into shared memory, as the aligned vectors that hold it: no
// sector is read twice but where two pieces meet.
#pragma once

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

  CK_DEVICE Extent(const void* x, O bytes) {
    begin = static_cast<uint32>(reinterpret_cast<uint64>(x)) % 16;
    base = static_cast<const char*>(x) - begin;
    end = bytes + begin;
  }
};

/// How far a byte lies behind the start of its sector.
template <typename O>
CK_DEVICE uint32 phase_of(O byte) {
  return static_cast<uint32>(byte % kSectorBytes);
}

/// Vectors that a stage holds of a range: from the first of a sector on, as many as there are, of
/// which those in [from, to) lie in x as a whole.
template <typename O>
struct StageRange {
  O first;
  uint32 count;
  uint32 from;
  uint32 to;

  CK_DEVICE StageRange(const Extent<O>& x, O begin, uint32 bytes) {
    first = begin / kSectorBytes * (kSectorBytes / 16);
    count = bytes == 0 ? 0 : (phase_of(begin) + bytes + 15) / 16;
    const O inside = (x.begin + 15) / 16, whole = x.end / 16;
    from = inside > first ? static_cast<uint32>(inside - first) : 0;
    const O left = whole > first ? whole - first : 0;
    to = left < count ? static_cast<uint32>(left) : count;
  }
};

/// Copies the elements of a range's vectors that lie in x in part.
template <typename In, typename O>
CK_DEVICE void stage_parts(const Extent<O>& x, const StageRange<O>& range, char* shared,
                           uint32 vector) {
  if (vector >= range.count || (vector >= range.from && vector < range.to)) {
    return;
  }
#pragma unroll 1
  for (uint32 byte = 0; byte < 16; byte += sizeof(In)) {
    const O place = (range.first + vector) * 16 + byte;
    if (place >= x.begin && place < x.end) {
      *reinterpret_cast<In*>(shared + vector * 16 + byte) =
          load_struct(reinterpret_cast<const In*>(x.base + place));
    }
  }
}

/// Copies `bytes` bytes from `begin` on, of which the first comes to its place in a sector; at most
/// kStageBytes with what is in front of it. By the whole block.
template <typename In, typename O>
CK_DEVICE void stage_run(const Extent<O>& x, O begin, uint32 bytes, char* shared) {
  const StageRange<O> range(x, begin, bytes);
  const uint4* const source = reinterpret_cast<const uint4*>(x.base) + range.first;
  uint4* const stage = reinterpret_cast<uint4*>(shared);
  uint4 value[kStageLoads];
#pragma unroll
  for (uint32 k = 0; k < kStageLoads; ++k) {
    const uint32 vector = k * kThreads + threadIdx.x;
    value[k] = load_if<true>(vector >= range.from && vector < range.to, source + vector);
  }
#pragma unroll
  for (uint32 k = 0; k < kStageLoads; ++k) {
    stage[k * kThreads + threadIdx.x] = value[k];
  }
#pragma unroll 1
  for (uint32 k = 0; k < kStageLoads; ++k) {
    stage_parts<In>(x, range, shared, k * kThreads + threadIdx.x);
  }
}

}  // namespace ck
