// Constants, and functions of integers and of mixed types, as C++ has them. NVRTC itself has those
// of floats and of doubles.
#pragma once

#include <cudakern_infinity.h>
#include <iosfwd>  // thrust/complex.h includes this header before it declares operators of streams

#define HUGE_VAL __builtin_bit_cast(double, 0x7ff0000000000000)
#define HUGE_VALF __builtin_bit_cast(float, 0x7f800000)

#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#ifndef M_PI  // headers of CuPy define it
#define M_PI 3.14159265358979323846
#endif
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440

namespace cudakern_math {

/// What stands in for a number of any type.
template <class T>
struct Integer {};
template <class T>
struct Number : Integer<T> {};

#define CUDAKERN_HAS(Kind, T) \
  template <> \
  struct Kind<T> { \
    using Double = double; \
  };
CUDAKERN_HAS(Integer, bool)
CUDAKERN_HAS(Integer, char)
CUDAKERN_HAS(Integer, signed char)
CUDAKERN_HAS(Integer, unsigned char)
CUDAKERN_HAS(Integer, short)
CUDAKERN_HAS(Integer, unsigned short)
CUDAKERN_HAS(Integer, int)
CUDAKERN_HAS(Integer, unsigned)
CUDAKERN_HAS(Integer, long)
CUDAKERN_HAS(Integer, unsigned long)
CUDAKERN_HAS(Integer, long long)
CUDAKERN_HAS(Integer, unsigned long long)
CUDAKERN_HAS(Number, float)
CUDAKERN_HAS(Number, double)
#undef CUDAKERN_HAS

}  // namespace cudakern_math

#define CUDAKERN_NAMES(name) \
  namespace std { \
  using ::name; \
  using ::name##f; \
  }
#define CUDAKERN_CLASS(name) \
  template <class T> \
  __device__ bool name(T x) { \
    return name(static_cast<typename cudakern_math::Integer<T>::Double>(x)); \
  } \
  namespace std { \
  using ::name; \
  }
#define CUDAKERN_OF_ONE(name) \
  template <class T> \
  __device__ typename cudakern_math::Integer<T>::Double name(T x) { \
    return name(static_cast<double>(x)); \
  } \
  CUDAKERN_NAMES(name)
#define CUDAKERN_OF_TWO(name) \
  template <class T, class U, class = typename cudakern_math::Number<U>::Double> \
  __device__ typename cudakern_math::Number<T>::Double name(T x, U y) { \
    return name(static_cast<double>(x), static_cast<double>(y)); \
  } \
  CUDAKERN_NAMES(name)

CUDAKERN_CLASS(isfinite)
CUDAKERN_CLASS(isinf)
CUDAKERN_CLASS(isnan)
CUDAKERN_CLASS(signbit)
CUDAKERN_OF_ONE(acos)
CUDAKERN_OF_ONE(acosh)
CUDAKERN_OF_ONE(asin)
CUDAKERN_OF_ONE(asinh)
CUDAKERN_OF_ONE(atan)
CUDAKERN_OF_ONE(atanh)
CUDAKERN_OF_ONE(cbrt)
CUDAKERN_OF_ONE(ceil)
CUDAKERN_OF_ONE(cos)
CUDAKERN_OF_ONE(cosh)
CUDAKERN_OF_ONE(erf)
CUDAKERN_OF_ONE(erfc)
CUDAKERN_OF_ONE(exp)
CUDAKERN_OF_ONE(exp2)
CUDAKERN_OF_ONE(expm1)
CUDAKERN_OF_ONE(fabs)
CUDAKERN_OF_ONE(floor)
CUDAKERN_OF_ONE(lgamma)
CUDAKERN_OF_ONE(log)
CUDAKERN_OF_ONE(log10)
CUDAKERN_OF_ONE(log1p)
CUDAKERN_OF_ONE(log2)
CUDAKERN_OF_ONE(logb)
CUDAKERN_OF_ONE(nearbyint)
CUDAKERN_OF_ONE(rint)
CUDAKERN_OF_ONE(round)
CUDAKERN_OF_ONE(sin)
CUDAKERN_OF_ONE(sinh)
CUDAKERN_OF_ONE(sqrt)
CUDAKERN_OF_ONE(tan)
CUDAKERN_OF_ONE(tanh)
CUDAKERN_OF_ONE(tgamma)
CUDAKERN_OF_ONE(trunc)
CUDAKERN_OF_TWO(atan2)
CUDAKERN_OF_TWO(copysign)
CUDAKERN_OF_TWO(fdim)
CUDAKERN_OF_TWO(fmax)
CUDAKERN_OF_TWO(fmin)
CUDAKERN_OF_TWO(fmod)
CUDAKERN_OF_TWO(hypot)
CUDAKERN_OF_TWO(nextafter)
CUDAKERN_OF_TWO(pow)
CUDAKERN_OF_TWO(remainder)
CUDAKERN_NAMES(fma)
CUDAKERN_NAMES(frexp)
CUDAKERN_NAMES(ilogb)
CUDAKERN_NAMES(ldexp)
CUDAKERN_NAMES(llrint)
CUDAKERN_NAMES(llround)
CUDAKERN_NAMES(lrint)
CUDAKERN_NAMES(lround)
CUDAKERN_NAMES(modf)
CUDAKERN_NAMES(nan)
CUDAKERN_NAMES(remquo)
CUDAKERN_NAMES(scalbln)
CUDAKERN_NAMES(scalbn)
#undef CUDAKERN_NAMES
#undef CUDAKERN_CLASS
#undef CUDAKERN_OF_ONE
#undef CUDAKERN_OF_TWO

namespace std {
using ::abs;
}  // namespace std
