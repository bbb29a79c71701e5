// malloc, free and abs, which NVRTC itself has, and names of types that C libraries have there.
#pragma once

#define EXIT_FAILURE 1
#define EXIT_SUCCESS 0
#define RAND_MAX 2147483647

typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned short ushort;

namespace std {
using ::abs;
using ::free;
using ::labs;
using ::llabs;
using ::malloc;
using ::size_t;
}  // namespace std
