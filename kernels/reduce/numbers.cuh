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
constexpr bool kIsShortFloat = false;
template <>
constexpr bool kIsShortFloat<Float16> = true;
template <>
constexpr bool kIsShortFloat<BFloat16> = true;
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
  if (back == x || x != x) return nearest;
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

CK_DEVICE void round_to(Float16& to, float x) { to = {float_to_half(x)}; }
CK_DEVICE void round_to(BFloat16& to, float x) {
  const uint32 bits = __float_as_uint(x);
  const uint32 rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  to = {static_cast<uint16>(x != x ? 0x7fff : rounded)};
}

/// `From` as `To`, as a cast does it; a real number gets the imaginary part 0, and all but zero is
/// true.
template <typename To, typename From>
CK_DEVICE To convert(From x) {
  if constexpr (kIsBool<From>) {
    return convert<To>(x.byte != 0 ? 1u : 0u);
  } else if constexpr (kIsShortFloat<From>) {
    return convert<To>(to_float(x));
  } else if constexpr (kIsBool<To>) {
    return {static_cast<uint8>(x != From{0} ? 1 : 0)};
  } else if constexpr (kIsShortFloat<To>) {
    To rounded;
    round_to(rounded, to_odd_float(x));
    return rounded;
  } else if constexpr (kIsComplex<To>) {
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

}  // namespace ck
