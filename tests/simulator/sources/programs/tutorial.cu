// A program as in tutorials: kernels, then a main function that checks and times them.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmath>

#define CHECK(call) \
  do { \
    cudaError_t status = (call); \
    if (status != cudaSuccess) { \
      fprintf(stderr, "%s:%d: %s }\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
      exit(EXIT_FAILURE); \
    } \
  } while (0)

const int kBlock = 128;
static int launches;

__constant__ float scales[4];
__device__ unsigned int visits;

__device__ __forceinline__ float scaled(float value, int row) { return value * scales[row % 4]; }

__host__ __device__ inline int blocks_for(int n) { return (n + kBlock - 1) / kBlock; }

__global__ void saxpy(int n, float a, const float* x, float* y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    y[i] = a * x[i] + scaled(y[i], i);
    if (i == 0) atomicAdd(&visits, blocks_for(n));
  }
}

__global__ void block_sums(int n, const float* x, float* sums) {
  __shared__ float part[kBlock];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int half = kBlock / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

// Reads one element too many.
__global__ void shifted(int n, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i + 1];
}

void fill(float* values, int n) {
  for (int i = 0; i < n; ++i) values[i] = (float)rand() / RAND_MAX;
}

static float elapsed(cudaEvent_t start, cudaEvent_t stop) {
  float milliseconds = 0;
  CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
  return milliseconds;
}

int main(int argc, char** argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
  size_t bytes = n * sizeof(float);
  float *x = (float*)malloc(bytes), *y = (float*)malloc(bytes);
  fill(x, n), fill(y, n);
  float *d_x, *d_y;
  CHECK(cudaMalloc(&d_x, bytes));
  CHECK(cudaMalloc((void**)&d_y, bytes));
  CHECK(cudaMemcpy(d_x, x, bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_y, y, bytes, cudaMemcpyHostToDevice));
  float host_scales[4] = {1, 2, 3, 4};
  CHECK(cudaMemcpyToSymbol(scales, host_scales, sizeof host_scales));
  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  dim3 block(kBlock), grid(blocks_for(n));
  CHECK(cudaEventRecord(start));
  saxpy<<<grid, block>>>(n, 2.0f, d_x, d_y);
  block_sums<<<grid, block, 0, 0>>>(n, d_y, d_x);
  shifted<<<grid, block>>>(n - 1, d_x, d_y);
  ++launches;
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(stop));
  CHECK(cudaEventSynchronize(stop));
  printf("%d launches: %f ms\n", launches, elapsed(start, stop));
  CHECK(cudaFree(d_x));
  CHECK(cudaFree(d_y));
  free(x), free(y);
  return 0;
}
