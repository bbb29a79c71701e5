// Correct kernels with different layouts of data: tiles, sorts, vectors, bytes, views.
// clang-format off
//// matmul_tiled(*tiled_matmul(rng), grid=(3, 4), block=(8, 8), BUFFERS="1",
////     DONE="__syncthreads();") -> a, b, *_: {2: a @ b}
//// matmul_two_buffers_one_barrier(*tiled_matmul(rng), grid=(3, 4), block=(8, 8), BUFFERS="2",
////     DONE="now ^= 1;") -> a, b, *_: {2: a @ b}
(const float* a, const float* b, float* c, int m, int n, int inner)
  __shared__ float s[BUFFERS][8][8], r[BUFFERS][8][8];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * 8 + y, column = blockIdx.x * 8 + x;
  float sum = 0;
  int now = 0;
  for (int at = 0; at < inner; at += 8) {
    s[now][y][x] = row < m && at + x < inner ? a[row * inner + at + x] : 0.0f;
    r[now][y][x] = column < n && at + y < inner ? b[(at + y) * n + column] : 0.0f;
    __syncthreads();
    for (int j = 0; j < 8; ++j) sum += s[now][y][j] * r[now][j][x];
    DONE
  }
  if (row < m && column < n) c[row * n + column] = sum;
//// stencil_1d_with_halo(ints(rng, 250), poison(250, np.int32), np.int32(250), grid=4, block=64)
////     -> x, *_: {1: np.convolve(x, np.ones(7, np.int32), "same")}
#define RADIUS 3
(const int* x, int* out, int n)
  __shared__ int s[64 + 2 * RADIUS];
  const int i = blockIdx.x * blockDim.x + threadIdx.x, at = threadIdx.x + RADIUS;
  s[at] = i < n ? x[i] : 0;
  if (threadIdx.x < RADIUS) {
    s[at - RADIUS] = i >= RADIUS ? x[i - RADIUS] : 0;
    s[at + blockDim.x] = i + blockDim.x < n ? x[i + blockDim.x] : 0;
  }
  __syncthreads();
  int sum = 0;
  for (int d = -RADIUS; d <= RADIUS; ++d) sum += s[at + d];
  if (i < n) out[i] = sum;
//// stencil_2d_two_grids(ints(rng, (13, 21), low=0), poison((13, 21), np.int32), np.int32(13),
////     np.int32(21), np.int32(5), block=(16, 4))
////     -> x, *_: {0: five_points(x, 4), 1: five_points(x, 5)}
(int* a, int* b, int rows, int columns, int steps)
  int *from = a, *to = b;
  for (int step = 0; step < steps; ++step) {
    for (int i = threadIdx.y; i < rows; i += blockDim.y) {
      for (int j = threadIdx.x; j < columns; j += blockDim.x) {
        const int at = i * columns + j;
        int v = from[at];
        if (i > 0 && j > 0 && i < rows - 1 && j < columns - 1)
          v = (v + from[at - columns] + from[at + columns] + from[at - 1] + from[at + 1]) % 1000;
        to[at] = v;
      }
    }
    __syncthreads();
    int* const other = from;
    from = to;
    to = other;
  }
//// bitonic_sort(ints(rng, (2, 128)), grid=2, block=128) -> x: {0: np.sort(x, axis=1)}
extern "C" __global__ void k(int* x) {
  __shared__ int s[128];
  const unsigned t = threadIdx.x;
  s[t] = x[blockIdx.x * 128 + t];
  __syncthreads();
  for (unsigned size = 2; size <= blockDim.x; size *= 2) {
    for (unsigned d = size / 2; d > 0; d /= 2) {
      const unsigned other = t ^ d;
      if (other > t && (s[t] > s[other]) == ((t & size) == 0)) {
        const int v = s[t];
        s[t] = s[other];
        s[other] = v;
      }
      __syncthreads();
    }
  }
  x[blockIdx.x * 128 + t] = s[t];
}
//// bit_reversal_permutation(rng.standard_normal((256, 2)).astype(np.float32), np.int32(8), grid=4,
////     block=64) -> x, _: {0: x[[int(f"{i:08b}"[::-1], 2) for i in range(256)]]}
(float2* x, int bits)
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned j = __brev(i) >> (32 - bits);
  if (i < j) {
    const float2 v = x[i];
    x[i] = x[j];
    x[j] = v;
  }
//// saxpy_with_grid_stride(np.int32(777), np.float32(3), ints(rng, 777, np.float32), ints(rng, 777,
////     np.float32), grid=2, block=96) -> _, a, x, y: {3: a * x + y}
(int n, float a, const float* x, float* y)
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = a * x[i] + y[i];
//// copy_by_float4(rng.standard_normal(403).astype(np.float32), poison(403, np.float32),
////     np.int32(403), grid=2, block=64) -> x, *_: {1: x}
(const float* x, float* out, int n)
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 4) {
    reinterpret_cast<float4*>(out)[i] = reinterpret_cast<const float4*>(x)[i];
  } else if (i < n / 4 + n % 4) {
    const int j = n / 4 * 4 + i - n / 4;
    out[j] = x[j];
  }
//// dynamic_shared_in_two_arrays(ints(rng, (2, 96), np.float32), ints(rng, (2, 96), low=0, high=5),
////     poison((2, 5), np.float32), np.int32(5), grid=2, block=96, shared_mem=40)
////     -> x, key, *_: {2: np.stack([np.bincount(b, a, 5).astype(np.float32) / np.bincount(b,
////     minlength=5).astype(np.float32) for a, b in zip(x, key, strict=True)])}
(const float* x, const int* key, float* out, int bins)
  extern __shared__ float s[];
  float* const sums = s;
  int* const counts = reinterpret_cast<int*>(s + bins);
  for (int j = threadIdx.x; j < bins; j += blockDim.x) {
    sums[j] = 0;
    counts[j] = 0;
  }
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&sums[key[i]], x[i]);
  atomicAdd(&counts[key[i]], 1);
  __syncthreads();
  for (int j = threadIdx.x; j < bins; j += blockDim.x)
    out[blockIdx.x * bins + j] = counts[j] > 0 ? sums[j] / counts[j] : 0;
//// template_with_a_functor(ints(rng, 250, np.int64), poison(250, np.int64), np.int32(250), grid=2,
////     block=32, kernel="transform<long long, template_with_a_functor::Square, 4>")
////     -> x, *_: {1: x * x}
struct Square {
  template <typename T>
  __device__ T operator()(T v) const { return v * v; }
};
template <typename T, typename F, int kUnroll>
__global__ void transform(const T* x, T* out, int n) {
  #pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const int i = (blockIdx.x * kUnroll + u) * blockDim.x + threadIdx.x;
    if (i < n) out[i] = F{}(x[i]);
  }
}
//// neighbouring_bytes(ints(rng, 64), poison(64, np.uint8), block=64)
////     -> x, _: {1: x.reshape(32, 2)[:, ::-1].ravel().astype(np.uint8)}
(const int* x, unsigned char* out)
  __shared__ unsigned char s[64];
  s[threadIdx.x] = x[threadIdx.x] & 255;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x ^ 1];
//// words_read_as_bytes(ints(rng, 16, np.uint32, 0, 2 ** 32), poison(64, np.uint8), block=64)
////     -> x, _: {1: x.view(np.uint8)[::-1].copy()}
(const unsigned* x, unsigned char* out)
  __shared__ unsigned s[16];
  if (threadIdx.x < 16) s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = reinterpret_cast<const unsigned char*>(s)[63 - threadIdx.x];
//// private_array_and_struct(ints(rng, (32, 9), np.float64, 0, 100), np.zeros(32,
////     np.dtype([("value", np.float64), ("count", np.int32)], align=True)), np.int32(9), block=32)
////     -> x, out, _: {1: fullest_of_four(x, out.dtype)}
struct Pair { double value; int count; };
(const double* x, Pair* out, int n)
  Pair best[4] = {};
  for (int j = 0; j < n; ++j) {
    const double v = x[threadIdx.x * n + j];
    Pair& p = best[(int)v & 3];
    p.value += v;
    ++p.count;
  }
  Pair sum = {0, 0};
  for (int j = 0; j < 4; ++j) {
    if (best[j].count > sum.count) sum = best[j];
  }
  out[threadIdx.x].value = sum.value;
  out[threadIdx.x].count = sum.count;
//// struct_with_padding_through_shared(rng.random(32), ints(rng, 32), np.zeros(32, ITEM), block=32)
////     -> value, key, _: {2: np.array(list(zip(value[::-1], key[::-1], strict=True)), ITEM)}
struct Item { double value; int key; };
(const double* value, const int* key, Item* out)
  __shared__ Item s[32];
  s[t].value = value[t];
  s[t].key = key[t];
  __syncthreads();
  out[t] = s[31 - t];
//// vector_writes_and_scalar_reads(ints(rng, 64), poison(64, np.int32), block=64)
////     -> x, _: {1: x.reshape(16, 4)[::-1].ravel()[::-1]}
  __shared__ __align__(16) int s[64];
  if (t < 16) reinterpret_cast<int4*>(s)[t] = reinterpret_cast<const int4*>(x)[15 - t];
  __syncthreads();
  out[t] = s[63 - t];
//// bytes_then_words_then_bytes(ints(rng, 64, np.uint8, 0, 256), poison(64, np.uint8), block=64)
////     -> x, _: {1: ~x[::-1].reshape(16, 4)[::-1].ravel()}
(const unsigned char* x, unsigned char* out)
  __shared__ unsigned s[16];
  unsigned char* const bytes = reinterpret_cast<unsigned char*>(s);
  bytes[63 - t] = x[t];
  __syncthreads();
  const unsigned v = t < 16 ? s[15 - t] : 0;
  __syncthreads();
  if (t < 16) s[t] = ~v;
  __syncthreads();
  out[t] = bytes[t];
//// tile_as_a_flat_array(ints(rng, (8, 8), np.int16), poison((8, 8), np.int16), block=(8, 8))
////     -> x, _: {1: x[:, ::-1].T}
extern "C" __global__ void k(const short* x, short* out) {
  __shared__ short tile[8][8];
  const int t = threadIdx.y * 8 + threadIdx.x;
  (&tile[0][0])[t] = x[t];
  __syncthreads();
  out[t] = tile[threadIdx.x][7 - threadIdx.y];
}
//// one_array_given_twice(*((ints(rng, 64),) * 2), block=64)
////     -> x, _: {0: 2 * x[::-1] + 1, 1: 2 * x[::-1] + 1}
(const int* x, int* y)
  y[t] = x[t] * 2;
  __syncthreads();
  const int v = x[63 - t];
  __syncthreads();
  y[t] = v + 1;
//// overlapping_views(*tuple(np.lib.stride_tricks.sliding_window_view(ints(rng, 64), 63,
////     writeable=True)), block=63) -> x, _: {1: x.copy()}
(const int* x, int* y)
  const int v = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = v;
//// strided_and_reversed_views(ints(rng, 64)[::2], poison(32, np.int32)[::-1], block=32)
////     -> x, _: {1: x.copy()}
  out[-(int)threadIdx.x] = x[2 * threadIdx.x];
//// python_scalars(60, float(rng.random()), True, poison(60, np.float64), block=64)
////     -> n, a, *_: {3: -a * np.arange(n)}
(long long n, double a, bool negative, double* out)
  const int i = threadIdx.x;
  if (i < n) out[i] = negative ? -a * i : a * i;
//// constant_table(ints(rng, 60, np.float32), poison(60, np.float32), np.int32(60), grid=2,
////     block=32) -> x, *_: {1: np.convolve(x, np.array([0.25, 0.5, 0.25], np.float32), "same")}
__constant__ float weights[3] = {0.25f, 0.5f, 0.25f};
(const float* x, float* out, int n)
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int d = -1; d <= 1; ++d)
    if (i + d >= 0 && i + d < n) sum += weights[d + 1] * x[i + d];
  out[i] = sum;
//// device_variables(ints(rng, (8, 32)), poison(8, np.int32), grid=8, block=32, strict=False)
////     -> x, _: {1: x.sum(1, dtype=np.int32)}
__device__ unsigned done;
__device__ int partial[8];
(const int* x, int* out)
  __shared__ int total;
  __shared__ unsigned before;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  atomicAdd(&total, x[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = total;
    __threadfence();
    before = atomicInc(&done, gridDim.x - 1);
  }
  __syncthreads();
  if (before == gridDim.x - 1 && threadIdx.x < gridDim.x) {
    __threadfence();
    out[threadIdx.x] = partial[threadIdx.x];
  }
//// private_array_handed_to_a_function(ints(rng, (192, 8)), poison((192, 8), np.int32), grid=6,
////     block=32) -> x, _: {1: np.sort(x, axis=1)}
__noinline__ __device__ void insert(int* list, int n, int v) {
  int i = n;
  for (; i > 0 && list[i - 1] > v; --i) list[i] = list[i - 1];
  list[i] = v;
}
(const int* x, int* out)
  int list[8];
  const int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
  for (int j = 0; j < 8; ++j) insert(list, j, x[i + j]);
  __syncthreads();
  for (int j = 0; j < 8; ++j) out[i + j] = list[j];
//// atomics_of_64_bits(ints(rng, 96, np.uint64, 0, 2 ** 58), np.zeros(3, np.uint64), grid=2,
////     block=48) -> x, _: {1: np.array([x.sum(), x.max(), np.bitwise_xor.reduce(x)], np.uint64)}
(const unsigned long long* x, unsigned long long* out)
  const unsigned long long v = x[blockIdx.x * blockDim.x + threadIdx.x];
  atomicAdd(out, v);
  atomicMax(out + 1, v);
  atomicXor(out + 2, v);
//// volatile_reduction_with_warp_barriers(ints(rng, 32), poison(1, np.int32), block=32)
////     -> x, _: {1: x.sum(keepdims=True, dtype=np.int32)}
  __shared__ volatile int s[32];
  const int lane = threadIdx.x;
  s[lane] = x[lane];
  __syncwarp();
  for (int d = 16; d > 0; d /= 2) {
    if (lane < d) s[lane] = s[lane] + s[lane + d];
    __syncwarp();
  }
  if (lane == 0) out[0] = s[0];
//// last_warp_not_full(ints(rng, 50), poison(50, np.int32), block=50)
////     -> x, _: {1: np.concatenate([y.sum(dtype=np.int32) + y[::-1] for y in (x[:32], x[32:])])}
  __shared__ int s[50];
  const int first = t / 32 * 32;
  s[t] = x[t];
  __syncwarp();
  const int last = min(first + 31, (int)blockDim.x - 1);
  const int sum = __reduce_add_sync(0xffffffffu, s[t]);
  out[t] = sum + s[first + last - t];
//// block_sum_called_twice(ints(rng, (2, 96)), poison(2, np.int32), grid=2, block=96)
////     -> x, _: {1: (x * x - x).sum(1, dtype=np.int32)}
__device__ int block_sum(int v) {
  __shared__ int sums[32];
  v = __reduce_add_sync(0xffffffffu, v);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
  __syncthreads();
  int total = 0;
  for (int w = 0; w < blockDim.x / 32; ++w) total += sums[w];
  __syncthreads();
  return total;
}
(const int* x, int* out)
  const int v = x[blockIdx.x * blockDim.x + threadIdx.x];
  const int sum = block_sum(v);
  const int squares = block_sum(v * v);
  if (threadIdx.x == 0) out[blockIdx.x] = squares - sum;
//// transpose_padded_tile(rng.standard_normal((20, 37)).astype(np.float32),
////     poison((37, 20), np.float32), np.int32(20), np.int32(37), grid=(3, 2), block=(16, 16),
////     PITCH="17") -> x, *_: {1: x.T}
//// transpose_plain_tile(rng.standard_normal((20, 37)).astype(np.float32),
////     poison((37, 20), np.float32), np.int32(20), np.int32(37), grid=(3, 2), block=(16, 16),
////     PITCH="16") -> x, *_: {1: x.T}
(const float* x, float* out, int rows, int columns)
  __shared__ float tile[16][PITCH];
  int i = blockIdx.x * 16 + threadIdx.x, j = blockIdx.y * 16 + threadIdx.y;
  if (j < rows && i < columns) tile[threadIdx.y][threadIdx.x] = x[j * columns + i];
  __syncthreads();
  i = blockIdx.y * 16 + threadIdx.x;
  j = blockIdx.x * 16 + threadIdx.y;
  if (j < columns && i < rows) out[j * rows + i] = tile[threadIdx.x][threadIdx.y];
//// read_only_loads_of_what_nobody_writes(ints(rng, 64), poison(64, np.int32), block=64,
////     WRITE="out[t] = 1", READ="__ldg(x + 63 - t)") -> x, _: {1: x[::-1]}
//// cached_loads_of_what_the_kernel_wrote(ints(rng, 64), poison(64, np.int32), block=64,
////     WRITE="out[t] = x[t]", READ="__ldcg(out + 63 - t)") -> x, _: {1: x[::-1]}
//// read_only_loads_of_what_the_thread_writes_later(*[ints(rng, 64)] * 2, block=64,
////     WRITE="", READ="__ldg(x + t) + 1", strict=False) -> x, _: {1: x + 1}
  WRITE;
  __syncthreads();
  const int v = READ;
  __syncthreads();
  out[t] = v;
