// Plain launches work on copies of small arrays. In the memory of a copy, the runtime sees what a
// kernel does outside of the array: after its end come pages without access, and a pattern fills
// the bytes before it and, if its alignment keeps it from ending at a page, behind it. Launches
// that run at the same time share the copy of an array.
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "addresses.hpp"
#include "scheduler.hpp"

/// An array among a launch's arguments, in words.
struct ck_sim_array {
  uint64_t argument;  // its number
  uint64_t place;     // the byte of the parameters where its address stands
  uint64_t start;     // of the allocation that it lies in
  uint64_t bytes;     // of the allocation, at most kMostGuardedBytes
};

/// The arrays of a launch, which follow this, in the order of their places.
struct ck_sim_arrays {
  const ck_sim_variable* variables;  // of the kernel's module
  uint64_t variable_count;
  uint64_t count;
};

namespace ck_sim {

constexpr uint64_t kMostGuardedBytes = 1u << 20;  // of an allocation; to copy more takes long
constexpr uint64_t kFrontBytes = 1024;            // before an array, with the pattern
constexpr uint64_t kLeastAlignment = 16;          // of an allocation, and of a vector
constexpr uint64_t kMostAlignment = 256;          // of a copy; that of an allocation on a GPU
constexpr uint64_t kFarBytes = 1u << 20;          // without access, behind an array
constexpr uint64_t kKeptBytes = 32u << 20;        // of copies that nobody uses, at most

/// A copy of an allocation, which kernels work on. Its memory is used again for other ones.
struct GuardedCopy {
  GuardedCopy* next;
  char* memory;         // all of it
  char* room;           // what can be accessed; the array is its last part
  uint64_t room_bytes;  // a power of two
  char* before;         // what the allocation and the copy held when they were the same last
  // Of the allocation.
  char* host;
  uint64_t bytes;
  char* start;     // where kernels see it
  uint32_t users;  // launches
  char* end() const { return start + bytes; }
  uint64_t gap() const { return static_cast<uint64_t>(room + room_bytes - end()); }
};

/// An array of a launch.
struct GuardedArray : ck_sim_array {
  GuardedArray* first;  // in the same allocation
  uint64_t alignment;   // of the first: what all arrays in the allocation need
  bool in_place;        // whether kernels work on the allocation itself
  GuardedCopy* copy;    // what kernels work on, or null
};

/// The arrays of a launch that may be guarded, which follow this.
struct GuardedArrays : ck_sim_arrays {
  GuardedArray* begin() { return reinterpret_cast<GuardedArray*>(this + 1); }
  GuardedArray* end() { return begin() + count; }
};

inline GuardedCopy* copies_in_use = nullptr;
inline GuardedCopy* free_copies[64];  // by the logarithm of their room
inline uint64_t kept_bytes = 0;
inline pthread_mutex_t copies_lock = PTHREAD_MUTEX_INITIALIZER;

/// Bytes that nothing else writes, hopefully.
struct Pattern {
  unsigned char bytes[kFrontBytes] = {};
  constexpr Pattern() {
    for (uint64_t i = 0; i < kFrontBytes; ++i) {
      bytes[i] = static_cast<unsigned char>(0xA5 + 89 * i);
    }
  }
};
inline constexpr Pattern kPattern;
static_assert(kMostAlignment <= kFrontBytes, "the pattern fills the gap, too");

/// The bytes of a copy's memory: its room and what that held before, between pages without access.
inline uint64_t memory_bytes(uint64_t room) {
  return kGuardBytes + room + kFarBytes + room + kGuardBytes;
}

inline GuardedCopy* map_copy(uint64_t room) {
  GuardedCopy* copy = static_cast<GuardedCopy*>(calloc(1, sizeof(GuardedCopy)));
  if (copy == nullptr) return nullptr;
  copy->memory = map_pages(memory_bytes(room), PROT_NONE);
  if (copy->memory == nullptr) {
    free(copy);
    return nullptr;
  }
  copy->room = copy->memory + kGuardBytes;
  copy->room_bytes = room;
  copy->before = copy->room + room + kFarBytes;
  if (mprotect(copy->room, room, PROT_READ | PROT_WRITE) != 0 ||
      mprotect(copy->before, room, PROT_READ | PROT_WRITE) != 0) {
    munmap(copy->memory, memory_bytes(room));
    free(copy);
    return nullptr;
  }
  return copy;
}

/// A copy with room for an allocation; null without memory. Locked.
inline GuardedCopy* take_copy(uint64_t bytes) {
  const uint64_t needed = kFrontBytes + bytes + kMostAlignment;
  uint64_t room = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  while (room < needed) {
    room *= 2;
  }
  GuardedCopy*& first = free_copies[__builtin_ctzll(room)];
  GuardedCopy* const copy = first;
  if (copy == nullptr) return map_copy(room);
  first = copy->next;
  kept_bytes -= 2 * room;
  return copy;
}

/// Takes back a copy that nobody uses. Locked.
inline void give_copy(GuardedCopy* copy) {
  if (kept_bytes + 2 * copy->room_bytes > kKeptBytes) {
    munmap(copy->memory, memory_bytes(copy->room_bytes));
    free(copy);
    return;
  }
  kept_bytes += 2 * copy->room_bytes;
  GuardedCopy*& first = free_copies[__builtin_ctzll(copy->room_bytes)];
  copy->next = first;
  first = copy;
}

// Kernels work in place on arrays whose addresses they get in other ways, too.

inline uint64_t address_in(const char* parameters, const ck_sim_array& array) {
  uint64_t address;
  memcpy(&address, parameters + array.place, sizeof address);
  return address;
}

/// Collects the arrays of a launch, without copies; null without memory.
inline GuardedArrays* group_arrays(const ck_sim_arrays* given, const char* parameters) {
  const uint64_t bytes = sizeof(GuardedArrays) + given->count * sizeof(GuardedArray);
  GuardedArrays* arrays = static_cast<GuardedArrays*>(calloc(1, bytes));
  if (arrays == nullptr) return nullptr;
  static_cast<ck_sim_arrays&>(*arrays) = *given;
  const ck_sim_array* rows = reinterpret_cast<const ck_sim_array*>(given + 1);
  for (GuardedArray& array : *arrays) {
    static_cast<ck_sim_array&>(array) = *rows++;
    array.first = arrays->begin();
    while (array.first->start != array.start) {
      ++array.first;
    }
    const uint64_t address = address_in(parameters, array), bits = address | kMostAlignment;
    const uint64_t alignment = bits & -bits;
    if (array.first->alignment < alignment) {
      array.first->alignment = alignment;
    }
    array.first->in_place |=
        address - array.start > array.bytes || array.start % kLeastAlignment != 0;
  }
  return arrays;
}

/// Marks the arrays whose addresses stand in other parameters, in variables or in arrays.
inline void find_addresses(GuardedArrays* arrays, const char* parameters, uint32_t bytes) {
  uint64_t low = UINT64_MAX, high = 0;
  for (const GuardedArray& array : *arrays) {
    low = array.start < low ? array.start : low;
    high = array.start + array.bytes > high ? array.start + array.bytes : high;
  }
  auto mark = [=](const uint64_t* word) {
    for (GuardedArray& array : *arrays) {
      array.in_place |= *word - array.start <= array.bytes;  // the end of an array counts as in it
    }
  };
  uint64_t from = 0;
  for (const GuardedArray& array : *arrays) {
    for_addresses(parameters + from, array.place - from, low, high, mark);
    from = array.place + sizeof(uint64_t);
  }
  for_addresses(parameters + from, bytes - from, low, high, mark);
  for_variables(arrays->variables, arrays->variable_count,
                [=](const ck_sim_variable& variable, uint64_t) {
                  for_addresses(variable.start, variable.bytes, low, high, mark);
                });
  for (const GuardedArray& array : *arrays) {
    if (array.first == &array) {
      for_addresses(reinterpret_cast<char*>(array.start), array.bytes, low, high, mark);
    }
  }
}

/// Stores those bytes of a word that have changed. Somebody else may write the others.
inline void store_changed(char* to, uint64_t before, uint64_t after) {
  constexpr uint64_t kOnes = 0x0101010101010101, kTops = 0x8080808080808080;
  const uint64_t changed = before ^ after;
  if (((changed - kOnes) & ~changed & kTops) == 0) {  // each byte
    memcpy(to, &after, sizeof after);
    return;
  }
#pragma GCC unroll 8
  for (uint64_t i = 0; i < sizeof after; ++i) {
    if ((changed >> 8 * i & 0xFF) != 0) {
      to[i] = static_cast<char>(after >> 8 * i);
    }
  }
}

/// Copies what has changed on one side since both sides were the same.
inline void carry_changes(const char* from, char* before, char* to, uint64_t bytes) {
  constexpr uint64_t kBlock = 256;
  for (uint64_t first = 0; first < bytes; first += kBlock) {
    const uint64_t size = first + kBlock < bytes ? kBlock : bytes - first;
    if (memcmp(from + first, before + first, size) == 0) continue;
    uint64_t i = first;
    for (; i + sizeof(uint64_t) <= first + size; i += sizeof(uint64_t)) {
      const uint64_t now =
          __atomic_load_n(reinterpret_cast<const uint64_t*>(from + i), __ATOMIC_RELAXED);
      uint64_t& old = *reinterpret_cast<uint64_t*>(before + i);
      if (now == old) continue;
      store_changed(to + i, old, now);
      old = now;
    }
    for (; i < first + size; ++i) {
      const char now = *static_cast<const volatile char*>(from + i);
      if (now != before[i]) {
        to[i] = before[i] = now;
      }
    }
  }
}

/// Copies an allocation, or counts one more launch that uses its copy; null without memory. Locked.
inline GuardedCopy* enter_array(const GuardedArray& array) {
  char* host = reinterpret_cast<char*>(array.start);
  for (GuardedCopy* copy = copies_in_use; copy != nullptr; copy = copy->next) {
    if (copy->host == host && copy->bytes == array.bytes) {
      ++copy->users;
      carry_changes(host, copy->before, copy->start, copy->bytes);
      return copy;
    }
  }
  GuardedCopy* copy = take_copy(array.bytes);
  if (copy == nullptr) return nullptr;
  const uint64_t alignment = array.alignment > kLeastAlignment ? array.alignment : kLeastAlignment;
  copy->host = host;
  copy->bytes = array.bytes;
  copy->users = 1;
  copy->start = copy->room + copy->room_bytes - copy->bytes;
  copy->start -= (reinterpret_cast<uint64_t>(copy->start) - array.start) % alignment;
  memcpy(copy->before, host, copy->bytes);
  memcpy(copy->start, copy->before, copy->bytes);
  memcpy(copy->start - kFrontBytes, kPattern.bytes, kFrontBytes);
  memcpy(copy->end(), kPattern.bytes, copy->gap());
  copy->next = copies_in_use;
  copies_in_use = copy;
  return copy;
}

/// Describes a finding: an array was overrun by `past` bytes, or by `ahead` before its start.
inline void describe_overrun(char* text, size_t size, const char* what, const ck_sim_array& array,
                             uint64_t past, uint64_t ahead) {
  snprintf(text, size,
           "%s must lie inside of an array; it reached %llu bytes %s the memory of argument %u, "
           "which has %llu bytes",
           what, static_cast<unsigned long long>(past != 0 ? past : ahead),
           past != 0 ? "past the end of" : "before the start of",
           static_cast<unsigned>(array.argument), static_cast<unsigned long long>(array.bytes));
}

/// Fails the launch if the pattern around a copy has changed.
inline void check_pattern(Launch* launch, const GuardedArray& array) {
  const GuardedCopy* copy = array.copy;
  const char* front = copy->start - kFrontBytes;
  uint64_t past = copy->gap(), low = 0;
  if (memcmp(front, kPattern.bytes, kFrontBytes) == 0 &&
      memcmp(copy->end(), kPattern.bytes, past) == 0) {
    return;
  }
  const char* pattern = reinterpret_cast<const char*>(kPattern.bytes);
  while (past != 0 && copy->end()[past - 1] == pattern[past - 1]) {
    --past;
  }
  while (low < kFrontBytes && front[low] == pattern[low]) {
    ++low;
  }
  if (!has_failed(launch)) {
    char text[300];
    describe_overrun(text, sizeof text, "a write", array, past, kFrontBytes - low);
    strncat(text, kWhereLine, sizeof text - strlen(text) - 1);
    refuse(launch, text, "out_of_bounds");
    launch->report->nowhere = 1;
  }
}

/// Has a launch work on copies of its arrays, as far as that is possible.
inline void enter_arrays(Launch* launch, const ck_sim_arrays* given, char* parameters,
                         uint32_t bytes) {
  GuardedArrays* arrays = given == nullptr ? nullptr : group_arrays(given, parameters);
  launch->arrays = arrays;
  if (arrays == nullptr) return;
  find_addresses(arrays, parameters, bytes);
  pthread_mutex_lock(&copies_lock);
  for (GuardedArray& array : *arrays) {
    if (array.first == &array && !array.in_place) {
      array.copy = enter_array(array);
    }
    array.copy = array.first->copy;
  }
  pthread_mutex_unlock(&copies_lock);
  for (const GuardedArray& array : *arrays) {
    if (array.copy == nullptr) continue;
    char* address = array.copy->start + (address_in(parameters, array) - array.start);
    memcpy(parameters + array.place, &address, sizeof address);
  }
}

/// Copies back what a launch, even a failed one, wrote into arrays. Fails it if it wrote past them.
inline void leave_arrays(Launch* launch) {
  GuardedArrays* arrays = launch->arrays;
  if (arrays == nullptr) return;
  pthread_mutex_lock(&copies_lock);
  for (const GuardedArray& array : *arrays) {
    GuardedCopy* copy = array.copy;
    if (copy == nullptr || array.first != &array) continue;
    check_pattern(launch, array);
    carry_changes(copy->start, copy->before, copy->host, copy->bytes);
    --copy->users;
  }
  for (const GuardedArray& array : *arrays) {
    if (array.copy != nullptr && array.first == &array && array.copy->users == 0) {
      // After a fork, a copy may be in use here that is not in the list.
      remove_items(&copies_in_use, [&](GuardedCopy* copy) { return copy == array.copy; });
      give_copy(array.copy);
    }
  }
  pthread_mutex_unlock(&copies_lock);
  free(arrays);
}

/// Whether an address that cannot be accessed lies near an array. Describes that if so.
inline bool describe_near_array(const Launch* launch, const void* address, char* text,
                                size_t size) {
  if (launch->arrays == nullptr) return false;
  const uint64_t at = reinterpret_cast<uint64_t>(address);
  for (const GuardedArray& array : *launch->arrays) {
    const GuardedCopy* copy = array.copy;
    if (copy == nullptr ||
        at - reinterpret_cast<uint64_t>(copy->memory) >= memory_bytes(copy->room_bytes)) {
      continue;
    }
    const uint64_t start = reinterpret_cast<uint64_t>(copy->start);
    const bool is_past = at >= start;
    describe_overrun(text, size, "an access", array, is_past ? at - start - array.bytes + 1 : 0,
                     is_past ? 0 : start - at);
    return true;
  }
  return false;
}

}  // namespace ck_sim
