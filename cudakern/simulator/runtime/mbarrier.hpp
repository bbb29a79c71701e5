// SPDX-License-Identifier: MIT
// mbarrier objects, and copies that happen when they are waited for and no earlier.
#pragma once

#include "polling.hpp"

namespace ck_sim {

// The eight bytes, from the low end: arrivals of a phase, arrivals that this phase lacks,
// transactions that it lacks in two's complement, the parity of the phase, and a mark.
constexpr int kCountBits = 20, kTransactionBits = 21;
constexpr uint64_t kMark = uint64_t{2} << 62;
constexpr uint32_t kMaxCount = (1u << kCountBits) - 1;

struct Phase {
  int64_t expected, pending, transactions;
  uint64_t parity;
};

inline Phase unpack(uint64_t word) {
  return {static_cast<int64_t>(word & kMaxCount),
          static_cast<int64_t>(word >> kCountBits & kMaxCount),
          static_cast<int64_t>(word << (64 - 2 * kCountBits - kTransactionBits)) >>
              (64 - kTransactionBits),
          word >> (2 * kCountBits + kTransactionBits) & 1};
}

inline uint64_t packed(const Phase& phase) {
  const uint64_t transactions =
      static_cast<uint64_t>(phase.transactions) & ((1u << kTransactionBits) - 1);
  return static_cast<uint64_t>(phase.expected) |
         static_cast<uint64_t>(phase.pending) << kCountBits | transactions << 2 * kCountBits |
         phase.parity << (2 * kCountBits + kTransactionBits) | kMark;
}

inline uint64_t* word_of(char* mbarrier, const Site* site) {
  if (reinterpret_cast<uintptr_t>(mbarrier) % 8 != 0) {
    ck_sim_stop("misaligned", "an mbarrier must lie at a multiple of 8 bytes", site);
  }
  return reinterpret_cast<uint64_t*>(mbarrier);
}

inline Phase phase_of(uint64_t word, const Site* site) {
  if (word >> 62 << 62 != kMark) {
    ck_sim_stop("misuse", "an mbarrier must be initialized before it is used", site);
  }
  return unpack(word);
}

/// Changes the counts of a phase, which may complete it; returns what was there.
inline uint64_t advance(char* mbarrier, int64_t arrivals, int64_t drops, int64_t transactions,
                        const Site* site) {
  uint64_t* word = word_of(mbarrier, site);
  uint64_t seen = __atomic_load_n(word, __ATOMIC_ACQUIRE), wanted;
  do {
    Phase phase = phase_of(seen, site);
    phase.expected -= drops;
    phase.pending -= arrivals;
    phase.transactions += transactions;
    if (phase.pending < 0 || phase.expected < 0) {
      ck_sim_stop("misuse", "an mbarrier must get no more arrivals in a phase than it expects",
                  site);
    }
    if (phase.pending > kMaxCount || phase.transactions >= 1 << (kTransactionBits - 1) ||
        phase.transactions <= -(1 << (kTransactionBits - 1))) {
      ck_sim_stop("misuse", "an mbarrier must count fewer than 2**20 arrivals and bytes", site);
    }
    if (phase.pending == 0 && phase.transactions == 0) {
      phase.pending = phase.expected;
      phase.parity ^= 1;
    }
    wanted = packed(phase);
  } while (
      !__atomic_compare_exchange_n(word, &seen, wanted, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  ++worker->changes;
  return seen;
}

/// Adds something that is to happen later; the running thread's.
inline void begin(const Copy& copy, const Site* site) {
  Copies* copies = &worker->running->copies;
  if (copies->count == copies->capacity) {
    const uint32_t capacity = copies->capacity == 0 ? 16 : 2 * copies->capacity;
    Copy* items = static_cast<Copy*>(realloc(copies->items, capacity * sizeof(Copy)));
    if (items == nullptr) {
      ck_sim_stop("out_of_memory", "asynchronous copies need more memory than there is", site);
    }
    copies->items = items;
    copies->capacity = capacity;
  }
  copies->items[copies->count++] = copy;
  worker->later += copy.mbarrier != nullptr;
}

inline void happen(const Copy& copy) {
  static const Site site = {"an asynchronous copy", 0, "cp.async"};
  if (copy.kind != Copy::kArrival) {
    memmove(copy.to, copy.from, copy.size);
    memset(copy.to + copy.size, 0, copy.bytes - copy.size);
  }
  if (copy.mbarrier != nullptr) {
    const bool arrives = copy.kind == Copy::kArrival;
    advance(copy.mbarrier, arrives ? 1 : 0, 0, arrives ? 0 : -static_cast<int64_t>(copy.bytes),
            &site);
    --worker->later;
  }
}

/// Lets those copies of a thread happen that `due` says, in order.
template <typename Due>
inline void let_happen(Thread* thread, Due due) {
  Copies* copies = &thread->copies;
  uint32_t left = 0;
  for (uint32_t i = 0; i < copies->count; ++i) {
    const Copy copy = copies->items[i];
    if (due(copy, i)) {
      happen(copy);
    } else {
      copies->items[left++] = copy;
    }
  }
  copies->count = left;
}

/// Whether a group is before the last `pending` ones that are closed.
inline bool is_due(uint32_t group, uint32_t open, uint32_t pending) {
  return group < open && open - group > pending;
}

/// Lets everything happen that arrives at an mbarrier of the block, before that is looked at.
inline void let_arrive(Worker* w, const char* mbarrier) {
  if (w->later == 0) {
    return;
  }
  for (uint32_t i = 0; i < w->next_fresh; ++i) {
    Copies* copies = &w->threads[i].copies;
    uint32_t end = 0;  // copies before the last arrival have happened with it
    for (uint32_t k = 0; k < copies->count; ++k) {
      const Copy& copy = copies->items[k];
      end = copy.kind == Copy::kArrival && copy.mbarrier == mbarrier ? k + 1 : end;
    }
    let_happen(&w->threads[i], [mbarrier, end](const Copy& copy, uint32_t k) {
      return copy.mbarrier == mbarrier || (k < end && copy.kind == Copy::kGroup);
    });
  }
}

/// What a thread has begun happens when it has ended, at the latest.
inline void finish_copies(Thread* thread) {
  let_happen(thread, [](const Copy&, uint32_t) { return true; });
}

inline int is_over(char* mbarrier, uint64_t parity, int tries, const Site* site) {
  Worker* w = worker;
  uint64_t* word = word_of(mbarrier, site);
  for (int i = 0;; ++i) {
    let_arrive(w, mbarrier);
    if (phase_of(__atomic_load_n(word, __ATOMIC_ACQUIRE), site).parity != parity) {
      return 1;
    }
    if (i == 1) {
      return 0;
    }
    if (tries == 0) {
      ck_sim_poll(mbarrier, site);
    } else {
      let_others_run(w, site);
    }
  }
}

}  // namespace ck_sim

void ck_sim_copy_later(void* to, const void* from, uint32_t bytes, uint32_t size,
                       const ck_sim::Site* site) {
  using namespace ck_sim;
  if ((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) % bytes != 0) {
    ck_sim_stop("misaligned", "an asynchronous copy must be aligned to its size", site);
  }
  if (size > bytes) {
    ck_sim_stop("misuse", "an asynchronous copy must read no more bytes than it writes", site);
  }
  begin({Copy::kGroup, static_cast<char*>(to), static_cast<const char*>(from), bytes, size, nullptr,
         worker->running->copies.group},
        site);
}

void ck_sim_copy_commit() { ++ck_sim::worker->running->copies.group; }

void ck_sim_copy_wait(uint32_t pending, int all) {
  using namespace ck_sim;
  Thread* self = worker->running;
  if (all != 0) {
    ck_sim_copy_commit();
  }
  const uint32_t open = self->copies.group;
  let_happen(self, [pending, open](const Copy& copy, uint32_t) {
    return copy.kind == Copy::kGroup && is_due(copy.group, open, pending);
  });
}

void ck_sim_copy_arrive(char* mbarrier, int increments, const ck_sim::Site* site) {
  using namespace ck_sim;
  if (increments != 0) {
    advance(mbarrier, -1, 0, 0, site);
  }
  begin({Copy::kArrival, nullptr, nullptr, 0, 0, mbarrier, 0}, site);
}

void ck_sim_bulk_later(void* to, const void* from, uint32_t bytes, char* mbarrier,
                       const ck_sim::Site* site) {
  using namespace ck_sim;
  if ((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | bytes) % 16 != 0) {
    ck_sim_stop("misaligned", "a bulk copy must have a multiple of 16 bytes, at such places", site);
  }
  Worker* w = worker;
  const Copy copy = {
      Copy::kBulk, static_cast<char*>(to),       static_cast<const char*>(from), bytes, bytes,
      mbarrier,    w->running->copies.bulk_group};
  if (mbarrier != nullptr && window_offset(w->window, mbarrier) >= w->window.bytes) {
    ++w->later;
    happen(copy);  // another block's: it cannot ask for the copy
  } else {
    begin(copy, site);
  }
}

void ck_sim_bulk_commit() { ++ck_sim::worker->running->copies.bulk_group; }

void ck_sim_bulk_wait(uint32_t pending) {
  using namespace ck_sim;
  Thread* self = worker->running;
  const uint32_t open = self->copies.bulk_group;
  let_happen(self, [pending, open](const Copy& copy, uint32_t) {
    return copy.kind == Copy::kBulk && copy.mbarrier == nullptr &&
           is_due(copy.group, open, pending);
  });
}

void ck_sim_mbarrier_init(char* mbarrier, uint32_t count, const ck_sim::Site* site) {
  using namespace ck_sim;
  uint64_t* word = word_of(mbarrier, site);
  if (count == 0 || count > kMaxCount) {
    ck_sim_stop("misuse", "an mbarrier must expect 1 to 2**20 - 1 arrivals", site);
  }
  __atomic_store_n(word, packed({count, count, 0, 0}), __ATOMIC_RELEASE);
  ++worker->changes;
}

void ck_sim_mbarrier_invalidate(char* mbarrier, const ck_sim::Site* site) {
  using namespace ck_sim;
  uint64_t* word = word_of(mbarrier, site);
  phase_of(__atomic_load_n(word, __ATOMIC_ACQUIRE), site);
  __atomic_store_n(word, 0, __ATOMIC_RELEASE);
}

uint64_t ck_sim_mbarrier_arrive(char* mbarrier, uint32_t count, uint32_t drops,
                                int32_t transactions, const ck_sim::Site* site) {
  return ck_sim::advance(mbarrier, count, drops, transactions, site);
}

int ck_sim_mbarrier_test(char* mbarrier, uint64_t state, int tries, const ck_sim::Site* site) {
  return ck_sim::is_over(mbarrier, ck_sim::phase_of(state, site).parity, tries, site);
}

int ck_sim_mbarrier_test_parity(char* mbarrier, uint32_t parity, int tries,
                                const ck_sim::Site* site) {
  return ck_sim::is_over(mbarrier, parity & 1, tries, site);
}

uint32_t ck_sim_mbarrier_pending(uint64_t state) {
  return static_cast<uint32_t>(ck_sim::unpack(state).pending);
}
