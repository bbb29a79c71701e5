// SPDX-License-Identifier: MIT
// What the checker has to know of what the runtime does. Plain launches have none.
#pragma once

#include "collectives.hpp"
#ifdef CK_SIM_CHECKED
#include "checker.hpp"
#else

namespace ck_sim {

/// Before a thread runs on.
inline void begin_turn(Worker*, Thread*) {}
/// A thread has run to its end.
inline void end_checked_thread(Worker*, Thread*) {}

/// All threads of the block that have not exited meet at a barrier.
inline void order_block(Worker*) {}
/// Lanes of a warp meet, whose lane 0 is thread `first` of the block.
inline void order_lanes(Worker*, uint32_t, unsigned) {}
/// What a thread did comes before what those do who acquire from this key.
inline void order_release(Worker*, Thread*, const void*, Scope) {}
inline void order_acquire(Worker*, Thread*, const void*, Scope) {}
/// A key is new.
inline void order_forget(const void*) {}
/// An atomic is done.
inline void end_atomic(Worker*, Thread*, const void*, ck_sim_update, const Site*) {}

/// Before an operation on an mbarrier: where it lies, which is elsewhere if it must not happen.
/// Releases, if its site does.
inline char* check_mbarrier(Worker*, char* mbarrier, const Site*) { return mbarrier; }
/// The running thread has seen a phase complete.
inline void acquire_mbarrier(Worker*, char*, const Site*) {}

/// An asynchronous copy begins; false if its bytes must not move.
inline bool begin_copy(Worker*, Thread*, Copy*, const Site*) { return true; }
/// Right before the bytes move, or the copies so far arrive at an mbarrier.
inline void end_copy(Worker*, Thread*, const Copy&) {}

}  // namespace ck_sim
#endif
