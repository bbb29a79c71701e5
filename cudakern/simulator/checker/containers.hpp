// Containers that need malloc alone: any compiler can link a runtime without C++'s library.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

namespace ck_sim {

/// Returns memory that was asked for. The process ends if there is none, as with operator new.
template <typename T>
inline T* require(void* memory) {
  if (memory == nullptr) {
    abort();
  }
  return static_cast<T*>(memory);
}

/// An array of trivial values, which grows. All-zero memory is an empty one.
template <typename T>
struct Vector {
  T* data;
  size_t size, capacity;

  T& push(const T& value) {
    if (size == capacity) {
      capacity = capacity == 0 ? 16 : 2 * capacity;
      data = require<T>(realloc(static_cast<void*>(data), capacity * sizeof(T)));
    }
    data[size] = value;
    return data[size++];
  }
  T& operator[](size_t i) { return data[i]; }
  T* begin() const { return data; }
  T* end() const { return data + size; }
  void clear() { size = 0; }
  /// Makes it so many values, all zero.
  void fill(size_t count) {
    if (capacity < count) {
      free(data);
      data = require<T>(malloc(count * sizeof(T)));
      capacity = count;
    }
    memset(static_cast<void*>(data), 0, count * sizeof(T));
    size = count;
  }
};

/// The last of `count` items that is at or below something; 0 if none is. Items ascend.
template <typename IsAtOrBelow>
inline size_t find_last(size_t count, IsAtOrBelow is_at_or_below) {
  size_t low = 0, high = count;
  while (high - low > 1) {
    const size_t middle = (low + high) / 2;
    (is_at_or_below(middle) ? low : high) = middle;
  }
  return low;
}

/// A hash table from non-zero words to values. All-zero memory is an empty one.
template <typename T>
struct Map {
  struct Slot {
    uint64_t key;
    T value;
  };
  Slot* slots;
  size_t size, capacity;

  static size_t hash(uint64_t key) { return (key * 0x9E3779B97F4A7C15u) >> 20; }

  Slot* locate(uint64_t key) {
    size_t i = hash(key) & (capacity - 1);
    while (slots[i].key != 0 && slots[i].key != key) {
      i = (i + 1) & (capacity - 1);
    }
    return &slots[i];
  }
  T* find(uint64_t key) {
    if (size == 0) return nullptr;
    Slot* slot = locate(key);
    return slot->key == key ? &slot->value : nullptr;
  }
  /// The value of a key, all-zero if it is new.
  T& get(uint64_t key) {
    if (2 * (size + 1) > capacity) {
      grow();
    }
    Slot* slot = locate(key);
    if (slot->key == 0) {
      slot->key = key;
      ++size;
    }
    return slot->value;
  }
  void grow() {
    Map old = *this;
    capacity = capacity == 0 ? 64 : 2 * capacity;
    slots = require<Slot>(calloc(capacity, sizeof(Slot)));
    for (size_t i = 0; i < old.capacity; ++i) {
      if (old.slots[i].key != 0) {
        *locate(old.slots[i].key) = old.slots[i];
      }
    }
    free(old.slots);
  }
  void clear() {
    free(slots);
    slots = nullptr;
    size = capacity = 0;
  }
};

/// Memory that is freed all at once.
struct Pool {
  struct Chunk {
    Chunk* next;
  };
  Chunk* chunks;
  char* at;
  size_t left;

  void* take(size_t bytes) {
    bytes = (bytes + 15) & ~size_t{15};
    if (bytes > left) {
      const size_t chunk = bytes > (size_t{1} << 20) ? bytes : size_t{1} << 20;
      Chunk* added = require<Chunk>(malloc(chunk + 16));
      added->next = chunks;
      chunks = added;
      at = reinterpret_cast<char*>(added) + 16;
      left = chunk;
    }
    void* result = at;
    at += bytes;
    left -= bytes;
    return result;
  }
  void clear() {
    while (chunks != nullptr) {
      Chunk* next = chunks->next;
      free(chunks);
      chunks = next;
    }
    left = 0;
  }
};

template <typename... Parts>
inline void clear_all(Parts&... parts) {
  (parts.clear(), ...);
}

}  // namespace ck_sim
