// Checks each access of a checked launch: is it inside, aligned, initialized, ordered?
#pragma once

#include "collectives.hpp"
#include "reach.hpp"
#include "traffic.hpp"

namespace ck_sim {

struct Checker {
  bool checks, counts;   // which of the reports is asked for
  uint64_t writes;       // of the launch
  uint64_t next_serial;  // of blocks, over all launches
  Vector<Worker*> residents;
  alignas(16) char nowhere[64];  // where accesses go that must not happen; none has more bytes
};

inline Checker checker = {false, false, 0, 1, {}, {}};

inline uint32_t number_of(const Worker* w, const Thread* thread) {
  return static_cast<uint32_t>(thread - w->threads);
}

inline Access access_of(Worker* w, const Thread* thread, const void* address, uint32_t bytes,
                        uint32_t kind, const Site* site) {
  const uint32_t self = number_of(w, thread);
  const Tag tag(w->checked.serial, self, w->checked.order[self].time, sites.number(site));
  char* const at = static_cast<char*>(const_cast<void*>(address));
  return {w, self, site, kind, at, bytes, tag, order.first_serial};
}

/// What is known of the memory that an access touches.
struct Location {
  Cell* cells;               // from the address's own on; null for the thread's own memory
  const uint8_t* unwritten;  // a byte for each byte: whether nothing wrote it before the launch
  unsigned char* written;    // of local memory: a bit for each byte
  uint64_t bit;              // ... and the number of the first
  bool initialized;
};

inline bool is_inside(const Access& a, uint64_t bytes) {
  const uint64_t start = static_cast<uint64_t>(a.offset);
  return start < bytes && a.bytes <= bytes - start;
}

/// Whether all of a buffer was written before the launch.
inline bool is_written(const ck_sim_buffer& b) {
  return b.unwritten == nullptr && b.all_unwritten == 0;
}

inline bool locate_buffer(Access& a, Location* location) {
  const MemoryMap& m = memory_map;
  const uint64_t address = a.at();
  a.object = recent.buffer[a.site->number] = m.buffer_at(address);
  const ck_sim_buffer& b = m.buffers[a.object];
  a.space = ck_sim_global;
  a.offset = static_cast<int64_t>(address - b.address);
  bool inside = is_inside(a, b.bytes) && ((a.kind & kWrites) == 0 || b.read_only == 0);
  for (uint32_t i = 0; inside && b.valid != nullptr && i < a.bytes; ++i) {
    inside = b.valid[a.offset + i] != 0;
  }
  location->unwritten = b.unwritten == nullptr ? nullptr : b.unwritten + a.offset;
  location->initialized = b.all_unwritten == 0;
  location->cells = m.arena_cells.cells() + (a.address - m.arena.memory) / 4;
  if (inside && m.sampled) {
    memory_map.fetch(b, address, a.bytes);
  }
  return inside;
}

/// Whether an access may be to shared memory. One to global memory is not, whatever its address.
inline bool may_be_shared(uint32_t kind) {
  return static_cast<Space>(kind >> kSpaceShift & 7) != Space::kGlobal;
}

inline bool locate_shared(Access& a, Worker* owner, uint64_t offset, Location* location) {
  const MemoryMap& m = memory_map;
  const Group& g = owner->group;
  a.first = owner->checked.first;
  a.owner = owner->checked.serial;
  a.window_offset = offset;
  location->initialized = false;
  location->cells = owner->checked.cells + offset / 4;
  uint64_t start = g.dynamic_offset, bytes = g.dynamic_bytes;
  a.space = ck_sim_dynamic;
  a.object = g.rank;
  if (m.shared_object_count != 0 && (offset < start || bytes == 0)) {
    a.space = ck_sim_shared;
    a.object = recent.object[a.site->number] = m.shared_object_at(offset);
    start = m.shared_objects[a.object].offset;
    bytes = m.shared_objects[a.object].bytes;
  }
  a.offset = static_cast<int64_t>(offset - start);
  const bool inside = is_inside(a, bytes);
  if (owner != a.w) {  // Python finds out what lies there
    a.space = ck_sim_remote;
    a.object = g.rank;
    a.offset = static_cast<int64_t>(offset);
    a.remote = owner;
  }
  return inside;
}

/// Whether an address lies in the window of another block. Locates it if so: it is not inside
/// unless the block is of the cluster, and runs.
inline bool is_in_window(Access& a, Worker* other, Location* location, bool* inside) {
  const uint64_t offset = window_offset(other->window, a.address);
  if (offset >= other->window.bytes) return false;
  *inside = locate_shared(a, other, offset, location) && other->checked.first == a.w->checked.first;
  const Group& group = a.w->group;
  uint32_t rank = group.ranks == 1 ? 1 : 0;  // of that block, if it is or was of the cluster
  for (; rank < group.ranks && group.windows[rank] != other->window.start; ++rank) {
  }
  if (rank < group.ranks && checker.checks &&
      (!is_running(other) || other->checked.first != a.w->checked.first)) {
    a.object = rank;
    a.ended = true;
    *inside = false;
  }
  return true;
}

inline bool locate_local(Access& a, Location* location) {
  a.space = ck_sim_foreign;
  for (ck_sim_local* local = a.w->threads[a.self].locals; local != nullptr; local = local->outer) {
    a.space = ck_sim_local_;
    a.name = local->name;
    a.offset = a.address - local->start;
    if (a.offset >= 0 && static_cast<uint64_t>(a.offset) < local->bytes) {
      location->written = local->written;
      location->bit = static_cast<uint64_t>(a.offset);
      return a.bytes <= local->bytes - location->bit;
    }
  }
  return false;
}

inline bool locate_object(Access& a, const Vector<Object>& objects, const Mapping& cells,
                          ck_sim_space space, Location* location) {
  const Object* o = find_nearest(objects, a.at());
  if (o == nullptr) return false;
  const int64_t offset = static_cast<int64_t>(a.at() - o->start);
  if (offset < -64 || offset >= static_cast<int64_t>(o->bytes) + 64) return false;
  a.space = space;
  a.object = o->number;
  a.offset = offset;
  a.constant = o->constant;
  location->cells = cells.cells() + o->cells + offset / 4;
  location->initialized = o->written;
  return is_inside(a, o->bytes) && !(o->constant && (a.kind & kWrites) != 0);
}

/// Locates an address in memory that the thread may not access.
inline void locate_stray(Access& a, Location* location) {
  bool inside = false;
  const bool is_on_stack = is_among_stacks(a.address);
  for (Worker* w : checker.residents) {
    if (may_be_shared(a.kind) && is_in_window(a, w, location, &inside)) return;
    for (uint32_t i = 0; is_on_stack && i < w->launch->threads; ++i) {
      Fiber* fiber = w->threads[i].fiber;
      a.space = fiber != nullptr && fiber->has(a.address) ? uint32_t{ck_sim_foreign} : a.space;
    }
  }
}

/// Locates an address outside of arrays, the block's shared memory and the thread's stack.
inline bool locate_elsewhere(Access& a, Location* location) {
  const MemoryMap& m = memory_map;
  const uint64_t address = a.at();
  bool inside = false;
  for (uint32_t i = 0; a.w->group.ranks > 1 && i < a.w->group.ranks && may_be_shared(a.kind); ++i) {
    if (is_in_window(a, a.w->cluster->workers[i], location, &inside)) return inside;
  }
  a.offset = static_cast<int64_t>(address);
  a.space = ck_sim_nowhere;
  if (locate_object(a, m.variables, m.variable_cells, ck_sim_variable_, location)) return true;
  if (a.space == ck_sim_nowhere &&
      locate_object(a, m.blocks, m.heap_cells, ck_sim_heap, location)) {
    return true;
  }
  if (a.space != ck_sim_nowhere) return false;
  const uint64_t in_parameters = address - reinterpret_cast<uint64_t>(m.parameters);
  if (in_parameters < m.parameter_bytes) {
    a.space = ck_sim_parameters;
    a.offset = static_cast<int64_t>(in_parameters);
    return is_inside(a, m.parameter_bytes) && (a.kind & kWrites) == 0;
  }
  const uint64_t in_workspace = address - reinterpret_cast<uint64_t>(m.workspace);
  if (m.workspace != nullptr && in_workspace < 8) {
    location->cells = memory_map.workspace_cells + in_workspace / 4;
    return a.bytes <= 8 - in_workspace;
  }
  locate_stray(a, location);
  return false;
}

inline bool locate(Access& a, Location* location) {
  const MemoryMap& m = memory_map;
  *location = {nullptr, nullptr, nullptr, 0, true};
  if (static_cast<uint64_t>(a.address - m.arena.memory) < m.arena_bytes && m.buffer_count != 0) {
    return locate_buffer(a, location);
  }
  const uint64_t in_window = window_offset(a.w->window, a.address);
  if (in_window < a.w->window.bytes && may_be_shared(a.kind)) {
    return locate_shared(a, a.w, in_window, location);
  }
  if (a.w->threads[a.self].fiber->has(a.address)) return locate_local(a, location);
  return locate_elsewhere(a, location);
}

/// The key of the channel of an address. It differs between blocks, which have their shared memory
/// at the same addresses one after the other.
inline uint64_t channel_key(const Access& a) { return a.at() + (a.owner << 48) + 1; }

/// Ends a launch that is counted but not checked: its further traffic would mean nothing.
__attribute__((noinline)) inline void stop_counting(const Access& a, const char* kind) {
  if (checker.checks) return;
  const char* text = "an access must be inside of its array and aligned; see checked";
  if (a.space == ck_sim_nowhere) {
    text =
        "an access must be inside of an array; one that only an address in a structure or in "
        "another array leads to must be given: traffic(arrays=...)";
  }
  ck_sim_stop(kind, text, a.site);
}

/// Whether what an access reads may be padding: a neighbour that is copied with it was written. Of
/// what earlier launches wrote, only the word before counts, since padding follows a member.
inline bool is_padding(const Access& a, const Location& location) {
  const Cell* cell = location.cells;
  const bool before =
      a.offset >= 4 && (!cell[-1].write.is_older(a.first) ||
                        (location.unwritten != nullptr && location.unwritten[-4] == 0));
  return before || !cell[(a.bytes + 3) / 4].write.is_older(a.first);
}

inline uint32_t all_bytes(const Access& a) { return ~0u >> (32 - a.bytes); }

/// Adds bytes that nothing has written to those of a read that are undefined.
inline void add_unwritten(Access& a, const Location& location, uint32_t fresh) {
  for (uint32_t i = 0; location.unwritten != nullptr && i < a.bytes; ++i) {
    fresh &= ~(location.unwritten[i] == 0 ? 1u << i : 0u);
  }
  if (fresh == 0 || (location.initialized && location.unwritten == nullptr)) return;
  const bool is_piece =
      (a.kind & kPiece) != 0 && location.cells != nullptr && is_padding(a, location);
  const uint32_t access = a.kind & (kWrites | kAtomic);
  const Origin origin = {a.site->number, false,  a.space,  a.object,
                         a.bytes,        access, a.offset, a.name};
  a.undefined |= undefined_values.begin(origin, thread_of(a.w, a.self));
  a.undefined |= is_piece ? 0 : kNoPiece | (fresh == all_bytes(a) ? kNoPadding : 0);
  a.undefined_bytes |= fresh;
}

inline void use_undefined(const Access& a, ck_sim_use use) {
  report_undefined(a.w, a.self, a.undefined, use, a.site);
}

/// Gives undefined values of a read to its thread, which follows them. An atomic uses them at once.
inline void give_undefined(const Access& a) {
  const View& view = a.w->threads[a.self].view;
  if (a.begins) return;
  if ((a.site->access & kAtomic) != 0) {
    use_undefined(a, ck_sim_use_atomic);
  } else {
    const bool all = (a.kind & kPiece) == 0 && a.undefined_bytes == all_bytes(a);
    const uint64_t whole = all ? kNoPadding | kNoPiece : 0;  // even if it was copied as a piece
    view.undefined |= a.undefined | whole | (a.undefined_bytes & kUndefinedBytes);
    view.undefined_behind |= a.undefined_bytes >> 16;
  }
}

/// Whether undefined bytes of what is read or written are more than padding: they are computed, or
/// all of an element, or all of the access.
inline bool is_whole(const Access& a, uint32_t element) {
  if (a.undefined_bytes == 0) return false;
  const uint32_t all = ~0u >> (32 - element);
  bool whole = (a.undefined & kComputed) != 0 ||
               ((a.undefined & kNoPiece) != 0 && a.undefined_bytes == all_bytes(a));
  for (uint32_t i = 0; i < a.bytes && (a.undefined & kNoPadding) != 0; i += element) {
    whole = whole || (a.undefined_bytes >> i & all) == all;
  }
  return whole;
}

/// Reports an undefined value that other blocks and the host will see; memory holds others.
inline void use_stored(Access& a, uint32_t element) {
  const bool others_see = a.space == ck_sim_global || a.space == ck_sim_variable_;
  if (a.undefined_bytes != 0 && others_see && is_whole(a, element)) {
    use_undefined(a, ck_sim_use_store);
    a.undefined_bytes = 0;
  }
}

inline void check_local(Access& a, const Location& location) {
  uint32_t fresh = 0;
  for (uint32_t i = 0; i < a.bytes; ++i) {
    unsigned char& bits = location.written[(location.bit + i) / 8];
    const unsigned char bit = static_cast<unsigned char>(1u << (location.bit + i) % 8);
    const uint64_t address = a.at(i);
    if ((a.kind & kWrites) == 0) {
      const uint64_t held = (bits & bit) != 0 ? 0 : undefined_values.held_at(address, 1);
      fresh |= (bits & bit) == 0 && held == 0 ? 1u << i : 0u;
      add(a, held, i);
    } else if ((a.undefined_bytes >> i & 1) != 0) {
      bits &= static_cast<unsigned char>(~bit);
      undefined_values.hold(address, 1, a.undefined | 1);
    } else {
      bits |= bit;
    }
  }
  if (fresh != 0) {
    add_unwritten(a, {nullptr, nullptr, nullptr, 0, false}, fresh);
  }
}

inline void count_access(const Access& a) {
  const Action action = (a.kind & kAtomic) != 0   ? Action::kAtomic
                        : (a.kind & kWrites) != 0 ? Action::kStore
                                                  : Action::kLoad;
  uint64_t address = a.at();
  Memory memory = Memory::kGlobal;
  switch (a.space) {
    case ck_sim_shared:
    case ck_sim_dynamic:
    case ck_sim_remote:
      memory = Memory::kShared;
      address = a.window_offset;
      break;
    case ck_sim_local_:
      memory = Memory::kLocal;
      address -= reinterpret_cast<uint64_t>(a.w->threads[a.self].fiber->top());
      break;
    case ck_sim_variable_:
      memory = a.constant ? Memory::kConstant : Memory::kGlobal;
      break;
    case ck_sim_parameters:
    case ck_sim_nowhere:
      return;
    default:
      break;
  }
  if (a.bytes <= 32) {
    note_event(a.w, a.self, address, a.bytes, memory, action, a.site);
  } else {
    note_range(address, a.bytes, memory, action, a.site);
  }
}

/// Takes note of an access to shared memory of another block, which must come before its end.
inline void note_remote(const Access& a) {
  const uint32_t threads = a.w->launch->threads, rank = a.w->group.rank;
  Vector<RemoteAccess>& remote = a.remote->checked.remote;
  while (remote.size < size_t{a.w->group.ranks} * threads) {
    remote.push({});
  }
  remote[rank * threads + a.self] = {a.tag, a.site, a.kind, a.bytes, a.window_offset};
}

/// Whether an access is a strong read that can acquire. An atomic is one if its result is used.
inline bool sees_value(uint32_t kind) {
  if ((kind & kStrong) == 0) return false;
  if ((kind & kAtomic) == 0) return (kind & kReads) != 0;
  return (kind & kReturns) != 0 || (kind & (kAcquires | kMbarrier)) == kAcquires;
}

/// Checks an access that is inside against those before it. If it writes several elements,
/// `element` is the size of one; otherwise 0.
inline void check_memory(Access& a, const Location& location, uint32_t element = 0) {
  ThreadOrder& t = a.w->checked.order[a.self];
  t.dirty = true;
  if (a.remote != nullptr) {
    note_remote(a);
  }
  if (element != 0) {
    use_stored(a, element);
  }
  if (location.written != nullptr) {
    check_local(a, location);
  } else if (location.cells != nullptr) {
    if (sees_value(a.kind)) {
      observe(a.w, a.self, channel_key(a), (a.kind & kAcquires) != 0, scope_of(a.site));
    }
    a.tag = Tag(a.w->checked.serial, a.self, t.time, a.site->number);
    const uint32_t fresh = check_cells(a, location.cells);
    if (fresh != 0 && (a.kind & kReads) != 0) {
      add_unwritten(a, location, fresh);
    }
    if ((a.kind & (kStrong | kAtomic)) == kStrong) {
      const bool writes = (a.kind & kWrites) != 0;
      if (writes) {
        publish(a.w, a.self, channel_key(a), (a.kind & kReleases) != 0, scope_of(a.site), true);
      }
      order_fences(a.w, a.self, channel_key(a), writes, scope_of(a.site));
    }
  }
  if (a.undefined_bytes != 0 && (a.kind & kReads) != 0) {
    give_undefined(a);
  }
}

/// Checks an access; false if it must not happen. Whether a compare-and-swap writes is known when
/// it has happened: see end_atomic.
__attribute__((noinline)) inline bool check_access(Access& a, uint32_t alignment,
                                                   uint32_t element = 0) {
  Location location;
  if (a.site->number == 0) {
    ck_sim_stop("launch", "a checked launch must have at most 8191 instructions that access memory",
                a.site);
  }
  if (!locate(a, &location)) {
    if (is_in_unknown_memory(a) && a.at() % alignment == 0) return true;
    stop_counting(a, "out_of_bounds");
    if (a.ended) {
      report_ended(a, false);
    } else {
      report_outside(a);
      if (a.space != ck_sim_nowhere && a.at() % alignment != 0) {
        report(a, "misaligned");
      }
    }
    return false;
  }
  if (a.at() % alignment != 0) {
    stop_counting(a, "misaligned");
    report(a, "misaligned");
    return false;
  }
  if (checker.counts && !a.begins) {
    count_access(a);
  }
  if (checker.checks && !may_fail(a.site)) {
    check_memory(a, location, element);
  }
  return true;
}

/// Where an access lies, as far as that is quick to find out.
struct QuickLocation {
  Memory memory;
  uint64_t address;  // for the traffic report
  Cell* cells;       // null where reads meet nothing
  uint64_t first;    // as in Access
  bool initialized;
};

/// Locates an aligned access to the object that its instruction accessed last; false elsewhere.
template <bool kWrite>
inline bool find_quickly(Worker* w, const char* address, const Site* site,
                         QuickLocation* location) {
  const MemoryMap& m = memory_map;
  const uint32_t bytes = bytes_of(site), number = site->number;
  const uint64_t at = reinterpret_cast<uint64_t>(address);
  if ((at & (bytes - 1)) != 0 || number == 0) return false;
  const uint64_t in_arena = static_cast<uint64_t>(address - m.arena.memory);
  if (in_arena < m.arena_bytes) {
    const ck_sim_buffer& b = m.buffers[recent.buffer[number]];
    const uint64_t start = at - b.address;
    // There are no races for what nobody may write.
    const bool settled = !kWrite && b.read_only != 0 && is_written(b);
    *location = {Memory::kGlobal, at, settled ? nullptr : m.arena_cells.cells() + in_arena / 4,
                 order.first_serial, is_written(b)};
    const bool inside = start < b.bytes && bytes <= b.bytes - start && b.valid == nullptr &&
                        !(kWrite && b.read_only != 0);
    if (inside && m.sampled) {
      memory_map.fetch(b, at, bytes);
    }
    return inside;
  }
  const uint64_t in_window = static_cast<uint64_t>(address - w->group.window);
  if (in_window >= w->group.window_bytes || !may_be_shared(site->access)) return false;
  const CheckedBlock& block = w->checked;
  *location = {Memory::kShared, in_window, block.cells + in_window / 4, block.first, false};
  const uint64_t in_dynamic = in_window - w->group.dynamic_offset;
  if (in_dynamic < w->group.dynamic_bytes) return bytes <= w->group.dynamic_bytes - in_dynamic;
  if (m.shared_object_count == 0) return false;
  const ck_sim_shared_object& o = m.shared_objects[recent.object[number]];
  const uint64_t start = in_window - o.offset;
  return start < o.bytes && bytes <= o.bytes - start;
}

/// Checks and counts a weak access of whole words by quick rules; false if these do not settle it.
template <bool kWrite>
__attribute__((always_inline)) inline bool pass_access(Worker* w, const char* address,
                                                       const Site* site) {
  const uint32_t bytes = bytes_of(site), number = site->number;
  const uint64_t at = reinterpret_cast<uint64_t>(address);
  QuickLocation location;
  if ((site->access & kStrong) != 0 || !find_quickly<kWrite>(w, address, site, &location)) {
    return false;
  }
  const uint32_t self = number_of(w, w->running);
  if (checker.checks) {
    CheckedBlock& block = w->checked;
    ThreadOrder& t = block.order[self];
    t.dirty = true;
    const bool coherent = (site->access & kNonCoherent) == 0;
    if (location.cells != nullptr &&
        (((at | bytes) & 3) != 0 ||
         !pass_cells<kWrite>(location.cells, bytes / 4, Tag(block.serial, self, t.time, number),
                             coherent, location.first, block, location.initialized))) {
      return false;
    }
  }
  if (checker.counts) {
    note_event(w, self, location.address, bytes, location.memory,
               kWrite ? Action::kStore : Action::kLoad, site);
  }
  return true;
}

/// The same for an atomic, which passes if it orders nothing and no strong access left anything.
inline bool pass_atomic(Worker* w, const char* address, const Site* site) {
  const uint32_t bytes = bytes_of(site), number = site->number;
  const uint32_t self = number_of(w, w->running);
  QuickLocation location;
  if (!checker.checks || checker.counts || (bytes & 3) != 0 ||
      (site->access & (kAcquires | kReleases | kMbarrier)) != 0 || order.channels.size != 0 ||
      may_fail(site) || !is_mere(w, self) || !find_quickly<true>(w, address, site, &location)) {
    return false;
  }
  CheckedBlock& block = w->checked;
  ThreadOrder& t = block.order[self];
  t.dirty = true;
  return pass_atomic(location.cells, bytes / 4, Tag(block.serial, self, t.time, number),
                     location.first, block, location.initialized, scope_of(site));
}

inline char* nowhere() {
  memset(checker.nowhere, 0, sizeof checker.nowhere);
  return checker.nowhere;
}

/// Checks an access by one instruction.
template <bool kWrite>
__attribute__((always_inline)) inline char* on_access(const char* address, const void* value,
                                                      const Site* site) {
  Worker* w = worker;
  checker.writes += kWrite;
  if (checker.counts && is_full(w, number_of(w, w->running))) {
    let_others_run(w, site, true);  // see begin_turn
  }
  if (pass_access<kWrite>(w, address, site)) return const_cast<char*>(address);
  Access a = access_of(w, w->running, address, bytes_of(site), site->access, site);
  a.value = static_cast<const char*>(value);
  return check_access(a, a.bytes) ? a.address : nowhere();
}

/// Checks the words, or bytes, that a GPU would move one by one.
CK_SIM_EXPORT char* ck_sim_access_range(const char* address, uint64_t bytes, uint32_t kind,
                                        const Site* site) {
  Worker* w = worker;
  const uint32_t step = (reinterpret_cast<uint64_t>(address) | bytes) % 4 == 0 ? 4 : 1;
  bool passes = true;
  for (uint64_t i = 0; i < bytes && passes; i += step) {
    Access a = access_of(w, w->running, address + i, step, kind, site);
    passes = check_access(a, 1);
    if (is_whole(a, step)) {
      use_undefined(a, ck_sim_use_other);
    }
  }
  w->running->view.undefined = 0;
  checker.writes += (kind & kWrites) != 0;
  return passes ? const_cast<char*>(address) : nullptr;
}

CK_SIM_EXPORT char* ck_sim_read(const char* address, const Site* site) {
  return on_access<false>(address, nullptr, site);
}
CK_SIM_EXPORT char* ck_sim_write(char* address, const void* value, const Site* site) {
  return on_access<true>(address, value, site);
}
CK_SIM_EXPORT char* ck_sim_write_undefined(char* address, const void* value,
                                           const uint64_t* undefined, uint32_t element,
                                           const Site* site) {
  Worker* w = worker;
  checker.writes += 1;
  Access a = access_of(w, w->running, address, bytes_of(site), site->access, site);
  a.value = static_cast<const char*>(value);
  for (uint32_t i = 0; i < a.bytes / element; ++i) {
    const uint64_t bytes = undefined[i] & kUndefinedBytes & (~0u >> (32 - element));
    add(a, bytes == 0 ? 0 : (undefined[i] & ~kUndefinedBytes) | bytes, i * element);
  }
  return check_access(a, a.bytes, element) ? a.address : nowhere();
}
CK_SIM_EXPORT void ck_sim_put(char* address, uint64_t value, const Site* site, uint64_t undefined) {
  const uint32_t bytes = bytes_of(site);
  char* const to = (undefined & kUndefinedBytes) == 0
                       ? on_access<true>(address, &value, site)
                       : ck_sim_write_undefined(address, &value, &undefined, bytes, site);
  switch (bytes) {
    case 8:
      memcpy(to, &value, 8);
      break;
    case 4:
      memcpy(to, &value, 4);
      break;
    case 2:
      memcpy(to, &value, 2);
      break;
    default:
      memcpy(to, &value, 1);
  }
}
CK_SIM_EXPORT void ck_sim_used(uint64_t undefined, ck_sim_use use, const Site* site) {
  Worker* w = worker;
  if (checker.checks) {
    report_undefined(w, number_of(w, w->running), undefined, use, site);
  }
}
CK_SIM_EXPORT uint64_t ck_sim_inactive(const View* reader, unsigned source, unsigned present,
                                       const Site* site) {
  Worker* w = worker;
  if (!checker.checks || sites.number(site) == 0) return 0;
  const uint32_t self = number_of(w, w->running) / kLanes * kLanes + reader->lane;
  const uint32_t reason = (reader->warp >> source & 1) == 0                ? ck_sim_absent
                          : (w->warps[self / kLanes].exited >> source & 1) ? ck_sim_exited
                                                                           : ck_sim_unnamed;
  const Origin origin = {site->number, true, reason, source, 0, present, 0, nullptr};
  return undefined_values.begin(origin, thread_of(w, self)) | kNoPadding | kNoPiece | 0xF;
}
CK_SIM_EXPORT char* ck_sim_atomic(char* address, const Site* site) {
  Worker* w = worker;
  if (pass_atomic(w, address, site)) return address;
  Access a = access_of(w, w->running, address, bytes_of(site), site->access, site);
  return check_access(a, a.bytes) ? address : nowhere();
}
CK_SIM_EXPORT void ck_sim_fence(const Site* site) {
  Worker* w = worker;
  if (!checker.checks) return;
  const uint32_t self = number_of(w, w->running);
  if ((site->access & kProxy) == 0) {
    fence(w, self, site->access, scope_of(site));
  } else {
    const Space space = space_of(site);
    fence_proxies(w, self, space == Space::kGeneric ? 3 : space == Space::kGlobal ? 1 : 2);
  }
}
CK_SIM_EXPORT void ck_sim_enter_local(ck_sim_local* variable) {
  Thread* self = worker->running;
  variable->outer = self->locals;
  self->locals = variable;
  undefined_values.release(variable->start, variable->bytes);
  memset(variable->start, 0xFF, variable->bytes);  // a seed alone decides what is there
}
CK_SIM_EXPORT void ck_sim_leave_local(ck_sim_local* variable) {
  worker->running->locals = variable->outer;
}

}  // namespace ck_sim
