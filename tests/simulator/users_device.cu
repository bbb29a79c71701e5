// Kernels in users' manners: what CUDA brings, as one writes it for CuPy and for nvcc.
// clang-format off
//// saxpy(np.float32(2.5), rng.random(300, np.float32), rng.random(300, np.float32), np.uintp(300), grid=3, block=128, rtol=1e-6)
////     -> a, x, y, *_: {2: a * x + y}
extern "C" __global__
void k(float a, const float* x, float* y, size_t n) {
  size_t tid = blockDim.x * blockIdx.x + threadIdx.x;
  if (tid < n) y[tid] = a * x[tid] + y[tid];
}
//// dynamic_shared_memory(rng.random((3, 64), np.float32), poison((3, 64), np.float32), grid=3, block=64, shared_mem=256)
////     -> x, _: {1: x[:, ::-1]}
extern "C" __global__ void k(const float* x, float* y) {
  extern __shared__ float sdata[];
  sdata[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
  __syncthreads();
  y[blockIdx.x * 64 + threadIdx.x] = sdata[63 - threadIdx.x];
}
//// constant_filter(ints(rng, 70), poison(66, np.int32), block=66)
////     -> x, _: {1: np.convolve(x, [1, -2, 3, -2, 5][::-1], "valid")}
__constant__ int taps[5] = {1, -2, 3, -2, 5};
extern "C" __global__ void k(const int* x, int* y) {
  int sum = 0;
  #pragma unroll
  for (int i = 0; i < 5; i++) sum += taps[i] * x[threadIdx.x + i];
  y[threadIdx.x] = sum;
}
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
//// tiled_product(ints(rng, (32, 32), np.float32), ints(rng, (32, 32), np.float32), poison((32, 32), np.float32),
////     kernel="k<float, 16>", grid=(2, 2), block=(16, 16))
////     -> a, b, _: {2: a @ b}
template <typename T, int TILE>
__global__ void k(const T* __restrict__ A, const T* __restrict__ B, T* __restrict__ C) {
  __shared__ T As[TILE][TILE], Bs[TILE][TILE + 1];
  const int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
  T acc = 0;
  for (int t = 0; t < 32; t += TILE) {
    As[threadIdx.y][threadIdx.x] = A[row * 32 + t + threadIdx.x];
    Bs[threadIdx.y][threadIdx.x] = B[(t + threadIdx.y) * 32 + col];
    __syncthreads();
    for (int i = 0; i < TILE; ++i) acc += As[threadIdx.y][i] * Bs[i][threadIdx.x];
    __syncthreads();
  }
  C[row * 32 + col] = acc;
}
//// warp_reduction(ints(rng, (4, 128)), poison(4, np.int32), grid=4, block=128)
////     -> x, _: {1: x.sum(1)}
#define FULL_MASK 0xffffffff
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int partial[32];
  int v = x[blockIdx.x * blockDim.x + threadIdx.x], lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(FULL_MASK, v, offset);
  if (lane == 0) partial[warp] = v;
  __syncthreads();
  if (warp == 0) {
    v = lane < blockDim.x / warpSize ? partial[lane] : 0;
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(FULL_MASK, v, offset);
    if (lane == 0) y[blockIdx.x] = v;
  }
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
//// histogram(rng.integers(0, 10, 500).astype(np.uint8), np.zeros(10, np.uint32), np.int32(500), grid=2, block=128)
////     -> x, *_: {1: np.bincount(x, minlength=10)}
#include <cstdint>
extern "C" __global__ void k(const uint8_t* x, uint32_t* bins, int n) {
  __shared__ uint32_t own[10];
  if (threadIdx.x < 10) own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&own[x[i]], 1u);
  __syncthreads();
  if (threadIdx.x < 10) atomicAdd(bins + threadIdx.x, own[threadIdx.x]);
}
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
//// inline_ptx(ints(rng, 64, np.uint32, 0, 999), poison(64, np.uint32), block=64)
////     -> x, _: {1: x * 32 + ramp(64) % 32}
__device__ __forceinline__ unsigned lane_id() { unsigned r; asm volatile("mov.u32 %0, %%laneid;" : "=r"(r)); return r; }
extern "C" __global__ void k(const unsigned* x, unsigned* y) {
  unsigned r;
  asm("mad.lo.u32 %0, %1, 32, %2;" : "=r"(r) : "r"(x[threadIdx.x]), "r"(lane_id()));
  y[threadIdx.x] = r;
}
