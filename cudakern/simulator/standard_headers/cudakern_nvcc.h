// What nvcc includes by itself before a file, as far as device code has it.
#pragma once

#include <math.h>
#include <stdlib.h>
#include <string.h>
#if __cplusplus >= 201703L && __has_include(<cuda/std/climits>)
#include <limits.h>
#endif
