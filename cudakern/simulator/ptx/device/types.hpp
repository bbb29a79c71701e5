// The types of PTX in C++, and the modifiers of instructions that choose between variants.
#pragma once

#include <stdint.h>
#include <string.h>

#define CK_INLINE static inline __attribute__((always_inline))
/// For long instructions: compilers take twice as long if these are inlined by the hundred.
#define CK_OUTLINE static __attribute__((noinline))

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

template <typename T>
CK_INLINE T load(const char* address) {
  return *reinterpret_cast<const T*>(address);
}
/// The same by an instruction of its own, so that a fault is not one of what uses the value.
template <typename T>
CK_INLINE T load_alone(const char* address) {
  T value = load<T>(address);
#if defined(__x86_64__)
  if constexpr (static_cast<T>(0.5f) != 0) {  // a float
    asm("" : "+x"(value));
  } else if constexpr (sizeof(T) <= 8) {
    asm("" : "+r"(value));
  }
#endif
  return value;
}
template <typename T>
CK_INLINE void store(char* address, T value) {
  *reinterpret_cast<T*>(address) = value;
}

}  // namespace ck_ptx
