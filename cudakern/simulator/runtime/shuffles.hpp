// Votes and shuffles of a warp.
#pragma once

#include "runtime_api.hpp"

namespace ck_sim {

/// The lane that a lane reads, and whether that is in range.
template <char mode>
inline uint32_t source_of(int lane, uint32_t distance, uint32_t within, bool* in_range) {
  const int by = static_cast<int>(distance & 31), clamp = static_cast<int>(within & 31);
  const int segment = static_cast<int>(within >> 8 & 31);
  const int least = lane & segment, most = least | (clamp & ~segment);
  const int source = mode == 'u'   ? lane - by
                     : mode == 'd' ? lane + by
                     : mode == 'b' ? lane ^ by
                                   : least | (by & ~segment);
  *in_range = mode == 'u' ? source >= most : source <= most;
  return static_cast<uint32_t>(*in_range ? source : lane);
}

template <char mode>
inline void shuffle(void* const* lanes, unsigned mask) {
  for (const unsigned lane : SetBits{mask}) {
    Shuffle* const mine = static_cast<Shuffle*>(lanes[lane]);
    const uint32_t source =
        source_of<mode>(static_cast<int>(lane), mine->by, mine->within, &mine->in_range);
    // A lane that does not take part gives something undefined: here, what the reader gave.
    const bool exists = (mask >> source & 1) != 0;
    const Shuffle* from = exists ? static_cast<const Shuffle*>(lanes[source]) : mine;
    mine->value = from->given;
#ifdef CK_SIM_CHECKED
    mine->reader->undefined =
        exists ? from->undefined : ck_sim_inactive(mine->reader, source, mask, mine->site);
#endif
  }
}

/// Carries out a shuffle of all lanes, by the same distance or by what each of them gave.
template <char mode, bool fixed>
inline void shuffle_all(char* data, uint64_t bytes, uint32_t by, uint32_t within) {
  for (int lane = 0; lane < kWarpSize; ++lane) {
    Shuffle* const mine = reinterpret_cast<Shuffle*>(data + static_cast<uint32_t>(lane) * bytes);
    const uint32_t source = source_of<mode>(lane, fixed ? by : mine->by,
                                            fixed ? within : mine->within, &mine->in_range);
    mine->value = reinterpret_cast<const Shuffle*>(data + source * bytes)->given;
  }
}

#define CK_SHUFFLE(name, mode) \
  CK_SIM_EXPORT void ck_sim_shuffle_##name(void* const* lanes, unsigned mask) { \
    shuffle<mode>(lanes, mask); \
  } \
  CK_SIM_EXPORT void ck_sim_shuffle_all_##name(char* data, uint64_t bytes, uint32_t, uint32_t) { \
    shuffle_all<mode, false>(data, bytes, 0, 0); \
  } \
  CK_SIM_EXPORT void ck_sim_shuffle_fixed_##name(char* data, uint64_t bytes, uint32_t by, \
                                                 uint32_t within) { \
    shuffle_all<mode, true>(data, bytes, by, within); \
  }
CK_EACH_SHUFFLE(CK_SHUFFLE)
#undef CK_SHUFFLE

CK_SIM_EXPORT void ck_sim_vote(void* const* lanes, unsigned mask) {
  uint32_t ballot = 0;
  for (const unsigned lane : SetBits{mask}) {
    ballot |= static_cast<const Vote*>(lanes[lane])->ballot << lane;
  }
  for (const unsigned lane : SetBits{mask}) {
    *static_cast<Vote*>(lanes[lane]) = {ballot, mask};
  }
}

CK_SIM_EXPORT void ck_sim_vote_all(char* data, uint64_t bytes, uint32_t, uint32_t) {
  uint32_t ballot = 0;
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    ballot |= reinterpret_cast<const Vote*>(data + lane * bytes)->ballot << lane;
  }
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    *reinterpret_cast<Vote*>(data + lane * bytes) = {ballot, ~0u};
  }
}

}  // namespace ck_sim
