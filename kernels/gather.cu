// SPDX-License-Identifier: MIT
// Gather along one axis: out[o, i, c] = x[o, position(indices[i]), c].
//
// Variants, chosen by cudakern/operators/gather_plan.py: rows and planes move rows in 16-byte
// slots, spliced rows of 16 bytes and more on any alignment, scalars single elements and packed
// rows of less than 16 bytes (both with 16-byte stores), last_axis shares one index list among many
// rows, strided takes any layout, check looks for bad indices. Macros: CK_VARIANT_*, CK_ENTRY,
// CK_WIDTH, CK_INDEX_T, CK_MODE, CK_OFFSET_T, CK_RANK, CK_STAGED. Numeric contract: bytes are
// copied; NaN payloads, signed zeros and subnormals pass unchanged.
#include "common/division.cuh"
#include "common/indexing.cuh"
#include "common/launch.cuh"
#include "common/memory.cuh"
#include "common/row_copy.cuh"
#include "common/splice.cuh"
#include "common/strided_gather.cuh"
#include "common/types.cuh"

namespace ck {

/// x (outer, extent, row), indices (count), out (outer, count, row), out packed. Strides in bytes.
template <typename O, typename U>
struct StreamArguments {
  const void* x;
  const void* indices;
  void* out;
  StreamShape<O> shape;
  O outer_stride;
  O axis_stride;
  O index_stride;
  O vector_indices;  ///< scalars: 1 if indices can be read as vectors
  Divisor<O> count;
  Divisor<U> extent;
  FillPattern fill;
};

template <typename O, typename U>
struct SplicedArguments {
  StreamArguments<O, U> stream;
  SpliceShape splice;
};

/// The rows policy of row_copy.cuh. Output row r is row r % count of plane r / count.
template <IndexMode mode, bool kPlanes, typename I, typename O, typename U>
struct GatherRows {
  static constexpr bool kFills = mode == IndexMode::kFill;
  static constexpr bool kStaged = false;
  const StreamArguments<O, U>& a;

  __device__ __forceinline__ const void* x() const { return a.x; }
  __device__ __forceinline__ const FillPattern& fill() const { return a.fill; }

  __device__ __forceinline__ Position<O> locate(O row) const {
    const Division<O> plane = kPlanes ? divide(row, a.count) : Division<O>{O{0}, row};
    const I index = load(at<I>(a.indices, static_cast<O>(plane.remainder * a.index_stride)));
    const Position<O> position = resolve_index<mode, O>(index, a.extent);
    return {static_cast<O>(plane.quotient * a.outer_stride + position.value * a.axis_stride),
            position.valid};
  }
};

/// The elements of one output vector, whose indices are contiguous: all indices first, then all
/// elements, so that as many reads as there are elements are in flight.
template <IndexMode mode, typename T, typename I, typename O, typename U>
__device__ __forceinline__ Packed<uint4, T> pick_elements(const StreamArguments<O, U>& a, O first) {
  constexpr int kPieces = Packed<uint4, T>::kPieces;
  constexpr int kIndexBytes = kPieces * sizeof(I) < 16 ? kPieces * sizeof(I) : 16;
  using IndexVector = Bytes<kIndexBytes>;
  using IndexGroup = Packed<IndexVector, I>;
  const I* const source = at<I>(a.indices, static_cast<O>(first * static_cast<O>(sizeof(I))));
  I index[kPieces];
#pragma unroll
  for (int k = 0; k < kPieces; k += IndexGroup::kPieces) {
    IndexGroup group;
    if (a.vector_indices != 0) {
      group.vector = load(reinterpret_cast<const IndexVector*>(source + k));
    } else {
#pragma unroll
      for (int j = 0; j < IndexGroup::kPieces; ++j) {
        group.piece[j] = load(source + k + j);
      }
    }
#pragma unroll
    for (int j = 0; j < IndexGroup::kPieces; ++j) {
      index[k + j] = group.piece[j];
    }
  }
  const GatherRows<mode, false, I, O, U> rows{a};
  Packed<uint4, T> result;
#pragma unroll
  for (int k = 0; k < kPieces; ++k) {
    const Position<O> position = resolve_index<mode, O>(index[k], a.extent);
    const O offset = position.value * a.axis_stride;
    result.piece[k] = read_piece<T>(rows, Position<O>{offset, position.valid}, O{0});
  }
  return result;
}

constexpr uint32 kNoPosition = 0xFFFFFFFF;  // the table entry of an index to be filled

/// x (outer, extent), indices (count), out (outer, count), single elements. Strides in bytes. Block
/// (b, c) handles indices from b * chunk on, for bands c, c + gridDim.y, ... of `band` outer rows.
template <typename U>
struct LastAxisArguments {
  const void* x;
  const void* indices;
  void* out;
  uint64 outer;
  uint64 count;
  int64 x_outer_stride;
  int64 x_axis_stride;
  int64 index_stride;
  int64 out_outer_stride;
  Divisor<U> extent;
  FillPattern fill;
  uint32 chunk;  ///< a multiple of 4
  uint32 band;
  uint32 row_bytes;  ///< of a staged row of x
  uint32 unused;
};

/// Copies a row of x to `stage`, which starts as many bytes after a 16-byte boundary as the row
/// does.
__device__ __forceinline__ void stage_row(char* stage, const char* row, uint32 bytes) {
  const uint32 before = static_cast<uint32>(0 - reinterpret_cast<uint64>(row)) & 15;
  const uint32 head = before < bytes ? before : bytes;
  const uint32 vectors = (bytes - head) / 16;
#pragma unroll 4
  for (uint32 k = threadIdx.x; k < vectors; k += kThreads) {
    reinterpret_cast<uint4*>(stage + head)[k] =
        load(reinterpret_cast<const uint4*>(row + head) + k);
  }
  const uint32 edges = head + (bytes - head) % 16;  // at most 30 bytes beside the vectors
#pragma unroll 1
  for (uint32 k = threadIdx.x; k < edges; k += kThreads) {
    const uint32 byte = k < head ? k : k + vectors * 16;
    stage[byte] = load(row + byte);
  }
}

/// A block resolves its indices once, into shared memory, and applies them to row after row. A row
/// that fits is staged: read once, coalesced, and picked from in shared memory.
template <IndexMode mode, bool kStaged, typename T, typename I, typename U>
__device__ __forceinline__ void gather_last_axis(const LastAxisArguments<U>& a, char* shared) {
  uint32* const table = reinterpret_cast<uint32*>(shared);
  char* const stage = shared + a.chunk * sizeof(uint32);
  const uint64 first = static_cast<uint64>(blockIdx.x) * a.chunk;
  const uint64 left = a.count - first;
  const uint32 length = static_cast<uint32>(left < a.chunk ? left : a.chunk);
  for (uint32 j = threadIdx.x; j < length; j += kThreads) {
    const I index = load(at<I>(a.indices, (first + j) * static_cast<uint64>(a.index_stride)));
    const Position<U> position = resolve_index<mode, U>(index, a.extent);
    table[j] = position.valid ? static_cast<uint32>(position.value) : kNoPosition;
  }
  __syncthreads();
  for (uint64 begin = static_cast<uint64>(blockIdx.y) * a.band; begin < a.outer;
       begin += static_cast<uint64>(gridDim.y) * a.band) {
    const uint64 end = begin + a.band < a.outer ? begin + a.band : a.outer;
    for (uint64 outer = begin; outer < end; ++outer) {
      const char* source = at<char>(a.x, outer * static_cast<uint64>(a.x_outer_stride));
      T* const target = at<T>(a.out, outer * static_cast<uint64>(a.out_outer_stride)) + first;
      if constexpr (kStaged) {
        char* const staged = stage + (reinterpret_cast<uint64>(source) & 15);
        __syncthreads();  // the previous row may still be in use
        stage_row(staged, source, a.row_bytes);
        source = staged;
        __syncthreads();
      }
#pragma unroll 4
      for (uint32 j = threadIdx.x; j < length; j += kThreads) {
        const uint32 position = table[j];
        const bool fills = mode == IndexMode::kFill && position == kNoPosition;
        const int64 offset = (fills ? 0 : static_cast<int64>(position)) * a.x_axis_stride;
        const T* const element = reinterpret_cast<const T*>(source + offset);
        const T value = kStaged ? *element : load(element);
        store_streaming(target + j, fills ? fill_piece<T>(a.fill, 0) : value);
      }
    }
  }
}

using Index = CK_INDEX_T;
using Offset = CK_OFFSET_T;
using Extent = Wide<Index, Offset>;
constexpr IndexMode kMode = IndexMode::CK_MODE;

}  // namespace ck

#if defined(CK_VARIANT_ROWS) || defined(CK_VARIANT_PLANES)
#ifdef CK_VARIANT_PLANES
constexpr bool kPlanes = true;
#else
constexpr bool kPlanes = false;
#endif
CK_KERNEL CK_ENTRY(const __grid_constant__ ck::StreamArguments<ck::Offset, ck::Extent> a) {
  ck::GatherRows<ck::kMode, kPlanes, ck::Index, ck::Offset, ck::Extent> rows{a};
  ck::copy_rows(rows, a.out, a.shape);
}
#elif defined(CK_VARIANT_PACKED)
CK_KERNEL CK_ENTRY(const __grid_constant__ ck::StreamArguments<ck::Offset, ck::Extent> a) {
  using Piece = ck::Bytes<CK_WIDTH>;
  ck::GatherRows<ck::kMode, true, ck::Index, ck::Offset, ck::Extent> rows{a};
  ck::copy_pieces<Piece>(rows, a.out, a.shape, [&](ck::Offset first) {
    return ck::walk_rows<Piece>(rows, a.shape, first);
  });
}
#elif defined(CK_VARIANT_SPLICED)
CK_KERNEL CK_ENTRY(const __grid_constant__ ck::SplicedArguments<ck::Offset, ck::Extent> a) {
  CK_DYNAMIC_SHARED(shared);
  ck::GatherRows<ck::kMode, true, ck::Index, ck::Offset, ck::Extent> rows{a.stream};
  ck::splice_rows<ck::Bytes<CK_WIDTH> >(rows, a.stream.out, a.stream.shape, a.splice, shared);
}
#elif defined(CK_VARIANT_SCALARS)
CK_KERNEL CK_ENTRY(const __grid_constant__ ck::StreamArguments<ck::Offset, ck::Extent> a) {
  using Piece = ck::Bytes<CK_WIDTH>;
  ck::GatherRows<ck::kMode, false, ck::Index, ck::Offset, ck::Extent> rows{a};
  ck::copy_pieces<Piece>(rows, a.out, a.shape, [&](ck::Offset first) {
    return ck::pick_elements<ck::kMode, Piece, ck::Index>(a, first);
  });
}
#elif defined(CK_VARIANT_LAST_AXIS)
CK_KERNEL CK_ENTRY(const __grid_constant__ ck::LastAxisArguments<ck::Extent> a) {
  CK_DYNAMIC_SHARED(shared);
  ck::gather_last_axis<ck::kMode, CK_STAGED != 0, ck::Bytes<CK_WIDTH>, ck::Index>(a, shared);
}
#elif defined(CK_VARIANT_STRIDED)
CK_KERNEL CK_ENTRY(
    const __grid_constant__ ck::StridedArguments<ck::Offset, ck::Extent, CK_RANK, 1> a) {
  ck::gather_strided<ck::kMode, ck::Bytes<CK_WIDTH>, ck::Index>(a);
}
#elif defined(CK_VARIANT_CHECK)
CK_KERNEL CK_ENTRY(const __grid_constant__ ck::CheckArguments<CK_RANK, 1> a) {
  ck::check_indices<ck::Index>(a);
}
#endif
