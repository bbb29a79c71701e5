// What nvcc includes by itself before a file, as far as device code and the standard have it.
#pragma once

#if __cplusplus >= 201103L
#include <math.h>
#include <stdlib.h>
#include <string.h>
#endif
#if __cplusplus >= 201703L && __has_include(<cuda/std/climits>)
#include <limits.h>
#endif
