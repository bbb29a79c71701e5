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

/// Makes just the first `bytes` of a window accessible; false without memory.
inline bool open_window(Window* window, uint64_t bytes) {
  for (uint64_t reserved = kWindowBytes; window->start == nullptr; reserved /= 16) {
    if (reserved < kLeastWindowBytes) return false;
    *window = {map_pages(reserved, PROT_NONE), reserved, 0};
  }
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t wanted = (bytes + page - 1) / page * page;
  const bool grows = wanted > window->open;
  const uint64_t first = grows ? window->open : wanted, last = grows ? wanted : window->open;
  const int access = grows ? PROT_READ | PROT_WRITE : PROT_NONE;
  if (first != last && mprotect(window->start + first, last - first, access) != 0) return false;
  window->open = wanted;
  return true;
}

/// The offset of an address in a window; at least its `bytes` if the address is elsewhere.
inline uint64_t window_offset(const Window& window, const void* address) {
  return static_cast<uint64_t>(static_cast<const char*>(address) - window.start);
}

}  // namespace ck_sim
