// SPDX-License-Identifier: MIT
// The memory a checked launch may touch. Arrays are copied into an arena, each between red zones
// and as far from a 512-byte boundary as it lies in its own allocation: as on a GPU.
#pragma once

#include <sys/mman.h>

#include "findings.hpp"

/// An array of the launch, or what several that overlap cover together.
struct ck_sim_buffer {
  char* host;
  uint64_t bytes;
  uint32_t phase;            ///< address modulo 512
  uint32_t flags;            ///< 1: read-only; 2: nothing wrote any of it
  const uint8_t* valid;      ///< one byte each: whether it belongs to an array; null: all do
  const uint8_t* unwritten;  ///< one byte each: whether nothing wrote it; null: all written
  uint64_t address;          ///< in the arena; filled in here
};

/// A range in static shared memory, or in a module's data.
struct ck_sim_object {
  uint64_t offset, bytes;
};

namespace ck_sim {

constexpr uint64_t kRedZone = 64 * 1024;  // at least
constexpr uint64_t kBufferAlignment = 512;
constexpr uint64_t kSharedRedZone = 64;  // as pad_shared puts them after static shared arrays

/// A mapping that grows by being replaced; its pages are zero until touched.
struct Mapping {
  char* memory;
  size_t bytes;

  bool reserve(size_t wanted) {
    if (wanted <= bytes) {
      return true;
    }
    release();
    void* made = mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) {
      return false;
    }
    memory = static_cast<char*>(made);
    bytes = wanted;
    return true;
  }
  void release() {
    if (memory != nullptr) {
      munmap(memory, bytes);
      memory = nullptr;
      bytes = 0;
    }
  }
};

struct MemoryMap {
  Mapping arena, arena_cells, data_cells;
  uint64_t arena_bytes;  ///< in use
  ck_sim_buffer* buffers;
  uint32_t buffer_count;
  uint32_t recent;  ///< the buffer that was found last

  char* shared;  ///< static shared memory of the running block, and its arrays
  uint64_t shared_bytes;
  const ck_sim_object* shared_objects;
  uint32_t shared_object_count;
  char* dynamic;  ///< dynamic shared memory of the running block
  uint64_t dynamic_bytes;

  char* data;  ///< the kernel's library: writable data, ...
  uint64_t data_bytes;
  const char* image;  ///< ... and all of it
  uint64_t image_bytes;
  const char* parameters;  ///< of the launch
  uint64_t parameter_bytes;

  /// Lays out the buffers and copies them in.
  bool copy_in() {
    uint64_t end = kRedZone;
    for (uint32_t i = 0; i < buffer_count; ++i) {
      end = (end + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment + buffers[i].phase;
      buffers[i].address = end;  // from the arena's start, for now
      // As far again as the array is long: an index of twice its size is still known for its own.
      end += buffers[i].bytes + (buffers[i].bytes > kRedZone ? buffers[i].bytes : kRedZone);
    }
    arena_bytes = end;
    if (!arena.reserve(end) || !arena_cells.reserve((end / 4 + 2) * sizeof(Cell))) {
      return false;
    }
    for (uint32_t i = 0; i < buffer_count; ++i) {
      char* const start = arena.memory + buffers[i].address;
      memset(start - 64, 0xAB, 64);
      memcpy(start, buffers[i].host, buffers[i].bytes);
      memset(start + buffers[i].bytes, 0xAB, 64);
      buffers[i].address = reinterpret_cast<uint64_t>(start);
    }
    return true;
  }

  void copy_out() {
    for (uint32_t i = 0; i < buffer_count; ++i) {
      const ck_sim_buffer& b = buffers[i];
      const char* const from = reinterpret_cast<const char*>(b.address);
      if ((b.flags & 1) != 0) {
        continue;
      }
      if (b.valid == nullptr) {
        memcpy(b.host, from, b.bytes);
      } else {
        for (uint64_t k = 0; k < b.bytes; ++k) {
          if (b.valid[k] != 0) {
            b.host[k] = from[k];
          }
        }
      }
    }
  }

  /// The buffer that an address of the arena belongs to, or is nearest to.
  uint32_t buffer_at(uint64_t address) {
    const ck_sim_buffer& last = buffers[recent];
    if (address - last.address < last.bytes) {
      return recent;
    }
    uint32_t low = 0, high = buffer_count;
    while (high - low > 1) {
      const uint32_t middle = (low + high) / 2;
      (buffers[middle].address - kRedZone / 2 <= address ? low : high) = middle;
    }
    return recent = low;
  }

  bool is_shared(const void* where) const {
    const uint64_t address = reinterpret_cast<uint64_t>(where);
    return address - reinterpret_cast<uint64_t>(shared) < shared_bytes ||
           address - reinterpret_cast<uint64_t>(dynamic) < dynamic_bytes;
  }

  /// The shared array that an address belongs to, or is nearest to; static shared memory only.
  uint32_t shared_object_at(uint64_t offset) const {
    uint32_t best = 0;
    uint64_t distance = ~uint64_t{0};
    for (uint32_t i = 0; i < shared_object_count; ++i) {
      const ck_sim_object& o = shared_objects[i];
      const int64_t before = static_cast<int64_t>(o.offset - offset);
      const int64_t after = static_cast<int64_t>(offset - o.offset - o.bytes) + 1;
      const uint64_t d = static_cast<uint64_t>(before > 0 ? before : after > 0 ? after : 0);
      if (d < distance) {
        distance = d;
        best = i;
      }
    }
    return best;
  }
};

inline MemoryMap memory_map;

/// Which object the access at a place in the code found last: it will mostly be the same.
struct Recent {
  uint32_t buffer[1u << kSiteBits];
  uint32_t object[1u << kSiteBits];
};

inline Recent recent;

}  // namespace ck_sim
