// Checks every access against earlier accesses to the same bytes.
//
// Four bytes share a cell. It holds the last write and two later reads by threads that nothing
// orders: the first and the latest. If more warps read, the cell only knows that it has forgotten
// some. An access to fewer bytes splits its cell into one for each byte.
#pragma once

#include "order.hpp"
#include "undefined.hpp"

namespace ck_sim {

inline Vector<ByteCells> split_cells;  // of all memory but that of blocks
inline Vector<Index3> started;         // the blocks of the launch, by serial

/// Writes that may race with readers that cells have forgotten.
struct Forgotten {
  uint64_t count;
  const Site* site;  // of the first
};
inline Forgotten forgotten;

/// An access that is being checked.
struct Access {
  Worker* w;
  uint32_t self;  // thread of the block
  const Site* site;
  uint32_t kind;  // as in Site::access
  char* address;
  uint32_t bytes;
  Tag tag;
  uint64_t first;     // tags with an older serial are of other launches or blocks
  bool begins;        // whether it is an asynchronous copy, which begins
  const char* value;  // of a write, as far as that is known
  // Of what is written or read, as far as it is undefined: a word without bytes, and these.
  uint64_t undefined;
  uint32_t undefined_bytes;
  uint32_t space, object;
  int64_t offset;
  const char* name;
  uint64_t owner;          // of shared memory: the serial of its block
  uint64_t window_offset;  // ... and where in its window
  Worker* remote;          // that runs the block, if it is another one
  bool ended;              // ... which has ended
  bool constant;           // of a variable of the module

  uint64_t at(uint32_t byte = 0) const { return reinterpret_cast<uint64_t>(address) + byte; }
};

inline ck_sim_finding* report(const Access& a, const char* kind, uint32_t other_site = 0,
                              bool only_strict = false) {
  const uint64_t object = a.space << 16 ^ a.object ^ (only_strict ? 1u << 24 : 0u);
  const View& view = a.w->threads[a.self].view;
  ck_sim_finding* finding = add_finding(kind, a.site->number, other_site, object, view, a);
  if (finding != nullptr) {
    finding->site = a.site;
    finding->access = a.kind & (kWrites | kAtomic);
    finding->only_strict = only_strict;
  }
  return finding;
}

/// Reports an access to the shared memory of a block that has ended, or may have.
inline void report_ended(const Access& a, bool only_strict) {
  Access any = a;
  any.object = 0;  // once for all blocks
  ck_sim_finding* finding = report(any, "race", 0, only_strict);
  if (finding == nullptr) return;
  finding->object = a.object;
  const Index3 block = started[a.tag.serial() - order.first_serial];
  memcpy(finding->block, &block, sizeof block);
  finding->reason = ck_sim_ended;
}

/// Whether an access counts as strong in races. A load that only feeds a compare counts as relaxed.
inline bool is_strong(uint32_t kind) { return (kind & (kStrong | kGuesses)) != 0; }
/// Operations on an mbarrier meet those of the whole cluster, whatever they order.
inline Scope reach(const Site* site) {
  const Scope scope = (site->access & kGuesses) != 0 ? Scope::kGpu : scope_of(site);
  const bool is_mbarrier = (site->access & kMbarrier) != 0;
  return is_mbarrier && scope < Scope::kCluster ? Scope::kCluster : scope;
}

/// Whether the thread of an access has seen an earlier write, or comes after a thread that has.
inline bool follows_read_of(const Access& a, Tag tag, uint32_t byte) {
  const uint64_t address = a.at(byte);
  return order.observed.size != 0 && comes_after_observers(a.w, a.self, address, tag, a.tag);
}

/// How often a launch that is not strict looks whether volatile accesses at two sites are ordered:
/// until once they are not, which it only notes.
constexpr uint32_t kMostLooks = 100;
inline Map<uint32_t> volatile_looks;

inline bool looks_at_volatiles(uint32_t site, uint32_t other) {
  uint32_t& looks = volatile_looks.get(mix(site, other));
  looks += looks < kMostLooks;
  return looks < kMostLooks;
}

/// Whether both write by volatile, and not the same value: which one stays depends on their order.
inline bool are_volatile_stores(const Access& a, const Site& other, uint32_t byte, uint32_t bytes) {
  return (a.kind & other.access & (kVolatile | kWrites)) == (kVolatile | kWrites) &&
         ((a.kind | other.access) & (kAtomic | kReads)) == 0 && a.value != nullptr &&
         memcmp(a.value + byte, a.address + byte, bytes) != 0;
}

/// Whether two strong accesses of different threads must be ordered.
inline bool must_be_ordered(const Access& a, Tag tag, const Site& other, uint32_t byte,
                            uint32_t bytes, ck_sim_reason* reason) {
  const uint64_t serial = a.w->checked.serial;
  if (narrower(reach(a.site), reach(&other)) < order.distance(serial, tag.serial())) {
    *reason = ck_sim_narrow;
    return true;
  }
  const bool in_shared = a.space == ck_sim_shared || a.space == ck_sim_dynamic;
  if (in_shared && (a.kind & other.access & kVolatile) != 0 && tag.serial() == serial &&
      tag.thread() / kLanes == a.self / kLanes) {
    *reason = ck_sim_lanes;
    return true;
  }
  if (are_volatile_stores(a, other, byte, bytes)) {
    *reason = ck_sim_stores;
    return true;
  }
  const bool is_volatile = ((a.kind | other.access) & kVolatile) != 0;
  *reason = ck_sim_volatiles;
  if (!a.w->launch->strict) return is_volatile && looks_at_volatiles(a.site->number, tag.site());
  *reason = element_bytes(a.site) == element_bytes(&other) ? ck_sim_volatiles : ck_sim_sizes;
  return *reason == ck_sim_sizes || is_volatile;
}

/// Whether one of two accesses is a non-coherent load and the other one a write: a race in any
/// order. If not strict, a thread may write what it alone has read: no load of others can be stale.
inline bool breaks_promise(const Access& a, Tag tag, bool other_writes) {
  if (other_writes) return (a.kind & (kNonCoherent | kWrites)) == kNonCoherent;
  return (sites.at[tag.site()]->access & kNonCoherent) != 0 &&
         (a.w->launch->strict || !tag.has_thread_of(a.tag));
}

/// Whether a thread waited or arrived at an mbarrier before a match. libcu++'s pipeline invalidates
/// its mbarriers once the lanes of each warp have met at one, which orders nothing.
inline bool used_before_match(const Access& a, Tag tag, const Site& other) {
  return (other.access & kMbarrier) != 0 && (other.access & kAtomic) != 0 &&
         tag.serial() == a.w->checked.serial &&
         tag.time() <= a.w->checked.order[tag.thread()].matched;
}

/// Whether an access races with an earlier one.
inline bool meets(const Access& a, Tag tag, bool other_writes, uint32_t byte, uint32_t bytes,
                  ck_sim_reason* reason) {
  if (tag.is_older(a.first)) return false;
  if (tag.is_in_flight()) {
    *reason = ck_sim_in_flight;
    return true;
  }
  if (breaks_promise(a, tag, other_writes)) {
    *reason = ck_sim_noncoherent;
    return true;
  }
  if (tag.has_thread_of(a.tag)) return false;
  const Site* other = sites.at[tag.site()];
  const bool both_strong = is_strong(a.kind) && is_strong(other->access);
  if (both_strong && !must_be_ordered(a, tag, *other, byte, bytes, reason)) return false;
  if (comes_before(a.w, a.self, tag) || (other_writes && follows_read_of(a, tag, byte)))
    return false;
  if (both_strong) return true;
  if ((a.kind & kInvalidates) != 0 && used_before_match(a, tag, *other)) return false;
  const bool strict = a.w->launch->strict;
  *reason = ck_sim_unordered;
  // Do both write the same value?
  if (other_writes && a.value != nullptr && !is_strong(a.kind | other->access) &&
      memcmp(a.value + byte, a.address + byte, bytes) == 0) {
    *reason = ck_sim_same;
    return strict;
  }
  return true;
}

/// The number of the space that a proxy fence for an access must be for.
inline int proxy_space(const Access& a) { return a.space == ck_sim_global ? 0 : 1; }

/// Whether a bulk copy begins that may not see a write: no fence of its proxy is in between.
inline bool passes_by(const Access& a, Tag write) {
  if (!a.begins || (a.site->access & kProxy) == 0 || write.is_older(a.first) ||
      (sites.at[write.site()]->access & kProxy) != 0 ||
      ((a.kind & kWrites) != 0 && !a.w->launch->strict)) {
    return false;
  }
  return !is_fenced(a.w, a.self, write, proxy_space(a));
}

/// Whether a launch that is not strict would not report a race.
inline bool only_strict_reports(const Access& a, Tag tag, bool other_writes, uint32_t byte,
                                ck_sim_reason reason) {
  if (!a.w->launch->strict) return reason == ck_sim_volatiles;
  switch (reason) {
    case ck_sim_in_flight:
      return false;
    case ck_sim_same:
    case ck_sim_volatiles:
    case ck_sim_sizes:
      return true;
    case ck_sim_noncoherent:
      return tag.has_thread_of(a.tag) && !other_writes;
    default:
      break;
  }
  order.lenient = true;
  const bool ordered =
      reason == ck_sim_proxy
          ? (a.kind & kWrites) != 0 || is_fenced(a.w, a.self, tag, proxy_space(a))
          : comes_before(a.w, a.self, tag) || (other_writes && follows_read_of(a, tag, byte));
  order.lenient = false;
  return ordered;
}

inline void report_race(const Access& a, Tag tag, bool other_writes, uint32_t byte,
                        ck_sim_reason reason) {
  const bool only_strict = only_strict_reports(a, tag, other_writes, byte, reason);
  if (only_strict && !a.w->launch->strict) {
    volatile_looks.get(mix(a.site->number, tag.site())) = kMostLooks;
  }
  ck_sim_finding* finding = report(a, "race", tag.site(), only_strict);
  if (finding == nullptr) return;
  const Site* other = sites.at[tag.site()];
  const Index3 block = started[tag.serial() - order.first_serial];
  memcpy(finding->other_block, &block, sizeof block);
  memcpy(finding->other_thread, &a.w->threads[tag.thread()].view.thread, sizeof block);
  finding->other_site = other;
  finding->other_access = (other_writes ? kWrites : 0) | (other->access & kAtomic);
  finding->offset += byte;
  finding->reason = reason;
}

inline void check_against(const Access& a, Tag tag, bool other_writes, uint32_t byte,
                          uint32_t bytes) {
  ck_sim_reason reason;
  if (meets(a, tag, other_writes, byte, bytes, &reason)) {
    report_race(a, tag, other_writes, byte, reason);
  } else if (other_writes && passes_by(a, tag)) {
    report_race(a, tag, other_writes, byte, ck_sim_proxy);
  }
}

/// Whether an earlier access came before, by barriers and by the lanes of a warp that met.
inline bool is_settled(const Access& a, Tag tag) {
  return tag.is_older(a.first) ||
         (!tag.is_in_flight() && (tag.has_thread_of(a.tag) || has_met(a.w->checked, a.self, tag)));
}

/// Takes note that a strong read saw the write of another thread, if that was strong, too.
inline void note_seen(const Access& a, Tag write, uint32_t byte) {
  if (is_settled(a, write) || write.is_in_flight()) return;
  const Site* other = sites.at[write.site()];
  const Scope needed = order.distance(a.w->checked.serial, write.serial());
  if ((other->access & (kStrong | kMbarrier)) == kStrong &&
      narrower(scope_of(a.site), scope_of(other)) >= needed) {
    note_observation(a.at(byte), write, a.tag);
  }
}

/// Has a cell remember a read. `settled` says whether an earlier read came before it.
template <typename Settled>
__attribute__((noinline)) inline void remember_reader(Cell* cell, Tag tag, bool coherent,
                                                      uint64_t first, Settled settled) {
  FirstReadTag& begin = cell->first_read;
  if (settled(begin)) {
    begin = FirstReadTag(tag, !coherent || (!begin.is_older(first) && begin.is_non_coherent()));
    return;
  }
  begin = FirstReadTag(begin, !coherent || begin.is_non_coherent());
  const Tag last = cell->latest_read.reader();
  LatestReadTag::Forgotten forgotten = cell->latest_read.forgotten();
  if (last.is_older(first)) {
    forgotten = LatestReadTag::kNone;
  } else if (last.is_in_flight()) {
    return;
  } else if (!last.has_warp_of(tag) && !last.has_warp_of(begin)) {
    if (!settled(last)) {
      const bool same_block = last.serial() == tag.serial();
      forgotten = same_block && forgotten != LatestReadTag::kOfOtherBlocks
                      ? LatestReadTag::kOfItsBlock
                      : LatestReadTag::kOfOtherBlocks;
    } else if (forgotten != LatestReadTag::kOfOtherBlocks) {
      forgotten = LatestReadTag::kNone;  // who came before that reader came before the barrier, too
    }
  }
  cell->latest_read = LatestReadTag(tag, forgotten);
}

/// Takes note of a write that may race with reads that its cell has forgotten. The cell only knows
/// that those happened before the latest read.
inline void note_forgotten(const Access& a, LatestReadTag latest) {
  const CheckedBlock& block = a.w->checked;
  const Tag last = latest.reader();
  if (latest.forgotten() == LatestReadTag::kNone || last.is_older(a.first) ||
      (latest.forgotten() == LatestReadTag::kOfItsBlock && last.serial() == block.serial &&
       last.time() < block.base)) {
    return;
  }
  const bool strong = is_strong(a.kind) && is_strong(sites.at[last.site()]->access);
  if (!strong && forgotten.count++ == 0) {
    forgotten.site = a.site;
  }
}

/// Whether a write of this launch left an undefined value.
inline bool left_undefined(Tag write) { return sites.is_second(write.site()); }

/// Has a cell hold what is written to it.
inline void write_cell(const Access& a, Cell* cell, uint32_t byte, uint32_t bytes) {
  const uint32_t all = (a.kind & kAtomic) != 0 ? 0 : a.undefined_bytes;
  const uint32_t own = all >> byte & ((1u << bytes) - 1);
  const uint32_t second = own == 0 ? 0 : sites.second_of(a.site);
  cell->write = WriteTag(second == 0 ? a.tag : a.tag.with_site(second));
  if (own != 0) {
    undefined_values.hold(a.at(byte), bytes, a.undefined | own);
  }
}

/// Adds a few bytes to those of an access that are undefined.
inline void add(Access& a, uint64_t undefined, uint32_t byte) {
  a.undefined |= undefined & ~kUndefinedBytes;
  a.undefined_bytes |= static_cast<uint32_t>(undefined & kUndefinedBytes) << byte;
}

/// Checks `bytes` of an access from `byte` on, in one cell. Returns whether these were unwritten.
inline bool check_cell(Access& a, Cell* cell, uint32_t byte, uint32_t bytes) {
  const bool fresh = cell->write.is_older(a.first);
  check_against(a, cell->write, true, byte, bytes);
  if (!fresh && left_undefined(cell->write) && (a.kind & kReads) != 0) {
    add(a, undefined_values.held_at(a.at(byte), bytes), byte);
  }
  if ((a.kind & kWrites) == 0) {
    if ((a.kind & kStrong) != 0) {
      note_seen(a, cell->write, byte);
    }
    remember_reader(cell, a.tag, (a.kind & kNonCoherent) == 0, a.first,
                    [&a](Tag other) { return is_settled(a, other); });
    return fresh;
  }
  if (order.observed.size != 0) {
    forget_observations(a.at(byte), cell->write);
  }
  note_forgotten(a, cell->latest_read);
  check_against(a, cell->first_read, false, byte, bytes);
  check_against(a, cell->latest_read.reader(), false, byte, bytes);
  *cell = {};
  write_cell(a, cell, byte, bytes);
  return fresh;
}

/// Whether an earlier access was of the same thread, or came before a barrier.
struct Passes {
  Tag tag;
  uint64_t first;
  const CheckedBlock& block;

  bool operator()(Tag other) const {
    return other.is_older(first) ||
           (!other.is_in_flight() && (other.has_thread_of(tag) || (other.serial() == block.serial &&
                                                                   other.time() < block.base)));
  }
};

/// Passes whole words of a weak access that is inside of its array, if earlier accesses were by the
/// same thread or came before a barrier. Returns false where a closer look is needed, which may
/// repeat what is done by then.
template <bool kWrite>
__attribute__((always_inline)) inline bool pass_cells(Cell* cell, uint32_t words, Tag tag,
                                                      bool coherent, uint64_t first,
                                                      const CheckedBlock& block, bool initialized) {
  const Tag oldest(first);
  const Passes passes = {tag, first, block};
  for (uint32_t i = 0; i < words; ++i, ++cell) {
    if (cell->write.is_older(oldest) && cell->first_read.is_older(oldest) &&
        (kWrite ? cell->latest_read.quick_reader().is_older(oldest) : initialized)) {
      // The launch has not accessed it before.
      if constexpr (kWrite) {
        *cell = {WriteTag(tag), {}, {}};
      } else {
        cell->first_read = FirstReadTag(tag, !coherent);
      }
      continue;
    }
    if (cell->write.is_split() || !passes(cell->write)) return false;
    if constexpr (kWrite) {
      const FirstReadTag begin = cell->first_read;
      const LatestReadTag latest = cell->latest_read;
      if (!passes(begin) || !passes(latest.quick_reader()) ||
          (begin.is_non_coherent() && !begin.is_older(first)) ||
          (latest.has_forgotten() && latest.reader().has_thread_of(tag))) {
        return false;
      }
      *cell = {WriteTag(tag), {}, {}};
    } else {
      if (!(cell->write.is_older(first) ? initialized : coherent && !left_undefined(cell->write)))
        return false;
      FirstReadTag& begin = cell->first_read;
      if (coherent && passes(begin)) {
        begin = FirstReadTag(tag, !begin.is_older(first) && begin.is_non_coherent());
      } else {
        remember_reader(cell, tag, coherent, first, passes);
      }
    }
  }
  return true;
}

/// Passes whole words of a relaxed atomic, likewise, if earlier atomics were of its instruction.
inline bool pass_atomic(Cell* cell, uint32_t words, Tag tag, uint64_t first,
                        const CheckedBlock& block, bool initialized, Scope scope) {
  const Passes passes = {tag, first, block};
  for (uint32_t i = 0; i < words; ++i, ++cell) {
    const WriteTag write = cell->write;
    const bool is_new = write.is_older(first);
    const bool meets = write.site() == tag.site() && !write.is_split() && !write.is_in_flight() &&
                       (scope >= Scope::kGpu || write.serial() == block.serial);
    if (is_new ? !initialized : !meets) return false;
    if (!passes(cell->first_read) || !passes(cell->latest_read.quick_reader()) ||
        (!is_new && !cell->first_read.is_older(first))) {
      return false;
    }
    *cell = {WriteTag(tag), {}, {}};
  }
  return true;
}

inline bool is_split(const Access& a, const Cell* cell) {
  return cell->write.is_split() && !cell->write.is_older(a.first);
}

/// Splits a cell, unless it is split. Returns the cells of its four bytes.
inline Cell* split(const Access& a, Cell* cell) {
  Worker* const owner = a.remote != nullptr ? a.remote : a.w;
  Vector<ByteCells>& all = a.owner == 0 ? split_cells : owner->checked.split_cells;
  if (!is_split(a, cell)) {
    if (cell->write.is_split()) {
      *cell = {};
    }
    all.push({{*cell, *cell, *cell, *cell}});
    cell->write = WriteTag::split(a.tag.serial(), all.size - 1);
  }
  return all[cell->write.index()].byte;
}

/// Calls `look(cell, byte, bytes)` for all cells of an access: each has `bytes` of its bytes, from
/// `byte` on. `first` is the cell that its address lies in.
template <typename Look>
inline void each_cell(const Access& a, Cell* first, Look look) {
  uint32_t within = a.at() & 3;
  for (uint32_t done = 0; done < a.bytes; ++first, within = 0) {
    const uint32_t count = 4 - within < a.bytes - done ? 4 - within : a.bytes - done;
    if (count == 4 && !is_split(a, first)) {
      if (first->write.is_split()) {
        *first = {};
      }
      look(first, done, 4u);
    } else {
      Cell* bytes = split(a, first);
      for (uint32_t k = 0; k < count; ++k) {
        look(bytes + within + k, done + k, 1u);
      }
    }
    done += count;
  }
}

/// Checks all cells of an access of up to 32 bytes. Returns which were unwritten, a bit each.
inline uint32_t check_cells(Access& a, Cell* first) {
  uint32_t fresh = 0;
  each_cell(a, first, [&a, &fresh](Cell* cell, uint32_t byte, uint32_t bytes) {
    if (check_cell(a, cell, byte, bytes)) {
      fresh |= ((1u << bytes) - 1) << byte;
    }
  });
  return fresh;
}

}  // namespace ck_sim
