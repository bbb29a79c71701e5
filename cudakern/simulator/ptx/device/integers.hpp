// Integer arithmetic, also with carries. Integers wrap (-fwrapv), and no operands trap.
#pragma once

#include "types.hpp"

namespace ck_ptx {

u32 twice_of(u16);
s32 twice_of(s16);
u64 twice_of(u32);
s64 twice_of(s32);
unsigned __int128 twice_of(u64);
__int128 twice_of(s64);
/// The integer of the same signedness that holds all products of two.
template <class T>
using twice = decltype(twice_of(T{}));

template <class T>
static constexpr u32 kBits = 8 * sizeof(T);

/// The nearest integer of so many bits, signed as `T` is.
template <class T>
static inline s64 clamped(s64 x, u32 bits = 32) {
  const s64 lowest = (T)-1 < 0 ? -((s64)1 << (bits - 1)) : 0;
  const s64 highest = lowest + ((s64)1 << bits) - 1;
  return x < lowest ? lowest : x > highest ? highest : x;
}
static inline s32 sat_s32(s64 x) { return (s32)clamped<s32>(x); }

/// Part `k` of so many bits of a word, signed as `T` is.
template <class T, u32 bits>
static inline s64 lane(u32 x, u32 k) {
  return (s64)(T)(x << (32 - bits * (k + 1))) >> (32 - bits);
}

template <class T>
static inline T mul_lo(T a, T b) {
  return (T)((u64)a * (u64)b);
}

template <class T>
static inline T mul_hi(T a, T b) {
  return (T)((twice<T>)a * b >> kBits<T>);
}

/// All 48 bits of the product of the low 24 bits of each.
static inline s64 mul24(s32 a, s32 b) { return (s64)(a << 8 >> 8) * (b << 8 >> 8); }
static inline s64 mul24(u32 a, u32 b) { return (s64)((u64)(a & 0xffffff) * (b & 0xffffff)); }

template <class T>
static inline T sad(T a, T b, T c) {
  return (T)(c + (a < b ? b - a : a - b));
}

/// Division by zero gives all ones, as on GPUs.
template <class T>
static inline T divide(T a, T b) {
  return b == 0 ? (T)-1 : (T)-1 < 0 && b == (T)-1 ? (T)(0 - a) : (T)(a / b);
}

/// The remainder of a division by zero is the dividend, as on GPUs.
template <class T>
static inline T modulo(T a, T b) {
  return b == 0 ? a : (T)-1 < 0 && b == (T)-1 ? (T)0 : (T)(a % b);
}

template <class T>
static inline T lesser(T a, T b) {
  return a < b ? a : b;
}

template <class T>
static inline T greater(T a, T b) {
  return a > b ? a : b;
}

// Two integers of 16 bits in a word

template <class P>
static inline P halves(u32 low, u32 high) {
  return bit_cast<P>((low & 0xffff) | high << 16);
}

template <class P>
static inline P add_halves(P a, P b) {
  const u32 x = bit_cast<u32>(a), y = bit_cast<u32>(b);
  return halves<P>(x + y, (x >> 16) + (y >> 16));
}

template <class T, class P>
static inline P extreme_halves(T (*choose)(T, T), P a, P b, bool relu = false) {
  const u32 x = bit_cast<u32>(a), y = bit_cast<u32>(b);
  const T low = choose((T)x, (T)y), high = choose((T)(x >> 16), (T)(y >> 16));
  return relu ? halves<P>(greater<T>(low, 0), greater<T>(high, 0)) : halves<P>(low, high);
}

template <class T>
static inline u32 clz(T a) {
  return a == 0 ? kBits<T> : (u32)__builtin_clzll(a) - (64 - kBits<T>);
}

/// The number of the highest bit that differs from the sign, or by how much to shift it to the top.
template <class T>
static inline u32 bfind(T a, bool shift_amount) {
  const u64 bits = (u64)(a < 0 ? ~a : a);
  if (bits == 0) return ~0u;
  const u32 place = 63 - (u32)__builtin_clzll(bits);
  return shift_amount ? kBits<T> - 1 - place : place;
}

/// The number of the n-th set bit, counted from a base upwards or, if n is negative, downwards.
static inline u32 fns(u32 mask, u32 base, s32 n) {
  if (base > 31) return ~0u;
  if (n == 0) return mask >> base & 1 ? base : ~0u;
  const int step = n > 0 ? 1 : -1;
  u32 left = (n > 0 ? (u32)n : 0u - (u32)n) - 1;
  for (int at = (int)base; at >= 0 && at < 32; at += step) {
    if (mask >> at & 1 && left-- == 0) return (u32)at;
  }
  return ~0u;
}

template <class T>
static inline T brev(T a) {
  u64 x = (u64)a << (64 - kBits<T>);
  x = (x >> 1 & 0x5555555555555555u) | (x & 0x5555555555555555u) << 1;
  x = (x >> 2 & 0x3333333333333333u) | (x & 0x3333333333333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0f0f0f0f0fu) | (x & 0x0f0f0f0f0f0f0f0fu) << 4;
  return (T)__builtin_bswap64(x);
}

/// Ones in so many low bits; all bits from 64 on.
static inline u64 ones(u32 count) { return count > 63 ? ~(u64)0 : ((u64)1 << count) - 1; }

/// How many bits of a field lie in the word.
template <class T>
static inline u32 field_bits(u32 start, u32 length) {
  return start >= kBits<T> ? 0 : lesser<u32>(length, kBits<T> - start);
}

template <class T>
static inline T bfe(T a, u32 start, u32 length) {
  start &= 0xff;
  length &= 0xff;
  if (length == 0) return 0;
  const u64 bits = (u64)a & ones(kBits<T>);
  const u64 mask = ones(field_bits<T>(start, length));
  const u32 top = lesser<u32>(start + length - 1, kBits<T> - 1);
  const u64 sign = (T)-1 < 0 && bits >> top & 1 ? ~mask : 0;
  return (T)((start > 63 ? 0 : bits >> start & mask) | sign);
}

template <class T>
static inline T bfi(T a, T b, u32 start, u32 length) {
  start &= 0xff;
  length &= 0xff;
  if (start >= kBits<T>) return b;
  const u64 mask = ones(field_bits<T>(start, length)) << start;
  return (T)(((u64)a << start & mask) | (b & ~mask));
}

static inline u32 low_clamp(u32 count) { return (u32)ones(count); }
static inline u32 low_wrap(u32 count) { return (u32)ones(count & 31); }

/// The low bits of a word as a signed number.
static inline s32 sign_wrap(s32 a, u32 count) {
  count &= 31;
  return count == 0 ? 0 : (s32)((u32)a << (32 - count)) >> (32 - count);
}
static inline s32 sign_clamp(s32 a, u32 count) { return count > 31 ? a : sign_wrap(a, count); }

static inline u32 bmsk_clamp(u32 start, u32 count) {
  return start > 31 ? 0 : (u32)(ones(lesser<u32>(count, 32)) << start);
}
static inline u32 bmsk_wrap(u32 start, u32 count) {
  return (u32)(ones(count & 31) << (start & 31));
}

template <class A, class B>
static inline u32 dp4a(u32 a, u32 b, u32 c) {
  for (u32 k = 0; k < 4; ++k) {
    c += (u32)(lane<A, 8>(a, k) * lane<B, 8>(b, k));
  }
  return c;
}

template <class A, class B>
static inline u32 dp2a_lo(u32 a, u32 b, u32 c) {
  return c + (u32)(lane<A, 16>(a, 0) * lane<B, 8>(b, 0) + lane<A, 16>(a, 1) * lane<B, 8>(b, 1));
}

template <class A, class B>
static inline u32 dp2a_hi(u32 a, u32 b, u32 c) {
  return dp2a_lo<A, B>(a, b >> 16, c);
}

template <class T>
static inline T add_carry(T a, T b, bool in, bool& out) {
  u64 sum;
  if (kBits<T> == 32) {
    sum = (u64)(u32)a + (u32)b + in;
    out = sum >> 32;
  } else {
    const bool first = __builtin_add_overflow((u64)a, (u64)b, &sum);
    out = first | __builtin_add_overflow(sum, (u64)in, &sum);
  }
  return (T)sum;
}

/// The flag is set if there is a borrow. Words of 32 bits have the same order in 64 bits, with
/// copies of their signs or without.
template <class T>
static inline T sub_borrow(T a, T b, bool in, bool& out) {
  u64 difference;
  const bool first = __builtin_sub_overflow((u64)a, (u64)b, &difference);
  out = first | __builtin_sub_overflow(difference, (u64)in, &difference);
  return (T)difference;
}

}  // namespace ck_ptx
