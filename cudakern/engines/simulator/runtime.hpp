// SPDX-License-Identifier: MIT
// What all kernels ask of the simulator's runtime, and know of the thread that runs them.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CK_SIM_EXPORT extern "C" __attribute__((visibility("default")))

namespace ck_sim {

constexpr int kWarpSize = 32;
constexpr uint32_t kMaxThreads = 1024;

struct Index3 {
  unsigned x, y, z;
};

/// What the threads of a block have in common.
struct Group {
  Index3 block;
  Index3 block_size;
  Index3 grid_size;
  char* dynamic_shared;                    // of checked launches, which have nothing of the rest
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
  const char* opcode;  // with its modifiers; null in checked launches
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

/// Lets other threads run. `progress` says that memory changed: a launch in which every thread only
/// ever yields without progress is a deadlock.
CK_SIM_EXPORT void ck_sim_yield(int progress, const ck_sim::Site* site);

/// Which lanes of the warp are here, as far as that can be said: lanes that come to the same place
/// are waited for until they can only come by other ways.
CK_SIM_EXPORT unsigned ck_sim_converge(const ck_sim::Site* site);

/// Ends the launch with a report of this kind; `what` follows the place in its message.
CK_SIM_EXPORT __attribute__((noreturn)) void ck_sim_stop(const char* kind, const char* what,
                                                         const ck_sim::Site* site);
