// In front of each text that CuPy translated, as in CuPy. Each block needs the one before it.
#pragma once

#include <cupy/complex.cuh>

#include <cupy/carray.cuh>

#include <cupy/math_constants.h>
#include <cupy/atomics.cuh>
#include <cupy/float16.cuh>

// CuPy's own works on the four bytes around, which may leave the array. As a specialization, this
// one takes just what that takes.
template <>
__device__ inline float16 atomicAdd<float16>(float16* address, float16 value) {
  return float16(atomicAdd(reinterpret_cast<__half*>(address), __float2half_rn(float(value))));
}
