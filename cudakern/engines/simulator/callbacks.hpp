// SPDX-License-Identifier: MIT
// What instrumented kernels call: the entry points of the compiler's thread sanitizer, and those of
// the simulator's own headers in checked mode.
#pragma once

#include "checked_api.hpp"
#include "checker.hpp"

#define CK_SIM_CODE __builtin_return_address(0)

namespace ck_sim {

constexpr unsigned kReadsPerPoll = 16;

/// Before a volatile read: lets others run if it is a repeated one, or one of many.
inline void poll(const void* address, const void* code) {
  Worker* w = worker;
  if (w == nullptr || !w->guard.armed) {
    return;
  }
  Thread* self = w->running;
  if (self->polled != address && ++self->polls % kReadsPerPoll != 0) {
    self->polled = address;
    return;
  }
  self->site = {"a loop around a volatile read", 0};
  self->code = code;
  self->state = State::kReady;
  suspend(w, self);
}

/// Volatile accesses to global memory are what flags are polled with: they order like atomics. In
/// shared memory they stand for the belief that a warp runs in lockstep, and order nothing.
inline void on_volatile(const void* where, uint32_t bytes, uint32_t alignment, bool write,
                        const void* code) {
  if (!write) {
    poll(where, code);
  }
  const bool shared = memory_map.is_shared(where);
  on_access(where, bytes, alignment, write ? kStore : kLoad, !shared, code);
  if (write && !shared && checker.checks && worker != nullptr && worker->guard.armed) {
    release(worker, running_thread(worker), channel_key(worker, where));
  }
}

/// A structure, or a call of memcpy: as the words, or bytes, that a GPU moves one by one.
inline void on_range(const void* where, size_t bytes, bool write, const void* code) {
  const char* const start = static_cast<const char*>(where);
  const uint32_t step = (reinterpret_cast<uint64_t>(where) | bytes) % 4 == 0 ? 4 : 1;
  checker.pieces = 1;
  checker.fresh = 0;
  for (size_t i = 0; i < bytes; i += step) {
    on_access(start + i, step, 1, write ? kStore : kLoad, false, code);
  }
  checker.pieces = 0;
  if (bytes != 0 && checker.fresh == (bytes + step - 1) / step) {  // else it may be padding
    report(checker.first_fresh, "uninitialized");
  }
}

/// An access that need not be aligned as a whole.
inline void on_unaligned(const void* where, uint32_t bytes, bool write, const void* code) {
  if (bytes > 4) {
    on_range(where, bytes, write, code);
  } else {
    on_access(where, bytes, 1, write ? kStore : kLoad, false, code);
  }
}

}  // namespace ck_sim

#define CK_SIM_WIDTH(bytes) \
  CK_SIM_EXPORT void __tsan_read##bytes(void* a) { \
    ck_sim::on_access(a, bytes, bytes, ck_sim::kLoad, false, CK_SIM_CODE); \
  } \
  CK_SIM_EXPORT void __tsan_write##bytes(void* a) { \
    ck_sim::on_access(a, bytes, bytes, ck_sim::kStore, false, CK_SIM_CODE); \
  } \
  CK_SIM_EXPORT void __tsan_unaligned_read##bytes(void* a) { \
    ck_sim::on_unaligned(a, bytes, false, CK_SIM_CODE); \
  } \
  CK_SIM_EXPORT void __tsan_unaligned_write##bytes(void* a) { \
    ck_sim::on_unaligned(a, bytes, true, CK_SIM_CODE); \
  } \
  CK_SIM_EXPORT void __tsan_volatile_read##bytes(void* a) { \
    ck_sim::on_volatile(a, bytes, bytes, false, CK_SIM_CODE); \
  } \
  CK_SIM_EXPORT void __tsan_volatile_write##bytes(void* a) { \
    ck_sim::on_volatile(a, bytes, bytes, true, CK_SIM_CODE); \
  } \
  CK_SIM_EXPORT void __tsan_unaligned_volatile_read##bytes(void* a) { \
    ck_sim::on_volatile(a, bytes, 1, false, CK_SIM_CODE); \
  } \
  CK_SIM_EXPORT void __tsan_unaligned_volatile_write##bytes(void* a) { \
    ck_sim::on_volatile(a, bytes, 1, true, CK_SIM_CODE); \
  }
CK_SIM_WIDTH(1)
CK_SIM_WIDTH(2)
CK_SIM_WIDTH(4)
CK_SIM_WIDTH(8)
CK_SIM_WIDTH(16)
#undef CK_SIM_WIDTH

CK_SIM_EXPORT void __tsan_init() {}
CK_SIM_EXPORT void __tsan_read_range(void* a, size_t bytes) {
  ck_sim::on_range(a, bytes, false, CK_SIM_CODE);
}
CK_SIM_EXPORT void __tsan_write_range(void* a, size_t bytes) {
  ck_sim::on_range(a, bytes, true, CK_SIM_CODE);
}
CK_SIM_EXPORT void __tsan_vptr_read(void** a) {
  ck_sim::on_access(a, 8, 8, ck_sim::kLoad, false, CK_SIM_CODE);
}
CK_SIM_EXPORT void __tsan_vptr_update(void** a, void*) {
  ck_sim::on_access(a, 8, 8, ck_sim::kStore, false, CK_SIM_CODE);
}

uint64_t ck_sim_atomic_begin(void* address, uint32_t bytes, int reads) {
  const auto kind = reads != 0 ? ck_sim::kAtomicUpdate : ck_sim::kAtomicReplace;
  ck_sim::on_access(address, bytes, bytes, kind, true, CK_SIM_CODE);
  uint64_t bits = 0;
  memcpy(&bits, address, bytes);
  return bits;
}

void ck_sim_atomic_end(void* address, uint32_t bytes, uint64_t bits, int changed) {
  ck_sim::Worker* w = ck_sim::worker;
  const uint32_t self = ck_sim::running_thread(w);
  memcpy(address, &bits, bytes);
  ck_sim::checker.writes += changed != 0;
  if (ck_sim::checker.checks && (changed != 0 || w->checked.order[self].dirty)) {
    ck_sim::release(w, self, ck_sim::channel_key(w, address));
  }
}

void* ck_sim_copy(void* to, const void* from, size_t bytes) {
  ck_sim::on_range(from, bytes, false, CK_SIM_CODE);
  ck_sim::on_range(to, bytes, true, CK_SIM_CODE);
  return memmove(to, from, bytes);
}

void* ck_sim_fill(void* to, int value, size_t bytes) {
  ck_sim::on_range(to, bytes, true, CK_SIM_CODE);
  return memset(to, value, bytes);
}
