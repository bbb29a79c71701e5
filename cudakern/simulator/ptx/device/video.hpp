// Video instructions: results with more bits than the operands are clamped or truncated.
#pragma once

#include "integers.hpp"

namespace ck_ptx {

static inline s64 v_add(s64 a, s64 b) { return a + b; }
static inline s64 v_sub(s64 a, s64 b) { return a - b; }
static inline s64 v_absdiff(s64 a, s64 b) { return a < b ? b - a : a - b; }
static inline s64 v_min(s64 a, s64 b) { return a < b ? a : b; }
static inline s64 v_max(s64 a, s64 b) { return a < b ? b : a; }
/// The mean; one between two integers is rounded away from zero.
static inline s64 v_avrg(s64 a, s64 b) { return (a + b + (a + b >= 0)) >> 1; }
static inline s64 v_eq(s64 a, s64 b) { return a == b; }
static inline s64 v_ne(s64 a, s64 b) { return a != b; }
static inline s64 v_lt(s64 a, s64 b) { return a < b; }
static inline s64 v_le(s64 a, s64 b) { return a <= b; }
static inline s64 v_gt(s64 a, s64 b) { return a > b; }
static inline s64 v_ge(s64 a, s64 b) { return a >= b; }

template <class T>
static inline s64 saturated(s64 x, bool sat, u32 bits = 32) {
  return sat ? clamped<T>(x, bits) : x;
}

/// Applies an operation to each lane of two words. Adds all results to `c`, or packs them.
template <u32 lanes, class D, class A, class B>
CK_INLINE D on_lanes(s64 (*operation)(s64, s64), u32 a, u32 b, u32 c, bool sat, bool add = false) {
  constexpr u32 bits = 32 / lanes;
  u32 packed = 0;
  for (u32 k = 0; k < lanes; ++k) {
    const s64 x = operation(lane<A, bits>(a, k), lane<B, bits>(b, k));
    c += (u32)x;
    packed |= (u32)(saturated<D>(x, sat, bits) & (((s64)1 << bits) - 1)) << bits * k;
  }
  return (D)(add ? c : packed);
}

}  // namespace ck_ptx
