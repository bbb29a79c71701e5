// Kernels of correct_fences.py, each under its row's name.
// clang-format off
//// release_that_others_count_on
// The second block adds to the flag that the first one released: the sum releases that data, too.
extern "C" __global__ void k(int* data, int* flag, int* out) {
  if (blockIdx.x == 0) {
    data[0] = 42;
    __threadfence();
    atomicAdd(flag, 1);
  } else if (blockIdx.x == 1) {
    while (atomicAdd(flag, 0) == 0) {
    }
    atomicAdd(flag, 1);
  } else {
    while (atomicAdd(flag, 0) != 2) {
    }
    __threadfence();
    out[0] = data[0];
  }
}
//// queue_of_one_writer_and_one_reader
#include <cuda/atomic>
extern "C" __global__ void k(const int* x, int n, int* ring, int* counts, int* out) {
  using Count = cuda::atomic_ref<int, cuda::thread_scope_device>;
  Count written(counts[0]), read(counts[1]);
  if (blockIdx.x == 0) {
    for (int i = 0; i < n; ++i) {
      while (i - read.load(cuda::std::memory_order_acquire) == 4) {
      }
      ring[i % 4] = x[i] * 3;
      written.store(i + 1, cuda::std::memory_order_release);
    }
  } else {
    for (int i = 0; i < n; ++i) {
      while (written.load(cuda::std::memory_order_acquire) <= i) {
      }
      out[i] = ring[i % 4];
      read.store(i + 1, cuda::std::memory_order_release);
    }
  }
}
//// values_guarded_by_a_sequence_number
// Whoever reads may meet whoever writes: all of these accesses are strong.
extern "C" __global__ void k(volatile int* pair, volatile int* number, int* out) {
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
}
//// lock_in_shared_memory
extern "C" __global__ void k(const int* x, int* out) {
  __shared__ int lock, total, most;
  if (threadIdx.x == 0) lock = total = most = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    while (atomicCAS_block(&lock, 0, 1) != 0) {
    }
    __threadfence_block();
    total += x[threadIdx.x];
    most = max(most, x[threadIdx.x]);
    __threadfence_block();
    atomicExch_block(&lock, 0);
  }
  __syncthreads();
  if (threadIdx.x == 0) *out = total * 1000 + most;
}
//// addition_by_compare_and_swap_as_documented
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
extern "C" __global__ void k(const double* x, double* sum) {
  add(sum, x[blockIdx.x * blockDim.x + threadIdx.x]);
}
