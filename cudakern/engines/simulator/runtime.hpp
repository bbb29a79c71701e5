// SPDX-License-Identifier: MIT
// What a kernel, compiled for the host, asks of the simulator's runtime. See runtime.cpp.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CK_SIM_EXPORT extern "C" __attribute__((visibility("default")))

namespace ck_sim {

struct Index3 {
  unsigned x, y, z;
};

/// What the threads of a block have in common.
struct Group {
  Index3 block;
  Index3 block_size;
  Index3 grid_size;
  char* dynamic_shared;
  // Of kernels translated from PTX.
  char* window;                            // shared memory: static, then dynamic
  uint64_t window_bytes;                   // of addresses that are no other memory's
  uint32_t dynamic_offset, dynamic_bytes;  // dynamic shared memory
  Index3 cluster;                          // the place of the block in its cluster
  Index3 cluster_size;                     // 1, 1, 1 without clusters
  uint32_t rank, ranks;                    // of the block in its cluster
  bool has_clusters;                       // whether the kernel asks for them
  uint32_t processor;                      // which of the resident blocks
  uint32_t processors;                     // how many there can be
  uint32_t grid_id;                        // which launch of the process
  char* const* windows;                    // of the blocks of the cluster, by rank
  uint32_t* workspace;  // of a cooperative launch: two words, zero at first; else null
};

/// What the running CUDA thread can ask about itself.
struct View {
  Index3 thread;
  unsigned lane;
  unsigned warp;  // the lanes that exist: all, but in the last warp of a block
  const Group* group;
};

/// Where in the source a thread waits.
struct Site {
  const char* file;
  int line;
  const char* opcode;  // with its modifiers; null in kernels that are not translated from PTX
};

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

#ifdef CK_SIM_CHECKED
namespace ck_sim {

/// Reads a word of the runtime's without a call to the checker.
template <typename T>
__attribute__((always_inline)) inline T peek(const T& from) {
#if defined(__x86_64__)
  T value;
  asm("mov %1, %0" : "=r"(value) : "m"(from));
  return value;
#elif defined(__aarch64__)
  T value;
  if constexpr (sizeof(T) == 8) {
    asm("ldr %x0, %1" : "=r"(value) : "m"(from));
  } else {
    asm("ldr %w0, %1" : "=r"(value) : "m"(from));
  }
  return value;
#else
  return from;
#endif
}

__attribute__((always_inline)) inline const View* view() { return peek(ck_sim_current); }
__attribute__((always_inline)) inline const Group* group() { return peek(view()->group); }
__attribute__((always_inline)) inline Index3 peek3(const Index3& from) {
  return {peek(from.x), peek(from.y), peek(from.z)};
}

}  // namespace ck_sim
#else
namespace ck_sim {

inline const View* view() { return ck_sim_current; }
inline const Group* group() { return ck_sim_current->group; }
inline const Index3& peek3(const Index3& from) { return from; }
template <typename T>
inline T peek(const T& from) {
  return from;
}

}  // namespace ck_sim
#endif

/// Waits for all threads of the block; returns the count, conjunction or disjunction of
/// `predicate`.
CK_SIM_EXPORT int ck_sim_barrier(ck_sim::Barrier kind, int predicate, const ck_sim::Site* site);

/// Waits for all lanes of `mask`; returns what each of them gave: 32 values, valid until this lane
/// calls the runtime again.
CK_SIM_EXPORT const uint64_t* ck_sim_collective(unsigned mask, uint64_t value,
                                                const ck_sim::Site* site);

/// Lets other threads run. `progress` says that memory changed: a launch in which every thread only
/// ever yields without progress is a deadlock.
CK_SIM_EXPORT void ck_sim_yield(int progress, const ck_sim::Site* site);

/// Which lanes of the warp are here, as far as that can be said: lanes that come to the same place
/// are waited for until they can only come by other ways.
CK_SIM_EXPORT unsigned ck_sim_converge(const ck_sim::Site* site);

/// printf; its output is complete when the launch is.
CK_SIM_EXPORT int ck_sim_print(const char* format, ...) __attribute__((format(printf, 1, 2)));

/// Ends the launch with a report of this kind; `what` follows the place in its message.
CK_SIM_EXPORT __attribute__((noreturn)) void ck_sim_stop(const char* kind, const char* what,
                                                         const ck_sim::Site* site);

#ifdef CK_SIM_POLLING
CK_SIM_EXPORT uint64_t ck_sim_word_load(const void* word, uint32_t bytes);
CK_SIM_EXPORT int ck_sim_word_exchange(void* word, uint32_t bytes, uint64_t* seen, uint64_t wanted);
#endif
#ifdef CK_SIM_CHECKED
// An atomic: begin returns the bits that are there, which it `reads` unless it only replaces them;
// end, not called if it fails, stores the new ones.
CK_SIM_EXPORT uint64_t ck_sim_atomic_begin(void* address, uint32_t bytes, int reads);
CK_SIM_EXPORT void ck_sim_atomic_end(void* address, uint32_t bytes, uint64_t bits, int changed);
// memmove and memset, which the compiler does not instrument.
CK_SIM_EXPORT void* ck_sim_copy(void* to, const void* from, size_t bytes);
CK_SIM_EXPORT void* ck_sim_fill(void* to, int value, size_t bytes);
#endif
