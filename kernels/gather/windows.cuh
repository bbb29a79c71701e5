// Gathers single elements along the last axis of long rows: one list of indices for many rows.
//
// A thread keeps the positions of its outputs in registers, for all rows of its block. A row passes
// through shared memory in windows, or in one if it fits. From each window threads take what lies
// in it, while the next ones are on their way. The blocks of a row's chunks read it at about the
// same time: memory is read once. A row is written while the first window of the next one is in
// use, so that reads never wait for writes.
//
//   memory   | row 0: window 0 | window 1 | row 1: window 0 | window 1 | ...
//   ring                         copied     copied
//   threads                      ^ take those of their elements that lie in a window
#pragma once

#include "common/division.cuh"
#include "common/indexing.cuh"
#include "common/memory.cuh"

namespace ck {

/// x (outer, extent), indices (count), out (outer, count), single elements. Strides in bytes. Block
/// (b, r) handles indices from b * chunk on, for outer rows r, r + gridDim.y, ...
template <typename U>
struct WindowArguments {
  const void* x;
  const void* indices;
  void* out;
  uint64 count;
  int64 x_outer_stride;
  int64 index_stride;
  int64 out_outer_stride;
  Divisor<U> extent;
  FillPattern fill;
  uint32 outer;
  uint32 margin;          ///< rows around one that make the words it lies in x's
  uint32 chunk;           ///< a multiple of 16
  uint32 row_bytes;       ///< of x
  uint32 row_words;       ///< that a row takes at most
  uint32 ragged;          ///< 1 if a row may begin or end within a word
  uint32 vectors;         ///< 1 if rows of the output are whole vectors on 16 bytes
  uint32 vector_indices;  ///< 1 if indices can be read as vectors, too
};

/// Slots of shared memory that windows take by turns.
struct WindowRing {
  char* slots;
  uint32 bytes;  ///< of a slot
  uint32 depth;  ///< slots: 2 to 4

  CK_DEVICE WindowRing(char* shared, uint32 room, uint32 row) : slots(shared) {
    const uint32 half = room / 32 * 16;
    bytes = row < half ? row : half;
    const uint32 more = (3 * bytes <= room ? 1 : 0) + (4 * bytes <= room ? 1 : 0);
    depth = kCopiesAsync ? 2 + more : 2;
  }
  CK_DEVICE uint32 next(uint32 slot) const { return slot + 1 == depth ? 0 : slot + 1; }
};

/// Rows of x on their way into a ring, window by window.
template <typename T, typename U>
struct WindowReader {
  const WindowArguments<U>& a;
  const WindowRing& ring;
  uint32 row;         ///< of the next window
  uint32 offset = 0;  ///< in bytes, from the word in which the row begins
  uint32 slot = 0;    ///< that it goes to; after all but one slots are taken, the one to use

  CK_DEVICE const char* row_at(uint32 r) const {
    return at<char>(a.x, r * static_cast<uint64>(a.x_outer_stride));
  }
  /// Where in a word a row begins.
  CK_DEVICE uint32 phase_of(uint32 r) const {
    return static_cast<uint32>(reinterpret_cast<uint64>(row_at(r))) & 15;
  }

  /// Begins to copy a window, if there is one more. By the whole block.
  CK_DEVICE void begin() {
    if (row < a.outer) {
      const uint32 phase = phase_of(row), end = phase + a.row_bytes;
      const char* const source = row_at(row) - phase;
      char* const target = ring.slots + slot * ring.bytes;
      const bool whole = a.ragged == 0 || (row >= a.margin && a.outer - 1 - row >= a.margin);
      const uint32 first = !whole && phase != 0 ? 16 : 0;
      const uint32 last = whole ? (end + 15) / 16 * 16 : end / 16 * 16;
      const uint32 stop = last - offset < ring.bytes ? last - offset : ring.bytes;
      const uint32 skipped = offset < first && threadIdx.x == 0 ? kThreads * 16 : 0;
      const uint32 address = shared_address(target);
#pragma unroll 1
      for (uint32 byte = threadIdx.x * 16 + skipped; byte < stop; byte += kThreads * 16) {
        copy_async(address + byte, reinterpret_cast<const uint4*>(source + offset + byte));
      }
      if (!whole && threadIdx.x < 16 / sizeof(T)) {
        const uint32 place = threadIdx.x * sizeof(T);
        if (place >= phase) copy_element(source, target, place, first);
        copy_element(source, target, last + place, end);
      }
      offset += ring.bytes;
      if (offset >= end) {
        offset = 0;
        row += gridDim.y;
      }
    }
    slot = ring.next(slot);
    commit_copies();
  }

 private:
  /// Copies an element of a word that is not the row's as a whole, if it lies in the window.
  CK_DEVICE void copy_element(const char* source, char* target, uint32 byte, uint32 end) const {
    if (byte < end && byte - offset < ring.bytes) {
      *reinterpret_cast<T*>(target + (byte - offset)) =
          load(reinterpret_cast<const T*>(source + byte));
    }
  }
};

/// The outputs of a thread in its block's chunk: their positions, and their values in a row.
/// Positions have 16 bits; long ones 24, of which 8 lie in shared memory.
template <bool kLong, typename T>
struct WindowPicks {
  static constexpr uint32 kBytes = sizeof(T);
  static constexpr uint32 kOutputs = 256 / (kBytes < 4 ? 4 : kBytes);  // 64 registers of values
  static constexpr uint32 kOfVector = 16 / kBytes;
  static constexpr uint32 kGroup = kOfVector < 8 ? 8 : kOfVector;  // outputs that exist, or do not
  static constexpr uint32 kTurn = 8;  // outputs whose indices are read at a time
  static constexpr uint32 kRun = kOfVector < kTurn ? kOfVector : kTurn;  // next to each other
  static constexpr uint32 kParts = kBytes == 16 ? 2 : 1;
  static constexpr uint32 kHighBytes = kLong ? kThreads * kOutputs : 0;  // in shared memory
  static constexpr uint32 kNowhere = kLong ? 0x7FFFFF : 0xFFFF;
  static constexpr int kPartBytes = kBytes < 4 ? 4 : kBytes / kParts;
  using Part = Bytes<kPartBytes>;

  uint32* high;   ///< of four outputs in a word
  uint32 length;  ///< of the chunk
  bool vectors;
  uint32 low[kOutputs / 2];
  Part value[kOutputs * kParts];

  /// Reads and resolves the chunk's indices, from the `first` on.
  template <IndexMode mode, typename I, typename U>
  CK_DEVICE void resolve(const WindowArguments<U>& a, uint64 first) {
    const uint64 stride = static_cast<uint64>(a.index_stride);
    const I* const source = at<I>(a.indices, first * stride);
    const uint64 apart = vectors ? stride : kThreads * stride;  // of a thread's outputs
#pragma unroll 1
    for (uint32 turn = 0; turn < kOutputs; turn += kTurn) {
      uint32 position[kTurn];
      if (turn / kGroup * kGroup * kThreads < length) {
        I index[kTurn];
        uint32 left[kTurn / kRun];  // of a run
        unrolled<kTurn / kRun>([&](uint32 run) {
          const uint32 k = turn + run * kRun, inside = k % kOfVector;
          uint32 number = vectors ? (k - inside) * kThreads + threadIdx.x * kOfVector + inside
                                  : k * kThreads + threadIdx.x;
          left[run] = number >= length ? 0 : vectors ? kRun : (length - 1 - number) / kThreads + 1;
          number = number < length ? number : 0;
          load_indices<kRun>(index + run * kRun, at<I>(source, number * stride), apart, left[run],
                             a.vector_indices != 0);
        });
        unrolled<kTurn>([&](uint32 k) {
          const Position<U> found = resolve_index<mode, U>(index[k], a.extent);
          const bool exists = k % kRun < left[k / kRun] && found.valid;
          position[k] = exists ? static_cast<uint32>(found.value) : kNowhere;
        });
      }
      // The outputs move up, as registers have no subscripts.
      unrolled<kOutputs / 2 - kTurn / 2>([&](uint32 k) { low[k] = low[k + kTurn / 2]; });
      unrolled<kTurn / 2>([&](uint32 k) {
        low[kOutputs / 2 - kTurn / 2 + k] = join_halves(position[2 * k], position[2 * k + 1]);
      });
      if constexpr (kLong) {
        unrolled<kTurn / 4>([&](uint32 k) {
          uint32 word = 0;
          unrolled<4>([&](uint32 i) { word |= position[4 * k + i] >> 16 << (8 * i); });
          high[(turn / 4 + k) * kThreads + threadIdx.x] = word;
        });
      }
    }
  }

  /// Fills the values: filled elements stay, since no window has them.
  CK_DEVICE void clear(const FillPattern& fill) {
    unrolled<kOutputs * kParts>(
        [&](uint32 k) { value[k] = fill_piece<Part>(fill, kParts == 2 && k % 2 == 1 ? 8 : 0); });
  }

  /// Writes a group of outputs, from the k-th on, to their row.
  CK_DEVICE void store(uint32 k, char* row) const {
    unrolled<kGroup / kOfVector>([&](uint32 v) { store_vector(k + v * kOfVector, row); });
  }

  /// Takes a group of outputs, from the k-th on, from a window in shared memory, as far as they lie
  /// there. It begins at the element `start`.
  CK_DEVICE void take(uint32 k, uint32 start, uint32 size, uint32 window) {
    uint32 highs = 0;
#pragma unroll
    for (uint32 i = k; i < k + kGroup; ++i) {
      if (kLong && i % 4 == 0) highs = high[i / 4 * kThreads + threadIdx.x];
      // Two bytes of a half; the high byte; its sign, which is 0.
      const uint32 bytes = (i % 2 == 0 ? 0x10 : 0x32) | (4 + i % 4) << 8 | (12 + i % 4) << 12;
      unrolled<kParts>([&](uint32 part) {
        take_if_inside<kBytes>(value[i * kParts + part], low[i / 2], highs, bytes, start, size,
                               window + part * 8);
      });
    }
  }

 private:
  CK_DEVICE void store_vector(uint32 k, char* row) const {
    if (vectors) {
      Packed<uint4, T> packed;
      unrolled<kOfVector>([&](uint32 i) { packed.piece[i] = element(k + i); });
      if (k * kThreads + threadIdx.x * kOfVector < length) {
        store_streaming(reinterpret_cast<uint4*>(row + k * kThreads * kBytes) + threadIdx.x,
                        packed.vector);
      }
    } else {
      unrolled<kOfVector>([&](uint32 i) {
        const uint32 number = (k + i) * kThreads + threadIdx.x;
        if (number < length) store_streaming(reinterpret_cast<T*>(row) + number, element(k + i));
      });
    }
  }

  CK_DEVICE T element(uint32 k) const {
    if constexpr (kParts == 2) {
      Packed<T, Part> packed;
      packed.piece[0] = value[2 * k];
      packed.piece[1] = value[2 * k + 1];
      return packed.vector;
    } else {
      return static_cast<T>(value[k]);
    }
  }
};

template <IndexMode mode, bool kLong, typename T, typename I, typename U>
CK_DEVICE void gather_windows(const WindowArguments<U>& a, char* shared) {
  using Picks = WindowPicks<kLong, T>;
  constexpr uint32 kBytes = sizeof(T);
  const WindowRing ring(shared + Picks::kHighBytes, dynamic_shared_bytes() - Picks::kHighBytes,
                        a.row_words * 16);
  WindowReader<T, U> reader{a, ring, blockIdx.y};
#pragma unroll 1
  for (uint32 k = 1; k < ring.depth; ++k) reader.begin();
  const uint64 first = static_cast<uint64>(blockIdx.x) * a.chunk;
  const uint64 left = a.count - first;
  Picks picks;
  picks.high = reinterpret_cast<uint32*>(shared);
  picks.length = static_cast<uint32>(left < a.chunk ? left : a.chunk);
  picks.vectors = a.vectors != 0;
  picks.template resolve<mode, I>(a, first);
  picks.clear(a.fill);
  char* target =
      at<char>(a.out, blockIdx.y * static_cast<uint64>(a.out_outer_stride)) + first * kBytes;
  for (uint32 row = blockIdx.y;; row += gridDim.y) {
    const bool exists = row < a.outer;
    const uint32 phase = reader.phase_of(row), end = exists ? phase + a.row_bytes : 0;
    uint32 offset = 0;
    do {
      wait_for_copies(ring.depth - 2);
      __syncthreads();
      reader.begin();  // where the window lies that was in use before
      const bool writes = offset == 0 && row != blockIdx.y;
      const uint32 start = offset / kBytes - phase / kBytes;
      const uint32 size = (end - offset < ring.bytes ? end - offset : ring.bytes) / kBytes;
      const uint32 window = shared_address(ring.slots) + reader.slot * ring.bytes - start * kBytes;
      unrolled<Picks::kOutputs / Picks::kGroup>([&](uint32 group) {
        const uint32 k = group * Picks::kGroup;
        if (k * kThreads < picks.length) {
          if (writes) picks.store(k, target);
          if (exists) picks.take(k, start, size, window);
        }
      });
      if (writes) target += gridDim.y * a.out_outer_stride;
      offset += ring.bytes;
    } while (offset < end);
    if (!exists) break;
  }
}

}  // namespace ck
