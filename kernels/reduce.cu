// reduce: one of twelve functions of the elements of x along some of its axes, in one launch.
//
// Variants and macros: kernels/README.md. cudakern/operators/reduce/plan.py chooses.
// Numeric contract: elements are combined as reduce/tree.cuh says, by every variant. So a result's
// bits depend on its elements, their number, the types and the function alone.
// cudakern/operators/reference.md says which functions have the same bits on every device.
#include "reduce/columns.cuh"
#include "reduce/lanes.cuh"
#include "reduce/periods.cuh"
#include "reduce/rows.cuh"
#include "reduce/strided.cuh"
#include "reduce/tiles.cuh"

#if defined(CK_VARIANT_BLOCKS) && __CUDA_ARCH__ >= 1000 && CK_RESIDENT_BLOCKS > 3
// Compilers keep more in registers for these GPUs, and would move the rest to memory.
#undef CK_RESIDENT_BLOCKS
#define CK_RESIDENT_BLOCKS 3
#endif

namespace ck {

#if defined(CK_VARIANT_WARPS)
CK_KERNEL(RowArguments<CK_RANK> a) { reduce_rows_by_warps(a); }
#elif defined(CK_VARIANT_BLOCKS)
CK_KERNEL(RowArguments<CK_RANK> a) {
  CK_DYNAMIC_SHARED(shared);
  reduce_rows_by_blocks(a, shared);
}
#elif defined(CK_VARIANT_LANES)
CK_KERNEL(LaneArguments<CK_RANK> a) { reduce_rows_by_lanes(a); }
#elif defined(CK_VARIANT_TILES)
CK_KERNEL(TileArguments a) {
  CK_DYNAMIC_SHARED(shared);
  reduce_tiles(a, shared);
}
#elif defined(CK_VARIANT_COLUMNS)
CK_KERNEL(ColumnArguments a) {
  CK_DYNAMIC_SHARED(shared);
  reduce_columns(a, shared);
}
#elif defined(CK_VARIANT_PERIODS)
CK_KERNEL(PeriodArguments a) {
  CK_DYNAMIC_SHARED(shared);
  reduce_periods(a, shared);
}
#elif defined(CK_VARIANT_STRIDED)
CK_KERNEL(StridedArguments a) {
  CK_DYNAMIC_SHARED(shared);
  reduce_strided(a, shared);
}
#endif

}  // namespace ck
