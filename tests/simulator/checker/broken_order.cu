// Kernels whose threads are not ordered: races, divergence and deadlocks.
// clang-format off
//// race: tree_reduction_without_barrier(ramp(64), zeros(64), array="s", also="uninitialized",
////     FIRST="__syncthreads();", EACH="")
//// race: tree_reduction_without_first_barrier(ramp(64), zeros(64), array="s",
////     also="uninitialized", FIRST="// fault", EACH="__syncthreads();")
  __shared__ int s[64];
  s[t] = x[t];  FIRST
  for (int d = 32; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];  // fault
    EACH
  }
  if (t == 0) out[0] = s[0];
//// race: tile_reused_without_second_barrier(ramp(256), zeros(64), np.int32(4), array="s",
////     also="uninitialized")
(const int* x, int* out, int tiles)
  __shared__ int s[64];
  int sum = 0;
  for (int i = 0; i < tiles; ++i) {
    s[t] = x[i * 64 + t];  // fault
    __syncthreads();
    sum += s[63 - t];  // fault
  }
  out[t] = sum;
//// race: broadcast_then_reuse_without_barrier(ramp(64, np.float32), zeros(64, dtype=np.float32),
////     array="s", index=0, also="uninitialized")
(const float* x, float* out)
  __shared__ float s[64];
  s[t] = x[t];
  __syncthreads();
  const float first = s[0];  // fault
  s[t] = x[t] - first;  // fault
  __syncthreads();
  out[t] = s[63 - t];
//// race: hillis_steele_one_buffer_one_barrier(ramp(64), zeros(64), array="s",
////     also="uninitialized")
  __shared__ int s[64];
  s[t] = x[t];
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    const int left = t >= d ? s[t - d] : 0;  // fault
    s[t] += left;  // fault
    __syncthreads();
  }
  out[t] = s[t];
//// race: producer_and_consumer_warps_without_barrier(ramp(64), zeros(64), array="s",
////     also="uninitialized")
  __shared__ int s[32];
  const int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    s[lane] = x[lane] * 3;  // fault
  } else {
    out[lane] = s[lane];  // fault
  }
//// race: bins_used_before_all_are_cleared(ramp(64), zeros(64), array="bins", also="uninitialized",
////     CLEARED="// fault", COUNTED="__syncthreads();", READ="")
//// race: bins_read_before_all_are_counted(ramp(64), zeros(64), array="bins", also="uninitialized",
////     CLEARED="__syncthreads();", COUNTED="", READ="// fault")
  __shared__ int bins[8];
  if (threadIdx.x < 8) bins[threadIdx.x] = 0;  CLEARED
  atomicAdd(&bins[x[threadIdx.x] % 8], 1);  // fault
  COUNTED
  out[threadIdx.x] = bins[threadIdx.x % 8];  READ
//// race: fence_in_place_of_barrier(ramp(64), zeros(64), array="s", also="uninitialized",
////     CALL="__threadfence_block()")
//// race: warp_barrier_in_place_of_block_barrier(ramp(64), zeros(64), array="s",
////     also="uninitialized", CALL="__syncwarp()")
//// race: warp_barrier_of_half_a_warp(ramp(32), zeros(32), block=32, array="s",
////     also="uninitialized", CALL="__syncwarp(threadIdx.x < 16 ? 0x0000ffffu : 0xffff0000u)")
  __shared__ int s[64];
  s[threadIdx.x] = x[threadIdx.x];  // fault
  CALL;
  out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];  // fault
//// race: vote_in_place_of_warp_barrier(ramp(32), zeros(32), block=32, array="s",
////     also="uninitialized", CALL="const bool p = __any_sync(~0u, v > 3)")
//// race: ballot_in_place_of_warp_barrier(ramp(32), zeros(32), block=32, array="s",
////     also="uninitialized", CALL="const bool p = __ballot_sync(~0u, v > 3)")
//// race: shuffle_in_place_of_warp_barrier(ramp(32), zeros(32), block=32, array="s",
////     also="uninitialized", CALL="const int p = __shfl_sync(~0u, v, 3)")
//// race: match_in_place_of_warp_barrier(ramp(32), zeros(32), block=32, array="s",
////     also="uninitialized", CALL="const bool p = __match_any_sync(~0u, v)")
//// race: reduction_in_place_of_warp_barrier(ramp(32), zeros(32), block=32, array="s",
////     also="uninitialized", CALL="const int p = __reduce_add_sync(~0u, v)")
  __shared__ int s[32];
  const int l = threadIdx.x, v = x[l];
  s[l] = v;  // fault
  CALL;
  out[l] = s[31 - l] + p;  // fault
//// race: ballot_between_writes_and_reads_of_global_memory(ramp(32), zeros(32), zeros(32),
////     block=32, array=1)
(const int* x, int* between, int* out)
  const int l = threadIdx.x;
  between[l] = x[l];  // fault
  const unsigned votes = __ballot_sync(~0u, x[l] > 3);
  out[l] = between[31 - l] + votes;  // fault
//// race: volatile_flag_of_a_lane_in_its_warp(zeros(32), block=32, array="set", also="uninitialized")
(int* out)
  __shared__ volatile int set;
  if (threadIdx.x == 3) set = 7;  // fault
  out[threadIdx.x] = set;  // fault
//// race: volatile_lanes_by_way_of_a_generic_address(zeros(32), zeros(32), block=32, array="s")
__device__ __noinline__ int next_of(volatile int* s, int l) {
  s[l] = l;  // fault
  return s[(l + 1) % 32];  // fault
}
(int* x, int* out)
  __shared__ int s[32];
  s[threadIdx.x] = 0;
  __syncthreads();
  out[threadIdx.x] = next_of(x[0] == 0 ? s : x, threadIdx.x);
//// race: warp_synchronous_volatile_reduction(ramp(64), zeros(64), array="s", also="uninitialized")
  __shared__ int s[64];
  s[t] = x[t];
  __syncthreads();
  if (t < 32) {
    volatile int* v = s;
    v[t] += v[t + 32];  // fault
    v[t] += v[t + 16];  // fault
    v[t] += v[t + 8];  // fault
    v[t] += v[t + 4];  // fault
    v[t] += v[t + 2];  // fault
    v[t] += v[t + 1];  // fault
    if (t == 0) out[0] = v[0];
  }
//// race: block_sum_called_twice_without_barrier(ramp(64), zeros(64), array="sums",
////     also="uninitialized")
__device__ int block_sum(int v) {
  __shared__ int sums[2];
  v = __reduce_add_sync(0xffffffffu, v);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;  // fault
  __syncthreads();
  return sums[0] + sums[1];  // fault
}
(const int* x, int* out)
  const int sum = block_sum(x[threadIdx.x]);
  const int squares = block_sum(x[threadIdx.x] * x[threadIdx.x]);
  out[threadIdx.x] = squares - sum;
//// race: dynamic_shared_without_barrier(ramp(64), zeros(64), shared_mem=256,
////     array="s", also="uninitialized")
  extern __shared__ int s[];
  s[threadIdx.x] = x[threadIdx.x];  // fault
  out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];  // fault
//// race: template_without_barrier(ramp(64, np.float64), zeros(64, dtype=np.float64),
////     kernel="rotate<double, 64>", array="s", also="uninitialized")
template <typename T, int kBlock>
__global__ void rotate(const T* x, T* out) {
  __shared__ T s[kBlock];
  s[threadIdx.x] = x[threadIdx.x];  // fault
  out[threadIdx.x] = s[(threadIdx.x + 1) % kBlock];  // fault
}
//// race: counter_without_atomics(ramp(128), zeros(1), grid=2, array=1, index=0)
(const int* x, int* count)
  if (x[blockIdx.x * blockDim.x + threadIdx.x] % 2 == 0) count[0] += 1;  // fault
//// race: same_value_written_by_all(ramp(64), zeros(1), array=1, index=0, strict=True)
(const int* x, int* found)
  if (x[threadIdx.x] >= 0) found[0] = 1;  // fault
//// race: one_element_written_by_all_blocks(ramp(192), zeros(4), grid=3, array=1, index=2)
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  atomicAdd(&total, x[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) out[2] = total;  // fault
//// race: two_phases_with_a_barrier_of_the_block_only(ramp(128), zeros(128), zeros(128), grid=2,
////     array=1)
(const int* x, int* between, int* out)
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  between[i] = x[i] + 1;  // fault
  __syncthreads();
  out[i] = between[gridDim.x * blockDim.x - 1 - i];  // fault
//// race: atomic_add_and_plain_read(zeros(1), zeros(128), grid=2, array=0, index=0)
(int* counter, int* out)
  atomicAdd(counter, 1);  // fault
  out[blockIdx.x * blockDim.x + threadIdx.x] = *counter;  // fault
//// race: atomic_add_and_plain_reset(zeros(1), array=0, index=0)
(int* counter)
  if (threadIdx.x == 40) counter[0] = 0;  // fault
  if (threadIdx.x < 40) atomicAdd(counter, 1);  // fault
//// race: data_read_before_the_flag(zeros(1), zeros(1), zeros(1), grid=2, block=1, array=0,
////     index=0)
(int* data, int* ready, int* out)
  if (blockIdx.x == 0) {
    data[0] = 42;  // fault
    __threadfence();
    atomicExch(ready, 1);
  } else {
    const int v = data[0];  // fault
    while (atomicAdd(ready, 0) == 0) {}
    out[0] = v;
  }
//// race: flag_set_while_others_of_the_block_still_write(ramp(64), zeros(64), zeros(1), zeros(64),
////     grid=2, array=1)
(const int* x, int* data, volatile int* ready, int* out)
  if (blockIdx.x == 0) {
    data[t] = x[t];  // fault
    __threadfence();
    if (t == 0) *ready = 1;
  } else {
    if (t == 0) {
      while (*ready == 0) __nanosleep(20);
      __threadfence();
    }
    __syncthreads();
    out[t] = data[t];  // fault
  }
//// race: lock_of_another_critical_section(zeros(2), zeros(1), grid=4, block=1, array=1, index=0)
(int* locks, int* total)
  int* const lock = locks + blockIdx.x % 2;
  while (atomicCAS(lock, 0, 1) != 0) {}
  __threadfence();
  total[0] += 1;  // fault
  __threadfence();
  atomicExch(lock, 0);
//// race: partial_sums_read_by_a_block_that_is_not_the_last(ramp(2), zeros(2),
////     zeros(1, dtype=np.uint32), zeros(2), grid=2, block=1, array=1)
(const int* x, int* partial, unsigned* done, int* out)
  const int b = blockIdx.x;
  partial[b] = x[b];  // fault
  __threadfence();
  atomicInc(done, gridDim.x - 1);
  __threadfence();
  out[b] = partial[0] + partial[1];  // fault
//// race: chain_with_a_block_that_does_not_wait(ramp(1), zeros(1), zeros(3), zeros(1), grid=3,
////     block=1, array=1, index=0)
(const int* x, int* data, int* flags, int* out)
  const int b = blockIdx.x;
  if (b == 0) data[0] = x[0];  // fault
  if (b == 2) {
    while (atomicAdd(flags + 1, 0) == 0) {}
    __threadfence();
    out[0] = data[0];  // fault
  }
  __threadfence();
  atomicExch(flags + b, 1);
//// race: write_that_waits_for_one_of_two_readers(zeros(1), zeros(2), zeros(2), grid=3, block=1,
////     array=0, index=0)
(int* data, int* flags, int* out)
  const int b = blockIdx.x;
  if (b < 2) {
    out[b] = data[0];  // fault
    __threadfence();
    atomicExch(flags + b, 1);
  } else {
    while (atomicAdd(flags, 0) == 0) {}
    __threadfence();
    data[0] = 7;  // fault
  }
//// race: shift_of_one_array_given_twice(*(ramp(64),) * 2)
(const int* x, int* y)
  if (threadIdx.x > 0) y[threadIdx.x] = x[threadIdx.x - 1];  // fault
//// race: words_written_and_bytes_read(ramp(16, np.uint32), zeros(64, dtype=np.uint8), array="s")
(const unsigned* x, unsigned char* out)
  __shared__ unsigned s[16];
  if (threadIdx.x < 16) s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  const unsigned char v = reinterpret_cast<unsigned char*>(s)[threadIdx.x ^ 1];  // fault
  if (threadIdx.x < 16) s[threadIdx.x] = 0;  // fault
  out[threadIdx.x] = v;
//// barrier_divergence: barrier_in_a_divergent_branch(ramp(64), zeros(64), strict=True)
  __shared__ int s[64];
  s[t] = x[t];
  if (t < 32) {
    __syncthreads();  // fault
    out[t] = s[t];
  }
//// barrier_divergence: two_barriers_in_two_branches(ramp(64), zeros(64))
  __shared__ int s[64];
  if (t % 2 == 0) {
    s[t] = x[t];
    __syncthreads();  // fault
  } else {
    s[t] = -x[t];
    __syncthreads();  // fault
  }
  out[t] = s[t ^ 1];
//// barrier_divergence: two_barriers_on_one_line(ramp(64), zeros(64),
////     BARRIERS="if (t % 2) __syncthreads(); else __syncthreads();")
//// barrier_divergence: barriers_of_a_function_called_in_two_branches(ramp(64), zeros(64),
////     BARRIERS="if (t % 2) meet(s + t); else meet(s + 63 - t);")
//// barrier_divergence: two_votes_of_the_block_on_one_line(ramp(64), zeros(64),
////     BARRIERS="s[t] = t < 40 ? __syncthreads_or(x[t]) : __syncthreads_or(!x[t]);")
//// barrier_divergence: barrier_that_part_of_a_warp_passes(ramp(160), zeros(160), block=160,
////     BARRIERS="if (t < 80) { s[t] = 0; __syncthreads(); } __syncthreads();")
//// barrier_divergence: barriers_in_a_loop_of_lanes(ramp(160), zeros(160), block=160,
////     BARRIERS="for (int i = t; i < 200; i += 160) { s[t] = i; __syncthreads(); } __syncthreads();")
__device__ __forceinline__ void meet(int* at) {
  *at = 1;
  __syncthreads();
}
(const int* x, int* out)
  __shared__ int s[160];
  s[t] = x[t];
  BARRIERS  // fault
  out[t] = s[t];
//// barrier_divergence: barrier_of_a_function_that_is_called_twice(ramp(64), zeros(64))
__device__ __noinline__ int meet(int* at, int v) {
  *at = v;
  return __syncthreads_or(v);  // fault
}
(const int* x, int* out)
  __shared__ int s[64];
  out[t] = t % 2 ? meet(s + t, x[t]) : meet(s + t, -x[t]) + 1;
//// barrier_divergence: aligned_barrier_and_another_one_in_a_warp(ramp(64), zeros(64),
////     FIRST="bar.sync 0;", SECOND="barrier.sync 0;")
//// barrier_divergence: barrier_reached_and_waited_at_in_a_warp(ramp(64), zeros(64),
////     FIRST="bar.arrive 1, 64;", SECOND="bar.sync 1, 64;")
//// barrier_divergence: barriers_that_halves_of_warps_complete(ramp(64), zeros(64),
////     FIRST="bar.sync 1, 32;", SECOND="bar.sync 2, 32;")
//// barrier_divergence: barrier_of_half_a_warp(ramp(64), zeros(64),
////     FIRST="bar.sync 1, 32;", SECOND="bar.sync 0;")
//// barrier_divergence: barriers_of_the_cluster_in_two_branches(ramp(64), zeros(64),
////     FIRST="barrier.cluster.arrive.aligned;", SECOND="barrier.cluster.arrive.aligned; ")
  if (t % 32 < 16) {
    asm volatile("FIRST" ::: "memory");  // fault
  } else {
    asm volatile("SECOND" ::: "memory");  // fault
  }
  asm volatile("bar.sync 0;" ::: "memory");  // fault
  out[t] = x[t];
//// barrier_divergence: return_before_a_barrier(ramp(50), zeros(50), np.int32(50), strict=True)
(const int* x, int* out, int n)
  __shared__ int s[64];
  if (t >= n) return;
  s[t] = x[t];
  __syncthreads();  // fault
  out[t] = s[n - 1 - t];
//// barrier_divergence: barrier_that_threads_pass_by_in_the_last_turn(ramp(112), zeros(64),
////     np.int32(112))
(const int* x, int* out, int n)
  __shared__ int s[64];
  s[t] = 0;
  __syncthreads();
  for (int i = 0; i < 2; ++i) {
    if (64 * i + t < n) {
      s[t] += x[64 * i + t];
      __syncthreads();  // fault
    }
  }
  if (t == 0) {
    for (int i = 0; i < 48; ++i) out[0] += s[i];
  }
//// race: volatile_stores_of_different_values(ramp(1), zeros(1), grid=2, block=1)
(const int* x, volatile int* out)
  *out = blockIdx.x + x[0];  // fault
//// race: volatile_stores_in_a_lock_without_fences(ramp(1), zeros(1), grid=2, block=1)
__device__ int lock;
(const int* x, volatile int* out)
  while (atomicCAS(&lock, 0, 1) != 0) {}
  *out = blockIdx.x + x[0];  // fault
  atomicExch(&lock, 0);
//// barrier_divergence: barrier_in_a_loop_of_unequal_length(ramp(100), zeros(64), np.int32(100),
////     strict=True)
(const int* x, int* out, int n)
  int sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    sum += x[i];
    __syncthreads();  // fault
  }
  out[threadIdx.x] = sum;
//// barrier_divergence: warp_barrier_that_names_an_exited_lane(ramp(32), zeros(32), block=32)
  __shared__ int s[32];
  const int lane = threadIdx.x;
  if (lane == 0) return;
  s[lane] = x[lane];
  __syncwarp(0xffffffffu);  // fault
  out[lane] = s[32 - lane];
//// barrier_divergence: two_collectives_that_wait_for_each_other(ramp(32), zeros(32), block=32)
  const int lane = threadIdx.x;
  int v = x[lane];
  if (lane < 16) {
    v = __shfl_down_sync(0xffffffffu, v, 1);  // fault
  } else {
    v = __ballot_sync(0xffffffffu, v > 20);  // fault
  }
  out[lane] = v;
//// barrier_divergence: collective_and_barrier_that_wait_for_each_other(ramp(64), zeros(64))
  int v = x[t];
  if (t == 5) {
    __syncthreads();  // fault
  } else {
    v = __any_sync(0xffffffffu, v == 5);  // fault
    __syncthreads();  // fault
  }
  out[t] = v;
//// deadlock: flag_set_behind_a_barrier_the_poller_must_reach(zeros(1), zeros(64),
////     also="barrier_divergence")
(int* flag, int* out)
  if (threadIdx.x == 7) {
    while (atomicAdd(flag, 0) == 0) {}  // fault
  }
  __syncthreads();  // fault
  if (threadIdx.x == 8) atomicExch(flag, 1);
  out[threadIdx.x] = 1;
//// deadlock: lock_never_released(zeros(1), zeros(1), grid=3, block=32)
(int* lock, int* total)
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) __nanosleep(100);  // fault
    __threadfence();
    total[0] += 1;
    __threadfence();
  }
//// deadlock: two_blocks_that_wait_for_each_other(zeros(2), zeros(2), grid=2, block=1)
(int* flags, int* out)
  const int b = blockIdx.x;
  while (atomicAdd(flags + 1 - b, 0) == 0) {}  // fault
  atomicExch(flags + b, 1);
  out[b] = 1;
//// deadlock: locks_taken_in_two_orders(zeros(2), zeros(1), zeros(1), grid=2, block=1)
(int* locks, int* met, int* total)
  int* const mine = locks + blockIdx.x;
  int* const other = locks + 1 - blockIdx.x;
  while (atomicCAS(mine, 0, 1) != 0) {}
  atomicAdd(met, 1);
  while (atomicAdd(met, 0) < 2) {}
  while (atomicCAS(other, 0, 1) != 0) {}  // fault
  atomicAdd(total, 1);
  atomicExch(other, 0);
  atomicExch(mine, 0);
