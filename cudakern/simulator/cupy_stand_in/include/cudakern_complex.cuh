// complex<float> and complex<double>: CuPy's where it is installed, else of libcu++.
#pragma once

#if __has_include(<cupy/complex.cuh>)
#include <cupy/complex.cuh>
#else
#include <cuda/std/complex>
using cuda::std::abs;
using cuda::std::arg;
using cuda::std::complex;
using cuda::std::conj;
using cuda::std::cos;
using cuda::std::exp;
using cuda::std::log;
using cuda::std::norm;
using cuda::std::pow;
using cuda::std::sin;
using cuda::std::sqrt;
#endif
