// Atomics. They tell the runtime what they did to memory: threads that change nothing may wait.
#pragma once

#include "ptx.hpp"

namespace ck_ptx {

/// The site of an atomic in a kernel that does not poll: the runtime need not know what it did.
struct Quiet {
  const ck_sim::Site* site;
  operator const ck_sim::Site*() const { return site; }
};
CK_INLINE void report_update(const void* word, ck_sim_update update, const ck_sim::Site* site) {
  ck_sim_updated(word, update, site);
}
CK_INLINE void report_update(const void*, ck_sim_update, Quiet) {}

/// What an atomic did that has written.
CK_INLINE ck_sim_update update_of(bool changed) { return changed ? ck_sim_changed : ck_sim_kept; }

/// Replaces a word by `update` of it in one step. Returns what was there.
template <typename T, typename Update>
CK_INLINE T replace(T* word, Update update, bool* changed) {
  T seen = __atomic_load_n(word, __ATOMIC_RELAXED), wanted;
  do {
    wanted = update(seen);
  } while (
      !__atomic_compare_exchange_n(word, &seen, wanted, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
  *changed = *changed || wanted != seen;
  return seen;
}
template <typename T, typename S, typename Update>
CK_INLINE T atomic_update(char* address, S site, Update update) {
  T* const word = to_update<T>(address, site);
  bool changed = false;
  const T seen = replace(word, update, &changed);
  report_update(word, update_of(changed), site);
  return seen;
}
/// Replaces each element, as a word T, in one step, but not all of them together.
template <typename T, typename V, int N, typename S, typename Update>
CK_INLINE void update_each(V (&d)[N], char* address, V (&b)[N], S site, Update update) {
  T* const words = to_update<T>(address, site);
  bool changed = false;
  for (int i = 0; i < N; ++i) {
    const V value = b[i];
    d[i] = bit_cast<V>(replace(words + i, [&](T old) { return update(old, value); }, &changed));
  }
  report_update(words, update_of(changed), site);
}

#define CK_ATOMIC(name, builtin, changed) \
  template <typename T, typename S> \
  CK_INLINE T name(char* address, T value, S site) { \
    T* const word = to_update<T>(address, site); \
    const T old = builtin(word, value, __ATOMIC_SEQ_CST); \
    report_update(word, update_of(changed), site); \
    return old; \
  }
CK_ATOMIC(atomic_add, __atomic_fetch_add, value != 0)
CK_ATOMIC(atomic_and, __atomic_fetch_and, (old & value) != old)
CK_ATOMIC(atomic_or, __atomic_fetch_or, (old | value) != old)
CK_ATOMIC(atomic_xor, __atomic_fetch_xor, value != 0)
#undef CK_ATOMIC

/// Those that the host has no instruction for.
#define CK_UPDATE(name, updated) \
  template <typename T, typename S> \
  CK_INLINE T name(char* address, T value, S site) { \
    return atomic_update<T>(address, site, [value](T old) -> T { return updated; }); \
  }
CK_UPDATE(atomic_min, value < old ? value : old)
CK_UPDATE(atomic_max, old < value ? value : old)
CK_UPDATE(atomic_inc, old >= value ? 0 : old + 1)
CK_UPDATE(atomic_dec, old == 0 || old > value ? value : old - 1)
#undef CK_UPDATE

template <typename T, typename S>
CK_INLINE T atomic_exchange(char* address, T value, S site) {
  T* const word = to_update<T>(address, site);
  T old;
  if constexpr (sizeof(T) == 16) {
    ck_sim_exchange_16(word, nullptr, &value, &old);
  } else {
    old = __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
  }
  report_update(word, update_of(old != value), site);
  return old;
}
template <typename T, typename S>
CK_INLINE T atomic_cas(char* address, T compare, T value, S site) {
  T* const word = to_update<T>(address, site);
  T old = compare;
  if constexpr (sizeof(T) == 16) {
    ck_sim_exchange_16(word, &compare, &value, &old);
  } else {
    __atomic_compare_exchange_n(word, &old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  }
  report_update(word, old == compare ? update_of(value != compare) : ck_sim_failed, site);
  return old;
}

/// Whether atom.add.f32 takes subnormals for zeros, as it does in global memory.
CK_INLINE bool flushes(const ck_sim::View* me, const char* address, u32 access) {
  const ck_sim::Space space = ck_sim::space_of(access);
  return space == ck_sim::Space::kGlobal ||
         (space == ck_sim::Space::kGeneric && shared_rank(me, address) < 0);
}
CK_INLINE f32 flushed_sum(f32 a, f32 b, bool flush) {
  const f32 least = 0x1p-126f;
  a = flush && __builtin_fabsf(a) < least ? __builtin_copysignf(0, a) : a;
  b = flush && __builtin_fabsf(b) < least ? __builtin_copysignf(0, b) : b;
  const f32 sum = a + b;
  if (sum != sum) return bit_cast<f32>(0x7FFFFFFFu);
  return flush && __builtin_fabsf(sum) < least ? __builtin_copysignf(0, sum) : sum;
}
template <typename S>
CK_INLINE f32 atomic_add_f32(char* address, f32 value, bool flush, S site) {
  return bit_cast<f32>(atomic_update<u32>(address, site, [value, flush](u32 old) {
    return bit_cast<u32>(flushed_sum(bit_cast<f32>(old), value, flush));
  }));
}
template <typename S>
CK_INLINE f64 atomic_add_f64(char* address, f64 value, S site) {
  return bit_cast<f64>(atomic_update<u64>(
      address, site, [value](u64 old) { return bit_cast<u64>(bit_cast<f64>(old) + value); }));
}
template <int N, typename S>
static inline void each_add_f32(const ck_sim::View* me, f32 (&d)[N], char* address, f32 (&b)[N],
                                u32 access, S site) {
  const bool flush = flushes(me, address, access);
  update_each<u32>(d, address, b, site, [flush](u32 old, f32 value) {
    return bit_cast<u32>(flushed_sum(bit_cast<f32>(old), value, flush));
  });
}

}  // namespace ck_ptx
