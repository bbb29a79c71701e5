// SPDX-License-Identifier: MIT
// Every access of a checked launch arrives here: is it inside, aligned, initialized, ordered?
#pragma once

#include "shadow.hpp"
#include "traffic.hpp"

namespace ck_sim {

struct Checker {
  bool checks, counts;   ///< which of the reports is asked for
  uint64_t writes;       ///< of the launch
  uint64_t next_serial;  ///< of blocks, over all launches
  const char* stack;     ///< of the running fiber
  uint64_t steps;        ///< accesses and turns of threads, ...
  uint64_t turn;         ///< ... when the running one began
  // While the words of a structure are read: those that nothing wrote.
  uint32_t pieces;
  uint64_t fresh;
  Access first_fresh;
};

inline Checker checker = {false, false, 0, 1, nullptr, 0, 0, 0, 0, {}};

inline void on_barrier(Worker* w) {
  barrier_orders(w);
  if (checker.counts) {
    flush_block(w);
  }
}

inline void on_collective(Worker* w, uint32_t first, unsigned mask) {
  lanes_order(w, first, mask);
  if (checker.counts && mask == w->threads[first].view.warp) {
    flush_warp(w, first);
  }
}

/// Ends the launch at an access that must not happen.
__attribute__((noinline)) inline void stop_access(Worker* w) {
  int expected = 0;
  __atomic_compare_exchange_n(&w->launch->failed, &expected, 1, false, __ATOMIC_ACQ_REL,
                              __ATOMIC_ACQUIRE);
  suspend(w, w->running);
}

__attribute__((noinline)) inline void report_outside(const Access& a, bool stops) {
  report(a, "out_of_bounds");
  if (stops) {
    stop_access(a.w);
  }
}

/// Finds the memory of an access; null and a report unless the access lies inside of one object.
inline Cell* locate(Access& a, const uint8_t** unwritten, bool* initialized) {
  MemoryMap& m = memory_map;
  const uint64_t address = a.address;
  const uint64_t in_arena = address - reinterpret_cast<uint64_t>(m.arena.memory);
  a.first_serial = a.w->launch->first_serial;
  *unwritten = nullptr;
  *initialized = true;
  if (in_arena < m.arena_bytes && m.buffer_count != 0) {
    a.object = recent.buffer[a.site] = m.buffer_at(address);
    const ck_sim_buffer& b = m.buffers[a.object];
    a.space = kGlobal;
    a.offset = static_cast<int64_t>(address - b.address);
    const uint64_t start = static_cast<uint64_t>(a.offset);
    bool inside = start < b.bytes && a.bytes <= b.bytes - start;
    for (uint32_t i = 0; inside && b.valid != nullptr && i < a.bytes; ++i) {
      inside = b.valid[start + i] != 0;
    }
    if (!inside || (a.write && (b.flags & 1) != 0)) {
      report_outside(a, false);
      return nullptr;
    }
    *unwritten = b.unwritten == nullptr ? nullptr : b.unwritten + start;
    *initialized = (b.flags & 2) == 0;
    return reinterpret_cast<Cell*>(m.arena_cells.memory) + in_arena / 4;
  }
  const uint64_t in_shared = address - reinterpret_cast<uint64_t>(m.shared);
  if (in_shared + kSharedRedZone < m.shared_bytes + kSharedRedZone && m.shared_object_count != 0) {
    a.object = recent.object[a.site] = m.shared_object_at(in_shared);
    a.space = kShared;
    const ck_sim_object& o = m.shared_objects[a.object];
    a.offset = static_cast<int64_t>(in_shared - o.offset);
    if (a.offset < 0 || static_cast<uint64_t>(a.offset) + a.bytes > o.bytes) {
      report_outside(a, in_shared >= m.shared_bytes || a.bytes > m.shared_bytes - in_shared);
      return nullptr;
    }
    a.first_serial = a.w->checked.serial;
    *initialized = false;
    return a.w->checked.cells + in_shared / 4;
  }
  const uint64_t in_dynamic = address - reinterpret_cast<uint64_t>(m.dynamic) + kRedZone;
  if (in_dynamic < m.dynamic_bytes + 2 * kRedZone) {
    a.space = kDynamic;
    a.object = 0;
    a.offset = static_cast<int64_t>(in_dynamic - kRedZone);
    if (a.offset < 0 || static_cast<uint64_t>(a.offset) + a.bytes > m.dynamic_bytes) {
      report_outside(a, in_dynamic + a.bytes > m.dynamic_bytes + 2 * kRedZone);
      return nullptr;
    }
    a.first_serial = a.w->checked.serial;
    *initialized = false;
    return a.w->checked.cells + m.shared_bytes / 4 + 2 + static_cast<uint64_t>(a.offset) / 4;
  }
  const uint64_t in_data = address - reinterpret_cast<uint64_t>(m.data);
  if (in_data < m.data_bytes && a.bytes <= m.data_bytes - in_data) {
    a.space = kModule;
    a.offset = static_cast<int64_t>(address - reinterpret_cast<uint64_t>(m.image));
    return reinterpret_cast<Cell*>(m.data_cells.memory) + in_data / 4;
  }
  const uint64_t in_image = address - reinterpret_cast<uint64_t>(m.image);
  const uint64_t in_parameters = address - reinterpret_cast<uint64_t>(m.parameters);
  if (!a.write && (in_image < m.image_bytes || in_parameters < m.parameter_bytes)) {
    return nullptr;  // constants
  }
  a.space = kNowhere;
  a.object = 0;
  a.offset = static_cast<int64_t>(address);
  report_outside(a, true);
  return nullptr;
}

inline uint32_t running_thread(const Worker* w) {
  return static_cast<uint32_t>(w->running - w->threads);
}

/// The name of an address that threads order through: blocks have the same shared addresses.
inline uint64_t channel_key(const Worker* w, const void* address) {
  const uint64_t key = reinterpret_cast<uint64_t>(address);
  return memory_map.is_shared(address) ? key + (w->checked.serial << 48) : key;
}

/// Checks an access of whole words by the rules that are quick to apply. Returns false if those do
/// not settle it.
template <bool kWrite>
inline bool pass_access(Worker* w, uint32_t self, uint64_t address, uint32_t bytes, uint32_t site) {
  const MemoryMap& m = memory_map;
  CheckedBlock& block = w->checked;
  ThreadOrder& t = block.order[self];
  const uint64_t tag = make_tag(block.serial, self, t.time, site);
  const uint64_t in_arena = address - reinterpret_cast<uint64_t>(m.arena.memory);
  if (in_arena < m.arena_bytes) {
    const ck_sim_buffer& b = m.buffers[recent.buffer[site]];
    const uint64_t start = address - b.address;
    if (start >= b.bytes || bytes > b.bytes - start || b.valid != nullptr ||
        (kWrite && (b.flags & 1) != 0)) {
      return false;
    }
    t.dirty = true;
    if (!kWrite && b.flags == 1 && b.unwritten == nullptr) {
      return true;  // nobody may write it, so reads meet nothing
    }
    Cell* cells = reinterpret_cast<Cell*>(m.arena_cells.memory) + in_arena / 4;
    return pass_cells<kWrite>(cells, bytes / 4, tag, w->launch->first_serial, block,
                              b.unwritten == nullptr && (b.flags & 2) == 0);
  }
  const uint64_t in_shared = address - reinterpret_cast<uint64_t>(m.shared);
  if (in_shared < m.shared_bytes) {
    const ck_sim_object& o = m.shared_objects[recent.object[site]];
    const uint64_t start = in_shared - o.offset;
    if (start >= o.bytes || bytes > o.bytes - start) {
      return false;
    }
    t.dirty = true;
    return pass_cells<kWrite>(block.cells + in_shared / 4, bytes / 4, tag, block.serial, block,
                              false);
  }
  return false;
}

inline void check_access(Access& a, uint32_t alignment) {
  const uint8_t* unwritten;
  bool initialized;
  ThreadOrder& t = a.w->checked.order[a.self];
  const uint64_t address = a.address;
  t.dirty = t.dirty || !a.atomic;
  Cell* cells = locate(a, &unwritten, &initialized);
  if ((address & (alignment - 1)) != 0) {
    report(a, "misaligned");
    if (alignment > 8) {
      stop_access(a.w);  // the processor may refuse it, too
    }
  }
  if (cells == nullptr) {
    return;
  }
  if (a.atomic) {
    acquire(a.w, a.self, channel_key(a.w, reinterpret_cast<const void*>(address)));
  }
  a.tag = make_tag(a.w->checked.serial, a.self, t.time, a.site) | (a.atomic ? kAtomicTag : 0);
  const bool fresh = check_cells(a, cells);
  if (!fresh || (a.write && !a.reads)) {
    return;
  }
  bool bad = !initialized || unwritten != nullptr;
  for (uint32_t i = 0; unwritten != nullptr && i < a.bytes; ++i) {
    bad = bad && unwritten[i] != 0;
  }
  if (bad && checker.pieces == 0) {
    report(a, "uninitialized");
  } else if (bad && checker.fresh++ == 0) {
    checker.first_fresh = a;
  }
}

inline void note_event(Worker* w, uint32_t self, uint64_t address, uint32_t bytes, uint32_t kind,
                       const void* code) {
  const MemoryMap& m = memory_map;
  const uint64_t in_shared = address - reinterpret_cast<uint64_t>(m.shared);
  const uint64_t in_dynamic = address - reinterpret_cast<uint64_t>(m.dynamic);
  if (in_shared < m.shared_bytes) {
    address = in_shared;
    kind |= kSharedKind;
  } else if (in_dynamic < m.dynamic_bytes) {
    address = in_dynamic;
    kind |= kSharedKind;
  } else if (address - reinterpret_cast<uint64_t>(m.arena.memory) >= m.arena_bytes &&
             address - reinterpret_cast<uint64_t>(m.data) >= m.data_bytes) {
    return;  // constants and parameters
  }
  w->checked.events[self].push({address, static_cast<uint16_t>(sites.number(code)),
                                static_cast<uint8_t>(bytes), static_cast<uint8_t>(kind)});
}

/// What an access is, beside its address.
enum Kind : uint32_t { kLoad, kStore, kAtomicUpdate, kAtomicReplace };

constexpr uint64_t kLongTurn = uint64_t{1} << 20;

/// In a loop that may be waiting for another thread, without saying so by volatile or an atomic.
__attribute__((noinline)) inline void let_others_run(Worker* w, const void* code) {
  Thread* thread = w->running;
  thread->site = {"a loop that reads memory", 0};
  thread->code = code;
  thread->state = State::kReady;
  suspend(w, thread);
}

/// Before each access to memory that may not be the thread's own.
inline void on_access(const void* where, uint32_t bytes, uint32_t alignment, Kind kind, bool atomic,
                      const void* code) {
  Worker* w = worker;
  const uint64_t address = reinterpret_cast<uint64_t>(where);
  if (address - reinterpret_cast<uint64_t>(checker.stack) < kStackBytes || w == nullptr ||
      !w->guard.armed || address - reinterpret_cast<uint64_t>(w) < sizeof *w) {
    return;  // local variables; what collectives return
  }
  const uint32_t self = running_thread(w);
  checker.writes += kind == kStore;
  if (++checker.steps - checker.turn > kLongTurn) {
    let_others_run(w, code);
  }
  if (checker.counts) {
    note_event(w, self, address, bytes, kind < kAtomicUpdate ? kind : kAtomicUpdate, code);
  }
  if (checker.checks) {
    const uint32_t site = sites.number(code);
    if (!atomic && bytes % 4 == 0 && (address & (alignment - 1)) == 0 && address % 4 == 0 &&
        (kind == kLoad ? pass_access<false>(w, self, address, bytes, site)
                       : pass_access<true>(w, self, address, bytes, site))) {
      return;
    }
    Access a = {};
    a.w = w;
    a.site = site;
    a.self = self;
    a.address = address;
    a.bytes = bytes;
    a.write = kind != kLoad;
    a.reads = kind == kAtomicUpdate;
    a.atomic = atomic;
    check_access(a, alignment);
  }
}

}  // namespace ck_sim
