// What nvcc has beside NVRTC in device code: macros of Linux on x86-64, and GCC's builtins.
#pragma once

#define __NVCC__ 1
#define __linux__ 1
#define __linux 1
#define linux 1
#define __gnu_linux__ 1
#define __unix__ 1
#define __unix 1
#define unix 1
#define __ELF__ 1
#define __x86_64__ 1
#define __x86_64 1
#define __amd64__ 1
#define __amd64 1
#ifndef _LP64
#define _LP64 1
#endif
#ifndef __LP64__
#define __LP64__ 1
#endif
#if __cplusplus >= 201703L
#define register
#endif

#define __builtin_constant_p(x) false
#define __builtin_prefetch(...) ((void)0)
#define __builtin_trap __trap
#define __builtin_abort __trap
#define __builtin_memcpy memcpy
#define __builtin_memset memset
#define __builtin_printf printf
#define __builtin_huge_valf() __builtin_bit_cast(float, 0x7f800000)
#define __builtin_inff() __builtin_bit_cast(float, 0x7f800000)
#define __builtin_nanf(text) __builtin_bit_cast(float, 0x7fc00000)
#define __builtin_huge_val() __builtin_bit_cast(double, 0x7ff0000000000000)
#define __builtin_inf() __builtin_bit_cast(double, 0x7ff0000000000000)
#define __builtin_nan(text) __builtin_bit_cast(double, 0x7ff8000000000000)
#define __builtin_abs abs
#define __builtin_labs labs
#define __builtin_llabs llabs
#define __builtin_ceil ceil
#define __builtin_ceilf ceilf
#define __builtin_exp exp
#define __builtin_expf expf
#define __builtin_fabs fabs
#define __builtin_fabsf fabsf
#define __builtin_floor floor
#define __builtin_floorf floorf
#define __builtin_fma fma
#define __builtin_fmaf fmaf
#define __builtin_fmax fmax
#define __builtin_fmaxf fmaxf
#define __builtin_fmin fmin
#define __builtin_fminf fminf
#define __builtin_log log
#define __builtin_logf logf
#define __builtin_pow pow
#define __builtin_powf powf
#define __builtin_sqrt sqrt
#define __builtin_sqrtf sqrtf

#define CUDAKERN_BUILTIN __host__ __device__ inline constexpr
#if __cplusplus >= 201103L
CUDAKERN_BUILTIN int cudakern_ones(unsigned long long x) {
  return !__builtin_is_constant_evaluated() ? __popcll(x)
         : x == 0                           ? 0
                                            : 1 + cudakern_ones(x & (x - 1));
}
/// All bits from the highest one on.
CUDAKERN_BUILTIN unsigned long long cudakern_filled(unsigned long long x, int by = 1) {
  return by == 64 ? x : cudakern_filled(x | x >> by, 2 * by);
}
/// The zeros below the lowest one.
CUDAKERN_BUILTIN unsigned long long cudakern_below(unsigned long long x) { return ~x & (x - 1); }

#define CUDAKERN_BUILTINS(END, TYPE)                                                             \
  CUDAKERN_BUILTIN int __builtin_popcount##END(unsigned TYPE x) { return cudakern_ones(x); }     \
  CUDAKERN_BUILTIN int __builtin_parity##END(unsigned TYPE x) { return cudakern_ones(x) & 1; }   \
  CUDAKERN_BUILTIN int __builtin_ctz##END(unsigned TYPE x) {                                     \
    return cudakern_ones(cudakern_below(x));                                                     \
  }                                                                                              \
  CUDAKERN_BUILTIN int __builtin_clz##END(unsigned TYPE x) {                                     \
    return 8 * static_cast<int>(sizeof x) - cudakern_ones(cudakern_filled(x));                   \
  }                                                                                              \
  CUDAKERN_BUILTIN int __builtin_clrsb##END(TYPE x) {                                            \
    return 8 * static_cast<int>(sizeof x) - 1 -                                                  \
           cudakern_ones(cudakern_filled(static_cast<unsigned TYPE>(x < 0 ? ~x : x)));           \
  }                                                                                              \
  CUDAKERN_BUILTIN int __builtin_ffs##END(TYPE x) {                                              \
    return x == 0 ? 0 : 1 + cudakern_ones(cudakern_below(static_cast<unsigned TYPE>(x)));        \
  }
CUDAKERN_BUILTINS(, int)
CUDAKERN_BUILTINS(l, long)
CUDAKERN_BUILTINS(ll, long long)
#undef CUDAKERN_BUILTINS

CUDAKERN_BUILTIN unsigned short __builtin_bswap16(unsigned short x) {
  return static_cast<unsigned short>(x >> 8 | x << 8);
}
CUDAKERN_BUILTIN unsigned __builtin_bswap32(unsigned x) {
  return static_cast<unsigned>(__builtin_bswap16(static_cast<unsigned short>(x))) << 16 |
         __builtin_bswap16(static_cast<unsigned short>(x >> 16));
}
CUDAKERN_BUILTIN unsigned long long __builtin_bswap64(unsigned long long x) {
  return static_cast<unsigned long long>(__builtin_bswap32(static_cast<unsigned>(x))) << 32 |
         __builtin_bswap32(static_cast<unsigned>(x >> 32));
}
#endif
#undef CUDAKERN_BUILTIN
