// Kernels that do not wait for their asynchronous copies, or wait wrongly at an mbarrier.
// clang-format off
#include "copies.cuh"
//// race: copy_read_while_one_group_is_pending(ramp(256), zeros(256), array="s",
////     also="uninitialized")
  __shared__ __align__(16) int s[2][256];
  copy_16(s[0] + 4 * t, x + 4 * t);
  commit();
  copy_16(s[1] + 4 * t, x + 4 * t);  // fault
  commit();
  wait_group<1>();
  out[t] = s[0][4 * t] + s[1][4 * t];  // fault
//// race: copy_read_before_its_wait(ramp(256), zeros(256), array="s", also="uninitialized",
////     WAIT="commit();", INDEX="4 * t + 1", FROM="4 * t")
//// race: copy_waited_for_before_its_commit(ramp(256), zeros(256), array="s", also="uninitialized",
////     WAIT="wait_group<0>(); commit();", INDEX="4 * t", FROM="4 * t")
//// race: copy_read_by_others_without_a_barrier(ramp(256), zeros(256), array="s",
////     also="uninitialized", WAIT="commit(); wait_group<0>();", INDEX="255 - t", FROM="4 * t")
//// race: copy_waited_for_after_the_barrier(ramp(256), zeros(256), array="s", also="uninitialized",
////     WAIT="commit(); __syncthreads(); wait_group<0>();", INDEX="255 - t", FROM="4 * t")
//// out_of_bounds: copy_past_the_end(ramp(256), zeros(256), array=0, index=256,
////     WAIT="commit(); wait_group<0>(); __syncthreads();", INDEX="t", FROM="4 * t + 4")
  __shared__ __align__(16) int s[256];
  copy_16(s + 4 * t, x + FROM);  // fault
  WAIT
  out[t] = s[INDEX];  // fault
//// race: copy_announced_by_a_flag_alone(ramp(256), zeros(256), array="s")
  __shared__ __align__(16) int s[4];
  __shared__ volatile int ready;
  if (t == 0) {
    ready = 0;
    copy_16(s, x);  // fault
    commit();
  }
  __syncthreads();
  if (t == 0) {
    wait_group<0>();
    ready = 1;
  }
  if (t == 32) {
    while (ready == 0) {}
    out[0] = s[1];  // fault
  }
//// race: copy_into_what_others_still_read(ramp(256), zeros(256), array="s")
  __shared__ __align__(16) int s[256];
  for (int i = 0; i < 2; ++i) {
    copy_16(s + 4 * t, x + 4 * t);  // fault
    commit();
    wait_group<0>();
    __syncthreads();
    out[64 * i + t] = s[255 - t];  // fault
  }
//// race: source_overwritten_before_it_is_copied(ramp(256), zeros(256), array=0)
  __shared__ __align__(16) int s[256];
  copy_16(s + 4 * t, x + 4 * t);  // fault
  commit();
  x[4 * t] = 7;  // fault
  wait_group<0>();
  __syncthreads();
  out[t] = s[255 - t];
//// race: bulk_copy_read_before_its_mbarrier(ramp(256), zeros(256), array="s",
////     also="uninitialized", BYTES="1024", BEFORE="__syncthreads();", AFTER="wait(&bar, 0);")
//// race: bulk_copy_waited_for_with_the_wrong_parity(ramp(256), zeros(256), array="s",
////     also="uninitialized deadlock", BYTES="1024", BEFORE="wait(&bar, 1);  // fault", AFTER="")
//// deadlock: mbarrier_that_expects_more_bytes_than_come(ramp(256), zeros(256), BYTES="512",
////     BEFORE="wait(&bar, 0);  // fault", AFTER="")
  __shared__ __align__(16) int s[256];
  __shared__ unsigned long long bar;
  if (t == 0) init(&bar, 1);
  __syncthreads();
  if (t == 0) {
    expect(&bar, 1024);
    bulk_in(s, x, BYTES, &bar);  // fault
  }
  BEFORE
  out[t] = s[255 - t];  // fault
  AFTER
//// race: write_behind_a_bulk_copy_that_others_wait_for(ramp(256), zeros(256), array="late")
  __shared__ unsigned long long bar;
  __shared__ __align__(16) int s[4];
  __shared__ int late;
  if (t == 0) init(&bar, 1);
  __syncthreads();
  if (t == 0) {
    expect(&bar, 16);
    bulk_in(s, x, 16, &bar);
    late = x[2];  // fault
  }
  if (t == 32) {
    wait(&bar, 0);
    out[0] = s[1] + late;  // fault
  }
//// race: second_bulk_copy_waited_for_with_the_first_parity(ramp(256), zeros(256), array="s",
////     also="uninitialized deadlock")
  __shared__ __align__(16) int s[2][128];
  __shared__ unsigned long long bar;
  if (t == 0) init(&bar, 1);
  __syncthreads();
  for (int i = 0; i < 2; ++i) {
    if (t == 0) {
      expect(&bar, 512);
      bulk_in(s[i], x + 128 * i, 512, &bar);  // fault
    }
    wait(&bar, 0);  // fault
    out[64 * i + t] = s[i][t];  // fault
    __syncthreads();
  }
//// race: bulk_copy_out_of_what_is_overwritten(ramp(256), zeros(256), array="s", index=1,
////     READY="see_copies(); __syncthreads();", AFTER="s[1] = 0;  // fault")
//// race: bulk_copy_out_before_the_barrier(ramp(256), zeros(256), array="s", also="uninitialized",
////     READY="see_copies();  // fault", AFTER="")
  __shared__ __align__(16) int s[64];
  s[t] = x[t]; READY
  if (t == 0) {
    bulk_out(out, s, 256);  // fault
    AFTER
    bulk_wait();
  }
//// deadlock: mbarrier_that_one_thread_does_not_arrive_at(ramp(256), zeros(256))
  __shared__ unsigned long long bar;
  if (t == 0) init(&bar, 64);
  __syncthreads();
  if (t != 5) arrive(&bar);
  wait(&bar, 0);  // fault
  out[t] = x[t];
//// race: mbarrier_invalidated_while_others_arrive(ramp(256), zeros(256), array="bar",
////     also="misuse")
  __shared__ unsigned long long bar;
  if (t == 0) init(&bar, blockDim.x);
  __syncthreads();
  if (t == 0) asm volatile("mbarrier.inval.b64 [%0];" ::"l"(&bar) : "memory");  // fault
  if (t == 40) arrive(&bar);  // fault
  out[t] = x[t];
//// race: mbarrier_used_after_lanes_have_matched(ramp(256), zeros(256), array="bar", also="misuse")
  __shared__ unsigned long long bar;
  if (t == 0) init(&bar, blockDim.x);
  __syncthreads();
  const unsigned alike = __match_any_sync(__activemask(), (unsigned long long)&bar);
  if (t == __ffs(alike) - 1) {
    asm volatile("mbarrier.inval.b64 [%0];" ::"l"(&bar) : "memory");  // fault
  }
  if (t == 9) arrive(&bar);  // fault
  out[t] = x[t];
//// uninitialized: mbarrier_used_before_others_see_its_start(ramp(256), zeros(256), array="bar",
////     also="misuse race")
  __shared__ unsigned long long bar;
  __shared__ int s[64];
  if (t == 0) init(&bar, 64);  // fault
  s[t] = x[t];
  arrive(&bar);  // fault
  wait(&bar, 0);  // fault
  out[t] = s[63 - t];
//// race: mbarrier_that_producers_do_not_wait_for(ramp(256), zeros(256), array="s",
////     also="deadlock")
  // The first warp fills s again without waiting until the second has read it.
  __shared__ unsigned long long full;
  __shared__ int s[32];
  if (t == 0) init(&full, 32);
  __syncthreads();
  for (int i = 0; i < 2; ++i) {
    if (t < 32) {
      s[t] = x[32 * i + t];  // fault
      arrive(&full);
      wait(&full, i);
    } else {
      wait(&full, i);  // fault
      out[32 * i + t] = s[63 - t];  // fault
    }
  }
//// race: write_after_the_arrival_of_copies(ramp(256), zeros(256), array="s")
  __shared__ unsigned long long bar;
  __shared__ int s[32];
  if (t == 0) init(&bar, 32);
  __syncthreads();
  if (t < 32) {
    s[t] = x[t];
    asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(shared(&bar)) : "memory");
    arrive(&bar);
    s[t] = 7;  // fault
  } else if (t < 64) {
    wait(&bar, 0);
    out[t] = s[t - 32];  // fault
  }
//// race: mbarrier_arrived_at_before_the_write(ramp(256), zeros(256), array="s",
////     also="uninitialized")
  __shared__ unsigned long long bar;
  __shared__ int s[64];
  if (t == 0) init(&bar, 64);
  __syncthreads();
  arrive(&bar);
  s[t] = x[t];  // fault
  wait(&bar, 0);
  out[t] = s[63 - t];  // fault
//// race: bulk_copy_out_without_a_fence(ramp(256), zeros(256), array="s",
////     READY="__syncthreads();", BEFORE="", WRITE="s[t] = x[t];")
//// race: bulk_copy_out_fenced_before_the_write(ramp(256), zeros(256), array="s",
////     READY="__syncthreads();", BEFORE="see_copies();", WRITE="s[t] = x[t];")
//// race: bulk_copy_out_fenced_by_another_one(ramp(256), zeros(256), array="s",
////     READY="__syncthreads(); if (t == 32) see_copies();", BEFORE="", WRITE="s[t] = x[t];")
//// race: bulk_copy_out_with_a_fence_of_memory(ramp(256), zeros(256), array="s",
////     READY="__threadfence(); __syncthreads(); __threadfence();", BEFORE="", WRITE="s[t] = x[t];")
//// race: bulk_copy_out_with_a_fence_of_global_memory(ramp(256), zeros(256), array="s",
////     READY="asm volatile(\"fence.proxy.async.global;\" ::: \"memory\"); __syncthreads();",
////     BEFORE="", WRITE="s[t] = x[t];")
//// race: bulk_copy_out_fenced_by_some_of_the_writers(ramp(256), zeros(256), array="s",
////     READY="if (t < 40) see_copies(); __syncthreads();", BEFORE="", WRITE="s[t] = x[t];")
//// race: bulk_copy_out_of_what_another_copy_brought(ramp(256), zeros(256), array="s",
////     READY="wait_group<0>(); __syncthreads();", BEFORE="",
////     WRITE="if (t < 16) copy_16(s + 4 * t, x + 4 * t); commit();")
  __shared__ __align__(16) int s[64];
  BEFORE
  WRITE  // fault
  READY
  if (t == 0) {
    bulk_out(out, s, 256);  // fault
    bulk_wait();
  }
//// race: bulk_copy_in_of_what_the_kernel_wrote(zeros(256), zeros(256), array=0, FENCE="",
////     CLEAR="")
//// race: bulk_copy_in_onto_what_was_cleared(zeros(256), zeros(256), array="s", strict=True,
////     FENCE="asm volatile(\"fence.proxy.async.global;\" ::: \"memory\");", CLEAR="s[t] = 0;")
  __shared__ unsigned long long bar;
  __shared__ __align__(16) int s[64];
  CLEAR  // fault
  x[t] = t;  // fault
  FENCE
  if (t == 0) init(&bar, 1);
  __syncthreads();
  if (t == 0) {
    expect(&bar, 256);
    bulk_in(s, x, 256, &bar);  // fault
  }
  wait(&bar, 0);
  out[t] = s[63 - t];
//// race: mbarrier_of_a_cluster_at_the_scope_of_the_block(ramp(64), zeros(64), grid=2, block=32,
////     strict=True)
extern "C" __global__ void __cluster_dims__(2, 1, 1) k(const int* x, int* out) {
  const int t = threadIdx.x, rank = blockIdx.x;
  __shared__ unsigned long long bar;
  __shared__ int s[32];
  unsigned to, other;
  if (t == 0) init(&bar, 32);
  asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;" ::: "memory");
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(to) : "r"(shared(s + t)), "r"(1 - rank));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(other) : "r"(shared(&bar)), "r"(1 - rank));
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(to), "r"(x[t]) : "memory");  // fault
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];"
               ::"r"(other) : "memory");
  wait(&bar, 0);
  out[32 * rank + t] = s[31 - t];  // fault
  asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;" ::: "memory");
}
