// Integers of fixed sizes and their limits, which libcu++ has outside of all namespaces.
#pragma once

#include <cuda/std/cstdint>

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

namespace std {
using ::int16_t, ::int32_t, ::int64_t, ::int8_t, ::intmax_t, ::intptr_t;
using ::int_fast16_t, ::int_fast32_t, ::int_fast64_t, ::int_fast8_t;
using ::int_least16_t, ::int_least32_t, ::int_least64_t, ::int_least8_t;
using ::uint16_t, ::uint32_t, ::uint64_t, ::uint8_t, ::uintmax_t, ::uintptr_t;
using ::uint_fast16_t, ::uint_fast32_t, ::uint_fast64_t, ::uint_fast8_t;
using ::uint_least16_t, ::uint_least32_t, ::uint_least64_t, ::uint_least8_t;
}  // namespace std
