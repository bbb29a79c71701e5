// SPDX-License-Identifier: MIT
// Which accesses come before which: by barriers, warp collectives and atomics.
//
// Every thread has a time, which counts its releases; an access is known by its thread and time.
// A barrier sets the times of all threads of a block to the same new one, the base: whatever is
// older came before. A warp collective exchanges what its lanes know of each other. An atomic is an
// acquire and a release through its address: an address keeps who released there, and a thread
// keeps which addresses it acquired from, and when, so that "does this thread know of that access?"
// is a search backwards, done only when two accesses of different warps meet.
#pragma once

#include "scheduler.hpp"

namespace ck_sim {

/// Tags name an access: block serial, thread, time, site; then whether it was atomic, and whether
/// the cell is split into bytes.
constexpr int kSerialBits = 22, kThreadBits = 10, kTimeBits = 18, kSiteBits = 12;
constexpr uint32_t kMaxTime = (1u << kTimeBits) - 1;
constexpr uint64_t kMaxSerial = (uint64_t{1} << kSerialBits) - 1;
constexpr uint64_t kAtomicTag = 2, kSplitTag = 1;

inline uint64_t make_tag(uint64_t serial, uint32_t thread, uint32_t time, uint32_t site) {
  return serial << 42 | static_cast<uint64_t>(thread) << 32 | static_cast<uint64_t>(time) << 14 |
         static_cast<uint64_t>(site) << 2;
}
inline uint64_t tag_serial(uint64_t tag) { return tag >> 42; }
inline uint32_t tag_thread(uint64_t tag) { return tag >> 32 & ((1u << kThreadBits) - 1); }
inline uint32_t tag_time(uint64_t tag) { return tag >> 14 & kMaxTime; }
inline uint32_t tag_site(uint64_t tag) { return tag >> 2 & ((1u << kSiteBits) - 1); }

struct WarpTimes {
  uint32_t known[kLanes];
};

/// A release: everything its thread did and knew until then.
struct Release {
  uint64_t serial;
  uint32_t thread, time, base;
  const WarpTimes* warp;
  const Knowledge* knowledge;
};

/// An address that threads release to and acquire from.
struct Channel {
  Vector<Release> releases;
  uint64_t visit;  // the search that saw it last, and how many releases that saw
  size_t visited;
};

/// A list: the first `count` releases of a channel or all of `other`, and what follows.
struct Knowledge {
  Channel* channel;
  size_t count;
  const Knowledge* other;
  const Knowledge* next;
  mutable uint64_t visit;
};

/// The order of the current launch.
struct Order {
  Map<Channel*> channels;
  Pool pool;
  uint64_t visit;
  Vector<const Knowledge*> stack;

  void clear() {
    for (size_t i = 0; i < channels.capacity; ++i) {
      if (channels.slots[i].key != 0) {
        free(channels.slots[i].value->releases.data);
      }
    }
    channels.clear();
    pool.clear();
    stack.clear();
  }

  const Knowledge* add(Channel* channel, size_t count, const Knowledge* other,
                       const Knowledge* next) {
    Knowledge* made = static_cast<Knowledge*>(pool.take(sizeof(Knowledge)));
    *made = {channel, count, other, next, 0};
    return made;
  }

  /// Whether what came by `known` includes an access of another warp.
  bool includes(const Knowledge* known, uint64_t tag) {
    const uint64_t serial = tag_serial(tag);
    const uint32_t thread = tag_thread(tag), time = tag_time(tag);
    ++visit;
    stack.clear();
    stack.push(known);
    while (stack.size != 0) {
      for (const Knowledge* k = stack[--stack.size]; k != nullptr && k->visit != visit;
           k = k->next) {
        k->visit = visit;
        if (k->other != nullptr) {
          stack.push(k->other);
        }
        if (k->channel == nullptr) {
          continue;
        }
        Channel& channel = *k->channel;
        const size_t seen = channel.visit == visit ? channel.visited : 0;
        for (size_t i = k->count; i > seen; --i) {
          const Release& r = channel.releases[i - 1];
          if (r.serial == serial && (time < r.base || (r.thread == thread && time <= r.time) ||
                                     (r.thread / kLanes == thread / kLanes && r.warp != nullptr &&
                                      time <= r.warp->known[thread % kLanes]))) {
            return true;
          }
          if (r.knowledge != nullptr && r.knowledge->visit != visit) {
            stack.push(r.knowledge);
          }
        }
        channel.visit = visit;
        channel.visited = k->count > seen ? k->count : seen;
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

/// Whether the running thread knows of an access of another thread.
inline bool comes_before(Worker* w, uint32_t self, uint64_t tag) {
  const ThreadOrder& t = w->checked.order[self];
  const uint32_t other = tag_thread(tag);
  if (tag_serial(tag) == w->checked.serial) {
    if (tag_time(tag) < w->checked.base ||
        (other / kLanes == self / kLanes && tag_time(tag) <= t.known[other % kLanes])) {
      return true;
    }
  }
  return t.knowledge != nullptr && order.includes(t.knowledge, tag);
}

/// An atomic by a thread through the channel of an address: it knows what others knew who came
/// before, ...
inline void acquire(Worker* w, uint32_t self, uint64_t key) {
  Channel** found = order.channels.find(key);
  ThreadOrder& t = w->checked.order[self];
  if (found == nullptr || (*found)->releases.size == 0) {
    return;
  }
  Channel* channel = *found;
  const size_t count = channel->releases.size;
  const Knowledge* rest = t.knowledge;
  if (rest != nullptr && rest->channel == channel) {
    if (rest->count == count) {
      return;
    }
    rest = rest->next;
  }
  t.knowledge = order.add(channel, count, nullptr, rest);
}

/// ... and if it changed memory, those who come after know what it knows.
inline void release(Worker* w, uint32_t self, uint64_t key) {
  ThreadOrder& t = w->checked.order[self];
  if (!t.dirty && t.released == key && t.knowledge == t.released_knowledge) {
    return;  // nothing new
  }
  Channel*& channel = order.channels.get(key);
  if (channel == nullptr) {
    channel = static_cast<Channel*>(order.pool.take(sizeof(Channel)));
    *channel = {};
  }
  if (t.published == nullptr) {
    WarpTimes* warp = static_cast<WarpTimes*>(order.pool.take(sizeof(WarpTimes)));
    memcpy(warp->known, t.known, sizeof t.known);
    t.published = warp;
  }
  channel->releases.push(
      {w->checked.serial, self, t.time, w->checked.base, t.published, t.knowledge});
  t.released = key;
  t.released_knowledge = t.knowledge;
  advance(t);
}

/// What several threads know together.
struct Union {
  const Knowledge* all = nullptr;
  const Knowledge* last = nullptr;

  void add(const Knowledge* knowledge) {
    if (knowledge == nullptr || knowledge == last || knowledge == all) {
      return;
    }
    all = all == nullptr ? knowledge : order.add(nullptr, 0, knowledge, all);
    last = knowledge;
  }
};

/// Everything before a barrier comes before everything after it.
inline void barrier_orders(Worker* w) {
  uint32_t base = 0;
  Union known;
  const uint32_t threads = w->launch->threads;
  for (uint32_t i = 0; i < threads; ++i) {
    ThreadOrder& t = w->checked.order[i];
    base = t.time > base ? t.time : base;
    known.add(t.knowledge);
  }
  base += base < kMaxTime;
  w->checked.base = base;
  for (uint32_t i = 0; i < threads; ++i) {
    ThreadOrder& t = w->checked.order[i];
    t.time = base;
    t.knowledge = known.all;
    t.released = 0;
    t.dirty = false;
  }
}

/// What lanes did before a collective comes before what they do after it.
inline void lanes_order(Worker* w, uint32_t first, unsigned mask) {
  uint32_t joined[kLanes] = {};
  Union known;
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    ThreadOrder& t = w->checked.order[first + static_cast<uint32_t>(lane)];
    t.known[lane] = t.time;
    for (int i = 0; i < kLanes; ++i) {
      joined[i] = t.known[i] > joined[i] ? t.known[i] : joined[i];
    }
    known.add(t.knowledge);
  }
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    ThreadOrder& t = w->checked.order[first + static_cast<uint32_t>(__builtin_ctz(rest))];
    memcpy(t.known, joined, sizeof joined);
    t.published = nullptr;
    t.knowledge = known.all;
    t.released = 0;
    advance(t);
  }
}

}  // namespace ck_sim
