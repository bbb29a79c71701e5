// SPDX-License-Identifier: MIT
// What <cuda_fp16.h> gives.
#pragma once

#include "small_float2.hpp"

using __half = ck_sim::SmallFloat<10>;
using __half2 = ck_sim::SmallFloat2<10>;
using __half_raw = ck_sim::RawSmall;
using __half2_raw = ck_sim::RawSmall2;
using half = __half;
using half2 = __half2;
using __nv_half = __half;
using __nv_half2 = __half2;
using nv_half = __half;
using nv_half2 = __half2;

#define CK_SIM_SMALL_half __half
CK_SIM_SMALL_CONVERSIONS(half, __half, __half2)
#undef CK_SIM_SMALL_half
