// complex<float> and complex<double>: CuPy's where it is installed, else of libcu++.
#pragma once

#if __has_include(<cupy/complex.cuh>)
#include <cupy/complex.cuh>
#else
#include <cuda/std/complex>
using cuda::std::complex;  // its functions are found with it
#endif
