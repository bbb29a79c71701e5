// The memory that a checked launch may access. Arrays are copied into an arena. Each lies between
// red zones there, and as far from a 512-byte boundary as in its own allocation, as on a GPU. A
// sampled launch copies what it touches of arrays, and copies nothing back. While a launch runs,
// words that are addresses of arrays are those of the copies; afterwards they are the host's again.
#pragma once

#include "addresses.hpp"
#include "checked_block.hpp"
#include "findings.hpp"
#include "stacks.hpp"

namespace ck_sim {

constexpr uint64_t kRedZone = 64 * 1024;  // at least
constexpr uint64_t kBufferAlignment = 512;
constexpr uint64_t kLeastAddress = 64 * 1024;  // smaller words are numbers, or null with an offset
constexpr uint64_t kPieceBytes = 16 * 1024;    // copied at once
constexpr uint64_t kChunk = 4096;              // what a sampled launch copies at once

/// A mapping that grows by being replaced; its pages are zero until touched.
struct Mapping {
  char* memory;
  size_t bytes;

  bool reserve(size_t wanted) {
    if (wanted <= bytes) return true;
    release();
    memory = map_pages(wanted);
    bytes = memory == nullptr ? 0 : wanted;
    return memory != nullptr;
  }
  void release() {
    if (memory != nullptr) {
      munmap(memory, bytes);
      memory = nullptr;
      bytes = 0;
    }
  }
  Cell* cells() const { return reinterpret_cast<Cell*>(memory); }
};

/// Bytes of the cells for so many bytes, wherever these start.
inline size_t cell_bytes(uint64_t bytes) { return (bytes / 4 + 2) * sizeof(Cell); }

/// A variable of the module, or a block that malloc gave.
struct Object {
  uint64_t start, bytes;
  uint64_t cells;   // the number of its first cell
  uint32_t number;  // of the variable
  bool constant;
  bool written;  // whether it counts as written before the launch
};

/// The object of a sorted list to which an address belongs, or is near; null if there are none.
inline const Object* find_nearest(const Vector<Object>& objects, uint64_t address) {
  if (objects.size == 0) return nullptr;
  const auto is_at_or_below = [&](size_t i) { return objects.data[i].start <= address; };
  const size_t below = find_last(objects.size, is_at_or_below);
  const uint64_t end = objects.data[below].start + objects.data[below].bytes;
  const bool is_next_nearer = below + 1 < objects.size && address >= end &&
                              objects.data[below + 1].start - address <= address - end;
  return &objects.data[below + is_next_nearer];
}

inline void insert(Vector<Object>& objects, const Object& object) {
  objects.push(object);
  size_t i = objects.size - 1;
  for (; i > 0 && objects[i - 1].start > object.start; --i) {
    objects[i] = objects[i - 1];
  }
  objects[i] = object;
}

struct MemoryMap {
  Mapping arena, arena_cells, variable_cells, heap_cells;
  uint64_t arena_bytes;  // in use
  bool sampled;
  Mapping present;  // of a sampled launch: whether each chunk of the arena was copied, a byte each
  ck_sim_buffer* buffers;
  uint32_t buffer_count;
  const ck_sim_shared_object* shared_objects;
  uint32_t shared_object_count;
  uint64_t dynamic_offset;  // of dynamic shared memory in a window
  Vector<Object> variables;
  Vector<Object> blocks;  // of malloc; they outlive launches
  const char* parameters;
  uint64_t parameter_bytes;
  const ck_sim_variable* given_variables;
  uint32_t given_count;
  const char* workspace;  // of a cooperative launch: two words
  Cell workspace_cells[4];

  /// Decides where the buffers lie; false without memory.
  bool lay_out(bool checks) {
    uint64_t end = kRedZone;
    for (uint32_t i = 0; i < buffer_count; ++i) {
      end = (end + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment + buffers[i].phase;
      buffers[i].address = end;  // from the arena's start, for now
      // The zone is as long as the array: an index of up to twice its length is seen to be its own.
      end += buffers[i].bytes + (buffers[i].bytes > kRedZone ? buffers[i].bytes : kRedZone);
    }
    arena_bytes = end;
    present.release();
    if (!arena.reserve(end) || (checks && !arena_cells.reserve(cell_bytes(end))) ||
        (sampled && !present.reserve(end / kChunk + 1))) {
      return false;
    }
    for (uint32_t i = 0; i < buffer_count; ++i) {
      buffers[i].address += reinterpret_cast<uint64_t>(arena.memory);
    }
    return true;
  }

  /// Copies the buffers in, unless the launch is sampled.
  void copy_in() {
    for (uint32_t i = 0; i < buffer_count && !sampled; ++i) {
      const ck_sim_buffer& b = buffers[i];
      for_pieces(b, [this, &b](char* copy, char* host, uint64_t bytes) {
        memcpy(copy, host, bytes);
        if (b.no_addresses == 0) {
          enter_addresses(copy, bytes);
        }
      });
    }
  }

  /// Calls `visit(copy, host, bytes)` for parts of a buffer: whole words that fit into a cache.
  template <typename Visit>
  static void for_pieces(const ck_sim_buffer& b, Visit visit) {
    for (uint64_t done = 0; done < b.bytes;) {
      const uint64_t room = kPieceBytes - (b.address + done) % kPieceBytes;
      const uint64_t bytes = room < b.bytes - done ? room : b.bytes - done;
      visit(reinterpret_cast<char*>(b.address + done), b.host + done, bytes);
      done += bytes;
    }
  }

  /// Has addresses of the host's arrays lead to their copies.
  void enter_addresses(void* memory, uint64_t bytes) const {
    if (buffer_count == 0) return;
    const ck_sim_buffer& last = buffers[buffer_count - 1];
    const uint64_t first = reinterpret_cast<uint64_t>(buffers[0].host);
    const uint64_t high = reinterpret_cast<uint64_t>(last.host) + last.bytes;
    if (high < kLeastAddress) return;
    replace(memory, bytes, first < kLeastAddress ? kLeastAddress : first, high,
            [this](uint64_t word) { return in_arena(word); });
  }

  /// Has addresses of copies lead to the host's arrays.
  void leave_addresses(void* memory, uint64_t bytes) const {
    const uint64_t start = reinterpret_cast<uint64_t>(arena.memory);
    if (buffer_count == 0) return;
    replace(memory, bytes, start, start + arena_bytes, [this](uint64_t word) {
      const ck_sim_buffer& b = buffers[buffer_at(word)];
      return reinterpret_cast<uint64_t>(b.host) + (word - b.address);
    });
  }

  /// Calls `visit(memory, bytes)` for what a kernel reads besides arrays and parameters.
  template <typename Visit>
  void for_other_memory(Visit visit) const {
    for_variables(given_variables, given_count,
                  [visit](const ck_sim_variable& v, uint64_t) { visit(v.start, v.bytes); });
    for (const Object& block : blocks) {
      visit(reinterpret_cast<char*>(block.start), block.bytes);
    }
  }

  template <typename Translate>
  static void replace(void* memory, uint64_t bytes, uint64_t low, uint64_t high,
                      Translate translate) {
    for_addresses(memory, bytes, low, high, [translate](const uint64_t* word) {
      *const_cast<uint64_t*>(word) = translate(*word);
    });
  }

  /// Returns the copy's address for one of the host's: in an array or else at the end of one.
  uint64_t in_arena(uint64_t address) const {
    const auto start = [this](size_t i) { return reinterpret_cast<uint64_t>(buffers[i].host); };
    const auto end = [this, start](size_t i) { return start(i) + buffers[i].bytes; };
    size_t found = find_last(buffer_count, [=](size_t i) { return start(i) <= address; });
    while (address >= end(found) && found > 0 && end(found - 1) == address) {
      --found;
    }
    const bool leads = address >= start(found) && address <= end(found);
    return leads ? buffers[found].address + (address - start(found)) : address;
  }

  /// Copies what a sampled launch touches of a buffer, for the first time.
  void fetch(const ck_sim_buffer& b, uint64_t address, uint64_t bytes) {
    const uint64_t start = reinterpret_cast<uint64_t>(arena.memory), end = b.address + b.bytes;
    for (uint64_t i = (address - start) / kChunk; start + i * kChunk < address + bytes; ++i) {
      if (present.memory[i] == 0) {
        present.memory[i] = 1;
        const uint64_t first = start + i * kChunk, last = first + kChunk;
        const uint64_t from = first < b.address ? b.address : first;
        const uint64_t to = last < end ? last : end;
        memcpy(reinterpret_cast<char*>(from), b.host + (from - b.address), to - from);
        if (b.no_addresses == 0) {
          enter_addresses(reinterpret_cast<char*>(from), to - from);
        }
      }
    }
  }

  void copy_out() {
    for (uint32_t i = 0; i < buffer_count && !sampled; ++i) {
      const ck_sim_buffer& b = buffers[i];
      if (b.read_only != 0) continue;
      for_pieces(b, [this, &b](char* from, char* to, uint64_t bytes) {
        if (b.no_addresses == 0) {
          leave_addresses(from, bytes);
        }
        if (b.valid == nullptr) {
          memcpy(to, from, bytes);
          return;
        }
        const uint8_t* const valid = b.valid + (to - b.host);
        for (uint64_t k = 0; k < bytes; ++k) {
          if (valid[k] != 0) {
            to[k] = from[k];
          }
        }
      });
    }
  }

  bool take_variables(const ck_sim_variable* given, uint32_t count) {
    uint64_t cells = 0;
    given_variables = given;
    given_count = count;
    variables.clear();
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t start = reinterpret_cast<uint64_t>(given[i].start);
      insert(variables, {start, given[i].bytes, cells, i, given[i].is_constant != 0, true});
      cells += given[i].bytes / 4 + 2;
    }
    return variable_cells.reserve(cells * sizeof(Cell));
  }

  /// The number of the buffer to which an address of the arena belongs, or is near.
  uint32_t buffer_at(uint64_t address) const {
    return static_cast<uint32_t>(find_last(buffer_count, [this, address](size_t i) {
      return buffers[i].address - kRedZone / 2 <= address;
    }));
  }

  /// The number of the shared variable to which an offset belongs, or is nearest.
  uint32_t shared_object_at(uint64_t offset) const {
    uint32_t best = 0;
    uint64_t distance = ~uint64_t{0};
    for (uint32_t i = 0; i < shared_object_count; ++i) {
      const ck_sim_shared_object& o = shared_objects[i];
      const uint64_t d = offset < o.offset              ? o.offset - offset
                         : offset >= o.offset + o.bytes ? offset - o.offset - o.bytes + 1
                                                        : 0;
      if (d < distance) {
        distance = d;
        best = i;
      }
    }
    return best;
  }
};

inline MemoryMap memory_map;

/// Which object each instruction accessed last: mostly the one that it accesses next.
struct Recent {
  uint32_t buffer[kMostSites + 1];
  uint32_t object[kMostSites + 1];
};

inline Recent recent;

}  // namespace ck_sim
