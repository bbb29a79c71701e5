// SPDX-License-Identifier: MIT
// Permutation of bytes. A selector has four bits for each byte of the result: which of eight bytes
// it is, and whether copies of that byte's sign stand for it.
#pragma once

#include "types.hpp"

namespace ck_ptx {

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
