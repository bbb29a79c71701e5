// SPDX-License-Identifier: MIT
// Asynchronous stores; the runtime has copies and mbarriers.
#pragma once

#include "ptx.hpp"

namespace ck_ptx {

/// A store that is counted at an mbarrier. The mbarrier may be another block's, which cannot ask
/// for it later, so it happens now.
template <typename T>
static inline void store_now(char* address, T value, char* mbarrier, const ck_sim::Site* site) {
  store<T>(address, value);
  ck_sim_mbarrier_arrive(mbarrier, 0, 0, -static_cast<s32>(sizeof(T)), site);
}
template <typename T, int N>
static inline void store_now(char* address, T (&values)[N], char* mbarrier,
                             const ck_sim::Site* site) {
  for (int i = 0; i < N; ++i) {
    store_now(address + sizeof(T) * i, values[i], mbarrier, site);
  }
}

}  // namespace ck_ptx
