// Which arrays a launch reaches by addresses in memory; where one stands that leads to no array.
#pragma once

#include <sys/mman.h>

#include "shadow.hpp"

namespace ck_sim {

constexpr uint64_t kNear = uint64_t{1} << 28;  // how far from an address a kernel may access

/// The arrays that a launch may reach.
struct Reach {
  ck_sim_known* known;
  uint32_t count;
  Vector<uint64_t> furthest;  // for each, the highest end of it and those before it
  Vector<uint32_t> pending;   // reached, but not searched yet

  void run(const void* parameters, uint64_t bytes) {
    uint64_t high = 0;
    for (uint32_t i = 0; i < count; ++i) {
      high = known[i].end > high ? known[i].end : high;
      furthest.push(high);
      if (known[i].reached != 0) {
        pending.push(i);
      }
    }
    const uint64_t low = known[0].start < kLeastAddress ? kLeastAddress : known[0].start;
    if (high < low) return;
    const auto look = [this, low, high](const void* memory, uint64_t size) {
      for_addresses(memory, size, low, high, [this](const uint64_t* word) { follow(*word); });
    };
    look(parameters, bytes);
    memory_map.for_other_memory(look);
    while (pending.size > 0) {
      const ck_sim_known& array = known[pending[--pending.size]];
      look(reinterpret_cast<const char*>(array.start), array.end - array.start);
    }
  }

  /// Marks the arrays in which an address lies or, if there are none, those that end there.
  void follow(uint64_t address) {
    const size_t last = find_last(count, [=](size_t i) { return known[i].start <= address; });
    bool found = false;
    for (int ends = 0; ends < 2 && !found; ++ends) {
      for (size_t i = last + 1; i-- > 0 && furthest[i] >= address;) {
        if (ends != 0 ? address != known[i].end : address >= known[i].end) continue;
        found = true;
        if (known[i].reached == 0) {
          known[i].reached = 1;
          pending.push(static_cast<uint32_t>(i));
        }
      }
    }
  }

  void release() {
    free(furthest.data);
    free(pending.data);
  }
};

/// Finds the word from which an address outside of all arrays was computed: the nearest address
/// outside of arrays that stands in memory. One at or below it goes before any above it.
inline void find_origin(uint64_t address, ck_sim_finding* finding) {
  const MemoryMap& m = memory_map;
  if (address < kLeastAddress) return;
  const uint64_t lowest = address - least(address - kLeastAddress, kNear);
  const uint64_t highest = address + least(UINT64_MAX - address, kNear);
  uint64_t nearest = UINT64_MAX;
  const auto look = [&](const void* memory, uint64_t bytes, ck_sim_space space, uint64_t object) {
    for_addresses(memory, bytes, lowest, highest, [&](const uint64_t* word) {
      const bool is_nearer = *word <= address ? nearest > address || *word > nearest
                                              : nearest > address && *word < nearest;
      const uint64_t in_arena = *word - reinterpret_cast<uint64_t>(m.arena.memory);
      if (!is_nearer || in_arena < m.arena_bytes) return;
      nearest = *word;
      finding->origin_space = space;
      finding->origin_object = static_cast<uint32_t>(object);
      finding->origin_offset =
          reinterpret_cast<uint64_t>(word) - reinterpret_cast<uint64_t>(memory);
    });
  };
  look(m.parameters, m.parameter_bytes, ck_sim_parameters, 0);
  for (uint32_t i = 0; i < m.buffer_count; ++i) {
    look(reinterpret_cast<char*>(m.buffers[i].address), m.buffers[i].bytes, ck_sim_global, i);
  }
  for_variables(m.given_variables, m.given_count, [&](const ck_sim_variable& v, uint64_t i) {
    look(v.start, v.bytes, ck_sim_variable_, i);
  });
  for (size_t i = 0; i < m.blocks.size; ++i) {
    look(reinterpret_cast<char*>(m.blocks.data[i].start), m.blocks.data[i].bytes, ck_sim_heap, i);
  }
}

/// The memory of no known array that the launch has accessed as plain launches do, by its pages.
inline Map<char> unknown_pages;
inline bool uses_unknown_memory = false;

/// Whether an address stands in memory that leads to an access, and to mapped memory of no known
/// array. The checker does not look at accesses there, and notes the first by each such address.
inline bool is_in_unknown_memory(const Access& a) {
  constexpr uint64_t kPage = 4096;
  if (!uses_unknown_memory || a.space != ck_sim_nowhere) return false;
  const uint64_t page = a.at() / kPage * kPage;
  if (unknown_pages.find(page | 1) != nullptr) return true;
  ck_sim_finding origin = {};
  unsigned char residence[1];
  find_origin(a.at(), &origin);
  if (origin.origin_space == ck_sim_nowhere ||
      mincore(reinterpret_cast<void*>(page), kPage, residence) != 0) {
    return false;
  }
  unknown_pages.get(page | 1) = 1;
  const uint64_t key = mix(origin.origin_offset, origin.origin_space << 16 ^ origin.origin_object);
  const View& view = a.w->threads[a.self].view;
  ck_sim_finding* note = add_finding("unknown_memory", 0, 0, key, view, a);
  if (note != nullptr) {
    note->site = a.site;
    note->only_strict = 1;
    note->origin_space = origin.origin_space;
    note->origin_object = origin.origin_object;
    note->origin_offset = origin.origin_offset;
  }
  return true;
}

inline void report_outside(const Access& a) {
  ck_sim_finding* finding = report(a, "out_of_bounds");
  if (finding != nullptr && a.space == ck_sim_nowhere) {
    find_origin(a.at(), finding);
  }
}

}  // namespace ck_sim
