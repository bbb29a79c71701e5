// Hooks by which the checker observes the runtime. In plain launches they do nothing.
#pragma once

#include "scheduler.hpp"

#ifdef CK_SIM_CHECKED
#define CK_SIM_HOOK(declaration, body) declaration;  // see observer.hpp
#else
#define CK_SIM_HOOK(declaration, body) inline declaration body
#endif

namespace ck_sim {

/// Before a thread runs on.
CK_SIM_HOOK(void begin_turn(Worker*, Thread*), {})

/// The running thread comes to a barrier. Ends the launch if other lanes of its warp came to
/// another one where all must come to the same.
CK_SIM_HOOK(void come_together(Worker*, const Site*), {})
/// A barrier is about to go on without threads that have exited. Returns whether one of them had
/// been at barriers before, and passed by this one on its way to code that all threads reach.
CK_SIM_HOOK(bool passed_by(Worker*, const View&, const Site*), { return false; })
/// All threads of the block that have not exited meet at a barrier.
CK_SIM_HOOK(void order_block(Worker*), {})
/// Lanes of a warp carry out an instruction together: what is undefined in one is undefined in all.
/// It orders their accesses if its site says so. Lane 0 is this thread of the block.
CK_SIM_HOOK(void order_lanes(Worker*, uint32_t, unsigned, const Site*), {})
/// What a thread did comes before what others do after they acquire from this key. True: it has
/// exited, and just counts as arrived there.
CK_SIM_HOOK(void order_release(Worker*, Thread*, const void*, Scope, bool = false), {})
CK_SIM_HOOK(void order_acquire(Worker*, Thread*, const void*, Scope), {})
/// What was left at a key does not count any more.
CK_SIM_HOOK(void order_forget(const void*), {})
/// The running thread has carried out an atomic.
CK_SIM_HOOK(void end_atomic(Worker*, const void*, ck_sim_update, const Site*), {})

/// Returns where an operation on an mbarrier is to happen: elsewhere if it must not. May release.
CK_SIM_HOOK(char* check_mbarrier(Worker*, char* mbarrier, const Site*), { return mbarrier; })
/// The running thread has seen a phase complete.
CK_SIM_HOOK(void acquire_mbarrier(Worker*, char*, const Site*), {})

/// An asynchronous copy or arrival begins; false if its bytes must not move.
CK_SIM_HOOK(bool begin_copy(Worker*, Thread*, Copy*), { return true; })
/// Its bytes are about to move, or it is about to arrive at its mbarrier.
CK_SIM_HOOK(void end_copy(Worker*, Thread*, const Copy&, bool detached), {})

/// The running thread prints a value of so many bytes.
CK_SIM_HOOK(void check_printed(const char*, uint32_t, const Site*), {})

/// malloc is about to return a block, unless this returns false; free has taken one back.
CK_SIM_HOOK(bool note_malloc(char*, uint64_t), { return true; })
CK_SIM_HOOK(void note_free(const char*), {})

}  // namespace ck_sim
