// Formats of floats, and their bits.
#pragma once

#include "types.hpp"

namespace ck_ptx {

/// A format of floats: the widths of its fields, and the code of its largest finite number.
template <int EXPONENT, int MANTISSA, u64 LARGEST = (((1ull << EXPONENT) - 1) << MANTISSA) - 1>
struct Format {
  static constexpr int exponent = EXPONENT, mantissa = MANTISSA;
  static constexpr u64 largest = LARGEST, sign = 1ull << (EXPONENT + MANTISSA), nan = sign - 1;
};

template <typename T>
struct FloatOf;
template <>
struct FloatOf<f16> : Format<5, 10> {};
template <>
struct FloatOf<bf16> : Format<8, 7> {};
template <>
struct FloatOf<f32> : Format<8, 23> {};
template <>
struct FloatOf<f64> : Format<11, 52> {};

constexpr bool is_nearest(int rounding) { return rounding == rn || rounding == none; }

/// The bits of a float, and the float that has some bits.
CK_INLINE u16 bits_of(f16 x) { return x.bits; }
CK_INLINE u16 bits_of(bf16 x) { return x.bits; }
CK_INLINE u32 bits_of(f32 x) { return bit_cast<u32>(x); }
CK_INLINE u64 bits_of(f64 x) { return bit_cast<u64>(x); }
template <typename T>
CK_INLINE T of_bits(u64 bits) {
  return bit_cast<T>(static_cast<decltype(bits_of(T{}))>(bits));
}
/// The bits without the sign.
template <typename T>
CK_INLINE u64 size_bits(T x) {
  return bits_of(x) & (FloatOf<T>::sign - 1);
}

// Both test bits. Compilers could remove other tests, by identities of floats.
template <typename T>
CK_INLINE bool is_nan(T x) {
  return size_bits(x) > FloatOf<T>::largest + 1;
}
template <typename T>
CK_INLINE bool is_subnormal(T x) {
  return size_bits(x) - 1 < (1ull << FloatOf<T>::mantissa) - 1;
}
CK_INLINE bool is_finite(f64 x) { return x - x == 0; }
template <typename T>
CK_INLINE T nan_of() {
  return of_bits<T>(FloatOf<T>::nan);
}

/// A condition that rarely holds. The empty statement makes it a branch, which costs nothing then;
/// a selection would wait for it.
CK_INLINE bool rarely(bool condition) {
  if (!__builtin_expect(condition, 0)) return false;
  __asm__ volatile("");
  return true;
}

}  // namespace ck_ptx
