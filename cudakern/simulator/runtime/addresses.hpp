// Words of memory that may be addresses.
#pragma once

#include <stdint.h>

#include "runtime_api.hpp"

namespace ck_sim {

constexpr uint64_t kMostVariableBytes =
    64 * 1024;  // of a variable in which addresses are looked for

/// Calls `visit` with each word that is an address in [low, high]. Locked or not: others may write.
template <typename Visit>
inline void for_addresses(const void* memory, uint64_t bytes, uint64_t low, uint64_t high,
                          Visit visit) {
  constexpr uint64_t kBlock = 64;
  const uint64_t* words = static_cast<const uint64_t*>(memory);
  const uint64_t count = bytes / 8, span = high - low;
  for (uint64_t first = 0; first < count; first += kBlock) {
    const uint64_t last = first + kBlock < count ? first + kBlock : count;
    uint64_t found = 0;
    for (uint64_t i = first; i < last; ++i) {
      found += words[i] - low <= span;
    }
    for (uint64_t i = first; i < last && found != 0; ++i) {
      if (words[i] - low <= span) {
        visit(words + i);
      }
    }
  }
}

/// Calls `visit` with each variable of a module in which addresses are looked for.
template <typename Visit>
inline void for_variables(const ck_sim_variable* variables, uint64_t count, Visit visit) {
  for (uint64_t i = 0; i < count; ++i) {
    if (variables[i].bytes <= kMostVariableBytes &&
        reinterpret_cast<uint64_t>(*variables[i].place) % sizeof(uint64_t) == 0) {
      visit(variables[i], i);
    }
  }
}

}  // namespace ck_sim
