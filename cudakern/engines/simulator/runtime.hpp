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

/// What the running CUDA thread can ask about itself.
struct View {
  Index3 thread;
  Index3 block;
  Index3 block_size;
  Index3 grid_size;
  unsigned lane;
  char* dynamic_shared;
};

/// Where in the source a thread waits.
struct Site {
  const char* file;
  int line;
};

enum class Barrier : int { kPlain, kCount, kAnd, kOr };

}  // namespace ck_sim

/// The view of the CUDA thread that runs on this OS thread right now.
extern "C" __attribute__((visibility("default"))) __thread const ck_sim::View* ck_sim_current;

/// Waits for all threads of the block; returns the count, conjunction or disjunction of `predicate`.
CK_SIM_EXPORT int ck_sim_barrier(ck_sim::Barrier kind, int predicate, const ck_sim::Site* site);

/// Waits for all lanes of `mask`; returns what each of them gave (32 values, valid until the next
/// collective of this lane).
CK_SIM_EXPORT const uint64_t* ck_sim_collective(unsigned mask, uint64_t value,
                                                const ck_sim::Site* site);

/// Lets other threads run. `progress` says that memory changed: a launch in which every thread only
/// ever yields without progress is a deadlock.
CK_SIM_EXPORT void ck_sim_yield(int progress);
