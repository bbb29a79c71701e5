// CUB's device-wide algorithms behind C functions, for perf/peers/cub.py to call.
//
// Every function returns a cudaError_t and works on the stream that it is given. One with scratch
// memory only sets *bytes to what it needs where scratch is null.

#include <cstdint>

#include <cuda_fp16.h>

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/device/device_select.cuh>
#include <cub/device/device_transform.cuh>
#include <cub/version.cuh>
#include <cuda/functional>
#include <cuda/iterator>
#include <cuda/std/functional>
#include <cuda/std/utility>

namespace {

struct Nonzero {
  template <typename T>
  __host__ __device__ bool operator()(T value) const {
    return value != T(0);
  }
};

struct First {
  template <typename Pair>
  __host__ __device__ int64_t operator()(Pair pair) const {
    return pair.first;
  }
};

// Writes the coordinates of a flat index, in row-major order, as a row of the result.
template <typename Result, int Rank>
struct WriteCoordinates {
  Result* out;
  uint32_t sizes[Rank];

  __host__ __device__ void operator()(int64_t position, Result flat) const {
    uint32_t rest = static_cast<uint32_t>(flat);
#pragma unroll
    for (int axis = Rank - 1; axis >= 0; --axis) {
      out[position * Rank + axis] = static_cast<Result>(rest % sizes[axis]);
      rest /= sizes[axis];
    }
  }
};

template <typename T>
struct Lookup {
  const T* table;

  __host__ __device__ T operator()(int32_t index) const { return table[index]; }
};

auto flags_of(const bool* data) { return data; }

template <typename T>
auto flags_of(const T* data) {
  return cuda::make_transform_iterator(data, Nonzero{});
}

// Coordinates of what is not zero: the flags are selected by, the counting iterator is selected.
template <int Rank, typename T, typename Result>
int select(void* scratch, size_t* bytes, const T* data, Result* out, uint32_t* count,
           const int* sizes, cudaStream_t stream) {
  int64_t total = 1;
  WriteCoordinates<Result, Rank> write{out, {}};
  for (int axis = 0; axis < Rank; ++axis) {
    total *= sizes[axis];
    write.sizes[axis] = static_cast<uint32_t>(sizes[axis]);
  }
  auto positions = cuda::make_counting_iterator(Result{0});
  if constexpr (Rank == 1) {
    return cub::DeviceSelect::Flagged(scratch, *bytes, positions, flags_of(data), out, count, total,
                                      stream);
  } else {
    return cub::DeviceSelect::Flagged(scratch, *bytes, positions, flags_of(data),
                                      cuda::make_tabulate_output_iterator(write, int64_t{0}), count,
                                      total, stream);
  }
}

}  // namespace

extern "C" int version() { return CUB_VERSION; }

// Sums of halves are kept in 32 bits, as ours are.
#define SUM(NAME, T, SUM_TYPE) \
  extern "C" int sum_##NAME(void* scratch, size_t* bytes, const T* data, T* out, int size, \
                            cudaStream_t stream) { \
    return cub::DeviceReduce::Reduce(scratch, *bytes, data, out, size, \
                                     cuda::std::plus<SUM_TYPE>{}, SUM_TYPE{0}, stream); \
  }

SUM(float16, __half, float)
SUM(float32, float, float)
SUM(float64, double, double)
SUM(int32, int32_t, int32_t)

extern "C" int max_int8(void* scratch, size_t* bytes, const int8_t* data, int8_t* out, int size,
                        cudaStream_t stream) {
  return cub::DeviceReduce::Max(scratch, *bytes, data, out, size, stream);
}

extern "C" int rows_sum_float32(void* scratch, size_t* bytes, const float* data, float* out,
                                int rows, int columns, cudaStream_t stream) {
  return cub::DeviceSegmentedReduce::Sum(scratch, *bytes, data, out, int64_t{rows}, columns,
                                         stream);
}

// CUB finds pairs of an index and a value; the index alone is written.
extern "C" int rows_argmax_float32(void* scratch, size_t* bytes, const float* data, int64_t* out,
                                   int rows, int columns, cudaStream_t stream) {
  return cub::DeviceSegmentedReduce::ArgMax(scratch, *bytes, data,
                                            cuda::make_transform_output_iterator(out, First{}),
                                            int64_t{rows}, columns, stream);
}

#define SELECT(NAME, T, RESULT_NAME, RESULT, RANK) \
  extern "C" int nonzero_##NAME##_##RANK##_##RESULT_NAME( \
      void* scratch, size_t* bytes, const T* data, RESULT* out, uint32_t* count, const int* sizes, \
      cudaStream_t stream) { \
    return select<RANK>(scratch, bytes, data, out, count, sizes, stream); \
  }

SELECT(bool, bool, uint32, uint32_t, 1)
SELECT(bool, bool, int64, int64_t, 1)
SELECT(int8, int8_t, uint32, uint32_t, 1)
SELECT(int8, int8_t, int64, int64_t, 1)
SELECT(float16, __half, uint32, uint32_t, 2)
SELECT(float16, __half, int64, int64_t, 2)
SELECT(float32, float, uint32, uint32_t, 3)
SELECT(float32, float, int64, int64_t, 3)

#define GATHER(BITS) \
  extern "C" int gather_##BITS(const uint##BITS##_t* table, const int32_t* indices, \
                               uint##BITS##_t* out, int size, cudaStream_t stream) { \
    return cub::DeviceTransform::Transform(indices, out, size, Lookup<uint##BITS##_t>{table}, \
                                           stream); \
  }

GATHER(8)
GATHER(16)
GATHER(32)
