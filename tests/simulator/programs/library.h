// What library.cu and its callers share: a header for both compilers.
#ifndef LIBRARY_H
#define LIBRARY_H

#include <cuda_runtime.h>

#include <cstdio>
#include <sstream>
#include <string>

#ifdef __CUDACC__
#define HD __host__ __device__ __forceinline__
#else
#define HD inline
#endif

#define LIBRARY_CHECK(call) ::library::detail::check((call), #call, __FILE__, __LINE__)

namespace library {

struct Range {
  float low, high;
};

namespace detail {

inline void check(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  std::ostringstream text;
  text << file << ":" << line << ": " << call << ": " << cudaGetErrorString(status);
  throw text.str();
}

HD float clamped(float x, Range range) { return x < range.low ? range.low : x > range.high ? range.high : x; }

}  // namespace detail

std::string version();

}  // namespace library

#ifdef __cplusplus
extern "C" {
#endif
int library_clamp(const float* x, float* y, int n, float low, float high, cudaStream_t stream);
int library_histogram(const float* x, unsigned* counts, int n);
#ifdef __cplusplus
}
#endif

#endif
