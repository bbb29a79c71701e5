// Kernels that use values which nothing wrote, or which come from lanes that are not there. Marks
// stand where the values come from; the message says where they are used.
// clang-format off
//// inactive_lane: reduction_of_a_warp_not_full(ramp(16), zeros(1), block=16)
//// inactive_lane: reduction_whose_second_warp_is_not_full(ramp(40), zeros(2), block=40)
  int v = x[t];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);  // fault
  if (t % 32 == 0) out[t / 32] = v;
//// inactive_lane: shuffle_from_outside_of_the_mask(ramp(32), zeros(32), block=32)
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0xffffu, x[threadIdx.x], 20);  // fault
//// inactive_lane: shuffle_from_an_exited_lane(ramp(32), zeros(32), block=32)
  if (t >= 20) return;
  const int other = __shfl_xor_sync(0xfffffu, x[t], 16);  // fault
  if (other > 3) out[t] = 1;
//// inactive_lane: shuffle_that_gives_an_index(ramp(64), zeros(64), block=8)
  __shared__ int s[64];
  for (int i = threadIdx.x; i < 64; i += 8) s[i] = 63 - i;
  __syncthreads();
  const int i = __shfl_sync(0xffu, x[threadIdx.x], threadIdx.x + 2) & 7;  // fault
  out[threadIdx.x] = s[i];
//// inactive_lane: shuffle_whose_result_goes_through_shared_memory(ramp(48), zeros(48), block=48)
  __shared__ int s[48];
  s[threadIdx.x] = __shfl_down_sync(~0u, x[threadIdx.x], 1);  // fault
  __syncthreads();
  atomicAdd(out, s[47 - threadIdx.x]);
//// inactive_lane: scan_of_a_group_beyond_its_lanes(ramp(24), zeros(24), block=24)
#include <cooperative_groups.h>
  namespace cg = cooperative_groups;
  int v = x[threadIdx.x];
  v += __shfl_up_sync(0x00ffff00u | 0xffu, v, 1);
  v += __shfl_down_sync(0x00ffffffu, v, 1);  // fault
  out[threadIdx.x] = v;
//// uninitialized: value_selected(ramp(64), zeros(64), array="s", index=40,
////     USE="out[t] = x[t] < 64 ? v : 0;")
//// uninitialized: value_that_decides(ramp(64), zeros(64), array="s", index=40,
////     USE="if (v > 10) out[t] = 1;")
//// uninitialized: value_that_is_an_index(ramp(64), zeros(64), array="s", index=40,
////     USE="out[v & 63] = 1;")
//// uninitialized: value_added_atomically(ramp(64), zeros(1), array="s", index=40,
////     USE="atomicAdd(out, v);")
//// uninitialized: value_that_lanes_exchange(ramp(64), zeros(2), array="s", index=40,
////     USE="v = __reduce_add_sync(~0u, v); if (t % 32 == 0) out[t / 32] = v;")
//// uninitialized: value_that_a_function_returns(ramp(64), zeros(64), array="s", index=40,
////     USE="out[t] = twice(v, x[t]);")
//// uninitialized: value_copied_twice(ramp(64), zeros(64), array="s", index=40,
////     USE="u[t] = v + 1; __syncthreads(); out[t] = u[63 - t];")
//// uninitialized: value_in_a_local_array(ramp(64), zeros(64), array="s", index=40,
////     USE="for (int i = 0; i < 4; ++i) list[(i + x[t]) % 4] = i < 3 ? i : v;
////     out[t] = list[(t + 3) % x[4]];")
//// uninitialized: value_printed(ramp(64), zeros(64), array="s", index=40,
////     USE="if (t == 23) printf(\"%d\\n\", v);")
__device__ __noinline__ int twice(int v, int n) { return n > 0 ? 2 * v : 0; }
(const int* x, int* out)
  __shared__ int s[64], u[64];
  if (t != 40) s[t] = x[t];
  __syncthreads();
  int v = s[63 - t], list[4];  // fault
  USE
//// uninitialized: member_that_nothing_wrote(ramp(64, np.uint8), zeros(64), array="s")
(const unsigned char* x, int* out)
  __shared__ uchar4 s[64];
  s[t].x = x[t];
  s[t].y = 2;
  s[t].w = 4;
  __syncthreads();
  const uchar4 v = s[63 - t];  // fault
  out[t] = v.x + v.z;
//// uninitialized: halo_that_nothing_wrote(ramp(64), zeros(64), array="s", index=0)
  __shared__ int s[66];
  s[t + 1] = x[t];
  if (t == 0) s[65] = 0;
  __syncthreads();
  const int before = s[t];  // fault
  out[t] = s[t + 1] - before;
//// uninitialized: half_of_a_word_that_nothing_wrote(ramp(64), zeros(64), array="s",
////     READ="word.halves[1]")
//// uninitialized: byte_of_a_word_that_nothing_wrote(ramp(64), zeros(64), array="s",
////     READ="word.bytes[2]")
union Word {
  unsigned short halves[2];
  unsigned char bytes[4];
};
(const int* x, int* out)
  __shared__ Word s[64];
  s[t].halves[0] = x[t];
  __syncthreads();
  const Word word = s[63 - t];  // fault
  out[t] = READ;
//// uninitialized: double_of_two_words(ramp(64), zeros(64, dtype=np.float64), array="s", index=20)
(const int* x, double* out)
  __shared__ int2 s[64];
  s[t].x = x[t];
  if (t != 20) s[t].y = x[t];
  __syncthreads();
  const int2 v = s[63 - t];  // fault
  out[t] = __hiloint2double(v.y, v.x);
//// uninitialized: member_of_a_copied_structure(ramp(64), zeros(64), array="s", MEMBER="item.tag")
//// uninitialized: member_of_a_copied_structure_in_a_function(ramp(64), zeros(64), array="s",
////     MEMBER="one_of(item, t)")
struct Item {
  char tag;
  short count;
  double value;
};
__device__ __noinline__ int one_of(const Item& item, int t) {
  return t % 2 == 0 ? item.tag : item.count;
}
(const int* x, int* out)
  __shared__ Item s[64], u[64];
  s[t].value = x[t];
  __syncthreads();
  u[t] = s[63 - t];  // fault
  __syncthreads();
  const Item& item = u[t ^ 1];
  out[t] = MEMBER + item.value;
//// uninitialized: product_of_rows_that_nothing_wrote(zeros(16, 16, dtype=np.float16),
////     zeros(8, 16, dtype=np.float16), zeros(16, 8, dtype=np.float32), np.int32(10), np.int32(8),
////     block=32, array="s")
//// uninitialized: product_of_columns_that_nothing_wrote(zeros(16, 16, dtype=np.float16),
////     zeros(8, 16, dtype=np.float16), zeros(16, 8, dtype=np.float32), np.int32(16), np.int32(5),
////     block=32, array="u")
(const void* a, const void* b, float* out, int rows, int columns)
  __shared__ __align__(16) unsigned short s[16][16], u[8][16];
  const int l = threadIdx.x, row = l / 4, column = 2 * (l % 4);
  for (int i = l; i < 16 * rows; i += 32) s[i / 16][i % 16] = ((const unsigned short*)a)[i];
  for (int i = l; i < 16 * columns; i += 32) u[i / 16][i % 16] = ((const unsigned short*)b)[i];
  __syncwarp();
  unsigned p[4], q[2];
  const unsigned from = (unsigned)__cvta_generic_to_shared(&s[l % 16][l / 16 * 8]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"  // fault
               : "=r"(p[0]), "=r"(p[1]), "=r"(p[2]), "=r"(p[3]) : "r"(from) : "memory");  // fault
  for (int i = 0; i < 2; ++i) q[i] = *reinterpret_cast<unsigned*>(&u[row][column + 8 * i]);  // fault
  float c[4] = {};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "r"(q[0]), "r"(q[1]));
  for (int i = 0; i < 4; ++i) {
    const int y = row + i / 2 * 8, x = column + i % 2;
    out[8 * y + x] = c[i];
  }
//// uninitialized: row_of_a_matrix_that_nothing_wrote(zeros(32), zeros(32), np.int32(25), block=32,
////     array="s", index=24)
(const int* x, int* out, int n)
  __shared__ __align__(16) int s[32], u[8][4];
  const int l = threadIdx.x;
  if (l < 24) s[l] = x[l];
  __syncwarp();
  const int v = s[l];  // fault
  const unsigned to = (unsigned)__cvta_generic_to_shared(u[l % 8]);
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(to), "r"(v) : "memory");
  __syncwarp();
  if (l < n) out[l] = u[l / 4][l % 4];
//// uninitialized: byte_that_is_inserted_beside(zeros(64, dtype=np.uint32),
////     zeros(64, dtype=np.uint32), array="s", USE="v.z = 0; out[t] = *reinterpret_cast<unsigned*>(&v)")
//// uninitialized: byte_that_is_permuted(zeros(64, dtype=np.uint32), zeros(64, dtype=np.uint32),
////     array="s", USE="out[t] = __byte_perm(0, *reinterpret_cast<unsigned*>(&v), 0x7000)")
(const unsigned* x, unsigned* out)
  __shared__ uchar4 s[64];
  s[t].x = x[t];
  s[t].y = x[t] >> 8;
  __syncthreads();
  uchar4 v = s[63 - t];  // fault
  USE;
