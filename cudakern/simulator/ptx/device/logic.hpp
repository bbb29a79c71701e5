// Logic, shifts of two words, permutations of bytes.
#pragma once

#include "types.hpp"

namespace ck_ptx {

/// The function of three bits that a table of eight bits has.
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

// Permutation of bytes. A selector has four bits for each byte of the result: which of eight bytes
// that is, and whether it consists of copies of that byte's sign.

static inline u32 selector_none(u32 c) { return c; }
static inline u32 selector_f4e(u32 c) { return 0x3210 + 0x1111 * (c & 3); }
static inline u32 selector_b4e(u32 c) { return (0x5670 + 0x1111 * (c & 3)) & 0x7777; }
static inline u32 selector_rc8(u32 c) { return 0x1111 * (c & 3); }
static inline u32 selector_ecl(u32 c) { return (u32)(0x3333322232113210 >> 16 * (c & 3)) & 0xffff; }
static inline u32 selector_ecr(u32 c) { return (u32)(0x3210221011100000 >> 16 * (c & 3)) & 0xffff; }
static inline u32 selector_rc16(u32 c) { return c & 1 ? 0x3232 : 0x1010; }

static inline u32 prmt(u32 a, u32 b, u32 selector) {
  const u64 bytes = (u64)b << 32 | a;
  u32 result = 0;
  for (u32 k = 0; k < 4; ++k) {
    const u32 chosen = selector >> 4 * k & 15;
    const u32 byte = (u32)(bytes >> 8 * (chosen & 7)) & 0xff;
    result |= (chosen < 8 ? byte : byte & 0x80 ? 0xff : 0) << 8 * k;
  }
  return result;
}

}  // namespace ck_ptx
