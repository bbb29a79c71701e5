// float16 and bfloat16, which compute as float does and are rounded where they are stored.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define CUDAKERN_NARROW(Name, Held, narrow, widen) \
  class Name { \
   public: \
    Name() = default; \
    __device__ Name(float value) : held_(narrow(value)) {} \
    __device__ operator float() const { return widen(held_); } \
    __device__ Name& operator+=(float v) { return *this = float(*this) + v; } \
    __device__ Name& operator-=(float v) { return *this = float(*this) - v; } \
    __device__ Name& operator*=(float v) { return *this = float(*this) * v; } \
    __device__ Name& operator/=(float v) { return *this = float(*this) / v; } \
\
   private: \
    Held held_; \
  };
// Both are what they hold.
#define CUDAKERN_ATOMIC_ADD(Name, Held, narrow, widen) \
  __device__ inline Name atomicAdd(Name* address, Name value) { \
    return widen(atomicAdd(reinterpret_cast<Held*>(address), narrow(float(value)))); \
  }
CUDAKERN_NARROW(float16, __half, __float2half_rn, __half2float)
CUDAKERN_NARROW(bfloat16, __nv_bfloat16, __float2bfloat16_rn, __bfloat162float)
CUDAKERN_ATOMIC_ADD(float16, __half, __float2half_rn, __half2float)
CUDAKERN_ATOMIC_ADD(bfloat16, __nv_bfloat16, __float2bfloat16_rn, __bfloat162float)
#undef CUDAKERN_ATOMIC_ADD
#undef CUDAKERN_NARROW
