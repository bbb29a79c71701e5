// Limits of integers.
#pragma once

#include <cuda/std/climits>
