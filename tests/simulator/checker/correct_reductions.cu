// Correct reductions and scans.
// clang-format off
//// reduce_last_block_done(ints(rng, 1000), np.int32(1000), poison(7, np.int32), np.zeros(1,
////     np.uint32), poison(1, np.int32), grid=7, block=64, strict=False)
////     -> x, *_: {3: np.zeros(1, np.uint32), 4: x.sum(keepdims=True, dtype=np.int32)}
(const int* x, int n, int* partial, unsigned* done, int* out)
  __shared__ int s[64];
  __shared__ bool last;
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  s[t] = sum;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) {
    partial[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  sum = 0;
  for (int i = t; i < gridDim.x; i += blockDim.x) sum += partial[i];
  s[t] = sum;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) *out = s[0];
//// softmax_of_rows(rng.standard_normal((5, 150)).astype(np.float32), poison((5, 150), np.float32),
////     np.int32(150), grid=5, block=64, rtol=1e-05) -> x, *_: {1: np.exp(x - x.max(1,
////     keepdims=True)) / np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)}
#include <math_constants.h>
(const float* x, float* out, int columns)
  __shared__ float s[64];
  const float* row = x + blockIdx.x * columns;
  float largest = -CUDART_INF_F;
  for (int i = t; i < columns; i += blockDim.x) largest = fmaxf(largest, row[i]);
  s[t] = largest;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d >>= 1) {
    if (t < d) s[t] = fmaxf(s[t], s[t + d]);
    __syncthreads();
  }
  largest = s[0];
  __syncthreads();
  float sum = 0;
  for (int i = t; i < columns; i += blockDim.x) sum += expf(row[i] - largest);
  s[t] = sum;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  for (int i = t; i < columns; i += blockDim.x)
    out[blockIdx.x * columns + i] = expf(row[i] - largest) / s[0];
//// argmax_of_rows(ints(rng, (5, 100), np.float32, 0, 30), poison(5, np.int32), np.int32(5),
////     np.int32(100), grid=3, block=64) -> x, *_: {1: x.argmax(1).astype(np.int32)}
#include <math_constants.h>
(const float* x, int* out, int rows, int columns)
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float best = -CUDART_INF_F;
  int at = columns;
  for (int i = lane; i < columns; i += 32) {
    const float v = x[row * columns + i];
    if (v > best) { best = v; at = i; }
  }
  for (int d = 16; d > 0; d /= 2) {
    const float other = __shfl_down_sync(0xffffffffu, best, d);
    const int where = __shfl_down_sync(0xffffffffu, at, d);
    if (other > best || (other == best && where < at)) { best = other; at = where; }
  }
  if (lane == 0) out[row] = at;
//// scan_hillis_steele_double_buffer(ints(rng, (2, 128)), poison((2, 128), np.int32), grid=2,
////     block=128) -> x, _: {1: x.cumsum(axis=1, dtype=np.int32)}
  __shared__ int s[2][128];
  const int i = blockIdx.x * blockDim.x + t;
  int from = 0;
  s[0][t] = x[i];
  __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) {
    s[1 - from][t] = s[from][t] + (t >= d ? s[from][t - d] : 0);
    from = 1 - from;
    __syncthreads();
  }
  out[i] = s[from][t];
//// scan_blelloch(ints(rng, (2, 128)), poison((2, 128), np.int32), np.int32(128), grid=2, block=64,
////     shared_mem=4 * 128) -> x, *_: {1: exclusive(x)}
(const int* x, int* out, int n)
  extern __shared__ int s[];
  const int* in = x + blockIdx.x * n;
  s[2 * t] = in[2 * t];
  s[2 * t + 1] = in[2 * t + 1];
  int step = 1;
  for (int d = n >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) s[step * (2 * t + 2) - 1] += s[step * (2 * t + 1) - 1];
    step *= 2;
  }
  if (t == 0) s[n - 1] = 0;
  for (int d = 1; d < n; d *= 2) {
    step >>= 1;
    __syncthreads();
    if (t < d) {
      const int left = step * (2 * t + 1) - 1, right = step * (2 * t + 2) - 1;
      const int v = s[left];
      s[left] = s[right];
      s[right] += v;
    }
  }
  __syncthreads();
  out[blockIdx.x * n + 2 * t] = s[2 * t];
  out[blockIdx.x * n + 2 * t + 1] = s[2 * t + 1];
//// scan_warps_then_sums(ints(rng, 256), poison(256, np.int32), block=256)
////     -> x, _: {1: x.cumsum(dtype=np.int32)}
__device__ int scan_warp(int v) {
  for (int d = 1; d < 32; d *= 2) {
    const int left = __shfl_up_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 >= d) v += left;
  }
  return v;
}
(const int* x, int* out)
  __shared__ int sums[32];
  const int warps = blockDim.x / 32;
  int v = scan_warp(x[t]);
  if (t % 32 == 31) sums[t / 32] = v;
  __syncthreads();
  if (t < 32) {
    const int total = scan_warp(t < warps ? sums[t] : 0);
    sums[t] = total;
  }
  __syncthreads();
  if (t >= 32) v += sums[t / 32 - 1];
  out[t] = v;
//// scan_warp_shared_syncwarp(ints(rng, (4, 32)), poison((4, 32), np.int32), block=128)
////     -> x, _: {1: exclusive(x)}
  __shared__ int s[4][32];
  const int w = threadIdx.x / 32, lane = threadIdx.x % 32;
  s[w][lane] = x[threadIdx.x];
  __syncwarp();
  for (int d = 1; d < 32; d *= 2) {
    const int left = lane >= d ? s[w][lane - d] : 0;
    __syncwarp();
    s[w][lane] += left;
    __syncwarp();
  }
  out[threadIdx.x] = lane == 0 ? 0 : s[w][lane - 1];
//// compaction_with_ballot(ints(rng, 250), np.int32(250), np.zeros(256, np.int32), poison(2,
////     np.int32), grid=2, block=128)
////     -> x, *_: {2: np.concatenate([np.pad(y[y > 0], (0, 128 - (y > 0).sum())) for y in (x[:128],
////     x[128:])]), 3: np.array([(x[:128] > 0).sum(), (x[128:] > 0).sum()], np.int32)}
(const int* x, int n, int* out, int* count)
  __shared__ int first[32];
  __shared__ int base;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int w = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int v = i < n ? x[i] : 0;
  const unsigned kept = __ballot_sync(0xffffffffu, v > 0);
  if (lane == 0) first[w] = __popc(kept);
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int j = 0; j < blockDim.x / 32; ++j) {
      const int here = first[j];
      first[j] = sum;
      sum += here;
    }
    base = sum;
  }
  __syncthreads();
  if (v > 0) out[blockIdx.x * blockDim.x + first[w] + __popc(kept & ((1u << lane) - 1))] = v;
  if (threadIdx.x == 0) count[blockIdx.x] = base;
//// reduce_unrolled_last_warp(ints(rng, 377), poison(3, np.int32), np.int32(377), grid=3,
////     block=128) -> x, *_: {1: np.pad(x, (0, 7)).reshape(3, -1).sum(1, dtype=np.int32)}
extern "C" __global__ void k(const int* x, int* out, int n) {
  __shared__ int s[256];
  const unsigned t = threadIdx.x;
  const int i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (unsigned d = blockDim.x / 2; d > 32; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t < 32) {
    int v = s[t] + s[t + 32];
    __syncwarp(); s[t] = v; __syncwarp(); v += t < 16 ? s[t + 16] : 0;
    __syncwarp(); s[t] = v; __syncwarp(); v += t < 8 ? s[t + 8] : 0;
    __syncwarp(); s[t] = v; __syncwarp(); v += t < 4 ? s[t + 4] : 0;
    __syncwarp(); s[t] = v; __syncwarp(); v += t < 2 ? s[t + 2] : 0;
    __syncwarp(); s[t] = v; __syncwarp(); v += t < 1 ? s[t + 1] : 0;
    if (t == 0) out[blockIdx.x] = v;
  }
}
//// reduce_shuffles(ints(rng, 761), poison(3, np.int32), np.int32(761), grid=3, block=256)
////     -> x, *_: {1: np.pad(x, (0, 7)).reshape(3, -1).sum(1, dtype=np.int32)}
extern "C" __global__ void k(const int* x, int* out, int n) {
  __shared__ int s[256];
  const unsigned t = threadIdx.x;
  const int i = blockIdx.x * blockDim.x + t;
  int sum = i < n ? x[i] : 0;
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (t % 32 == 0) s[t / 32] = sum;
  __syncthreads();
  if (t < 32) {
    sum = t < blockDim.x / 32 ? s[t] : 0;
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (t == 0) out[blockIdx.x] = sum;
  }
}
//// reduce_warp_instruction(ints(rng, 377), poison(3, np.int32), np.int32(377), grid=3, block=128)
////     -> x, *_: {1: np.pad(x, (0, 7)).reshape(3, -1).sum(1, dtype=np.int32)}
extern "C" __global__ void k(const int* x, int* out, int n) {
  __shared__ int s[256];
  const unsigned t = threadIdx.x;
  const int i = blockIdx.x * blockDim.x + t;
  const int sum = __reduce_add_sync(0xffffffffu, i < n ? x[i] : 0);
  if (t == 0) s[0] = 0;
  __syncthreads();
  if (t % 32 == 0) atomicAdd(&s[0], sum);
  __syncthreads();
  if (t == 0) out[blockIdx.x] = s[0];
}
//// scan_look_back_atomic_flags(ints(rng, 571), poison(571, np.int32), np.int32(571), zeros(1,
////     dtype=np.uint32), zeros(9, dtype=np.uint32), poison(9, np.int32), poison(9, np.int32),
////     grid=9, block=64, STATE="unsigned", SEEN="atomicAdd(state + p, 0u)",
////     HALF="atomicExch(state + b, 1u)", WHOLE="atomicExch(state + b, 2u)") -> x, *_: {1:
////     x.cumsum(dtype=np.int32)}
//// scan_look_back_volatile_flags(ints(rng, 571), poison(571, np.int32), np.int32(571), zeros(1,
////     dtype=np.uint32), zeros(9, dtype=np.uint32), poison(9, np.int32), poison(9, np.int32),
////     grid=9, block=64, strict=False, STATE="volatile unsigned", SEEN="state[p]",
////     HALF="state[b] = 1", WHOLE="state[b] = 2") -> x, *_: {1: x.cumsum(dtype=np.int32)}
extern "C" __global__ void k(const int* x, int* out, int n, unsigned* counter, STATE* state,
                             int* aggregate, int* inclusive) {
  __shared__ int s[2][64];
  __shared__ unsigned id;
  __shared__ int before;
  const int t = threadIdx.x;
  if (t == 0) id = atomicAdd(counter, 1u);
  __syncthreads();
  const int b = id, i = b * blockDim.x + t;
  s[0][t] = i < n ? x[i] : 0;
  __syncthreads();
  int from = 0;
  for (int d = 1; d < blockDim.x; d *= 2) {
    s[1 - from][t] = s[from][t] + (t >= d ? s[from][t - d] : 0);
    from = 1 - from;
    __syncthreads();
  }
  if (t == 0) {
    const int total = s[from][blockDim.x - 1];
    int sum = 0;
    if (b > 0) {
      aggregate[b] = total;
      __threadfence();
      HALF;
      for (int p = b - 1; ; ) {
        const unsigned seen = SEEN;
        if (seen == 0) continue;
        __threadfence();
        if (seen == 2) { sum += inclusive[p]; break; }
        sum += aggregate[p--];
      }
    }
    inclusive[b] = sum + total;
    __threadfence();
    WHOLE;
    before = sum;
  }
  __syncthreads();
  if (i < n) out[i] = s[from][t] + before;
}
