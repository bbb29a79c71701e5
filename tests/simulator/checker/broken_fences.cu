// Kernels whose threads synchronize too little. broken_fences.py has more of them.
// clang-format off
//// race: barrier_of_the_grid_without_fences(ramp(64), zeros(64), zeros(64),
////     zeros(1, dtype=np.uint32), grid=2, block=32, array=1)
(const int* x, int* between, int* out, unsigned* arrived)
  const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  between[i] = 2 * x[i];  // fault
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1u);
    while (atomicAdd(arrived, 0u) < gridDim.x) {}
  }
  __syncthreads();
  out[i] = between[n - 1 - i];  // fault
//// race: release_overwritten_by_another_block(zeros(1), zeros(2), zeros(1), grid=3, block=1,
////     array=0, index=0)
// The second block's store does not continue the first one's release, which no other block reads.
(int* data, int* flag, int* out)
  if (blockIdx.x == 0) {
    data[0] = 42;  // fault
    __threadfence();
    atomicExch(flag, 1);
  } else if (blockIdx.x == 1) {
    while (atomicAdd(flag, 0) != 1) {}
    asm volatile("st.relaxed.gpu.global.s32 [%0], 2;" ::"l"(flag) : "memory");
    atomicExch(flag + 1, 1);
  } else {
    while (atomicAdd(flag + 1, 0) == 0) {}
    int seen;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    out[0] = data[0] + seen;  // fault
  }
//// race: guess_that_is_used_elsewhere(zeros(1), zeros(3), grid=3, block=1, array=0, index=0)
(int* sum, int* out)
  int old = *sum, assumed;  // fault
  out[blockIdx.x] = old;
  do {
    assumed = old;
    old = atomicCAS(sum, assumed, assumed + 1);  // fault
  } while (assumed != old);
//// race: counter_of_the_grid_by_atomics_of_the_block(ramp(128), zeros(1), grid=2, array=1,
////     index=0)
(const int* x, int* count)
  if (x[blockIdx.x * blockDim.x + threadIdx.x] % 2 == 0) atomicAdd_block(count, 1);  // fault
//// race: last_block_without_fences(ramp(3), zeros(3), zeros(1, dtype=np.uint32),
////     zeros(3), grid=3, block=32, array=1, BEFORE="", AFTER="")
//// race: last_block_without_a_fence_of_the_writers(ramp(3), zeros(3), zeros(1, dtype=np.uint32),
////     zeros(3), grid=3, block=32, array=1, BEFORE="", AFTER="__threadfence();")
//// race: last_block_without_a_fence_of_the_reader(ramp(3), zeros(3), zeros(1, dtype=np.uint32),
////     zeros(3), grid=3, block=32, array=1, strict=True, BEFORE="__threadfence();", AFTER="")
// The barrier after the counter serves in place of the reader's fence, except in strict launches.
(const int* x, int* partial, unsigned* done, int* out)
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = x[blockIdx.x];  // fault
    BEFORE
    last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  AFTER
  if (threadIdx.x < gridDim.x) out[threadIdx.x] = partial[threadIdx.x];  // fault
//// race: lock_given_back_without_a_fence(zeros(1), zeros(1), grid=3, block=1, array=1,
////     TAKE="while (atomicCAS(lock, 0, 1) != 0) {} __threadfence();", GIVE="atomicExch(lock, 0);")
//// race: lock_taken_without_a_fence(zeros(1), zeros(1), grid=3, block=1, array=1,
////     TAKE="while (atomicCAS(lock, 0, 1) != 0) {}", GIVE="__threadfence(); atomicExch(lock, 0);")
//// race: lock_given_back_by_a_plain_store(zeros(1), zeros(1), grid=3, block=1,
////     TAKE="while (atomicCAS(lock, 0, 1) != 0) {} __threadfence();  // fault",
////     GIVE="__threadfence(); *lock = 0;  // fault")
//// race: lock_of_the_block(zeros(1), zeros(1), grid=3, block=1,
////     TAKE="while (atomicCAS_block(lock, 0, 1) != 0) {} __threadfence();  // fault",
////     GIVE="__threadfence(); atomicExch_block(lock, 0);  // fault")
(int* lock, int* total)
  TAKE
  total[0] += 1;  // fault
  GIVE
//// race: flag_reset_by_who_has_not_seen_it(zeros(1), zeros(1), grid=2, block=1, array=0, SEE="")
//// race: flag_reset_after_a_weak_read(zeros(1), zeros(1), grid=2, block=1, array=0,
////     SEE="out[0] = *flag;  // fault")
//// race: flag_reset_after_an_atomic_of_the_block(zeros(1), zeros(1), grid=2, block=1, array=0,
////     SEE="while (atomicAdd_block(flag, 0) == 0) {}  // fault")
(int* flag, int* out)
  if (blockIdx.x == 0) {
    atomicExch(flag, 1);  // fault
  } else {
    SEE
    *flag = 2;  // fault
  }
//// race: data_behind_a_flag_that_is_only_reset(zeros(1), zeros(1), zeros(1), grid=2, block=1,
////     array=0)
// The reader sees the flag itself, but not what its writer did before.
(int* data, int* flag, int* out)
  if (blockIdx.x == 0) {
    data[0] = 42;  // fault
    __threadfence();
    atomicExch(flag, 1);
  } else {
    int seen;
    do {
      asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    } while (seen == 0);
    *flag = 0;
    out[0] = data[0];  // fault
  }
