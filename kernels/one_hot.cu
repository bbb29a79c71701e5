// One-hot: out[o, d, i] = d == position(indices[o, i]) ? on : off.
//
// Variants and macros: kernels/README.md. cudakern/operators/one_hot/plan.py chooses. Here out is
// (outer, depth, inner) in the order of its memory.
// Numeric contract: bytes are copied; NaN payloads, signed zeros and subnormals pass unchanged.
// 64-bit indices are compared at full width.
#include "common/division.cuh"
#include "common/indexing.cuh"
#include "common/memory.cuh"
#include "one_hot/bit_vectors.cuh"

namespace ck {

using Index = CK_INDEX_T;
using Offset = CK_OFFSET_T;
using Extent = Wide<Index, Offset>;
using Element = Bytes<CK_WIDTH>;

constexpr uint32 kLineBytes = CK_LINE_BYTES;
constexpr uint32 kStagedBytes = CK_STAGED_BYTES;  // of the two values, in front of the bits
static_assert(kStagedBytes == 2 * sizeof(uint4), "STAGED_BYTES of the plan must be two vectors");

struct OneHotArguments {
  const void* indices;
  const void* values;
  void* out;
  TwoValues<Offset> pair;
  Divisor<Extent> depth;
};

/// Where an index is, in bytes, and what it is in the tile.
struct Place {
  Offset offset;
  Offset label;
};

/// Has the block's threads call read(k) for each k < count, and then use(k, value) with the value
/// that was read. A thread has kReads reads in flight. The threads start `skew` numbers before 0.
template <uint32 kReads, typename Read, typename Use>
CK_DEVICE void read_ahead(uint32 count, const Read& read, const Use& use, uint32 skew = 0) {
  for (uint32 first = threadIdx.x; first < count + skew; first += kThreads * kReads) {
    decltype(read(first)) value[kReads];
    unrolled<kReads>([&](uint32 r) {
      const uint32 k = first + r * kThreads - skew;  // a number before 0 wraps
      if (k < count) value[r] = read(k);
    });
    unrolled<kReads>([&](uint32 r) {
      const uint32 k = first + r * kThreads - skew;
      if (k < count) use(k, value[r]);
    });
  }
}

/// Reads `count` indices, the k-th at place_of(k), and calls mark(label, position) for those that
/// name an element. Reads of a warp begin where a sector does.
template <typename PlaceOf, typename Mark>
CK_DEVICE void mark_indices(const OneHotArguments& a, uint32 count, PlaceOf place_of, Mark mark) {
  struct Labelled {
    Offset label;
    Index index;
  };
  const Index* const start = at<Index>(a.indices, place_of(0).offset);
  const uint32 skew = static_cast<uint32>(reinterpret_cast<uint64>(start)) % kSectorBytes /
                      static_cast<uint32>(sizeof(Index));
  read_ahead<4>(
      count,
      [&](uint32 k) {
        const Place place = place_of(k);
        return Labelled{place.label, load(at<Index>(a.indices, place.offset))};
      },
      [&](uint32, const Labelled& read) {
        const Position<Offset> position =
            resolve_index<IndexMode::kFill, Offset>(read.index, a.depth);
        if (position.valid) mark(read.label, position.value);
      },
      skew);
}

/// Tiles of consecutive elements; strides of the indices in bytes. A tile begins at the first line
/// boundary behind a multiple of `tile` elements: no line is written by two blocks.
struct StreamArguments {
  OneHotArguments common;
  Offset elements;
  Offset tile;  ///< elements of a tile
  Offset tiles;
  Offset clears;  ///< vectors of bits
  Offset outer_stride;
  Offset inner_stride;
  Divisor<Offset> row;  ///< depth times inner
  Divisor<Offset> inner;
};

CK_DEVICE void write_stream(const StreamArguments& a, char* shared) {
  constexpr uint32 kOfLine = kLineBytes / sizeof(Element);
  uint4* const stage = reinterpret_cast<uint4*>(shared);
  uint32* const bits = reinterpret_cast<uint32*>(shared + kStagedBytes);
  // Elements from the beginning of memory: it is as good as that of a line.
  const Offset out = static_cast<Offset>(reinterpret_cast<uint64>(a.common.out) / sizeof(Element));
  const auto next_line = [=](Offset k) { return k + (0 - (out + k)) % kOfLine; };
  stage_values<Element>(a.common.pair, a.common.values, stage);
  for (Offset tile = blockIdx.x; tile < a.tiles; tile += gridDim.x) {
    const Offset start = tile == 0 ? Offset{0} : next_line(tile * a.tile);
    const Offset next = next_line((tile + 1) * a.tile);
    const Offset end = next < a.elements ? next : a.elements;
    if (start >= end) break;
    const uint32 lead = static_cast<uint32>(out + start) % kOfLine;  // not 0 in the first tile
    const uint32 length = static_cast<uint32>(end - start);
    clear_bits(bits, static_cast<uint32>(a.clears));
    __syncthreads();
    const Offset row = quotient(start, a.row);
    const Offset rows = quotient(end - 1, a.row) - row + 1;
    mark_indices(
        a.common, static_cast<uint32>(rows * a.inner.value),
        [&](uint32 k) {
          const Division<Offset> part = divide(static_cast<Offset>(k), a.inner);
          const Offset outer = row + part.quotient;
          return Place{outer * a.outer_stride + part.remainder * a.inner_stride,
                       outer * a.row.value + part.remainder - start};
        },
        [&](Offset label, Offset position) {
          const Offset element = label + position * a.inner.value;
          if (element < length) set_bit(bits, lead + static_cast<uint32>(element));
        });
    __syncthreads();
    const Palette palette = palette_of(stage);
    const BitRun<Element> run = {static_cast<Element*>(a.common.out) + start - lead, bits, lead,
                                 lead + length};
#pragma unroll 4
    for (uint32 k = threadIdx.x * run.kPieces; k < run.to; k += kThreads * run.kPieces) {
      run.write_vector(k, palette);
    }
    run.write_ends(palette);
    __syncthreads();  // the next tile takes the same bits
  }
}

/// Tiles of `columns` columns in `planes` planes of `inner` elements.
struct PlanesArguments {
  OneHotArguments common;
  Offset inner;
  Offset tiles;
  Offset outer_stride;
  Offset inner_stride;
  Divisor<Offset> chunks;   ///< tiles across a plane
  Divisor<Offset> groups;   ///< tiles along the depth
  Divisor<uint32> vectors;  ///< that a run has at most
  uint32 planes;
  uint32 columns;  ///< of whole sectors
  uint32 run;      ///< bits of a run
  uint32 clears;   ///< vectors of bits
};

/// A tile's part of a plane is a run of whole sectors: from the first sector boundary behind the
/// tile's first column to that of the next tile. The last run of a plane ends in the next plane.
/// Only at the ends of an outer row does a run end within a sector, which two tiles then write.
CK_DEVICE void write_planes(const PlanesArguments& a, char* shared) {
  constexpr uint32 kOfSector = kSectorBytes / sizeof(Element);
  const Offset depth = static_cast<Offset>(a.common.depth.value);
  uint4* const stage = reinterpret_cast<uint4*>(shared);
  uint32* const bits = reinterpret_cast<uint32*>(shared + kStagedBytes);
  stage_values<Element>(a.common.pair, a.common.values, stage);
  for (Offset tile = blockIdx.x; tile < a.tiles; tile += gridDim.x) {
    const Division<Offset> across = divide(tile, a.chunks);
    const Division<Offset> along = divide(across.quotient, a.groups);
    const Offset outer = along.quotient;
    const Offset plane = along.remainder * a.planes, column = across.remainder * a.columns;
    const Offset below = depth - plane, right = a.inner - column;
    const uint32 planes = static_cast<uint32>(below < a.planes ? below : a.planes);
    const uint32 columns = static_cast<uint32>(right < a.columns ? right : a.columns);
    Element* const target =
        static_cast<Element*>(a.common.out) + ((outer * depth + plane) * a.inner + column);
    const uint32 inner = static_cast<uint32>(a.inner);
    const uint32 before = static_cast<uint32>(reinterpret_cast<uint64>(target) / sizeof(Element));
    // Elements of a plane's first sector that come before the tile's first column.
    const auto lead_of = [&](uint32 p) { return (before + p * inner) % kOfSector; };
    const auto next_sector = [](uint32 k) { return (k + kOfSector - 1) / kOfSector * kOfSector; };
    clear_bits(bits, a.clears);
    __syncthreads();
    mark_indices(
        a.common, columns + ((before | inner) % kOfSector == 0 ? 0 : kOfSector),
        [&](uint32 k) {
          const Offset place = k < right ? column + k : k - right;
          return Place{outer * a.outer_stride + place * a.inner_stride, Offset{k}};
        },
        [&](Offset label, Offset position) {
          // Columns beyond the last are those of the next plane.
          const Offset p = position - plane - (label < right ? 0 : 1);
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
      return BitRun<Element>{
          target + p * a.inner - lead, bits + p * a.run / 32, begins ? lead : next_sector(lead),
          ends && lead + right < stop ? static_cast<uint32>(lead + right) : stop};
    };
#pragma unroll 2
    for (uint32 item = threadIdx.x; item < planes * a.vectors.value; item += kThreads) {
      const Division<uint32> part = divide(item, a.vectors);
      const BitRun<Element> run = run_of(part.quotient);
      const uint32 first = run.from / kOfSector * kOfSector;
      run.write_vector(first + part.remainder * run.kPieces, palette);
    }
    run_of(0).write_ends(palette);
    if (planes > 1) run_of(planes - 1).write_ends(palette);
    __syncthreads();  // the next tile takes the same bits
  }
}

/// Any layout: dimensions with the byte strides of indices and out, and how far a step along them
/// leads in the depth and, in bytes, within an element.
template <int kRank>
struct StridedArguments {
  OneHotArguments common;
  Offset items;
  Dimension<Offset, 4> dimensions[kRank];
};

template <int kRank>
CK_DEVICE void write_strided(const StridedArguments<kRank>& a) {
  constexpr int kItems =
      kRank * sizeof(Offset) > 16 ? (CK_ITEMS + 1) / 2 : CK_ITEMS;  // there are 64 registers
  const TwoValues<Offset>& pair = a.common.pair;
  const Offset step = static_cast<Offset>(gridDim.x) * (kThreads * kItems);
  Offset first = static_cast<Offset>(blockIdx.x) * (kThreads * kItems) + threadIdx.x;
  for (; first < a.items; first += step) {
    Offsets<Offset, 4> offset[kItems];
    Index index[kItems];
    unrolled<kItems>([&](int k) {
      const Offset item = first + k * kThreads;
      offset[k] = offsets_of(item < a.items ? item : a.items - 1, a.dimensions);
      index[k] = load(at<Index>(a.common.indices, offset[k].value[0]));
    });
    unrolled<kItems>([&](int k) {
      const Position<Offset> position =
          resolve_index<IndexMode::kFill, Offset>(index[k], a.common.depth);
      const bool on = position.valid && position.value == offset[k].value[2];
      const Offset byte = offset[k].value[3];
      Element value = fill_piece<Element>(on ? pair.on : pair.off, static_cast<uint32>(byte));
      if (pair.in_memory != 0) {
        value = load(at<Element>(a.common.values, on ? byte + pair.on_offset : byte));
      }
      if (first + k * kThreads < a.items) {
        store_streaming(at<Element>(a.common.out, offset[k].value[1]), value);
      }
    });
  }
}

#if defined(CK_VARIANT_STREAM)
CK_KERNEL(StreamArguments a) {
  CK_DYNAMIC_SHARED(shared);
  write_stream(a, shared);
}
#elif defined(CK_VARIANT_PLANES)
CK_KERNEL(PlanesArguments a) {
  CK_DYNAMIC_SHARED(shared);
  write_planes(a, shared);
}
#elif defined(CK_VARIANT_STRIDED)
CK_KERNEL(StridedArguments<CK_RANK> a) { write_strided(a); }
#endif

}  // namespace ck
