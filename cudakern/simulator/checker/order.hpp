// The order of accesses: causality order, as PTX's memory model has it.
//
// Each thread has a time, which counts its releases. An access is known by its thread and time. A
// barrier sets the times of all threads of a block to the same new time, the base: accesses with an
// older time came before. Lanes that meet exchange what they know of each other.
//
// All other order goes through channels, of which each address has one. A strong write leaves there
// what its thread released, at the write itself or at a fence before it: an atomic adds that to the
// channel, a store replaces what is there. A strong read takes what the channel holds. If the read
// acquires, its thread knows that at once; otherwise the thread knows it from its next fence on.
// Scopes say who may take what. A thread keeps what it took as ranges of channels. So "does this
// thread know of that access?" is a search backwards, made only when accesses of two warps meet.
//
// Two fence.sc are ordered if an access after the first one must come before an access before the
// second one. This holds for strong accesses of one address if one of them writes, or if somebody
// else wrote in between. So a thread knows at a fence.sc what others left at the channels of its
// strong accesses, whatever values these read.
//
// A read that sees the value of a strong write comes after that write, and so does what comes after
// the read, but not after anything else that the writer did. Observations keep that, by address.
#pragma once

#include "findings.hpp"
#include "scheduler.hpp"

namespace ck_sim {

inline Scope narrower(Scope a, Scope b) { return a < b ? a : b; }

/// Everything a thread did and knew at some time.
struct Release {
  uint64_t serial;
  uint32_t thread, time, base;
  Scope scope;
  const uint32_t* warp;  // the time up to which it knew each lane of its warp; or null
  const Knowledge* knowledge;

  bool covers(Tag tag) const {
    const uint32_t other = tag.thread(), other_time = tag.time();
    return serial == tag.serial() &&
           (other_time < base || (other == thread && other_time <= time) ||
            (other / kLanes == thread / kLanes && warp != nullptr &&
             other_time <= warp[other % kLanes]));
  }
};

/// What strong accesses left at an address.
struct Channel {
  struct Entry {
    const Release* release;
    Scope scope;      // of the release and the access together
    bool sequential;  // the release is that of a fence.sc
    bool lenient;     // PTX does not say so; strict launches alone mark this
  };
  Vector<Entry> entries;  // left by writes
  Vector<Entry> reads;    // left by reads after a fence.sc since the latest write
  Channel* past;          // its entries are reads before that; null if there were none
  uint32_t writes;        // how many have moved `reads` to `past`
  bool sequential;        // whether there is anything for a fence.sc to take
  size_t first;           // of the entries since the latest store
  bool narrow;            // whether the scope of an entry is less than the GPU
  /// Which entries a search has seen: of all, and of those that fence.sc left.
  struct Searched {
    uint64_t visit;
    size_t low, high;
  } searched[2];
};

/// A list: the entries that were taken from a channel, or all of `other`; then those of `next`.
struct Knowledge {
  Channel* channel;
  size_t first, count;
  uint64_t serial;  // of the block that took them
  Scope scope;      // in which it did
  bool sequential;  // by a fence.sc, from what other fence.sc released
  const Knowledge* other;
  const Knowledge* next;
  mutable uint64_t visit;
  const Release* fenced;  // by a fence between proxies; null if there is none
  uint32_t spaces;        // ... for these, a bit each
  bool lenient;           // as an entry
};

/// Entries of a channel that relaxed reads of a thread saw. A fence takes them; they stay until one
/// with the widest scope has.
struct SeenEntries {
  Channel* channel;
  size_t first, count;
  Scope scope;
  size_t taken, taken_leniently;  // the count when they were taken last
  Scope taken_in;
  SeenEntries* next;
};

/// Entries of a channel that a thread's next fence.sc will take, as far as they are sequential.
struct PendingEntries {
  Channel* channel;
  size_t first, count;            // of its entries
  size_t past_first, past_count;  // of those in its past
  Scope scope;
  bool listed;
  PendingEntries* next;
};

/// What accesses of an address by a thread released, in each scope or a wider one.
struct Operations {
  const Release* release[kScopes];
};

/// Which of a channel's `reads` is a thread's, as long as the channel has so many `writes`.
struct Reading {
  size_t number;  // from 1; 0 if there is none
  uint32_t writes;
};

/// That a read saw a strong write.
struct Observation {
  Tag write, read;
  Observation* next;
};

/// The observations of four bytes.
struct Observations {
  Observation* all;
  uint64_t forgotten;  // how often some were
};

/// The order of the current launch.
struct Order {
  Map<Channel*> channels;
  Map<Operations> operations;    // by channel and thread
  Map<PendingEntries*> pending;  // by channel, thread and scope
  Map<Reading> readings;         // likewise
  Map<Observations> observed;    // by address
  Map<char> seen;                // which observations there have been
  bool sequential;               // whether there was a fence.sc
  bool lenient;                  // whether a search follows lenient entries
  Pool pool;
  uint64_t visit;
  Vector<const Knowledge*> stack;
  uint64_t first_serial;
  uint64_t ranks;  // blocks of a cluster

  void clear() {
    for (size_t i = 0; i < channels.capacity; ++i) {
      for (Channel* c = channels.slots[i].value; c != nullptr; c = c->past) {
        free(c->entries.data);
        free(c->reads.data);
      }
    }
    clear_all(channels, operations, pending, readings, observed, seen, pool, stack);
    sequential = false;
  }

  template <typename T>
  T* make(const T& value) {
    T* copy = static_cast<T*>(pool.take(sizeof(T)));
    *copy = value;
    return copy;
  }

  /// The narrowest scope that includes the threads of both blocks.
  Scope distance(uint64_t a, uint64_t b) const {
    if (a == b) return Scope::kCta;
    const bool near = (a - first_serial) / ranks == (b - first_serial) / ranks;
    return near ? Scope::kCluster : Scope::kGpu;
  }

  /// Whether what `k` took from its channel has a release that is `wanted`. What those releases
  /// knew goes onto the stack, to be searched later.
  template <typename Wanted>
  bool search(const Knowledge* k, Wanted wanted) {
    Channel& channel = *k->channel;
    Channel::Searched& searched = channel.searched[k->sequential];
    const bool remembers = !channel.narrow && k->scope >= Scope::kGpu;
    const bool again = remembers && searched.visit == visit;
    for (size_t i = k->count; i > k->first; --i) {
      if (again && i <= searched.high && i > searched.low) {
        i = searched.low + 1;
        continue;
      }
      const Channel::Entry& entry = channel.entries[i - 1];
      if (k->sequential && !entry.sequential) continue;
      if (entry.lenient && !lenient) continue;
      const Release& r = *entry.release;
      const Scope scope = narrower(entry.scope, k->scope);
      if (scope < Scope::kGpu && scope < distance(r.serial, k->serial)) continue;
      if (wanted(r)) return true;
      if (r.knowledge != nullptr && r.knowledge->visit != visit) {
        stack.push(r.knowledge);
      }
    }
    if (remembers && k->count > k->first) {
      const bool joins = again && k->first <= searched.high && k->count >= searched.low;
      searched.low = joins && searched.low < k->first ? searched.low : k->first;
      searched.high = joins && searched.high > k->count ? searched.high : k->count;
      searched.visit = visit;
    }
    return false;
  }

  /// Whether `known` has a release or knowledge that is `wanted`.
  template <typename Wanted>
  bool includes(const Knowledge* known, Wanted wanted) {
    return includes(known, wanted, [](const Knowledge&) { return false; });
  }
  template <typename Wanted, typename WantedKnowledge>
  bool includes(const Knowledge* known, Wanted wanted, WantedKnowledge wanted_knowledge) {
    ++visit;
    stack.clear();
    stack.push(known);
    while (stack.size != 0) {
      for (const Knowledge* k = stack[--stack.size]; k != nullptr && k->visit != visit;
           k = k->next) {
        k->visit = visit;
        if (k->lenient && !lenient) continue;
        if (wanted_knowledge(*k)) return true;
        if (k->other != nullptr) {
          stack.push(k->other);
        }
        if (k->channel != nullptr && search(k, wanted)) return true;
      }
    }
    return false;
  }
};

inline Order order;

inline void advance(ThreadOrder& t) {
  t.time += t.time < kMaxTime;
  t.dirty = false;
}

/// Whether an access came before what a thread does now, by barriers or by lanes that met.
inline bool has_met(const CheckedBlock& block, uint32_t self, Tag tag) {
  const uint32_t other = tag.thread();
  return tag.serial() == block.serial &&
         (tag.time() < block.base || (other / kLanes == self / kLanes &&
                                      tag.time() <= block.order[self].known[other % kLanes]));
}

/// Whether a thread of the block knows of an access of another thread.
inline bool comes_before(const Worker* w, uint32_t self, Tag tag) {
  const Knowledge* known = w->checked.order[self].knowledge;
  return has_met(w->checked, self, tag) ||
         (known != nullptr &&
          order.includes(known, [tag](const Release& r) { return r.covers(tag); }));
}

/// Adds to a thread's knowledge the proxy fences that only itself has made.
inline void pass_on_fences(ThreadOrder& t) {
  for (int i = 0; i < kProxySpaces; ++i) {
    const Release* what = t.proxy[i];
    if (what == nullptr) continue;
    Knowledge node = {};
    node.next = t.knowledge;
    node.fenced = what;
    for (int k = i; k < kProxySpaces; ++k) {
      if (t.proxy[k] == what) {
        node.spaces |= 1u << k;
        t.proxy[k] = nullptr;
      }
    }
    t.knowledge = order.make(node);
  }
}

/// Returns what a thread has done and knows.
inline const Release* release(Worker* w, uint32_t self, Scope scope) {
  ThreadOrder& t = w->checked.order[self];
  pass_on_fences(t);
  const Release* last = t.released;
  if (last != nullptr && !t.dirty && last->knowledge == t.knowledge && last->warp == t.published &&
      last->base == w->checked.base && last->scope == scope) {
    return last;  // nothing new
  }
  if (t.published == nullptr) {
    void* const copy = order.pool.take(sizeof t.known);
    t.published = static_cast<const uint32_t*>(memcpy(copy, t.known, sizeof t.known));
  }
  t.released = order.make<Release>(
      {w->checked.serial, self, t.time, w->checked.base, scope, t.published, t.knowledge});
  advance(t);
  return t.released;
}

inline Channel* channel_of(uint64_t key) {
  Channel*& channel = order.channels.get(key);
  if (channel == nullptr) {
    channel = order.make<Channel>({});
  }
  return channel;
}

inline Channel* find_channel(uint64_t key) {
  Channel* const* channel = order.channels.find(key);
  return channel == nullptr ? nullptr : *channel;
}

inline void leave(Channel* channel, const Release* what, Scope scope, bool sequential = false,
                  bool lenient = false) {
  channel->sequential = channel->sequential || sequential;
  const size_t size = channel->entries.size;
  for (size_t i = size; i > channel->first && i + 4 > size; --i) {
    Channel::Entry& entry = channel->entries[i - 1];
    if (entry.release == what && entry.scope >= scope && (lenient || !entry.lenient)) {
      entry.sequential = entry.sequential || sequential;
      return;
    }
  }
  channel->entries.push({what, scope, sequential, lenient});
  channel->narrow = channel->narrow || scope < Scope::kGpu;
}

/// Leaves at a channel what a thread released in each scope.
inline void leave_each(Channel* channel, const Release* const (&by_scope)[kScopes], Scope scope,
                       bool sequential = false, bool lenient = false) {
  const Release* last = nullptr;
  for (int i = kScopes - 1; i >= 0; --i) {
    const Release* what = by_scope[i];
    if (what != nullptr && what != last) {
      leave(channel, what, narrower(what->scope, scope), sequential, lenient);
    }
    last = what;
  }
}

/// Has later reads of an address take nothing that was left there until now.
inline void forget_channel(uint64_t key) {
  if (Channel* channel = find_channel(key)) {
    channel->first = channel->entries.size;
  }
}

inline uint64_t operation_key(const Worker* w, uint32_t self, uint64_t key) {
  return mix(key, Tag::thread_key(w->checked.serial, self));
}
inline uint64_t operation_key(const Worker* w, uint32_t self, const Channel* channel, Scope scope) {
  return operation_key(w, self, reinterpret_cast<uint64_t>(channel) + static_cast<uint64_t>(scope));
}

/// Whether a relaxed atomic of a thread has nothing to leave or to take: no fence came before it.
inline bool is_mere(const Worker* w, uint32_t self) {
  const ThreadOrder& t = w->checked.order[self];
  return !order.sequential && !t.operated && t.fence[0] == nullptr &&
         w->checked.fenced[0] == nullptr;
}

/// A strong write. A store replaces what others left at the address; an atomic adds to it.
inline void publish(Worker* w, uint32_t self, uint64_t key, bool releases, Scope scope,
                    bool replaces) {
  ThreadOrder& t = w->checked.order[self];
  if (replaces) {
    forget_channel(key);
  }
  const uint64_t operation = operation_key(w, self, key);
  if (releases) {
    const Release* what = release(w, self, scope);
    leave(channel_of(key), what, scope);
    t.operated = true;
    Operations& operations = order.operations.get(operation);
    for (int i = 0; i < kScopes && i <= static_cast<int>(scope); ++i) {
      operations.release[i] = what;
    }
    return;
  }
  // The thread releases again what it released here before.
  const Operations* again = t.operated ? order.operations.find(operation) : nullptr;
  if (again == nullptr && t.fence[0] == nullptr && w->checked.fenced[0] == nullptr) return;
  Channel* channel = channel_of(key);
  if (again != nullptr) {
    leave_each(channel, again->release, scope);
  }
  leave_each(channel, t.fence, scope);
  leave_each(channel, w->checked.fenced, scope, false, w->launch->strict);
}

/// Has a thread know entries of a channel.
inline void take(ThreadOrder& t, Knowledge k) {
  for (const TakenEntries& last : t.taken) {
    if (last.channel == k.channel && last.first == k.first && last.count == k.count &&
        last.scope == k.scope && last.sequential == k.sequential) {
      return;
    }
  }
  memmove(t.taken + 1, t.taken, sizeof t.taken - sizeof *t.taken);
  t.taken[0] = {k.channel, k.first, k.count, k.scope, k.sequential};
  k.next = t.knowledge;
  t.knowledge = order.make(k);
}

/// Takes note of a strong read.
inline void observe(Worker* w, uint32_t self, uint64_t key, bool acquires, Scope scope) {
  Channel* channel = find_channel(key);
  if (channel == nullptr) return;
  const size_t first = channel->first, count = channel->entries.size;
  ThreadOrder& t = w->checked.order[self];
  const uint64_t serial = w->checked.serial;
  // A thread that acquires also knows what its relaxed reads of the same address have seen.
  for (SeenEntries* s = acquires ? t.seen : nullptr; s != nullptr; s = s->next) {
    if (s->channel == channel && (s->first != first || s->scope != scope)) {
      const Scope both = narrower(s->scope, scope);
      take(t, {channel, s->first, s->count, serial, both});
    }
  }
  if (count == first) return;
  if (acquires) {
    take(t, {channel, first, count, serial, scope});
    return;
  }
  for (SeenEntries* s = t.seen; s != nullptr; s = s->next) {
    if (s->channel == channel && s->first == first && s->scope == scope) {
      s->count = count;
      return;
    }
  }
  SeenEntries* seen = t.spare;
  if (seen == nullptr) {
    seen = order.make<SeenEntries>({});
  } else {
    t.spare = seen->next;
  }
  *seen = {channel, first, count, scope, 0, 0, Scope::kCta, t.seen};
  t.seen = seen;
}

/// Leaves at a channel what a read is to leave there. A thread has one entry in each scope: its
/// later fence.sc include what its earlier ones released.
inline void leave_reads(Worker* w, uint32_t self, Channel* channel, Scope scope) {
  const Release* last = nullptr;
  for (const Release* what : w->checked.order[self].sequential) {
    if (what == nullptr || what == last) continue;
    last = what;
    const Channel::Entry entry = {what, narrower(what->scope, scope), true, false};
    Reading& reading = order.readings.get(operation_key(w, self, channel, entry.scope));
    if (reading.number != 0 && reading.writes == channel->writes) {
      channel->reads[reading.number - 1] = entry;
    } else {
      channel->reads.push(entry);
      reading = {channel->reads.size, channel->writes};
    }
  }
}

/// Orders the fence.sc before and after a strong access.
inline void order_fences(Worker* w, uint32_t self, uint64_t key, bool writes, Scope scope) {
  if (!order.sequential) return;
  ThreadOrder& t = w->checked.order[self];
  const bool leaves = t.sequential[0] != nullptr;
  Channel* channel = leaves ? channel_of(key) : find_channel(key);
  if (channel == nullptr) return;
  if (writes && channel->reads.size != 0) {
    channel->sequential = true;
    channel->past = channel->past == nullptr ? order.make<Channel>({}) : channel->past;
    for (const Channel::Entry& read : channel->reads) {
      channel->past->entries.push(read);
      channel->past->narrow = channel->past->narrow || read.scope < Scope::kGpu;
    }
    channel->reads.clear();
    ++channel->writes;
  }
  if (channel->sequential) {
    PendingEntries*& pending = order.pending.get(operation_key(w, self, channel, scope));
    if (pending == nullptr) {
      pending = order.make<PendingEntries>({});
      pending->channel = channel;
      pending->scope = scope;
    }
    pending->count = channel->entries.size;
    pending->past_count = channel->past == nullptr ? 0 : channel->past->entries.size;
    if (!pending->listed &&
        (pending->count > pending->first || pending->past_count > pending->past_first)) {
      pending->listed = true;
      pending->next = t.pending;
      t.pending = pending;
    }
  }
  if (leaves && writes) {
    leave_each(channel, t.sequential, scope, true);
  } else if (leaves) {
    leave_reads(w, self, channel, scope);
  }
}

/// Whether a thread has just taken entries because it read them.
inline bool has_taken(const ThreadOrder& t, const PendingEntries& p, Scope scope) {
  for (const TakenEntries& taken : t.taken) {
    if (taken.channel == p.channel && !taken.sequential && taken.first <= p.first &&
        taken.count >= p.count && taken.scope >= scope) {
      return true;
    }
  }
  return false;
}

/// Has a fence.sc follow those that must come before it.
inline void follow_fences(Worker* w, uint32_t self, Scope scope) {
  ThreadOrder& t = w->checked.order[self];
  const uint64_t serial = w->checked.serial;
  for (PendingEntries* p = t.pending; p != nullptr; p = p->next) {
    const Scope both = narrower(p->scope, scope);
    if (p->count > p->first && !has_taken(t, *p, both)) {
      take(t, {p->channel, p->first, p->count, serial, both, true});
    }
    if (p->past_count > p->past_first) {
      take(t, {p->channel->past, p->past_first, p->past_count, serial, both, true});
    }
  }
  if (scope < Scope::kGpu) return;  // a wider one may follow
  for (PendingEntries* p = t.pending; p != nullptr; p = p->next) {
    p->listed = false;
    p->first = p->count;
    p->past_first = p->past_count;
  }
  t.pending = nullptr;
}

/// Takes note of a fence. If it acquires, its thread knows from now on what its strong reads have
/// seen. If it releases, later strong writes of its thread release what came before the fence.
inline void fence(Worker* w, uint32_t self, uint32_t access, Scope scope) {
  ThreadOrder& t = w->checked.order[self];
  if ((access & kAcquires) != 0) {
    SeenEntries* last = nullptr;
    for (SeenEntries* s = t.seen; s != nullptr; s = s->next) {
      const Scope both = narrower(s->scope, scope);
      if (s->taken != s->count || s->taken_in < both) {
        take(t, {s->channel, s->first, s->count, w->checked.serial, both});
        s->taken = s->count;
        s->taken_in = both;
      }
      last = s;
    }
    if (last != nullptr && scope >= Scope::kGpu) {  // else a wider one may follow
      last->next = t.spare;
      t.spare = t.seen;
      t.seen = nullptr;
    }
  }
  const bool sequential = (access & kSequential) != 0;
  if (sequential) {
    follow_fences(w, self, scope);
    order.sequential = true;
  }
  if ((access & kReleases) != 0) {
    const Release* what = release(w, self, scope);
    for (int i = 0; i < kScopes && i <= static_cast<int>(scope); ++i) {
      t.fence[i] = what;
      t.sequential[i] = sequential ? what : t.sequential[i];
    }
  }
}

/// Takes note that a read saw what a strong write of another thread wrote.
inline void note_observation(uint64_t address, Tag write, Tag read) {
  Observations& observed = order.observed.get(address / 4 + 1);
  const uint64_t key = mix(read.thread_key(), observed.forgotten);
  char& seen = order.seen.get(mix(mix(address / 4, write.key()), key));
  if (seen != 0) return;
  seen = 1;
  observed.all = order.make<Observation>({write, read, observed.all});
}

/// Forgets who observed a write, which is being replaced.
inline void forget_observations(uint64_t address, Tag write) {
  Observations* observed = order.observed.find(address / 4 + 1);
  if (observed == nullptr) return;
  ++observed->forgotten;
  remove_items(&observed->all, [write](Observation* o) { return o->write == write; });
}

/// Whether a thread saw a write, or comes after a thread that did.
inline bool comes_after_observers(const Worker* w, uint32_t self, uint64_t address, Tag write,
                                  Tag tag) {
  const Observations* observed = order.observed.find(address / 4 + 1);
  for (const Observation* o = observed == nullptr ? nullptr : observed->all; o != nullptr;
       o = o->next) {
    if (o->write == write && (o->read.has_thread_of(tag) || comes_before(w, self, o->read))) {
      return true;
    }
  }
  return false;
}

/// What several threads know together.
struct Union {
  const Knowledge* all = nullptr;
  const Knowledge* last = nullptr;

  void add(const Knowledge* knowledge) {
    if (knowledge == nullptr || knowledge == last || knowledge == all) return;
    all = all == nullptr
              ? knowledge
              : order.make<Knowledge>({nullptr, 0, 0, 0, Scope::kCta, false, knowledge, all, 0});
    last = knowledge;
  }
};

/// The time that the threads of a block had after its latest barrier.
inline uint32_t start_time(const CheckedBlock& block) {
  return block.base == 0 ? 1 : block.base < kMaxTime ? block.base : kMaxTime;
}

/// Returns one release for all fences by threads of a block that have a scope or a wider one.
inline const Release* join_fences(const CheckedBlock& block, uint32_t threads, int scope) {
  Channel* joined = order.make<Channel>({});
  const auto entries =
      static_cast<Channel::Entry*>(order.pool.take(threads * sizeof(Channel::Entry)));
  size_t count = 0;
  for (uint32_t k = 0; k < threads; ++k) {
    const Release* what = block.order[k].fence[scope];
    if (what != nullptr) {
      entries[count++] = {what, what->scope, false, false};
    }
  }
  joined->entries = {entries, count, count};
  const Knowledge* all = order.make<Knowledge>({joined, 0, count, block.serial, Scope::kSys});
  return order.make<Release>({block.serial, 0, 0, 0, static_cast<Scope>(scope), nullptr, all});
}

/// Has threads that write after a barrier release what fences before it released. If no thread has
/// accessed memory since its fence, that is all that came before the barrier.
inline void gather_fences(Worker* w, uint32_t base) {
  CheckedBlock& block = w->checked;
  const uint32_t threads = w->launch->threads, start = start_time(block);
  for (int i = kScopes - 1; i >= 0; --i) {
    bool clean = true, alike = i + 1 < kScopes;
    Union known;
    uint32_t fences = 0;
    for (uint32_t k = 0; k < threads; ++k) {
      const ThreadOrder& t = block.order[k];
      const Release* what = t.fence[i];
      const bool fresh = what != nullptr && what->time >= start;
      fences += fresh;
      clean = clean && !t.dirty && (fresh || t.time == start);
      alike = alike && what == t.fence[i + 1];
      if (fresh) {
        known.add(what->knowledge);
      }
    }
    if (fences == 0) continue;
    block.fenced[i] = alike   ? block.fenced[i + 1]
                      : clean ? order.make<Release>({block.serial, 0, base - 1, base,
                                                     static_cast<Scope>(i), nullptr, known.all})
                              : join_fences(block, threads, i);
  }
}

/// Has all threads know after a barrier of the fences between proxies before it. If no thread has
/// accessed memory since its fence, one fence stands for all of them.
inline void gather_proxy_fences(Worker* w, uint32_t base, Union* known) {
  CheckedBlock& block = w->checked;
  const uint32_t threads = w->launch->threads, start = start_time(block);
  Knowledge all = {};
  bool clean = true;
  Union fenced;
  for (uint32_t k = 0; k < threads; ++k) {
    const ThreadOrder& t = block.order[k];
    uint32_t spaces = 0;
    for (int i = 0; i < kProxySpaces; ++i) {
      spaces |= t.proxy[i] != nullptr ? 1u << i : 0u;
      clean = clean && (t.proxy[i] == nullptr || t.proxy[i]->knowledge == t.knowledge);
    }
    clean = clean && !t.dirty &&
            (spaces != 0 ? all.spaces == 0 || spaces == all.spaces : t.time == start);
    if (spaces != 0) {
      all.spaces = spaces;
      fenced.add(t.knowledge);
    }
  }
  if (all.spaces == 0) return;
  for (uint32_t k = 0; k < threads; ++k) {
    ThreadOrder& t = block.order[k];
    if (!clean) {
      pass_on_fences(t);
    }
    memset(t.proxy, 0, sizeof t.proxy);
    known->add(t.knowledge);
  }
  if (clean) {
    all.fenced =
        order.make<Release>({block.serial, 0, base - 1, base, Scope::kSys, nullptr, fenced.all});
    all.next = known->all;
    known->all = order.make(all);
  }
}

/// Has a thread know entries of a channel leniently.
inline void take_leniently(ThreadOrder& t, Knowledge entries) {
  entries.lenient = true;
  entries.next = t.knowledge;
  t.knowledge = order.make(entries);
}

/// Has everything before a barrier of the whole block come before everything after it. Much code
/// also relies on two effects, which are lenient if strict: the barrier is a fence for relaxed
/// reads before it, and fences before it are such for the relaxed writes of all threads after it.
inline void meet_block(Worker* w) {
  uint32_t base = 0;
  Union known;
  const uint32_t threads = w->launch->threads;
  for (uint32_t i = 0; i < threads; ++i) {
    ThreadOrder& t = w->checked.order[i];
    if (t.seen != nullptr && !w->launch->strict) {
      fence(w, i, kAcquires, Scope::kGpu);
    }
    for (SeenEntries* s = t.seen; s != nullptr; s = s->next) {
      if (s->taken_leniently != s->count) {
        take_leniently(t, {s->channel, s->first, s->count, w->checked.serial, s->scope});
        s->taken_leniently = s->count;
      }
    }
    base = t.time > base ? t.time : base;
    known.add(t.knowledge);
  }
  ++base;  // beyond kMaxTime, too: later accesses count as ordered then
  gather_fences(w, base);
  gather_proxy_fences(w, base, &known);
  w->checked.base = base;
  for (uint32_t i = 0; i < threads; ++i) {
    ThreadOrder& t = w->checked.order[i];
    t.time = start_time(w->checked);
    t.knowledge = known.all;
    t.dirty = false;
  }
}

/// Has what lanes did before they met come before what they do afterwards.
inline void meet_lanes(Worker* w, uint32_t first, unsigned mask) {
  uint32_t joined[kLanes] = {};
  Union known;
  for (const unsigned lane : SetBits{mask}) {
    ThreadOrder& t = w->checked.order[first + lane];
    pass_on_fences(t);
    t.known[lane] = t.time;
    for (int i = 0; i < kLanes; ++i) {
      joined[i] = t.known[i] > joined[i] ? t.known[i] : joined[i];
    }
    known.add(t.knowledge);
  }
  for (const unsigned lane : SetBits{mask}) {
    ThreadOrder& t = w->checked.order[first + lane];
    memcpy(t.known, joined, sizeof joined);
    t.published = nullptr;
    t.knowledge = known.all;
    advance(t);
  }
}

/// Takes note of when lanes met at a match, which orders nothing.
inline void match_lanes(Worker* w, uint32_t first, unsigned mask) {
  for (const unsigned lane : SetBits{mask}) {
    ThreadOrder& t = w->checked.order[first + lane];
    t.matched = t.time;
    t.time += t.time < kMaxTime;
  }
}

// Which writes the asynchronous proxy sees, through which bulk copies access memory: those before a
// fence between the proxies, by any thread, that comes before the copy.

inline Vector<const Release*> proxy_fences;  // scratch: those that a search has met

/// Takes note of a fence between the proxies for some spaces, a bit each.
inline void fence_proxies(Worker* w, uint32_t self, uint32_t spaces) {
  ThreadOrder& t = w->checked.order[self];
  const Release* what = release(w, self, Scope::kSys);
  for (int i = 0; i < kProxySpaces; ++i) {
    if ((spaces >> i & 1) != 0) {
      t.proxy[i] = what;
    }
  }
}

/// Whether a thread knows of a proxy fence that knew of a write.
inline bool is_fenced(Worker* w, uint32_t self, Tag tag, int space) {
  ThreadOrder& t = w->checked.order[self];
  pass_on_fences(t);
  if (t.knowledge == nullptr) return false;
  proxy_fences.clear();
  const bool found = order.includes(
      t.knowledge, [](const Release&) { return false; },
      [tag, space](const Knowledge& k) {
        if (k.fenced == nullptr || (k.spaces >> space & 1) == 0) return false;
        proxy_fences.push(k.fenced);
        return k.fenced->covers(tag);
      });
  if (found) return true;
  for (size_t i = proxy_fences.size; i > 0; --i) {
    const Knowledge* known = proxy_fences[i - 1]->knowledge;
    if (known != nullptr &&
        order.includes(known, [tag](const Release& r) { return r.covers(tag); })) {
      return true;
    }
  }
  return false;
}

}  // namespace ck_sim
