// The heap of malloc in kernels. It is apart from the host's heap, and its records are apart from
// its blocks. So a kernel that writes outside of a block only harms its own data.
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

#include "hooks.hpp"

namespace ck_sim {

constexpr uint64_t kHeapBytes = uint64_t{1} << 30;
constexpr uint64_t kHeapGuard = 64 * 1024;  // before and behind it
constexpr uint64_t kHeapUnit = 16;
constexpr int kHeapClasses = 27;  // a block of class c has kHeapUnit << c bytes

struct DeviceHeap {
  char* start;
  uint64_t used;
  uint32_t* next;    // of a free block's first unit: the next free block of its class, plus 1
  uint8_t* classes;  // of a block's first unit: its class plus 1 while it is taken
  uint32_t free[kHeapClasses];
  pthread_mutex_t lock;
};
inline DeviceHeap heap = {nullptr, 0, nullptr, nullptr, {0}, PTHREAD_MUTEX_INITIALIZER};

inline bool reserve_heap() {
  const uint64_t units = kHeapBytes / kHeapUnit;
  const uint64_t records = (sizeof *heap.next + sizeof *heap.classes) * units;
  char* const memory = map_pages(records + kHeapGuard + kHeapBytes + kHeapGuard);
  if (memory == nullptr) return false;
  char* guard = memory + records;
  mprotect(guard, kHeapGuard, PROT_NONE);
  mprotect(guard + kHeapGuard + kHeapBytes, kHeapGuard, PROT_NONE);
  heap.next = reinterpret_cast<uint32_t*>(memory);
  heap.classes = reinterpret_cast<uint8_t*>(heap.next + units);
  heap.start = guard + kHeapGuard;
  return true;
}

/// The number of the first unit of a free block of a class, or UINT64_MAX. Locked.
inline uint64_t take_block(int kind) {
  if (heap.free[kind] != 0) {
    const uint64_t unit = heap.free[kind] - 1;
    heap.free[kind] = heap.next[unit];
    return unit;
  }
  const uint64_t bytes = kHeapUnit << kind;
  if (bytes > kHeapBytes - heap.used) return UINT64_MAX;
  heap.used += bytes;
  return (heap.used - bytes) / kHeapUnit;
}

CK_SIM_EXPORT char* ck_sim_malloc(uint64_t bytes) {
  int kind = 0;
  while (kind < kHeapClasses && kHeapUnit << kind < bytes) {
    ++kind;
  }
  if (kind == kHeapClasses || bytes == 0) return nullptr;
  char* block = nullptr;
  pthread_mutex_lock(&heap.lock);
  if (heap.start != nullptr || reserve_heap()) {
    const uint64_t unit = take_block(kind);
    if (unit != UINT64_MAX) {
      heap.classes[unit] = static_cast<uint8_t>(kind + 1);
      char* const start = heap.start + unit * kHeapUnit;
      block = note_malloc(start, bytes) ? start : nullptr;
    }
  }
  pthread_mutex_unlock(&heap.lock);
  return block;
}

CK_SIM_EXPORT void ck_sim_free(char* address, const Site* site) {
  if (address == nullptr) return;
  const uint64_t offset = static_cast<uint64_t>(address - heap.start);
  const uint64_t unit = offset / kHeapUnit;
  bool freed = false;
  pthread_mutex_lock(&heap.lock);
  if (heap.start != nullptr && offset < heap.used && offset % kHeapUnit == 0 &&
      heap.classes[unit] != 0) {
    const int kind = heap.classes[unit] - 1;
    heap.classes[unit] = 0;
    heap.next[unit] = heap.free[kind];
    heap.free[kind] = static_cast<uint32_t>(unit + 1);
    freed = true;
    note_free(address);
  }
  pthread_mutex_unlock(&heap.lock);
  if (!freed) {
    ck_sim_stop("misuse", "free must get an address that malloc returned and nobody freed", site);
  }
}

}  // namespace ck_sim
