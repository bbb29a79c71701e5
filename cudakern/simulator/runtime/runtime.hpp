// What kernels know of the thread that runs them, and functions of the runtime for all of them.
#pragma once

// Those of <stdint.h>, which takes compilers longer than all that follows.
typedef __INT8_TYPE__ int8_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __INT16_TYPE__ int16_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __INT32_TYPE__ int32_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __UINTPTR_TYPE__ uintptr_t;

#define CK_SIM_EXPORT extern "C" __attribute__((visibility("default")))

namespace ck_sim {

#ifdef CK_SIM_CHECKED
constexpr bool kChecked = true;
#else
constexpr bool kChecked = false;
#endif

constexpr int kWarpSize = 32;
constexpr uint32_t kMaxThreads = 1024;

template <typename T>
constexpr T least(T a, T b) {
  return a < b ? a : b;
}

struct Index3 {
  unsigned x, y, z;
};

/// What the threads of a block have in common.
struct Group {
  Index3 block;
  Index3 block_size;
  Index3 grid_size;
  char* window;                            // shared memory: static, then dynamic
  uint64_t window_bytes;                   // of addresses that belong to shared memory alone
  uint32_t dynamic_offset, dynamic_bytes;  // dynamic shared memory
  Index3 cluster;                          // the index of the block in its cluster
  Index3 cluster_size;                     // 1, 1, 1 without clusters
  uint32_t rank, ranks;                    // of the block in its cluster
  bool has_clusters;                       // whether the kernel asks for them
  uint32_t processor;                      // which of the resident blocks
  uint32_t processors;                     // how many there can be
  uint32_t grid_id;                        // which launch of the process
  char* const* windows;                    // of the blocks of the cluster, by rank
  uint32_t* workspace;  // of a cooperative launch: two words, zero at first; else null
};

/// What a CUDA thread knows about itself.
struct View {
  Index3 thread;
  unsigned lane;
  unsigned warp;  // the lanes that exist: in the last warp of a block perhaps not all
  const Group* group;
#ifdef CK_SIM_CHECKED
  uint32_t* executions;    // of the first basic block, see traffic.hpp
  mutable uint64_t calls;  // stands for the calls that the thread is in
  // Which bytes are undefined of what it loaded, or of what it gives its warp and gets from it.
  mutable uint64_t undefined;
  mutable uint64_t undefined_behind;  // after the first sixteen bytes of a load: a bit each
  // Joins, a bit each: those that it has passed, and those behind the barrier that it comes to. A
  // thread that has passed one of these can come to that barrier no more.
  mutable uint32_t joins_passed, joins_behind;
#endif
};

// Bytes are undefined if nothing has written them, or if a shuffle took them from a lane that is
// not there. A word says which bytes are undefined of a register, or of what is loaded or stored:
// it has a bit for each byte, from the first one on. Then it says whether they are more than
// padding, which may be stored, and has a bit for each origin, see undefined.hpp. Or joins words.
constexpr uint64_t kUndefinedBytes = 0xFFFF;
constexpr uint64_t kNoPadding = 1u << 16;  // all that was loaded is undefined
constexpr uint64_t kNoPiece = 1u << 17;    // what was loaded is not one of several neighbours
constexpr uint64_t kComputed = 1u << 18;   // not just moved
constexpr uint64_t kWholeRegister = kUndefinedBytes | kComputed;
constexpr int kOriginShift = 19;

/// An instruction that can wait, fail or, in checked launches, access memory.
struct Site {
  const char* file;  // the user's own, not a library's header, if any
  int line;
  const char* opcode;  // with its modifiers
  // "file:line" of it and of the calls around it, innermost first, by lines; null without calls
  const char* stack;
  // The rest is for checked launches, and zero in others.
  uint32_t access;          // what it does to memory, see below; 0: nothing
  uint32_t column;          // in the line, from 1; 0 if unknown
  mutable uint32_t number;  // the checker's, for this launch; 0 at first
};

// What an instruction does to memory, as bits of `Site::access`.
constexpr uint32_t kBytes = 0xFF;     // of one access, all elements of a vector together
constexpr uint32_t kReads = 1u << 8;  // its result or effect depends on what was there
constexpr uint32_t kWrites = 1u << 9;
constexpr uint32_t kAtomic = 1u << 10;    // in one step
constexpr uint32_t kStrong = 1u << 11;    // relaxed or more; else weak
constexpr uint32_t kVolatile = 1u << 12;  // strong, at system scope
constexpr uint32_t kAcquires = 1u << 13;
constexpr uint32_t kReleases = 1u << 14;
constexpr uint32_t kGuesses = 1u << 15;      // a weak load of what only a compare-and-swap expects
constexpr int kScopeShift = 16;              // two bits: a Scope
constexpr uint32_t kReturns = 1u << 18;      // of an atomic: its result is used
constexpr uint32_t kPiece = 1u << 19;        // a load of one of several neighbours
constexpr int kSpaceShift = 20;              // three bits: a Space
constexpr uint32_t kMbarrier = 1u << 23;     // at which accesses of the whole cluster meet
constexpr uint32_t kAligned = 1u << 24;      // all lanes of a warp must come to it together
constexpr uint32_t kSequential = 1u << 25;   // a fence.sc
constexpr uint32_t kNonCoherent = 1u << 26;  // a load of what is only read while the kernel runs
constexpr uint32_t kProxy = 1u << 27;  // of the asynchronous proxy; a fence between that and others
constexpr int kVectorShift = 28;       // two bits: the logarithm of how many elements a vector has
constexpr uint32_t kCompares = 1u << 30;  // an atomic that writes only if it finds what it expects
constexpr uint32_t kInvalidates = 1u << 31;  // the last operation on an mbarrier
enum class Scope : uint32_t { kCta, kCluster, kGpu, kSys };
enum class Space : uint32_t { kGeneric, kGlobal, kShared, kConst, kLocal, kCluster };

inline uint32_t bytes_of(const Site* site) { return site->access & kBytes; }
/// Those of each element of a vector, which are accesses of their own.
inline uint32_t element_bytes(const Site* site) {
  return bytes_of(site) >> (site->access >> kVectorShift & 3);
}
/// Whether an access is known to write only when it has happened.
inline bool may_fail(const Site* site) { return (site->access & kCompares) != 0; }
inline Scope scope_of(const Site* site) {
  return static_cast<Scope>(site->access >> kScopeShift & 3);
}
inline Space space_of(uint32_t access) { return static_cast<Space>(access >> kSpaceShift & 7); }
inline Space space_of(const Site* site) { return space_of(site->access); }

enum class Barrier : int { kPlain, kCount, kAnd, kOr };

}  // namespace ck_sim

// Checked launches have one OS thread.
#ifdef CK_SIM_CHECKED
#define CK_SIM_OWN
#else
#define CK_SIM_OWN __thread
#endif

/// The view of the CUDA thread that runs on this OS thread right now.
extern "C" __attribute__((visibility("default"))) CK_SIM_OWN const ck_sim::View* ck_sim_current;

/// Lets other threads run. A launch all of whose threads only yield is a deadlock.
CK_SIM_EXPORT void ck_sim_yield(const ck_sim::Site* site);

/// Returns which lanes of the warp are here, as far as known; waits while others may come here.
CK_SIM_EXPORT unsigned ck_sim_converge(const ck_sim::Site* site);

/// Ends the launch with a report of this kind. Its message is the line, then `what`.
CK_SIM_EXPORT __attribute__((noreturn)) void ck_sim_stop(const char* kind, const char* what,
                                                         const ck_sim::Site* site);
