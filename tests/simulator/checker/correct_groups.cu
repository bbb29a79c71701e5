// Correct kernels with cooperative groups.
// clang-format off
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
//// group_of_the_block(ints(rng, (2, 96)), poison((2, 96), np.int32), grid=2, block=(32, 3))
////     -> x, _: {1: x[:, ::-1] + np.arange(96, dtype=np.int32) // 32}
  __shared__ int s[96];
  const cg::thread_block block = cg::this_thread_block();
  const int i = block.group_index().x * block.num_threads() + block.thread_rank();
  s[block.thread_rank()] = x[i];
  block.sync();
  out[i] = s[block.num_threads() - 1 - block.thread_rank()] + block.thread_index().y;
//// tiles_of_eight(ints(rng, 64), poison(64, np.int32), block=64)
////     -> x, _: {1: tile_sums(x.reshape(8, 8))}
  const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int sum = x[threadIdx.x];
  for (int d = tile.size() / 2; d > 0; d /= 2) sum += tile.shfl_down(sum, d);
  sum = tile.shfl(sum, 0);
  const int positive = __popc(tile.ballot(x[threadIdx.x] > 0));
  tile.sync();
  out[threadIdx.x] = sum * 100 + positive * 10 + tile.meta_group_rank() % 10;
//// threads_that_came_together(ints(rng, 32), np.zeros(32, np.int32), np.zeros(1, np.int32),
////     block=32) -> x, *_: {1: np.concatenate([x[x > 0], np.zeros((x <= 0).sum(), np.int32)]), 2:
////     np.array([(x > 0).sum()], np.int32)}
(const int* x, int* out, int* count)
  const int v = x[threadIdx.x];
  if (v > 0) {
    const cg::coalesced_group active = cg::coalesced_threads();
    int first;
    if (active.thread_rank() == 0) first = atomicAdd(count, (int)active.size());
    out[active.shfl(first, 0) + active.thread_rank()] = v;
  }
//// reduction_and_scan_of_a_tile(ints(rng, 64), poison(64, np.int32), block=64)
////     -> x, _: {1: largest_and_before(x.reshape(2, 32))}
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const int v = x[threadIdx.x];
  const int largest = cg::reduce(warp, v, cg::greater<int>());
  const int before = cg::exclusive_scan(warp, v, cg::plus<int>());
  out[threadIdx.x] = largest * 10000 + before;
//// groups_by_label(ints(rng, 64), poison(64, np.int32), block=64)
////     -> x, _: {1: np.concatenate([[row[row & 3 == v & 3].sum(dtype=np.int32) for v in row] for
////     row in x.reshape(2, 32)])}
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const int v = x[threadIdx.x];
  const auto peers = cg::labeled_partition(warp, v & 3);
  out[threadIdx.x] = cg::reduce(peers, v, cg::plus<int>());
//// group_of_the_grid(ints(rng, 128), poison(128, np.int32), poison(128, np.int32), grid=4,
////     block=32, cooperative=True) -> x, *_: {1: 2 * x + 1, 2: 2 * x[::-1]}
(const int* x, int* between, int* out)
  const cg::grid_group grid = cg::this_grid();
  const unsigned long long i = grid.thread_rank(), n = grid.size();
  between[i] = 2 * x[i];
  grid.sync();
  out[i] = between[n - 1 - i];
  grid.sync();
  between[i] = out[n - 1 - i] + 1;
//// cluster_that_ends_together(ints(rng, 64), poison(64, np.int32), grid=4, block=16,
////     AFTER="cluster.sync();") -> x, _: {1: np.roll(x.reshape(4, 16), -1, 0).ravel()}
//// cluster_that_arrives_and_waits_at_its_end(ints(rng, 64), poison(64, np.int32), grid=4, block=16,
////     AFTER="auto token = cluster.barrier_arrive(); out[t] *= 1; cluster.barrier_wait(static_cast<decltype(token)&&>(token));")
////     -> x, _: {1: np.roll(x.reshape(4, 16), -1, 0).ravel()}
//// cluster_whose_first_threads_meet_last(ints(rng, 64), poison(64, np.int32), grid=4, block=16,
////     AFTER="if (threadIdx.x > 8) return; cluster.sync();", strict=False)
////     -> x, _: {1: np.roll(x.reshape(4, 16), -1, 0).ravel()}
extern "C" __global__ void __cluster_dims__(4, 1, 1) k(const int* x, int* out) {
  __shared__ int s[16];
  const auto cluster = cg::this_cluster();
  const int rank = cluster.block_rank(), t = 16 * rank + threadIdx.x;
  s[threadIdx.x] = x[t];
  cluster.sync();
  out[t] = cluster.map_shared_rank(s, (rank + 1) % 4)[threadIdx.x];
  AFTER
}
