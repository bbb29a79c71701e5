// Undefined values: where they come from, and which bytes of memory hold them. The kernels' own
// code follows those in registers, see ptx/undefined.py.
#pragma once

#include "memory_map.hpp"

namespace ck_sim {

/// A source of undefined values: a load of what nothing has written, or a shuffle from no lane.
struct Origin {
  uint32_t site;  // its number
  bool shuffles;
  uint32_t space, object, bytes, access;  // as in a finding; of a shuffle, see ck_sim_lack
  int64_t offset;
  const char* name;
};

/// A word has a bit for each instruction that its values come from. Many instructions share bits.
constexpr int kOriginBits = 64 - kOriginShift;
constexpr size_t kMostOrigins = size_t{1} << 16;  // of single threads; then all are forgotten

struct UndefinedValues {
  Map<Origin> origins;      // the latest of each thread at an instruction, ...
  Vector<Origin> of_sites;  // ... and of any thread, in the order in which instructions began
  Map<uint32_t> numbers;    // of instructions among these, from 1
  Map<uint64_t> held;       // words of memory that holds undefined values, by address / 4

  void clear() { clear_all(origins, of_sites, numbers, held); }

  static uint64_t key_of(uint32_t site, uint64_t thread) { return thread << kSiteBits | site; }

  /// Takes note of an origin and returns its word, without bytes. `thread` is not 0.
  uint64_t begin(const Origin& origin, uint64_t thread) {
    uint32_t& number = numbers.get(origin.site);
    if (number == 0) {
      of_sites.push(origin);
      number = static_cast<uint32_t>(of_sites.size);
    }
    of_sites[number - 1] = origin;
    if (origins.size == kMostOrigins) {
      origins.clear();
    }
    origins.get(key_of(origin.site, thread)) = origin;
    return uint64_t{1} << (kOriginShift + (number - 1) % kOriginBits);
  }
  /// Returns an origin of a word that a thread has: one of the thread itself, if there is one.
  Origin origin_of(uint64_t word, uint64_t thread) {
    Origin best = {};
    bool is_own = false;
    for (size_t i = 0; i < of_sites.size; ++i) {
      if ((word >> (kOriginShift + i % kOriginBits) & 1) == 0) continue;
      const Origin* own = origins.find(key_of(of_sites[i].site, thread));
      if ((own != nullptr && !is_own) || best.site == 0) {
        best = own == nullptr ? of_sites[i] : *own;
      }
      is_own = is_own || own != nullptr;
    }
    return best;
  }

  /// Has a few bytes of an aligned word hold undefined values.
  void hold(uint64_t address, uint32_t bytes, uint64_t undefined) {
    uint64_t& word = held.get(address >> 2);
    const uint64_t mask = ((uint64_t{1} << bytes) - 1) << (address & 3);
    const uint64_t own = (undefined & kUndefinedBytes) << (address & 3) & mask;
    const uint64_t rest = word & kUndefinedBytes & ~mask;
    word = ((undefined | (rest == 0 ? 0 : word)) & ~kUndefinedBytes) | rest | own;
  }
  uint64_t held_at(uint64_t address, uint32_t bytes) {
    const uint64_t* word = held.find(address >> 2);
    if (word == nullptr) return 0;
    const uint64_t own = (*word & kUndefinedBytes) >> (address & 3) & ((1u << bytes) - 1);
    return own == 0 ? 0 : (*word & ~kUndefinedBytes) | own;
  }
  /// Forgets what a range holds, which is new memory now.
  void release(const char* start, uint64_t bytes) {
    const uint64_t first = reinterpret_cast<uint64_t>(start) >> 2;
    for (uint64_t i = first; held.size != 0 && i <= first + bytes / 4; ++i) {
      uint64_t* word = held.find(i);
      if (word != nullptr) {
        *word = 0;
      }
    }
  }
};

inline UndefinedValues undefined_values;

/// A number that no other thread of the launch has.
inline uint64_t thread_of(const Worker* w, uint32_t self) {
  return w->checked.serial * kMaxThreads + self + 1;
}

inline void report_undefined(const Worker* w, uint32_t self, uint64_t word, ck_sim_use use,
                             const Site* site) {
  const Origin o = undefined_values.origin_of(word, thread_of(w, self));
  if (o.site == 0) return;
  ck_sim_finding* finding = add_finding(o.shuffles ? "inactive_lane" : "uninitialized", o.site, 0,
                                        o.space << 16 ^ o.object, w->threads[self].view, o);
  if (finding == nullptr) return;
  finding->site = sites.at[o.site];
  finding->other_site = site;
  finding->use = use;
  finding->access = o.access;
}

}  // namespace ck_sim
