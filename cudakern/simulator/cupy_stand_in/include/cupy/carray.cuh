// What CuPy's header of this name has, where CuPy is not installed.
#pragma once

#include <cudakern_stand_in.cuh>

template <typename T, bool _c_contiguous, bool _use_32bit_indexing>
class CArray<T, 0, _c_contiguous, _use_32bit_indexing> {
 public:
  static const int ndim = 0;

  __device__ ptrdiff_t size() const { return size_; }
  __device__ const ptrdiff_t* shape() const { return nullptr; }
  __device__ const ptrdiff_t* strides() const { return nullptr; }
  template <typename Index>
  __device__ T& operator[](const Index&) const {
    return *data_;
  }

 private:
  T* data_;
  ptrdiff_t size_;
};
