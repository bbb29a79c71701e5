// Gathers elements by one index or by tuples of them, whatever the layout of x, indices and out.
#pragma once

#include "common/division.cuh"
#include "common/indexing.cuh"
#include "common/memory.cuh"

namespace ck {

/// Dimensions of the output with the strides of x, indices and out along them, and the axes of x
/// that the components of an index tuple select from. Strides in bytes.
template <typename O, typename U, int kRank, int kComponents>
struct StridedArguments {
  const void* x;
  const void* indices;
  void* out;
  FillPattern fill;
  Divisor<U> extent[kComponents];
  O axis_stride[kComponents];  ///< of x
  O component_stride;          ///< of indices
  O components;
  O items;
  Dimension<O, 3> dimensions[kRank];
};

template <IndexMode mode, typename T, typename I, typename O, typename U, int kRank,
          int kComponents>
CK_DEVICE void gather_strided(const StridedArguments<O, U, kRank, kComponents>& a) {
  // Registers are few for 64-bit offsets, and for tuples with many dimensions.
  constexpr int kItems = sizeof(O) == 8 || (kComponents > 1 && kRank > 4) ? CK_ITEMS / 2 : CK_ITEMS;
  const int components = kComponents == 1 ? 1 : static_cast<int>(a.components);
  const O step = static_cast<O>(gridDim.x) * (kThreads * kItems);
  O first = static_cast<O>(blockIdx.x) * (kThreads * kItems) + threadIdx.x;
  for (; first < a.items; first += step) {
    Offsets<O, 3> offset[kItems];
    bool valid[kItems];
    T value[kItems];
    unrolled<kItems>([&](int k) {
      const O item = first + k * kThreads;
      offset[k] = offsets_of(item < a.items ? item : a.items - 1, a.dimensions);
      valid[k] = true;
    });
#pragma unroll 1
    for (int c = 0; c < components; ++c) {
      unrolled<kItems>([&](int k) {
        const I index = load(at<I>(a.indices, offset[k].value[1]));
        const Position<O> position = resolve_index<mode, O>(index, a.extent[c]);
        offset[k].value[0] += position.value * a.axis_stride[c];
        offset[k].value[1] += a.component_stride;
        valid[k] &= position.valid;
      });
    }
    unrolled<kItems>([&](int k) {
      value[k] = load(at<T>(a.x, offset[k].value[0]));
      if (mode == IndexMode::kFill && !valid[k]) {
        value[k] = fill_piece<T>(a.fill, static_cast<uint32>(offset[k].last * sizeof(T)) & 15);
      }
    });
    unrolled<kItems>([&](int k) {
      if (first + k * kThreads < a.items) {
        store_streaming(at<T>(a.out, offset[k].value[2]), value[k]);
      }
    });
  }
}

}  // namespace ck
