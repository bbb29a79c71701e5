// Correct kernels with cuRAND's Philox4x32-10, against the generator as its paper states it.
// clang-format off
#include <curand_kernel.h>
//// philox_words(np.uint64(SEED), np.uint64(OFFSET), poison((64, 11), np.uint32), grid=2, block=32)
////     -> *_: {2: np.stack([stream(SEED, i, OFFSET, 11) for i in range(64)])}
(unsigned long long seed, unsigned long long offset, unsigned* out)
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
//// philox_uniform(np.uint64(7), poison((64, 6), np.float32), block=64)
////     -> *_: {1: np.stack([uniform(stream(7, i, 0, 6)) for i in range(64)])}
(unsigned long long seed, float* out)
  curandStatePhilox4_32_10_t state;
  curand_init(seed, threadIdx.x, 0, &state);
  for (int j = 0; j < 6; ++j) out[6 * threadIdx.x + j] = curand_uniform(&state);
