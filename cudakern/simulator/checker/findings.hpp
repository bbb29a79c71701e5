// SPDX-License-Identifier: MIT
// What the checker found. The engine knows the layouts and writes the messages.
#pragma once

#include "order.hpp"

/// Where an address lies.
enum ck_sim_space : uint32_t {
  kNowhere,
  kGlobal,   ///< `object` is a buffer of the launch
  kShared,   ///< `object` is a static shared array
  kDynamic,  ///< the block's dynamic shared memory
  kModule,   ///< a global variable; `offset` counts from the library's base
};

struct ck_sim_finding {
  char kind[24];
  uint32_t block[3], thread[3];
  uint64_t site;  ///< return addresses in the kernel's library; 0 if not known
  uint32_t other_block[3], other_thread[3];
  uint64_t other_site;  ///< of a race
  uint32_t space, object;
  int64_t offset;  ///< bytes from the object's start
  uint32_t bytes;
  uint32_t access;  ///< 1: a write, 2: atomic; of the other access 4 and 8
};

namespace ck_sim {

constexpr size_t kMostFindings = 200;
constexpr uint32_t kWrites = 1, kAtomic = 2, kOtherWrites = 4, kOtherAtomic = 8;
constexpr size_t kSiteSlots = 16384;

/// Numbers for the places in the kernel's code that access memory.
struct Sites {
  uint64_t address[1 << kSiteBits];
  struct {
    uint64_t address;
    uint32_t number;
  } slots[kSiteSlots];
  uint32_t count;

  uint32_t number(const void* code) {
    const uint64_t key = reinterpret_cast<uint64_t>(code);
    size_t i = (key * 0x9E3779B97F4A7C15u) >> 50;
    static_assert(kSiteSlots == size_t{1} << 14, "the hash has as many bits");
    while (slots[i].address != key) {
      if (slots[i].address == 0) {
        if (count + 1 >= (1u << kSiteBits)) {
          return 0;  // not told apart any more
        }
        slots[i] = {key, ++count};
        address[count] = key;
        break;
      }
      i = (i + 1) % kSiteSlots;
    }
    return slots[i].number;
  }
  void clear() { memset(static_cast<void*>(this), 0, sizeof *this); }
};

inline Sites sites;
inline Vector<ck_sim_finding> findings;
inline Map<char> finding_keys;

/// Whether a finding of this kind at these places is new. The rest would say the same again.
inline bool is_new(const char* kind, uint64_t site, uint64_t other, uint32_t object) {
  uint64_t key = site * 0x9E3779B97F4A7C15u ^ (other + 1) * 0xC2B2AE3D27D4EB4Fu ^ object;
  for (const char* c = kind; *c != 0; ++c) {
    key = (key ^ static_cast<unsigned char>(*c)) * 0x100000001B3u;
  }
  char& seen = finding_keys.get(key | 1);
  const bool fresh = seen == 0;
  seen = 1;
  return fresh && findings.size < kMostFindings;
}

inline ck_sim_finding& add_finding(const char* kind, const View& view) {
  ck_sim_finding found = {};
  snprintf(found.kind, sizeof found.kind, "%s", kind);
  memcpy(found.block, &view.group->block, sizeof found.block);
  memcpy(found.thread, &view.thread, sizeof found.thread);
  return findings.push(found);
}

}  // namespace ck_sim
