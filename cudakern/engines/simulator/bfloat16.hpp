// SPDX-License-Identifier: MIT
// What <cuda_bf16.h> gives.
#pragma once

#include "small_float2.hpp"

using __nv_bfloat16 = ck_sim::SmallFloat<7>;
using __nv_bfloat162 = ck_sim::SmallFloat2<7>;
using __nv_bfloat16_raw = ck_sim::RawSmall;
using __nv_bfloat162_raw = ck_sim::RawSmall2;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

#define CK_SIM_SMALL_bfloat16 __nv_bfloat16
CK_SIM_SMALL_CONVERSIONS(bfloat16, __nv_bfloat16, __nv_bfloat162)
#undef CK_SIM_SMALL_bfloat16
