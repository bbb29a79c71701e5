// Gather along one axis: out[o, i, c] = x[o, position(indices[i]), c].
//
// Variants and macros: kernels/README.md. cudakern/operators/gather/plan.py chooses.
// Numeric contract: bytes are copied; NaN payloads, signed zeros and subnormals pass unchanged.
#include "common/indexing.cuh"
#include "common/memory.cuh"
#include "common/row_copy.cuh"
#include "common/splice.cuh"
#include "common/strided_gather.cuh"
#include "gather/last_axis.cuh"
#include "gather/windows.cuh"

namespace ck {

using Index = CK_INDEX_T;
using Offset = CK_OFFSET_T;
using Extent = Wide<Index, Offset>;
constexpr IndexMode kMode = IndexMode::CK_MODE;

/// x (outer, extent, row), indices (count), out (outer, count, row), out packed. Strides in bytes.
struct StreamArguments {
  const void* x;
  const void* indices;
  void* out;
  StreamShape<Offset> shape;
  Offset outer_stride;
  Offset axis_stride;
  Offset index_stride;
  Offset vector_indices;  ///< scalars: 1 if indices can be read as vectors
  Divisor<Offset> count;
  Divisor<Extent> extent;
  FillPattern fill;
};

/// The rows policy of row_copy.cuh. Output row r is row r % count of plane r / count.
template <bool kPlanes>
struct GatherRows {
  static constexpr bool kFills = kMode == IndexMode::kFill;
  static constexpr bool kStaged = false;
  const StreamArguments& a;

  CK_DEVICE const void* x() const { return a.x; }
  CK_DEVICE const FillPattern& fill() const { return a.fill; }

  /// An index and the place in x of the plane that it is for.
  struct Pick {
    Offset plane;
    Index index;
  };
  CK_DEVICE Pick read_index(Offset row) const {
    const Division<Offset> part = kPlanes ? divide(row, a.count) : Division<Offset>{0, row};
    return {part.quotient * a.outer_stride,
            load(at<Index>(a.indices, part.remainder * a.index_stride))};
  }
  CK_DEVICE Position<Offset> place_of(const Pick& pick) const {
    const Position<Offset> position = resolve_index<kMode, Offset>(pick.index, a.extent);
    return {pick.plane + position.value * a.axis_stride, position.valid};
  }
  CK_DEVICE Position<Offset> locate(Offset row) const { return place_of(read_index(row)); }
};

/// The same for a tile whose indices the block resolves once.
struct StagedGatherRows : GatherRows<true> {
  static constexpr bool kStaged = true;
  static constexpr uint32 kReads = 2;  // of a thread that are in flight
  PlaceTable<kFills, Offset> table;

  CK_DEVICE Position<Offset> locate(Offset row) const { return table.locate(row); }

  CK_DEVICE void stage(Offset row, uint32 count) {
    __syncthreads();  // the table may still be in use
    table.first = row;
    for (uint32 begin = threadIdx.x; begin < count; begin += kThreads * kReads) {
      Pick pick[kReads];
      unrolled<kReads>([&](uint32 r) {
        if (begin + r * kThreads < count) {
          pick[r] = read_index(row + begin + r * kThreads);
        }
      });
      unrolled<kReads>([&](uint32 r) {
        if (begin + r * kThreads < count) {
          table.put(row + begin + r * kThreads, place_of(pick[r]));
        }
      });
    }
    __syncthreads();
  }
};

/// The elements of one output vector, whose indices are contiguous: all indices first, then all
/// elements, so that as many reads as there are elements are in flight.
template <typename V, typename T>
CK_DEVICE Packed<V, T> pick_elements(const StreamArguments& a, Offset first) {
  constexpr int kPieces = Packed<V, T>::kPieces;
  constexpr uint32 kIndexBytes = sizeof(Index);
  Index index[kPieces];
  load_indices<kPieces>(index, at<Index>(a.indices, first * kIndexBytes), kIndexBytes, kPieces,
                        a.vector_indices != 0);
  const GatherRows<false> rows{a};
  Packed<V, T> result;
  unrolled<kPieces>([&](int k) {
    result.piece[k] = read_piece<T>(rows, rows.place_of({0, index[k]}), Offset{0});
  });
  return result;
}

#if defined(CK_VARIANT_ROWS) || defined(CK_VARIANT_PLANES)
#ifdef CK_VARIANT_PLANES
constexpr bool kPlanes = true;
#else
constexpr bool kPlanes = false;
#endif
CK_KERNEL(StreamArguments a) {
  GatherRows<kPlanes> rows{a};
  copy_rows(rows, a.out, a.shape);
}
#elif defined(CK_VARIANT_PACKED)
CK_KERNEL(StreamArguments a) {
  CK_DYNAMIC_SHARED(shared);
  StagedGatherRows rows{{a}, {reinterpret_cast<Offset*>(shared), 0}};
  copy_pieces<Bytes<CK_WIDTH>>(rows, a.out, a.shape);
}
#elif defined(CK_VARIANT_SPLICED)
CK_KERNEL(SplicedArguments<StreamArguments> a) {
  CK_DYNAMIC_SHARED(shared);
  GatherRows<true> rows{a.stream};
  splice_rows<Bytes<CK_WIDTH>>(rows, a.stream.out, a.stream.shape, a.splice, shared);
}
#elif defined(CK_VARIANT_SCALARS)
CK_KERNEL(StreamArguments a) {
  using Piece = Bytes<CK_WIDTH>;
  using Vector = Bytes<CK_OUTPUTS * CK_WIDTH>;
  GatherRows<false> rows{a};
  copy_pieces<Vector, Piece>(rows, a.out, a.shape,
                             [&](Offset first) { return pick_elements<Vector, Piece>(a, first); });
}
#elif defined(CK_VARIANT_LAST_AXIS)
CK_KERNEL(LastAxisArguments<Extent> a) {
  CK_DYNAMIC_SHARED(shared);
  gather_last_axis<kMode, CK_STAGED, Bytes<CK_WIDTH>, Index>(a, shared);
}
#elif defined(CK_VARIANT_WINDOWS)
CK_KERNEL(WindowArguments<Extent> a) {
  CK_DYNAMIC_SHARED(shared);
  gather_windows<kMode, CK_LONG, Bytes<CK_WIDTH>, Index>(a, shared);
}
#elif defined(CK_VARIANT_STRIDED)
CK_KERNEL(StridedArguments<Offset, Extent, CK_RANK, 1> a) {
  gather_strided<kMode, Bytes<CK_WIDTH>, Index>(a);
}
#elif defined(CK_VARIANT_CHECK)
CK_KERNEL(CheckArguments<CK_RANK, 1> a) { check_indices<Index>(a); }
#endif

}  // namespace ck
