// Instructions that the lanes of a warp carry out together.
#pragma once

#include "ptx.hpp"

namespace ck_ptx {

// A lane gives an object with a function `meet`, which the last lane calls for all of them, and
// gets its results there. The objects of a warp need not be the lanes' own variables.

template <typename T>
CK_INLINE void meet(T& mine, u32 mask, const ck_sim::View* me, const ck_sim::Site* site) {
#ifdef CK_SIM_CHECKED
  if constexpr (sizeof(T) == sizeof(ck_sim::Shuffle)) prepare(mine, me, site);
#endif
  ck_sim_warp(mask, &mine, T::meet, site);
}

/// What lanes give, if full warps do not have a function of their own.
struct Meeting {
  static constexpr ck_sim_full_warp_function meet_all = nullptr;
};

struct Nothing : Meeting {
  static void meet(void* const*, unsigned) {}
};

struct Vote : ck_sim::Vote {
  explicit Vote(pred value) : ck_sim::Vote{value, 0} {}
  bool all() const { return ballot == mask; }
  bool any() const { return ballot != 0; }
  bool uniform() const { return all() || !any(); }
  u32 first() const { return static_cast<u32>(__builtin_ctz(mask)); }
  static constexpr auto meet = ck_sim_vote;
  static constexpr auto meet_all = ck_sim_vote_all;
};

#define CK_SHUFFLE(name, mode) \
  struct Shuffle_##name : ck_sim::Shuffle { \
    using ck_sim::Shuffle::Shuffle; \
    static constexpr auto meet = ck_sim_shuffle_##name; \
    static constexpr auto meet_all = ck_sim_shuffle_all_##name; \
    static constexpr auto meet_fixed = ck_sim_shuffle_fixed_##name; \
  };
CK_EACH_SHUFFLE(CK_SHUFFLE)
#undef CK_SHUFFLE
#ifdef CK_SIM_CHECKED
CK_INLINE void prepare(ck_sim::Shuffle& mine, const ck_sim::View* me, const ck_sim::Site* site) {
  mine.reader = me;
  mine.undefined = taken(me);
  mine.site = site;
}
#endif

struct Match : Meeting {
  u64 value;
  u32 same, mask;  // lanes: with this value, that take part
  explicit Match(u64 given) : value(given), same(0), mask(0) {}
  u32 all() const { return same == mask ? mask : 0; }
  static void meet(void* const* lanes, unsigned mask) {
    for (const u32 lane : ck_sim::SetBits{mask}) {
      Match* const mine = static_cast<Match*>(lanes[lane]);
      mine->same = 0;
      mine->mask = mask;
      for (const u32 i : ck_sim::SetBits{mask}) {
        mine->same |= static_cast<u32>(static_cast<const Match*>(lanes[i])->value == mine->value)
                      << i;
      }
    }
  }
};

constexpr auto redux_add = [](auto a, auto b) { return a + b; };
constexpr auto redux_min = [](auto a, auto b) { return b < a ? b : a; };
constexpr auto redux_max = [](auto a, auto b) { return a < b ? b : a; };
constexpr auto redux_and = [](auto a, auto b) { return a & b; };
constexpr auto redux_or = [](auto a, auto b) { return a | b; };
constexpr auto redux_xor = [](auto a, auto b) { return a ^ b; };

template <typename T>
struct Redux : Meeting {
  T value;
  T (*combine)(T, T);
  Redux(T given, T (*function)(T, T)) : value(given), combine(function) {}
  static void meet(void* const* lanes, unsigned mask) {
    Redux total = *static_cast<const Redux*>(lanes[__builtin_ctz(mask)]);
    for (const u32 lane : ck_sim::SetBits{mask & (mask - 1)}) {
      total.value = total.combine(total.value, static_cast<const Redux*>(lanes[lane])->value);
    }
    for (const u32 lane : ck_sim::SetBits{mask}) {
      static_cast<Redux*>(lanes[lane])->value = total.value;
    }
  }
};
/// Floats in the order of integers: -0 is before +0. NaN is first or last, to be the result or not.
struct FloatRedux : Redux<s32> {
  s32 unknown;
  FloatRedux(f32 given, s32 (*function)(s32, s32), bool abs, bool nan) : Redux(0, function) {
    s32 bits = bit_cast<s32>(given);
    bits = abs ? bits & 0x7FFFFFFF : bits;
    const s32 lowest = -0x7FFFFFFF - 1, highest = 0x7FFFFFFF;
    unknown = (combine(lowest, highest) == lowest) == nan ? lowest : highest;
    value = given != given ? unknown : bits < 0 ? bits ^ 0x7FFFFFFF : bits;
  }
  f32 result() const {
    return bit_cast<f32>(value == unknown ? 0x7FFFFFFF : value < 0 ? value ^ 0x7FFFFFFF : value);
  }
};

}  // namespace ck_ptx
