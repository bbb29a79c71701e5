// malloc, free and abs, which NVRTC itself has, and names of types that C libraries have there.
#pragma once

#define EXIT_FAILURE 1
#define EXIT_SUCCESS 0
#define RAND_MAX 2147483647

typedef long off_t;
typedef long ssize_t;
typedef unsigned char u_char;
typedef unsigned char u_int8_t;
typedef unsigned int u_int;
typedef unsigned int u_int32_t;
typedef unsigned int uint;
typedef unsigned long u_int64_t;
typedef unsigned long u_long;
typedef unsigned long ulong;
typedef unsigned short u_int16_t;
typedef unsigned short u_short;
typedef unsigned short ushort;

namespace std {
using ::abs;
using ::free;
using ::labs;
using ::llabs;
using ::malloc;
using ::size_t;
}  // namespace std
