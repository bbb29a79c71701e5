// SPDX-License-Identifier: MIT
// One-hot: out[o, d, i] = d == position(indices[o, i]) ? on : off.
//
// Variants, chosen by cudakern/operators/one_hot_plan.py, with out seen as (outer, depth, inner) in
// the order of its memory: stream and planes write a packed out, strided any layout. A block of the
// first two takes a tile of out and keeps a bit for each element in shared memory: it clears them,
// reads each of the tile's indices once and sets the bit of the element that is on; then the tile
// is written from the bits. A tile of stream is consecutive elements, one of planes a range of
// columns in a range of planes. Macros: CK_VARIANT_*, CK_ENTRY, CK_WIDTH, CK_INDEX_T, CK_OFFSET_T,
// CK_RANK. Numeric contract: bytes are copied; NaN payloads, signed zeros and subnormals pass
// unchanged. 64-bit indices are compared at full width.
#include "common/division.cuh"
#include "common/indexing.cuh"
#include "common/memory.cuh"
#include "common/strided.cuh"
#include "common/types.cuh"
#include "one_hot/bit_vectors.cuh"

namespace ck {

constexpr uint32 kLineBytes = 128;
constexpr uint32 kStagedBytes = 32;  // of the two values, in front of the bits

template <typename O, typename U>
struct OneHotArguments {
  const void* indices;
  const void* values;
  void* out;
  TwoValues<O> pair;
  Divisor<U> depth;
};

/// Where an index is, in bytes, and what it is in the tile.
template <typename O>
struct Place {
  O offset;
  O label;
};

/// Reads `count` indices, the k-th at place(k), and calls mark(label, position) for those that name
/// an element. Four reads of a thread are in flight; a warp's begin where a sector does.
template <typename I, typename O, typename U, typename PlaceOf, typename Mark>
CK_DEVICE void mark_indices(const OneHotArguments<O, U>& a, uint32 count, PlaceOf place_of,
                            Mark mark) {
  constexpr int kReads = 4;
  const I* const start = at<I>(a.indices, place_of(0).offset);
  const uint32 skew = static_cast<uint32>(reinterpret_cast<uint64>(start)) % kSectorBytes /
                      static_cast<uint32>(sizeof(I));
  for (uint32 first = threadIdx.x; first < count + skew; first += kThreads * kReads) {
    Place<O> place[kReads];
    I index[kReads];
#pragma unroll
    for (int r = 0; r < kReads; ++r) {
      const uint32 k = first + r * kThreads - skew;  // those before the first one wrap
      if (k < count) {
        place[r] = place_of(k);
        index[r] = load(at<I>(a.indices, place[r].offset));
      }
    }
#pragma unroll
    for (int r = 0; r < kReads; ++r) {
      if (first + r * kThreads - skew < count) {
        const Position<O> position = resolve_index<IndexMode::kFill, O>(index[r], a.depth);
        if (position.valid) {
          mark(place[r].label, position.value);
        }
      }
    }
  }
}

/// Tiles of consecutive elements, strides of the indices in bytes. A tile goes from the first line
/// boundary of `tile` elements to that of the next, so no line is written by two blocks.
template <typename O, typename U>
struct StreamArguments {
  OneHotArguments<O, U> common;
  O elements;
  O tile;  ///< elements of a tile
  O tiles;
  O clears;  ///< vectors of bits
  O outer_stride;
  O inner_stride;
  Divisor<O> row;  ///< depth times inner
  Divisor<O> inner;
};

template <typename T, typename I, typename O, typename U>
CK_DEVICE void write_stream(const StreamArguments<O, U>& a, char* shared) {
  constexpr uint32 kOfLine = kLineBytes / sizeof(T);
  uint4* const stage = reinterpret_cast<uint4*>(shared);
  uint32* const bits = reinterpret_cast<uint32*>(shared + kStagedBytes);
  // Elements from the beginning of memory: it is as good as that of a line.
  const O out = static_cast<O>(reinterpret_cast<uint64>(a.common.out) / sizeof(T));
  const auto next_line = [=](O k) { return k + (0 - (out + k)) % kOfLine; };
  stage_values<T>(a.common.pair, a.common.values, stage);
  for (O tile = blockIdx.x; tile < a.tiles; tile += gridDim.x) {
    const O start = tile == 0 ? O{0} : next_line(tile * a.tile);
    const O next = next_line((tile + 1) * a.tile);
    const O end = next < a.elements ? next : a.elements;
    if (start >= end) {
      break;
    }
    const uint32 lead = static_cast<uint32>(out + start) % kOfLine;  // not 0 in the first tile
    const uint32 length = static_cast<uint32>(end - start);
    clear_bits(bits, static_cast<uint32>(a.clears));
    __syncthreads();
    const O row = quotient(start, a.row);
    const O rows = quotient(static_cast<O>(end - 1), a.row) - row + 1;
    mark_indices<I>(
        a.common, static_cast<uint32>(rows * a.inner.value),
        [&](uint32 k) {
          const Division<O> part = divide(static_cast<O>(k), a.inner);
          const O outer = row + part.quotient;
          return Place<O>{static_cast<O>(outer * a.outer_stride + part.remainder * a.inner_stride),
                          static_cast<O>(outer * a.row.value + part.remainder - start)};
        },
        [&](O label, O position) {
          const O element = label + position * a.inner.value;
          if (element < length) {
            set_bit(bits, lead + static_cast<uint32>(element));
          }
        });
    __syncthreads();
    const Palette palette = palette_of(stage);
    const BitRun<T> run = {static_cast<T*>(a.common.out) + start - lead, bits, lead, lead + length};
#pragma unroll 4
    for (uint32 k = threadIdx.x * run.kPieces; k < run.to; k += kThreads * run.kPieces) {
      run.write_vector(k, palette);
    }
    run.write_ends(palette);
    __syncthreads();  // the next tile takes the same bits
  }
}

/// Tiles of `columns` columns in `planes` planes of `inner` elements.
template <typename O, typename U>
struct PlanesArguments {
  OneHotArguments<O, U> common;
  O inner;
  O tiles;
  O outer_stride;
  O inner_stride;
  Divisor<O> chunks;        ///< tiles across a plane
  Divisor<O> groups;        ///< tiles along the depth
  Divisor<uint32> vectors;  ///< that a run has at most
  uint32 planes;
  uint32 columns;  ///< of whole sectors
  uint32 run;      ///< bits of a run
  uint32 clears;   ///< vectors of bits
};

/// A tile's part of a plane is a run from sector boundary to sector boundary, the ones behind the
/// first column of this tile and of the next. The last run of a plane ends in the next plane. Only
/// where an outer row begins and ends, runs do as well: there alone is a sector written twice.
template <typename T, typename I, typename O, typename U>
CK_DEVICE void write_planes(const PlanesArguments<O, U>& a, char* shared) {
  constexpr uint32 kOfSector = kSectorBytes / sizeof(T);
  const O depth = static_cast<O>(a.common.depth.value);
  uint4* const stage = reinterpret_cast<uint4*>(shared);
  uint32* const bits = reinterpret_cast<uint32*>(shared + kStagedBytes);
  stage_values<T>(a.common.pair, a.common.values, stage);
  for (O tile = blockIdx.x; tile < a.tiles; tile += gridDim.x) {
    const Division<O> across = divide(tile, a.chunks);
    const Division<O> along = divide(across.quotient, a.groups);
    const O outer = along.quotient;
    const O plane = along.remainder * a.planes, column = across.remainder * a.columns;
    const O below = depth - plane, right = a.inner - column;
    const uint32 planes = static_cast<uint32>(below < a.planes ? below : a.planes);
    const uint32 columns = static_cast<uint32>(right < a.columns ? right : a.columns);
    T* const target = static_cast<T*>(a.common.out) + ((outer * depth + plane) * a.inner + column);
    const uint32 inner = static_cast<uint32>(a.inner);
    const uint32 before = static_cast<uint32>(reinterpret_cast<uint64>(target) / sizeof(T));
    // Elements of a plane's first sector that come before the tile's first column.
    const auto lead_of = [&](uint32 p) { return (before + p * inner) % kOfSector; };
    const auto next_sector = [](uint32 k) { return (k + kOfSector - 1) / kOfSector * kOfSector; };
    clear_bits(bits, a.clears);
    __syncthreads();
    mark_indices<I>(
        a.common, columns + ((before | inner) % kOfSector == 0 ? 0 : kOfSector),
        [&](uint32 k) {
          const O place = k < right ? column + k : k - right;
          return Place<O>{static_cast<O>(outer * a.outer_stride + place * a.inner_stride), O{k}};
        },
        [&](O label, O position) {
          // Columns beyond the last are those of the next plane.
          const O p = position - plane - (label < right ? 0 : 1);
          if (p < planes) {
            const uint32 row = static_cast<uint32>(p);
            set_bit(bits, row * a.run + lead_of(row) + static_cast<uint32>(label));
          }
        });
    __syncthreads();
    const Palette palette = palette_of(stage);
    const auto run_of = [&](uint32 p) {
      const uint32 lead = lead_of(p);
      const bool begins = plane + p == 0 && column == 0, ends = plane + p == depth - 1;
      const uint32 stop = next_sector(lead + columns);
      return BitRun<T>{target + static_cast<O>(p * a.inner) - lead, bits + p * a.run / 32,
                       begins ? lead : next_sector(lead),
                       ends && lead + right < stop ? static_cast<uint32>(lead + right) : stop};
    };
#pragma unroll 2
    for (uint32 item = threadIdx.x; item < planes * a.vectors.value; item += kThreads) {
      const Division<uint32> part = divide(item, a.vectors);
      const BitRun<T> run = run_of(part.quotient);
      const uint32 first = run.from / kOfSector * kOfSector;
      run.write_vector(first + part.remainder * run.kPieces, palette);
    }
    run_of(0).write_ends(palette);
    if (planes > 1) {
      run_of(planes - 1).write_ends(palette);
    }
    __syncthreads();  // the next tile takes the same bits
  }
}

/// Any layout: dimensions with the byte strides of indices and out, and how far a step along them
/// leads in the depth and, in bytes, within an element.
template <typename O, typename U, int kRank>
struct StridedArguments {
  OneHotArguments<O, U> common;
  O items;
  Dimension<O, 4> dimensions[kRank];
};

template <typename T, typename I, typename O, typename U, int kRank>
CK_DEVICE void write_strided(const StridedArguments<O, U, kRank>& a) {
  constexpr int kItems = kRank * sizeof(O) > 16 ? 2 : 4;  // there are 64 registers
  const TwoValues<O>& pair = a.common.pair;
  const O step = static_cast<O>(gridDim.x) * (kThreads * kItems);
  O first = static_cast<O>(blockIdx.x) * (kThreads * kItems) + threadIdx.x;
  for (; first < a.items; first += step) {
    Offsets<O, 4> offset[kItems];
    I index[kItems];
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const O item = first + static_cast<O>(k * kThreads);
      offset[k] = offsets_of(item < a.items ? item : a.items - 1, a.dimensions);
      index[k] = load(at<I>(a.common.indices, offset[k].value[0]));
    }
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const Position<O> position = resolve_index<IndexMode::kFill, O>(index[k], a.common.depth);
      const bool on = position.valid && position.value == offset[k].value[2];
      const O byte = offset[k].value[3];
      T value = fill_piece<T>(on ? pair.on : pair.off, static_cast<uint32>(byte));
      if (pair.in_memory != 0) {
        value = load(at<T>(a.common.values, static_cast<O>(on ? byte + pair.on_offset : byte)));
      }
      if (first + static_cast<O>(k * kThreads) < a.items) {
        store_streaming(at<T>(a.common.out, offset[k].value[1]), value);
      }
    }
  }
}

using Index = CK_INDEX_T;
using Offset = CK_OFFSET_T;
using Extent = Wide<Index, Offset>;

#if defined(CK_VARIANT_STREAM)
CK_KERNEL(StreamArguments<Offset, Extent> a) {
  CK_DYNAMIC_SHARED(shared);
  write_stream<Bytes<CK_WIDTH>, Index>(a, shared);
}
#elif defined(CK_VARIANT_PLANES)
CK_KERNEL(PlanesArguments<Offset, Extent> a) {
  CK_DYNAMIC_SHARED(shared);
  write_planes<Bytes<CK_WIDTH>, Index>(a, shared);
}
#elif defined(CK_VARIANT_STRIDED)
CK_KERNEL(StridedArguments<Offset, Extent, CK_RANK> a) { write_strided<Bytes<CK_WIDTH>, Index>(a); }
#endif

}  // namespace ck
