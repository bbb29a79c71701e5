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
#include "common/memory.cuh"
#include "common/row_copy.cuh"
#include "common/splice.cuh"
#include "common/strided_gather.cuh"
#include "common/types.cuh"
#include "gather/last_axis.cuh"

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

  CK_DEVICE const void* x() const { return a.x; }
  CK_DEVICE const FillPattern& fill() const { return a.fill; }

  /// The index of a row; `plane` becomes the place of its plane in x.
  CK_DEVICE I read_index(O row, O& plane) const {
    const Division<O> part = kPlanes ? divide(row, a.count) : Division<O>{O{0}, row};
    plane = static_cast<O>(part.quotient * a.outer_stride);
    return load(at<I>(a.indices, static_cast<O>(part.remainder * a.index_stride)));
  }
  CK_DEVICE Position<O> place_of(O plane, I index) const {
    const Position<O> position = resolve_index<mode, O>(index, a.extent);
    return {static_cast<O>(plane + position.value * a.axis_stride), position.valid};
  }
  CK_DEVICE Position<O> locate(O row) const {
    O plane;
    const I index = read_index(row, plane);
    return place_of(plane, index);
  }
};

/// The same for a tile whose indices the block resolves once.
template <IndexMode mode, typename I, typename O, typename U>
struct StagedGatherRows {
  static constexpr bool kFills = mode == IndexMode::kFill;
  static constexpr bool kStaged = true;
  static constexpr uint32 kReads = 2;  // of a thread that are in flight

  GatherRows<mode, true, I, O, U> rows;
  PlaceTable<kFills, O> table;

  CK_DEVICE const void* x() const { return rows.x(); }
  CK_DEVICE const FillPattern& fill() const { return rows.fill(); }
  CK_DEVICE Position<O> locate(O row) const { return table.locate(row); }

  CK_DEVICE void stage(O row, uint32 count) {
    __syncthreads();  // the table may still be in use
    table.first = row;
    for (uint32 begin = threadIdx.x; begin < count; begin += kThreads * kReads) {
      O plane[kReads];
      I index[kReads];
#pragma unroll
      for (uint32 r = 0; r < kReads; ++r) {
        if (begin + r * kThreads < count) {
          index[r] = rows.read_index(static_cast<O>(row + begin + r * kThreads), plane[r]);
        }
      }
#pragma unroll
      for (uint32 r = 0; r < kReads; ++r) {
        if (begin + r * kThreads < count) {
          table.put(static_cast<O>(row + begin + r * kThreads), rows.place_of(plane[r], index[r]));
        }
      }
    }
    __syncthreads();
  }
};

/// The elements of one output vector, whose indices are contiguous: all indices first, then all
/// elements, so that as many reads as there are elements are in flight.
template <IndexMode mode, typename T, typename I, typename O, typename U>
CK_DEVICE Packed<uint4, T> pick_elements(const StreamArguments<O, U>& a, O first) {
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

using Index = CK_INDEX_T;
using Offset = CK_OFFSET_T;
using Extent = Wide<Index, Offset>;
constexpr IndexMode kMode = IndexMode::CK_MODE;

#if defined(CK_VARIANT_ROWS) || defined(CK_VARIANT_PLANES)
#ifdef CK_VARIANT_PLANES
constexpr bool kPlanes = true;
#else
constexpr bool kPlanes = false;
#endif
CK_KERNEL(StreamArguments<Offset, Extent> a) {
  GatherRows<kMode, kPlanes, Index, Offset, Extent> rows{a};
  copy_rows(rows, a.out, a.shape);
}
#elif defined(CK_VARIANT_PACKED)
CK_KERNEL(StreamArguments<Offset, Extent> a) {
  CK_DYNAMIC_SHARED(shared);
  using Piece = Bytes<CK_WIDTH>;
  StagedGatherRows<kMode, Index, Offset, Extent> rows{{a}, {reinterpret_cast<Offset*>(shared), 0}};
  copy_pieces<Piece>(rows, a.out, a.shape,
                     [&](Offset first) { return walk_rows<Piece>(rows, a.shape, first); });
}
#elif defined(CK_VARIANT_SPLICED)
CK_KERNEL(SplicedArguments<Offset, Extent> a) {
  CK_DYNAMIC_SHARED(shared);
  GatherRows<kMode, true, Index, Offset, Extent> rows{a.stream};
  splice_rows<Bytes<CK_WIDTH> >(rows, a.stream.out, a.stream.shape, a.splice, shared);
}
#elif defined(CK_VARIANT_SCALARS)
CK_KERNEL(StreamArguments<Offset, Extent> a) {
  using Piece = Bytes<CK_WIDTH>;
  GatherRows<kMode, false, Index, Offset, Extent> rows{a};
  copy_pieces<Piece>(rows, a.out, a.shape,
                     [&](Offset first) { return pick_elements<kMode, Piece, Index>(a, first); });
}
#elif defined(CK_VARIANT_LAST_AXIS)
CK_KERNEL(LastAxisArguments<Extent> a) {
  CK_DYNAMIC_SHARED(shared);
#if CK_STAGED
  gather_staged<kMode, Bytes<CK_WIDTH>, Index>(a, shared);
#else
  gather_unstaged<kMode, Bytes<CK_WIDTH>, Index>(a, shared);
#endif
}
#elif defined(CK_VARIANT_STRIDED)
CK_KERNEL(StridedArguments<Offset, Extent, CK_RANK, 1> a) {
  gather_strided<kMode, Bytes<CK_WIDTH>, Index>(a);
}
#elif defined(CK_VARIANT_CHECK)
CK_KERNEL(CheckArguments<CK_RANK, 1> a) { check_indices<Index>(a); }
#endif

}  // namespace ck
