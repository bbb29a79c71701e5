// SPDX-License-Identifier: MIT
// Which lanes of a warp gave the same value, compared by bits.
#pragma once

#include <stdint.h>

#include "runtime.hpp"

namespace ck_sim {

template <typename T>
inline unsigned match(unsigned mask, T value, const char* file, int line) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "lanes match values of 4 or 8 bytes");
  const Site site = {file, line};
  const uint64_t mine = to_bits(value);
  const uint64_t* values = ck_sim_collective(mask, mine, &site);
  mask &= ck_sim::peek(ck_sim::view()->warp);
  unsigned same = 0;
  for (int i = 0; i < 32; ++i) {
    same |= static_cast<unsigned>((mask >> i & 1) != 0 && values[i] == mine) << i;
  }
  return same;
}

}  // namespace ck_sim

template <typename T>
inline unsigned __match_any_sync(unsigned mask, T value, CK_SIM_HERE) {
  return ck_sim::match(mask, value, file, line);
}
template <typename T>
inline unsigned __match_all_sync(unsigned mask, T value, int* predicate, CK_SIM_HERE) {
  const unsigned all = mask & ck_sim::peek(ck_sim::view()->warp);
  *predicate = ck_sim::match(mask, value, file, line) == all;
  return *predicate != 0 ? all : 0;
}
