// Instructions on f16 and bf16 alone.
#pragma once

#include "compare.hpp"
#include "small_floats.hpp"

namespace ck_ptx {

/// A pair of what each half of pairs gives.
template <typename F, typename P, typename... Q>
CK_INLINE P on_halves(F compute, P a, Q... more) {
  return pair(compute(low(a), low(more)...), compute(high(a), high(more)...));
}

/// With RELU at least +0. NaN, which has no sign, stays.
template <int RELU, typename H>
CK_INLINE H rectified(H x) {
  return RELU && x.bits & FloatOf<H>::sign ? H{0} : x;
}

/// What is compared: halves as f32.
template <int FTZ, typename T>
CK_INLINE f32 operand(T x) {
  if constexpr (sizeof(T) == 2)
    return to_f32(flushed<FTZ>(x));
  else
    return flushed<FTZ>(x);
}

/// What `set` stores for a comparison in a half of a result.
template <typename H>
CK_INLINE H half_truth(bool x) {
  return x ? from_f32<H>(1) : H{0};
}
CK_INLINE u32 word_truth(bool low, bool high) {
  return (low ? 0xffffu : 0) | (high ? 0xffff0000u : 0);
}

}  // namespace ck_ptx
