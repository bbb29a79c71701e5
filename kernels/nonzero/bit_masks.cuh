// SPDX-License-Identifier: MIT
// Which elements are not zero, as one bit each: tests on the bits of 16-byte vectors, and masks of
// 32 elements put together in shared memory, in the order of the elements.
#pragma once

#include "common/memory.cuh"
#include "common/types.cuh"
#include "nonzero/look_back.cuh"

namespace ck {

/// The bits of an element that count, repeated to 8 bytes: all, but the signs of floats.
struct KeptBits {
  uint32 low;
  uint32 high;
};

template <typename T>
CK_DEVICE bool is_nonzero(T value, KeptBits kept) {
  if constexpr (sizeof(T) == 16) {
    return ((value.x & kept.low) | (value.y & kept.high) | (value.z & kept.low) |
            (value.w & kept.high)) != 0;
  } else if constexpr (sizeof(T) == 8) {
    return ((static_cast<uint32>(value) & kept.low) |
            (static_cast<uint32>(value >> 32) & kept.high)) != 0;
  } else {
    return (value & static_cast<T>(kept.low)) != 0;
  }
}

/// One bit for each element of a word, for elements of 1, 2 and 4 bytes.
template <int kWidth>
CK_DEVICE uint32 bits_of_word(uint32 word) {
  if constexpr (kWidth == 1) {
    // The top bit of each byte that is not zero; then the four, 8 apart, are brought together.
    const uint32 tops = (((word & 0x7F7F7F7F) + 0x7F7F7F7F) | word) & 0x80808080;
    return (tops >> 7) * 0x10204080 >> 28;
  } else if constexpr (kWidth == 2) {
    const uint32 tops = (((word & 0x7FFF7FFF) + 0x7FFF7FFF) | word) & 0x80008000;
    return (tops >> 15 | tops >> 30) & 3;
  } else {
    return word != 0 ? 1 : 0;
  }
}

/// One bit for each element of a vector, the first one lowest.
template <int kWidth>
CK_DEVICE uint32 bits_of(uint4 v, KeptBits kept) {
  const uint32 x = v.x & kept.low, y = v.y & kept.high, z = v.z & kept.low, w = v.w & kept.high;
  if constexpr (kWidth == 16) {
    return (x | y | z | w) != 0 ? 1 : 0;
  } else if constexpr (kWidth == 8) {
    return ((x | y) != 0 ? 1 : 0) | ((z | w) != 0 ? 2 : 0);
  } else {
    constexpr int kOfWord = 4 / kWidth;
    return bits_of_word<kWidth>(x) | bits_of_word<kWidth>(y) << kOfWord |
           bits_of_word<kWidth>(z) << (2 * kOfWord) | bits_of_word<kWidth>(w) << (3 * kOfWord);
  }
}

/// Puts the bits of one vector of each lane where they belong, if there is room. `vector` is the
/// number of the lane's vector in the warp's `masks`; neighbours have neighbouring ones, and lane 0
/// a multiple of 32.
template <int kWidth>
CK_DEVICE void store_bits(uint32* masks, uint32 vector, uint32 bits, bool fits) {
  constexpr uint32 kBits = 16 / kWidth;
  constexpr uint32 kVectors = 32 / kBits;  // of a word
  if constexpr (kWidth == 1) {
    if (fits) {
      reinterpret_cast<uint16*>(masks)[vector] = static_cast<uint16>(bits);
    }
  } else if constexpr (kWidth == 2) {
    if (fits) {
      reinterpret_cast<uint8*>(masks)[vector] = static_cast<uint8>(bits);
    }
  } else {
    uint32 word = bits << (vector % kVectors * kBits);
    if constexpr (kWidth == 16) {
      word = __ballot_sync(kAllLanes, bits != 0);
    } else {
#pragma unroll
      for (uint32 step = 1; step < kVectors; step *= 2) {
        word |= __shfl_xor_sync(kAllLanes, word, step);
      }
    }
    if (fits && vector % kVectors == 0) {
      masks[vector / kVectors] = word;
    }
  }
}

}  // namespace ck
