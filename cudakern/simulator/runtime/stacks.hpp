// Fibers and their stacks, kept from launch to launch: mapping and first touching a stack costs
// more than running a short thread on it.
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "context.hpp"

namespace ck_sim {

constexpr size_t kStackBytes = 128 * 1024;
constexpr size_t kTickBytes = 16 * 1024;  // more, for what a signal's handler saves there
constexpr size_t kMappedBytes = kStackBytes + kTickBytes;
constexpr size_t kGuardBytes = 64 * 1024;  // a whole number of pages on every supported machine

/// Lives at the upper end of its own stack.
struct Fiber {
  Context context;
  Fiber* next;
  void (*restart)();  // where it starts anew, given up in the middle of a thread; or null

  /// The end of the stack that is in use first.
  char* top() { return reinterpret_cast<char*>(this); }
  char* bottom() { return reinterpret_cast<char*>(this + 1) - kMappedBytes; }
  /// Whether an address is one of its memory.
  bool has(const void* address) {
    return static_cast<uint64_t>(static_cast<const char*>(address) - bottom()) < kMappedBytes;
  }
};
inline void start_context(Fiber* fiber, void (*entry)()) {
  fiber->restart = nullptr;
  make_context(&fiber->context, fiber->bottom(),
               static_cast<size_t>(fiber->top() - fiber->bottom()), entry);
}
static_assert(sizeof(Fiber) % 8 == 0, "the top of a stack is a whole word");

inline Fiber* free_fibers = nullptr;
inline pthread_mutex_t fibers_lock = PTHREAD_MUTEX_INITIALIZER;

/// A fiber that will start in `entry`; null without memory.
inline Fiber* take_fiber(void (*entry)()) {
  pthread_mutex_lock(&fibers_lock);
  Fiber* fiber = free_fibers;
  if (fiber != nullptr) {
    free_fibers = fiber->next;
  }
  pthread_mutex_unlock(&fibers_lock);
  if (fiber == nullptr) {
    void* memory = mmap(nullptr, kGuardBytes + kMappedBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    if (mprotect(memory, kGuardBytes, PROT_NONE) != 0) {  // too many mappings
      munmap(memory, kGuardBytes + kMappedBytes);
      return nullptr;
    }
    fiber = reinterpret_cast<Fiber*>(static_cast<char*>(memory) + kGuardBytes + kMappedBytes) - 1;
  }
  // Anew even for a used one: it may have been left in the middle of a failed kernel, or have run
  // on another OS thread.
  start_context(fiber, entry);
  return fiber;
}

/// Takes back a list of fibers, none of which will be resumed.
inline void give_fibers(Fiber* list) {
  if (list == nullptr) return;
  Fiber* last = list;
  while (last->next != nullptr) {
    last = last->next;
  }
  pthread_mutex_lock(&fibers_lock);
  last->next = free_fibers;
  free_fibers = list;
  pthread_mutex_unlock(&fibers_lock);
}

/// Whether an address lies in the guard below a fiber's stack.
inline bool is_overflow(Fiber* fiber, const void* address) {
  const char* at = static_cast<const char*>(address);
  return at < fiber->bottom() && at >= fiber->bottom() - kGuardBytes;
}

}  // namespace ck_sim
