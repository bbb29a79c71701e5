// Correct kernels with libcu++: atomics, barriers and pipelines.
// clang-format off
//// atomic_references(ints(rng, 128), np.zeros(1, np.int32), np.zeros(1, np.uint64), np.zeros(1,
////     np.float32), grid=2, block=64) -> x, *_: {1: x.sum(keepdims=True, dtype=np.int32), 2:
////     np.full(1, 2 ** 64 - 1, np.uint64), 3: np.full(1, 128, np.float32)}
#include <cuda/atomic>
(const int* x, int* sum, unsigned long long* bits, float* total)
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  cuda::atomic_ref<int, cuda::thread_scope_device>(*sum).fetch_add(
      x[i], cuda::std::memory_order_relaxed);
  cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>(*bits).fetch_or(1ull << i % 64);
  cuda::atomic_ref<float, cuda::thread_scope_device>(*total).fetch_add(1.0f);
//// barrier_in_shared_memory(ints(rng, 64), poison(64, np.int32), block=64) -> x, _: {1: thrice(x)}
#include <cuda/barrier>
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ int s[64];
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  int v = x[threadIdx.x];
  for (int round = 0; round < 3; ++round) {
    s[threadIdx.x] = v;
    auto token = bar.arrive();
    const int own = v * 3;
    bar.wait(static_cast<decltype(token)&&>(token));
    v = s[63 - threadIdx.x] + own;
    bar.arrive_and_wait();
  }
  out[threadIdx.x] = v;
//// pipeline_of_copies(ints(rng, (5, 64)), poison((5, 64), np.int32), np.int32(5), block=64)
////     -> x, *_: {1: x[:, ::-1] + np.arange(5, dtype=np.int32)[:, None]}
#include <cuda/pipeline>
#include <cooperative_groups.h>
#pragma nv_diag_suppress static_var_with_dynamic_init
(const int* x, int* out, int rounds)
  const auto block = cooperative_groups::this_thread_block();
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  __shared__ alignas(16) int s[2][64];
  auto pipe = cuda::make_pipeline(block, &state);
  for (int issued = 0, i = 0; i < rounds; ++i) {
    for (; issued < rounds && issued < i + 2; ++issued) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, s[issued % 2], x + 64 * issued,
                         cuda::aligned_size_t<16>(sizeof s[0]), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    out[64 * i + threadIdx.x] = s[i % 2][63 - threadIdx.x] + i;
    pipe.consumer_release();
  }
//// pipeline_of_one_thread(ints(rng, (32, 4)), poison((32, 4), np.int32), block=32)
////     -> x, _: {1: x[::-1]}
#include <cuda/pipeline>
(const int4* x, int4* out)
  __shared__ int4 s[32];
  auto pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(s + threadIdx.x, x + threadIdx.x, cuda::aligned_size_t<16>(16), pipe);
  pipe.producer_commit();
  pipe.consumer_wait();
  pipe.consumer_release();
  __syncwarp();
  out[threadIdx.x] = s[31 - threadIdx.x];
//// pipeline_with_roles(ints(rng, (7, 32)), poison((7, 32), np.int32), np.int32(7), block=96)
////     -> x, *_: {1: x[:, ::-1] + 1}
#include <cuda/pipeline>
#include <cooperative_groups.h>
#pragma nv_diag_suppress static_var_with_dynamic_init
(const int* x, int* out, int rounds)
  const auto block = cooperative_groups::this_thread_block();
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  __shared__ int s[2][32];
  const bool produces = threadIdx.x >= 32 && threadIdx.x < 64;
  auto pipe = cuda::make_pipeline(
      block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  for (int i = 0, lane = threadIdx.x % 32; i < rounds; ++i) {
    if (produces) {
      pipe.producer_acquire();
      cuda::memcpy_async(&s[i % 2][lane], x + 32 * i + lane, sizeof(int), pipe);
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();
      if (threadIdx.x < 32) out[32 * i + lane] = s[i % 2][31 - lane] + 1;
      pipe.consumer_release();
    }
  }  // its destructor invalidates the mbarriers
//// atomics_of_one_byte(ints(rng, 128, low=0, high=4), zeros(4, dtype=np.int8), grid=2, block=64,
////     strict=False) -> x, _: {1: np.bincount(x, minlength=4).astype(np.int8)}
// The library loads bytes, and exchanges words of four: they overlap in part.
#include <cuda/atomic>
(const int* x, signed char* counts)
  const cuda::atomic_ref<signed char, cuda::thread_scope_device> count(
      counts[x[blockIdx.x * 64 + threadIdx.x]]);
  if (count.load() >= 0) ++count;
