// SPDX-License-Identifier: MIT
// CUDA's vector types with their sizes and alignments, and dim3.
#pragma once

#define CK_SIM_VECTOR(type, name, align2, align4) \
  struct name##1 { type x; }; \
  struct alignas(align2) name##2 { type x, y; }; \
  struct name##3 { type x, y, z; }; \
  struct alignas(align4) name##4 { type x, y, z, w; }; \
  inline name##1 make_##name##1(type x) { return {x}; } \
  inline name##2 make_##name##2(type x, type y) { return {x, y}; } \
  inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

CK_SIM_VECTOR(signed char, char, 2, 4)
CK_SIM_VECTOR(unsigned char, uchar, 2, 4)
CK_SIM_VECTOR(short, short, 4, 8)
CK_SIM_VECTOR(unsigned short, ushort, 4, 8)
CK_SIM_VECTOR(int, int, 8, 16)
CK_SIM_VECTOR(unsigned int, uint, 8, 16)
CK_SIM_VECTOR(long long, longlong, 16, 16)
CK_SIM_VECTOR(unsigned long long, ulonglong, 16, 16)
CK_SIM_VECTOR(float, float, 8, 16)
CK_SIM_VECTOR(double, double, 16, 16)

#undef CK_SIM_VECTOR

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
