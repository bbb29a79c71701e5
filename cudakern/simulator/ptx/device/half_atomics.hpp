// Atomics on half-precision floats.
#pragma once

#include "atomics.hpp"
#include "halves.hpp"

namespace ck_ptx {

template <typename T>
static inline T half_add(T a, T b) {
  return add_half<0, 0>(a, b);
}
template <typename T>
static inline T half_min(T a, T b) {
  return minimum_half<0, 0, 0>(a, b);
}
template <typename T>
static inline T half_max(T a, T b) {
  return maximum_half<0, 0, 0>(a, b);
}

template <typename T>
static inline T atomic_half(char* address, T value, T (*combine)(T, T), const ck_sim::Site* site) {
  using Bits = decltype(value.bits);
  return {atomic_update<Bits>(
      address, site, [value, combine](Bits old) -> Bits { return combine(T{old}, value).bits; })};
}
template <typename T, int N>
static inline void each_half(T (&d)[N], char* address, T (&b)[N], T (*combine)(T, T),
                             const ck_sim::Site* site) {
  using Bits = decltype(b[0].bits);
  update_each<Bits>(d, address, b, site,
                    [combine](Bits old, T value) { return combine(T{old}, value).bits; });
}

}  // namespace ck_ptx
