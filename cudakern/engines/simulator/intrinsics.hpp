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
  CK_SIM_INLINE T name(const T* address) { \
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
CK_SIM_INLINE T __ldcv(const T* address, CK_SIM_HERE) {
  const ck_sim::Site site = {file, line};
  ck_sim_yield(0, &site);
  if constexpr (!__is_class(T)) {
    return *static_cast<const volatile T*>(address);  // the checker takes it for a flag
  }
  return *address;
}

#define CK_SIM_STORE(name) \
  template <typename T> \
  CK_SIM_INLINE void name(T* address, T value) { \
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

inline int __mul24(int a, int b) {
  const auto low = [](int x) { return static_cast<int>(static_cast<unsigned>(x) << 8) >> 8; };
  return static_cast<int>(static_cast<int64_t>(low(a)) * low(b));
}
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xFFFFFFu) * (b & 0xFFFFFFu); }
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a < b ? b - a : a - b) + c; }
inline unsigned __sad(int a, int b, unsigned c) {
  const unsigned x = static_cast<unsigned>(a), y = static_cast<unsigned>(b);
  return (a < b ? y - x : x - y) + c;
}
inline int __hadd(int a, int b) { return static_cast<int>((static_cast<int64_t>(a) + b) >> 1); }
inline int __rhadd(int a, int b) {
  return static_cast<int>((static_cast<int64_t>(a) + b + 1) >> 1);
}
inline unsigned __uhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<uint64_t>(a) + b) >> 1);
}
inline unsigned __urhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<uint64_t>(a) + b + 1) >> 1);
}

/// Four of the eight bytes of b:a, one per nibble of the selector.
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    result |= static_cast<unsigned>(bytes >> 8 * (selector >> 4 * i & 7) & 0xFF) << 8 * i;
  }
  return result;
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
  return static_cast<unsigned>(both << (shift < 32 ? shift : 32) >> 32);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
  return static_cast<unsigned>(both >> (shift < 32 ? shift : 32));
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return __funnelshift_lc(low, high, shift & 31);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return __funnelshift_rc(low, high, shift & 31);
}

/// The position of the n-th set bit from `base` on, upward, or downward if n is negative.
inline unsigned __fns(unsigned mask, unsigned base, int n) {
  const int step = n < 0 ? -1 : 1;
  int left = n == 0 ? 1 : n * step;
  for (int i = static_cast<int>(base); i >= 0 && i < 32; i += step) {
    left -= static_cast<int>(mask >> i & 1);
    if (left == 0) {
      return static_cast<unsigned>(i);
    }
    if (n == 0) {
      break;
    }
  }
  return ~0u;
}

namespace ck_sim {

/// Calls `combine(x, y)` for each pair of lanes of type T, and packs what it returns.
template <typename T, typename Combine>
inline unsigned packed(unsigned a, unsigned b, Combine combine) {
  constexpr int kBits = 8 * sizeof(T);
  unsigned result = 0;
  for (int i = 0; i < 32; i += kBits) {
    const int lane = combine(static_cast<T>(a >> i), static_cast<T>(b >> i));
    result |= (static_cast<unsigned>(lane) & ((1u << kBits) - 1)) << i;
  }
  return result;
}
/// Kept in the range of T.
template <typename T>
inline int clamped(int x) {
  constexpr int kMost = static_cast<int>((1u << (8 * sizeof(T) - (T(-1) < T(0)))) - 1);
  constexpr int kLeast = T(-1) < T(0) ? -kMost - 1 : 0;
  return x < kLeast ? kLeast : x > kMost ? kMost : x;
}

template <typename A, typename B>
inline int dot(unsigned a, unsigned b, int sum, int count) {
  for (int i = 0; i < count; ++i) {
    sum += static_cast<int>(static_cast<A>(a >> 8 * sizeof(A) * i)) *
           static_cast<int>(static_cast<B>(b >> 8 * sizeof(B) * i));
  }
  return sum;
}

}  // namespace ck_sim

#define CK_SIM_PACKED_OF(name, lanes, type, expression) \
  inline unsigned name##lanes(unsigned a, unsigned b) { \
    using T = type; \
    return ck_sim::packed<T>(a, b, [](int x, int y) -> int { return expression; }); \
  }
#define CK_SIM_PACKED_S(name, expression) \
  CK_SIM_PACKED_OF(name, 2, int16_t, expression) \
  CK_SIM_PACKED_OF(name, 4, int8_t, expression)
#define CK_SIM_PACKED_U(name, expression) \
  CK_SIM_PACKED_OF(name, 2, uint16_t, expression) \
  CK_SIM_PACKED_OF(name, 4, uint8_t, expression)
CK_SIM_PACKED_U(__vadd, x + y)
CK_SIM_PACKED_U(__vsub, x - y)
CK_SIM_PACKED_S(__vaddss, ck_sim::clamped<T>(x + y))
CK_SIM_PACKED_U(__vaddus, ck_sim::clamped<T>(x + y))
CK_SIM_PACKED_S(__vsubss, ck_sim::clamped<T>(x - y))
CK_SIM_PACKED_U(__vsubus, ck_sim::clamped<T>(x - y))
CK_SIM_PACKED_S(__vabsdiffs, x < y ? y - x : x - y)
CK_SIM_PACKED_U(__vabsdiffu, x < y ? y - x : x - y)
CK_SIM_PACKED_S(__vavgs, (x + y + (x + y >= 0)) >> 1)
CK_SIM_PACKED_U(__vavgu, (x + y + 1) >> 1)
CK_SIM_PACKED_U(__vhaddu, (x + y) >> 1)
CK_SIM_PACKED_S(__vmaxs, x < y ? y : x)
CK_SIM_PACKED_U(__vmaxu, x < y ? y : x)
CK_SIM_PACKED_S(__vmins, y < x ? y : x)
CK_SIM_PACKED_U(__vminu, y < x ? y : x)
// All bits of a lane or none, and 1 or 0.
#define CK_SIM_PACKED_COMPARE(each, name, sign) \
  each(__vcmp##name, x sign y ? -1 : 0) each(__vset##name, x sign y)
CK_SIM_PACKED_COMPARE(CK_SIM_PACKED_U, eq, ==)
CK_SIM_PACKED_COMPARE(CK_SIM_PACKED_U, ne, !=)
CK_SIM_PACKED_COMPARE(CK_SIM_PACKED_S, gts, >)
CK_SIM_PACKED_COMPARE(CK_SIM_PACKED_U, gtu, >)
CK_SIM_PACKED_COMPARE(CK_SIM_PACKED_S, ges, >=)
CK_SIM_PACKED_COMPARE(CK_SIM_PACKED_U, geu, >=)
CK_SIM_PACKED_COMPARE(CK_SIM_PACKED_S, lts, <)
CK_SIM_PACKED_COMPARE(CK_SIM_PACKED_U, ltu, <)
CK_SIM_PACKED_COMPARE(CK_SIM_PACKED_S, les, <=)
CK_SIM_PACKED_COMPARE(CK_SIM_PACKED_U, leu, <=)
#undef CK_SIM_PACKED_COMPARE
#undef CK_SIM_PACKED_U
#undef CK_SIM_PACKED_S
#undef CK_SIM_PACKED_OF

#define CK_SIM_PACKED_ONE(lanes, type, word) \
  inline unsigned __vneg##lanes(unsigned a) { return __vsub##lanes(0, a); } \
  inline unsigned __vabs##lanes(unsigned a) { return __vabsdiffs##lanes(a, 0); } \
  inline unsigned __vnegss##lanes(unsigned a) { return __vsubss##lanes(0, a); } \
  inline unsigned __vabsss##lanes(unsigned a) { \
    return ck_sim::packed<type>(a, 0, \
                                [](int x, int) { return ck_sim::clamped<type>(x < 0 ? -x : x); }); \
  } \
  inline unsigned __vsads##lanes(unsigned a, unsigned b) { \
    return ck_sim::dot<word, word>(__vabsdiffs##lanes(a, b), lanes == 2 ? 0x10001 : 0x1010101, 0, \
                                   lanes); \
  } \
  inline unsigned __vsadu##lanes(unsigned a, unsigned b) { \
    return ck_sim::dot<word, word>(__vabsdiffu##lanes(a, b), lanes == 2 ? 0x10001 : 0x1010101, 0, \
                                   lanes); \
  }
CK_SIM_PACKED_ONE(2, int16_t, uint16_t)
CK_SIM_PACKED_ONE(4, int8_t, uint8_t)
#undef CK_SIM_PACKED_ONE

inline int __dp4a(int a, int b, int c) { return ck_sim::dot<int8_t, int8_t>(a, b, c, 4); }
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  return ck_sim::dot<uint8_t, uint8_t>(a, b, static_cast<int>(c), 4);
}
inline int __dp2a_lo(int a, int b, int c) { return ck_sim::dot<int16_t, int8_t>(a, b, c, 2); }
inline unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) {
  return ck_sim::dot<uint16_t, uint8_t>(a, b, static_cast<int>(c), 2);
}
inline int __dp2a_hi(int a, int b, int c) { return __dp2a_lo(a, b >> 16, c); }
inline unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c) { return __dp2a_lo(a, b >> 16, c); }
inline int __dp4a(char4 a, char4 b, int c) {
  return c + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
inline unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
  return c + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
