// The types of PTX in C++, and the modifiers of instructions that choose between variants.
#pragma once

#include "runtime.hpp"

// Not <string.h>, which takes compilers longer than a small kernel.
#define memcpy __builtin_memcpy
#define memset __builtin_memset

#define CK_INLINE static inline __attribute__((always_inline))
/// For long instructions: compilers take twice as long if these are inlined by the hundred.
#define CK_OUTLINE static __attribute__((noinline))

// Operations on integers. They are macros, since compilers take longer to inline functions;
// operands are names, or primary or unary expressions.
#define is_eq(a, b) (a == b)
#define is_ne(a, b) (a != b)
#define is_lt(a, b) (a < b)
#define is_le(a, b) (a <= b)
#define is_gt(a, b) (a > b)
#define is_ge(a, b) (a >= b)
#define is_lo is_lt
#define is_ls is_le
#define is_hi is_gt
#define is_hs is_ge
#define bool_and(a, b) ((a) & (b))
#define bool_or(a, b) ((a) | (b))
#define bool_xor(a, b) ((a) ^ (b))
// A shift by the width or more leaves zeros, or copies of the sign.
#define shl(T, a, b) (b < 8 * sizeof(T) ? (T)(a << b) : 0)
#define shr(T, a, b) (b < 8 * sizeof(T) ? (T)(a >> b) : 0)
#define shr_signed(T, a, b) ((T)(a >> (b < 8 * sizeof(T) ? b : 8 * sizeof(T) - 1)))

namespace ck_ptx {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s8 = int8_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;
using b128 = unsigned __int128;
using f32 = float;
using f64 = double;
using pred = bool;

struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};
/// Two floats of 16 bits in a word; the first one is the lower half.
template <typename H>
struct Pair {
  u32 bits;
};
using f16x2 = Pair<f16>;
using bf16x2 = Pair<bf16>;

/// Modifiers that are passed to functions; the last one stands for none.
enum Word { rn, rz, rm, rp, rna, rs, rni, rzi, rmi, rpi, none };

/// The same bits in another type.
template <typename To, typename From>
CK_INLINE To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "the same size");
#if defined(__has_builtin)
#if __has_builtin(__builtin_bit_cast)
  return __builtin_bit_cast(To, from);
#endif
#endif
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

/// The first elements of an array, as an array of so many.
template <int n, typename T>
CK_INLINE T (&first(T* array))
    [n] { return *reinterpret_cast<T(*)[n]>(array); } template <typename T>
    CK_INLINE T load(const char* address) {
  return *reinterpret_cast<const T*>(address);
}
/// After a load of an integer or a float: has it an instruction of its own, so that a fault is not
/// one of what uses the value.
#if defined(__x86_64__)
#define loaded(value) asm("" : "+r"(value));
#define loaded_float(value) asm("" : "+x"(value));
#else
#define loaded(value)
#define loaded_float(value)
#endif
template <typename T>
CK_INLINE void store(char* address, T value) {
  *reinterpret_cast<T*>(address) = value;
}

}  // namespace ck_ptx
