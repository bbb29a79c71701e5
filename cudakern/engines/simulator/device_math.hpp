// SPDX-License-Identifier: MIT
// CUDA's mathematics beyond <math.h>. What <math.h> may declare as well is noexcept like its own.
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "intrinsics.hpp"
#include "rounding.hpp"

// Intrinsics that are less exact than the functions on a GPU; here they are the functions.
inline float __expf(float x) noexcept { return ::expf(x); }
inline float __exp10f(float x) noexcept { return static_cast<float>(::pow(10.0, x)); }
inline float __logf(float x) noexcept { return ::logf(x); }
inline float __log2f(float x) noexcept { return ::log2f(x); }
inline float __log10f(float x) noexcept { return ::log10f(x); }
inline float __sinf(float x) noexcept { return ::sinf(x); }
inline float __cosf(float x) noexcept { return ::cosf(x); }
inline float __tanf(float x) noexcept { return ::tanf(x); }
inline float __tanhf(float x) noexcept { return ::tanhf(x); }
inline void __sincosf(float x, float* sine, float* cosine) noexcept {
  *sine = ::sinf(x), *cosine = ::cosf(x);
}
/// Through the logarithm, so the power of a negative number is a NaN, as on the GPU.
inline float __powf(float x, float y) noexcept {
  return static_cast<float>(::exp2(y * ::log2(static_cast<double>(x))));
}
inline float __fdividef(float x, float y) { return x / y; }
inline float fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }

inline float __frsqrt_rn(float x) { return static_cast<float>(1 / ::sqrt(static_cast<double>(x))); }
inline double rsqrt(double x) noexcept { return 1 / ::sqrt(x); }
inline float rsqrtf(float x) noexcept { return __frsqrt_rn(x); }
inline double rcbrt(double x) { return 1 / ::cbrt(x); }
inline float rcbrtf(float x) { return static_cast<float>(1 / ::cbrt(static_cast<double>(x))); }

#ifdef __APPLE__  // the C library of Linux has these
inline void sincos(double x, double* sine, double* cosine) { *sine = ::sin(x), *cosine = ::cos(x); }
inline void sincosf(float x, float* sine, float* cosine) { __sincosf(x, sine, cosine); }
inline double exp10(double x) { return ::pow(10.0, x); }
inline float exp10f(float x) { return __exp10f(x); }
#endif

namespace ck_sim {

constexpr double kPi = 3.14159265358979323846;

/// The r with erfc(r) = y, for y from 0 to 1.
inline double inverse_erfc(double y) {
  if (y <= 0) {
    return y == 0 ? __builtin_inf() : __builtin_nan("");
  }
  // A rough start, then Newton's method on log(erfc), which is almost a parabola.
  double r = y > 0.5 ? (1 - y) * 0.886226925452758 : ::sqrt(-::log(y * ::sqrt(-::log(y / 2))));
  for (int i = 0; i < 8; ++i) {
    const double value = ::erfc(r);
    const double slope = 2 / ::sqrt(kPi) * ::exp(-r * r);
    r += slope > 0 ? (y < 0.1 ? ::log(value / y) * value : value - y) / slope : 0;
  }
  return r;
}

}  // namespace ck_sim

inline double sinpi(double x) noexcept {
  const double part = ::remainder(x, 2.0);
  const double near = ::fabs(part) > 0.5 ? ::copysign(1.0, part) - part : part;
  return near == 0 ? ::copysign(0.0, x) : ::sin(ck_sim::kPi * near);
}
inline double cospi(double x) noexcept {
  const double part = ::fabs(::remainder(x, 2.0));
  return part < 0.25   ? ::cos(ck_sim::kPi * part)
         : part > 0.75 ? -::cos(ck_sim::kPi * (1 - part))
                       : ::sin(ck_sim::kPi * (0.5 - part));
}
inline float sinpif(float x) noexcept { return static_cast<float>(sinpi(static_cast<double>(x))); }
inline float cospif(float x) noexcept { return static_cast<float>(cospi(static_cast<double>(x))); }
inline void sincospi(double x, double* sine, double* cosine) {
  *sine = sinpi(x), *cosine = cospi(x);
}
inline void sincospif(float x, float* sine, float* cosine) {
  *sine = sinpif(x), *cosine = cospif(x);
}

inline double normcdf(double x) { return 0.5 * ::erfc(x * -0.70710678118654757); }
inline double erfcinv(double y) {
  return y > 1 ? -ck_sim::inverse_erfc(2 - y) : ck_sim::inverse_erfc(y);
}
inline double erfinv(double x) {
  if (::fabs(x) > 0.25) {
    return ::copysign(ck_sim::inverse_erfc(1 - ::fabs(x)), x);
  }
  double r = x * 0.886226925452758;
  for (int i = 0; i < 6; ++i) {
    r -= (::erf(r) - x) / (2 / ::sqrt(ck_sim::kPi) * ::exp(-r * r));
  }
  return x == 0 ? x : r;
}
inline double normcdfinv(double y) { return -1.4142135623730951 * erfcinv(2 * y); }
inline double rhypot(double x, double y) { return 1 / ::hypot(x, y); }
inline double norm3d(double x, double y, double z) { return ::hypot(::hypot(x, y), z); }
inline double norm4d(double x, double y, double z, double w) {
  return ::hypot(::hypot(x, y), ::hypot(z, w));
}
inline double rnorm3d(double x, double y, double z) { return 1 / norm3d(x, y, z); }
inline double rnorm4d(double x, double y, double z, double w) { return 1 / norm4d(x, y, z, w); }
inline double norm(int count, const double* x) {
  double length = 0;
  for (int i = 0; i < count; ++i) {
    length = ::hypot(length, x[i]);
  }
  return length;
}
inline float normf(int count, const float* x) {
  double squares = 0;
  for (int i = 0; i < count; ++i) {
    squares += static_cast<double>(x[i]) * x[i];
  }
  return static_cast<float>(::sqrt(squares));
}
inline double rnorm(int count, const double* x) { return 1 / norm(count, x); }
inline float rnormf(int count, const float* x) { return 1 / normf(count, x); }
inline float rhypotf(float x, float y) { return static_cast<float>(rhypot(x, y)); }
inline float norm3df(float x, float y, float z) { return static_cast<float>(norm3d(x, y, z)); }
inline float norm4df(float x, float y, float z, float w) {
  return static_cast<float>(norm4d(x, y, z, w));
}
inline float rnorm3df(float x, float y, float z) { return static_cast<float>(rnorm3d(x, y, z)); }
inline float rnorm4df(float x, float y, float z, float w) {
  return static_cast<float>(rnorm4d(x, y, z, w));
}

#define CK_SIM_FLOAT(name) \
  inline float name##f(float x) { return static_cast<float>(name(static_cast<double>(x))); } \
  inline float name(float x) { return name##f(x); }
CK_SIM_FLOAT(normcdf)
CK_SIM_FLOAT(normcdfinv)
CK_SIM_FLOAT(erfinv)
CK_SIM_FLOAT(erfcinv)
#undef CK_SIM_FLOAT
inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrt(float x) { return rcbrtf(x); }
inline float sinpi(float x) { return sinpif(x); }
inline float cospi(float x) { return cospif(x); }
inline float exp10(float x) { return exp10f(x); }
inline float rhypot(float x, float y) { return rhypotf(x, y); }
inline void sincos(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
inline void sincospi(float x, float* sine, float* cosine) { sincospif(x, sine, cosine); }

// Arithmetic with a rounding direction. Nothing here is contracted to a fused operation anyway.
#define CK_SIM_ROUNDED(suffix, mode) \
  inline float __fadd_##suffix(float a, float b) { \
    return ck_sim::to_float(ck_sim::add_to_odd(a, b), ck_sim::Round::mode); \
  } \
  inline float __fsub_##suffix(float a, float b) { return __fadd_##suffix(a, -b); } \
  inline float __fmul_##suffix(float a, float b) { \
    return ck_sim::to_float(static_cast<double>(a) * b, ck_sim::Round::mode); \
  } \
  inline float __fmaf_##suffix(float a, float b, float c) { \
    return ck_sim::to_float(ck_sim::add_to_odd(static_cast<double>(a) * b, c), \
                            ck_sim::Round::mode); \
  } \
  inline float __fdiv_##suffix(float a, float b) { \
    const double q = static_cast<double>(a) / b, rest = ::fma(-q, static_cast<double>(b), a); \
    return ck_sim::to_float(ck_sim::to_odd(q, b > 0 ? rest : -rest), ck_sim::Round::mode); \
  } \
  inline float __frcp_##suffix(float a) { return __fdiv_##suffix(1, a); } \
  inline float __fsqrt_##suffix(float a) { \
    const double root = ::sqrt(static_cast<double>(a)), rest = ::fma(-root, root, a); \
    return ck_sim::to_float(ck_sim::to_odd(root, rest), ck_sim::Round::mode); \
  } \
  inline float __double2float_##suffix(double x) { \
    return ck_sim::to_float(x, ck_sim::Round::mode); \
  } \
  inline float __int2float_##suffix(int x) { return ck_sim::to_float(x, ck_sim::Round::mode); } \
  inline float __uint2float_##suffix(unsigned x) { \
    return ck_sim::to_float(x, ck_sim::Round::mode); \
  } \
  inline float __ll2float_##suffix(long long x) { \
    return ck_sim::to_float(ck_sim::integer_to_odd(x), ck_sim::Round::mode); \
  } \
  inline float __ull2float_##suffix(unsigned long long x) { \
    return ck_sim::to_float(ck_sim::integer_to_odd(x), ck_sim::Round::mode); \
  }
CK_SIM_ROUNDED(rn, kNearest)
CK_SIM_ROUNDED(rz, kZero)
CK_SIM_ROUNDED(ru, kUp)
CK_SIM_ROUNDED(rd, kDown)
#undef CK_SIM_ROUNDED
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __drcp_rn(double a) { return 1 / a; }
inline double __dsqrt_rn(double a) { return ::sqrt(a); }
inline double __fma_rn(double a, double b, double c) { return ::fma(a, b, c); }

inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }
inline double __ll2double_rn(long long x) { return static_cast<double>(x); }
inline double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }

// A NaN becomes zero if both types have 4 bytes, else the sign bit alone.
#define CK_SIM_TO_INTEGER(name, from, to, suffix, mode) \
  inline to name##_##suffix(from x) { \
    constexpr auto kOfNan = \
        static_cast<to>(sizeof(from) + sizeof(to) == 8 ? 0 : 1ull << (8 * sizeof(to) - 1)); \
    return ck_sim::saturated<to>(ck_sim::to_integral(x, ck_sim::Round::mode), kOfNan); \
  }
#define CK_SIM_TO_INTEGERS(name, from, to) \
  CK_SIM_TO_INTEGER(name, from, to, rn, kNearest) \
  CK_SIM_TO_INTEGER(name, from, to, rz, kZero) \
  CK_SIM_TO_INTEGER(name, from, to, ru, kUp) \
  CK_SIM_TO_INTEGER(name, from, to, rd, kDown)
CK_SIM_TO_INTEGERS(__float2int, float, int)
CK_SIM_TO_INTEGERS(__float2uint, float, unsigned)
CK_SIM_TO_INTEGERS(__float2ll, float, long long)
CK_SIM_TO_INTEGERS(__float2ull, float, unsigned long long)
CK_SIM_TO_INTEGERS(__double2int, double, int)
CK_SIM_TO_INTEGERS(__double2uint, double, unsigned)
CK_SIM_TO_INTEGERS(__double2ll, double, long long)
CK_SIM_TO_INTEGERS(__double2ull, double, unsigned long long)
#undef CK_SIM_TO_INTEGERS
#undef CK_SIM_TO_INTEGER

inline int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
inline double __hiloint2double(int high, int low) {
  return __longlong_as_double(static_cast<long long>(high) << 32 | static_cast<unsigned>(low));
}

#define CK_SIM_MIN_MAX(a_type, b_type, result) \
  inline result min(a_type a, b_type b) { \
    return static_cast<result>(b) < static_cast<result>(a) ? static_cast<result>(b) \
                                                           : static_cast<result>(a); \
  } \
  inline result max(a_type a, b_type b) { \
    return static_cast<result>(a) < static_cast<result>(b) ? static_cast<result>(b) \
                                                           : static_cast<result>(a); \
  }
#define CK_SIM_MIN_MAXES(type) \
  CK_SIM_MIN_MAX(type, type, type) \
  CK_SIM_MIN_MAX(unsigned type, unsigned type, unsigned type) \
  CK_SIM_MIN_MAX(type, unsigned type, unsigned type) \
  CK_SIM_MIN_MAX(unsigned type, type, unsigned type)
CK_SIM_MIN_MAXES(int)
CK_SIM_MIN_MAXES(long)
CK_SIM_MIN_MAXES(long long)
#undef CK_SIM_MIN_MAXES
#undef CK_SIM_MIN_MAX
// A NaN gives way to a number.
inline float min(float a, float b) { return ::fminf(a, b); }
inline float max(float a, float b) { return ::fmaxf(a, b); }
inline double min(double a, double b) { return ::fmin(a, b); }
inline double max(double a, double b) { return ::fmax(a, b); }
inline double min(double a, float b) { return ::fmin(a, static_cast<double>(b)); }
inline double max(double a, float b) { return ::fmax(a, static_cast<double>(b)); }
inline double min(float a, double b) { return ::fmin(static_cast<double>(a), b); }
inline double max(float a, double b) { return ::fmax(static_cast<double>(a), b); }

inline unsigned umin(unsigned a, unsigned b) { return min(a, b); }
inline unsigned umax(unsigned a, unsigned b) { return max(a, b); }
inline long long llmin(long long a, long long b) { return min(a, b); }
inline long long llmax(long long a, long long b) { return max(a, b); }
inline unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
inline unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }

#ifndef __clang__
#define __builtin_assume(condition) static_cast<void>(0)
#endif

/// Nanoseconds of a clock that never goes back.
inline long long clock64() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}
// Found by a kernel instead of that of the C library, which counts processor time.
extern "C" __attribute__((visibility("hidden"))) inline clock_t clock() noexcept {
  return static_cast<clock_t>(clock64());
}
