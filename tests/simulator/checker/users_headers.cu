// Kernels in the style of users: the headers that they include, and what comes with them.
// clang-format off
//// nvcc_style(rng.random(200, np.float32), poison(200, np.float32), np.uint32(200), grid=2, block=128, rtol=1e-5)
////     -> x, *_: {1: 2 + np.sin(2 * np.pi * x.astype(float)) + np.sqrt(x.astype(float))}
#include <cuda_runtime.h>
#include <device_launch_parameters.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
extern "C" __global__ void k(const float* x, float* y, uint n) {
  uint i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 + sin(2 * M_PI * x[i]) + sqrtf(x[i]);
}
//// short_names_of_types(rng.integers(0, 60000, 64).astype(np.uint16), poison(64, np.uint64), block=64)
////     -> x, _: {1: (x.astype(np.uint64) << np.uint64(40)) + 7}
#include <cstdlib>
extern "C" __global__ void k(const ushort* x, ulong* y) {
  const uint i = threadIdx.x;
  y[i] = (ulong(x[i]) << 40) + 7;
}
//// limits_of_floats(poison(6, np.float64), block=1)
////     -> _: {0: np.array([np.finfo(np.float32).max, np.finfo(np.float32).eps, np.finfo(np.float32).tiny,
////     np.finfo(float).max, np.finfo(float).eps, 15])}
#include <float.h>
extern "C" __global__ void k(double* y) {
  const double all[] = {FLT_MAX, FLT_EPSILON, FLT_MIN, DBL_MAX, DBL_EPSILON, DBL_DIG};
  for (int i = 0; i < 6; ++i) y[i] = all[i];
}
//// smallest_distance(rng.random((40, 2), np.float32), poison(40, np.float32), np.int32(40), block=64)
////     -> x, *_: {1: np.array([min(np.float32(np.float32(d[0] * d[0]) + np.float32(d[1] * d[1])) for j, o in enumerate(x) if j != i
////     for d in [p - o]) for i, p in enumerate(x)], np.float32)}
#include <cfloat>
extern "C" __global__ void k(const float2* x, float* y, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  float best = FLT_MAX;
  for (int j = 0; j < n; j++) {
    float dx = x[i].x - x[j].x, dy = x[i].y - x[j].y;
    if (i != j) best = fminf(best, __fadd_rn(__fmul_rn(dx, dx), __fmul_rn(dy, dy)));
  }
  y[i] = best;
}
//// limits_of_integers(poison(8, np.int64), poison(3, np.uint64), block=1)
////     -> *_,: {0: np.array([2**31 - 1, -2**31, 2**63 - 1, -2**63, 32767, -128, 2**31 - 1, 8]),
////     1: np.array([2**64 - 1, 2**32 - 1, 2**64 - 1], np.uint64)}
#include <limits.h>
#include <stdint.h>
extern "C" __global__ void k(long long* y, unsigned long long* u) {
  y[0] = INT_MAX; y[1] = INT_MIN; y[2] = LLONG_MAX; y[3] = INT64_MIN;
  y[4] = SHRT_MAX; y[5] = INT8_MIN; y[6] = INT32_MAX; y[7] = CHAR_BIT;
  u[0] = UINT64_MAX; u[1] = UINT_MAX; u[2] = SIZE_MAX;
}
//// random_numbers_of_fixed_sizes(words(rng, 100), poison(100, np.uint32), block=100)
////     -> x, _: {1: xorshifted(x)}
#include <cstdint>
extern "C" __global__ void k(const uint32_t* x, std::uint32_t* y) {
  uint32_t v = x[threadIdx.x];
  v ^= v << 13; v ^= v >> 17; v ^= v << 5;
  uint64_t wide = static_cast<std::uint64_t>(v) * UINT64_C(0x9E3779B97F4A7C15);
  y[threadIdx.x] = static_cast<uint32_t>(wide >> 32) ^ uint8_t(v);
}
//// infinity_and_nan(np.array([1, -2, np.inf, np.nan, 0], np.float32), poison(5, np.int32), poison(3, np.float64), block=5)
////     -> x, *_: {1: np.array([np.isnan(v) + 2 * np.isinf(v) + 4 * np.isfinite(v) + 8 * np.signbit(v) for v in x], np.int32),
////     2: np.array([np.inf, -np.inf, np.nan])}
#include <math.h>
extern "C" __global__ void k(const float* x, int* y, double* z) {
  int i = threadIdx.x;
  y[i] = (isnan(x[i]) ? 1 : 0) + (isinf(x[i]) ? 2 : 0) + (isfinite(x[i]) ? 4 : 0) + (signbit(x[i]) ? 8 : 0);
  if (i == 0) { z[0] = INFINITY; z[1] = -HUGE_VAL; z[2] = NAN; }
}
//// functions_of_std(rng.random(64) + 0.5, poison((64, 4), np.float64), block=64, rtol=1e-12)
////     -> x, _: {1: np.stack([np.sqrt(x) + np.exp(x), np.abs(-x) + np.power(x, 2), np.arctan2(x, 2), np.hypot(x, 3)], 1)}
#include <cmath>
extern "C" __global__ void k(const double* x, double* y) {
  const double v = x[threadIdx.x];
  double* row = y + 4 * threadIdx.x;
  row[0] = std::sqrt(v) + std::exp(v);
  row[1] = std::abs(-v) + std::pow(v, 2);
  row[2] = std::atan2(v, 2);
  row[3] = std::hypot(v, 3.0f);
}
//// functions_of_integers(ints(rng, 32, low=1), poison((32, 3), np.float64), block=32, rtol=1e-12)
////     -> x, _: {1: np.stack([np.sqrt(x), np.power(x, 0.5), np.maximum(x, 2.5)], 1)}
#include <cmath>
extern "C" __global__ void k(const int* x, double* y) {
  const int v = x[threadIdx.x];
  y[3 * threadIdx.x] = sqrt(v);
  y[3 * threadIdx.x + 1] = std::pow(v, 0.5f);
  y[3 * threadIdx.x + 2] = fmax(v, 2.5);
}
//// copies_of_bytes(ints(rng, (32, 4)), poison((32, 5), np.int32), block=32)
////     -> x, _: {1: np.concatenate([x, np.full((32, 1), 0x01010101)], 1)}
#include <string.h>
#include <cstring>
extern "C" __global__ void k(const int* x, int* y) {
  memcpy(y + 5 * threadIdx.x, x + 4 * threadIdx.x, 4 * sizeof(int));
  std::memset(y + 5 * threadIdx.x + 4, 1, sizeof(int));
}
//// bits_of_floats(rng.random(40, np.float32), poison(40, np.int32), block=40)
////     -> x, _: {1: (x.view(np.int32) >> 23) - 127}
#include <cstring>
#include <cstdint>
extern "C" __global__ void k(const float* x, int32_t* y) {
  std::uint32_t bits;
  std::memcpy(&bits, x + threadIdx.x, sizeof bits);
  y[threadIdx.x] = int32_t(bits >> 23) - 127;
}
//// lists_on_the_heap(ints(rng, 64), poison(64, np.int32), block=64)
////     -> x, _: {1: 3 * x + 3}
#include <stdlib.h>
#include <new>
struct Node { int value; Node* next; };
extern "C" __global__ void k(const int* x, int* y) {
  Node* head = nullptr;
  for (int i = 0; i < 3; ++i) head = new (malloc(sizeof(Node))) Node{x[threadIdx.x] + i, head};
  int sum = 0;
  while (head != NULL) {
    sum += head->value;
    Node* next = head->next;
    free(head);
    head = next;
  }
  y[threadIdx.x] = sum;
}
//// arrays_by_new(np.int32(7), poison(32, np.int32), block=32)
////     -> n, _: {1: ramp(32) + 42}
#include <new>
struct Sum {
  int total;
  __device__ explicit Sum(int first) : total(first) {}
};
extern "C" __global__ void k(int n, int* y) {
  alignas(Sum) char room[sizeof(Sum)];
  Sum* sum = ::new (room) Sum(threadIdx.x);
  int* items = new int[n];
  for (int i = 0; i < n; i++) items[i] = 2 * i;
  for (int i = 0; i < n; i++) sum->total += items[i];
  delete[] items;
  y[threadIdx.x] = sum->total;
}
//// offsets_of_fields(poison(3, np.int64), block=1)
////     -> _: {0: np.array([8, 16, 24])}
#include <cstddef>
struct Record { char tag; double weight; int id; };
extern "C" __global__ void k(ptrdiff_t* y) {
  y[0] = offsetof(Record, weight);
  y[1] = offsetof(Record, id);
  y[2] = std::size_t{sizeof(Record)};
}
//// asserts_hold(ints(rng, 64, low=0), poison(64, np.int32), block=64)
////     -> x, _: {1: x + 1}
#include <assert.h>
extern "C" __global__ void k(const int* x, int* y) {
  assert(x[threadIdx.x] >= 0 && "must not be negative");
  y[threadIdx.x] = x[threadIdx.x] + 1;
}
//// asserts_are_off(ints(rng, 64), poison(64, np.int32), block=64, alone=True)
////     -> x, _: {1: x + 1}
#define NDEBUG
#include <cassert>
extern "C" __global__ void k(const int* x, int* y) {
  assert(x[threadIdx.x] > 1000);
  y[threadIdx.x] = x[threadIdx.x] + 1;
}
//// printed_integers(np.int64(2**40), poison(1, np.int32), block=1)
////     -> *_,: {1: np.array([25])}
#include <stdio.h>
#include <inttypes.h>
extern "C" __global__ void k(int64_t x, int* y) {
  *y = printf("") + 25;
  if (x < 0) printf("%" PRId64 " %" PRIx32 "\n", x, uint32_t(x));
}
//// drivers_header(poison(1, np.int32), block=1)
////     -> _: {0: np.array([700])}
#include <cuda.h>
extern "C" __global__ void k(int* y) { *y = CUDA_ERROR_ILLEGAL_ADDRESS; }
