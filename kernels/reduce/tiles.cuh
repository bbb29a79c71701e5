// Many short reductions next to each other: a block reads a tile of whole slabs into shared memory,
// and combines the elements of each column there.
#pragma once

#include "common/division.cuh"
#include "common/memory.cuh"
#include "reduce/tree.cuh"

namespace ck {

constexpr int kStageLoads = CK_STAGE_BYTES / 16 / kThreads;  // vectors of a thread in flight

/// A contiguous array in bytes, counted from the 16-byte boundary at or before it.
template <typename O>
struct Extent {
  const char* base;
  uint32 begin;
  O end;

  CK_DEVICE Extent(const void* x, O bytes) {
    begin = static_cast<uint32>(reinterpret_cast<uint64>(x)) % 16;
    base = static_cast<const char*>(x) - begin;
    end = bytes + begin;
  }
};

/// How far a byte lies behind the start of its sector.
CK_DEVICE uint32 phase_of(Offset byte) { return static_cast<uint32>(byte % kSectorBytes); }

/// The `count` vectors that a stage holds of a range; the first one begins a sector. `whole` of
/// them, from number `from` on, lie in x as a whole.
struct StageRange {
  Offset first;
  uint32 count;
  uint32 from;
  uint32 whole;

  CK_DEVICE StageRange(const Extent<Offset>& x, Offset begin, uint32 bytes) {
    first = begin / kSectorBytes * (kSectorBytes / 16);
    count = bytes == 0 ? 0 : (phase_of(begin) + bytes + 15) / 16;
    const Offset inside = (x.begin + 15) / 16, end = x.end / 16;
    from = inside > first ? static_cast<uint32>(inside - first) : 0;
    const Offset left = end > first ? end - first : 0;
    const uint32 to = left < count ? static_cast<uint32>(left) : count;
    whole = from < to ? to - from : 0;
  }
};

/// Copies the elements of a range's vectors that lie in x in part.
CK_DEVICE void stage_pieces(const Extent<Offset>& x, const StageRange& range, char* shared,
                            uint32 vector) {
  if (vector >= range.count || vector - range.from < range.whole) return;
#pragma unroll 1
  for (uint32 byte = 0; byte < 16; byte += sizeof(Input)) {
    const Offset place = (range.first + vector) * 16 + byte;
    if (place >= x.begin && place < x.end) {
      *reinterpret_cast<Input*>(shared + vector * 16 + byte) =
          load(reinterpret_cast<const Input*>(x.base + place));
    }
  }
}

/// Copies `bytes` bytes of x from `begin` on. They keep their place in a sector: with what is in
/// front of them there, they are at most CK_STAGE_BYTES. By the whole block.
CK_DEVICE void stage_run(const Extent<Offset>& x, Offset begin, uint32 bytes, char* shared) {
  const StageRange range(x, begin, bytes);
  const uint4* const source = reinterpret_cast<const uint4*>(x.base) + range.first;
  uint4* const stage = reinterpret_cast<uint4*>(shared);
  uint4 value[kStageLoads];
  const auto is_whole = [&](uint32 k) {
    return k * kThreads + threadIdx.x - range.from < range.whole;
  };
  const uint4* const own = source + threadIdx.x;
  unrolled<kStageLoads>(
      [&](uint32 k) { value[k] = load_if<true>(is_whole(k), own + k * kThreads); });
  unrolled<kStageLoads>([&](uint32 k) {
    if (is_whole(k)) stage[k * kThreads + threadIdx.x] = value[k];
  });
  // The first vector lies in x in part, the last one, or both.
  if (threadIdx.x == 0) stage_pieces(x, range, shared, 0);
  if (threadIdx.x == 32 && range.count > 1) stage_pieces(x, range, shared, range.count - 1);
}

#if defined(CK_VARIANT_TILES)
/// Both arrays are contiguous.
struct TileArguments : ReduceArguments {
  Offset bytes;  ///< of x
  Offset slabs;
  uint32 rows;        ///< of a slab
  uint32 tile_slabs;  ///< slabs of a tile
  uint32 row_bytes;
  uint32 part;              ///< rows of a column that a thread combines: 8, 16, 32 or 64
  uint32 part_shift;        ///< log2 of them
  uint32 stage_bytes;       ///< of shared memory for a tile
  Divisor<uint32> columns;  ///< of a slab
  Divisor<uint32> results;  ///< of a tile
};

/// Adds neighbouring elements of a column, `step` bytes apart, of which `left` are left: to a state
/// of functions of any order, or finds their state. The first one has a place.
template <bool kAll>
CK_DEVICE void take_elements(State& state, const char* element, uint32 step, uint32 left,
                             Offset place) {
  State item[kSteps];
  unrolled<kSteps>([&](uint32 k) {
    const Input* const x = reinterpret_cast<const Input*>(element + k * step);
    if constexpr (Function::kAnyOrder) {
      if (kAll || k < left) take<Function>(state, *x, place + k);
    } else {
      item[k] = kAll || k < left ? leaf<Function>(*x) : Function::identity();
    }
  });
  if constexpr (!Function::kAnyOrder) state = fold_leaves<Function>(item);
}

/// The state of `count` neighbouring elements of a column, up to 64.
CK_DEVICE State fold_column(const char* element, uint32 step, uint32 count, Offset place) {
  Pending<3> pending;
  State state = Function::identity();
  uint32 groups = 0;
#pragma unroll 1
  for (uint32 first = 0; first < count; first += kSteps, ++groups, element += kSteps * step) {
    const uint32 left = count - first;
    if (!Function::kIsLong && left >= kSteps) {
      take_elements<true>(state, element, step, left, place + first);
    } else {
      take_elements<false>(state, element, step, left, place + first);
    }
    if constexpr (!Function::kAnyOrder) state = pending.push(groups, state);
  }
  return Function::kAnyOrder || groups % 8 == 0 ? state : pending.all(groups);
}

/// A tile of whole slabs by each block.
CK_DEVICE void reduce_tiles(const TileArguments& a, char* shared) {
  const Extent<Offset> x(a.x, a.bytes);
  const uint32 columns = a.columns.value, results = a.results.value;
  const uint32 slab_bytes = a.rows * a.row_bytes;
  const Offset slab = static_cast<Offset>(blockIdx.x) * a.tile_slabs, left = a.slabs - slab;
  const uint32 slabs = left < a.tile_slabs ? static_cast<uint32>(left) : a.tile_slabs;
  Output* const out = static_cast<Output*>(a.out) + slab * columns;
  const Offset begin = x.begin + slab * slab_bytes;
  stage_run(x, begin, slabs * slab_bytes, shared);
  __syncthreads();
  const char* const first = shared + phase_of(begin);
  const auto read = [&](uint32 part, uint32 result) {
    const Division<uint32> place = divide(result, a.columns);
    const uint32 from = part * a.part, behind = a.rows - from;
    const char* const element = first + place.quotient * slab_bytes + from * a.row_bytes +
                                place.remainder * static_cast<uint32>(sizeof(Input));
    const uint32 count = behind < a.part ? behind : a.part;
    return fold_column(element, a.row_bytes, place.quotient < slabs ? count : 0, from);
  };
  fold_parts((a.rows + a.part - 1) >> a.part_shift, results,
             reinterpret_cast<Slot*>(shared + a.stage_bytes),
             [&](uint32 item) { return divide(item, a.results); }, read,
             [&](uint32 result, const State& one) {
               if (result < slabs * columns) store_result(a, out + result, one);
             });
}
#endif

}  // namespace ck
