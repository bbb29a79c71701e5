// Integers of fixed sizes and their limits, which libcu++ has outside of all namespaces.
#pragma once

#if __cplusplus >= 201703L
#include <cuda/std/cstdint>
#else  // which libcu++ asks for
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef int8_t int_least8_t, int_fast8_t;
typedef int16_t int_least16_t, int_fast16_t;
typedef int32_t int_least32_t, int_fast32_t;
typedef int64_t int_least64_t, int_fast64_t, intmax_t, intptr_t;
typedef uint8_t uint_least8_t, uint_fast8_t;
typedef uint16_t uint_least16_t, uint_fast16_t;
typedef uint32_t uint_least32_t, uint_fast32_t;
typedef uint64_t uint_least64_t, uint_fast64_t, uintmax_t, uintptr_t;
#define INT8_MAX 127
#define INT16_MAX 32767
#define INT32_MAX 2147483647
#define INT64_MAX 9223372036854775807ll
#define INT8_MIN (-INT8_MAX - 1)
#define INT16_MIN (-INT16_MAX - 1)
#define INT32_MIN (-INT32_MAX - 1)
#define INT64_MIN (-INT64_MAX - 1)
#define UINT8_MAX 255
#define UINT16_MAX 65535
#define UINT32_MAX 4294967295u
#define UINT64_MAX 18446744073709551615ull
#endif

#ifndef SIZE_MAX  // with CUDA 12.9
#define SIZE_MAX UINT64_MAX
#define INTMAX_MAX INT64_MAX
#define INTMAX_MIN INT64_MIN
#define INTPTR_MAX INT64_MAX
#define INTPTR_MIN INT64_MIN
#define PTRDIFF_MAX INT64_MAX
#define PTRDIFF_MIN INT64_MIN
#define UINTMAX_MAX UINT64_MAX
#define UINTPTR_MAX UINT64_MAX
#endif

#define CUDAKERN_INTEGERS(bits) \
  using ::int##bits##_t; \
  using ::int_fast##bits##_t; \
  using ::int_least##bits##_t; \
  using ::uint##bits##_t; \
  using ::uint_fast##bits##_t; \
  using ::uint_least##bits##_t
namespace std {
CUDAKERN_INTEGERS(8);
CUDAKERN_INTEGERS(16);
CUDAKERN_INTEGERS(32);
CUDAKERN_INTEGERS(64);
using ::intmax_t;
using ::intptr_t;
using ::uintmax_t;
using ::uintptr_t;
}  // namespace std
#undef CUDAKERN_INTEGERS
