// SPDX-License-Identifier: MIT
// CUDA's atomic functions and fences. Each lets other threads run afterwards, so a thread that
// waits for another by polling never keeps it from running.
#pragma once

#include <stdint.h>

#include "checked_api.hpp"

namespace ck_sim {

template <typename T>
struct WordOf {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 2, "atomics have 2, 4 or 8 bytes");
  using type = typename WordOf<char[sizeof(T)]>::type;
};
template <>
struct WordOf<char[2]> {
  using type = uint16_t;
};
template <>
struct WordOf<char[4]> {
  using type = uint32_t;
};
template <>
struct WordOf<char[8]> {
  using type = uint64_t;
};

/// What an atomic is beyond a new value: whether that depends on the old one, and whether it writes
/// a value that was there before.
enum Manner { kUpdates, kReplaces, kMayFail };

/// Replaces *address by update(*address) in one step; returns the old value.
template <Manner manner, typename T, typename Update>
CK_SIM_INLINE T atomic_update(T* address, Update update, const char* file, int line) {
  using Word = typename WordOf<T>::type;
  const Word seen = static_cast<Word>(ck_sim_atomic_begin(address, sizeof(T), manner != kReplaces));
  Word wanted;
  T before;
  __builtin_memcpy(&before, &seen, sizeof(T));
  const T after = update(before);
  __builtin_memcpy(&wanted, &after, sizeof(T));
  if (wanted != seen || manner != kMayFail) {
    ck_sim_atomic_end(address, sizeof(T), wanted, wanted != seen);
  }
  const Site site = {file, line};
  ck_sim_yield(wanted != seen, &site);
  return before;
}

/// What the second operand of an atomic may be given as: anything that converts.
template <typename T>
struct Same {
  using type = T;
};

}  // namespace ck_sim

#define CK_SIM_ATOMIC(name, manner, expression) \
  template <typename T> \
  CK_SIM_INLINE T name(T* address, typename ck_sim::Same<T>::type operand, CK_SIM_HERE) { \
    return ck_sim::atomic_update<ck_sim::manner>( \
        address, [operand](T old) -> T { return static_cast<T>(expression); }, file, line); \
  } \
  template <typename T> \
  CK_SIM_INLINE T name##_block(T* address, typename ck_sim::Same<T>::type operand, CK_SIM_HERE) { \
    return name(address, operand, file, line); \
  } \
  template <typename T> \
  CK_SIM_INLINE T name##_system(T* address, typename ck_sim::Same<T>::type operand, CK_SIM_HERE) { \
    return name(address, operand, file, line); \
  }
CK_SIM_ATOMIC(atomicAdd, kUpdates, old + operand)
CK_SIM_ATOMIC(atomicSub, kUpdates, old - operand)
CK_SIM_ATOMIC(atomicExch, kReplaces, operand)
CK_SIM_ATOMIC(atomicMin, kUpdates, old < operand ? old : operand)
CK_SIM_ATOMIC(atomicMax, kUpdates, old > operand ? old : operand)
CK_SIM_ATOMIC(atomicAnd, kUpdates, old& operand)
CK_SIM_ATOMIC(atomicOr, kUpdates, old | operand)
CK_SIM_ATOMIC(atomicXor, kUpdates, old ^ operand)
CK_SIM_ATOMIC(atomicInc, kUpdates, old >= operand ? 0 : old + 1)
CK_SIM_ATOMIC(atomicDec, kUpdates, old == 0 || old > operand ? operand : old - 1)
#undef CK_SIM_ATOMIC

template <typename T>
CK_SIM_INLINE T atomicCAS(T* address, typename ck_sim::Same<T>::type compare,
                          typename ck_sim::Same<T>::type value, CK_SIM_HERE) {
  // By bits, as on the GPU: a NaN equals itself here, and -0.0 differs from 0.0.
  const auto update = [compare, value](T old) -> T {
    return __builtin_memcmp(&old, &compare, sizeof(T)) == 0 ? value : old;
  };
  return ck_sim::atomic_update<ck_sim::kMayFail>(address, update, file, line);
}

inline void __threadfence(CK_SIM_HERE) {
  const ck_sim::Site site = {file, line};
  ck_sim_yield(0, &site);
}
inline void __threadfence_block(CK_SIM_HERE) { __threadfence(file, line); }
inline void __threadfence_system(CK_SIM_HERE) { __threadfence(file, line); }
inline void __nanosleep(unsigned, CK_SIM_HERE) { __threadfence(file, line); }
