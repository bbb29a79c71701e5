// SPDX-License-Identifier: MIT
// The data types that reduce computes with: 16-bit floats, bool, complex, and conversions.
//
// 16-bit floats are only stored; arithmetic on them is done in float. Roundings are to nearest,
// ties to even, once: a double becomes a 16-bit float without a rounding to float in between.
#pragma once

#include "common/ptx.cuh"

namespace ck {

using int8 = signed char;
using int16 = short;

/// One byte; anything but 0 is true.
struct Bool {
  uint8 byte;
};
struct Float16 {
  uint16 bits;
};
struct BFloat16 {
  uint16 bits;
};
/// On 8 bytes: complex128 need not lie on 16.
template <typename T>
struct alignas(8) Complex {
  T re;
  T im;
};

template <>
constexpr bool kIsSigned<Bool> = false;
template <typename T>
constexpr bool kIsBool = false;
template <>
constexpr bool kIsBool<Bool> = true;
template <typename T>
constexpr bool kIsFloat = false;
template <>
constexpr bool kIsFloat<float> = true;
template <>
constexpr bool kIsFloat<double> = true;
template <typename T>
constexpr bool kIsComplex = false;
template <typename T>
constexpr bool kIsComplex<Complex<T>> = true;

CK_DEVICE float to_float(Float16 x) { return half_to_float(x.bits); }
CK_DEVICE float to_float(BFloat16 x) { return __uint_as_float(static_cast<uint32>(x.bits) << 16); }

/// The float nearest to zero of those around x, its last bit set if it is not x: rounding it to 16
/// bits gives what rounding x does.
CK_DEVICE float to_odd_float(double x) {
  const float nearest = static_cast<float>(x);
  const double back = static_cast<double>(nearest);
  uint32 bits = __float_as_uint(nearest);
  if (back == x || x != x) {
    return nearest;
  }
  if ((back > x) == (x > 0)) {  // away from zero
    bits -= 1;
  }
  return __uint_as_float(bits | 1);
}
CK_DEVICE float to_odd_float(float x) { return x; }
template <typename From>
CK_DEVICE float to_odd_float(From x) {
  return to_odd_float(static_cast<double>(x));
}

CK_DEVICE Float16 to_float16(float x) { return {float_to_half(x)}; }
CK_DEVICE BFloat16 to_bfloat16(float x) {
  const uint32 bits = __float_as_uint(x);
  const uint32 rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return {static_cast<uint16>(x != x ? 0x7fff : rounded)};
}

/// `From` as `To`, as a cast does it; a real number gets the imaginary part 0, and all but zero is
/// true.
template <typename To, typename From>
struct Conversion {
  CK_DEVICE static To of(From x) {
    if constexpr (kIsComplex<To>) {
      using Part = decltype(To::re);
      if constexpr (kIsComplex<From>) {
        return {static_cast<Part>(x.re), static_cast<Part>(x.im)};
      } else {
        return {static_cast<Part>(x), Part{0}};
      }
    } else {
      return static_cast<To>(x);
    }
  }
};
template <typename To>
struct Conversion<To, Bool> {
  CK_DEVICE static To of(Bool x) { return Conversion<To, uint32>::of(x.byte != 0 ? 1 : 0); }
};
template <typename To>
struct Conversion<To, Float16> {
  CK_DEVICE static To of(Float16 x) { return Conversion<To, float>::of(to_float(x)); }
};
template <typename To>
struct Conversion<To, BFloat16> {
  CK_DEVICE static To of(BFloat16 x) { return Conversion<To, float>::of(to_float(x)); }
};
template <typename From>
struct Conversion<Bool, From> {
  CK_DEVICE static Bool of(From x) { return {static_cast<uint8>(x != From{0} ? 1 : 0)}; }
};
template <typename From>
struct Conversion<Float16, From> {
  CK_DEVICE static Float16 of(From x) { return to_float16(to_odd_float(x)); }
};
template <typename From>
struct Conversion<BFloat16, From> {
  CK_DEVICE static BFloat16 of(From x) { return to_bfloat16(to_odd_float(x)); }
};

template <typename To, typename From>
CK_DEVICE To convert(From x) {
  return Conversion<To, From>::of(x);
}

}  // namespace ck
