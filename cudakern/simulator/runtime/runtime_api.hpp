// The functions of the simulator's runtime that kernels, translated from PTX, call.
//
// A block never leaves its OS thread. A CUDA thread is a fiber, so `me` may be kept in a variable,
// or an iteration of a loop over the threads of a block, see regions.hpp. A thread that never waits
// runs to its end before the next one of its block starts. Every function with a `site` may let
// other threads run, or end the launch with a report.
#pragma once

#include "runtime.hpp"

/// A variable in shared memory.
struct ck_sim_shared_object {
  const char* name;
  uint64_t offset, bytes;
};

/// Carries out an instruction of a warp: `lanes[i]` is the `data` of lane i, for each lane i in
/// `mask`. Results go there, too.
typedef void (*ck_sim_warp_function)(void* const* lanes, unsigned mask);
/// The same for all 32 lanes. The data of each lies so many bytes after those of the lane before.
/// `by` and `within` are those of a shuffle.
typedef void (*ck_sim_full_warp_function)(char* data, uint64_t bytes, uint32_t by, uint32_t within);

namespace ck_sim {

/// The numbers of the bits that a mask has, from the lowest on.
struct SetBits {
  unsigned mask;
  SetBits begin() const { return *this; }
  SetBits end() const { return {0}; }
  bool operator!=(SetBits other) const { return mask != other.mask; }
  void operator++() { mask &= mask - 1; }
  unsigned operator*() const { return static_cast<unsigned>(__builtin_ctz(mask)); }
};

struct Vote {
  uint32_t ballot;  // whether this lane's predicate holds; then those of all
  uint32_t mask;    // then the lanes that take part
};

struct Shuffle {
  uint32_t given, by;
  uint32_t within;  // the lanes of a segment, and the last one to read
  uint32_t value;
  bool in_range;
#ifdef CK_SIM_CHECKED
  const View* reader;
  uint64_t undefined;  // which bytes of `given`
  const Site* site;
#endif
  Shuffle(uint32_t a, uint32_t b, uint32_t c) : given(a), by(b), within(c) {}
};

/// What a thread passes to a barrier of its block.
struct BlockMeeting {
  Barrier kind;
  uint32_t number, threads;
  int predicate;  // then the result
  constexpr BlockMeeting() : BlockMeeting(Barrier::kPlain, 0, 0, 0) {}
  constexpr BlockMeeting(Barrier what, uint32_t which, uint32_t count, int given)
      : kind(what), number(which), threads(count), predicate(given) {}
};
/// Whether threads come to a barrier of the block, all with the same numbers or each with its own.
enum class Meets : uint32_t { kNot, kFixed, kGiven };

constexpr uint16_t kEnded = 0xFFFF;  // instead of a point
constexpr uint32_t kGivenOffset = 16;

/// Threads of a block that go on from the same point.
struct Team {
  uint32_t first, last;
  uint32_t point;       // 0 is the start
  uint32_t begin, end;  // those of a row along x, which run one after the other
  Index3 thread;        // that at `begin`
  uint16_t left;        // where all of them were left; 0: see `points`
  // What all teams of a block share.
  uint16_t* points;  // where each thread was left
  char* saved;       // of each: the mask that it gave, the rest at kGivenOffset, its registers
  uint32_t* turn;    // which thread runs
  char* views;
  uint64_t view_bytes;  // from one to the next
  bool* yields;         // whether the running thread shall let others run
  const Group* group;
};

/// Ends a row where the team or the block's row does.
inline void end_row(Team& team) {
  team.end = least(team.last, team.begin + team.group->block_size.x - team.thread.x);
}
/// Goes on with the next row of a team; false if there is none.
inline bool next_row(Team& team) {
  if (team.end == team.last) return false;
  team.begin = team.end;
  team.thread.x = 0;
  if (++team.thread.y == team.group->block_size.y) {
    team.thread.y = 0;
    ++team.thread.z;
  }
  end_row(team);
  return true;
}

/// Sets while it exists whether the processor takes subnormal operands, but not results, for zeros.
class FloatControl {
 public:
#ifdef __x86_64__
  explicit FloatControl(bool zeros) : before_(__builtin_ia32_stmxcsr()) {
    set((before_ & ~kZeros) | (zeros ? kZeros : 0));
  }
  ~FloatControl() { set(before_); }

 private:
  static constexpr uint32_t kZeros = 1 << 6;
  static void set(uint32_t control) {
    asm volatile("" ::: "memory");
    __builtin_ia32_ldmxcsr(control);
    asm volatile("" ::: "memory");
  }
  const uint32_t before_;
#else
  explicit FloatControl(bool) {}
#endif
};

}  // namespace ck_sim

/// A point where threads of an entry that runs in regions can be left: at a collective of the warp,
/// at a barrier of the block, or just to let others run.
struct ck_sim_point {
  const ck_sim::Site* site;
  ck_sim_warp_function meet;
  uint32_t mask;                       // 0: each lane gives it
  ck_sim_full_warp_function meet_all;  // or null
  uint32_t by, within;                 // of a shuffle, if `is_fixed`: lanes do not give them
  uint32_t is_fixed;
  ck_sim::Meets block;
  ck_sim::BlockMeeting meeting;
};

/// Fills in the sites of a library when it is loaded.
CK_SIM_EXPORT void ck_sim_fill_sites(ck_sim::Site* sites, const char* numbers, const char* texts);

/// Begins a block of a kernel in regions; finds its next team. False when the block has ended.
CK_SIM_EXPORT void ck_sim_begin(ck_sim::Team* team);
CK_SIM_EXPORT bool ck_sim_next(ck_sim::Team* team);

/// A kernel. A library exports `ck_sim_kernels`, an array of these, and `ck_sim_kernel_count`.
struct ck_sim_kernel {
  const char* name;
  void (*entry)(void** parameters);  // the address of each parameter
  uint32_t parameters;
  // In bytes; then a ParameterKind of each; then whether each may be in memory after a plain
  // launch.
  const uint32_t* parameter_sizes;
  uint32_t static_shared;      // bytes; dynamic shared memory follows
  uint32_t required_block[3];  // .reqntid; zeros without
  uint32_t max_threads;        // .maxntid, multiplied out; 0 without
  uint32_t max_registers;      // .maxnreg: of a thread; 0 without
  uint32_t cluster[3];         // .reqnctapercluster; zeros without
  uint32_t local_bytes;        // of a thread: its frame, as far as that is known
  // Of checked launches: static shared variables by offset, with room around each.
  const ck_sim_shared_object* shared_objects;
  uint32_t shared_object_count;
  const char* dynamic_shared;  // the names that the kernel has for it, joined by ", "
  uint32_t packed_shared;      // static_shared without that room
  uint32_t basic_blocks;       // of all functions, then of the kernel; of checked launches
  // Of plain launches: whether a call of the entry runs all threads of a block; if so, whether they
  // have collectives or poll, what each keeps where it is left, and where that can be.
  uint32_t in_regions;
  uint32_t has_collectives;
  uint32_t has_polls;
  uint32_t flushes;  // whether the processor takes subnormal floats for zeros
  uint32_t saved_bytes;
  const ck_sim_point* points;  // from number 1 on; null without any
  const void* code;            // of the library
  const void* code_end;
};

/// The linker's names for the first byte of a library, and for the end of its code.
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[], etext[];

/// A variable of a module in memory, which all its libraries share.
struct ck_sim_variable {
  const char* name;
  char* start;
  uint64_t bytes;
  uint32_t is_constant;
};

/// What a library has by name. It exports `ck_sim_places`: words for the addresses of the variables
/// that it uses; `ck_sim_functions`, its own; and how many there are, as `ck_sim_place_count`.
struct ck_sim_symbol {
  const char* name;
  void* address;
};

/// An entry that is not executed. The library exports `ck_sim_refusals`, `ck_sim_refusal_count`.
struct ck_sim_refusal {
  const char* name;
  const char* message;
};

// Memory, in checked launches. Each of these is called right before the access, with no other call
// of the runtime in between. It returns where to access instead: there, or elsewhere if nothing may
// be accessed there. A site says how many bytes are accessed, and how.

CK_SIM_EXPORT char* ck_sim_read(const char* address, const ck_sim::Site* site);
/// Writes one value of at most 8 bytes itself; `undefined` says which of them are undefined.
CK_SIM_EXPORT void ck_sim_put(char* address, uint64_t value, const ck_sim::Site* site,
                              uint64_t undefined);
/// `value` is what will be written.
CK_SIM_EXPORT char* ck_sim_write(char* address, const void* value, const ck_sim::Site* site);
/// The same where bytes are undefined: `undefined` has a word for each element of so many bytes.
CK_SIM_EXPORT char* ck_sim_write_undefined(char* address, const void* value,
                                           const uint64_t* undefined, uint32_t element,
                                           const ck_sim::Site* site);
/// Before an atomic, which must call ck_sim_updated afterwards.
CK_SIM_EXPORT char* ck_sim_atomic(char* address, const ck_sim::Site* site);
/// Before an access, kReads or kWrites, to any bytes of any alignment; null if it must not happen.
CK_SIM_EXPORT char* ck_sim_access_range(const char* address, uint64_t bytes, uint32_t kind,
                                        const ck_sim::Site* site);
/// What an undefined value is used for, which is a finding.
enum ck_sim_use : uint32_t {
  ck_sim_use_other,
  ck_sim_use_branch,   // it decides where a thread goes, or whether an instruction is executed
  ck_sim_use_address,  // or a part of one
  ck_sim_use_atomic,   // its operand
  ck_sim_use_store,    // to memory that others see
  ck_sim_use_print,
};
CK_SIM_EXPORT void ck_sim_used(uint64_t undefined, ck_sim_use use, const ck_sim::Site* site);
/// Returns the undefined value that a shuffle gets from a lane that is not among `present`.
CK_SIM_EXPORT uint64_t ck_sim_inactive(const ck_sim::View* reader, unsigned source,
                                       unsigned present, const ck_sim::Site* site);
/// A fence: its site says whether it acquires and releases, and its scope.
CK_SIM_EXPORT void ck_sim_fence(const ck_sim::Site* site);

/// A variable in local memory, while its function runs; `written` has a bit for each byte.
struct ck_sim_local {
  char* start;
  uint64_t bytes;
  unsigned char* written;
  const char* name;
  ck_sim_local* outer;  // filled in
};
CK_SIM_EXPORT void ck_sim_enter_local(ck_sim_local* variable);
CK_SIM_EXPORT void ck_sim_leave_local(ck_sim_local* variable);

/// Lets others run, after many iterations of a loop.
CK_SIM_EXPORT void ck_sim_turn(const ck_sim::Site* site);

/// Ends the running thread, in any function. In an entry, return does the same in less time.
CK_SIM_EXPORT __attribute__((noreturn)) void ck_sim_exit();

/// Waits for all lanes of `mask` that have not exited. They must execute an instruction with the
/// same opcode and mask. The last one runs `function` for all of them, so `data` may lie on the
/// caller's stack, and the function may read and write the data of all lanes. The mask that it gets
/// has only lanes that take part.
CK_SIM_EXPORT void ck_sim_warp(unsigned mask, void* data, ck_sim_warp_function function,
                               const ck_sim::Site* site);

CK_SIM_EXPORT void ck_sim_vote(void* const* lanes, unsigned mask);
CK_SIM_EXPORT void ck_sim_vote_all(char* data, uint64_t bytes, uint32_t, uint32_t);
#define CK_EACH_SHUFFLE(_) _(up, 'u') _(down, 'd') _(bfly, 'b') _(idx, 'i')
#define CK_SHUFFLE(name, mode) \
  CK_SIM_EXPORT void ck_sim_shuffle_##name(void* const* lanes, unsigned mask); \
  CK_SIM_EXPORT void ck_sim_shuffle_all_##name(char* data, uint64_t bytes, uint32_t, uint32_t); \
  CK_SIM_EXPORT void ck_sim_shuffle_fixed_##name(char* data, uint64_t bytes, uint32_t by, \
                                                 uint32_t within);
CK_EACH_SHUFFLE(CK_SHUFFLE)
#undef CK_SHUFFLE

/// Waits at barrier `number` (0 to 15) of the block until `threads` threads have come, or all of
/// the block if it is 0. Threads that have exited count as arrived. The result is that of `kind`:
/// how many predicates hold, or whether all or any do.
CK_SIM_EXPORT int ck_sim_barrier_wait(const ck_sim::BlockMeeting& given, const ck_sim::Site* site);
/// Arrives at a barrier without waiting there.
CK_SIM_EXPORT void ck_sim_barrier_arrive(unsigned number, unsigned threads,
                                         const ck_sim::Site* site);
/// The barrier of all threads of the cluster.
CK_SIM_EXPORT void ck_sim_cluster_arrive(const ck_sim::Site* site);
CK_SIM_EXPORT void ck_sim_cluster_wait(const ck_sim::Site* site);

// Order. A thread lets others run when it reads the address that it read last.

/// Before a load by which a thread may wait for others: volatile, relaxed or acquire.
CK_SIM_EXPORT void ck_sim_poll(const void* address, const ck_sim::Site* site);
/// After a store for which others may wait: volatile, relaxed or release.
CK_SIM_EXPORT void ck_sim_stored();
/// What an atomic did: it wrote nothing, as a compare-and-swap that fails; or what was there
/// already; or something else.
enum ck_sim_update : int { ck_sim_failed, ck_sim_kept, ck_sim_changed };
/// After an atomic, which is a poll if it changed nothing.
CK_SIM_EXPORT void ck_sim_updated(const void* address, ck_sim_update update,
                                  const ck_sim::Site* site);
/// An atomic of 16 bytes: exchange, or compare-and-swap if `compare` is not null. `before` gets
/// what was there. Loads and stores of 16 bytes with an order use it, too.
CK_SIM_EXPORT void ck_sim_exchange_16(void* address, const void* compare, const void* value,
                                      void* before);

// Copies of a thread, which happen only when somebody waits for them.

/// cp.async: `from` is read when the copy happens; bytes beyond `size` become zero.
CK_SIM_EXPORT void ck_sim_copy_later(void* to, const void* from, uint32_t bytes, uint32_t size,
                                     const ck_sim::Site* site);
CK_SIM_EXPORT void ck_sim_copy_commit();
/// Waits until at most the `pending` latest groups are left; if `all`, commits the open one before.
CK_SIM_EXPORT void ck_sim_copy_wait(uint32_t pending, int all);
/// cp.async.mbarrier.arrive: arrives at `mbarrier` after all copies so far have happened.
CK_SIM_EXPORT void ck_sim_copy_arrive(char* mbarrier, int increments, const ck_sim::Site* site);
/// cp.async.bulk: counts `bytes` as complete at `mbarrier` when it happens or, if that is null,
/// belongs to a bulk group.
CK_SIM_EXPORT void ck_sim_bulk_later(void* to, const void* from, uint32_t bytes, char* mbarrier,
                                     const ck_sim::Site* site);
CK_SIM_EXPORT void ck_sim_bulk_commit();
CK_SIM_EXPORT void ck_sim_bulk_wait(uint32_t pending);

// mbarrier: eight bytes of shared memory. A state is these bytes before an arrival.

CK_SIM_EXPORT void ck_sim_mbarrier_init(char* mbarrier, uint32_t count, const ck_sim::Site* site);
CK_SIM_EXPORT void ck_sim_mbarrier_invalidate(char* mbarrier, const ck_sim::Site* site);
/// Expects `transactions` more bytes, then arrives `count` times, of which `drops` are the last.
CK_SIM_EXPORT uint64_t ck_sim_mbarrier_arrive(char* mbarrier, uint32_t count, uint32_t drops,
                                              int32_t transactions, const ck_sim::Site* site);
/// Whether the phase of `state`, or the phase with a parity, is complete. `tries`: if not, lets
/// others run and looks again.
CK_SIM_EXPORT int ck_sim_mbarrier_test(char* mbarrier, uint64_t state, int tries,
                                       const ck_sim::Site* site);
CK_SIM_EXPORT int ck_sim_mbarrier_test_parity(char* mbarrier, uint32_t parity, int tries,
                                              const ck_sim::Site* site);
/// How many arrivals a state lacked.
CK_SIM_EXPORT uint32_t ck_sim_mbarrier_pending(uint64_t state);

/// printf. `arguments` has the values, each aligned to its size. Returns how many.
CK_SIM_EXPORT int ck_sim_vprintf(const char* format, const char* arguments,
                                 const ck_sim::Site* site);
/// __assertfail
CK_SIM_EXPORT __attribute__((noreturn)) void ck_sim_assert_failed(const char* message,
                                                                  const char* file, uint32_t line,
                                                                  const ck_sim::Site* site);
CK_SIM_EXPORT char* ck_sim_malloc(uint64_t bytes);
CK_SIM_EXPORT void ck_sim_free(char* address, const ck_sim::Site* site);

/// The host's functions, for approximate instructions.
CK_SIM_EXPORT float ck_sim_sin(float x);
CK_SIM_EXPORT float ck_sim_cos(float x);
CK_SIM_EXPORT float ck_sim_lg2(float x);
CK_SIM_EXPORT float ck_sim_ex2(float x);
CK_SIM_EXPORT float ck_sim_tanh(float x);

/// Whether an address lies in local memory, which is on the running thread's stack.
CK_SIM_EXPORT int ck_sim_is_local(const void* address);
/// Nanoseconds of the wall clock, or for %clock. A thread that reads them again lets others run.
CK_SIM_EXPORT uint64_t ck_sim_time(int since_1970);

namespace ck_ptx {

/// The number of a thread's warp in its block (%warpid).
inline uint32_t warp_number(const ck_sim::View* me) {
  const ck_sim::Index3 size = me->group->block_size;
  return (me->thread.x + size.x * (me->thread.y + size.y * me->thread.z)) / 32;
}

// Shared memory. An address in `.shared::cta`, or in `.shared::cluster` for the block's own memory,
// is an offset in the block's window. For the block of rank r, `mapa` adds (r + 1) << kRankShift.
constexpr int kRankShift = 24;

/// The host's address of a `.shared::cluster` address.
inline char* cluster_address(const ck_sim::View* me, uint32_t address) {
  const ck_sim::Group* group = me->group;
  const uint32_t rank = (address >> kRankShift) - 1;
  return rank < group->ranks ? group->windows[rank] + (address & ((1u << kRankShift) - 1))
                             : group->window + address;
}
/// Whether a generic address lies in the block's shared memory (`isspacep.shared::cta`).
inline bool is_shared(const ck_sim::View* me, const char* address) {
  return static_cast<uint64_t>(address - me->group->window) < me->group->window_bytes;
}
/// The rank of the block of the cluster in whose shared memory a generic address lies, or -1.
inline int shared_rank(const ck_sim::View* me, const char* address) {
  const ck_sim::Group* group = me->group;
  for (uint32_t i = 0; i < group->ranks; ++i) {
    if (static_cast<uint64_t>(address - group->windows[i]) < group->window_bytes) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

/// Converts a generic address to one in `.shared::cluster` (`cvta.to.shared::cluster`).
inline uint32_t to_cluster_address(const ck_sim::View* me, const char* address) {
  const int rank = is_shared(me, address) ? -1 : shared_rank(me, address);
  const char* start = rank < 0 ? me->group->window : me->group->windows[rank];
  return static_cast<uint32_t>(address - start) + (static_cast<uint32_t>(rank + 1) << kRankShift);
}
/// `mapa`: the address at the same offset in the shared memory of the block of a rank.
inline uint32_t map_shared(uint32_t address, uint32_t rank) {
  return (address & ((1u << kRankShift) - 1)) | (rank + 1) << kRankShift;
}
inline char* map_generic(const ck_sim::View* me, char* address, uint32_t rank) {
  return cluster_address(me, map_shared(to_cluster_address(me, address), rank));
}

}  // namespace ck_ptx
