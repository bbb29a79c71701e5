// SPDX-License-Identifier: MIT
// CUDA's integer, bit and cache-hint intrinsics.
#pragma once

#include <stdint.h>

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline unsigned __brev(unsigned x) {
  unsigned result = 0;
  for (int i = 0; i < 32; ++i) {
    result |= (x >> i & 1u) << (31 - i);
  }
  return result;
}
inline unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}

inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32);
}
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<int64_t>(a) * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}

#define CK_SIM_LOAD(name) \
  template <typename T> \
  inline T name(const T* address) { \
    return *address; \
  }
CK_SIM_LOAD(__ldg)
CK_SIM_LOAD(__ldcs)
CK_SIM_LOAD(__ldcg)
CK_SIM_LOAD(__ldca)
CK_SIM_LOAD(__ldlu)
#undef CK_SIM_LOAD

/// Reads memory that others may have changed: what polling loops are written with, so it yields.
template <typename T>
inline T __ldcv(const T* address, CK_SIM_HERE) {
  const ck_sim::Site site = {file, line};
  ck_sim_yield(0, &site);
  return *address;
}

#define CK_SIM_STORE(name) \
  template <typename T> \
  inline void name(T* address, T value) { \
    *address = value; \
  }
CK_SIM_STORE(__stcs)
CK_SIM_STORE(__stcg)
CK_SIM_STORE(__stwb)
CK_SIM_STORE(__stwt)
#undef CK_SIM_STORE

#define CK_SIM_BITS(name, to, from) \
  inline to name(from value) { \
    to result; \
    static_assert(sizeof(to) == sizeof(from), "same width"); \
    __builtin_memcpy(&result, &value, sizeof(to)); \
    return result; \
  }
CK_SIM_BITS(__float_as_int, int, float)
CK_SIM_BITS(__float_as_uint, unsigned, float)
CK_SIM_BITS(__int_as_float, float, int)
CK_SIM_BITS(__uint_as_float, float, unsigned)
CK_SIM_BITS(__double_as_longlong, long long, double)
CK_SIM_BITS(__longlong_as_double, double, long long)
#undef CK_SIM_BITS

template <typename T>
inline T min(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
inline T max(T a, T b) {
  return a < b ? b : a;
}
