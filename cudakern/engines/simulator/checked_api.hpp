// SPDX-License-Identifier: MIT
// What a kernel, compiled from its text for checked launches, asks of the runtime that checks.
#pragma once

#include "runtime.hpp"

namespace ck_sim {

/// Reads a word of the runtime's without a call to the checker.
template <typename T>
__attribute__((always_inline)) inline T peek(const T& from) {
#if defined(__x86_64__)
  T value;
  asm("mov %1, %0" : "=r"(value) : "m"(from));
  return value;
#elif defined(__aarch64__)
  T value;
  if constexpr (sizeof(T) == 8) {
    asm("ldr %x0, %1" : "=r"(value) : "m"(from));
  } else {
    asm("ldr %w0, %1" : "=r"(value) : "m"(from));
  }
  return value;
#else
  return from;
#endif
}

__attribute__((always_inline)) inline const View* view() { return peek(ck_sim_current); }
__attribute__((always_inline)) inline const Group* group() { return peek(view()->group); }
__attribute__((always_inline)) inline Index3 peek3(const Index3& from) {
  return {peek(from.x), peek(from.y), peek(from.z)};
}

}  // namespace ck_sim

/// Waits for all threads of the block; returns the count, conjunction or disjunction of
/// `predicate`.
CK_SIM_EXPORT int ck_sim_barrier(ck_sim::Barrier kind, int predicate, const ck_sim::Site* site);

/// Waits for all lanes of `mask`; returns what each of them gave: 32 values, valid until this lane
/// calls the runtime again.
CK_SIM_EXPORT const uint64_t* ck_sim_collective(unsigned mask, uint64_t value,
                                                const ck_sim::Site* site);

/// printf; its output is complete when the launch is.
CK_SIM_EXPORT int ck_sim_print(const char* format, ...) __attribute__((format(printf, 1, 2)));

// An atomic: begin returns the bits that are there, which it `reads` unless it only replaces them;
// end, not called if it fails, stores the new ones.
CK_SIM_EXPORT uint64_t ck_sim_atomic_begin(void* address, uint32_t bytes, int reads);
CK_SIM_EXPORT void ck_sim_atomic_end(void* address, uint32_t bytes, uint64_t bits, int changed);
// memmove and memset, which the compiler does not instrument.
CK_SIM_EXPORT void* ck_sim_copy(void* to, const void* from, size_t bytes);
CK_SIM_EXPORT void* ck_sim_fill(void* to, int value, size_t bytes);
