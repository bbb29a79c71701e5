// SPDX-License-Identifier: MIT
// Asynchronous stores; the runtime has copies and mbarriers.
#pragma once

#include "ptx.hpp"

namespace ck_ptx {

/// A store that is counted at an mbarrier. The mbarrier may be another block's, which cannot ask
/// for it later, so it happens now.
template <typename T>
static inline void store_now(char* address, const T& values, char* mbarrier,
                             const ck_sim::Site* site, const ck_sim::Site* arrival) {
  put(address, values, site);
  ck_sim_mbarrier_arrive(mbarrier, 0, 0, -static_cast<s32>(sizeof values), arrival);
}

}  // namespace ck_ptx
