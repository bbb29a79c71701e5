// Gather by index tuples: out[b, i, c] = x[b, position(indices[b, i, 0]), ..., c].
//
// Variants and macros: kernels/README.md. cudakern/operators/gather_nd/plan.py chooses.
// Numeric contract: bytes are copied; NaN payloads, signed zeros and subnormals pass unchanged.
#include "common/indexing.cuh"
#include "common/memory.cuh"
#include "common/row_copy.cuh"
#include "common/splice.cuh"
#include "common/strided_gather.cuh"

namespace ck {

using Index = CK_INDEX_T;
using Offset = CK_OFFSET_T;
using Extent = Wide<Index, Offset>;
constexpr IndexMode kMode = IndexMode::CK_MODE;
constexpr int kMaxTuple = CK_MAX_TUPLE;

/// x (batch, extents..., row), indices (batch, count, tuple), out (batch, count, row), out packed.
/// Strides in bytes.
struct StreamArguments {
  const void* x;
  const void* indices;
  void* out;
  FillPattern fill;
  Divisor<Extent> extent[kMaxTuple];
  Offset axis_stride[kMaxTuple];  ///< of x
  StreamShape<Offset> shape;
  Offset batch_stride;        ///< of x
  Offset index_batch_stride;  ///< of indices, as the next two
  Offset index_stride;
  Offset component_stride;
  Divisor<Offset> count;
  Divisor<uint32> tuple;
  uint32 turn;         ///< tuples that are staged at a time
  uint32 tuples_at;    ///< bytes of shared memory before the staged tuples
  uint32 table_bytes;  ///< bytes of shared memory of the table of rows and the tuples
  uint32 unused;
};

/// The rows policy of row_copy.cuh: a table in shared memory has the place of each row of a tile.
struct TupleRows {
  static constexpr bool kFills = kMode == IndexMode::kFill;
  static constexpr bool kStaged = true;
  const StreamArguments& a;
  PlaceTable<kFills, Offset> table;
  Index* tuples;

  CK_DEVICE TupleRows(const StreamArguments& arguments, char* shared)
      : a(arguments),
        table{reinterpret_cast<Offset*>(shared), 0},
        tuples(reinterpret_cast<Index*>(shared + arguments.tuples_at)) {}

  CK_DEVICE const void* x() const { return a.x; }
  CK_DEVICE const FillPattern& fill() const { return a.fill; }
  CK_DEVICE Position<Offset> locate(Offset row) const { return table.locate(row); }

  /// Tuples lie an odd number of components apart: threads that walk along one tuple each then meet
  /// different banks.
  CK_DEVICE uint32 tuple_pitch() const { return a.tuple.value | 1; }

  /// Component k of the tuples that begin with that of `row`: where it is, and its place here.
  CK_DEVICE const Index* component(Offset row, uint32 k, uint32& slot) const {
    const Division<uint32> part = divide(k, a.tuple);
    const Division<Offset> batch = divide(row + part.quotient, a.count);
    slot = part.quotient * tuple_pitch() + part.remainder;
    return at<Index>(a.indices, batch.quotient * a.index_batch_stride +
                                    batch.remainder * a.index_stride +
                                    part.remainder * a.component_stride);
  }

  /// Four reads of a thread are in flight.
  CK_DEVICE void read_tuples(Offset row, uint32 count) {
    constexpr int kReads = 4;
    const uint32 components = count * a.tuple.value;
    for (uint32 first = threadIdx.x; first < components; first += kThreads * kReads) {
      uint32 slot[kReads];
      Index index[kReads];
#pragma unroll
      for (int r = 0; r < kReads; ++r) {
        const uint32 k = first + r * kThreads;
        if (k < components) index[r] = load(component(row, k, slot[r]));
      }
#pragma unroll
      for (int r = 0; r < kReads; ++r) {
        if (first + r * kThreads < components) tuples[slot[r]] = index[r];
      }
    }
  }

  CK_DEVICE Position<Offset> place_of(Offset row, const Index* tuple) const {
    Offset place = quotient(row, a.count) * a.batch_stride;
    bool valid = true;
#pragma unroll 1
    for (uint32 c = 0; c < a.tuple.value; ++c) {
      const Position<Offset> position = resolve_index<kMode, Offset>(tuple[c], a.extent[c]);
      place += position.value * a.axis_stride[c];
      valid &= position.valid;
    }
    return {place, valid};
  }

  CK_DEVICE void stage(Offset row, uint32 count) {
    table.first = row;
#pragma unroll 1
    for (uint32 begin = 0; begin < count; begin += a.turn) {
      const uint32 turn = count - begin < a.turn ? count - begin : a.turn;
      const Offset first = row + begin;
      __syncthreads();  // the tuples or the table may still be in use
      read_tuples(first, turn);
      __syncthreads();
      for (uint32 k = threadIdx.x; k < turn; k += kThreads) {
        table.put(first + k, place_of(first + k, tuples + k * tuple_pitch()));
      }
    }
    __syncthreads();
  }
};

#if defined(CK_VARIANT_ROWS)
CK_KERNEL(StreamArguments a) {
  CK_DYNAMIC_SHARED(shared);
  TupleRows rows(a, shared);
  copy_rows(rows, a.out, a.shape);
}
#elif defined(CK_VARIANT_PACKED)
CK_KERNEL(StreamArguments a) {
  CK_DYNAMIC_SHARED(shared);
  TupleRows rows(a, shared);
  copy_pieces<Bytes<CK_WIDTH>>(rows, a.out, a.shape);
}
#elif defined(CK_VARIANT_SPLICED)
CK_KERNEL(SplicedArguments<StreamArguments> a) {
  CK_DYNAMIC_SHARED(shared);
  TupleRows rows(a.stream, shared);
  splice_rows<Bytes<CK_WIDTH>>(rows, a.stream.out, a.stream.shape, a.splice,
                               shared + a.stream.table_bytes);
}
#elif defined(CK_VARIANT_STRIDED)
CK_KERNEL(StridedArguments<Offset, Extent, CK_RANK, kMaxTuple> a) {
  gather_strided<kMode, Bytes<CK_WIDTH>, Index>(a);
}
#elif defined(CK_VARIANT_CHECK)
CK_KERNEL(CheckArguments<CK_RANK, kMaxTuple> a) { check_indices<Index>(a); }
#endif

}  // namespace ck
