// Comparisons. A comparison with NaN is false, or true if its name ends in u.
#pragma once

#include "types.hpp"

namespace ck_ptx {

/// Zero for a subnormal number, if `ftz` says so. Its sign does not count in comparisons.
static inline f32 compared(f32 x, int ftz) {
  return ftz && (bit_cast<u32>(x) & 0x7f800000) == 0 ? 0.0f : x;
}

enum class Is { num, nan, eq, ne, lt, le, gt, ge, lo, ls, hi, hs, equ, neu, ltu, leu, gtu, geu };

template <Is IS, class T>
CK_INLINE bool cmp(T a, T b) {
  if (IS == Is::num) return a == a && b == b;
  if (IS == Is::nan) return a != a || b != b;
  if (IS == Is::eq) return a == b;
  if (IS == Is::ne) return a < b || a > b;
  if (IS == Is::lt || IS == Is::lo) return a < b;
  if (IS == Is::le || IS == Is::ls) return a <= b;
  if (IS == Is::gt || IS == Is::hi) return a > b;
  if (IS == Is::ge || IS == Is::hs) return a >= b;
  if (IS == Is::equ) return !(a < b || a > b);
  if (IS == Is::neu) return a != b;
  if (IS == Is::ltu) return !(a >= b);
  if (IS == Is::leu) return !(a > b);
  if (IS == Is::gtu) return !(a <= b);
  return !(a < b);  // geu
}

#if defined(CK_SIM_FAST) && defined(__AVX__)
/// A choice without a branch, which processors often predict wrongly.
CK_INLINE f32 selected(bool first, f32 a, f32 b) {
  asm("vblendvps %1, %2, %0, %0" : "+x"(b) : "x"(bit_cast<f32>(-static_cast<u32>(first))), "x"(a));
  return b;
}
CK_INLINE f64 selected(bool first, f64 a, f64 b) {
  asm("vblendvpd %1, %2, %0, %0" : "+x"(b) : "x"(bit_cast<f64>(-static_cast<u64>(first))), "x"(a));
  return b;
}
#else
#define selected(first, a, b) (first ? a : b)
#endif

/// What `set` stores for a comparison: all ones, or 1.0.
template <class T>
static inline T truth(bool x) {
  return (T)(!x ? 0 : (T)0.5f != 0 ? 1 : -1);
}

}  // namespace ck_ptx
