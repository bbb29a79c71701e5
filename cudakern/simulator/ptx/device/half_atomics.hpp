// Atomics on half-precision floats.
#pragma once

#include "atomics.hpp"
#include "small_floats.hpp"

namespace ck_ptx {

/// Applies a function of halves to halves, or to each half of pairs.
template <typename F, typename H>
CK_INLINE H each(F f, H a, H b) {
  return f(a, b);
}
template <typename F, typename H>
CK_INLINE Pair<H> each(F f, Pair<H> a, Pair<H> b) {
  return pair(f(low(a), low(b)), f(high(a), high(b)));
}

constexpr auto half_add = [](auto a, auto b) { return add<rn>(a, b); };
constexpr auto half_min = [](auto a, auto b) { return minimum(a, b); };
constexpr auto half_max = [](auto a, auto b) { return maximum(a, b); };

template <typename T, typename F, typename S>
static inline T atomic_half(char* address, T value, F f, S site) {
  using Bits = decltype(value.bits);
  return {atomic_update<Bits>(
      address, site, [value, f](Bits old) -> Bits { return each(f, T{old}, value).bits; })};
}
template <typename T, int N, typename F, typename S>
static inline void each_half(T (&d)[N], char* address, T (&b)[N], F f, S site) {
  using Bits = decltype(b[0].bits);
  update_each<Bits>(d, address, b, site,
                    [f](Bits old, T value) { return each(f, T{old}, value).bits; });
}

}  // namespace ck_ptx
