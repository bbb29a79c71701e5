// SPDX-License-Identifier: MIT
// Logic and shifts. A shift by the width or more leaves nothing but copies of the sign.
#pragma once

#include "types.hpp"

namespace ck_ptx {

/// The function of three bits that a table of eight has.
__attribute__((always_inline)) static inline u32 lop3(u32 a, u32 b, u32 c, u32 table) {
  return (table & 1 ? ~a & ~b & ~c : 0) | (table & 2 ? ~a & ~b & c : 0) |
         (table & 4 ? ~a & b & ~c : 0) | (table & 8 ? ~a & b & c : 0) |
         (table & 16 ? a & ~b & ~c : 0) | (table & 32 ? a & ~b & c : 0) |
         (table & 64 ? a & b & ~c : 0) | (table & 128 ? a & b & c : 0);
}

static inline u32 clamp32(u32 count) { return count > 32 ? 32 : count; }
static inline u32 wrap32(u32 count) { return count & 31; }

static inline u32 shf_l(u32 low, u32 high, u32 count) {
  return count > 31 ? low : (u32)(((u64)high << 32 | low) << count >> 32);
}
static inline u32 shf_r(u32 low, u32 high, u32 count) {
  return (u32)(((u64)high << 32 | low) >> count);
}

template <class T>
static inline T shl(T a, u32 count) {
  return count < 8 * sizeof(T) ? (T)(a << count) : (T)0;
}

template <class T>
static inline T shr(T a, u32 count) {
  return count < 8 * sizeof(T) ? (T)(a >> count) : (T)(a < 0 ? -1 : 0);
}

}  // namespace ck_ptx
