// Words of memory that may be addresses.
#pragma once

#include <stdint.h>

#include "runtime_api.hpp"

namespace ck_sim {

constexpr uint64_t kMostVariableBytes = 64 * 1024;  // where addresses are looked for
constexpr uint64_t kWordBlock = 64;

/// Whether a whole block has words whose upper halves are those of addresses in [low, high]. It
/// compares by vectors; not all processors can do that in units of 64 bits.
inline bool may_have_addresses(const uint64_t* words, uint64_t low, uint64_t high) {
  typedef uint64_t Vector2 __attribute__((vector_size(16), aligned(8), may_alias));
  const uint64_t first = low >> 32, beyond = (high >> 32) - first + 1;
  const Vector2* vectors = reinterpret_cast<const Vector2*>(words);
  Vector2 found = {0, 0};
  for (uint64_t i = 0; i < kWordBlock / 2; ++i) {
    const Vector2 above = (vectors[i] >> 32) - first;
    found |= (above - beyond) & ~above;
  }
  return (found[0] | found[1]) >> 63 != 0;
}

/// Calls `visit` with each aligned word that is an address in [low, high], while others may write.
template <typename Visit>
inline void for_addresses(const void* memory, uint64_t bytes, uint64_t low, uint64_t high,
                          Visit visit) {
  const uint64_t start = (reinterpret_cast<uint64_t>(memory) + 7) / 8 * 8;
  const uint64_t end = reinterpret_cast<uint64_t>(memory) + bytes;
  const uint64_t* words = reinterpret_cast<const uint64_t*>(start);
  const uint64_t count = end < start ? 0 : (end - start) / 8, span = high - low;
  for (uint64_t first = 0; first < count; first += kWordBlock) {
    const uint64_t last = least(first + kWordBlock, count);
    if (last - first == kWordBlock && !may_have_addresses(words + first, low, high)) continue;
    for (uint64_t i = first; i < last; ++i) {
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
        reinterpret_cast<uint64_t>(variables[i].start) % sizeof(uint64_t) == 0) {
      visit(variables[i], i);
    }
  }
}

}  // namespace ck_sim
