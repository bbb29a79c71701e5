// Kernels in the style of users: what CUDA brings, as written for CuPy and for nvcc.
// clang-format off
//// volatile_of_its_own(ints(rng, 32), poison(32, np.int32), block=32)
////     -> x, _: {1: x[::-1] + 2 * x + 3}
struct Pair { int first, second; };
extern "C" __global__ void k(const int* x, int* y) {
  const int t = threadIdx.x;
  volatile int turned[32];
  volatile Pair pair;
  volatile double three = 3;
  for (int i = 0; i < 32; i++) turned[31 - i] = x[i];
  pair.first = x[t];
  pair.second = pair.first;
  y[t] = turned[t] + pair.first + pair.second + int(three);
}
//// structure_by_value(np.array((3, 0.5, (1, 2)), "i4,f4,(2,)i4"), poison(16, np.float32), block=16)
////     -> s, _: {1: np.arange(16) * 3 * np.float32(0.5) + 3}
#include <stdint.h>
typedef struct { int32_t width; float scale; int32_t offset[2]; } params_t;
extern "C" __global__ void k(const params_t p, float* y) {
  y[threadIdx.x] = p.width * p.scale * threadIdx.x + p.offset[0] + p.offset[1];
}
//// largest_by_compare_and_swap(rng.random(256, np.float32), np.zeros(1, np.float32), grid=2, block=128)
////     -> x, _: {1: x.max(keepdims=True)}
__device__ static float atomicMax(float* address, float val) {
  int* address_as_i = (int*)address;
  int old = *address_as_i, assumed;
  do {
    assumed = old;
    old = ::atomicCAS(address_as_i, assumed, __float_as_int(::fmaxf(val, __int_as_float(assumed))));
  } while (assumed != old);
  return __int_as_float(old);
}
extern "C" __global__ void k(const float* x, float* y) { atomicMax(y, x[blockIdx.x * blockDim.x + threadIdx.x]); }
//// halves(rng.random(64).astype(np.float16), poison(64, np.float16), block=64)
////     -> x, _: {1: x + np.float16(1)}
#include <cuda_fp16.h>
#include <cuda_runtime.h>
extern "C" __global__ void k(const half* x, half* y) { y[threadIdx.x] = __hadd(x[threadIdx.x], __float2half(1.0f)); }
//// complex_of_cuda(rng.random((64, 2), np.float32), poison((64, 2), np.float32), block=64, rtol=1e-4)
////     -> x, _: {1: (x.view(np.complex64) * (np.complex64(1j) + x.view(np.complex64))).view(np.float32)}
#include <cuComplex.h>
extern "C" __global__ void k(const cuFloatComplex* x, cuFloatComplex* y) {
  const cuFloatComplex z = x[threadIdx.x];
  y[threadIdx.x] = cuCmulf(z, cuCaddf(make_cuFloatComplex(0, 1), z));
}
//// tiles_of_warps(ints(rng, 64), poison(64, np.int32), block=64)
////     -> x, _: {1: np.repeat(x.reshape(-1, 8).sum(1), 8)}
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int* x, int* y) {
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  y[block.thread_rank()] = cg::reduce(tile, x[block.thread_rank()], cg::plus<int>());
}
//// sums_of_cub(ints(rng, (2, 64)), poison(2, np.int32), poison((2, 64), np.int32), grid=2, block=64)
////     -> x, *_: {1: x.sum(1), 2: np.cumsum(x.reshape(4, 32), 1).reshape(2, 64)}
#include <cub/block/block_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
extern "C" __global__ void k(const int* x, int* sums, int* scans) {
  typedef cub::BlockReduce<int, 64> BlockReduce;
  typedef cub::WarpScan<int> WarpScan;
  __shared__ typename BlockReduce::TempStorage temp_storage;
  __shared__ typename WarpScan::TempStorage scan_storage[2];
  const int v = x[blockIdx.x * 64 + threadIdx.x];
  int total = BlockReduce(temp_storage).Sum(v), scan;
  WarpScan(scan_storage[threadIdx.x / 32]).InclusiveSum(v, scan);
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
  scans[blockIdx.x * 64 + threadIdx.x] = scan;
}
//// libcudacxx_beside_std(ints(rng, 64), np.zeros(1, np.int32), poison(64, np.int32), block=64)
////     -> x, *_: {1: x.sum(keepdims=True), 2: np.maximum(x, 5)}
#include <cuda/atomic>
#include <cuda/std/tuple>
#include <tuple>
#include <algorithm>
extern "C" __global__ void k(const int* x, int* sum, int* y) {
  cuda::atomic_ref<int, cuda::thread_scope_device> ref(*sum);
  const std::tuple<int, int> own = cuda::std::make_tuple(x[threadIdx.x], 5);
  ref.fetch_add(std::get<0>(own), cuda::std::memory_order_relaxed);
  y[threadIdx.x] = std::max(cuda::std::get<0>(own), std::get<1>(own));
}
