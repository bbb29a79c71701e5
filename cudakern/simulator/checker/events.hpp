// SPDX-License-Identifier: MIT
// The accesses of one thread that are not sorted into requests yet; see traffic.hpp.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

namespace ck_sim {

/// A list of addresses, and of what the accesses are. Those in a key's low eight bits are bytes.
/// Apart from each other, so that the keys of two lanes are compared at once. All-zero memory is an
/// empty list.
struct Events {
  uint64_t* addresses;
  uint32_t* keys;  // in the same allocation
  uint32_t size, capacity;

  void push(uint64_t address, uint32_t key) {
    if (size == capacity) {
      grow();
    }
    addresses[size] = address;
    keys[size++] = key;
  }
  void clear() { size = 0; }

  __attribute__((noinline)) void grow() {
    const uint32_t more = capacity == 0 ? 64 : 2 * capacity;
    uint64_t* made = static_cast<uint64_t*>(malloc(more * (sizeof *addresses + sizeof *keys)));
    if (made == nullptr) {
      abort();  // as operator new without exceptions
    }
    uint32_t* const made_keys = reinterpret_cast<uint32_t*>(made + more);
    if (size != 0) {
      memcpy(made, addresses, size * sizeof *addresses);
      memcpy(made_keys, keys, size * sizeof *keys);
    }
    free(addresses);
    addresses = made;
    keys = made_keys;
    capacity = more;
  }
};

}  // namespace ck_sim
