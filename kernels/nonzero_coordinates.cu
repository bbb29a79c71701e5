// Coordinates of the elements that are not zero, in ascending row-major order, and their count.
//
// Variants, macros and what the warps of a block do: kernels/README.md.
// cudakern/operators/nonzero/plan.py chooses. The warp that works on no tile is called the scout.
// Numeric contract: an element is zero if all its bits are, the signs of floats aside; so NaN and
// subnormals count and -0.0 does not, whatever the compiler flushes.
#include "nonzero/bits.cuh"
#include "nonzero/columns.cuh"
#include "nonzero/coordinate_writer.cuh"
#include "nonzero/inputs.cuh"
#include "nonzero/look_back.cuh"

namespace ck {

/// The block's shared memory, with masks for two tiles.
template <uint32 kMaskWords>
struct NonzeroShared {
  uint32 masks[2][kMaskWords];
  CoordinateStage stage;
  uint64 prefix[2];
  uint64 total;
  uint32 ticket[2];
  uint32 counts[2][kWarps];
};

CK_DEVICE void store_total(void* count, uint32 bytes, uint64 total) {
  if (bytes == 4) {
    *static_cast<uint32*>(count) = static_cast<uint32>(total);
  } else {
    *static_cast<uint64*>(count) = total;
  }
}

/// The bits of a tile that are set: all, and those in front of the warp's part.
struct Counts {
  uint32 total;
  uint32 before;
};

CK_DEVICE void store_count(uint32* counts, uint32 count) {
  count = sum_of_warp(count);
  if (threadIdx.x % 32 == 0) counts[threadIdx.x / 32] = count;
}

CK_DEVICE Counts sum_counts(const uint32* counts) {
  Counts sum = {0, 0};
#pragma unroll
  for (uint32 w = 0; w < kWarps; ++w) {
    sum.before += w < threadIdx.x / 32 ? counts[w] : 0;
    sum.total += counts[w];
  }
  return sum;
}

/// Finds the row at which a tile begins, and publishes it to the block and to others.
template <typename Tiles>
CK_DEVICE void find_first_row(Tiles& tiles, uint32 tile, uint32 total, const NonzeroArguments& a,
                              uint64* prefix) {
  const Offset before = tile == 0 ? Offset{0} : tiles.template sum_before<Offset>(tile);
  const uint64 all = static_cast<uint64>(before) + total;
  if (tile != 0) tiles.publish(tile, tiles.kPrefix, all);
  if (threadIdx.x % 32 == 0) {
    *prefix = before;
    if (Tiles::kLooksBack && tile == a.tiles - 1) store_total(a.count, a.count_bytes, all);
  }
}

template <typename Tiles>
CK_DEVICE Tiles tiles_of(const NonzeroArguments& a) {
  if constexpr (Tiles::kLooksBack) {
    return {a.workspace, a.tiles};
  } else {
    return {reinterpret_cast<const uint4*>(a.scratch), a.tiles};
  }
}

template <typename Tiles, typename Input>
CK_DEVICE void write_coordinates(const Input& input, char* memory) {
  using Shared = NonzeroShared<Input::kMaskWords>;
  static_assert((sizeof(Shared) + 15) / 16 * 16 == CK_SHARED_BYTES,
                "shared_bytes of the plan must count all members of NonzeroShared");
  const NonzeroArguments& a = input.common();
  Shared& s = *reinterpret_cast<Shared*>(memory);
  const bool alone = Tiles::kLooksBack && a.tiles == 1;
  const uint32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const uint32 words = a.turns * Input::kTurnWords;
  // The scout alone deals with other blocks, so no other warp waits for them.
  const bool scouts = warp == kWarps;
  Tiles tiles = tiles_of<Tiles>(a);
  const CoordinateWriter writer(a.coordinates, a.table, a.sizes, s.stage);
  if (scouts) {
    const uint32 drawn = alone ? 0 : tiles.begin();
    if (lane == 0) s.ticket[1] = drawn;
  }
  __syncthreads();
  // While a tile is written, the next one is loaded. There are two of everything, so a warp that is
  // ahead does not overwrite what another still reads.
  uint32 tile = a.tiles, next = s.ticket[1];
  Counts counts = {0, 0};
  for (uint32 turn = 0; tile < a.tiles || next < a.tiles; turn ^= 1) {
    const uint32 other = turn ^ 1;
    const bool has_tile = tile < a.tiles, has_next = next < a.tiles;
    if (scouts) {
      const bool draws = has_next && !alone;
      const uint64 drawn = draws ? tiles.draw() : 0;
      if (has_tile) find_first_row(tiles, tile, counts.total, a, &s.prefix[turn]);
      const uint32 upcoming = draws ? tiles.settle(drawn) : a.tiles;
      if (lane == 0) s.ticket[turn] = upcoming;
    } else if (has_next) {
      store_count(s.counts[other], input.load(next, s.masks[other]));
    }
    __syncthreads();
    const uint32 upcoming = s.ticket[turn];
    const Counts now = counts;
    if (has_next) counts = sum_counts(s.counts[other]);
    if (!scouts) {
      const Offset row = has_tile ? static_cast<Offset>(s.prefix[turn]) : Offset{0};
      writer.write_and_place(
          {s.masks[turn] + warp * words, now.total, now.before, row},
          {s.masks[other] + warp * words, has_next ? counts.total : 0, counts.before, 0}, words,
          input.elements_of(tile));
    } else if (has_next && !alone) {
      tiles.publish(next, next == 0 ? tiles.kPrefix : tiles.kAggregate, counts.total);
    }
    tile = next;
    next = has_next ? upcoming : next;
  }
  const bool counts_all = !Tiles::kLooksBack && blockIdx.x == 0;
  if (scouts && (a.fills != 0 || counts_all)) {
    const uint64 total = alone ? counts.total : tiles.total();
    if (lane == 0) s.total = total;
    if (lane == 0 && counts_all) store_total(a.count, a.count_bytes, total);
  }
  if (a.fills != 0) {
    __syncthreads();
    fill_rows(a.coordinates, a.table, s.total);
  }
  if (scouts && !alone) tiles.finish(a.slots);
}

#if defined(CK_VARIANT_STREAM) || defined(CK_VARIANT_BITS)
using Input = StreamInput<CK_WIDTH>;
#elif defined(CK_VARIANT_STRIDED) || defined(CK_VARIANT_STRIDED_BITS)
using Input = StridedInput<CK_WIDTH, CK_RANK>;
#elif defined(CK_VARIANT_COLUMNS)
using Input = ColumnsInput<CK_WIDTH, CK_RANK>;
#elif defined(CK_VARIANT_ROWS)
using Input = BitsInput;
#endif

CK_KERNEL(Input::Arguments a) {
  CK_DYNAMIC_SHARED(shared);
#if defined(CK_VARIANT_STREAM) || defined(CK_VARIANT_STRIDED)
  write_coordinates<LookBack>(Input{a}, shared);
#elif defined(CK_VARIANT_ROWS)
  write_coordinates<CountedTiles>(Input{a}, shared);
#elif defined(CK_VARIANT_COLUMNS)
  Input{a}.leave_bits(shared);
#else
  leave_bits(Input{a}, shared);
#endif
}

}  // namespace ck
