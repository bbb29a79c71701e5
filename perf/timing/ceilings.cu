// The best rates of memory: vectors of 16 bytes, many of them in flight, a grid that stays on the
// GPU and takes tile after tile.

using uint32 = unsigned int;
using uint64 = unsigned long long;

constexpr int kThreads = 256;
constexpr int kInFlight = 8;
constexpr int kTile = kThreads * kInFlight;  // vectors
constexpr int kBlocksPerMultiprocessor = 4;  // 64 registers each: leaves room for loads in flight

#define PERF_KERNEL extern "C" __global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor)

__device__ __forceinline__ uint64 sum_of(const uint4& vector) {
  return static_cast<uint64>(vector.x) + vector.y + vector.z + vector.w;
}

__device__ __forceinline__ void load_tile(uint4 (&vector)[kInFlight], const uint4* in) {
#pragma unroll
  for (int i = 0; i < kInFlight; ++i) vector[i] = __ldg(in + i * kThreads);
}

PERF_KERNEL ceiling_copy(const uint4* in, uint4* out, uint64 count) {
  for (uint64 tile = blockIdx.x; tile * kTile < count; tile += gridDim.x) {
    const uint64 first = tile * kTile + threadIdx.x;
    if ((tile + 1) * kTile <= count) {
      uint4 vector[kInFlight];
      load_tile(vector, in + first);
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) __stcs(out + first + i * kThreads, vector[i]);
    } else {
      for (uint64 i = first; i < count; i += kThreads) __stcs(out + i, __ldg(in + i));
    }
  }
}

// One sum for each block, of 32-bit words, modulo 2^64.
PERF_KERNEL ceiling_read(const uint4* in, uint64* sums, uint64 count) {
  uint64 sum = 0;
  for (uint64 tile = blockIdx.x; tile * kTile < count; tile += gridDim.x) {
    const uint64 first = tile * kTile + threadIdx.x;
    if ((tile + 1) * kTile <= count) {
      uint4 vector[kInFlight];
      load_tile(vector, in + first);
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) sum += sum_of(vector[i]);
    } else {
      for (uint64 i = first; i < count; i += kThreads) sum += sum_of(__ldg(in + i));
    }
  }
  __shared__ uint64 shared[kThreads];
  shared[threadIdx.x] = sum;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = shared[0];
}

PERF_KERNEL ceiling_write(uint4* out, uint32 value, uint64 count) {
  const uint4 vector = make_uint4(value, value, value, value);
  for (uint64 tile = blockIdx.x; tile * kTile < count; tile += gridDim.x) {
    const uint64 first = tile * kTile + threadIdx.x;
    if ((tile + 1) * kTile <= count) {
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) __stcs(out + first + i * kThreads, vector);
    } else {
      for (uint64 i = first; i < count; i += kThreads) __stcs(out + i, vector);
    }
  }
}
