// Correct kernels that hand data from thread to thread. correct_fences.py has more of them.
// clang-format off
//// release_that_others_count_on(poison(1, np.int32), zeros(1), poison(1, np.int32), grid=3,
////     block=1) -> *_: {2: np.full(1, 42, np.int32)}
// The second block adds to the flag that the first one released: the sum also releases that data.
(int* data, int* flag, int* out)
  if (blockIdx.x == 0) {
    data[0] = 42;
    __threadfence();
    atomicAdd(flag, 1);
  } else if (blockIdx.x == 1) {
    while (atomicAdd(flag, 0) == 0) {}
    atomicAdd(flag, 1);
  } else {
    while (atomicAdd(flag, 0) != 2) {}
    __threadfence();
    out[0] = data[0];
  }
//// queue_of_one_writer_and_one_reader(ints(rng, 21), np.int32(21), poison(4, np.int32), zeros(2),
////     zeros(21), grid=2, block=1) -> x, *_: {4: 3 * x}
#include <cuda/atomic>
(const int* x, int n, int* ring, int* counts, int* out)
  using Count = cuda::atomic_ref<int, cuda::thread_scope_device>;
  Count written(counts[0]), read(counts[1]);
  if (blockIdx.x == 0) {
    for (int i = 0; i < n; ++i) {
      while (i - read.load(cuda::std::memory_order_acquire) == 4) {}
      ring[i % 4] = x[i] * 3;
      written.store(i + 1, cuda::std::memory_order_release);
    }
  } else {
    for (int i = 0; i < n; ++i) {
      while (written.load(cuda::std::memory_order_acquire) <= i) {}
      out[i] = ring[i % 4];
      read.store(i + 1, cuda::std::memory_order_release);
    }
  }
//// turns_that_two_blocks_take(zeros(1), np.int32(8), grid=2, block=1, strict=False)
////     -> *_: {0: np.array([8], np.int32)}
// Each store comes after the other block's store, which it has seen.
(volatile int* turn, int n)
  for (int i = blockIdx.x; i < n; i += 2) {
    while (*turn != i) {}
    *turn = i + 1;
  }
//// values_guarded_by_a_sequence_number(zeros(2), zeros(1), poison(1, np.int32), grid=2, block=1,
////     strict=False) -> *_: {0: np.array([5, -5], np.int32), 2: zeros(1)}
// Reads may happen at the same time as writes: all of these accesses are strong.
(volatile int* pair, volatile int* number, int* out)
  if (blockIdx.x == 0) {
    for (int i = 1; i <= 5; ++i) {
      *number = 2 * i - 1;
      __threadfence();
      pair[0] = i;
      pair[1] = -i;
      __threadfence();
      *number = 2 * i;
    }
  } else {
    int before, after, sum;
    do {
      before = *number;
      __threadfence();
      sum = pair[0] + pair[1];
      __threadfence();
      after = *number;
    } while (before != after || before % 2 != 0 || before == 0);
    out[0] = sum;
  }
//// lock_in_shared_memory(ints(rng, 128, low=0), poison(1, np.int32), block=128)
////     -> x, _: {1: np.array([x[::32].sum() * 1000 + x[::32].max()], np.int32)}
  __shared__ int lock, total, most;
  if (threadIdx.x == 0) lock = total = most = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    while (atomicCAS_block(&lock, 0, 1) != 0) {}
    __threadfence_block();
    total += x[threadIdx.x];
    most = max(most, x[threadIdx.x]);
    __threadfence_block();
    atomicExch_block(&lock, 0);
  }
  __syncthreads();
  if (threadIdx.x == 0) *out = total * 1000 + most;
//// addition_by_compare_and_swap_as_documented(ints(rng, 128, np.float64), np.zeros(1), grid=2,
////     block=64) -> x, _: {1: x.sum(keepdims=True)}
// The first read only guesses: if it is wrong, atomicCAS says so.
__device__ double add(double* address, double value) {
  unsigned long long* const bits = (unsigned long long*)address;
  unsigned long long old = *bits, assumed;
  do {
    assumed = old;
    old = atomicCAS(bits, assumed,
                    __double_as_longlong(value + __longlong_as_double(assumed)));
  } while (assumed != old);
  return __longlong_as_double(old);
}
(const double* x, double* sum)
  add(sum, x[blockIdx.x * blockDim.x + threadIdx.x]);
//// lock_that_goes_round_and_is_reset(ints(rng, (4, 64)), zeros(64), zeros(1), grid=4, block=64)
////     -> x, *_: {1: x.sum(0, dtype=np.int32), 2: zeros(1)}
// As in Marlin. Each block waits for the addition of the block before it, which so comes first.
__device__ void wait_for(int* lock, int turn) {
  if (threadIdx.x == 0) {
    int seen;
    do {
      asm volatile("ld.global.acquire.gpu.b32 %0, [%1];" : "=r"(seen) : "l"(lock) : "memory");
    } while (seen != turn);
  }
  __syncthreads();
}
__device__ void give_on(int* lock, bool last) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (last) {
    *lock = 0;
    return;
  }
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
  asm volatile("red.relaxed.gpu.global.add.s32 [%0], 1;" ::"l"(lock) : "memory");
}
(const int* x, int* sums, int* lock)
  wait_for(lock, blockIdx.x);
  sums[threadIdx.x] += x[blockIdx.x * 64 + threadIdx.x];
  give_on(lock, blockIdx.x == gridDim.x - 1);
//// flag_reset_after_a_relaxed_read(poison(1, np.int32), zeros(1), grid=2, block=1)
////     -> *_: {1: zeros(1)}
// What the other block wrote before the flag is not visible; nothing reads it.
(int* data, int* flag)
  if (blockIdx.x == 0) {
    data[0] = 42;
    atomicExch(flag, 1);
  } else {
    int seen;
    do {
      asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    } while (seen == 0);
    *flag = 0;
  }
//// release_before_a_relaxed_store(poison(1, np.int32), zeros(1), poison(1, np.int32), grid=2,
////     block=1) -> *_: {2: np.full(1, 42, np.int32)}
#include <cuda/atomic>
(int* data, int* flag, int* out)
  const cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  if (blockIdx.x == 0) {
    data[0] = 42;
    ready.store(1, cuda::std::memory_order_release);
    ready.store(2, cuda::std::memory_order_relaxed);
  } else {
    while (ready.load(cuda::std::memory_order_acquire) != 2) {}
    out[0] = data[0];
  }
//// more_fences_than_there_are_times(zeros(1), poison(64, np.int32), block=64) ->
////     *_: {0: np.full(1, 269999, np.int32), 1: np.arange(64, dtype=np.int32)[::-1]}
  __shared__ int s[64];
  for (int i = 0; i < 270000 && t == 0; ++i) {
    *x = i;
    __threadfence();
  }
  __syncthreads();
  s[t] = t;
  __syncthreads();
  out[t] = s[63 - t];
