// Kernels that access what they must not, in ways that their types hide.
// clang-format off
//// out_of_bounds: ptx_offset_past_the_end(ramp(64), zeros(64), array=0, index=64)
  int v;
  asm volatile("ld.global.s32 %0, [%1+4];" : "=r"(v) : "l"(x + threadIdx.x));  // fault
  out[threadIdx.x] = v;
//// out_of_bounds: ptx_offset_before_the_start_of_shared_memory(ramp(64), zeros(64), array="s",
////     index=-1)
  __shared__ int s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  int v;
  const unsigned at = (unsigned)__cvta_generic_to_shared(s + threadIdx.x);
  asm volatile("ld.shared.s32 %0, [%1+-4];" : "=r"(v) : "r"(at));  // fault
  out[threadIdx.x] = v;
//// misaligned: ptx_vector_that_is_misaligned(ramp(72), zeros(64), block=16, array=0)
(const int* x, int4* out)
  int4 v;
  asm volatile("ld.global.v4.s32 {%0, %1, %2, %3}, [%4+8];"  // fault
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(x + 4 * threadIdx.x));  // fault
  out[threadIdx.x] = v;
//// out_of_bounds: halves_past_the_end(ramp(64, np.float16), zeros(64, dtype=np.float16),
////     array="s", index=64)
#include <cuda_fp16.h>
(const __half* x, __half* out)
  __shared__ __half s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = __hadd(s[threadIdx.x], s[threadIdx.x + 1]);  // fault
//// misaligned: pair_of_halves_at_an_odd_half(ramp(40, np.float16), zeros(32, dtype=np.float16),
////     block=16, array=0)
#include <cuda_fp16.h>
(const __half* x, __half2* out)
  const __half2 v = *reinterpret_cast<const __half2*>(x + 1 + 2 * threadIdx.x);  // fault
  out[threadIdx.x] = __hadd2(v, v);
//// out_of_bounds: structure_of_12_bytes_past_the_end(ramp(48, np.float32),
////     zeros(48, dtype=np.float32), block=16, array=1)
(const float3* x, float3* out)
  const float3 v = x[threadIdx.x];
  out[threadIdx.x + 1] = make_float3(v.z, v.y, v.x);  // fault
//// out_of_bounds: seven_bytes_past_the_end(ramp(7, np.int8), zeros(7, dtype=np.int8), block=1,
////     array=1, index=7)
(const char* x, char* out)
  memcpy(out + 7 * threadIdx.x + 1, x + 7 * threadIdx.x, 7);  // fault
//// race: seven_bytes_that_overlap(ramp(112, np.int8), zeros(112, dtype=np.int8), block=16,
////     array=1)
(const char* x, char* out)
  memcpy(out + 6 * threadIdx.x, x + 7 * threadIdx.x, 7);  // fault
//// out_of_bounds: local_array_past_its_end(ramp(9), zeros(9), block=9)
  int list[8];
  for (int i = 0; i < 8; ++i) list[x[i] % 8] = i;
  out[threadIdx.x] = list[x[threadIdx.x]];  // fault
//// uninitialized: local_array_of_which_one_element_is_not_written(ramp(8), zeros(8), block=8)
  int list[8];
  for (int i = 0; i < 7; ++i) list[x[i]] = i;
  out[threadIdx.x] = list[x[threadIdx.x]] + 1;  // fault
//// out_of_bounds: local_array_of_another_thread(ramp(8), zeros(8), block=8)
  __shared__ int* list_of_first;
  int list[8];
  for (int i = 0; i < 8; ++i) list[x[i] % 8] = i;
  if (threadIdx.x == 0) list_of_first = list;
  __syncthreads();
  out[threadIdx.x] = list_of_first[x[threadIdx.x] % 8];  // fault
  __syncthreads();
  out[threadIdx.x] += list[x[threadIdx.x] % 8];
//// out_of_bounds: constant_written(ramp(4), zeros(4), block=4)
__constant__ int table[4] = {1, 2, 3, 4};
(const int* x, int* out)
  asm volatile("st.s32 [%0], 7;" ::"l"(table + x[threadIdx.x]) : "memory");  // fault
  out[threadIdx.x] = table[x[threadIdx.x]];
//// out_of_bounds: variable_of_the_module_past_its_end(ramp(9), zeros(9), block=9, array="table")
__device__ int table[8];
(const int* x, int* out)
  table[x[threadIdx.x]] = 7;  // fault
  out[threadIdx.x] = 1;
//// uninitialized: structure_of_which_one_member_is_not_written(ramp(64), zeros(64), array="s")
  __shared__ int2 s[64];
  s[threadIdx.x].x = x[threadIdx.x];
  __syncthreads();
  const int2 v = s[63 - threadIdx.x];  // fault
  out[threadIdx.x] = v.x + v.y;
//// out_of_bounds: heap_past_the_end(ramp(17), zeros(17), block=8)
  int* const list = (int*)malloc(16 * sizeof(int));
  for (int i = 0; i < 17; ++i) list[x[i]] = i;  // fault
  out[threadIdx.x] = list[x[threadIdx.x]];
  free(list);
//// uninitialized: heap_read_before_it_is_written(ramp(16), zeros(16), block=8)
  int* const list = (int*)malloc(16 * sizeof(int));
  for (int i = 0; i < 15; ++i) list[x[i]] = i;
  out[threadIdx.x] = list[x[15]] + 1;  // fault
  free(list);
