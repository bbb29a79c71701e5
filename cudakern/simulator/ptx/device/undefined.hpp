// Undefined values in checked launches, from loads and shuffles to where they are used. A register
// that can hold one has a word beside it, which runtime.hpp describes.
#pragma once

#include "runtime_api.hpp"
#include "types.hpp"

#ifdef CK_SIM_CHECKED
namespace ck_ptx {

CK_INLINE bool has_bytes(u64 undefined) { return (undefined & ck_sim::kUndefinedBytes) != 0; }
/// Of a result that is computed from some bytes of a value, a bit each.
CK_INLINE u64 kept(u64 undefined, u64 bytes) {
  return (undefined & (~ck_sim::kUndefinedBytes | bytes)) | ck_sim::kComputed;
}
/// Moves the bytes from number `at` on to the beginning, and the other way round.
CK_INLINE u64 part_of(u64 undefined, u32 at, u64 bytes) {
  return (undefined & ~ck_sim::kUndefinedBytes) |
         ((undefined & ck_sim::kUndefinedBytes) >> at & bytes);
}
CK_INLINE u64 placed_at(u64 undefined, u32 at, u64 bytes) {
  return (undefined & ~ck_sim::kUndefinedBytes) | ((undefined & bytes) << at);
}
/// Of a result whose halves of 16 bits are computed from those of a word.
CK_INLINE u64 halves(u64 undefined) {
  const u64 low = (undefined & 0x3) != 0 ? 0x3 : 0, high = (undefined & 0xC) != 0 ? 0xC : 0;
  return (undefined & ~ck_sim::kUndefinedBytes) | low | high | ck_sim::kComputed;
}
/// Of a result that is computed from values whose words are joined here.
CK_INLINE u64 whole(u64 undefined) {
  return undefined | (has_bytes(undefined) ? ck_sim::kWholeRegister : 0);
}

/// Of the result of an operation that each operand may decide by itself.
CK_INLINE u64 decided(u64 a, u64 b, bool a_decides, bool b_decides) {
  return (b_decides && !has_bytes(b) ? 0 : a) | (a_decides && !has_bytes(a) ? 0 : b) |
         ck_sim::kComputed;
}

/// Takes the word of what the thread has just loaded, or got from its warp.
CK_INLINE u64 taken(const ck_sim::View* me) {
  const u64 undefined = me->undefined;
  me->undefined = 0;
  return undefined;
}
/// Takes that of the bytes after the first sixteen.
CK_INLINE u64 taken_behind(const ck_sim::View* me, u64 undefined) {
  const u64 behind = me->undefined_behind;
  me->undefined_behind = 0;
  return (undefined & ~ck_sim::kUndefinedBytes) | behind;
}
/// Gives the word of what this lane passes to an instruction of its warp.
CK_INLINE void give(const ck_sim::View* me, u64 undefined) { me->undefined = undefined; }
/// The same for a product of matrices, and, a bit each, for which registers, from number `first`
/// on.
template <int N>
CK_OUTLINE void give_registers(const ck_sim::View* me, const u64 (&undefined)[N], u32 first) {
  for (u32 i = 0; i < N; ++i) {
    me->undefined |= undefined[i];
    me->undefined_behind |= static_cast<u64>(has_bytes(undefined[i])) << (first + i);
  }
}
/// Of a register that has elements of a matrix.
CK_INLINE u64 of_register(u64 undefined, u64 registers, u32 i) {
  return (registers >> i & 1) != 0 ? whole(undefined | ck_sim::kUndefinedBytes) : 0;
}

template <int N>
CK_OUTLINE void take_registers(u64 undefined, u64 registers, u64 (&to)[N]) {
  for (u32 i = 0; i < N; ++i) to[i] = of_register(undefined, registers, i);
}
/// Those of a row of a matrix, four bytes each.
template <int N>
CK_OUTLINE void take_row(u64 undefined, u64 (&to)[N]) {
  for (u32 i = 0; i < N; ++i) to[i] = part_of(undefined, 4 * i, 0xF);
}

CK_INLINE void used(u64 undefined, ck_sim_use use, const ck_sim::Site* site) {
  if (__builtin_expect(has_bytes(undefined), 0)) {
    ck_sim_used(undefined, use, site);
  }
}

// Parameters and results of functions. After their bytes come words, one for each four bytes.

CK_OUTLINE void pass(char* words, u32 at, u32 bytes, u64 undefined) {
  for (u32 i = 0; i < bytes; ++i) {
    u64* const word = reinterpret_cast<u64*>(words) + (at + i) / 4;
    const u64 bit = u64{1} << (at + i) % 4;
    *word = ((*word | undefined) & ~ck_sim::kUndefinedBytes) |
            (*word & ck_sim::kUndefinedBytes & ~bit) | ((undefined >> i & 1) != 0 ? bit : 0);
  }
}
CK_OUTLINE u64 passed(const char* words, u32 at, u32 bytes) {
  u64 undefined = 0;
  for (u32 i = 0; i < bytes; ++i) {
    const u64 word = reinterpret_cast<const u64*>(words)[(at + i) / 4];
    if ((word >> (at + i) % 4 & 1) != 0) {
      undefined |= (word & ~ck_sim::kUndefinedBytes) | u64{1} << i;
    }
  }
  return undefined;
}

}  // namespace ck_ptx
#endif
