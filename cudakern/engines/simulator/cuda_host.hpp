// SPDX-License-Identifier: MIT
// CUDA C++ as kernels use it, on the host, for checked launches. Force-included in front of a
// kernel's text.
#pragma once

#define CK_SIMULATOR 1

// The special functions of <cmath> (beta, legendre, ...), which kernels do not have, take libstdc++
// longer to parse than all the rest.
#include <cstddef>
#undef _GLIBCXX_USE_STD_SPEC_FUNCS

#include <math.h>
#include <stdio.h>

#include <string.h>

#include "checked_api.hpp"
#include "vector_types.hpp"

#define printf ck_sim_print
#define memcpy ck_sim_copy
#define memmove ck_sim_copy
#define memset ck_sim_fill
#define CK_SIM_UNCHECKED __attribute__((no_sanitize("thread")))

#define __device__
#define __host__
#ifdef CK_SIM_LISTING
#define __global__ ck_sim_global_here
#else
#define __global__
#endif
#define __constant__ __attribute__((visibility("default"), used))  // the host may write it
#define CK_SIM_INLINE inline __attribute__((always_inline))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
// Blocks take turns on one OS thread; their contents of what is one per block are exchanged then.
#define __shared__ thread_local
// What `extern __shared__ type name[]rest;` is replaced by, in a function and outside of one.
#define CK_SIM_DYNAMIC(name, rest, ...) \
  using ck_sim_type_of_##name = __VA_ARGS__[] rest; \
  ck_sim_type_of_##name& name = \
      *reinterpret_cast<ck_sim_type_of_##name*>(ck_sim::peek(ck_sim::group()->dynamic_shared))
#define CK_SIM_DYNAMIC_FUNCTION(name, rest, ...) \
  using ck_sim_type_of_##name = __VA_ARGS__[] rest; \
  static inline ck_sim_type_of_##name& name() { \
    return *reinterpret_cast<ck_sim_type_of_##name*>( \
        ck_sim::peek(ck_sim::group()->dynamic_shared)); \
  }

#define threadIdx (ck_sim::peek3(ck_sim::view()->thread))
#define blockIdx (ck_sim::peek3(ck_sim::group()->block))
#define blockDim (ck_sim::peek3(ck_sim::group()->block_size))
#define gridDim (ck_sim::peek3(ck_sim::group()->grid_size))
constexpr int warpSize = 32;

// Barriers and collectives name where they stand in the source; the caller's position is a default
// argument, evaluated at the call.
#define CK_SIM_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

[[noreturn]] inline void __trap(CK_SIM_HERE) {
  const ck_sim::Site site = {file, line};
  ck_sim_stop("trap", "the kernel must not execute a trap", &site);
}

// What the macro assert of <assert.h> calls when it fails. Hidden, so that a kernel finds this one
// and not that of the C library, which would end the process.
#ifdef __linux__
extern "C" [[noreturn]]
__attribute__((visibility("hidden"))) inline void __assert_fail(const char* expression,
                                                                const char* file, unsigned line,
                                                                const char*) noexcept {
  const ck_sim::Site site = {file, static_cast<int>(line)};
  char what[300];
  snprintf(what, sizeof what, "assertion `%s` must hold", expression);
  ck_sim_stop("assert", what, &site);
}
#endif
#include <assert.h>

inline void __syncthreads(CK_SIM_HERE) {
  const ck_sim::Site site = {file, line};
  ck_sim_barrier(ck_sim::Barrier::kPlain, 0, &site);
}
inline int __syncthreads_count(int predicate, CK_SIM_HERE) {
  const ck_sim::Site site = {file, line};
  return ck_sim_barrier(ck_sim::Barrier::kCount, predicate, &site);
}
inline int __syncthreads_and(int predicate, CK_SIM_HERE) {
  const ck_sim::Site site = {file, line};
  return ck_sim_barrier(ck_sim::Barrier::kAnd, predicate, &site);
}
inline int __syncthreads_or(int predicate, CK_SIM_HERE) {
  const ck_sim::Site site = {file, line};
  return ck_sim_barrier(ck_sim::Barrier::kOr, predicate, &site);
}
inline void __syncwarp(unsigned mask = 0xFFFFFFFFu, CK_SIM_HERE) {
  const ck_sim::Site site = {file, line};
  ck_sim_collective(mask, 0, &site);
}

inline unsigned __activemask(CK_SIM_HERE) {
  const ck_sim::Site site = {file, line};
  return ck_sim_converge(&site);
}

namespace ck_sim {

/// The bits of a value that a lane hands to its warp.
template <typename T>
inline uint64_t to_bits(T value) {
  static_assert(sizeof(T) <= 8, "warp collectives exchange at most 8 bytes");
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <typename T>
inline T from_bits(uint64_t bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

template <typename T>
inline T shuffle(unsigned mask, T value, int source, bool inside, const char* file, int line) {
  const Site site = {file, line};
  const uint64_t* values = ck_sim_collective(mask, to_bits(value), &site);
  // A lane outside of the mask gives nothing; its value is undefined, here the caller's own.
  mask &= ck_sim::peek(ck_sim::view()->warp);
  return inside && (mask >> (source & 31) & 1) != 0 ? from_bits<T>(values[source & 31]) : value;
}

/// Folds what the lanes of `mask` gave.
template <typename T, typename Combine>
inline T fold(unsigned mask, T value, Combine combine, const char* file, int line) {
  const Site site = {file, line};
  const uint64_t* values = ck_sim_collective(mask, to_bits(value), &site);
  mask &= ck_sim::peek(ck_sim::view()->warp);
  T result = value;
  bool first = true;
  for (int i = 0; i < 32; ++i) {
    if (mask >> i & 1) {
      result = first ? from_bits<T>(values[i]) : combine(result, from_bits<T>(values[i]));
      first = false;
    }
  }
  return result;
}

}  // namespace ck_sim

template <typename T>
inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, CK_SIM_HERE) {
  const int base = static_cast<int>(ck_sim::peek(ck_sim::view()->lane)) & ~(width - 1);
  return ck_sim::shuffle(mask, value, base + (source & (width - 1)), true, file, line);
}
template <typename T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, CK_SIM_HERE) {
  const int lane = static_cast<int>(ck_sim::peek(ck_sim::view()->lane)),
            source = lane - static_cast<int>(delta);
  return ck_sim::shuffle(mask, value, source, source >= (lane & ~(width - 1)), file, line);
}
template <typename T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, CK_SIM_HERE) {
  const int lane = static_cast<int>(ck_sim::peek(ck_sim::view()->lane)),
            source = lane + static_cast<int>(delta);
  return ck_sim::shuffle(mask, value, source, source <= (lane | (width - 1)), file, line);
}
template <typename T>
inline T __shfl_xor_sync(unsigned mask, T value, int flip, int width = 32, CK_SIM_HERE) {
  const int lane = static_cast<int>(ck_sim::peek(ck_sim::view()->lane)), source = lane ^ flip;
  return ck_sim::shuffle(mask, value, source, source <= (lane | (width - 1)), file, line);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, CK_SIM_HERE) {
  const unsigned bit = predicate != 0 ? 1u << ck_sim::peek(ck_sim::view()->lane) : 0u;
  return ck_sim::fold(mask, bit, [](unsigned a, unsigned b) { return a | b; }, file, line);
}
inline int __any_sync(unsigned mask, int predicate, CK_SIM_HERE) {
  return ck_sim::fold(mask, int{predicate != 0}, [](int a, int b) { return a | b; }, file, line);
}
inline int __all_sync(unsigned mask, int predicate, CK_SIM_HERE) {
  return ck_sim::fold(mask, int{predicate != 0}, [](int a, int b) { return a & b; }, file, line);
}

#define CK_SIM_REDUCE(name, type, expression) \
  inline type name(unsigned mask, type value, CK_SIM_HERE) { \
    return ck_sim::fold( \
        mask, value, [](type a, type b) -> type { return expression; }, file, line); \
  }
CK_SIM_REDUCE(__reduce_add_sync, unsigned, a + b)
CK_SIM_REDUCE(__reduce_min_sync, unsigned, a < b ? a : b)
CK_SIM_REDUCE(__reduce_max_sync, unsigned, a > b ? a : b)
CK_SIM_REDUCE(__reduce_and_sync, unsigned, a& b)
CK_SIM_REDUCE(__reduce_or_sync, unsigned, a | b)
CK_SIM_REDUCE(__reduce_xor_sync, unsigned, a ^ b)
CK_SIM_REDUCE(__reduce_add_sync, int,
              static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)))
CK_SIM_REDUCE(__reduce_min_sync, int, a < b ? a : b)
CK_SIM_REDUCE(__reduce_max_sync, int, a > b ? a : b)

#include "atomics.hpp"
#include "device_math.hpp"

// The C library's are compiled already: nobody would see what they write.
inline void ck_sim_sincosf(float x, float* sine, float* cosine) {
  *sine = sinf(x);
  *cosine = cosf(x);
}
inline void ck_sim_sincos(float x, float* sine, float* cosine) { ck_sim_sincosf(x, sine, cosine); }
inline void ck_sim_sincos(double x, double* sine, double* cosine) {
  *sine = sin(x);
  *cosine = cos(x);
}
#define sincosf ck_sim_sincosf
#define sincos ck_sim_sincos
#include "intrinsics.hpp"
#include "warp_match.hpp"

namespace ck_sim {

/// Calls a kernel with the parameters that `addresses` point to.
template <typename... A>
struct Kernel {
  template <typename... Done>
  CK_SIM_UNCHECKED static void call(void (*kernel)(A...), void** addresses, Done*... done) {
    if constexpr (sizeof...(Done) == sizeof...(A)) {
      kernel(*done...);
    } else {
      using Next = typename At<sizeof...(Done), A...>::type;
      call(kernel, addresses, done..., static_cast<Next*>(addresses[sizeof...(Done)]));
    }
  }
  template <size_t n, typename First, typename... Rest>
  struct At {
    using type = typename At<n - 1, Rest...>::type;
  };
  template <typename First, typename... Rest>
  struct At<0, First, Rest...> {
    using type = First;
  };
};

template <typename... A>
CK_SIM_UNCHECKED inline void invoke(void (*kernel)(A...), void** addresses) {
  Kernel<A...>::call(kernel, addresses);
}

/// What a parameter is, as in host_kernel.py.
enum ParameterKind : uint32_t { kOther, kPointer, kInteger, kFloating };

template <typename T>
constexpr ParameterKind kKind = __is_enum(T) ? kInteger : kOther;
template <typename T>
constexpr ParameterKind kKind<T*> = kPointer;
#define CK_SIM_KIND(type, kind) \
  template <> \
  constexpr ParameterKind kKind<type> = kind;
CK_SIM_KIND(bool, kInteger)
CK_SIM_KIND(char, kInteger)
CK_SIM_KIND(signed char, kInteger)
CK_SIM_KIND(unsigned char, kInteger)
CK_SIM_KIND(short, kInteger)
CK_SIM_KIND(unsigned short, kInteger)
CK_SIM_KIND(int, kInteger)
CK_SIM_KIND(unsigned, kInteger)
CK_SIM_KIND(long, kInteger)
CK_SIM_KIND(unsigned long, kInteger)
CK_SIM_KIND(long long, kInteger)
CK_SIM_KIND(unsigned long long, kInteger)
CK_SIM_KIND(float, kFloating)
CK_SIM_KIND(double, kFloating)
#undef CK_SIM_KIND

/// The bytes of each parameter, then its kind, and how many there are: what the caller packed must
/// agree.
template <typename... A>
inline uint32_t parameters(void (*)(A...), const uint32_t** found) {
  static constexpr uint32_t kFound[] = {sizeof(A)..., kKind<A>..., 0};
  *found = kFound;
  return sizeof...(A);
}

}  // namespace ck_sim

// Inline PTX, which the host's assembler could take for its own.
#define asm ck_sim_has_no_inline_ptx
