// Findings, whose messages Python writes, and numbers for the instructions that are met.
#pragma once

#include <string.h>

#include "containers.hpp"
#include "launch_api.hpp"
#include "tags.hpp"

namespace ck_sim {

constexpr size_t kMostFindings = 200;

/// A key, which is not 0, for two numbers.
inline uint64_t mix(uint64_t a, uint64_t b) {
  const uint64_t key = (a ^ b * 0x9E3779B97F4A7C15u) * 0xC2B2AE3D27D4EB4Fu;
  return (key ^ key >> 29) | 1;
}

inline uint64_t hash_text(const char* text) {
  uint64_t key = 1469598103934665603u;
  for (; text != nullptr && *text != 0; ++text) {
    key = (key ^ static_cast<unsigned char>(*text)) * 0x100000001B3u;
  }
  return key;
}

/// The instructions of a launch that access memory, by numbers that fit into a tag. One that writes
/// undefined values has a second number for these. Second numbers count down from the largest.
struct Sites {
  const Site* at[kMostSites + 1];
  uint64_t lines[kMostSites + 1];  // of each, a hash of its source line and the calls around it
  uint32_t count;
  uint32_t seconds;                 // how many second numbers there are
  uint16_t second[kMostSites + 1];  // the second number of each, or 0

  /// The number of a site, from 1; 0 when there are too many, which ends the launch.
  uint32_t number(const Site* site) {
    if (site->number == 0 && count + seconds < kMostSites) {
      site->number = ++count;
      at[count] = site;
      lines[count] = hash_text(site->stack) * 31 + hash_text(site->file) + uint64_t(site->line);
    }
    return site->number;
  }
  /// The number of a site that writes undefined values.
  uint32_t second_of(const Site* site) {
    uint16_t& other = second[site->number];
    if (other == 0 && count + seconds < kMostSites) {
      other = static_cast<uint16_t>(kMostSites - seconds++);
      at[other] = site;
      lines[other] = lines[site->number];
    }
    return other;
  }
  bool is_second(uint32_t number) const { return number > kMostSites - seconds; }
  void clear() {
    for (; count > 0; --count) {
      at[count]->number = 0;
      second[count] = 0;
    }
    seconds = 0;
  }
};

inline Sites sites;
inline Vector<ck_sim_finding> findings;
inline Map<uint32_t> finding_keys;         // the number of a finding, from 1
inline Map<char> finding_threads;          // that have done what a finding says, by both
constexpr size_t kMostThreads = 1u << 20;  // of all findings that are counted

inline void count_thread(uint32_t number, const View& view) {
  const Index3& b = view.group->block;
  const Index3& t = view.thread;
  const uint32_t parts[] = {b.x, b.y, b.z, t.x | t.y << 10 | t.z << 20};
  uint64_t key = number;
  for (const uint32_t part : parts) {
    key = mix(key, part);
  }
  if (finding_threads.size >= kMostThreads) return;
  char& seen = finding_threads.get(key);
  findings[number - 1].threads += seen == 0;
  seen = 1;
}

/// Adds a finding about an access, or an origin of undefined values, and returns it. If there is
/// one of this kind at these lines, just counts the thread and returns null.
template <typename Located>
inline ck_sim_finding* add_finding(const char* kind, uint32_t site, uint32_t other, uint64_t object,
                                   const View& view, const Located& from) {
  const uint64_t other_line = other == 0 ? 0 : sites.lines[other] + 1;
  uint32_t& number =
      finding_keys.get(mix(mix(mix(hash_text(kind), sites.lines[site]), other_line), object));
  const bool is_new = number == 0;
  if (is_new) {
    if (findings.size == kMostFindings) return nullptr;
    ck_sim_finding finding = {};
    strncpy(finding.kind, kind, sizeof finding.kind - 1);
    memcpy(finding.block, &view.group->block, sizeof finding.block);
    memcpy(finding.thread, &view.thread, sizeof finding.thread);
    finding.name = from.name;
    finding.space = from.space;
    finding.object = from.object;
    finding.offset = from.offset;
    finding.bytes = from.bytes;
    findings.push(finding);
    number = static_cast<uint32_t>(findings.size);
  }
  count_thread(number, view);
  return is_new ? &findings[number - 1] : nullptr;
}

}  // namespace ck_sim
