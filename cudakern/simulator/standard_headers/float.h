// Limits of floats. In device code a long double is a double.
#pragma once

#include <cuda/std/cfloat>

#define LDBL_DIG DBL_DIG
#define LDBL_EPSILON DBL_EPSILON
#define LDBL_MANT_DIG DBL_MANT_DIG
#define LDBL_MAX DBL_MAX
#define LDBL_MIN DBL_MIN
