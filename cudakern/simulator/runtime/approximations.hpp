// Functions of the C library that kernels call here, so that they need not be linked with it.
#pragma once

#include <math.h>

#include "runtime_api.hpp"

CK_SIM_EXPORT float ck_sim_sin(float x) { return sinf(x); }
CK_SIM_EXPORT float ck_sim_cos(float x) { return cosf(x); }
CK_SIM_EXPORT float ck_sim_lg2(float x) { return log2f(x); }
CK_SIM_EXPORT float ck_sim_ex2(float x) { return exp2f(x); }
CK_SIM_EXPORT float ck_sim_tanh(float x) { return tanhf(x); }
