// Fibers and their stacks. They are kept from launch to launch, since to map a stack and to touch
// it first takes longer than to run a short thread on it.
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "context.hpp"

namespace ck_sim {

constexpr size_t kStackBytes = 128 * 1024;
constexpr size_t kTickBytes = 16 * 1024;  // besides, for what the handler of a signal saves
constexpr size_t kMappedBytes = kStackBytes + kTickBytes;
constexpr size_t kGuardBytes = 64 * 1024;  // a whole number of pages on every supported machine
constexpr size_t kGuardedStackBytes = kGuardBytes + kMappedBytes;
constexpr uint32_t kSlabStacks = 64;
constexpr uint32_t kMostFreeStacks = 8192;  // that are kept for later launches

// MADV_GUARD_INSTALL, which Linux has since 6.13: a guard without a mapping of its own.
constexpr int kInstallGuard = 102;
// Without it, a stack and its guard are two mappings; by default a process has at most 65530.
constexpr uint64_t kMostMappedStacks = 16384;

/// Maps pages, which take no memory until they are touched; null without address space.
inline char* map_pages(size_t bytes, int access = PROT_READ | PROT_WRITE) {
  void* memory = mmap(nullptr, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

/// Removes those items of a list for which `is_removed` holds, which may free them.
template <typename T, typename IsRemoved>
inline void remove_items(T** list, IsRemoved is_removed) {
  while (T* const item = *list) {
    T* const next = item->next;
    if (is_removed(item)) {
      *list = next;
    } else {
      list = &item->next;
    }
  }
}

/// Neighbouring stacks, each above its guard. Those that were never taken are untouched.
struct Slab {
  char* memory;
  uint32_t taken;  // how many stacks were taken so far, the lowest first
  uint32_t idle;   // how many of these are free; see trim_fibers
  Slab* next;
};

/// A fiber. It lies at the upper end of its own stack.
struct Fiber {
  Context context;
  Fiber* next;
  void (*restart)();  // where it starts again if it was left in the middle of a thread; or null
  Slab* slab;

  /// The end where use of the stack begins.
  char* top() { return reinterpret_cast<char*>(this); }
  char* bottom() { return reinterpret_cast<char*>(this + 1) - kMappedBytes; }
  /// Whether an address lies in its memory.
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

inline Slab* slabs = nullptr;  // the latest first; only that one may have stacks to take
inline Fiber* free_fibers = nullptr;
inline uint32_t free_fiber_count = 0;
inline pthread_mutex_t fibers_lock = PTHREAD_MUTEX_INITIALIZER;

/// Makes a guard without a mapping of its own; false if the system has none.
inline bool install_guard(void* guard) {
#ifdef CK_SIM_OLD_HOST
  static_cast<void>(guard);
  return false;
#else
  return madvise(guard, kGuardBytes, kInstallGuard) == 0;
#endif
}

/// How many stacks a launch may have.
inline uint64_t most_stacks() {
  static int guards = -1;  // whether they go without mappings; -1: unknown
  if (__atomic_load_n(&guards, __ATOMIC_RELAXED) < 0) {
    void* memory = mmap(nullptr, kGuardBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const bool works = memory != MAP_FAILED && install_guard(memory);
    if (memory != MAP_FAILED) {
      munmap(memory, kGuardBytes);
    }
    __atomic_store_n(&guards, works ? 1 : 0, __ATOMIC_RELAXED);
  }
  return __atomic_load_n(&guards, __ATOMIC_RELAXED) != 0 ? UINT64_MAX : kMostMappedStacks;
}

/// Maps stacks; false without memory.
inline bool add_slab() {
  char* const memory = map_pages(kSlabStacks * kGuardedStackBytes);
  Slab* slab = static_cast<Slab*>(memory == nullptr ? nullptr : malloc(sizeof(Slab)));
  if (slab == nullptr) {
    if (memory != nullptr) {
      munmap(memory, kSlabStacks * kGuardedStackBytes);
    }
    return false;
  }
  madvise(memory, kSlabStacks * kGuardedStackBytes, MADV_NOHUGEPAGE);  // a thread touches few pages
  *slab = {memory, 0, 0, slabs};
  slabs = slab;
  return true;
}

/// A fiber on a new stack; null without memory.
inline Fiber* make_fiber() {
  if ((slabs == nullptr || slabs->taken == kSlabStacks) && !add_slab()) return nullptr;
  char* const start = slabs->memory + slabs->taken * kGuardedStackBytes;
  if (!install_guard(start) && mprotect(start, kGuardBytes, PROT_NONE) != 0) {
    return nullptr;  // too many mappings
  }
  ++slabs->taken;
  Fiber* fiber = reinterpret_cast<Fiber*>(start + kGuardedStackBytes) - 1;
  fiber->slab = slabs;
  return fiber;
}

/// A fiber that will start in `entry`; null without memory.
inline Fiber* take_fiber(void (*entry)()) {
  pthread_mutex_lock(&fibers_lock);
  Fiber* fiber = free_fibers;
  if (fiber != nullptr) {
    free_fibers = fiber->next;
    --free_fiber_count;
  } else {
    fiber = make_fiber();
  }
  pthread_mutex_unlock(&fibers_lock);
  if (fiber != nullptr) {
    // Even a used one starts again: a failed kernel may have left it, or another OS thread run it.
    start_context(fiber, entry);
  }
  return fiber;
}

/// Takes back a list of fibers, which will not be resumed.
inline void give_fibers(Fiber* list) {
  if (list == nullptr) return;
  uint32_t count = 1;
  Fiber* last = list;
  for (; last->next != nullptr; ++count) {
    last = last->next;
  }
  pthread_mutex_lock(&fibers_lock);
  last->next = free_fibers;
  free_fibers = list;
  free_fiber_count += count;
  pthread_mutex_unlock(&fibers_lock);
}

/// Unmaps stacks that a large launch has used: slabs whose stacks are all free.
inline void trim_fibers() {
  pthread_mutex_lock(&fibers_lock);
  if (free_fiber_count > kMostFreeStacks) {
    for (Slab* slab = slabs; slab != nullptr; slab = slab->next) {
      slab->idle = 0;
    }
    for (Fiber* fiber = free_fibers; fiber != nullptr; fiber = fiber->next) {
      ++fiber->slab->idle;
    }
    for (Slab* slab = slabs; slab != nullptr; slab = slab->next) {
      if (slab->idle == slab->taken && free_fiber_count >= kMostFreeStacks + slab->taken) {
        free_fiber_count -= slab->taken;
        ++slab->idle;  // a mark
      }
    }
    remove_items(&free_fibers, [](Fiber* f) { return f->slab->idle > f->slab->taken; });
    remove_items(&slabs, [](Slab* slab) {
      if (slab->idle <= slab->taken) return false;
      munmap(slab->memory, kSlabStacks * kGuardedStackBytes);
      free(slab);
      return true;
    });
  }
  pthread_mutex_unlock(&fibers_lock);
}

/// Whether an address lies where stacks are.
inline bool is_among_stacks(const char* address) {
  for (const Slab* slab = slabs; slab != nullptr; slab = slab->next) {
    if (static_cast<uint64_t>(address - slab->memory) < kSlabStacks * kGuardedStackBytes)
      return true;
  }
  return false;
}

/// Whether an address lies in the guard below a fiber's stack.
inline bool is_overflow(Fiber* fiber, const void* address) {
  const char* at = static_cast<const char*>(address);
  return at < fiber->bottom() && at >= fiber->bottom() - kGuardBytes;
}

}  // namespace ck_sim
