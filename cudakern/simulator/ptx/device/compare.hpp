// SPDX-License-Identifier: MIT
// Comparisons. A comparison with a NaN is false; those whose names end in u are true then.
#pragma once

#include "types.hpp"

namespace ck_ptx {

/// Zero for a subnormal number, if `ftz` says so. Its sign does not count in comparisons.
static inline f32 compared(f32 x, bool ftz) {
  return ftz && (bit_cast<u32>(x) & 0x7f800000) == 0 ? 0.0f : x;
}

template <class T>
static inline bool cmp_num(T a, T b) {
  return a == a && b == b;
}
template <class T>
static inline bool cmp_nan(T a, T b) {
  return a != a || b != b;
}
template <class T>
static inline bool cmp_eq(T a, T b) {
  return a == b;
}
template <class T>
static inline bool cmp_ne(T a, T b) {
  return a < b || a > b;
}
template <class T>
static inline bool cmp_lt(T a, T b) {
  return a < b;
}
template <class T>
static inline bool cmp_le(T a, T b) {
  return a <= b;
}
template <class T>
static inline bool cmp_gt(T a, T b) {
  return a > b;
}
template <class T>
static inline bool cmp_ge(T a, T b) {
  return a >= b;
}
template <class T>
static inline bool cmp_lo(T a, T b) {
  return a < b;
}
template <class T>
static inline bool cmp_ls(T a, T b) {
  return a <= b;
}
template <class T>
static inline bool cmp_hi(T a, T b) {
  return a > b;
}
template <class T>
static inline bool cmp_hs(T a, T b) {
  return a >= b;
}
template <class T>
static inline bool cmp_equ(T a, T b) {
  return !(a < b || a > b);
}
template <class T>
static inline bool cmp_neu(T a, T b) {
  return a != b;
}
template <class T>
static inline bool cmp_ltu(T a, T b) {
  return !(a >= b);
}
template <class T>
static inline bool cmp_leu(T a, T b) {
  return !(a > b);
}
template <class T>
static inline bool cmp_gtu(T a, T b) {
  return !(a <= b);
}
template <class T>
static inline bool cmp_geu(T a, T b) {
  return !(a < b);
}

static inline bool bool_and(bool a, bool b) { return a & b; }
static inline bool bool_or(bool a, bool b) { return a | b; }
static inline bool bool_xor(bool a, bool b) { return a ^ b; }

/// What `set` stores for a comparison: all ones, or 1.0.
template <class T>
static inline T truth(bool x) {
  return x ? (T)-1 : (T)0;
}
template <>
inline f32 truth<f32>(bool x) {
  return x ? 1.0f : 0.0f;
}

}  // namespace ck_ptx
