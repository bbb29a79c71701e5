// reduce: one of twelve functions of the elements of x along some of its axes, in one launch.
//
// Every element is read once. A thread takes elements into states in registers, lanes fold theirs
// by shuffles, warps through shared memory. Blocks that share a result put their states into the
// workspace, and the one that arrives last folds them (reduce/fold.cuh). Who folds what, and
// in which order, follows from shapes, strides, types and alignment alone: the same input gives the
// same bits, however many blocks run at once. There are no floating-point atomics.
// cudakern/operators/README.md says which functions have the same bits on every device.
//
// Variants and macros: kernels/README.md. cudakern/operators/reduce/plan.py chooses.
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
