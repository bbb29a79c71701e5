// Kernels as users write them. pocl.py turns those without warp collectives into OpenCL C, so there
// are pointers in parameter lists alone.

extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

// y = the mean of the four neighbours, h x w, without its border.
extern "C" __global__ void stencil(const float* x, float* y, int h, int w) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r > 0 && r < h - 1 && c > 0 && c < w - 1) {
    y[r * w + c] =
        0.25f * (x[(r - 1) * w + c] + x[(r + 1) * w + c] + x[r * w + c - 1] + x[r * w + c + 1]);
  }
}

// out = x y, all n x n, by tiles of 16 x 16.
extern "C" __global__ void matrix_product(const float* x, const float* y, float* out, int n) {
  __shared__ float a[16][16], b[16][16];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    a[ty][tx] = x[row * n + k + tx];
    b[ty][tx] = y[(k + ty) * n + column];
    __syncthreads();
    for (int j = 0; j < 16; j++) sum += a[ty][j] * b[j][tx];
    __syncthreads();
  }
  out[row * n + column] = sum;
}

extern "C" __global__ void shared_histogram(int n, const unsigned char* x, int* counts) {
  __shared__ int bins[256];
  bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
    atomicAdd(&bins[x[i]], 1);
  }
  __syncthreads();
  atomicAdd(&counts[threadIdx.x], bins[threadIdx.x]);
}

extern "C" __global__ void global_histogram(int n, const unsigned char* x, int* counts) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&counts[x[i]], 1);
}

// The sum of each 256 elements.
extern "C" __global__ void tree_sum(const float* x, float* sums) {
  __shared__ float s[256];
  s[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
  for (int half_way = 128; half_way > 0; half_way /= 2) {
    __syncthreads();
    if (threadIdx.x < half_way) s[threadIdx.x] += s[threadIdx.x + half_way];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = s[0];
}

// The sum of each 32 elements.
extern "C" __global__ void warp_sum(const float* x, float* sums) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float v = x[i];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
  if (threadIdx.x % 32 == 0) sums[i / 32] = v;
}

// A sum for each block, which takes 256 elements in each turn of the grid.
extern "C" __global__ void grid_sum(const float* x, float* sums, int n) {
  __shared__ float s[8];
  float v = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) v += x[i];
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < 8; i++) sum += s[i];
    sums[blockIdx.x] = sum;
  }
}

// One step of a bitonic sort.
extern "C" __global__ void bitonic_step(unsigned* x, int j, int k) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, o = i ^ j;
  if (o > i) {
    unsigned a = x[i], b = x[o];
    if ((a > b) == ((i & k) == 0)) {
      x[i] = b;
      x[o] = a;
    }
  }
}

// Sorts each 512 elements.
extern "C" __global__ void bitonic_sort(unsigned* x) {
  __shared__ unsigned s[512];
  unsigned t = threadIdx.x, first = blockIdx.x * 512;
  s[t] = x[first + t];
  s[t + 256] = x[first + t + 256];
  for (unsigned k = 2; k <= 512; k *= 2) {
    for (unsigned j = k / 2; j > 0; j /= 2) {
      __syncthreads();
      unsigned i = 2 * t - (t & (j - 1)), o = i + j;
      unsigned a = s[i], b = s[o];
      if ((a > b) == ((i & k) == 0)) {
        s[i] = b;
        s[o] = a;
      }
    }
  }
  __syncthreads();
  x[first + t] = s[t];
  x[first + t + 256] = s[t + 256];
}

// What n bodies, each a place and a mass, do to each other.
extern "C" __global__ void n_body(const float4* bodies, float* forces, int n) {
  __shared__ float4 tile[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 me = bodies[i];
  float fx = 0, fy = 0, fz = 0;
  for (int t = 0; t < n; t += 256) {
    tile[threadIdx.x] = bodies[t + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < 256; j++) {
      float4 other = tile[j];
      float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
      float s = other.w * inverse * inverse * inverse;
      fx += dx * s;
      fy += dy * s;
      fz += dz * s;
    }
    __syncthreads();
  }
  forces[3 * i] = fx;
  forces[3 * i + 1] = fy;
  forces[3 * i + 2] = fz;
}
