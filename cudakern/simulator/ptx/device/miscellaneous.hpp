// SPDX-License-Identifier: MIT
// Address spaces, hints and traps.
#pragma once

#include "ptx.hpp"

namespace ck_ptx {

CK_INLINE bool is_local(const ck_sim::View*, const char* address) {
  return ck_sim_is_local(address) != 0;
}
CK_INLINE bool is_global(const ck_sim::View* me, const char* address) {
  return address != nullptr && shared_rank(me, address) < 0 && !is_local(me, address);
}
CK_INLINE u32 rank_of(const ck_sim::View* me, u32 address) {
  return address >> kRankShift == 0 ? me->group->rank : (address >> kRankShift) - 1;
}

}  // namespace ck_ptx
