// Inline PTX whose modifiers stand in other orders than the manual's, as ptxas takes them, too.
// clang-format off
//// order_of_fma(rng.random(32, np.float32), poison(32, np.float32), block=32)
////     -> x, _: {1: (x.astype(float) * x + 1).astype(np.float32)}
extern "C" __global__ void k(const float* x, float* y) {
  asm("fma.f32.rn %0, %1, %1, 0f3F800000;" : "=f"(y[threadIdx.x]) : "f"(x[threadIdx.x]));
}
//// order_of_ldmatrix(ints(rng, (32, 8), np.int16), poison((4, 32, 2), np.int16), block=32)
////     -> x, _: {1: x.reshape(4, 32, 2)}
#include <cstdint>
extern "C" __global__ void k(const uint4* x, uint32_t* y) {
  __shared__ uint4 rows[32];
  rows[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  uint32_t r[4], address = static_cast<uint32_t>(__cvta_generic_to_shared(rows + threadIdx.x));
  asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
  for (int i = 0; i < 4; ++i) y[32 * i + threadIdx.x] = r[i];
}
//// order_of_shuffle(ints(rng, 32), poison(32, np.int32), block=32)
////     -> x, _: {1: x.reshape(16, 2)[:, ::-1].ravel()}
extern "C" __global__ void k(const int* x, int* y) {
  int r;
  asm volatile("shfl.sync.b32.bfly %0, %1, 1, 31, 0xffffffff;" : "=r"(r) : "r"(x[threadIdx.x]));
  y[threadIdx.x] = r;
}
//// order_of_copy(ints(rng, (32, 4)), poison((32, 4), np.int32), block=32)
////     -> x, _: {1: x[::-1]}
extern "C" __global__ void k(const int4* x, int4* y) {
  __shared__ int4 s[32];
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(s + threadIdx.x));
  asm volatile("cp.async.shared.global.cg [%0], [%1], 16;" :: "r"(to), "l"(x + threadIdx.x) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  y[threadIdx.x] = s[31 - threadIdx.x];
}
//// order_of_conversion(rng.random((32, 2)).astype(np.float16).astype(np.float32), poison(32, np.uint32), block=32)
////     -> x, _: {1: x.astype(np.float16).view(np.uint32).ravel()}
extern "C" __global__ void k(const float2* x, unsigned* y) {
  asm("cvt.f16x2.rn.f32 %0, %1, %2;" : "=r"(y[threadIdx.x]) : "f"(x[threadIdx.x].y), "f"(x[threadIdx.x].x));
}
