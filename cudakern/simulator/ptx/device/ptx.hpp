// What every translated module starts with.
#pragma once

#include "memory.hpp"

/// The sites of a library. Compilers take long for arrays with initial values, but for text.
#define CK_SITES(count) static ck_sim::Site S[count]
#define CK_FILL_SITES(numbers, texts) \
  __attribute__((constructor)) static void fill_sites() { ck_sim_fill_sites(S, numbers, texts); }

/// A function. If it were inlined, kernels that do not reach it would have its local memory, too.
#define CK_FUNCTION static __attribute__((noinline))
/// What a function knows of the thread that runs it.
#define CK_CONTEXT const ck_sim::View *const me, char *const window
#define CK_CONTEXT_TYPES const ck_sim::View*, char*
#define CK_CONTEXT_VALUES me, window
#define CK_ENTER \
  const ck_sim::View* const me = ck_sim_current; \
  char* const window = me->group->window

// An entry that runs all threads of a block: those of a team go on from a point, one after the
// other, then those of the next team. `t` is a thread's number, `thread_x` and so on its index.
#define CK_REGIONS \
  ck_sim::Team team; \
  ck_sim_begin(&team); \
  char* const window = team.group->window
/// A row of a team. There is one loop over rows, not one in each region: compilers take less.
#define CK_ROW(type) \
  u16* const points = team.points; \
  type* saved = reinterpret_cast<type*>(team.saved) + team.begin; \
  u32* const running = team.turn; \
  const u32 thread_y = team.thread.y, thread_z = team.thread.z; \
  u32 t = team.begin, thread_x = team.thread.x
#define CK_EACH_THREAD for (const u32 end = team.end; t != end; ++t, ++thread_x, ++saved)
/// All rows at once, where nobody asks for the index, or threads look it up.
#define CK_EACH_NUMBER for (const u32 end = team.end = team.last; t != end; ++t, ++saved)
#define CK_THREAD \
  const ck_sim::View* const me = \
      reinterpret_cast<const ck_sim::View*>(team.views + u64{t} * team.view_bytes); \
  *running = t
/// Keeps a register until the thread goes on.
#define save(x) saved->x = x;
#define restore(x) x = saved->x;
/// What is known of a point at a barrier: what all threads give alike, as far as they do.
#define CK_BARRIER(site, meets, given) \
  {site, nullptr, 0, nullptr, 0, 0, 0, ck_sim::Meets::meets, given}
/// Leaves a thread, which goes on from a point later.
#define CK_LEAVE(point) \
  { \
    points[t] = point; \
    continue; \
  }

namespace ck_ptx {

using ck_sim::Barrier;
using ck_sim::BlockMeeting;

// Functions that NVRTC's code calls, with the addresses of their results and parameters.
CK_INLINE void call_vprintf(const ck_sim::Site* site, char* r, char* format, char* arguments) {
  store<s32>(r, ck_sim_vprintf(load<char*>(format), load<char*>(arguments), site));
}
CK_INLINE void call_assertfail(const ck_sim::Site* site, char* message, char* file, char* line,
                               char*, char*) {
  ck_sim_assert_failed(load<char*>(message), load<char*>(file), load<u32>(line), site);
}
CK_INLINE void call_malloc(const ck_sim::Site*, char* r, char* bytes) {
  store<char*>(r, ck_sim_malloc(load<u64>(bytes)));
}
CK_INLINE void call_free(const ck_sim::Site* site, char* address) {
  ck_sim_free(load<char*>(address), site);
}
CK_INLINE void call_memcpy(const ck_sim::Site* site, char* r, char* to, char* from, char* bytes) {
  char *target = load<char*>(to), *source = load<char*>(from);
  const u64 count = load<u64>(bytes);
  store<char*>(r, target);
#ifdef CK_SIM_CHECKED
  source = ck_sim_access_range(source, count, ck_sim::kReads, site);
  target = ck_sim_access_range(target, count, ck_sim::kWrites, site);
  if (target == nullptr || source == nullptr) return;
#endif
  memcpy(target, source, count);
}
CK_INLINE void call_memset(const ck_sim::Site* site, char* r, char* to, char* value, char* bytes) {
  char* target = load<char*>(to);
  const u64 count = load<u64>(bytes);
  store<char*>(r, target);
#ifdef CK_SIM_CHECKED
  target = ck_sim_access_range(target, count, ck_sim::kWrites, site);
  if (target == nullptr) return;
#endif
  memset(target, load<s32>(value), count);
}

CK_INLINE void meet(ck_sim::BlockMeeting& mine, const ck_sim::Site* site) {
  mine.predicate = ck_sim_barrier_wait(mine, site);
}
CK_INLINE void fence(const ck_sim::Site* site) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#ifdef CK_SIM_CHECKED
  ck_sim_fence(site);
#else
  (void)site;
#endif
}

// Asynchronous stores. Copies and mbarriers are in the runtime.

/// A store that an mbarrier counts. It happens now: that of another block cannot ask for it later.
template <typename T>
static inline void store_now(char* address, const T& values, char* mbarrier,
                             const ck_sim::Site* site, const ck_sim::Site* arrival) {
  put(address, values, site);
  ck_sim_mbarrier_arrive(mbarrier, 0, 0, -static_cast<s32>(sizeof values), arrival);
}

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
