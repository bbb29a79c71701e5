// The addresses of a block's shared memory. All that a 32-bit offset can reach are reserved, but
// only those that the kernel asked for can be accessed, in whole pages. So a wrong offset is a
// fault.
#pragma once

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "scheduler.hpp"

namespace ck_sim {

constexpr uint64_t kWindowBytes = uint64_t{1} << 32;
constexpr uint64_t kLeastWindowBytes = uint64_t{1} << 24;  // where there is little address space

inline bool reserve_window(Window* window) {
  for (uint64_t bytes = kWindowBytes; bytes >= kLeastWindowBytes; bytes /= 16) {
    *window = {map_pages(bytes, PROT_NONE), bytes, 0};
    if (window->start != nullptr) return true;
  }
  window->bytes = 0;
  return false;
}

/// Makes just the first `bytes` of a window accessible; false without memory.
inline bool open_window(Window* window, uint64_t bytes) {
  if (window->start == nullptr && !reserve_window(window)) return false;
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t wanted = (bytes + page - 1) / page * page;
  const uint64_t open = window->open;
  if (wanted > open && mprotect(window->start + open, wanted - open, PROT_READ | PROT_WRITE) != 0) {
    return false;
  }
  if (wanted < open && mprotect(window->start + wanted, open - wanted, PROT_NONE) != 0) {
    return false;
  }
  window->open = wanted;
  return true;
}

inline void release_window(Window* window) {
  if (window->start != nullptr) {
    munmap(window->start, window->bytes);
  }
}

/// The offset of an address in a window; at least its `bytes` if the address is elsewhere.
inline uint64_t window_offset(const Window& window, const void* address) {
  return static_cast<uint64_t>(static_cast<const char*>(address) - window.start);
}

}  // namespace ck_sim
