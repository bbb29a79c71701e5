// Accesses to memory. Checked launches ask the checker before each; it says where to access.
#pragma once

#include "runtime_api.hpp"
#include "types.hpp"
#include "undefined.hpp"

namespace ck_ptx {

#ifdef CK_SIM_CHECKED
template <typename T>
CK_INLINE const char* to_read(const char* address, const ck_sim::Site* site) {
  return ck_sim_read(address, site);
}
template <typename T>
CK_INLINE char* to_write(char* address, const void* value, const ck_sim::Site* site) {
  return ck_sim_write(address, value, site);
}
template <typename T>
CK_INLINE char* to_write(char* address, const void* value, const ck_sim::Site* site,
                         u64 undefined) {
  return __builtin_expect(!has_bytes(undefined), 1)
             ? ck_sim_write(address, value, site)
             : ck_sim_write_undefined(address, value, &undefined, sizeof(T), site);
}
template <typename T, int N>
CK_INLINE char* to_write(char* address, const void* value, const ck_sim::Site* site,
                         const u64 (&undefined)[N]) {
  u64 all = 0;
  for (u64 one : undefined) {
    all |= one;
  }
  return __builtin_expect(!has_bytes(all), 1)
             ? ck_sim_write(address, value, site)
             : ck_sim_write_undefined(address, value, undefined, sizeof(T), site);
}
template <typename T>
CK_INLINE T* to_update(char* address, const ck_sim::Site* site) {
  return reinterpret_cast<T*>(ck_sim_atomic(address, site));
}

/// Counts a basic block, which begins. See traffic.hpp.
CK_INLINE void count_block(const ck_sim::View* me, u32 block) {
  ++me->executions[ck_sim::kWarpSize * block];
}

/// A call, while it runs. Each call in a module has a number of its own.
struct Call {
  const ck_sim::View* me;
  u64 before;
  Call(const ck_sim::View* caller, u64 number) : me(caller), before(caller->calls) {
    me->calls = (before + number) * 0x9E3779B97F4A7C15u;
  }
  ~Call() { me->calls = before; }
};

template <u64 bytes, u64 alignment>
struct Local {
  char before[128];
  alignas(alignment) char data[bytes];
  char after[128];
  unsigned char written[(bytes + 7) / 8];
  ck_sim_local self;
  Local() : written{}, self{data, bytes, written, "local memory", nullptr} {
    ck_sim_enter_local(&self);
  }
  ~Local() { ck_sim_leave_local(&self); }
};
#else
/// Ends the launch unless an address is a multiple of the size of T.
template <typename T>
CK_INLINE void check_alignment(const void* address, const ck_sim::Site* site) {
  if (__builtin_expect((reinterpret_cast<uintptr_t>(address) & (sizeof(T) - 1)) != 0, 0)) {
    ck_sim_stop("misaligned", "an access with an order must be aligned to its size", site);
  }
}
template <typename T>
CK_INLINE const char* to_read(const char* address, const ck_sim::Site* site) {
  check_alignment<T>(address, site);
  return address;
}
template <typename T>
CK_INLINE char* to_write(char* address, const void*, const ck_sim::Site* site) {
  check_alignment<T>(address, site);
  return address;
}
template <typename T>
CK_INLINE T* to_update(char* address, const ck_sim::Site* site) {
  check_alignment<T>(address, site);
  return reinterpret_cast<T*>(address);
}
#endif

/// The words of the elements that a store writes; it may follow the site.
template <int N>
struct Undefined {
  u64 words[N];
};

// Stores without an order of one value, or of several one after the other.
#ifdef CK_SIM_CHECKED
template <typename T>
CK_INLINE u64 word_of(T value) {
  return value;
}
CK_INLINE u64 word_of(f32 value) { return bit_cast<u32>(value); }
CK_INLINE u64 word_of(f64 value) { return bit_cast<u64>(value); }
template <typename T>
CK_INLINE void put(char* address, T value, const ck_sim::Site* site, u64 undefined = 0) {
  if constexpr (sizeof value <= sizeof undefined) {
    ck_sim_put(address, word_of(value), site, undefined);
  } else {
    store<T>(to_write<T>(address, &value, site, undefined), value);
  }
}
#else
template <typename T>
CK_INLINE void put(char* address, T value, const ck_sim::Site* site) {
  store<T>(to_write<T>(address, &value, site), value);
}
#endif
template <typename T, int N, typename... U>
CK_OUTLINE void put(char* address, const T (&values)[N], const ck_sim::Site* site,
                    const U&... undefined) {
  memcpy(to_write<T>(address, values, site, undefined.words...), values, sizeof values);
}

// Loads and stores with an order, which is acquire and release or stronger.

/// Where a load with an order is to read. Others may run before.
template <typename T>
CK_OUTLINE const char* polled(const char* address, const ck_sim::Site* site) {
  ck_sim_poll(address, site);
  return to_read<T>(address, site);
}
template <typename T>
CK_INLINE T load_ordered(const char* address) {
  T value;
  if constexpr (sizeof(T) == 16) {
    const char zero[16] = {};
    ck_sim_exchange_16(const_cast<char*>(address), zero, zero, &value);
  } else {
    __atomic_load(reinterpret_cast<const T*>(address), &value, __ATOMIC_ACQUIRE);
  }
  return value;
}
template <typename T>
CK_INLINE void publish(char* address, const T* values, int count) {
  for (int i = 0; i < count; ++i) {
    if constexpr (sizeof(T) == 16) {
      T before;
      ck_sim_exchange_16(address + sizeof(T) * i, nullptr, values + i, &before);
    } else {
      __atomic_store(reinterpret_cast<T*>(address) + i, const_cast<T*>(values + i),
                     __ATOMIC_RELEASE);
    }
  }
  ck_sim_stored();
}
template <typename T, typename... U>
CK_OUTLINE void put_ordered(char* address, T value, const ck_sim::Site* site, U... undefined) {
  publish(to_write<T>(address, &value, site, undefined...), &value, 1);
}
template <typename T, int N, typename... U>
CK_OUTLINE void put_ordered(char* address, const T (&values)[N], const ck_sim::Site* site,
                            const U&... undefined) {
  publish(to_write<T>(address, values, site, undefined.words...), values, N);
}

/// How many iterations of loops there are before others may run.
constexpr u32 kTurns = 1u << 20;
#if defined(__x86_64__) && defined(__AVX__)
/// Lets others run, and keeps the vector registers, so that the floats of a loop stay in these.
CK_OUTLINE void turn_now(const ck_sim::Site* site) {
  alignas(32) char saved[16][32];
#define CK_EACH(_) \
  _(0) _(1) _(2) _(3) _(4) _(5) _(6) _(7) _(8) _(9) _(10) _(11) _(12) _(13) _(14) _(15)
#define CK_SAVE(n) "vmovaps %%ymm" #n ", 32*" #n "(%[saved])\n"
#define CK_LOAD(n) "vmovaps 32*" #n "(%[saved]), %%ymm" #n "\n"
  register char (*place)[32] asm("r12") = saved;
  register const ck_sim::Site* argument asm("rdi") = site;
  register void (*function)(const ck_sim::Site*) asm("rax") = ck_sim_turn;
  // The compiler does not know that this is a call: 128 bytes below the stack may be in use.
  asm volatile(CK_EACH(CK_SAVE) "mov %%rsp, %%rbx\nsub $128, %%rsp\nand $-16, %%rsp\n"
               "call *%[function]\nmov %%rbx, %%rsp\n" CK_EACH(CK_LOAD)
               : "+r"(argument), [function] "+r"(function)
               : [saved] "r"(place)
               : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "cc", "memory");
#undef CK_LOAD
#undef CK_SAVE
#undef CK_EACH
}
#else
CK_OUTLINE void turn_now(const ck_sim::Site* site) { ck_sim_turn(site); }
#endif
CK_INLINE void turn(u32& turns, const ck_sim::Site* site) {
  if (__builtin_expect(++turns == kTurns, 0)) {
    turns = 0;
    turn_now(site);
  }
}

}  // namespace ck_ptx
