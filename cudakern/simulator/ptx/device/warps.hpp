// Instructions that the lanes of a warp carry out together.
#pragma once

#include "ptx.hpp"

namespace ck_ptx {

static inline void sync_warp(u32 mask, const ck_sim::Site* site) {
  u32 nothing;
  ck_sim_warp(mask, &nothing, [](void* const*, unsigned) {}, site);
}

// Votes

struct Vote {
  u32 ballot;  // at first: whether this lane's predicate holds
  u32 mask;    // of the lanes that take part
  bool all() const { return ballot == mask; }
  bool any() const { return ballot != 0; }
  bool uniform() const { return all() || !any(); }
};

static void count_votes(void* const* lanes, unsigned mask) {
  u32 ballot = 0;
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const int i = __builtin_ctz(rest);
    ballot |= static_cast<const Vote*>(lanes[i])->ballot << i;
  }
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    *static_cast<Vote*>(lanes[__builtin_ctz(rest)]) = {ballot, mask};
  }
}
static inline Vote vote(pred value, u32 mask, const ck_sim::Site* site) {
  Vote mine = {value, 0};
  ck_sim_warp(mask, &mine, count_votes, site);
  return mine;
}
static inline u32 elect(u32 mask, const ck_sim::Site* site) {
  return static_cast<u32>(__builtin_ctz(vote(true, mask, site).mask));
}

// Matches

struct Match {
  u64 value;
  u32 same, mask;  // lanes: with this value, that take part
  u32 all() const { return same == mask ? mask : 0; }
};

static void find_matches(void* const* lanes, unsigned mask) {
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    Match* mine = static_cast<Match*>(lanes[__builtin_ctz(rest)]);
    *mine = {mine->value, 0, mask};
    for (u32 others = mask; others != 0; others &= others - 1) {
      const int i = __builtin_ctz(others);
      mine->same |= static_cast<u32>(static_cast<const Match*>(lanes[i])->value == mine->value)
                    << i;
    }
  }
}
static inline Match match(u64 value, u32 mask, const ck_sim::Site* site) {
  Match mine = {value, 0, 0};
  ck_sim_warp(mask, &mine, find_matches, site);
  return mine;
}

// Shuffles

enum ShuffleMode { k_up, k_down, k_bfly, k_idx };

struct Shuffle {
  u32 given;
  u32 source;  // the lane to read
  u32 value;
  bool in_range;
#ifdef CK_SIM_CHECKED
  const ck_sim::View* reader;
  u64 undefined;  // bytes of what is given
  const ck_sim::Site* site;
#endif
};

static void exchange(void* const* lanes, unsigned mask) {
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    Shuffle* mine = static_cast<Shuffle*>(lanes[__builtin_ctz(rest)]);
    // What a lane gives that takes no part is undefined: here, what the reader gave.
    const bool exists = (mask >> mine->source & 1) != 0;
    const Shuffle* from = exists ? static_cast<const Shuffle*>(lanes[mine->source]) : mine;
    mine->value = from->given;
#ifdef CK_SIM_CHECKED
    mine->reader->undefined =
        exists ? from->undefined : ck_sim_inactive(mine->reader, mine->source, mask, mine->site);
#endif
  }
}
template <ShuffleMode MODE>
static inline Shuffle shuffle(const ck_sim::View* me, u32 a, u32 b, u32 c, u32 mask,
                              const ck_sim::Site* site) {
  const s32 lane = static_cast<s32>(me->lane), by = b & 31;
  const s32 clamp = c & 31, segment = c >> 8 & 31;
  const s32 least = lane & segment, most = least | (clamp & ~segment);
  const s32 source = MODE == k_up     ? lane - by
                     : MODE == k_down ? lane + by
                     : MODE == k_bfly ? lane ^ by
                                      : least | (by & ~segment);
  const bool in_range = MODE == k_up ? source >= most : source <= most;
  Shuffle mine = {a, static_cast<u32>(in_range ? source : lane), 0, in_range};
#ifdef CK_SIM_CHECKED
  mine.reader = me;
  mine.undefined = taken(me);
  mine.site = site;
#endif
  ck_sim_warp(mask, &mine, exchange, site);
  return mine;
}
CK_INLINE void d_shuffle(u32& d, pred& p, Shuffle result) {
  d = result.value;
  p = result.in_range;
}

// Reductions

constexpr auto redux_add = [](auto a, auto b) { return a + b; };
constexpr auto redux_min = [](auto a, auto b) { return b < a ? b : a; };
constexpr auto redux_max = [](auto a, auto b) { return a < b ? b : a; };
constexpr auto redux_and = [](auto a, auto b) { return a & b; };
constexpr auto redux_or = [](auto a, auto b) { return a | b; };
constexpr auto redux_xor = [](auto a, auto b) { return a ^ b; };

template <typename T>
struct Redux {
  T value;
  T (*combine)(T, T);
};

template <typename T>
static void reduce_lanes(void* const* lanes, unsigned mask) {
  Redux<T> total = *static_cast<const Redux<T>*>(lanes[__builtin_ctz(mask)]);
  for (u32 rest = mask & (mask - 1); rest != 0; rest &= rest - 1) {
    total.value =
        total.combine(total.value, static_cast<const Redux<T>*>(lanes[__builtin_ctz(rest)])->value);
  }
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    static_cast<Redux<T>*>(lanes[__builtin_ctz(rest)])->value = total.value;
  }
}
template <typename T>
static inline T redux(T value, u32 mask, T (*combine)(T, T), const ck_sim::Site* site) {
  Redux<T> mine = {value, combine};
  ck_sim_warp(mask, &mine, reduce_lanes<T>, site);
  return mine.value;
}
/// Floats are ordered as integers are: -0 before +0. NaN is before or after all of them, so that it
/// stays or goes.
static inline f32 redux_f32(f32 value, u32 mask, s32 (*combine)(s32, s32), bool abs, bool nan,
                            const ck_sim::Site* site) {
  s32 bits = bit_cast<s32>(value);
  bits = abs ? bits & 0x7FFFFFFF : bits;
  s32 key = bits < 0 ? bits ^ 0x7FFFFFFF : bits;
  const s32 lowest = -0x7FFFFFFF - 1, highest = 0x7FFFFFFF;
  const s32 unknown = (combine(lowest, highest) == lowest) == nan ? lowest : highest;
  key = value != value ? unknown : key;
  key = redux<s32>(key, mask, combine, site);
  return bit_cast<f32>(key == unknown ? 0x7FFFFFFF : key < 0 ? key ^ 0x7FFFFFFF : key);
}

}  // namespace ck_ptx
