// SPDX-License-Identifier: MIT
// Threads that poll memory by volatile reads. A kernel whose text has the word volatile is compiled
// with the calls of the compiler's thread sanitizer; the runtime answers those of volatile accesses
// by letting other threads run, and has nothing to do for the rest.
#pragma once

#include "scheduler.hpp"

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

}  // namespace ck_sim

#ifndef CK_SIM_CHECKED
namespace ck_sim {

template <typename Word>
inline bool exchange(void* at, uint64_t* seen, uint64_t wanted) {
  Word bits = static_cast<Word>(*seen);
  const bool done =
      __atomic_compare_exchange_n(static_cast<Word*>(at), &bits, static_cast<Word>(wanted), false,
                                  __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
  *seen = bits;
  return done;
}

}  // namespace ck_sim

CK_SIM_EXPORT uint64_t ck_sim_word_load(const void* word, uint32_t bytes) {
  return bytes == 8   ? __atomic_load_n(static_cast<const uint64_t*>(word), __ATOMIC_RELAXED)
         : bytes == 4 ? __atomic_load_n(static_cast<const uint32_t*>(word), __ATOMIC_RELAXED)
                      : __atomic_load_n(static_cast<const uint16_t*>(word), __ATOMIC_RELAXED);
}
CK_SIM_EXPORT int ck_sim_word_exchange(void* word, uint32_t bytes, uint64_t* seen,
                                       uint64_t wanted) {
  return bytes == 8   ? ck_sim::exchange<uint64_t>(word, seen, wanted)
         : bytes == 4 ? ck_sim::exchange<uint32_t>(word, seen, wanted)
                      : ck_sim::exchange<uint16_t>(word, seen, wanted);
}
#define CK_SIM_WIDTH(bytes) \
  CK_SIM_EXPORT void __tsan_read##bytes(void*) {} \
  CK_SIM_EXPORT void __tsan_write##bytes(void*) {} \
  CK_SIM_EXPORT void __tsan_unaligned_read##bytes(void*) {} \
  CK_SIM_EXPORT void __tsan_unaligned_write##bytes(void*) {} \
  CK_SIM_EXPORT void __tsan_volatile_read##bytes(void* address) { \
    ck_sim::poll(address, nullptr); \
  } \
  CK_SIM_EXPORT void __tsan_volatile_write##bytes(void*) { \
    if (ck_sim::worker != nullptr) { \
      ck_sim::note_progress(ck_sim::worker->launch); \
    } \
  } \
  CK_SIM_EXPORT void __tsan_unaligned_volatile_read##bytes(void* address) { \
    ck_sim::poll(address, nullptr); \
  } \
  CK_SIM_EXPORT void __tsan_unaligned_volatile_write##bytes(void* address) { \
    __tsan_volatile_write##bytes(address); \
  }
CK_SIM_WIDTH(1)
CK_SIM_WIDTH(2)
CK_SIM_WIDTH(4)
CK_SIM_WIDTH(8)
CK_SIM_WIDTH(16)
#undef CK_SIM_WIDTH
CK_SIM_EXPORT void __tsan_init() {}
CK_SIM_EXPORT void __tsan_read_range(void*, size_t) {}
CK_SIM_EXPORT void __tsan_write_range(void*, size_t) {}
CK_SIM_EXPORT void* __tsan_memset(void* to, int value, size_t bytes) {
  return memset(to, value, bytes);
}
CK_SIM_EXPORT void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
  return memcpy(to, from, bytes);
}
CK_SIM_EXPORT void* __tsan_memmove(void* to, const void* from, size_t bytes) {
  return memmove(to, from, bytes);
}
CK_SIM_EXPORT void __tsan_vptr_read(void**) {}
CK_SIM_EXPORT void __tsan_vptr_update(void**, void*) {}
#endif
