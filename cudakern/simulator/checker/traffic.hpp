// SPDX-License-Identifier: MIT
// Memory traffic as the hardware sees it: by warp and instruction.
//
// The n-th access of a lane at a place in the code, counted from the last barrier or collective of
// its warp, belongs to one request together with the n-th of the other lanes there. A request to
// global memory moves whole sectors of 32 bytes, each once, whatever a cache may hold: the model
// has none. A request to shared memory takes one wavefront for each different word of the busiest
// bank; 8-byte and 16-byte accesses are served half a warp and a quarter at a time.
#pragma once

#include "findings.hpp"

/// What the requests of one kind at one place add up to.
struct ck_sim_traffic {
  uint64_t site;
  uint32_t kind;  ///< 0: load, 1: store, 2: atomic; 4 more in shared memory
  uint32_t unused;
  uint64_t requests;
  uint64_t accesses;    ///< of single threads
  uint64_t bytes;       ///< that threads asked for
  uint64_t sectors;     ///< global memory
  uint64_t wavefronts;  ///< shared memory
};

namespace ck_sim {

constexpr uint32_t kSharedKind = 4, kKinds = 8;
constexpr uint64_t kSector = 32;
constexpr int kBanks = 32;

struct Request {
  uint64_t address[kLanes];
  uint8_t bytes[kLanes];
};

struct Traffic {
  Vector<ck_sim_traffic> sums;
  uint32_t sum_of[(1u << kSiteBits) * kKinds];  ///< place in `sums` plus one, by site and kind
  Vector<Request> requests[(1u << kSiteBits) * kKinds];
  uint32_t seen[(1u << kSiteBits) * kKinds];  ///< accesses of the lane that is being sorted in
  Vector<uint32_t> keys;                      ///< with requests
  Vector<uint32_t> lane_keys;                 ///< seen by that lane
};

inline Traffic traffic;

/// Different sectors of a request.
inline uint32_t count_sectors(const Request& r) {
  uint64_t found[2 * kLanes];
  uint32_t count = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (r.bytes[lane] == 0) {
      continue;
    }
    const uint64_t last = (r.address[lane] + r.bytes[lane] - 1) / kSector;
    for (uint64_t sector = r.address[lane] / kSector; sector <= last; ++sector) {
      uint32_t k = 0;
      while (k < count && found[count - 1 - k] != sector) {
        ++k;
      }
      if (k == count) {
        found[count++] = sector;
      }
    }
  }
  return count;
}

/// Wavefronts of a request to shared memory.
inline uint32_t count_wavefronts(const Request& r) {
  uint32_t widest = 4, total = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    widest = r.bytes[lane] > widest ? r.bytes[lane] : widest;
  }
  const int lanes_at_once = kLanes * 4 / static_cast<int>(widest);
  for (int first = 0; first < kLanes; first += lanes_at_once) {
    uint64_t words[kLanes * 2];
    uint32_t banks[kBanks] = {};
    uint32_t count = 0, most = 0;
    for (int lane = first; lane < first + lanes_at_once; ++lane) {
      if (r.bytes[lane] == 0) {
        continue;
      }
      const uint64_t last = (r.address[lane] + r.bytes[lane] - 1) / 4;
      for (uint64_t word = r.address[lane] / 4; word <= last; ++word) {
        uint32_t k = 0;
        while (k < count && words[k] != word) {
          ++k;
        }
        if (k == count && count < kLanes * 2) {
          words[count++] = word;
          const uint32_t busy = ++banks[word % kBanks];
          most = busy > most ? busy : most;
        }
      }
    }
    total += most;
  }
  return total;
}

inline void add_request(uint32_t key, const Request& r) {
  if (traffic.sum_of[key] == 0) {
    ck_sim_traffic sum = {};
    sum.site = sites.address[key / kKinds];
    sum.kind = key % kKinds;
    traffic.sums.push(sum);
    traffic.sum_of[key] = static_cast<uint32_t>(traffic.sums.size);
  }
  ck_sim_traffic& sum = traffic.sums[traffic.sum_of[key] - 1];
  ++sum.requests;
  for (int lane = 0; lane < kLanes; ++lane) {
    sum.accesses += r.bytes[lane] != 0;
    sum.bytes += r.bytes[lane];
  }
  if ((sum.kind & kSharedKind) != 0) {
    sum.wavefronts += count_wavefronts(r);
  } else {
    sum.sectors += count_sectors(r);
  }
}

/// Sorts what the lanes of a warp did since the last time into requests.
inline void flush_warp(Worker* w, uint32_t first) {
  for (uint32_t lane = 0; lane < kLanes && first + lane < w->launch->threads; ++lane) {
    Vector<Event>& events = w->checked.events[first + lane];
    for (size_t i = 0; i < events.size; ++i) {
      const Event& e = events[i];
      const uint32_t key = e.site * kKinds + e.kind;
      Vector<Request>& requests = traffic.requests[key];
      if (requests.size == 0) {
        traffic.keys.push(key);
      }
      if (traffic.seen[key] == 0) {
        traffic.lane_keys.push(key);
      }
      const uint32_t n = traffic.seen[key]++;
      if (n == requests.size) {
        requests.push({});
      }
      requests[n].address[lane] = e.address;
      requests[n].bytes[lane] = e.bytes;
    }
    events.clear();
    for (size_t i = 0; i < traffic.lane_keys.size; ++i) {
      traffic.seen[traffic.lane_keys[i]] = 0;
    }
    traffic.lane_keys.clear();
  }
  for (size_t i = 0; i < traffic.keys.size; ++i) {
    Vector<Request>& requests = traffic.requests[traffic.keys[i]];
    for (size_t k = 0; k < requests.size; ++k) {
      add_request(traffic.keys[i], requests[k]);
    }
    requests.clear();
  }
  traffic.keys.clear();
}

inline void flush_block(Worker* w) {
  for (uint32_t first = 0; first < w->launch->threads; first += kLanes) {
    flush_warp(w, first);
  }
}

}  // namespace ck_sim
