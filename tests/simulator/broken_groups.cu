// Kernels of broken_groups.py, each under its row's name.
// clang-format off
//// tile_that_is_synchronized_by_half_of_it
#include <cooperative_groups.h>
extern "C" __global__ void k(const int* x, int* out) {
  const auto tile =
      cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
  if (tile.thread_rank() < 16) tile.sync();  // fault
  out[threadIdx.x] = tile.shfl(x[threadIdx.x], 3);  // fault
}
//// coalesced_group_used_by_some_of_its_threads
#include <cooperative_groups.h>
extern "C" __global__ void k(const int* x, int* out) {
  if (threadIdx.x % 2 == 0) {
    const auto active = cooperative_groups::coalesced_threads();
    if (active.thread_rank() < 5) {
      out[threadIdx.x] = active.shfl(x[threadIdx.x], 0);  // fault
    }
  }
}
//// grid_that_one_block_does_not_synchronize
#include <cooperative_groups.h>
extern "C" __global__ void k(const int* x, int* out) {
  if (blockIdx.x == 1) return;
  out[blockIdx.x * blockDim.x + threadIdx.x] = x[threadIdx.x];
  cooperative_groups::this_grid().sync();  // fault
}
//// grid_that_the_first_threads_do_not_synchronize
#include <cooperative_groups.h>
extern "C" __global__ void k(const int* x, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = x[threadIdx.x];  // fault
  if (threadIdx.x != 0) cooperative_groups::this_grid().sync();
  out[95 - i] += 1;  // fault
}
//// block_that_half_of_it_synchronizes
#include <cooperative_groups.h>
extern "C" __global__ void k(const int* x, int* out) {
  if (threadIdx.x < 32) cooperative_groups::this_thread_block().sync();  // fault
  else out[threadIdx.x] = x[threadIdx.x];
}
//// cluster_read_without_its_barrier
#include <cooperative_groups.h>
extern "C" __global__ void __cluster_dims__(2, 1, 1) k(const int* x, int* out) {
  __shared__ int s[32];
  const auto cluster = cooperative_groups::this_cluster();
  const int t = threadIdx.x, rank = cluster.block_rank();
  s[t] = x[32 * rank + t];  // fault
  __syncthreads();
  out[32 * rank + t] = cluster.map_shared_rank(s, 1 - rank)[31 - t];  // fault
  cluster.sync();
}
//// cluster_written_before_its_other_block_is_ready
#include <cooperative_groups.h>
extern "C" __global__ void __cluster_dims__(2, 1, 1) k(const int* x, int* out) {
  __shared__ int s[32];
  const auto cluster = cooperative_groups::this_cluster();
  const int t = threadIdx.x, rank = cluster.block_rank();
  s[t] = 0;  // fault
  cluster.map_shared_rank(s, 1 - rank)[t] = x[32 * rank + t];  // fault
  cluster.sync();
  out[32 * rank + t] = s[31 - t];
}
//// cluster_written_past_the_end
#include <cooperative_groups.h>
extern "C" __global__ void __cluster_dims__(2, 1, 1) k(const int* x, int* out) {
  __shared__ int s[32];
  const auto cluster = cooperative_groups::this_cluster();
  const int t = threadIdx.x, rank = cluster.block_rank();
  s[t] = 0;
  cluster.sync();
  cluster.map_shared_rank(s, 1 - rank)[t + 1] = x[32 * rank + t];  // fault
  cluster.sync();
  out[32 * rank + t] = s[t];
}
//// cub_block_reduce_twice_without_a_barrier
#include <cub/block/block_reduce.cuh>
extern "C" __global__ void k(const int* x, int* out) {
  using Reduce = cub::BlockReduce<int, 128>;
  __shared__ typename Reduce::TempStorage storage;
  const int v = x[threadIdx.x];
  const int sum = Reduce(storage).Sum(v);  // fault
  const int most = Reduce(storage).Reduce(v, [](int a, int b) { return a > b ? a : b; });  // fault
  if (threadIdx.x == 0) *out = sum - most;
}
//// cub_block_scan_twice_without_a_barrier
#include <cub/block/block_scan.cuh>
extern "C" __global__ void k(const int* x, int* out) {
  using Scan = cub::BlockScan<int, 128, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Scan::TempStorage storage;
  int first, second;
  Scan(storage).ExclusiveSum(x[threadIdx.x], first);  // fault
  Scan(storage).InclusiveSum(first, second);  // fault
  out[threadIdx.x] = second;
}
//// cub_storage_shared_by_warps
#include <cub/warp/warp_merge_sort.cuh>
extern "C" __global__ void k(const int* x, int* out) {
  using Sort = cub::WarpMergeSort<int, 2>;
  __shared__ typename Sort::TempStorage storage;
  int keys[2] = {x[2 * threadIdx.x], x[2 * threadIdx.x + 1]};
  Sort(storage).Sort(keys, [](int a, int b) { return a < b; });  // fault
  out[2 * threadIdx.x] = keys[0];
  out[2 * threadIdx.x + 1] = keys[1];
}
//// barrier_of_libcudacxx_arrived_at_too_early
#include <cuda/barrier>
#pragma nv_diag_suppress static_var_with_dynamic_init
extern "C" __global__ void k(const int* x, int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ int s[64];
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  auto token = bar.arrive();
  s[threadIdx.x] = x[threadIdx.x];  // fault
  bar.wait(static_cast<decltype(token)&&>(token));
  out[threadIdx.x] = s[63 - threadIdx.x];  // fault
}
//// named_barrier_with_a_count_that_others_do_not_have
extern "C" __global__ void k(const int* x, int* out) {
  if (threadIdx.x < 32) {
    asm volatile("bar.sync 1, 64;" ::: "memory");  // fault
  } else {
    asm volatile("bar.sync 1, 96;" ::: "memory");  // fault
  }
  out[threadIdx.x] = x[threadIdx.x];
}
//// halves_of_a_warp_at_two_shuffles_that_another_warp_waits_for
extern "C" __global__ void k(const int* x, int* out) {
  const int t = threadIdx.x;
  if (t >= 32) {
    while (((volatile int*)out)[0] == 0) {}
  } else if (t < 16) {
    out[t] = __shfl_xor_sync(~0u, x[t], 1);  // fault
  } else {
    out[t] = __shfl_down_sync(~0u, x[t], 1);  // fault
  }
}
//// named_barrier_of_the_wrong_number
extern "C" __global__ void k(const int* x, int* out) {
  if (threadIdx.x < 32) {
    asm volatile("bar.sync 1, 64;" ::: "memory");  // fault
  } else {
    asm volatile("bar.sync 2, 64;" ::: "memory");  // fault
  }
  out[threadIdx.x] = x[threadIdx.x];
}
//// named_barrier_for_too_few_warps
// Two of three warps complete the barrier, so one of them reads before the third one wrote.
extern "C" __global__ void k(const int* x, int* out) {
  __shared__ int s[96];
  const int t = threadIdx.x;
  s[t] = x[t];  // fault
  asm volatile("bar.sync 1, 64;" ::: "memory");  // fault
  out[t] = s[(t + 32) % 96];  // fault
}
//// named_barrier_arrived_at_by_the_reader
extern "C" __global__ void k(const int* x, int* out) {
  __shared__ int s[32];
  const int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    s[lane] = x[lane];  // fault
    asm volatile("bar.sync 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.arrive 1, 64;" ::: "memory");
    out[lane] = s[31 - lane];  // fault
  }
}
