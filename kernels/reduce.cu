// reduce: one of twelve functions of the elements of x along some of its axes, in one launch.
//
// Variants, macros and how states are folded: kernels/README.md. cudakern/operators/reduce/plan.py
// chooses.
// Numeric contract: who folds what, and in which order, follows from shapes, strides, types and
// alignment alone. The same input gives the same bits, however many blocks run at once: there are
// no floating-point atomics. cudakern/operators/reference.md says which functions have the same
// bits on every device.
#include "common/memory.cuh"
#include "reduce/columns.cuh"
#include "reduce/functions.cuh"
#include "reduce/grid.cuh"
#include "reduce/numbers.cuh"
#include "reduce/stream.cuh"
#include "reduce/tiles.cuh"

namespace ck {

#if defined(CK_VARIANT_STREAM) || defined(CK_VARIANT_WARPS)
CK_KERNEL(StreamArguments<CK_RANK> a) {
  CK_DYNAMIC_SHARED(shared);
#if defined(CK_VARIANT_STREAM)
  constexpr int kTeam = kThreads;
#else
  constexpr int kTeam = 32;
#endif
  reduce_stream<kTeam>(a, shared);
}
#elif defined(CK_VARIANT_TILES)
CK_KERNEL(TileArguments a) {
  CK_DYNAMIC_SHARED(shared);
  reduce_tiles<CK_WIDTH>(a, shared);
}
#elif defined(CK_VARIANT_COLUMNS)
CK_KERNEL(ColumnArguments a) {
  CK_DYNAMIC_SHARED(shared);
  reduce_columns<CK_WIDTH / sizeof(Input)>(a, shared);
}
#elif defined(CK_VARIANT_VECTORS) || defined(CK_VARIANT_STRIDED)
CK_KERNEL(GridArguments<CK_RANK> a) {
  CK_DYNAMIC_SHARED(shared);
  reduce_grid<CK_WIDTH>(a, shared);
}
#endif

}  // namespace ck
