// mbarrier objects, and copies that only happen when somebody waits for them.
#pragma once

#include "collectives.hpp"

namespace ck_sim {

// The eight bytes have, from the low end: how many arrivals a phase expects, how many this phase
// lacks, how many transactions it lacks, in two's complement, the parity of the phase, and a mark.
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

inline uint64_t pack(const Phase& phase) {
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

inline bool may_use(char* mbarrier, const Site* site) {
  word_of(mbarrier, site);
  return check_mbarrier(worker, mbarrier, site) == mbarrier;
}

/// Changes the counts of a phase, which may complete it. Returns the word from before.
inline uint64_t update_phase(char* mbarrier, int64_t arrivals, int64_t drops, int64_t transactions,
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
    wanted = pack(phase);
  } while (
      !__atomic_compare_exchange_n(word, &seen, wanted, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  ++worker->changes;
  return seen;
}

/// Adds a copy of the running thread, which is to happen later.
inline void add_copy(Worker* w, Copy copy) {
  Copies* copies = &w->running->copies;
  if (!begin_copy(w, w->running, &copy)) {
    copy.to = nullptr;
  }
  if (copies->count == copies->capacity) {
    const uint32_t capacity = copies->capacity == 0 ? 16 : 2 * copies->capacity;
    Copy* items = static_cast<Copy*>(realloc(copies->items, capacity * sizeof(Copy)));
    if (items == nullptr) {
      ck_sim_stop("out_of_memory", "asynchronous copies need more memory than there is", copy.site);
    }
    copies->items = items;
    copies->capacity = capacity;
  }
  copies->items[copies->count++] = copy;
  w->later += copy.mbarrier != nullptr;
  w->copies = true;
}

inline void carry_out_copy(Worker* w, Thread* thread, const Copy& copy, bool detached) {
  if (copy.to != nullptr || copy.kind == Copy::kArrival) {
    end_copy(w, thread, copy, detached);
  }
  if (copy.to != nullptr) {
    memmove(copy.to, copy.from, copy.size);
    memset(copy.to + copy.size, 0, copy.bytes - copy.size);
  }
  if (copy.mbarrier != nullptr) {
    const bool arrives = copy.kind == Copy::kArrival;
    update_phase(copy.mbarrier, arrives ? 1 : 0, 0, arrives ? 0 : -static_cast<int64_t>(copy.bytes),
                 copy.site);
    --w->later;
  }
}

/// Has those copies of a thread happen for which `due` holds, in order. The thread waits for
/// them itself, unless they are `detached`: then they count with the time when they began.
template <typename Due>
inline void carry_out_copies(Worker* w, Thread* thread, bool detached, Due due) {
  Copies* copies = &thread->copies;
  uint32_t left = 0;
  for (uint32_t i = 0; i < copies->count; ++i) {
    const Copy copy = copies->items[i];
    if (due(copy, i)) {
      carry_out_copy(w, thread, copy, detached);
    } else {
      copies->items[left++] = copy;
    }
  }
  copies->count = left;
}

/// Has copies of the running thread happen, but for the open group and `pending` ones before it.
inline void finish_groups(Copy::Kind kind, uint32_t open, uint32_t pending) {
  Worker* w = current();
  carry_out_copies(w, w->running, false, [=](const Copy& copy, uint32_t) {
    return copy.kind == kind && copy.mbarrier == nullptr && open - copy.group > pending;
  });
}

/// Has everything happen that arrives at an mbarrier of the block, which is about to be read.
inline void carry_out_arrivals(Worker* w, const char* mbarrier) {
  if (w->later == 0) return;
  for (uint32_t i = 0; i < w->launch->threads; ++i) {
    Copies* copies = &w->threads[i].copies;
    uint32_t end = 0;  // copies before the last arrival happen with it
    for (uint32_t k = 0; k < copies->count; ++k) {
      const Copy& copy = copies->items[k];
      end = copy.kind == Copy::kArrival && copy.mbarrier == mbarrier ? k + 1 : end;
    }
    carry_out_copies(w, &w->threads[i], true, [mbarrier, end](const Copy& copy, uint32_t k) {
      return copy.mbarrier == mbarrier || (k < end && copy.kind == Copy::kGroup);
    });
  }
}

/// Has all copies of a thread happen, which has ended.
inline void finish_copies(Worker* w, Thread* thread) {
  carry_out_copies(w, thread, true, [](const Copy&, uint32_t) { return true; });
}

inline int test_phase(char* mbarrier, uint64_t parity, int tries, const Site* site) {
  Worker* w = current();
  uint64_t* word = word_of(mbarrier, site);
  if (!may_use(mbarrier, site)) return 1;
  for (int i = 0; phase_of(__atomic_load_n(word, __ATOMIC_ACQUIRE), site).parity == parity; ++i) {
    if (i == 0) {
      carry_out_arrivals(w, mbarrier);
    } else if (i == 2) {
      return 0;
    } else if (tries == 0) {
      ck_sim_poll(mbarrier, site);
    } else {
      let_others_run(w, site);
    }
  }
  acquire_mbarrier(w, mbarrier, site);
  return 1;
}

CK_SIM_EXPORT void ck_sim_copy_later(void* to, const void* from, uint32_t bytes, uint32_t size,
                                     const Site* site) {
  if ((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) % bytes != 0) {
    ck_sim_stop("misaligned", "an asynchronous copy must be aligned to its size", site);
  }
  if (size > bytes) {
    ck_sim_stop("misuse", "an asynchronous copy must read no more bytes than it writes", site);
  }
  Worker* w = current();
  add_copy(w, {Copy::kGroup, static_cast<char*>(to), static_cast<const char*>(from), bytes, size,
               nullptr, w->running->copies.group, site, 0});
}

CK_SIM_EXPORT void ck_sim_copy_commit() { ++current()->running->copies.group; }

CK_SIM_EXPORT void ck_sim_copy_wait(uint32_t pending, int all) {
  if (all != 0) {
    ck_sim_copy_commit();
  }
  finish_groups(Copy::kGroup, current()->running->copies.group, pending);
}

CK_SIM_EXPORT void ck_sim_copy_arrive(char* mbarrier, int increments, const Site* site) {
  if (!may_use(mbarrier, site)) return;
  if (increments != 0) {
    update_phase(mbarrier, -1, 0, 0, site);
  }
  add_copy(worker, {Copy::kArrival, nullptr, nullptr, 0, 0, mbarrier, 0, site, 0});
}

CK_SIM_EXPORT void ck_sim_bulk_later(void* to, const void* from, uint32_t bytes, char* mbarrier,
                                     const Site* site) {
  if ((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | bytes) % 16 != 0) {
    ck_sim_stop("misaligned", "a bulk copy must have a multiple of 16 bytes, at such places", site);
  }
  Worker* w = current();
  if (mbarrier != nullptr && !may_use(mbarrier, site)) return;
  add_copy(w, {Copy::kBulk, static_cast<char*>(to), static_cast<const char*>(from), bytes, bytes,
               mbarrier, w->running->copies.bulk_group, site, 0});
  if (mbarrier != nullptr && window_offset(w->window, mbarrier) >= w->window.bytes) {
    // It is another block's, which cannot ask for the copy.
    const uint32_t last = w->running->copies.count - 1;
    carry_out_copies(w, w->running, true, [last](const Copy&, uint32_t i) { return i == last; });
  }
}

CK_SIM_EXPORT void ck_sim_bulk_commit() { ++current()->running->copies.bulk_group; }

CK_SIM_EXPORT void ck_sim_bulk_wait(uint32_t pending) {
  finish_groups(Copy::kBulk, current()->running->copies.bulk_group, pending);
}

CK_SIM_EXPORT void ck_sim_mbarrier_init(char* mbarrier, uint32_t count, const Site* site) {
  uint64_t* word = word_of(mbarrier, site);
  if (count == 0 || count > kMaxCount) {
    ck_sim_stop("misuse", "an mbarrier must expect 1 to 2**20 - 1 arrivals", site);
  }
  if (may_use(mbarrier, site)) {
    order_forget(mbarrier);
    __atomic_store_n(word, pack({count, count, 0, 0}), __ATOMIC_RELEASE);
    ++worker->changes;
  }
}

CK_SIM_EXPORT void ck_sim_mbarrier_invalidate(char* mbarrier, const Site* site) {
  uint64_t* word = word_of(mbarrier, site);
  if (may_use(mbarrier, site)) {
    phase_of(__atomic_load_n(word, __ATOMIC_ACQUIRE), site);
    __atomic_store_n(word, 0, __ATOMIC_RELEASE);
  }
}

CK_SIM_EXPORT uint64_t ck_sim_mbarrier_arrive(char* mbarrier, uint32_t count, uint32_t drops,
                                              int32_t transactions, const Site* site) {
  return may_use(mbarrier, site) ? update_phase(mbarrier, count, drops, transactions, site) : kMark;
}

CK_SIM_EXPORT int ck_sim_mbarrier_test(char* mbarrier, uint64_t state, int tries,
                                       const Site* site) {
  return test_phase(mbarrier, phase_of(state, site).parity, tries, site);
}

CK_SIM_EXPORT int ck_sim_mbarrier_test_parity(char* mbarrier, uint32_t parity, int tries,
                                              const Site* site) {
  return test_phase(mbarrier, parity & 1, tries, site);
}

CK_SIM_EXPORT uint32_t ck_sim_mbarrier_pending(uint64_t state) {
  return static_cast<uint32_t>(unpack(state).pending);
}

}  // namespace ck_sim
