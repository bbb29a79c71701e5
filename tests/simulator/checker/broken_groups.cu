// Kernels that misuse collective operations: groups, clusters, CUB, masks, named barriers.
// clang-format off
//// barrier_divergence: tile_that_is_synchronized_by_half_of_it(ramp(64), zeros(64))
#include <cooperative_groups.h>
  const auto tile =
      cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
  if (tile.thread_rank() < 16) tile.sync();  // fault
  out[threadIdx.x] = tile.shfl(x[threadIdx.x], 3);  // fault
//// barrier_divergence: coalesced_group_used_by_some_of_its_threads(ramp(32), zeros(32), block=32)
#include <cooperative_groups.h>
  if (threadIdx.x % 2 == 0) {
    const auto active = cooperative_groups::coalesced_threads();
    if (active.thread_rank() < 5) {
      out[threadIdx.x] = active.shfl(x[threadIdx.x], 0);  // fault
    }
  }
//// deadlock: grid_that_one_block_does_not_synchronize(ramp(32), zeros(96), grid=3, block=32,
////     also="barrier_divergence", cooperative=True)
#include <cooperative_groups.h>
  if (blockIdx.x == 1) return;
  out[blockIdx.x * blockDim.x + threadIdx.x] = x[threadIdx.x];
  cooperative_groups::this_grid().sync();  // fault
//// race: grid_that_the_first_threads_do_not_synchronize(ramp(32), zeros(96), grid=3, block=32,
////     also="barrier_divergence deadlock", cooperative=True)
#include <cooperative_groups.h>
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = x[threadIdx.x];  // fault
  if (threadIdx.x != 0) cooperative_groups::this_grid().sync();
  out[95 - i] += 1;  // fault
//// barrier_divergence: block_that_half_of_it_synchronizes(ramp(64), zeros(64), strict=True)
#include <cooperative_groups.h>
  if (threadIdx.x < 32) cooperative_groups::this_thread_block().sync();  // fault
  else out[threadIdx.x] = x[threadIdx.x];
//// race: cluster_read_without_its_barrier(ramp(64), zeros(64), grid=2, block=32,
////     also="uninitialized", FIRST="x[i]; __syncthreads();", PLACE="31 - t",
////     TOUCH="out[i] = other", LAST="")
//// race: cluster_written_before_its_other_block_is_ready(ramp(64), zeros(64), grid=2, block=32,
////     FIRST="0;", PLACE="t", TOUCH="other = x[i]", LAST="out[i] = s[31 - t];")
//// out_of_bounds: cluster_written_past_the_end(ramp(64), zeros(64), grid=2, block=32,
////     FIRST="0; cluster.sync();", PLACE="t + 1", TOUCH="other = x[i]", LAST="out[i] = s[t];")
#include <cooperative_groups.h>
extern "C" __global__ void __cluster_dims__(2, 1, 1) k(const int* x, int* out) {
  __shared__ int s[32];
  const auto cluster = cooperative_groups::this_cluster();
  const int t = threadIdx.x, rank = cluster.block_rank(), i = 32 * rank + t;
  s[t] = FIRST  // fault
  int& other = cluster.map_shared_rank(s, 1 - rank)[PLACE];
  TOUCH;  // fault
  cluster.sync();
  LAST
}
//// race: cluster_read_without_a_barrier_at_its_end(ramp(64), zeros(64), grid=4, block=16,
////     BEFORE="", AFTER="")
//// race: cluster_read_without_a_barrier_of_the_readers(ramp(64), zeros(64), grid=4, block=16,
////     BEFORE="cluster.barrier_arrive();", AFTER="cluster.barrier_wait();")
//// race: cluster_read_before_a_barrier_of_the_block(ramp(64), zeros(64), grid=4, block=16,
////     BEFORE="", AFTER="__syncthreads(); out[t] += 0;")
#include <cooperative_groups.h>
extern "C" __global__ void __cluster_dims__(4, 1, 1) k(const int* x, int* out) {
  __shared__ int s[16];
  const auto cluster = cooperative_groups::this_cluster();
  const int rank = cluster.block_rank(), t = 16 * rank + threadIdx.x;
  s[threadIdx.x] = x[t];
  cluster.sync(); BEFORE
  out[t] = cluster.map_shared_rank(s, (rank + 1) % 4)[threadIdx.x];  // fault
  AFTER
}
//// race: cluster_counted_up_by_what_comes_last(ramp(64), zeros(64), grid=2, block=32,
////     LAST="if (rank == 0) atomicAdd(cluster.map_shared_rank(s, 1), 1);  // fault")
//// race: cluster_written_by_what_comes_last(ramp(64), zeros(64), grid=2, block=32,
////     LAST="if (rank == 0) cluster.map_shared_rank(s, 1)[t] = 1;  // fault")
#include <cooperative_groups.h>
extern "C" __global__ void __cluster_dims__(2, 1, 1) k(const int* x, int* out) {
  __shared__ int s[32];
  const auto cluster = cooperative_groups::this_cluster();
  const int t = threadIdx.x, rank = cluster.block_rank();
  s[t] = x[32 * rank + t];
  cluster.sync();
  out[32 * rank + t] = s[t];
  cluster.sync();
  LAST
}
//// race: cub_block_reduce_twice_without_a_barrier(ramp(128), zeros(1), block=128, array="storage")
#include <cub/block/block_reduce.cuh>
  using Reduce = cub::BlockReduce<int, 128>;
  __shared__ typename Reduce::TempStorage storage;
  const int v = x[threadIdx.x];
  const int sum = Reduce(storage).Sum(v);  // fault
  const int most = Reduce(storage).Reduce(v, [](int a, int b) { return a > b ? a : b; });  // fault
  if (threadIdx.x == 0) *out = sum - most;
//// race: cub_block_scan_twice_without_a_barrier(ramp(128), zeros(128), block=128, array="storage")
#include <cub/block/block_scan.cuh>
  using Scan = cub::BlockScan<int, 128, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Scan::TempStorage storage;
  int first, second;
  Scan(storage).ExclusiveSum(x[threadIdx.x], first);  // fault
  Scan(storage).InclusiveSum(first, second);  // fault
  out[threadIdx.x] = second;
//// race: cub_storage_shared_by_warps(ramp(128)[::-1].copy(), zeros(128), array="storage")
#include <cub/warp/warp_merge_sort.cuh>
  using Sort = cub::WarpMergeSort<int, 2>;
  __shared__ typename Sort::TempStorage storage;
  int keys[2] = {x[2 * threadIdx.x], x[2 * threadIdx.x + 1]};
  Sort(storage).Sort(keys, [](int a, int b) { return a < b; });  // fault
  out[2 * threadIdx.x] = keys[0];
  out[2 * threadIdx.x + 1] = keys[1];
//// race: barrier_of_libcudacxx_arrived_at_too_early(ramp(64), zeros(64), array="s",
////     also="uninitialized")
#include <cuda/barrier>
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ int s[64];
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  auto token = bar.arrive();
  s[threadIdx.x] = x[threadIdx.x];  // fault
  bar.wait(static_cast<decltype(token)&&>(token));
  out[threadIdx.x] = s[63 - threadIdx.x];  // fault
//// barrier_divergence: named_barrier_with_a_count_that_others_do_not_have(ramp(96), zeros(96),
////     block=96, also="misuse", OTHER="1, 96")
//// barrier_divergence: named_barrier_of_the_wrong_number(ramp(64), zeros(64), also="deadlock",
////     OTHER="2, 64")
  if (threadIdx.x < 32) {
    asm volatile("bar.sync 1, 64;" ::: "memory");  // fault
  } else {
    asm volatile("bar.sync OTHER;" ::: "memory");  // fault
  }
  out[threadIdx.x] = x[threadIdx.x];
//// barrier_divergence: halves_of_a_warp_at_two_shuffles_that_another_warp_waits_for(ramp(64),
////     zeros(64))
  if (t >= 32) {
    while (((volatile int*)out)[0] == 0) {}
  } else if (t < 16) {
    out[t] = __shfl_xor_sync(~0u, x[t], 1);  // fault
  } else {
    out[t] = __shfl_down_sync(~0u, x[t], 1);  // fault
  }
//// race: named_barrier_for_too_few_warps(ramp(96), zeros(96), block=96, array="s",
////     also="uninitialized barrier_divergence")
  // Two of three warps complete the barrier, so one of them reads before the third one wrote.
  __shared__ int s[96];
  s[t] = x[t];  // fault
  asm volatile("bar.sync 1, 64;" ::: "memory");  // fault
  out[t] = s[(t + 32) % 96];  // fault
//// race: named_barrier_arrived_at_by_the_reader(ramp(64), zeros(64), array="s",
////     also="uninitialized")
  __shared__ int s[32];
  const int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    s[lane] = x[lane];  // fault
    asm volatile("bar.sync 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.arrive 1, 64;" ::: "memory");
    out[lane] = s[31 - lane];  // fault
  }
//// barrier_divergence: shuffle_that_names_an_exited_lane(ramp(32), zeros(32), block=32,
////     AWAY="lane == 7", CALL="__shfl_down_sync(~0u, v, 1)")
//// barrier_divergence: match_that_names_an_exited_lane(ramp(32), zeros(32), block=32,
////     AWAY="lane == 7", CALL="__match_any_sync(~0u, v)")
//// barrier_divergence: reduction_that_names_an_exited_lane(ramp(32), zeros(32), block=32,
////     AWAY="lane == 7", CALL="__reduce_max_sync(~0u, v)")
//// barrier_divergence: vote_that_names_an_exited_lane(ramp(32), zeros(32), block=32,
////     AWAY="lane == 7", CALL="__ballot_sync(0xf0u, v > 3)")
//// barrier_divergence: shuffle_by_a_lane_outside_of_the_mask(ramp(32), zeros(32), block=32,
////     AWAY="false", CALL="__shfl_xor_sync(0xffffu, v, 1)")
//// barrier_divergence: masks_that_do_not_agree(ramp(32), zeros(32), block=32,
////     AWAY="false", CALL="__shfl_sync(lane < 31 ? ~0u : ~1u, v, 3)")
  const int lane = threadIdx.x, v = x[lane];
  if (AWAY) return;
  out[lane] = CALL;  // fault
