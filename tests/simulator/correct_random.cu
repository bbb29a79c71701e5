// Kernels of correct_random.py, each under its row's name.
// clang-format off
//// philox_words
#include <curand_kernel.h>
extern "C" __global__ void k(unsigned long long seed, unsigned long long offset, unsigned* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  curandStatePhilox4_32_10_t state;
  curand_init(seed, i, offset, &state);
  for (int j = 0; j < 3; ++j) out[11 * i + j] = curand(&state);
  for (int j = 3; j < 11; j += 4) {
    const uint4 four = curand4(&state);
    out[11 * i + j] = four.x;
    out[11 * i + j + 1] = four.y;
    out[11 * i + j + 2] = four.z;
    out[11 * i + j + 3] = four.w;
  }
}
//// philox_uniform
#include <curand_kernel.h>
extern "C" __global__ void k(unsigned long long seed, float* out) {
  curandStatePhilox4_32_10_t state;
  curand_init(seed, threadIdx.x, 0, &state);
  for (int j = 0; j < 6; ++j) out[6 * threadIdx.x + j] = curand_uniform(&state);
}
