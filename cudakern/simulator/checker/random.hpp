// SPDX-License-Identifier: MIT
// The numbers that a seed stands for.
#pragma once

#include <stdint.h>

namespace ck_sim {

struct Random {
  uint64_t state;
  uint32_t below(uint32_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>((state >> 33) * n >> 31);
  }
};

}  // namespace ck_sim
