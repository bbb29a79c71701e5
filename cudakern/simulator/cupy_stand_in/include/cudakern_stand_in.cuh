// What the text of an ElementwiseKernel or a ReductionKernel may use: arrays of any strides,
// indices of several dimensions, and numbers that CUDA C++ does not have itself.
#pragma once

#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif
#ifndef CUDART_INF
#define CUDART_INF_F __int_as_float(0x7f800000)
#define CUDART_NAN_F __int_as_float(0x7fffffff)
#define CUDART_INF __longlong_as_double(0x7ff0000000000000)
#define CUDART_NAN __longlong_as_double(0xfff8000000000000)
#endif

// Where an element is: its indices along each dimension, by its position in row-major order.
template <int _ndim, bool _use_32bit_indexing = false>
class CIndexer {
 public:
  static const int ndim = _ndim;

  __device__ explicit CIndexer(const ptrdiff_t* shape) : size_(1) {
    for (int d = 0; d < _ndim; ++d) {
      shape_[d] = shape[d];
      index_[d] = 0;
      size_ *= shape[d];
    }
  }
  __device__ ptrdiff_t size() const { return size_; }
  __device__ const ptrdiff_t (&get() const)[_ndim] { return index_; }
  __device__ void set(ptrdiff_t position) {
#pragma unroll
    for (int d = _ndim - 1; d > 0; --d) {
      index_[d] = position % shape_[d];
      position /= shape_[d];
    }
    index_[0] = position;
  }

 private:
  ptrdiff_t size_;
  ptrdiff_t shape_[_ndim];
  ptrdiff_t index_[_ndim];
};

// An array: by the position of an element in row-major order, or by its indices. A constant one
// has constant elements.
template <typename T, int _ndim, bool _c_contiguous = false, bool _use_32bit_indexing = false>
class CArray {
 public:
  static const int ndim = _ndim;
  static const bool c_contiguous = _c_contiguous;

  // Sizes are numbers of elements, strides of bytes.
  __device__ CArray(const T* data, const ptrdiff_t* shape, const ptrdiff_t* strides)
      : data_(const_cast<T*>(data)), size_(1) {
    for (int d = 0; d < _ndim; ++d) {
      shape_[d] = shape[d];
      strides_[d] = strides[d];
      size_ *= shape[d];
    }
  }
  __device__ ptrdiff_t size() const { return size_; }
  __device__ const ptrdiff_t* shape() const { return shape_; }
  __device__ const ptrdiff_t* strides() const { return strides_; }

  __device__ T& operator[](ptrdiff_t position) { return at(position); }
  __device__ const T& operator[](ptrdiff_t position) const { return at(position); }
  template <typename Index>
  __device__ T& operator[](const Index (&index)[_ndim]) {
    return at(index);
  }
  template <typename Index>
  __device__ const T& operator[](const Index (&index)[_ndim]) const {
    return at(index);
  }

 private:
  __device__ T& at(ptrdiff_t position) const {
    if (_c_contiguous) return data_[position];
    ptrdiff_t offset = 0;
#pragma unroll
    for (int d = _ndim - 1; d > 0; --d) {
      offset += position % shape_[d] * strides_[d];
      position /= shape_[d];
    }
    return behind(offset + position * strides_[0]);
  }
  template <typename Index>
  __device__ T& at(const Index (&index)[_ndim]) const {
    ptrdiff_t offset = 0;
#pragma unroll
    for (int d = 0; d < _ndim; ++d) offset += static_cast<ptrdiff_t>(index[d]) * strides_[d];
    return behind(offset);
  }
  __device__ T& behind(ptrdiff_t offset) const {
    typedef unsigned long long Address;
    return *reinterpret_cast<T*>(reinterpret_cast<Address>(data_) + offset);
  }

  T* data_;
  ptrdiff_t size_;
  ptrdiff_t shape_[_ndim];
  ptrdiff_t strides_[_ndim];
};

__device__ inline long long atomicAdd(long long* address, long long value) {
  typedef unsigned long long Bits;
  return atomicAdd(reinterpret_cast<Bits*>(address), static_cast<Bits>(value));
}

// atomicMax and atomicMin of floats, by exchanges of their bits.
#define CUDAKERN_ATOMIC(name, better, T, Bits, to_bits, from_bits) \
  __device__ inline T name(T* address, T value) { \
    Bits* const bits = reinterpret_cast<Bits*>(address); \
    Bits old = atomicAdd(bits, static_cast<Bits>(0)); \
    while (value better from_bits(old)) { \
      const Bits seen = atomicCAS(bits, old, static_cast<Bits>(to_bits(value))); \
      if (seen == old) break; \
      old = seen; \
    } \
    return from_bits(old); \
  }
CUDAKERN_ATOMIC(atomicMax, >, float, int, __float_as_int, __int_as_float)
CUDAKERN_ATOMIC(atomicMin, <, float, int, __float_as_int, __int_as_float)
CUDAKERN_ATOMIC(atomicMax, >, double, unsigned long long, __double_as_longlong,
                __longlong_as_double)
CUDAKERN_ATOMIC(atomicMin, <, double, unsigned long long, __double_as_longlong,
                __longlong_as_double)
#undef CUDAKERN_ATOMIC
