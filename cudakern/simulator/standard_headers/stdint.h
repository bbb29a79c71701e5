// The integers of fixed sizes.
#pragma once

#include <cuda/std/cstdint>

using namespace cuda::std;
