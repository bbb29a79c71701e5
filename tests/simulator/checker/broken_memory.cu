// Kernels that access what they must not: beyond bounds, misaligned, unwritten.
// clang-format off
//// out_of_bounds: read_past_the_end(ramp(100), zeros(101), np.int32(100), grid=2, array=0,
////     index=100, LINE="if (i <= n) out[i] = x[i];")
//// out_of_bounds: read_past_a_view_inside_its_array(ramp(100)[10:60], zeros(64), np.int32(50),
////     array=0, index=50, LINE="if (i <= n) out[i] = x[i];")
//// out_of_bounds: write_past_the_end(ramp(100), zeros(100), np.int32(100), grid=2, array=1,
////     index=100, LINE="if (i < n) out[i + 1] = x[i];")
(const int* x, int* out, int n)
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  LINE  // fault
//// out_of_bounds: read_before_the_start(ramp(50, np.float64), zeros(50, dtype=np.float64),
////     np.int32(50), array=0, index=-1)
(const double* x, double* out, int n)
  const int i = threadIdx.x;
  if (i < n) out[i] = x[i] - x[i - 1];  // fault
//// out_of_bounds: vector_read_across_the_end(ramp(62, np.float32), zeros(64, dtype=np.float32),
////     np.int32(62), array=0)
(const float* x, float* out, int n)
  const int i = threadIdx.x;
  if (i < (n + 3) / 4) {
    const float4 v = reinterpret_cast<const float4*>(x)[i];  // fault
    reinterpret_cast<float4*>(out)[i] = make_float4(v.w, v.z, v.y, v.x);
  }
//// out_of_bounds: atomic_past_the_end(ramp(64), zeros(63), array=1, index=63)
(const int* x, int* bins)
  atomicAdd(&bins[x[threadIdx.x]], 1);  // fault
//// out_of_bounds: shared_array_overrun_into_the_next(ramp(64), zeros(64), array="a", index=64)
  __shared__ int a[64];
  __shared__ int b[64];
  b[t] = x[t];
  if (t == 0) a[0] = 0;
  __syncthreads();
  a[t + 1] = b[t];  // fault
  __syncthreads();
  out[t] = a[t] + b[63 - t];
//// out_of_bounds: shared_array_read_before_the_start(ramp(64), zeros(64), array="b", index=-1)
  __shared__ int a[64];
  __shared__ int b[64];
  a[t] = x[t];
  b[t] = -x[t];
  __syncthreads();
  const int v = b[t - 1];  // fault
  out[t] = v + a[63 - t];
//// out_of_bounds: dynamic_shared_too_small(ramp(64), zeros(64), shared_mem=4 * 63,
////     array="s", index=63)
  extern __shared__ int s[];
  s[threadIdx.x] = x[threadIdx.x];  // fault
  __syncthreads();
  if (threadIdx.x < 63) out[threadIdx.x] = s[62 - threadIdx.x];
//// misaligned: float4_from_the_second_float(ramp(72, np.float32), zeros(64, dtype=np.float32),
////     block=16, array=0)
(const float* x, float4* out)
  const int i = threadIdx.x;
  out[i] = *reinterpret_cast<const float4*>(x + 1 + 4 * i);  // fault
//// misaligned: double_at_a_multiple_of_four(zeros(136, dtype=np.uint8),
////     zeros(16, dtype=np.float64), block=16, array=0)
(const unsigned char* x, double* out)
  const double v = *reinterpret_cast<const double*>(x + 4 + 8 * threadIdx.x);  // fault
  out[threadIdx.x] = v * 2;
//// misaligned: double_in_dynamic_shared_after_an_int(ramp(16, np.float64),
////     zeros(16, dtype=np.float64), block=16, shared_mem=256, array="s")
(const double* x, double* out)
  extern __shared__ int s[];
  double* const values = reinterpret_cast<double*>(s + 1);
  values[threadIdx.x] = x[threadIdx.x];  // fault
  __syncthreads();
  out[threadIdx.x] = values[15 - threadIdx.x];  // fault
//// uninitialized: half_of_a_shared_array_written(ramp(64), zeros(64), array="s", index=40,
////     WRITTEN="t != 40")
//// uninitialized: shared_memory_left_by_another_block(ramp(64), zeros(8, 64), grid=8, array="s",
////     WRITTEN="blockIdx.x == 0")
  __shared__ int s[64];
  if (WRITTEN) s[t] = x[t];
  __syncthreads();
  out[blockIdx.x * 64 + t] = s[63 - t];  // fault
//// uninitialized: reduction_of_a_block_not_full(ramp(63), zeros(1), np.int32(63), array="s",
////     index=63)
(const int* x, int* out, int n)
  __shared__ int s[64];
  if (t < n) s[t] = x[t];
  __syncthreads();
  for (int d = 32; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];  // fault
    __syncthreads();
  }
  if (t == 0) out[0] = s[0];
//// uninitialized: shared_sum_never_cleared(ramp(64), zeros(64), array="total")
  __shared__ int total;
  atomicAdd(&total, x[threadIdx.x]);  // fault
  __syncthreads();
  if (threadIdx.x == 0) out[0] = total;
//// uninitialized: dynamic_shared_padding_read(ramp(64, np.float32), zeros(64, dtype=np.float32),
////     shared_mem=4 * 66, array="s", index=65)
(const float* x, float* out)
  extern __shared__ float s[];
  s[t + 1] = x[t];
  if (t == 0) s[0] = 0;
  __syncthreads();
  out[t] = s[t] + s[t + 2];  // fault
//// uninitialized: added_to_an_output_nothing_wrote(ramp(64), empty(64, np.int32), array=1)
  out[threadIdx.x] += x[threadIdx.x];  // fault
//// uninitialized: counter_of_blocks_never_cleared(empty(1, np.uint32), zeros(1), grid=3, array=0,
////     index=0)
(unsigned* done, int* out)
  if (threadIdx.x == 0 && atomicInc(done, gridDim.x - 1) == gridDim.x - 1) out[0] = 1;  // fault
//// race: read_only_load_of_what_the_thread_wrote(zeros(64), zeros(64), array=0,
////     WRITE="x[t] = 3;", READ="look(x + t)", AFTER="")
//// race: read_only_load_of_what_others_wrote(zeros(64), zeros(64), array=0,
////     WRITE="x[t] = 3; __syncthreads();", READ="__ldg(x + 63 - t)", AFTER="")
//// race: read_only_load_of_what_atomics_counted(zeros(64), zeros(64), array=0,
////     WRITE="atomicAdd(x + t % 8, 1); __syncthreads();", READ="__ldg((const uint2*)x + 1).y", AFTER="")
//// race: read_only_load_of_what_is_written_afterwards(zeros(64), zeros(64), array=0,
////     WRITE="", READ="__ldg(x + t)", AFTER="__syncthreads(); x[63 - t] = 1;")
//// race: read_only_load_of_a_byte_that_is_written_afterwards(zeros(64), zeros(64), array=0,
////     WRITE="", READ="__ldg((const char*)x + t)", AFTER="__syncthreads(); x[(63 - t) / 4] = 0;")
//// race: read_only_load_of_what_the_thread_writes_afterwards(zeros(64), zeros(64), array=0,
////     WRITE="", READ="__ldg(x + t)", AFTER="x[t] = v + 1;", strict=True)
__device__ __forceinline__ int look(const int* at) {
  int v;  // compilers assume that __ldg sees the thread's own write
  asm volatile("ld.global.nc.s32 %0, [%1];" : "=r"(v) : "l"(at) : "memory");
  return v;
}
(int* x, int* out)
  WRITE  // fault
  const int v = READ;  // fault
  AFTER  // fault
  out[t] = v;
//// race: argument_with_restrict_that_is_the_output_too(*[zeros(64)] * 2, array=0)
(const int* __restrict__ x, int* __restrict__ out)
  const int v = x[t];  // fault
  __syncthreads();
  out[63 - t] = v + 1;  // fault
