// Correct kernels with asynchronous copies, mbarriers and clusters.
// clang-format off
#include "copies.cuh"
//// bulk_copy_and_its_mbarrier(ints(rng, 256), poison(256, np.int32), block=64)
////     -> x, _: {1: x[::-1]}
  __shared__ unsigned long long full;
  if (t == 0) init(&full, 1);
  __syncthreads();
  __shared__ __align__(16) int s[256];
  if (t == 0) {
    expect(&full, 1024);
    bulk_in(s, x, 1024, &full);
  }
  wait(&full, 0);
  for (int i = t; i < 256; i += 64) out[i] = s[255 - i];
//// bulk_copies_in_turn_into_one_buffer(ints(rng, 256), poison(256, np.int32), block=64)
////     -> x, _: {1: x.reshape(4, 64)[:, ::-1].ravel()}
  __shared__ unsigned long long full, empty;
  if (t == 0) {
    init(&full, 1);
    init(&empty, 64);
  }
  __syncthreads();
  __shared__ __align__(16) int s[64];
  for (int i = 0; i < 4; ++i) {
    if (t == 0) {
      if (i > 0) wait(&empty, (i - 1) % 2);
      expect(&full, 256);
      bulk_in(s, x + 64 * i, 256, &full);
    }
    wait(&full, i % 2);
    out[64 * i + t] = s[63 - t];
    arrive(&empty);
  }
//// bulk_copy_back_to_global_memory(ints(rng, 256), poison(256, np.int32), block=64)
////     -> x, _: {1: 3 * x[::-1]}
  __shared__ __align__(16) int s[256];
  for (int i = t; i < 256; i += 64) s[i] = 3 * x[255 - i];
  see_copies();
  __syncthreads();
  if (t == 0) {
    bulk_out(out, s, 1024);
    bulk_wait();
  }
//// copies_that_an_mbarrier_counts(ints(rng, 256), poison(256, np.int32), block=64)
////     -> x, _: {1: x[::-1]}
  __shared__ unsigned long long bar;
  __shared__ __align__(16) int s[256];
  if (t == 0) init(&bar, 64);
  __syncthreads();
  copy_16(s + 4 * t, x + 4 * t);
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared(&bar)) : "memory");
  wait(&bar, 0);
  for (int i = t; i < 256; i += 64) out[i] = s[255 - i];
//// warps_that_hand_over_by_mbarriers(ints(rng, 256), poison(256, np.int32), block=64)
////     -> x, _: {1: 5 * x.reshape(8, 32)[:, ::-1].ravel()}
  __shared__ unsigned long long full[2], empty[2];
  __shared__ int s[2][32];
  if (t < 2) {
    init(full + t, 32);
    init(empty + t, 32);
  }
  __syncthreads();
  for (int i = 0; i < 8; ++i) {
    const int stage = i % 2, turn = i / 2;
    if (t < 32) {
      if (turn > 0) wait(empty + stage, (turn - 1) % 2);
      s[stage][t] = x[32 * i + t] * 5;
      arrive(full + stage);
    } else {
      wait(full + stage, turn % 2);
      out[32 * i + t - 32] = s[stage][63 - t];
      arrive(empty + stage);
    }
  }
//// mbarrier_invalidated_once_lanes_have_matched(ints(rng, 64), poison(64, np.int32), block=64)
////     -> x, _: {1: x}
  __shared__ unsigned long long bar;
  __shared__ int users;
  if (t == 0) {
    init(&bar, users = 64);
  }
  __syncthreads();
  arrive(&bar);
  wait(&bar, 0);
  const unsigned alike = __match_any_sync(__activemask(), (unsigned long long)&bar);
  if (t % 32 == __ffs(alike) - 1) {  // as the destructor of cuda::pipeline
    __threadfence();
    const int others = atomicSub(&users, __popc(alike)) - __popc(alike);
    __threadfence();
    if (others == 0) asm volatile("mbarrier.inval.b64 [%0];" ::"l"(&bar) : "memory");
  }
  out[t] = x[t];
//// stores_that_an_mbarrier_of_another_block_counts(ints(rng, 256), poison(256, np.int32), grid=4,
////     block=64) -> x, _: {1: x.reshape(2, 2, 64)[:, ::-1, ::-1].ravel()}
extern "C" __global__ void __cluster_dims__(2, 1, 1) k(const int* x, int* out) {
  const int t = threadIdx.x;
  __shared__ unsigned long long bar;
  __shared__ int s[64];
  const int rank = blockIdx.x % 2;
  unsigned to, other;
  if (t == 0) {
    init(&bar, 1);
    expect(&bar, 256);
  }
  asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;" ::: "memory");
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(to) : "r"(shared(s + t)), "r"(1 - rank));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(other) : "r"(shared(&bar)), "r"(1 - rank));
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];"
               ::"r"(to), "r"(x[64 * blockIdx.x + t]), "r"(other) : "memory");
  wait_for_cluster(&bar, 0);
  out[64 * blockIdx.x + t] = s[63 - t];
  asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;" ::: "memory");
}
//// sums_of_a_cluster(ints(rng, 256), poison(256, np.int32), grid=4, block=64)
////     -> x, _: {1: np.full(256, x.sum(), np.int32)}
extern "C" __global__ void __cluster_dims__(4, 1, 1) k(const int* x, int* out) {
  const int t = threadIdx.x;
  __shared__ int sum;
  const int rank = blockIdx.x % 4;
  unsigned at = shared(&sum), first;
  if (t == 0) sum = 0;
  asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;" ::: "memory");
  asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(first) : "r"(at));
  asm volatile("red.relaxed.cluster.shared::cluster.add.s32 [%0], %1;"
               ::"r"(first), "r"(x[64 * rank + t]) : "memory");
  asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;" ::: "memory");
  int total;
  asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(total) : "r"(first) : "memory");
  out[64 * rank + t] = total;
  asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;" ::: "memory");
}
//// source_overwritten_after_its_copy(ints(rng, 256), poison(256, np.int32), block=64)
////     -> x, _: {0: np.where(np.arange(256) % 4 == 0, -x, x), 1: x}
extern "C" __global__ void k(int* x, int* out) {
  const int t = 4 * threadIdx.x;
  __shared__ __align__(16) int s[256];
  copy_16(s + t, x + t);
  commit();
  wait_group<0>();
  x[t] = -s[t];
  for (int i = 0; i < 4; ++i) out[t + i] = s[t + i];
}
//// bulk_copy_that_its_thread_fences(ints(rng, 64), poison(64, np.int32), block=64,
////     READY="__syncthreads(); if (t == 0) see_copies();") -> x, _: {1: x}
//// bulk_copy_that_another_thread_fences(ints(rng, 64), poison(64, np.int32), block=64,
////     READY="__syncthreads(); if (t == 40) see_copies(); __syncthreads();") -> x, _: {1: x}
//// bulk_copy_that_every_thread_fences(ints(rng, 64), poison(64, np.int32), block=64,
////     READY="asm volatile(\"fence.proxy.async;\" ::: \"memory\"); __syncthreads();") -> x, _: {1: x}
//// bulk_copy_after_writes_handed_over_by_a_named_barrier(ints(rng, 64), poison(64, np.int32),
////     block=64, READY="see_copies(); asm volatile(\"bar.sync 1, 64;\" ::: \"memory\"); __syncwarp();")
////     -> x, _: {1: x}
//// bulk_copy_after_writes_handed_over_by_an_mbarrier(ints(rng, 64), poison(64, np.int32), block=64,
////     READY="see_copies(); arrive(&bar); wait(&bar, 0);") -> x, _: {1: x}
//// bulk_copy_fenced_after_writes_handed_over_by_an_mbarrier(ints(rng, 64), poison(64, np.int32),
////     block=64, READY="arrive(&bar); wait(&bar, 0); see_copies();") -> x, _: {1: x}
//// bulk_copies_of_many_turns(ints(rng, 64), poison(64, np.int32), block=64,
////     READY="for (int i = 0; i < 9; ++i) { s[t] = x[t]; see_copies(); __syncthreads(); if (t == 0) { bulk_out(out, s, 256); bulk_wait(); } __syncthreads(); }")
////     -> x, _: {1: x}
  __shared__ unsigned long long bar;
  __shared__ __align__(16) int s[64];
  if (t == 0) init(&bar, 64);
  __syncthreads();
  s[t] = x[t];
  READY
  if (t == 0) {
    bulk_out(out, s, 256);
    bulk_wait();
  }
//// bulk_copy_out_of_what_one_brought(ints(rng, 64), poison(64, np.int32), block=64)
////     -> x, _: {1: x}
  __shared__ unsigned long long bar;
  __shared__ __align__(16) int s[64];
  if (t == 0) init(&bar, 1);
  __syncthreads();
  if (t == 0) {
    expect(&bar, 256);
    bulk_in(s, x, 256, &bar);
    wait(&bar, 0);
    bulk_out(out, s, 256);
    bulk_wait();
  }
