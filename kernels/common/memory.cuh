// How kernels touch global memory: cached reads, streaming writes, and 16-byte vectors put together
// from narrower pieces.
#pragma once

#include "common/ptx.cuh"

/// Declares the block's dynamic shared memory, bytes on a 16-byte boundary.
#define CK_DYNAMIC_SHARED(name) extern __shared__ __align__(16) char name[]

namespace ck {

/// `kPieces` values of `T` that fill one `V`, written as a whole.
template <typename V, typename T>
union Packed {
  static constexpr int kPieces = sizeof(V) / sizeof(T);
  static_assert(sizeof(V) % sizeof(T) == 0, "pieces fill the vector");
  V vector;
  T piece[kPieces];
};

/// Reads through the read-only path: nothing writes the array while the kernel runs.
template <typename T>
CK_DEVICE T load(const T* address) {
  Packed<Bytes<sizeof(T)>, T> value;
  value.vector = __ldg(reinterpret_cast<const Bytes<sizeof(T)>*>(address));
  return value.piece[0];
}

/// Writes what is not read again soon: evict-first.
template <typename T>
CK_DEVICE void store_streaming(T* address, T value) {
  __stcs(address, value);
}

/// Writes a value; one of 16 bytes may lie on 8.
template <typename T>
CK_DEVICE void store(T* address, const T& value) {
  if constexpr (sizeof(T) == 16) {
    Packed<T, uint64> halves;
    halves.vector = value;
    reinterpret_cast<uint64*>(address)[0] = halves.piece[0];
    reinterpret_cast<uint64*>(address)[1] = halves.piece[1];
  } else {
    *address = value;
  }
}

/// Writes a value that is not read again soon; one of 16 bytes may lie on 8.
template <typename T>
CK_DEVICE void store_once(T* address, const T& value) {
  constexpr int kBytes = sizeof(T) < 8 ? sizeof(T) : 8;
  Packed<T, Bytes<kBytes>> pieces;
  pieces.vector = value;
  unrolled<Packed<T, Bytes<kBytes>>::kPieces>([&](uint32 k) {
    store_streaming(reinterpret_cast<Bytes<kBytes>*>(address) + k, pieces.piece[k]);
  });
}

/// Writes `kCount` values next to each other: as vectors, if they lie like that.
template <typename T, int kCount>
CK_DEVICE void store_packed(T* address, const T (&value)[kCount]) {
  constexpr int kBytes = kCount * sizeof(T) < 16 ? kCount * sizeof(T) : 16;
  using Vector = Bytes<kBytes>;
  constexpr int kPieces = Packed<Vector, T>::kPieces;
  if (reinterpret_cast<uint64>(address) % kBytes == 0) {
#pragma unroll
    for (int k = 0; k < kCount; k += kPieces) {
      Packed<Vector, T> packed;
      unrolled<kPieces>([&](int i) { packed.piece[i] = value[k + i]; });
      *reinterpret_cast<Vector*>(address + k) = packed.vector;
    }
  } else {
    unrolled<kCount>([&](int k) { store(address + k, value[k]); });
  }
}

/// The fill pattern: one element repeated to 16 bytes, given as two words.
struct FillPattern {
  uint64 word[2];
};

/// The piece of the pattern that belongs `phase` bytes into an element row. Shifts instead of an
/// array subscript keep the pattern in constant memory.
template <typename T>
CK_DEVICE T fill_piece(const FillPattern& fill, uint32 phase) {
  if constexpr (sizeof(T) == 16) {
    return make_uint4(static_cast<uint32>(fill.word[0]), static_cast<uint32>(fill.word[0] >> 32),
                      static_cast<uint32>(fill.word[1]), static_cast<uint32>(fill.word[1] >> 32));
  } else {
    const uint64 word = (phase & 8) != 0 ? fill.word[1] : fill.word[0];
    return static_cast<T>(word >> ((phase & 7) * 8));
  }
}

}  // namespace ck
