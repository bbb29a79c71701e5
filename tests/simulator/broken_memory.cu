// Kernels of broken_memory.py, each under its row's name.
// clang-format off
//// read_past_the_end
extern "C" __global__ void k(const int* x, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) out[i] = x[i];  // fault
}
//// write_past_the_end
extern "C" __global__ void k(const int* x, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const int v = x[i];
    out[i + 1] = v;  // fault
  }
}
//// read_before_the_start
extern "C" __global__ void k(const double* x, double* out, int n) {
  const int i = threadIdx.x;
  if (i < n) out[i] = x[i] - x[i - 1];  // fault
}
//// null_pointer
extern "C" __global__ void k(const int* x, int* out, unsigned long long offset) {
  const int* const y = reinterpret_cast<const int*>(offset);
  const int v = y[threadIdx.x];  // fault
  out[threadIdx.x] = v + x[threadIdx.x];
}
//// grid_without_a_guard
extern "C" __global__ void k(int* x, int a) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = a;  // fault
}
//// vector_read_across_the_end
extern "C" __global__ void k(const float* x, float* out, int n) {
  const int i = threadIdx.x;
  if (i < (n + 3) / 4) {
    const float4 v = reinterpret_cast<const float4*>(x)[i];  // fault
    reinterpret_cast<float4*>(out)[i] = make_float4(v.w, v.z, v.y, v.x);
  }
}
//// atomic_past_the_end
extern "C" __global__ void k(const int* x, int* bins) {
  atomicAdd(&bins[x[threadIdx.x]], 1);  // fault
}
//// read_past_a_view_inside_its_array
extern "C" __global__ void k(const int* x, int* out, int n) {
  const int i = threadIdx.x;
  if (i <= n) out[i] = x[i];  // fault
}
//// shared_array_overrun_into_the_next
extern "C" __global__ void k(const int* x, int* out) {
  __shared__ int a[64];
  __shared__ int b[64];
  const int t = threadIdx.x;
  b[t] = x[t];
  if (t == 0) a[0] = 0;
  __syncthreads();
  a[t + 1] = b[t];  // fault
  __syncthreads();
  out[t] = a[t] + b[63 - t];
}
//// shared_array_read_before_the_start
extern "C" __global__ void k(const int* x, int* out) {
  __shared__ int a[64];
  __shared__ int b[64];
  const int t = threadIdx.x;
  a[t] = x[t];
  b[t] = -x[t];
  __syncthreads();
  const int v = b[t - 1];  // fault
  out[t] = v + a[63 - t];
}
//// shared_array_smaller_than_the_block
extern "C" __global__ void k(const int* x, int* out) {
  __shared__ int s[64];
  s[threadIdx.x] = x[threadIdx.x];  // fault
  __syncthreads();
  if (threadIdx.x < 64) out[threadIdx.x] = s[63 - threadIdx.x];
}
//// dynamic_shared_too_small
extern "C" __global__ void k(const int* x, int* out) {
  extern __shared__ int s[];
  s[threadIdx.x] = x[threadIdx.x];  // fault
  __syncthreads();
  if (threadIdx.x < 63) out[threadIdx.x] = s[62 - threadIdx.x];
}
//// template_past_the_end
template <typename T, int kPerThread>
__global__ void scale(const T* x, T* out, int n) {
  for (int j = 0; j < kPerThread; ++j) {
    const int i = threadIdx.x * kPerThread + j;
    if (i <= n) out[i] = x[i] * 2;  // fault
  }
}
//// float4_from_the_second_float
extern "C" __global__ void k(const float* x, float4* out) {
  const int i = threadIdx.x;
  out[i] = *reinterpret_cast<const float4*>(x + 1 + 4 * i);  // fault
}
//// double_at_a_multiple_of_four
extern "C" __global__ void k(const unsigned char* x, double* out) {
  const double v = *reinterpret_cast<const double*>(x + 4 + 8 * threadIdx.x);  // fault
  out[threadIdx.x] = v * 2;
}
//// int_written_at_an_odd_byte
extern "C" __global__ void k(int v, unsigned char* out) {
  *reinterpret_cast<int*>(out + 1 + 4 * threadIdx.x) = v;  // fault
}
//// double_in_dynamic_shared_after_an_int
extern "C" __global__ void k(const double* x, double* out) {
  extern __shared__ int s[];
  double* const values = reinterpret_cast<double*>(s + 1);
  values[threadIdx.x] = x[threadIdx.x];  // fault
  __syncthreads();
  out[threadIdx.x] = values[15 - threadIdx.x];  // fault
}
//// half_of_a_shared_array_written
extern "C" __global__ void k(const int* x, int* out) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  if (t != 40) s[t] = x[t];
  __syncthreads();
  out[t] = s[63 - t];  // fault
}
//// reduction_of_a_block_not_full
extern "C" __global__ void k(const int* x, int* out, int n) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  if (t < n) s[t] = x[t];
  __syncthreads();
  for (int d = 32; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];  // fault
    __syncthreads();
  }
  if (t == 0) out[0] = s[0];
}
//// shared_memory_left_by_another_block
extern "C" __global__ void k(const int* x, int* out) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  if (blockIdx.x == 0) s[t] = x[t];
  __syncthreads();
  out[blockIdx.x * 64 + t] = s[63 - t];  // fault
}
//// shared_sum_never_cleared
extern "C" __global__ void k(const int* x, int* out) {
  __shared__ int total;
  atomicAdd(&total, x[threadIdx.x]);  // fault
  __syncthreads();
  if (threadIdx.x == 0) out[0] = total;
}
//// dynamic_shared_padding_read
extern "C" __global__ void k(const float* x, float* out) {
  extern __shared__ float s[];
  const int t = threadIdx.x;
  s[t + 1] = x[t];
  if (t == 0) s[0] = 0;
  __syncthreads();
  out[t] = s[t] + s[t + 2];  // fault
}
//// added_to_an_output_nothing_wrote
extern "C" __global__ void k(const int* x, int* out) {
  out[threadIdx.x] += x[threadIdx.x];  // fault
}
//// last_element_of_a_workspace_not_written
extern "C" __global__ void k(const double* x, double* work, double* out, int n) {
  const int i = threadIdx.x;
  if (i < n - 1) work[i] = x[i] * 2;
  __syncthreads();
  if (i < n) out[i] = work[n - 1 - i];  // fault
}
//// counter_of_blocks_never_cleared
extern "C" __global__ void k(unsigned* done, int* out) {
  if (threadIdx.x == 0 && atomicInc(done, gridDim.x - 1) == gridDim.x - 1) out[0] = 1;  // fault
}
