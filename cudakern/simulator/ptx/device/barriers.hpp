// SPDX-License-Identifier: MIT
// Barriers and fences.
#pragma once

#include "ptx.hpp"

namespace ck_ptx {

CK_INLINE void sync_block(u32 number, u32 threads, const ck_sim::Site* site) {
  ck_sim_barrier_wait(ck_sim::Barrier::kPlain, number, threads, 0, site);
}
CK_INLINE int vote_block(ck_sim::Barrier kind, u32 number, u32 threads, pred predicate,
                         const ck_sim::Site* site) {
  return ck_sim_barrier_wait(kind, number, threads, predicate, site);
}
CK_INLINE void fence(const ck_sim::Site* site) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#ifdef CK_SIM_CHECKED
  ck_sim_fence(site);
#else
  (void)site;
#endif
}

}  // namespace ck_ptx
