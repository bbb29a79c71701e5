"""A histogram in shared memory, by a class that holds a module with constants."""

import cupy
import numpy

CODE = r"""
__constant__ float edges[2];

extern "C" {
__global__ void count(const float* values, long long n, int bins, unsigned int* counts) {
  extern __shared__ unsigned int own[];
  for (int b = threadIdx.x; b < bins; b += blockDim.x) own[b] = 0;
  __syncthreads();  // zeros
  const float scale = bins / (edges[1] - edges[0]);
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += step) {
    const int bin = (int)floorf((values[i] - edges[0]) * scale);
    if (bin >= 0 && bin < bins) atomicAdd(&own[bin], 1u);
  }
  __syncthreads();  // counts
  for (int b = threadIdx.x; b < bins; b += blockDim.x) atomicAdd(&counts[b], own[b]);
}

__global__ void scan(const unsigned int* counts, unsigned int* sums) {
  __shared__ unsigned int s[256];
  const int t = threadIdx.x;
  s[t] = counts[t];
  __syncthreads();
  for (int step = 1; step < 256; step *= 2) {
    const unsigned int before = t >= step ? s[t - step] : 0;
    __syncthreads();
    s[t] += before;
    __syncthreads();
  }
  sums[t] = s[t];
}
}
"""


class Histogram:
    """Counts of values in bins of equal width."""

    bins = 256

    def __init__(self, low, high):
        self.module = cupy.RawModule(code=CODE, options=("--std=c++14",))
        self.count = self.module.get_function("count")
        self.scan = self.module.get_function("scan")
        edges = cupy.ndarray((2,), cupy.float32, self.module.get_global("edges"))
        edges[...] = cupy.array([low, high], dtype=cupy.float32)

    def __call__(self, values):
        """Return counts and their cumulative sums."""
        counts = cupy.zeros(self.bins, dtype=cupy.uint32)
        grid = min(4, -(-values.size // 128))
        shared = self.bins * counts.itemsize
        assert shared <= self.count.max_dynamic_shared_size_bytes
        arguments = (values, numpy.int64(values.size), numpy.int32(self.bins), counts)
        self.count((grid,), (128,), arguments, shared_mem=shared)
        sums = cupy.empty_like(counts)
        self.scan((1,), (self.bins,), (counts, sums))
        return counts, sums


if __name__ == "__main__":
    values = cupy.asarray(numpy.random.default_rng(1).normal(size=5000).astype("f4"))
    counts, sums = Histogram(-3, 3)(values)
    cupy.testing.assert_array_equal(sums, cupy.cumsum(counts).astype(cupy.uint32))
    counts, total = counts.get(), int(sums[-1])
    print(f"{total} of {values.size} values, most often in bin {counts.argmax()}")
