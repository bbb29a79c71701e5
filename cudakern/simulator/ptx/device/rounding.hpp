// Exact rounding in every direction, on every host, of numbers that are integers times powers of
// two. Where 32 or 64 bits are rounded to nearest, the host's own arithmetic is used.
#pragma once

#include "float_bits.hpp"

namespace ck_ptx {

/// (-1)^negative * mantissa * 2^exponent. The last bit is also set for anything below it.
template <typename Mantissa>
struct Scaled {
  bool negative;
  s32 exponent;
  Mantissa mantissa;
};
using Exact = Scaled<u64>;
using Wide = Scaled<b128>;

/// Converts a finite float.
static inline Exact exact(f64 x) {
  const u64 bits = bit_cast<u64>(x);
  const u64 mantissa = bits & 0xfffffffffffff;
  const s32 exponent = (bits >> 52) & 0x7ff;
  return {bits >> 63 != 0, (exponent ? exponent : 1) - 1075,
          exponent ? mantissa | 1ull << 52 : mantissa};
}

/// m / 2^n for n of at least 1, rounded to an integer in the direction for the signed number.
template <int ROUNDING>
static inline u64 shifted(u64 m, s32 n, bool negative) {
  const u64 whole = n < 64 ? m >> n : 0;
  const u64 rest = n < 64 ? m << (64 - n) : n == 64 ? m : u64(m != 0);  // in units of 2^-64
  const u64 half = 1ull << 63;
  bool up = false;
  if (is_nearest(ROUNDING)) up = rest > half || (rest == half && (whole & 1));
  if (ROUNDING == rna) up = rest >= half;
  if (ROUNDING == rp) up = rest && !negative;
  if (ROUNDING == rm) up = rest && negative;
  return whole + up;
}

/// The code of a number in a format, without its sign. Numbers that are too large have the code
/// after the largest one, which is infinity, or the largest one if the direction says so.
template <typename F, int ROUNDING>
static inline u64 magnitude_code(Exact x) {
  if (!x.mantissa) return 0;
  constexpr s32 least = 2 - (1 << (F::exponent - 1)) - F::mantissa;  // of a subnormal's last bit
  const int zeros = __builtin_clzll(x.mantissa);
  const s32 exponent = x.exponent - zeros;
  const s32 normal = exponent + 63 - F::mantissa;
  const s32 last = normal > least ? normal : least;
  const bool up = is_nearest(ROUNDING) || ROUNDING == rna || ROUNDING == (x.negative ? rm : rp);
  if (last - least >= 1 << F::exponent) return F::largest + up;
  const u64 code = (u64(last - least) << F::mantissa) +
                   shifted<ROUNDING>(x.mantissa << zeros, last - exponent, x.negative);
  return code <= F::largest ? code : F::largest + up;
}

template <typename T, int ROUNDING>
static inline T rounded(Exact x) {
  using F = FloatOf<T>;
  const u64 code = magnitude_code<F, ROUNDING>(x) | (x.negative ? F::sign : 0);
  return of_bits<T>(code);
}

/// Rounds any number of a wider format; NaN becomes the canonical one.
template <typename T, int ROUNDING>
static inline T rounded(f64 x) {
  using F = FloatOf<T>;
  if (rarely(x != x)) return nan_of<T>();
  if (is_finite(x)) return rounded<T, ROUNDING>(exact(x));
  return of_bits<T>((F::largest + 1) | (x < 0 ? F::sign : 0));
}

CK_INLINE int leading_zeros(b128 m) {
  const u64 high = static_cast<u64>(m >> 64);
  return high ? __builtin_clzll(high) : 64 + __builtin_clzll(static_cast<u64>(m));
}

/// Shifts the highest bit below the last but one, which leaves room for a carry.
static inline Wide aligned(Wide x) {
  const int n = leading_zeros(x.mantissa) - 1;
  return {x.negative, x.exponent - n, x.mantissa << n};
}

/// The sum of two numbers that are not 0; the mantissa is 0 if they cancel.
static inline Wide sum(Wide a, Wide b) {
  a = aligned(a);
  b = aligned(b);
  if (a.exponent < b.exponent) {
    const Wide swapped = a;
    a = b;
    b = swapped;
  }
  const s32 n = a.exponent - b.exponent;
  b128 low = b.mantissa;
  if (n > 127) low = 1;
  if (n > 0 && n <= 127) low = (low >> n) | b128((low << (128 - n)) != 0);
  if (a.negative == b.negative) return {a.negative, a.exponent, a.mantissa + low};
  if (a.mantissa >= low) return {a.negative, a.exponent, a.mantissa - low};
  return {b.negative, a.exponent, low - a.mantissa};
}

template <typename T, int ROUNDING>
static inline T rounded(Wide x) {
  const int n = leading_zeros(x.mantissa);
  const b128 m = x.mantissa << n;
  const u64 rest = static_cast<u64>(m) != 0;
  return rounded<T, ROUNDING>(Exact{x.negative, x.exponent - n + 64, u64(m >> 64) | rest});
}

/// a * b + c, rounded once; a, b and c are numbers of T.
template <typename T, int ROUNDING>
static inline T fused_exactly(f64 a, f64 b, f64 c) {
  if (!is_finite(a) || !is_finite(b) || !is_finite(c)) {
    const f64 r = is_finite(a) && is_finite(b) ? c : a * b + c;
    return r != r ? nan_of<T>() : static_cast<T>(r);
  }
  const Exact x = exact(a), y = exact(b), z = exact(c);
  const bool negative = x.negative != y.negative;
  const bool zero = !x.mantissa || !y.mantissa;
  const T nothing = ROUNDING == rm ? T(-0.0) : T(0.0);
  if (zero) return z.mantissa || negative == z.negative ? static_cast<T>(c) : nothing;
  const Wide product = {negative, x.exponent + y.exponent, b128(x.mantissa) * y.mantissa};
  if (!z.mantissa) return rounded<T, ROUNDING>(product);
  const Wide total = sum(product, {z.negative, z.exponent, z.mantissa});
  return total.mantissa ? rounded<T, ROUNDING>(total) : nothing;
}

/// a / b, rounded once.
template <typename T, int ROUNDING>
static inline T divided_exactly(f64 a, f64 b) {
  if (!is_finite(a) || !is_finite(b) || a == 0 || b == 0) return static_cast<T>(a / b);
  const Exact x = exact(a), y = exact(b);
  const int n = __builtin_clzll(x.mantissa), k = __builtin_clzll(y.mantissa);
  const b128 above = b128(x.mantissa << n) << 63;
  const u64 below = y.mantissa << k;
  const u64 whole = static_cast<u64>(above / below);
  const u64 rest = b128(whole) * below != above;
  const s32 exponent = (x.exponent - n) - (y.exponent - k) - 63;
  return rounded<T, ROUNDING>(Exact{x.negative != y.negative, exponent, whole | rest});
}

/// The square root, rounded once.
template <typename T, int ROUNDING>
static inline T root_exactly(f64 a) {
  if (!is_finite(a) || a <= 0) return static_cast<T>(__builtin_sqrt(a));
  const Exact x = exact(a);
  const int zeros = 64 + __builtin_clzll(x.mantissa);
  const int n = zeros - ((x.exponent - zeros) & 1);  // an even exponent
  const b128 square = b128(x.mantissa) << n;
  u64 root = 0;
  for (u64 bit = 1ull << 63; bit; bit >>= 1) {
    const u64 more = root | bit;
    if (b128(more) * more <= square) root = more;
  }
  const u64 rest = b128(root) * root != square;
  return rounded<T, ROUNDING>(Exact{false, (x.exponent - n) / 2, root | rest});
}

}  // namespace ck_ptx
