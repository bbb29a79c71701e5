// What nvcc has before a file, as far as device code and the standard have it: headers, and macros,
// words and functions of gcc 12 on Linux.
#pragma once

#if __cplusplus >= 201103L
#include <math.h>
#include <stdlib.h>
#include <string.h>
// libcu++ must see that the compiler is NVRTC, before the macros below.
#if __has_include(<cuda/std/__cccl/compiler.h>)
#include <cuda/std/__cccl/compiler.h>
#endif
#endif
#if __cplusplus >= 201703L && __has_include(<cuda/std/climits>)
#include <limits.h>
#endif

#define __NVCC__ 1
#define __GNUC__ 12
#define __GNUC_MINOR__ 2
#define __GNUC_PATCHLEVEL__ 0
#define __GNUG__ __GNUC__
#define __VERSION__ "12.2.0"
#ifndef __ELF__
#define __ELF__ 1
#endif
#define _GNU_SOURCE 1
#define _LP64 1
#define __amd64 1
#define __amd64__ 1
#define __gnu_linux__ 1
#define __linux 1
#define __linux__ 1
#define __unix 1
#define __unix__ 1
#define __x86_64 1
#define __x86_64__ 1
#define linux 1
#define unix 1

#define __ORDER_LITTLE_ENDIAN__ 1234
#define __ORDER_BIG_ENDIAN__ 4321
#define __BYTE_ORDER__ __ORDER_LITTLE_ENDIAN__
#define __CHAR_BIT__ 8
#define __SCHAR_MAX__ 0x7f
#define __SHRT_MAX__ 0x7fff
#define __INT_MAX__ 0x7fffffff
#define __LONG_MAX__ 0x7fffffffffffffffL
#define __LONG_LONG_MAX__ 0x7fffffffffffffffLL
#define __SIZE_MAX__ 0xffffffffffffffffUL
#define __INT32_MAX__ 0x7fffffff
#define __INT64_MAX__ 0x7fffffffffffffffL
#define __UINT32_MAX__ 0xffffffffU
#define __UINT64_MAX__ 0xffffffffffffffffUL
#define __FLT_MAX__ 3.40282346638528859811704183484516925e+38F
#define __FLT_MIN__ 1.17549435082228750796873653722224568e-38F
#define __FLT_EPSILON__ 1.19209289550781250000000000000000000e-7F
#define __DBL_MAX__ 1.79769313486231570814527423731704357e+308
#define __DBL_MIN__ 2.22507385850720138309023271733240406e-308
#define __DBL_EPSILON__ 2.22044604925031308084726333618164062e-16
#define __SIZEOF_SHORT__ 2
#define __SIZEOF_INT__ 4
#define __SIZEOF_FLOAT__ 4
#define __SIZEOF_WCHAR_T__ 4
#define __SIZEOF_DOUBLE__ 8
#define __SIZEOF_LONG__ 8
#define __SIZEOF_LONG_LONG__ 8
#define __SIZEOF_POINTER__ 8
#define __SIZEOF_PTRDIFF_T__ 8
#define __SIZEOF_SIZE_T__ 8
#define __SIZEOF_INT128__ 16
#define __INT8_TYPE__ signed char
#define __INT16_TYPE__ short
#define __INT32_TYPE__ int
#define __INT64_TYPE__ long long
#define __UINT8_TYPE__ unsigned char
#define __UINT16_TYPE__ unsigned short
#define __UINT32_TYPE__ unsigned
#define __UINT64_TYPE__ unsigned long long
#define __INTPTR_TYPE__ long
#define __UINTPTR_TYPE__ unsigned long
#define __PTRDIFF_TYPE__ long
#define __SIZE_TYPE__ unsigned long
#define __WCHAR_TYPE__ int

#define __alignof __alignof__
#define __asm__ asm
#define __attribute __attribute__
#define __const const
#define __const__ const
#define __extension__
#define __null 0
#define __signed signed
#define __signed__ signed
#define __volatile volatile
#if __cplusplus >= 201703L
#define register  // which gcc ignores
#endif

// Of sys/types.h, as libcu++ has them with NVRTC.
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char u_int8_t;
typedef unsigned short u_int16_t;
typedef unsigned u_int32_t;
typedef unsigned long long u_int64_t;
typedef unsigned char u_char;
typedef unsigned short u_short;
typedef unsigned u_int;
typedef unsigned long u_long;
typedef long off_t;
typedef long ssize_t;
typedef long long time_t;

#if __cplusplus >= 201103L

namespace cudakern_gcc {

template <class T>
struct Value {
  typedef T Type;
};
template <class T>
struct Value<T&> : Value<T> {};
template <class T>
struct Value<T&&> : Value<T> {};

constexpr int count(unsigned long long x) { return x ? 1 + count(x & (x - 1)) : 0; }
constexpr unsigned long long fill(unsigned long long x, int by = 1) {
  return by < 64 ? fill(x | x >> by, 2 * by) : x;
}

#ifdef __CUDACC_RTC_INT128__
/// A number that may be negative, of as many bits as a product has.
struct Signed {
  unsigned __int128 size;
  bool is_negative;
  template <class T>
  __host__ __device__ Signed(T x) : size(x < 0 ? -(__int128)x : (__int128)x), is_negative(x < 0) {}
};

/// Store what a type holds of a number; return whether that differs.
template <class T>
__host__ __device__ bool store(unsigned __int128 size, bool is_negative, T* result) {
  *result = (T)(is_negative ? -size : size);
  Signed stored(*result);
  return stored.size != size || (size && stored.is_negative != is_negative);
}
#endif

}  // namespace cudakern_gcc

#define __typeof__(...) cudakern_gcc::Value<decltype(__VA_ARGS__)>::Type
#define __typeof __typeof__
#define typeof __typeof__

// Of constants they are constant. Of zero, __builtin_clz and __builtin_ctz are undefined.
#define CUDAKERN_BITS(end, Unsigned, bits, popcount_of, clz_of, ffs_of) \
  constexpr int __builtin_popcount##end(Unsigned x) { \
    return __builtin_is_constant_evaluated() ? cudakern_gcc::count(x) : popcount_of(x); \
  } \
  constexpr int __builtin_parity##end(Unsigned x) { return __builtin_popcount##end(x) & 1; } \
  constexpr int __builtin_clz##end(Unsigned x) { \
    return __builtin_is_constant_evaluated() \
               ? bits - cudakern_gcc::count(cudakern_gcc::fill(x)) \
               : clz_of(x); \
  } \
  constexpr int __builtin_ctz##end(Unsigned x) { \
    return __builtin_is_constant_evaluated() ? cudakern_gcc::count((x & -x) - 1) : ffs_of(x) - 1; \
  } \
  constexpr int __builtin_ffs##end(Unsigned x) { return x ? __builtin_ctz##end(x) + 1 : 0; }
CUDAKERN_BITS(, unsigned, 32, __popc, __clz, __ffs)
CUDAKERN_BITS(l, unsigned long, 64, __popcll, __clzll, __ffsll)
CUDAKERN_BITS(ll, unsigned long long, 64, __popcll, __clzll, __ffsll)
#undef CUDAKERN_BITS
constexpr int __builtin_clrsb(int x) { return __builtin_clz(2u * (x < 0 ? ~x : x) + 1); }
constexpr int __builtin_clrsbl(long x) { return __builtin_clzl(2ul * (x < 0 ? ~x : x) + 1); }
constexpr int __builtin_clrsbll(long long x) { return __builtin_clzll(2ull * (x < 0 ? ~x : x) + 1); }

constexpr unsigned short __builtin_bswap16(unsigned short x) { return x << 8 | x >> 8; }
constexpr unsigned __builtin_bswap32(unsigned x) {
  return (unsigned)__builtin_bswap16(x) << 16 | __builtin_bswap16(x >> 16);
}
constexpr unsigned long __builtin_bswap64(unsigned long x) {
  return (unsigned long)__builtin_bswap32(x) << 32 | __builtin_bswap32(x >> 32);
}

#ifdef __CUDACC_RTC_INT128__
template <class A, class B, class T>
__host__ __device__ bool __builtin_add_overflow(A a, B b, T* result) {
  __int128 sum = (__int128)a + b;
  return cudakern_gcc::store(sum < 0 ? -sum : sum, sum < 0, result);
}
template <class A, class B, class T>
__host__ __device__ bool __builtin_sub_overflow(A a, B b, T* result) {
  return __builtin_add_overflow(a, -(__int128)b, result);
}
template <class A, class B, class T>
__host__ __device__ bool __builtin_mul_overflow(A a, B b, T* result) {
  cudakern_gcc::Signed x(a), y(b);
  return cudakern_gcc::store(x.size * y.size, x.is_negative != y.is_negative, result);
}
#endif

inline __host__ __device__ unsigned long __builtin_strlen(const char* text) {
  unsigned long n = 0;
  while (text[n]) ++n;
  return n;
}
inline __host__ __device__ int __builtin_memcmp(const void* a, const void* b, unsigned long n) {
  const unsigned char *x = (const unsigned char*)a, *y = (const unsigned char*)b;
  for (; n; --n, ++x, ++y)
    if (*x != *y) return *x < *y ? -1 : 1;
  return 0;
}
inline __host__ __device__ void* __builtin_memmove(void* to, const void* from, unsigned long n) {
  char* y = (char*)to;
  const char* x = (const char*)from;
  if (y < x)
    for (unsigned long i = 0; i < n; ++i) y[i] = x[i];
  else
    while (n--) y[n] = x[n];
  return to;
}

#define __builtin_object_size(pointer, kind) ((kind) < 2 ? ~0UL : 0UL)
#define __builtin_expect_with_probability(x, value, probability) __builtin_expect(x, value)
#define __builtin_prefetch(...) ((void)0)
#define __builtin_offsetof(T, member) ((unsigned long)(&((T*)nullptr)->member))
#define __builtin_launder(pointer) (pointer)
#define __builtin_constant_p(x) 0
#define __builtin_signbit(x) signbit(x)
#define __builtin_trap() __trap()
#define __builtin_printf printf
#define __builtin_memcpy memcpy
#define __builtin_memset memset
#define __builtin_abs abs
#define __builtin_labs labs
#define __builtin_llabs llabs
#define __builtin_huge_val() __builtin_bit_cast(double, 0x7ff0000000000000)
#define __builtin_huge_valf() __builtin_bit_cast(float, 0x7f800000)
#define __builtin_inf __builtin_huge_val
#define __builtin_inff __builtin_huge_valf
#define __builtin_acos acos
#define __builtin_acosf acosf
#define __builtin_acosh acosh
#define __builtin_acoshf acoshf
#define __builtin_asin asin
#define __builtin_asinf asinf
#define __builtin_asinh asinh
#define __builtin_asinhf asinhf
#define __builtin_atan atan
#define __builtin_atanf atanf
#define __builtin_atan2 atan2
#define __builtin_atan2f atan2f
#define __builtin_atanh atanh
#define __builtin_atanhf atanhf
#define __builtin_cbrt cbrt
#define __builtin_cbrtf cbrtf
#define __builtin_ceil ceil
#define __builtin_ceilf ceilf
#define __builtin_cos cos
#define __builtin_cosf cosf
#define __builtin_cosh cosh
#define __builtin_coshf coshf
#define __builtin_erf erf
#define __builtin_erff erff
#define __builtin_erfc erfc
#define __builtin_erfcf erfcf
#define __builtin_exp exp
#define __builtin_expf expf
#define __builtin_exp2 exp2
#define __builtin_exp2f exp2f
#define __builtin_expm1 expm1
#define __builtin_expm1f expm1f
#define __builtin_fabs fabs
#define __builtin_fabsf fabsf
#define __builtin_fdim fdim
#define __builtin_fdimf fdimf
#define __builtin_floor floor
#define __builtin_floorf floorf
#define __builtin_fma fma
#define __builtin_fmaf fmaf
#define __builtin_fmax fmax
#define __builtin_fmaxf fmaxf
#define __builtin_fmin fmin
#define __builtin_fminf fminf
#define __builtin_fmod fmod
#define __builtin_fmodf fmodf
#define __builtin_frexp frexp
#define __builtin_frexpf frexpf
#define __builtin_hypot hypot
#define __builtin_hypotf hypotf
#define __builtin_ilogb ilogb
#define __builtin_ilogbf ilogbf
#define __builtin_ldexp ldexp
#define __builtin_ldexpf ldexpf
#define __builtin_lgamma lgamma
#define __builtin_lgammaf lgammaf
#define __builtin_llrint llrint
#define __builtin_llrintf llrintf
#define __builtin_llround llround
#define __builtin_llroundf llroundf
#define __builtin_log log
#define __builtin_logf logf
#define __builtin_log10 log10
#define __builtin_log10f log10f
#define __builtin_log1p log1p
#define __builtin_log1pf log1pf
#define __builtin_log2 log2
#define __builtin_log2f log2f
#define __builtin_logb logb
#define __builtin_logbf logbf
#define __builtin_lrint lrint
#define __builtin_lrintf lrintf
#define __builtin_lround lround
#define __builtin_lroundf lroundf
#define __builtin_modf modf
#define __builtin_modff modff
#define __builtin_nearbyint nearbyint
#define __builtin_nearbyintf nearbyintf
#define __builtin_nextafter nextafter
#define __builtin_nextafterf nextafterf
#define __builtin_pow pow
#define __builtin_powf powf
#define __builtin_powi pow
#define __builtin_powif powf
#define __builtin_remainder remainder
#define __builtin_remainderf remainderf
#define __builtin_rint rint
#define __builtin_rintf rintf
#define __builtin_round round
#define __builtin_roundf roundf
#define __builtin_scalbn scalbn
#define __builtin_scalbnf scalbnf
#define __builtin_sin sin
#define __builtin_sinf sinf
#define __builtin_sinh sinh
#define __builtin_sinhf sinhf
#define __builtin_sqrt sqrt
#define __builtin_sqrtf sqrtf
#define __builtin_tan tan
#define __builtin_tanf tanf
#define __builtin_tanh tanh
#define __builtin_tanhf tanhf
#define __builtin_tgamma tgamma
#define __builtin_tgammaf tgammaf
#define __builtin_trunc trunc
#define __builtin_truncf truncf
#define __builtin_nan(text) __builtin_bit_cast(double, 0x7ff8000000000000)
#define __builtin_nanf(text) __builtin_bit_cast(float, 0x7fc00000)

#endif
