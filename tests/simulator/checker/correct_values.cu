// Kernels that load what nothing wrote, or shuffle from lanes that are not there, without using it.
// clang-format off
//// shuffles_of_a_warp_not_full(ints(rng, 16), poison(1, np.int32), block=16) -> x, _: {1: x.sum()}
  int v = x[threadIdx.x];
  for (int d = 8; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (threadIdx.x == 0) out[0] = v;
//// shuffles_whose_last_warp_is_not_full(ints(rng, 40), poison(2, np.int32), block=40) ->
////     x, _: {1: [x[:32].sum(), x[32:].sum()]}
  const int lane = threadIdx.x % 32, last = min(32, 40 - (int)threadIdx.x / 32 * 32);
  int v = x[threadIdx.x];
  for (int d = 16; d > 0; d /= 2) {
    const int other = __shfl_down_sync(~0u, v, d);
    if (lane + d < last) v += other;
  }
  if (lane == 0) out[threadIdx.x / 32] = v;
//// scan_of_lanes_of_a_mask(ints(rng, 32), poison(32, np.int32), block=32) ->
////     x, _: {1: np.concatenate([np.cumsum(x[:20]), x[20:]])}
  int v = x[t];
  if (t < 20) {
    for (int d = 1; d < 32; d *= 2) {
      const int other = __shfl_sync(0xfffffu, v, t - d);
      v += t >= d ? other : 0;
    }
  }
  out[t] = v;
//// butterfly_whose_partners_have_exited(ints(rng, 32), poison(32, np.int32), block=32) ->
////     x, y: {1: np.where(np.arange(32) < 20,
////         np.where((np.arange(32) ^ 16) < 20, x[np.arange(32) ^ 16], 0), y)}
  if (t >= 20) return;
  const int other = __shfl_xor_sync(0xfffffu, x[t], 16);
  out[t] = (t ^ 16) < 20 ? other : 0;
//// value_not_selected(ints(rng, 64), poison(64, np.int32), block=64,
////     USE="out[t] = 63 - t != 40 ? v : 0;") -> x, *_: {1: np.where(np.arange(64) == 23, 0, x[::-1])}
//// value_compared_only_where_it_is_written(ints(rng, 64), poison(64, np.int32), block=64,
////     USE="if ((t != 23) & (v > 0)) { out[t] = 1; } else { out[t] = 0; }") ->
////     x, _: {1: (np.where(np.arange(64) == 23, -1, x[::-1]) > 0).astype(np.int32)}
//// function_whose_argument_is_not_used(ints(rng, 64), poison(64, np.int32), block=64,
////     USE="out[t] = twice(v, t != 23);") ->
////     x, _: {1: np.where(np.arange(64) == 23, 0, 2 * x[::-1])}
//// value_replaced_in_shared_memory(ints(rng, 64), poison(64, np.int32), block=64,
////     USE="u[t] = v; if (t == 23) u[t] = x[40]; __syncthreads(); out[t] = u[63 - t];") ->
////     x, _: {1: x}
__device__ __noinline__ int twice(int v, bool ok) { return ok ? 2 * v : 0; }
(const int* x, int* out)
  __shared__ int s[64], u[64];
  if (t != 40) s[t] = x[t];
  __syncthreads();
  const int v = s[63 - t];
  USE
//// value_computed_and_not_selected(ints(rng, 64, np.float32), poison(64, np.float32), block=64) ->
////     x, _: {1: np.where(np.arange(64) == 23, 0, x[::-1] * x[::-1] + 1)}
(const float* x, float* out)
  __shared__ float s[64];
  if (t != 40) s[t] = x[t];
  __syncthreads();
  const float v = fmaf(s[63 - t], s[63 - t], 1);
  out[t] = t != 23 ? v : 0;
//// prefetch_that_no_turn_consumes(ints(rng, (4, 32)), poison(32, np.int32), np.int32(4), block=32)
////     -> x, *_: {1: x.sum(0)}
(const int* x, int* out, int n)
  __shared__ int s[5][32];
  for (int i = 0; i < n; ++i) s[i][t] = x[32 * i + t];
  __syncwarp();
  int sum = 0, next = s[0][31 - t];
  for (int i = 0; i < n; ++i) {
    const int now = next;
    next = s[i + 1][31 - t];
    sum += now;
  }
  out[31 - t] = sum;
//// prefetch_by_copies_that_no_turn_consumes(ints(rng, 64), empty(64, np.int32), poison(64, np.int32),
////     np.int32(1), block=64) -> x, _, __, n: {2: x}
(const int* x, const int* more, int* out, int n)
  __shared__ int s[2][64];
  const unsigned to = (unsigned)__cvta_generic_to_shared(&s[0][t]);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(x + t));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to + 256), "l"(more + t));
  asm volatile("cp.async.wait_all;" ::: "memory");
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += s[i][t];
  out[t] = sum;
//// three_of_four_bytes(words(rng, 64, np.uint8), poison(64, np.int32), block=64) ->
////     x, _: {1: x[::-1].astype(np.int32) + 6}
(const unsigned char* x, int* out)
  __shared__ uchar4 s[64];
  s[t].x = x[t];
  s[t].y = 2;
  s[t].w = 4;
  __syncthreads();
  const uchar4 v = s[63 - t];
  out[t] = v.x + v.y + v.w;
//// structure_with_padding_copied(ints(rng, 64), poison(64, np.float64), poison(64, np.int32), block=64) ->
////     x, *_: {1: x[::-1].astype(np.float64), 2: x[::-1]}
struct Item {
  double value;
  int key;
};
(const int* x, double* values, int* keys)
  __shared__ Item s[64], u[64];
  s[t].value = x[t];
  s[t].key = x[t];
  __syncthreads();
  u[t] = s[63 - t];
  __syncthreads();
  values[t] = u[t].value;
  keys[t] = u[t].key;
//// high_halves_of_half_written_words(ints(rng, 64, np.float16), poison(64, np.float16), block=64) ->
////     x, _: {1: 2 * x[::-1]}
(const void* x, void* out)
  __shared__ ushort2 s[64];
  s[t].y = static_cast<const unsigned short*>(x)[t];
  __syncthreads();
  const unsigned pair = *reinterpret_cast<unsigned*>(s + 63 - t);
  unsigned sum;
  asm("add.f16x2 %0, %1, %1;" : "=r"(sum) : "r"(pair));
  static_cast<unsigned short*>(out)[t] = sum >> 16;
//// structures_with_padding_copied_out(ints(rng, 64), poison((64, 2), np.float64), block=64) ->
////     x, _: {}
struct Item {
  double value;
  short key;
};
__device__ __noinline__ void swap(Item* a, Item* b) {
  const Item item = *a;
  *a = *b;
  *b = item;
}
(const int* x, Item* out)
  __shared__ Item s[64];
  s[t].value = x[t];
  s[t].key = x[t];
  __syncthreads();
  if (t < 32 && x[t] > x[63 - t]) swap(s + t, s + 63 - t);
  __syncthreads();
  out[t] = s[t];
//// product_of_a_part_of_a_tile(ints(rng, (10, 16), np.float16), ints(rng, (5, 16), np.float16),
////     np.zeros((16, 8), np.float32), np.int32(10), np.int32(5), block=32) -> a, b, *_:
////     {2: np.pad(a.astype(np.float32) @ b.T.astype(np.float32), ((0, 6), (0, 3)))}
// Each unwritten row of a, and each unwritten column of b, makes one of the product undefined.
(const void* a, const void* b, float* out, int rows, int columns)
  __shared__ __align__(16) unsigned short s[16][16], u[8][16];
  const int l = threadIdx.x, row = l / 4, column = 2 * (l % 4);
  for (int i = l; i < 16 * rows; i += 32) s[i / 16][i % 16] = ((const unsigned short*)a)[i];
  for (int i = l; i < 16 * columns; i += 32) u[i / 16][i % 16] = ((const unsigned short*)b)[i];
  __syncwarp();
  unsigned p[4], q[2];
  const unsigned from = (unsigned)__cvta_generic_to_shared(&s[l % 16][l / 16 * 8]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(p[0]), "=r"(p[1]), "=r"(p[2]), "=r"(p[3]) : "r"(from) : "memory");
  for (int i = 0; i < 2; ++i) q[i] = *reinterpret_cast<unsigned*>(&u[row][column + 8 * i]);
  float c[4] = {};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "r"(q[0]), "r"(q[1]));
  for (int i = 0; i < 4; ++i) {
    const int y = row + i / 2 * 8, x = column + i % 2;
    if (y < rows && x < columns) out[8 * y + x] = c[i];
  }
//// rows_of_a_matrix_that_are_not_read(ints(rng, 32), poison(24, np.int32), np.int32(24), block=32) ->
////     x, *_: {1: x[:24]}
(const int* x, int* out, int n)
  __shared__ __align__(16) int s[32], u[8][4];
  const int l = threadIdx.x;
  if (l < 24) s[l] = x[l];
  __syncwarp();
  const int v = s[l];
  const unsigned to = (unsigned)__cvta_generic_to_shared(u[l % 8]);
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(to), "r"(v) : "memory");
  __syncwarp();
  if (l < n) out[l] = u[l / 4][l % 4];
//// bytes_taken_and_inserted(words(rng, 64), poison(64, np.uint32), poison(64, np.uint32), block=64) ->
////     x, *_: {1: x & 0xFFFF | 0x07000000, 2: (x & 255) * 0x10001}
(const unsigned* x, uchar4* out, unsigned* permuted)
  __shared__ uchar4 s[64];
  s[t].x = x[t];
  s[t].y = x[t] >> 8;
  __syncthreads();
  uchar4 v = s[t];
  v.z = 0;
  v.w = 7;
  out[t] = v;
  permuted[t] = __byte_perm(*reinterpret_cast<unsigned*>(s + t), 0, 0x4040);
