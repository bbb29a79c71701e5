// Correct kernels with matrix products of a warp. correct_matrices.py has more of them.
// clang-format off
//// product_by_mma_sync(ints(rng, (64, 32), np.float16), ints(rng, (32, 64), np.float16),
////     poison((64, 64), np.float32), grid=(2, 2), block=128)
////     -> x, y, _: {2: x.astype(np.float32) @ y.astype(np.float32)}
// out (64, 64) = x (64, 32) times y (32, 64); a block of four warps computes 32 by 32 elements.
#include <cuda_fp16.h>
extern "C" __global__ void k(const __half* x, const __half* y, float* out) {
  __shared__ alignas(16) __half a[32][32], b[32][32];
  const int row = 32 * blockIdx.y, column = 32 * blockIdx.x, t = threadIdx.x;
  for (int i = t; i < 1024; i += 128) {
    a[i / 32][i % 32] = x[(row + i / 32) * 32 + i % 32];
    b[i / 32][i % 32] = y[i / 32 * 64 + column + i % 32];
  }
  __syncthreads();
  const int lane = t % 32, top = t / 64 * 16, left = t / 32 % 2 * 16;
  float d[2][4] = {};
  for (int depth = 0; depth < 32; depth += 16) {
    unsigned fa[4], fb[4];
    const unsigned at = (unsigned)__cvta_generic_to_shared(
        &a[top + lane % 16][depth + lane / 16 * 8]);
    const unsigned bt = (unsigned)__cvta_generic_to_shared(
        &b[depth + lane % 16][left + lane / 16 * 8]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3]) : "r"(at));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(fb[0]), "=r"(fb[1]), "=r"(fb[2]), "=r"(fb[3]) : "r"(bt));
    for (int n = 0; n < 2; ++n)
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
          "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
          : "+f"(d[n][0]), "+f"(d[n][1]), "+f"(d[n][2]), "+f"(d[n][3])
          : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[2 * n]), "r"(fb[2 * n + 1]));
  }
  for (int n = 0; n < 2; ++n)
    for (int i = 0; i < 4; ++i)
      out[(row + top + lane / 4 + i / 2 * 8) * 64 + column + left + 8 * n + lane % 4 * 2 + i % 2] =
          d[n][i];
}
//// product_by_wmma(ints(rng, (48, 48), np.float16), ints(rng, (48, 48), np.float16), ints(rng,
////     (48, 48), np.float32), poison((48, 48), np.float32), np.int32(48), grid=(3, 3), block=32)
////     -> x, y, z, *_: {3: 2 * (x.astype(np.float32) @ y.astype(np.float32).T + z)}
#include <mma.h>
using namespace nvcuda;
(const __half* x, const __half* y, const float* z, float* out, int n)
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  const int row = 16 * blockIdx.y, column = 16 * blockIdx.x;
  wmma::load_matrix_sync(c, z + row * n + column, n, wmma::mem_row_major);
  for (int depth = 0; depth < n; depth += 16) {
    wmma::load_matrix_sync(a, x + row * n + depth, n);
    wmma::load_matrix_sync(b, y + column * n + depth, n);
    wmma::mma_sync(c, a, b, c);
  }
  for (int i = 0; i < c.num_elements; ++i) c.x[i] *= 2.0f;
  wmma::store_matrix_sync(out + row * n + column, c, n, wmma::mem_row_major);
