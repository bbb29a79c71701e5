// Correct kernels with CUB's collectives of blocks and warps.
// clang-format off
//// cub_block_reduce(ints(rng, (2, 128), low=0, high=9), poison(2, np.int32), grid=2, block=128)
////     -> x, _: {1: (x.sum(1) + 1000000 * x[:, :77].sum(1)).astype(np.int32)}
#include <cub/block/block_reduce.cuh>
  using Reduce = cub::BlockReduce<int, 128>;
  __shared__ typename Reduce::TempStorage storage;
  const int i = blockIdx.x * 128 + threadIdx.x;
  const int sum = Reduce(storage).Sum(x[i]);
  __syncthreads();
  const int some = Reduce(storage).Sum(x[i], 77);
  if (threadIdx.x == 0) out[blockIdx.x] = sum + 1000000 * some;
//// cub_block_scan(ints(rng, (2, 192)), poison((2, 192), np.int32), poison(2, np.int32), grid=2,
////     block=96)
////     -> x, *_: {1: (np.cumsum(x, 1) - x).astype(np.int32), 2: x.sum(1, dtype=np.int32)}
#include <cub/block/block_scan.cuh>
(const int* x, int* out, int* totals)
  using Scan = cub::BlockScan<int, 96>;
  __shared__ typename Scan::TempStorage storage;
  int v[2], total;
  for (int j = 0; j < 2; ++j) v[j] = x[blockIdx.x * 192 + 2 * threadIdx.x + j];
  Scan(storage).ExclusiveSum(v, v, total);
  for (int j = 0; j < 2; ++j) out[blockIdx.x * 192 + 2 * threadIdx.x + j] = v[j];
  if (threadIdx.x == 0) totals[blockIdx.x] = total;
//// cub_block_radix_sort(rng.standard_normal(256).astype(np.float32).round(1) + np.float32(0),
////     poison(256, np.float32), poison(256, np.int32), block=64)
////     -> x, *_: {1: np.sort(x), 2: np.argsort(x, kind="stable").astype(np.int32)}
#include <cub/block/block_radix_sort.cuh>
(const float* x, float* out, int* places)
  using Sort = cub::BlockRadixSort<float, 64, 4, int>;
  __shared__ typename Sort::TempStorage storage;
  float keys[4];
  int values[4];
  for (int j = 0; j < 4; ++j) {
    values[j] = 4 * threadIdx.x + j;
    keys[j] = x[values[j]];
  }
  Sort(storage).SortBlockedToStriped(keys, values);
  for (int j = 0; j < 4; ++j) {
    out[64 * j + threadIdx.x] = keys[j];
    places[64 * j + threadIdx.x] = values[j];
  }
//// cub_warp_reduce(rng.standard_normal(96), poison(3, np.float64), block=96)
////     -> x, _: {1: x.reshape(3, 32).max(1)}
#include <cub/warp/warp_reduce.cuh>
struct Larger {
  __device__ double operator()(double a, double b) const { return a > b ? a : b; }
};
(const double* x, double* out)
  using Reduce = cub::WarpReduce<double>;
  __shared__ typename Reduce::TempStorage storage[3];
  const int warp = threadIdx.x / 32;
  const double largest = Reduce(storage[warp]).Reduce(x[threadIdx.x], Larger());
  if (threadIdx.x % 32 == 0) out[warp] = largest;
