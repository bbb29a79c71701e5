// A shared library as Python loads them: launchers in C, a header of its own, benchmarks.
#include "library.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <vector>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#define LAUNCH(kernel, n, stream, ...) \
  do { \
    kernel<<<((n) + 255) / 256, 256, 0, (stream)>>>(__VA_ARGS__, (n)); \
    LIBRARY_CHECK(cudaGetLastError()); \
  } while (0)

#define FOR_EACH_INDEX(i, n) \
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)

#define DEFINE_UNARY(name, expression) \
  extern "C" __global__ void name(const float* x, float* y, int n) { \
    FOR_EACH_INDEX(i, n) y[i] = (expression); \
  }

#define DEFINE_LAUNCHER(name) \
  extern "C" EXPORT void name##_launch(const float* x, float* y, int n, cudaStream_t s) { \
    LAUNCH(library::name, n, s, x, y); \
  }

namespace library {
namespace {

constexpr int kBins = 8;
__constant__ float edges[kBins + 1];
std::once_flag edges_are_set;
std::vector<std::array<float, 2>> history;

HD int bin_of(float x) {
#ifdef __CUDA_ARCH__
  int bin = 0;
  while (bin < kBins - 1 && x >= edges[bin + 1]) ++bin;
  return bin;
#else
  return std::min(kBins - 1, static_cast<int>(x * kBins));
#endif
}

void set_edges() {
  float values[kBins + 1];
  for (int i = 0; i <= kBins; ++i) values[i] = float(i) / kBins;
  LIBRARY_CHECK(cudaMemcpyToSymbol(edges, values, sizeof(values)));
}

}  // namespace

extern "C" __global__ void clamp_kernel(const float* __restrict__ x, float* __restrict__ y,
                                        Range range, int n) {
  FOR_EACH_INDEX(i, n) y[i] = detail::clamped(x[i], range);
}

extern "C" __global__ void __launch_bounds__(256)
    histogram_kernel(const float* x, unsigned* counts, int n) {
  __shared__ unsigned part[kBins];
  if (threadIdx.x < kBins) part[threadIdx.x] = 0;
  __syncthreads();
  FOR_EACH_INDEX(i, n) atomicAdd(&part[bin_of(x[i])], 1u);
  __syncthreads();
  if (threadIdx.x < kBins) atomicAdd(&counts[threadIdx.x], part[threadIdx.x]);
}

// The barrier after the first loop is missing.
extern "C" __global__ void reversed_kernel(const float* x, float* y, int n) {
  extern __shared__ float tile[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = x[i];
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    y[i] = tile[n - 1 - i];
  }
}

DEFINE_UNARY(square_kernel, x[i] * x[i])

EXPORT std::string version() { return "1.0"; }

}  // namespace library

DEFINE_LAUNCHER(square_kernel)

extern "C" EXPORT int library_clamp(const float* x, float* y, int n, float low, float high,
                                    cudaStream_t stream) {
  try {
    LAUNCH(library::clamp_kernel, n, stream, x, y, library::Range{low, high});
    library::history.push_back({low, high});
    return 0;
  } catch (const std::string& error) {
    fprintf(stderr, "%s\n", error.c_str());
    return -1;
  }
}

extern "C" {
EXPORT int library_histogram(const float* x, unsigned* counts, int n) {
  std::call_once(library::edges_are_set, library::set_edges);
  LAUNCH(library::histogram_kernel, n, 0, x, counts);
  library::reversed_kernel<<<1, 256, n * sizeof(float)>>>(x, nullptr, n);
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
}
