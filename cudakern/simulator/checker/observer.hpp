// The checker's part of hooks.hpp: which threads start, which meet, what happens later.
#pragma once

#include "barriers.hpp"
#include "checker.hpp"

namespace ck_sim {

constexpr const char* kGone =
    "the memory of each array must be mapped; part of one is not, as when a mapped file is cut";
constexpr uint64_t kMostKept = uint64_t{1} << 28;  // bytes that the next launch may use again

/// Forgets all accesses of earlier launches, so that serials start again.
inline void renew_serials() {
  MemoryMap& m = memory_map;
  m.arena_cells.release();
  m.variable_cells.release();
  m.heap_cells.release();
  for (Worker* w = free_workers; w != nullptr; w = w->next) {
    memset(static_cast<void*>(w->checked.cells), 0, w->checked.cell_count * sizeof(Cell));
  }
  checker.next_serial = 1;
}

/// Begins a launch; false, and a failure, without memory.
inline bool begin_launch(Launch* launch, const ck_sim_options* o) {
  MemoryMap& m = memory_map;
  checker.checks = o->checks != 0;
  checker.counts = o->counts != 0;
  executions = o->executions;
  checker.writes = 0;
  checker.residents.clear();
  clear_all(sites, split_cells, started, findings, finding_keys, finding_threads, volatile_looks,
            unknown_pages);
  uses_unknown_memory = o->unknown_memory != 0;
  forgotten = {};
  clear_traffic();
  if (checker.next_serial + launch->blocks > kMaxSerial) {
    renew_serials();
  }
  order.first_serial = checker.next_serial;
  order.ranks = launch->ranks;
  checker.next_serial += launch->blocks;
  m.buffers = o->buffers;
  m.buffer_count = o->buffer_count;
  m.shared_objects = launch->kernel->shared_objects;
  m.shared_object_count = launch->kernel->shared_object_count;
  m.dynamic_offset = launch->kernel->static_shared;
  m.workspace = launch->cooperative ? reinterpret_cast<const char*>(launch->workspace) : nullptr;
  memset(m.workspace_cells, 0, sizeof m.workspace_cells);
  memset(&recent, 0, sizeof recent);
  for (Object& block : m.blocks) {
    block.written = true;  // by an earlier launch, perhaps
  }
  m.sampled = launch->blocks < count_blocks(launch->grid);
  const bool has_room = m.lay_out(checker.checks) &&
                        m.take_variables(o->variables, o->variable_count) &&
                        (m.blocks.size == 0 || m.heap_cells.reserve(cell_bytes(kHeapBytes)));
  if (!has_room) {
    return refuse(launch, "checking needs more memory than there is", "out_of_memory");
  }
  if (!survives([&] { m.copy_in(); })) return refuse(launch, kGone);
  m.for_other_memory([&m](char* memory, uint64_t bytes) { m.enter_addresses(memory, bytes); });
  return true;
}

/// Ends a launch, and leaves its results in the options.
inline void end_launch(Launch* launch, ck_sim_options* o) {
  MemoryMap& m = memory_map;
  if (!survives([&] { m.copy_out(); })) {
    refuse(launch, kGone);
  }
  m.for_other_memory([&m](char* memory, uint64_t bytes) { m.leave_addresses(memory, bytes); });
  order.clear();
  undefined_values.clear();
  if (m.arena_bytes > kMostKept) {
    m.arena.release();
    m.arena_cells.release();
  }
  o->findings = findings.data;
  o->finding_count = findings.size;
  o->traffic = traffic.sums.data;
  o->traffic_count = traffic.sums.size;
  o->forgotten = forgotten.count;
  o->forgotten_at = forgotten.site;
}

void start_checked_block(Worker* w) {
  CheckedBlock& c = w->checked;
  c.serial = order.first_serial + started.size;
  c.first = c.serial - w->group.rank;
  c.base = 0;
  memset(c.fenced, 0, sizeof c.fenced);
  started.push(w->group.block);
  begin_executions(w);
  const size_t cells = cell_bytes(w->group.dynamic_offset + w->group.dynamic_bytes) / sizeof(Cell);
  if (c.cell_count < cells) {
    free(c.cells);
    c.cells = static_cast<Cell*>(calloc(cells, sizeof(Cell)));
    c.cell_count = c.cells == nullptr ? 0 : cells;
  }
  c.split_cells.clear();
  c.remote.clear();
  for (uint32_t i = 0; i < w->launch->threads; ++i) {
    c.order[i] = {};
    c.order[i].time = 1;
    c.events[i].clear();  // those of a launch that failed
    w->threads[i].locals = nullptr;
    w->threads[i].view.calls = 0;
    w->threads[i].view.joins_passed = w->threads[i].view.joins_behind = 0;
    if (i % kLanes == 0) {
      c.barriers[i / kLanes] = {};
    }
    w->threads[i].view.undefined = w->threads[i].view.undefined_behind = 0;
  }
}

/// Checks that what other blocks of the cluster did to the shared memory of a block came before the
/// block's end: one of its threads must know of it.
inline void end_shared_memory(Worker* w) {
  Vector<RemoteAccess>& remote = w->checked.remote;
  const uint32_t threads = w->launch->threads;
  size_t left = 0;
  for (const RemoteAccess& one : remote) {
    left += one.site != nullptr;
  }
  if (left == 0) return;
  Union known;
  for (uint32_t i = 0; i < threads; ++i) {
    known.add(w->checked.order[i].knowledge);
  }
  uint32_t bases[kMaxRanks] = {};
  const auto settle = [&remote, &left](size_t from, size_t count, const Release& r) {
    for (size_t i = from; i < from + count; ++i) {
      RemoteAccess& one = remote[i];
      if (one.site == nullptr || one.only_strict || !r.covers(one.tag)) continue;
      one.only_strict = order.lenient;
      one.site = order.lenient ? one.site : nullptr;
      --left;
    }
  };
  const auto settles_all = [w, threads, &bases, &left, settle](const Release& r) {
    const uint64_t rank = r.serial - w->checked.first;
    if (rank < w->group.ranks) {
      const uint32_t lane = r.thread % kLanes, first = r.thread - lane;
      if (r.base > bases[rank]) {
        bases[rank] = r.base;
        settle(rank * threads, threads, r);
      }
      settle(rank * threads + first, threads - first < kLanes ? threads - first : kLanes, r);
    }
    return left == 0;
  };
  if (known.all != nullptr && order.includes(known.all, settles_all)) return;
  // What is left is wrong: in a strict launch, some of it perhaps only there.
  if (w->launch->strict && known.all != nullptr) {
    memset(bases, 0, sizeof bases);
    order.lenient = true;
    order.includes(known.all, settles_all);
    order.lenient = false;
  }
  for (uint32_t i = 0; i < remote.size; ++i) {
    const RemoteAccess& one = remote[i];
    if (one.site == nullptr) continue;
    Access a = {w, i % threads, one.site, one.kind, nullptr, one.bytes, one.tag};
    a.space = ck_sim_remote;
    a.object = w->group.rank;
    a.offset = static_cast<int64_t>(one.offset);
    report_ended(a, one.only_strict);
  }
}

void end_checked_block(Worker* w) {
  if (checker.checks) {
    end_shared_memory(w);
  }
  if (checker.counts) {
    flush_block(w);
    end_executions(w);
  }
}

void begin_turn(Worker* w, Thread* thread) {
  const uint32_t self = number_of(w, thread);
  if (checker.counts && is_full(w, self)) {
    flush_warp(w, self / kLanes * kLanes);
  }
}

/// Each instruction of PTX counts as a barrier of its own, whatever its line: where compilers copy
/// a barrier, all lanes of a warp come to the same copy.
void come_together(Worker* w, const Site* site) {
  if ((site->access & kAligned) == 0) return;
  const uint32_t self = number_of(w, w->running);
  WarpBarriers& warp = w->checked.barriers[self / kLanes];
  const uint32_t number = warp.count[self % kLanes]++;
  const uint64_t calls = w->running->view.calls;
  auto& known = warp.latest[number % kMostAhead];
  if (number == warp.most) {
    ++warp.most;
    known = {site, calls};
  } else if (warp.most - number <= kMostAhead && known.site != site) {
    stop_at(*known.site, kTogether, site);
  } else if (warp.most - number <= kMostAhead && known.calls != calls) {
    stop_at(*site, "all lanes of a warp must reach a barrier by the same calls of its function",
            site);
  }
}

bool passed_by(Worker* w, const View& waiting, const Site* site) {
  for (uint32_t i = 0; i < w->launch->threads; ++i) {
    const uint32_t warp = i / kLanes, lane = i % kLanes;
    if ((w->warps[warp].exited >> lane & 1) != 0 && w->checked.barriers[warp].count[lane] != 0 &&
        (w->threads[i].view.joins_passed & waiting.joins_behind) != 0) {
      return true;
    }
  }
  const uint32_t number = checker.checks && !w->launch->strict ? sites.number(site) : 0;
  ck_sim_finding* finding =
      number == 0 ? nullptr : add_finding("barrier_divergence", number, 0, 0, waiting, Access{});
  if (finding != nullptr) {
    finding->site = site;
    finding->only_strict = 1;
  }
  return false;
}

void order_block(Worker* w) {
  if (checker.checks) {
    meet_block(w);
  }
  if (checker.counts) {
    flush_block(w);
  }
}

void order_lanes(Worker* w, uint32_t first, unsigned mask, const Site* site) {
  if (checker.checks && (site->access & kReleases) != 0) {
    meet_lanes(w, first, mask);
  } else if (checker.checks && strncmp(site->opcode, "match.", 6) == 0) {
    match_lanes(w, first, mask);
  }
  if (checker.counts && mask == w->threads[first].view.warp) {
    flush_warp(w, first);
  }
  uint64_t undefined = 0;
  for (const unsigned i : SetBits{mask}) {
    undefined |= w->threads[first + i].view.undefined;
  }
  for (const unsigned i : SetBits{undefined == 0 ? 0 : mask}) {
    w->threads[first + i].view.undefined = undefined | kWholeRegister;
  }
}

inline uint64_t key_of(const void* key) {
  return reinterpret_cast<uint64_t>(key) ^ uint64_t { 1 } << 63;
}

void order_release(Worker* w, Thread* self, const void* key, Scope scope, bool exits) {
  const Release* what = release(w, number_of(w, self), scope);
  leave(channel_of(key_of(key)), what, scope, false, exits && w->launch->strict);
}
void order_acquire(Worker* w, Thread* self, const void* key, Scope scope) {
  observe(w, number_of(w, self), key_of(key), true, scope);
}
void order_forget(const void* key) { forget_channel(key_of(key)); }

/// Checks and orders an atomic after it has happened. One that failed wrote nothing.
void end_atomic(Worker* w, const void* address, ck_sim_update update, const Site* site) {
  checker.writes += update == ck_sim_changed;
  const bool releases = (site->access & kReleases) != 0;
  if (!checker.checks || address == checker.nowhere ||
      (!releases && !may_fail(site) && is_mere(w, number_of(w, w->running)))) {
    return;
  }
  const bool writes = update != ck_sim_failed;
  Access a = access_of(w, w->running, address, bytes_of(site), site->access, site);
  Location location;
  if (!locate(a, &location)) return;
  if (may_fail(site)) {
    a.kind &= writes ? ~0u : ~kWrites;
    check_memory(a, location);
  }
  if (writes) {
    publish(w, a.self, channel_key(a), releases, scope_of(site), false);
  }
  order_fences(w, a.self, channel_key(a), writes, scope_of(site));
}

/// The scope of an operation on an mbarrier. Libraries rely on operations without a scope to order
/// across the cluster. In strict launches only lenient entries do that.
inline Scope scope_of_mbarrier(const Worker* w, const Site* site) {
  const Scope scope = scope_of(site);
  return w->launch->strict || scope > Scope::kCluster ? scope : Scope::kCluster;
}
inline bool is_too_narrow(const Worker* w, const Site* site) {
  return w->launch->strict && scope_of(site) < Scope::kCluster;
}

char* check_mbarrier(Worker* w, char* mbarrier, const Site* site) {
  Access a = access_of(w, w->running, mbarrier, 8, site->access, site);
  if (!check_access(a, 8)) return nowhere();
  if (checker.checks && (site->access & kReleases) != 0) {
    const uint64_t key = channel_key(a);
    publish(w, a.self, key, true, scope_of_mbarrier(w, site), false);
    if (is_too_narrow(w, site)) {
      const Release* what = release(w, a.self, Scope::kCluster);
      leave(channel_of(key), what, Scope::kCluster, false, true);
    }
  }
  return mbarrier;
}

void acquire_mbarrier(Worker* w, char* mbarrier, const Site* site) {
  Access a = access_of(w, w->running, mbarrier, 8, site->access, site);
  Location location;
  if (!checker.checks || !locate(a, &location)) return;
  const bool acquires = (site->access & kAcquires) != 0;
  const uint64_t key = channel_key(a);
  observe(w, a.self, key, acquires, scope_of_mbarrier(w, site));
  Channel* channel = find_channel(key);
  if (acquires && is_too_narrow(w, site) && channel != nullptr) {
    take_leniently(w->checked.order[a.self], {channel, channel->first, channel->entries.size,
                                              w->checked.serial, Scope::kCluster});
  }
}

/// All that a copy reads or writes, as one access.
inline Access access_by(Worker* w, Thread* self, const Copy& copy, uint32_t kind) {
  return kind == kReads ? access_of(w, self, copy.from, copy.size, kind, copy.site)
                        : access_of(w, self, copy.to, copy.bytes, kind, copy.site);
}

/// Calls `look(access)` for pieces of up to 16 bytes; false if one must not be accessed.
template <typename Look>
inline bool each_piece(const Access& all, Look look) {
  for (uint32_t done = 0; done < all.bytes; done += 16) {
    Access a = all;
    a.address += done;
    a.bytes = least(all.bytes - done, 16u);
    if (!look(a)) return false;
  }
  return true;
}

/// Calls `mark(access, cell)` for all cells.
template <typename Mark>
inline void each_marked(const Access& all, Mark mark) {
  each_piece(all, [mark](Access& a) {
    Location location;
    if (checker.checks && locate(a, &location) && location.cells != nullptr) {
      each_cell(a, location.cells, [mark, &a](Cell* cell, uint32_t, uint32_t) { mark(a, cell); });
    }
    return true;
  });
}

/// Counts what a copy reads or writes as one access.
inline void count_range(Access a) {
  Location location;
  if (checker.counts && a.bytes != 0 && locate(a, &location)) {
    count_access(a);
  }
}

bool begin_copy(Worker* w, Thread* self, Copy* copy) {
  const auto passes = [copy](Access& a) {
    a.begins = true;
    const bool may = check_access(a, 1);
    copy->undefined = copy->undefined || a.undefined_bytes != 0;
    return may;
  };
  ThreadOrder& t = w->checked.order[number_of(w, self)];
  copy->mark = t.time;
  if (copy->kind == Copy::kArrival) {
    advance(t);
    return true;
  }
  const Access reads = access_by(w, self, *copy, kReads);
  const Access writes = access_by(w, self, *copy, kWrites);
  if (!each_piece(reads, passes) || !each_piece(writes, passes)) return false;
  count_range(reads);
  count_range(writes);
  // Until the copy has happened, nobody may access what it writes, or write what it reads.
  each_marked(reads, [](const Access& a, Cell* cell) {
    if (cell->first_read.is_in_flight()) {
      cell->latest_read = LatestReadTag(a.tag.in_flight());
    } else {
      cell->first_read = FirstReadTag(a.tag.in_flight());
    }
  });
  each_marked(writes,
              [](const Access& a, Cell* cell) { cell->write = WriteTag(a.tag.in_flight()); });
  t.time += t.time < kMaxTime;  // what the thread does from now on is later
  return true;
}

/// Adds to an access of a copy what is undefined of the few bytes that it reads.
inline void find_undefined(Access& a) {
  Location location;
  if (!locate(a, &location) || location.cells == nullptr) return;
  uint32_t fresh = 0;
  each_cell(a, location.cells, [&a, &fresh](Cell* cell, uint32_t byte, uint32_t bytes) {
    if (cell->write.is_older(a.first)) {
      fresh |= ((1u << bytes) - 1) << byte;
    } else if (left_undefined(cell->write)) {
      add(a, undefined_values.held_at(a.at(byte), bytes), byte);
    }
  });
  add_unwritten(a, location, fresh);
}

/// Has the target of a copy hold the undefined values of its source.
inline void copy_undefined(Worker* w, Thread* self, const Copy& copy) {
  for (uint32_t i = 0; i < copy.size; i += 4) {
    const uint32_t size = least(copy.size - i, 4u);
    Access from = access_of(w, self, copy.from + i, size, kReads, copy.site);
    find_undefined(from);
    Access to = access_of(w, self, copy.to + i, size, kWrites, copy.site);
    Location location;
    if (from.undefined_bytes == 0 || !locate(to, &location) || location.cells == nullptr) continue;
    to.undefined = from.undefined;
    to.undefined_bytes = from.undefined_bytes;
    use_stored(to, 4);
    each_cell(to, location.cells, [&to](Cell* cell, uint32_t byte, uint32_t bytes) {
      to.tag = cell->write;
      write_cell(to, cell, byte, bytes);
    });
  }
}

void end_copy(Worker* w, Thread* self, const Copy& copy, bool detached) {
  const uint32_t number = number_of(w, self);
  ThreadOrder& t = w->checked.order[number];
  checker.writes += 1;
  if (!checker.checks) return;
  const uint32_t time = detached ? static_cast<uint32_t>(copy.mark) : t.time;
  if (copy.kind != Copy::kArrival) {
    t.dirty = true;
    const auto tag = [time](const Access& a) {
      return Tag(a.tag.serial(), a.self, time, a.site->number);
    };
    each_marked(access_by(w, self, copy, kReads), [tag](const Access& a, Cell* cell) {
      const auto ends = [&a](Tag read) { return read.is_in_flight() && read.has_thread_of(a.tag); };
      if (ends(cell->first_read)) {
        cell->first_read = FirstReadTag(tag(a));
      }
      if (ends(cell->latest_read.reader())) {
        cell->latest_read = LatestReadTag(tag(a));
      }
    });
    each_marked(access_by(w, self, copy, kWrites),
                [tag](const Access& a, Cell* cell) { cell->write = WriteTag(tag(a)); });
    if (copy.undefined) {
      copy_undefined(w, self, copy);
    }
  }
  if (copy.mbarrier == nullptr) return;
  Access a = access_of(w, self, copy.mbarrier, 8, kAtomic | kStrong | kReads | kWrites, copy.site);
  Location location;
  if (!locate(a, &location)) return;
  const Scope scope = copy.kind == Copy::kBulk ? Scope::kCluster : Scope::kCta;
  const Release what = {w->checked.serial, number, time, 0, scope, nullptr, nullptr};
  leave(channel_of(channel_key(a)), order.make<Release>(what), scope);
}

void check_printed(const char* address, uint32_t bytes, const Site* site) {
  Worker* w = worker;
  if (!checker.checks) return;
  Access a = access_of(w, w->running, address, bytes, kReads, site);
  Location location;
  if (a.site->number != 0 && locate(a, &location) && location.written != nullptr) {
    check_local(a, location);
  }
  if (a.undefined_bytes != 0) {
    use_undefined(a, ck_sim_use_print);
  }
}

bool note_malloc(char* address, uint64_t bytes) {
  MemoryMap& m = memory_map;
  if (!m.heap_cells.reserve(cell_bytes(kHeapBytes))) return false;
  const uint64_t first = static_cast<uint64_t>(address - heap.start) / 4;
  memset(static_cast<void*>(m.heap_cells.cells() + first), 0, (bytes + 3) / 4 * sizeof(Cell));
  insert(m.blocks, {reinterpret_cast<uint64_t>(address), bytes, first, 0, false, false});
  return true;
}

void note_free(const char* address) {
  Vector<Object>& blocks = memory_map.blocks;
  size_t count = 0;
  for (const Object& block : blocks) {
    if (block.start != reinterpret_cast<uint64_t>(address)) {
      blocks[count++] = block;
    }
  }
  blocks.size = count;
}

}  // namespace ck_sim
