// Memory traffic by instruction and array, as the hardware has it: of warps.
//
// The n-th accesses of all lanes at an instruction are one request. They are counted from the last
// barrier or collective of the warp. What a request costs:
//
// - Global memory moves whole sectors of 32 bytes, each once for a request. There are no caches in
//   this model.
// - So does local memory, where word k of all lanes lies side by side: 32 lanes that access
//   the same four bytes of their own move four sectors.
// - Shared memory takes one wavefront for each different word of the busiest bank. Accesses of 8
//   bytes are served half a warp at a time, those of 16 bytes a quarter.
// - Constant memory takes one wavefront for each different address.
//
// A request counts for the array that its first lane accesses.
//
// Addresses of accesses are multiples of their sizes, so each access lies in one sector.
#pragma once

#include "findings.hpp"
#include "launch_api.hpp"
#include "memory_map.hpp"
#include "scheduler.hpp"

namespace ck_sim {

enum class Memory : uint32_t { kGlobal, kShared, kLocal, kConstant };
enum class Action : uint32_t { kLoad, kStore, kAtomic };
constexpr uint32_t kActions = 4, kKinds = 4 * kActions;  // of both together

constexpr uint32_t kMostEvents = 4096;  // of a thread, see is_full
constexpr int kSectorShift = 5;
constexpr uint32_t kBanks = 32;

/// What lanes of a warp access at once.
struct Request {
  uint32_t slot;   // of its site and kind
  uint32_t next;   // the index of the slot's next request plus one, or 0
  uint32_t count;  // of lanes, which ascend
  uint32_t width;  // bytes of each: a power of two, up to 32
  uint64_t bytes;  // of all
  uint8_t lane[kLanes];
  uint64_t address[kLanes];
};

/// A set of few numbers.
struct SmallSet {
  static constexpr uint32_t kSlots = 64;  // for half as many numbers
  struct {
    uint64_t value, round;
  } slots[kSlots];
  uint64_t round;

  void clear() { ++round; }
  /// Adds a value; false if it is there already.
  bool add(uint64_t value) {
    uint32_t i = static_cast<uint32_t>(value * 0x9E3779B97F4A7C15u >> 58);
    for (; slots[i].round == round; i = (i + 1) % kSlots) {
      if (slots[i].value == value) return false;
    }
    slots[i].value = value;
    slots[i].round = round;
    return true;
  }
};

/// The accesses of one kind at one site. Indices are those plus one; 0 stands for none.
struct Slot {
  uint32_t key;          // site and kind
  uint32_t first, last;  // its first request, and the one that has the latest access of a lane
  size_t sum;            // the sum that a request was added to last
};

/// An object, and an offset in it.
struct Position {
  ck_sim_space space;
  uint32_t object;
  uint64_t offset;
};

inline Position position_of(Memory memory, uint64_t address) {
  const MemoryMap& m = memory_map;
  if (memory == Memory::kShared) {
    if (m.shared_object_count == 0 || address >= m.dynamic_offset) {
      return {ck_sim_dynamic, 0, address - m.dynamic_offset};
    }
    const uint32_t i = m.shared_object_at(address);
    return {ck_sim_shared, i, address - m.shared_objects[i].offset};
  }
  if (memory == Memory::kLocal) return {ck_sim_local_, 0, 0};
  if (memory == Memory::kGlobal &&
      address - reinterpret_cast<uint64_t>(m.arena.memory) < m.arena_bytes) {
    const uint32_t i = m.buffer_at(address);
    return {ck_sim_global, i, address - m.buffers[i].address};
  }
  const Object* object = find_nearest(m.variables, address);
  if (object == nullptr || address - object->start >= object->bytes) return {ck_sim_heap, 0, 0};
  return {ck_sim_variable_, object->number, address - object->start};
}

struct Traffic {
  Vector<ck_sim_traffic> sums;
  Vector<Slot> slots;
  uint16_t slot_of[(kMostSites + 1) * kKinds];  // plus one, by key; 0: none
  Vector<Request> requests;
  Vector<uint32_t> touched;  // slots with accesses of the lane that is being sorted
  SmallSet set;

  uint32_t slot(const Site* site, Memory memory, Action action) {
    const uint32_t number = sites.number(site);
    const uint32_t kind = kActions * static_cast<uint32_t>(memory) + static_cast<uint32_t>(action);
    const uint32_t key = number * kKinds + kind;
    if (slot_of[key] == 0) {
      add_slot(key);
    }
    return slot_of[key] - 1u;
  }

  __attribute__((noinline)) void add_slot(uint32_t key) {
    slots.push({key, 0, 0, 0});
    slot_of[key] = static_cast<uint16_t>(slots.size);
  }

  /// The sum of a slot for the object at an address.
  ck_sim_traffic& sum(uint32_t number, uint64_t address) {
    Slot& slot = slots[number];
    const Memory memory = static_cast<Memory>(slot.key % kKinds / kActions);
    const Position position = position_of(memory, address);
    if (slot.sum != 0 && is_of(sums[slot.sum - 1], position)) return sums[slot.sum - 1];
    // The sums of a slot are a ring.
    const size_t first = slot.sum;
    for (size_t i = first == 0 ? 0 : sums[first - 1].next; i != first; i = sums[i - 1].next) {
      if (is_of(sums[i - 1], position)) {
        slot.sum = i;
        return sums[i - 1];
      }
    }
    ck_sim_traffic added = {};
    added.site = sites.at[slot.key / kKinds];
    added.memory = slot.key % kKinds / kActions;
    added.action = slot.key % kActions;
    added.space = position.space;
    added.object = position.object;
    added.offset = position.offset;
    sums.push(added);
    slot.sum = sums.size;
    sums[slot.sum - 1].next = first == 0 ? slot.sum : sums[first - 1].next;
    if (first != 0) {
      sums[first - 1].next = slot.sum;
    }
    return sums[slot.sum - 1];
  }

  static bool is_of(const ck_sim_traffic& sum, const Position& position) {
    return sum.space == position.space && sum.object == position.object;
  }
};

inline Traffic traffic;

inline void clear_traffic() {
  for (const Slot& slot : traffic.slots) {
    traffic.slot_of[slot.key] = 0;
  }
  traffic.slots.clear();
  traffic.sums.clear();
}

/// Counts different numbers. Mostly they ascend.
inline uint32_t count_different(const uint64_t* numbers, uint32_t count) {
  uint32_t changes = 1;
  bool ascend = true;
  for (uint32_t i = 1; i < count; ++i) {
    changes += numbers[i] != numbers[i - 1];
    ascend &= numbers[i] >= numbers[i - 1];
  }
  if (ascend) return changes;
  traffic.set.clear();
  uint32_t different = 0;
  for (uint32_t i = 0; i < count; ++i) {
    different += traffic.set.add(numbers[i]);
  }
  return different;
}

inline uint32_t count_wavefronts(const Request& r) {
  const uint32_t words = r.width < 4 ? 1 : r.width / 4;  // of an access
  const uint32_t at_once = kLanes / words;
  uint32_t total = 0;
  for (uint32_t i = 0; i < r.count;) {
    const uint32_t part = r.lane[i] / at_once;
    uint64_t first[kBanks];      // word of a bank; others are in the set
    uint32_t different[kBanks];  // words
    uint32_t used = 0, most = 1;
    traffic.set.clear();
    for (; i < r.count && r.lane[i] / at_once == part; ++i) {
      for (uint32_t k = 0; k < words; ++k) {
        const uint64_t word = r.address[i] / 4 + k;
        const uint32_t bank = word % kBanks;
        if ((used >> bank & 1) == 0) {
          used |= 1u << bank;
          first[bank] = word;
          different[bank] = 1;
        } else if (first[bank] != word && traffic.set.add(word)) {
          most = ++different[bank] > most ? different[bank] : most;
        }
      }
    }
    total += most;
  }
  return total;
}

/// Adds the distances between neighbouring lanes. If more than half are equal, these have won the
/// vote in the end, whatever the order (Boyer and Moore).
inline void add_strides(ck_sim_traffic& sum, const Request& r) {
  for (uint32_t i = 1; i < r.count; ++i) {
    if (r.lane[i] != r.lane[i - 1] + 1) continue;
    const int64_t stride = static_cast<int64_t>(r.address[i] - r.address[i - 1]);
    ++sum.neighbours;
    if (stride == sum.stride) {
      ++sum.votes;
      ++sum.alike;
    } else if (sum.votes == 0) {
      sum.stride = stride;
      sum.votes = sum.alike = 1;
    } else {
      --sum.votes;
    }
  }
}

inline void add_request(const Request& r) {
  ck_sim_traffic& sum = traffic.sum(r.slot, r.address[0]);
  ++sum.requests;
  sum.accesses += r.count;
  sum.bytes += r.bytes;
  add_strides(sum, r);
  const Memory memory = static_cast<Memory>(sum.memory);
  if (memory == Memory::kShared) {
    sum.wavefronts += count_wavefronts(r);
    return;
  }
  uint64_t units[kLanes];
  const int shift =
      memory == Memory::kGlobal ? kSectorShift : __builtin_ctz(r.width > 4 ? r.width : 4);
  for (uint32_t i = 0; i < r.count; ++i) {
    units[i] = r.address[i] >> shift;
  }
  if (memory == Memory::kLocal) {
    for (uint32_t i = 0; i < r.count; ++i) {
      units[i] = units[i] * 4 + r.lane[i] / 8;  // a sector of each word has those of eight lanes
    }
  }
  const uint32_t different = count_different(units, r.count);
  if (memory == Memory::kConstant) {
    sum.wavefronts += different;
  } else {
    sum.sectors += memory == Memory::kGlobal ? different : different << (shift - 2);
  }
}

/// Adds requests for the first `rows` events of each lane, which are alike.
inline void add_rows(const Events* lanes, uint32_t count, uint32_t rows, const uint32_t* keys) {
  for (uint32_t n = 0; n < rows;) {
    Request r;
    const uint64_t* addresses[kLanes];
    uint32_t until = rows;  // up to here the same lanes have events
    r.count = 0;
    for (uint32_t lane = 0; lane < count; ++lane) {
      if (lanes[lane].size > n) {
        until = lanes[lane].size < until ? lanes[lane].size : until;
        r.lane[r.count] = static_cast<uint8_t>(lane);
        addresses[r.count++] = lanes[lane].addresses;
      }
    }
    for (; n < until; ++n) {
      for (uint32_t i = 0; i < r.count; ++i) {
        r.address[i] = addresses[i][n];
      }
      r.slot = keys[n] >> 8;
      r.width = keys[n] & 0xFF;
      r.bytes = uint64_t{r.width} * r.count;
      add_request(r);
    }
  }
}

/// Sorts the events of a lane from number `from` on into requests, which have those of lower lanes.
inline void sort_in(const Events& events, uint32_t lane, uint32_t from) {
  for (uint32_t n = from; n < events.size; ++n) {
    const uint32_t key = events.keys[n], width = key & 0xFF;
    Slot& slot = traffic.slots[key >> 8];
    if (slot.last == 0) {
      traffic.touched.push(key >> 8);
    }
    uint32_t place = slot.last == 0 ? slot.first : traffic.requests[slot.last - 1].next;
    if (place == 0) {
      traffic.requests.push({});
      place = static_cast<uint32_t>(traffic.requests.size);
      traffic.requests[place - 1].slot = key >> 8;
      (slot.last == 0 ? slot.first : traffic.requests[slot.last - 1].next) = place;
    }
    slot.last = place;
    Request& r = traffic.requests[place - 1];
    r.width = width > r.width ? width : r.width;
    r.bytes += width;
    r.lane[r.count] = static_cast<uint8_t>(lane);
    r.address[r.count++] = events.addresses[n];
  }
  for (const uint32_t slot : traffic.touched) {
    traffic.slots[slot].last = 0;
  }
  traffic.touched.clear();
}

/// Counts the events, from the first on, that are alike in all lanes that have so many.
inline uint32_t same_rows(const Events* lanes, uint32_t count, const Events& longest) {
  uint32_t rows = longest.size;
  for (uint32_t lane = 0; lane < count; ++lane) {
    const Events& events = lanes[lane];
    const uint32_t both = events.size < rows ? events.size : rows;
    if (both != 0 && memcmp(events.keys, longest.keys, both * sizeof *events.keys) != 0) {
      for (rows = 0; events.keys[rows] == longest.keys[rows];) {
        ++rows;
      }
    }
  }
  return rows;
}

/// Sorts what lanes of a warp did since the last time into requests, once all that are left meet.
inline void flush_warp(Worker* w, uint32_t first) {
  Events* lanes = w->checked.events + first;
  const uint32_t left = w->launch->threads - first, count = left < kLanes ? left : kLanes;
  const Events* longest = lanes;
  for (uint32_t lane = 1; lane < count; ++lane) {
    longest = lanes[lane].size > longest->size ? lanes + lane : longest;
  }
  const uint32_t rows = same_rows(lanes, count, *longest);
  add_rows(lanes, count, rows, longest->keys);
  const bool rest = longest->size > rows;
  for (uint32_t lane = 0; lane < count; ++lane) {
    if (rest) {
      sort_in(lanes[lane], lane, rows);
    }
    lanes[lane].clear();
  }
  for (const Request& r : traffic.requests) {
    add_request(r);
    traffic.slots[r.slot].first = 0;
  }
  traffic.requests.clear();
}

inline void flush_block(Worker* w) {
  for (uint32_t first = 0; first < w->launch->threads; first += kLanes) {
    flush_warp(w, first);
  }
}

/// Whether a thread has noted so much that it should let others run: otherwise its list grows. If
/// it has when it goes on, its warp is to be flushed: by then all lanes have come here, or wait.
inline bool is_full(const Worker* w, uint32_t self) {
  return w->checked.events[self].size >= kMostEvents;
}

/// Notes an access of the block's thread `self` of 1 to 32 bytes. In shared memory the address is
/// an offset in the window of the block, or of another one of its cluster; in local memory, the
/// distance from the top of the thread's stack, modulo 2^64.
inline void note_event(Worker* w, uint32_t self, uint64_t address, uint32_t bytes, Memory memory,
                       Action action, const Site* site) {
  w->checked.events[self].push(address, traffic.slot(site, memory, action) << 8 | bytes);
}

/// Notes an access of any number of bytes, such as a bulk copy, as a request of its own.
inline void note_range(uint64_t address, uint64_t bytes, Memory memory, Action action,
                       const Site* site) {
  if (bytes == 0) return;
  ck_sim_traffic& sum = traffic.sum(traffic.slot(site, memory, action), address);
  ++sum.requests;
  ++sum.accesses;
  sum.bytes += bytes;
  const uint64_t last = address + bytes - 1;
  if (memory == Memory::kGlobal) {
    sum.sectors += (last >> kSectorShift) - (address >> kSectorShift) + 1;
  } else if (memory == Memory::kShared) {
    sum.wavefronts += last / (4 * kBanks) - address / (4 * kBanks) + 1;
  }
}

// Which instructions warps execute. Generated code counts how often each thread runs each basic
// block, see count_block of memory.hpp. A warp counts as running a block as often as the lane that
// runs it most: lanes that diverge and run it apart count as running it together.

inline uint64_t* executions = nullptr;  // of each basic block of the launch; null: nobody counts

/// How many counts a warp has: for the lanes of the first basic block, then of the next.
inline size_t execution_count(const Worker* w) {
  return size_t{w->launch->kernel->basic_blocks} * kLanes;
}

/// Has the threads of a block count from zero. If nobody asks, all warps count in the same place.
inline void begin_executions(Worker* w) {
  const bool counts_each = executions != nullptr;
  const uint32_t threads = w->launch->threads, warps = (threads + kLanes - 1) / kLanes;
  const size_t size = execution_count(w) * (counts_each ? warps : 1);
  Vector<uint32_t>& counts = w->checked.executions;
  if (counts_each || counts.size < size) {
    counts.fill(size);
  }
  for (uint32_t i = 0; i < threads; ++i) {
    const uint32_t warp = counts_each ? i / kLanes : 0;
    w->threads[i].view.executions = counts.data + execution_count(w) * warp + i % kLanes;
  }
}

/// Adds what the warps of a block have executed.
inline void end_executions(Worker* w) {
  const Vector<uint32_t>& counts = w->checked.executions;
  const uint32_t blocks = w->launch->kernel->basic_blocks;
  for (size_t i = 0; executions != nullptr && i < counts.size / kLanes; ++i) {
    const uint32_t* const lanes = counts.data + i * kLanes;
    uint32_t most = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      most = lanes[lane] > most ? lanes[lane] : most;
    }
    executions[i % blocks] += most;
  }
}

}  // namespace ck_sim
