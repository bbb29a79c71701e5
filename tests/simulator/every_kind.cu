// A kernel for each kind of finding, in the order of the table in cudakern/simulator/README.md.
// clang-format off
extern "C" __global__ void out_of_bounds(const int* x, int* y) {
  const int i = threadIdx.x + 16;
  y[i - 16] = x[i];
}

extern "C" __global__ void misaligned(const int* x, int* y) {
  /* é日 */ *reinterpret_cast<int2*>(y + 1) = make_int2(x[0], x[1]);
}

extern "C" __global__ void uninitialized(const int* x, int* y) {
  __shared__ int tile[64];
  if (threadIdx.x < 32) tile[threadIdx.x] = x[0];
  __syncthreads();
  const int value = tile[threadIdx.x];
  y[threadIdx.x] = value;
}

extern "C" __global__ void inactive_lane(const int* x, int* y) {
  int v = x[0];
  if (threadIdx.x < 8) v += __shfl_down_sync(0xff, v, 8);
  y[threadIdx.x] = v;
}

__device__ int next_of(const int* s, int i) {
	return s[i + 1];
}

extern "C" __global__ void race(const int* x, int* y) {
  __shared__ int s[65];
  s[threadIdx.x] = x[0];
  const int v = next_of(s, threadIdx.x);
  __syncthreads();
  s[threadIdx.x] += v;
}

extern "C" __global__ void barrier_divergence(const int* x, int* y) {
  if (threadIdx.x < 48)
    __syncthreads();
  else
    __syncwarp();
  __syncthreads();
}

extern "C" __global__ void deadlock(const int* x, int* y) {
  while (atomicAdd(y, 0) == 0) {
  }
}

extern "C" __global__ void trap(const int* x, int* y) {
  if (threadIdx.x == 40) __trap();
}

extern "C" __global__ void asserts(const int* x, int* y) {
  assert(x[threadIdx.x] < 64 && "\u00e9t\u00e9 \x1b[1m");
}

extern "C" __global__ void stack_overflow(const int* x, int* y) {
  int deep[40000];
  for (int i = 0; i < 40000; ++i) deep[i] = x[i & 1];
  y[0] = deep[y[1]];
}

extern "C" __global__ void misuse(const int* x, int* y) {
  free(y);
}
