// Correct kernels that order their threads: atomics, locks, flags, warps.
// clang-format off
//// histogram_global(ints(rng, 500, low=0, high=10), np.int32(500), np.zeros(10, np.uint32),
////     grid=3, block=64) -> x, *_: {2: np.bincount(x, minlength=10).astype(np.uint32)}
(const int* x, int n, unsigned* bins)
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(bins + x[i], 1u);
//// histogram_shared(ints(rng, 999, np.uint8, 0, 256), np.int32(999), np.zeros(256, np.int32),
////     grid=3, block=96) -> x, *_: {2: np.bincount(x, minlength=256).astype(np.int32)}
(const unsigned char* x, int n, int* bins)
  __shared__ int s[256];
  for (int j = threadIdx.x; j < 256; j += blockDim.x) s[j] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&s[x[i]], 1);
  __syncthreads();
  for (int j = threadIdx.x; j < 256; j += blockDim.x)
    if (s[j] != 0) atomicAdd(&bins[j], s[j]);
//// atomic_minimum_and_maximum(ints(rng, 120), np.int32(120), np.full(1, 2 ** 31 - 1, np.int32),
////     np.full(1, -2 ** 31, np.int32), grid=2, block=64)
////     -> x, *_: {2: x.min(keepdims=True), 3: x.max(keepdims=True)}
(const int* x, int n, int* low, int* high)
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicMin(low, x[i]);
  atomicMax(high, x[i]);
//// float_maximum_by_cas(rng.standard_normal(128).astype(np.float32), np.full(1, -np.inf,
////     np.float32), grid=2, block=64) -> x, _: {1: x.max(keepdims=True)}
__device__ void maximum(float* address, float v) {
  int* const word = reinterpret_cast<int*>(address);
  int seen = atomicCAS(word, 0, 0);
  while (__int_as_float(seen) < v) {
    const int before = atomicCAS(word, seen, __float_as_int(v));
    if (before == seen) break;
    seen = before;
  }
}
(const float* x, float* out)
  maximum(out, x[blockIdx.x * blockDim.x + threadIdx.x]);
//// hash_table_of_counts(ints(rng, 96, low=0, high=50), np.full(128, -1, np.int32), np.zeros(128,
////     np.int32), poison(96, np.int32), block=96)
////     -> x, *_: {3: np.bincount(x)[x].astype(np.int32)}
(const int* x, int* keys, int* counts, int* out)
  const int key = x[threadIdx.x];
  int slot = key * 7 % 128;
  for (;;) {
    const int before = atomicCAS(keys + slot, -1, key);
    if (before == -1 || before == key) break;
    slot = (slot + 1) % 128;
  }
  atomicAdd(counts + slot, 1);
  __syncthreads();
  out[threadIdx.x] = keys[slot] == key ? counts[slot] : -1;
//// list_by_exchange(ints(rng, 64), poison(64, np.int32), poison(2, np.int32), block=64)
////     -> x, *_: {2: np.array([x.sum(), 64], np.int32)}
(const int* x, int* next, int* out)
  __shared__ int head;
  if (t == 0) head = -1;
  __syncthreads();
  next[t] = atomicExch(&head, t);
  __syncthreads();
  if (t == 0) {
    int sum = 0, length = 0;
    for (int i = head; i >= 0; i = next[i]) {
      sum += x[i];
      ++length;
    }
    out[0] = sum;
    out[1] = length;
  }
//// spin_lock(ints(rng, 256), np.zeros(1, np.int32), np.zeros(2, np.int32), grid=4, block=64)
////     -> x, *_: {1: np.zeros(1, np.int32), 2: np.array([x[::16].sum(), 16], np.int32)}
(const int* x, int* lock, int* total)
  if (threadIdx.x % 16 == 0) {
    while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
    __threadfence();
    total[0] += x[blockIdx.x * blockDim.x + threadIdx.x];
    total[1] += 1;
    __threadfence();
    atomicExch(lock, 0);
  }
//// ring_of_flags(ints(rng, 32), np.zeros(1, np.uint32), np.int32(3), grid=2, block=32)
////     -> x, *_: {0: x * 729 + 91, 1: np.array([6], np.uint32)}
(int* value, unsigned* turn, int rounds)
  for (int round = 0; round < rounds; ++round) {
    const unsigned mine = round * gridDim.x + blockIdx.x;
    if (threadIdx.x == 0) {
      while (atomicAdd(turn, 0u) != mine) {}
      __threadfence();
    }
    __syncthreads();
    value[threadIdx.x] = value[threadIdx.x] * 3 + blockIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicExch(turn, mine + 1);
    }
  }
//// barrier_of_the_grid(ints(rng, 128), poison(128, np.int32), poison(128, np.int32), np.zeros(1,
////     np.uint32), grid=2, block=64) -> x, *_: {2: 2 * x[::-1]}
(const int* x, int* between, int* out, unsigned* arrived)
  const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  between[i] = 2 * x[i];
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1u);
    while (atomicAdd(arrived, 0u) < gridDim.x) {}
    __threadfence();
  }
  __syncthreads();
  out[i] = between[n - 1 - i];
//// message_by_volatile_flag(ints(rng, 64), poison(64, np.int32), np.zeros(1, np.int32), poison(64,
////     np.int32), grid=2, block=64, strict=False) -> x, *_: {3: x[::-1] + 1}
(const int* x, int* message, volatile int* ready, int* out)
  if (blockIdx.x == 0) {
    message[threadIdx.x] = x[threadIdx.x] + 1;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) *ready = 1;
  } else {
    if (threadIdx.x == 0) {
      while (*ready == 0) __nanosleep(20);
      __threadfence();
    }
    __syncthreads();
    out[threadIdx.x] = message[blockDim.x - 1 - threadIdx.x];
  }
//// ticket_lock(ints(rng, 9, low=0), np.zeros(2, np.uint32), np.zeros(2, np.int32), grid=9,
////     block=32)
////     -> x, *_: {1: np.full(2, 9, np.uint32), 2: np.array([x.sum(), x.max()], np.int32)}
(const int* x, unsigned* lock, int* out)
  if (threadIdx.x != 0) return;
  const unsigned ticket = atomicAdd(&lock[0], 1u);
  while (atomicAdd(&lock[1], 0u) != ticket) {}
  __threadfence();
  out[0] += x[blockIdx.x];
  out[1] = max(out[1], x[blockIdx.x]);
  __threadfence();
  atomicAdd(&lock[1], 1u);
//// lock_released_by_a_volatile_write(ints(rng, 9), np.zeros(1, np.int32), np.zeros(1, np.int32),
////     grid=9, block=32, strict=False) -> x, *_: {2: x.sum(keepdims=True, dtype=np.int32)}
(const int* x, int* lock, int* total)
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) {}
  __threadfence();
  *total += x[blockIdx.x];
  __threadfence();
  *(volatile int*)lock = 0;
//// chain_of_three_blocks(ints(rng, 1), poison(1, np.int32), np.zeros(3, np.int32), poison(1,
////     np.int32), grid=3, block=1) -> x, *_: {3: x}
(const int* x, int* data, int* flags, int* out)
  const int b = blockIdx.x;
  if (b == 0) data[0] = x[0];
  if (b > 0) {
    while (atomicAdd(flags + b - 1, 0) == 0) {}
    __threadfence();
  }
  if (b == 2) out[0] = data[0];
  __threadfence();
  atomicExch(flags + b, 1);
//// flag_polled_by_one_lane_for_its_warp(ints(rng, 32), poison(32, np.int32), np.zeros(1,
////     np.int32), poison(32, np.int32), grid=2, block=32) -> x, *_: {3: x[::-1] - 1}
(const int* x, int* data, int* flag, int* out)
  const int lane = threadIdx.x;
  if (blockIdx.x == 0) {
    data[lane] = x[lane] - 1;
    __syncwarp();
    if (lane == 0) {
      __threadfence();
      atomicExch(flag, 1);
    }
  } else {
    if (lane == 0) {
      while (atomicAdd(flag, 0) == 0) {}
      __threadfence();
    }
    __syncwarp();
    out[lane] = data[31 - lane];
  }
//// producer_and_consumer_warps(ints(rng, (4, 32)), poison((4, 32), np.int32), np.int32(4),
////     block=64) -> x, *_: {1: 5 * x[:, ::-1]}
(const int* x, int* out, int rounds)
  __shared__ int s[2][32];
  const int lane = threadIdx.x % 32;
  const bool producer = threadIdx.x < 32;
  for (int round = 0; round <= rounds; ++round) {
    if (producer) {
      if (round < rounds) s[round % 2][lane] = x[round * 32 + lane] * 5;
    } else if (round > 0) {
      out[(round - 1) * 32 + lane] = s[(round - 1) % 2][31 - lane];
    }
    __syncthreads();
  }
//// halves_of_a_warp(ints(rng, 32), poison(32, np.int32), block=32)
////     -> x, _: {1: np.full(32, x[:16].sum() + x[16:].max(), np.int32)}
  const int lane = threadIdx.x;
  int sum = x[lane];
  if (lane < 16) {
    for (int d = 8; d > 0; d /= 2) sum += __shfl_xor_sync(0x0000ffffu, sum, d);
  } else {
    int largest = sum;
    for (int d = 8; d > 0; d /= 2)
      largest = max(largest, __shfl_xor_sync(0xffff0000u, largest, d));
    sum = largest;
  }
  __syncwarp();
  out[lane] = sum + __shfl_sync(0xffffffffu, sum, 31 - lane);
//// mask_of_the_lanes_inside(ints(rng, 45), poison(45, np.int32), np.int32(45), block=64)
////     -> x, *_: {1: np.concatenate([x[:32] - x[0] + 32, x[32:] - x[32] + 13]).astype(np.int32)}
(const int* x, int* out, int n)
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned inside = __ballot_sync(0xffffffffu, i < n);
  if (i >= n) return;
  const int first = __shfl_sync(inside, x[i], 0);
  out[i] = x[i] - first + __popc(inside);
//// votes_of_the_block(ints(rng, (3, 48), low=-52, high=40), poison((3, 3), np.int32), grid=3,
////     block=48) -> x, _: {1: np.stack([(x > 0).sum(1), (x == 7).any(1), (x > -50).all(1)],
////     1).astype(np.int32)}
  const int v = x[blockIdx.x * blockDim.x + threadIdx.x];
  const int count = __syncthreads_count(v > 0);
  const int any = __syncthreads_or(v == 7);
  const int all = __syncthreads_and(v > -50);
  if (threadIdx.x == 0) {
    out[3 * blockIdx.x] = count;
    out[3 * blockIdx.x + 1] = any != 0;
    out[3 * blockIdx.x + 2] = all != 0;
  }
//// barrier_in_a_uniform_branch(ints(rng, (3, 64)), poison((3, 64), np.int32), grid=3, block=64)
////     -> x, _: {1: np.stack([x[0, ::-1], x[1], x[2, ::-1]])}
  __shared__ int s[64];
  const int i = blockIdx.x * blockDim.x + t;
  s[t] = x[i];
  if (blockIdx.x % 2 == 0) {
    __syncthreads();
    out[i] = s[63 - t];
    return;
  }
  out[i] = s[t];
//// warps_at_different_barriers(ints(rng, 96), poison(96, np.int32), block=96,
////     MEET="if (t < 32) __syncthreads(); else if (t < 64) __syncthreads(); else meet();")
////     -> x, _: {1: x[::-1]}
//// turns_of_a_loop_that_all_threads_make(ints(rng, 96), poison(96, np.int32), block=96,
////     MEET="for (int i = t; i < 96 * (9 + x[0] % 2) + t; i += 96) __syncthreads();")
////     -> x, _: {1: x[::-1]}
//// lanes_at_different_barriers_that_may_be(ints(rng, 96), poison(96, np.int32), block=96,
////     MEET="if (t % 2) asm volatile(BARRIER); else asm volatile(BARRIER);") -> x, _: {1: x[::-1]}
//// lanes_that_are_elsewhere_before_a_barrier(ints(rng, 96), poison(96, np.int32), block=96,
////     MEET="if (t % 3 == 0) __syncwarp(0x49249249 << t / 32 % 3); __syncthreads();")
////     -> x, _: {1: x[::-1]}
#define BARRIER "barrier.sync 0;" ::: "memory"
__device__ __forceinline__ void meet() { __syncthreads(); }
(const int* x, int* out)
  __shared__ int s[96];
  s[t] = x[t];
  MEET
  out[t] = s[95 - t];
//// warps_that_count_whole_at_a_barrier(ints(rng, 96), poison(96, np.int32), block=96)
////     -> x, _: {1: np.concatenate([x[63::-1], -x[64:]])}
  // Lanes arrive one by one; the third warp does not take part in the barrier.
  __shared__ int s[64];
  if (t < 64) {
    s[t] = x[t];
    asm volatile("bar.sync 3, 64;" ::: "memory");
    out[t] = s[63 - t];
  } else {
    out[t] = -x[t];
  }
//// warp_reduction_by_volatile_accesses(ints(rng, 64), poison(1, np.int32), block=32)
////     -> x, _: {1: x.sum(keepdims=True, dtype=np.int32)}
  __shared__ int s[64];
  volatile int* const v = s;
  const int l = threadIdx.x;
  v[l] = x[l];
  v[l + 32] = x[l + 32];
  for (int d = 32; d > 0; d /= 2) {
    __syncwarp();
    const int sum = v[l] + v[l + d];
    __syncwarp();
    v[l] = sum;
  }
  if (l == 0) *out = v[0];
//// volatile_values_between_warps(poison(64, np.int32), block=64, strict=False)
////     -> *_: {0: np.full(64, 7, np.int32)}
// The write is unordered only with the other warp, not with the lane's own.
(int* out)
  __shared__ volatile int set;
  if (threadIdx.x == 0) set = 0;
  __syncthreads();
  if (threadIdx.x == 0) set = 7;
  __syncwarp();
  int seen;
  while ((seen = set) == 0) {}
  out[threadIdx.x] = seen;
//// volatile_values_of_a_warp_in_global_memory(zeros(1), poison(32, np.int32), block=32,
////     strict=False) -> *_: {1: np.full(32, 7, np.int32)}
(volatile int* set, int* out)
  if (threadIdx.x == 3) *set = 7;
  int seen;
  while ((seen = *set) == 0) {}
  out[threadIdx.x] = seen;
//// wait_for_the_last_block(zeros(1), zeros(100), grid=100, block=1)
////     -> *_: {0: np.ones(1, np.int32), 1: np.ones(100, np.int32)}
(int* flag, int* out)
  if (blockIdx.x == gridDim.x - 1) atomicExch(flag, 1);
  while (atomicAdd(flag, 0) == 0) {}
  out[blockIdx.x] = 1;
//// barrier_of_a_function_that_warps_call_from_two_places(ints(rng, 64, low=1), poison(64, np.int32),
////     block=64) -> x, _: {1: np.arange(64, dtype=np.int32) // 32 + 1}
__device__ __noinline__ int meet(int* at, int v) {
  *at = v;
  return __syncthreads_or(v) != 0;
}
(const int* x, int* out)
  __shared__ int s[64];
  int sum = 0;
  for (int i = 0; i < 3; ++i) sum |= t % 3 == 5 ? 0 : meet(s + t, x[t]);
  out[t] = t < 32 ? meet(s + t, -x[t]) : meet(s + t, x[t]) + sum;
//// halves_of_a_warp_that_meet_by_two_calls(ints(rng, 32), poison(32, np.int32), block=32) ->
////     x, _: {1: x[::-1] + x[7] - 2 * (np.arange(32) < 16)}
  // PTX demands the same instruction and mask, not the same call.
  __shared__ int s[32];
  s[t] = x[t];
  if (t < 16) {
    __syncwarp();
    const int v = s[31 - t] - 2;
    out[t] = v + __shfl_sync(~0u, x[t], 7);
  } else {
    __syncwarp();
    const int v = s[31 - t];
    out[t] = __shfl_sync(~0u, x[t], 7) + v;
  }
