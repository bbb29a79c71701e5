// How a tile of x becomes masks in shared memory, a bit for each element, for each way x can lie in
// memory.
//
// An input has
//   Arguments          the struct that its kernel takes,
//   kMaskWords         masks of a tile at most,
//   kTurnWords         masks of a warp's turn,
//   common()           the arguments that all inputs have,
//   load(tile, masks)  puts a tile's bits into the block's masks, `turns` times kTurnWords for each
//                      warp, in order. The first kWarps warps call it. It returns how many bits of
//                      the lane's are set.
//   elements_of(tile)  the elements of a tile.
#pragma once

#include "common/division.cuh"
#include "common/memory.cuh"
#include "nonzero/coordinate_writer.cuh"

namespace ck {

/// The bits of an element that make it nonzero, repeated to 8 bytes: all but the signs of floats.
struct ValueBits {
  uint32 low;
  uint32 high;
};

template <typename T>
CK_DEVICE bool is_nonzero(T value, ValueBits counted) {
  if constexpr (sizeof(T) == 16) {
    return ((value.x & counted.low) | (value.y & counted.high) | (value.z & counted.low) |
            (value.w & counted.high)) != 0;
  } else if constexpr (sizeof(T) == 8) {
    return ((static_cast<uint32>(value) & counted.low) |
            (static_cast<uint32>(value >> 32) & counted.high)) != 0;
  } else {
    return (value & static_cast<T>(counted.low)) != 0;
  }
}

/// Words in which an element's bits are not all zero if it is not: of narrow elements the top bit
/// of each alone, of wide ones any bit.
template <int kWidth>
CK_DEVICE uint4 marks_of(uint4 v, ValueBits counted) {
  if constexpr (kWidth < 4) {
    constexpr uint32 kTops = kWidth == 1 ? 0x80808080 : 0x80008000;
    const auto tops = [](uint32 word, uint32 bits) {
      return (((word & ~kTops) + ~kTops) & kTops) | (word & bits & kTops);
    };
    return make_uint4(tops(v.x, counted.low), tops(v.y, counted.high), tops(v.z, counted.low),
                      tops(v.w, counted.high));
  } else {
    return make_uint4(v.x & counted.low, v.y & counted.high, v.z & counted.low, v.w & counted.high);
  }
}

/// Whether an element is marked.
template <int kWidth>
CK_DEVICE bool is_marked(uint4 marks, uint32 element) {
  const uint32 words[4] = {marks.x, marks.y, marks.z, marks.w};
  if constexpr (kWidth < 4) {
    constexpr uint32 kOfWord = 4 / kWidth;
    return (words[element / kOfWord] << (kOfWord - 1 - element % kOfWord) * (8 * kWidth) >> 31) !=
           0;
  } else {
    uint32 word = 0;
    unrolled<kWidth / 4>([&](uint32 k) { word |= words[element * (kWidth / 4) + k]; });
    return word != 0;
  }
}

/// One bit for each element that is marked, the first one lowest.
template <int kWidth>
CK_DEVICE uint32 bits_of(uint4 marks) {
  if constexpr (kWidth == 1) {
    // Top bits times 1, 2, 4 and so on go where they belong, 7 bits higher.
    int32 high = dot_product_unsigned(marks.z, 0x08040201, 0);
    high = dot_product_unsigned(marks.w, 0x80402010, high);
    const int32 all = dot_product_unsigned(marks.x, 0x08040201, high << 8);
    return static_cast<uint32>(dot_product_unsigned(marks.y, 0x80402010, all)) >> 7;
  } else if constexpr (kWidth == 2) {
    int32 all = dot_product_of_halves(marks.x, 0x0201, 0);
    all = dot_product_of_halves(marks.y, 0x0804, all);
    all = dot_product_of_halves(marks.z, 0x2010, all);
    return static_cast<uint32>(dot_product_of_halves(marks.w, 0x8040, all)) >> 15;
  } else {
    uint32 bits = 0;
    unrolled<16 / kWidth>([&](uint32 k) { bits |= is_marked<kWidth>(marks, k) ? 1u << k : 0; });
    return bits;
  }
}

/// Puts the bits of each lane's vector into the masks of a turn.
template <int kWidth>
CK_DEVICE void store_bits(uint32* masks, uint32 bits) {
  constexpr uint32 kBits = 16 / kWidth;
  constexpr uint32 kVectors = 32 / kBits;  // of a word
  const uint32 lane = threadIdx.x % 32;
  if constexpr (kWidth == 1) {
    reinterpret_cast<uint16*>(masks)[lane] = static_cast<uint16>(bits);
  } else if constexpr (kWidth == 2) {
    reinterpret_cast<uint8*>(masks)[lane] = static_cast<uint8>(bits);
  } else {
    uint32 word = bits << (lane % kVectors * kBits);
    if constexpr (kWidth == 16) {
      word = __ballot_sync(kAllLanes, bits != 0);
    } else {
#pragma unroll
      for (uint32 step = 1; step < kVectors; step *= 2) {
        word |= __shfl_xor_sync(kAllLanes, word, step);
      }
    }
    if (lane % kVectors == 0) masks[lane / kVectors] = word;
  }
}

constexpr uint32 kTileBytes = CK_TILE_BYTES;  // of x in a tile at most, in one launch

/// Fields with pointers first, then by size: there is no padding.
struct NonzeroArguments {
  const void* x;
  void* count;
  void* coordinates;
  uint64* workspace;
  uint32* scratch;  ///< of two launches
  uint64 elements;  ///< of x
  CoordinateTable table;
  ValueBits value_bits;
  uint32 count_bytes;  ///< of the count: 4 or 8
  uint32 fills;        ///< 1: rows beyond the count get the fill value
  uint32 tiles;
  uint32 slots;              ///< tiles that the workspace or the scratch memory has room for
  uint32 turns;              ///< how often a lane loads, for a tile
  uint32 lead;               ///< elements between a 16-byte boundary and x
  Divisor<Offset> sizes[7];  ///< innermost first
};

/// A contiguous x: a warp reads 512 bytes a turn, 8 turns at once. Elements are counted from the
/// 16-byte boundary at or before x.
template <int kWidth>
struct StreamInput {
  static constexpr uint32 kOfVector = 16 / kWidth;
  static constexpr uint32 kMaskWords = kTileBytes / kWidth / 32;
  static constexpr uint32 kTurnWords = kOfVector;
  static constexpr int kLoads = 8;
  using Arguments = NonzeroArguments;
  const Arguments& a;

  CK_DEVICE const NonzeroArguments& common() const { return a; }

  CK_DEVICE Elements elements_of(uint32 tile) const {
    return {Offset{tile} * (a.turns * kReaders * kOfVector) - a.lead, nullptr, 0};
  }

  CK_DEVICE uint32 load(uint32 tile, uint32* masks) const {
    const uint32 lane = threadIdx.x % 32, vectors = a.turns * 32;  // of the warp
    const uint64 start =
        static_cast<uint64>(tile) * (a.turns * kReaders) + threadIdx.x / 32 * vectors;
    const uint64 elements = a.elements + a.lead, end = elements / kOfVector;  // of whole vectors
    const uint64 left = end > start ? end - start : 0;
    const uint32 from = start == 0 && a.lead != 0 ? 1 : 0;
    const uint32 to = left < vectors ? static_cast<uint32>(left) : vectors;
    const char* const x = static_cast<const char*>(a.x) - a.lead * kWidth;
    const uint4* source = reinterpret_cast<const uint4*>(x) + start + lane;
    uint32 count = 0;
    masks += threadIdx.x / 32 * a.turns * kTurnWords;
    // Of the lane's vectors, 32 apart, those with a smaller number exist.
    int32 mine = static_cast<int32>(to - lane);
    uint4 value[kLoads];
#pragma unroll
    for (int32 r = 0; r < kLoads; ++r) {
      value[r] = load_if<true>(r * 32 < mine && (r > 0 || lane >= from), source + r * 32);
    }
    // Each vector makes room for one of the next turns, so that all loads are in flight.
    for (uint32 rest = a.turns; rest != 0;) {
      source += kLoads * 32;
      mine -= kLoads * 32;
#pragma unroll
      for (int32 r = 0; r < kLoads; ++r) {
        const uint32 bits = bits_of<kWidth>(marks_of<kWidth>(value[r], a.value_bits));
        count += static_cast<uint32>(__popc(bits));
        store_bits<kWidth>(masks + r * kTurnWords, bits);
        value[r] = load_if<true>(r * 32 < mine, source + r * 32);
        if (--rest == 0) break;
      }
      masks += kLoads * kTurnWords;
    }
    masks -= (a.turns + kLoads - 1) / kLoads * kLoads * kTurnWords;
    // The first and the last vector may lie in x in part.
    const bool ends = end >= start && end - start < vectors && elements % kOfVector != 0;
    __syncwarp();
    if (lane == 0 && from != 0) count += add_part(masks, 0, 0);
    if (lane == 0 && ends && (from == 0 || end != 0)) count += add_part(masks, to, end);
    return count;
  }

  /// Adds the bits of a vector that lies in x in part; returns how many are set.
  CK_DEVICE uint32 add_part(uint32* masks, uint32 at, uint64 vector) const {
    uint32 count = 0;
#pragma unroll 1
    for (uint32 k = 0; k < kOfVector; ++k) {
      const uint64 element = vector * kOfVector + k - a.lead;  // those before the first one wrap
      if (element < a.elements &&
          is_nonzero(ck::load(static_cast<const Bytes<kWidth>*>(a.x) + element), a.value_bits)) {
        masks[(at * kOfVector + k) / 32] |= 1u << ((at * kOfVector + k) % 32);
        ++count;
      }
    }
    return count;
  }
};

template <int kRank>
struct StridedArguments {
  NonzeroArguments common;
  Dimension<Offset, 1> dimensions[kRank];
};

/// Any layout: a warp reads 32 elements at once, which are one mask. Elements of 16 bytes may lie
/// on 8.
template <int kWidth, int kRank>
struct StridedInput {
  static constexpr bool kIsLong = kRank * sizeof(Offset) > 16;
  static constexpr int kMost = kWidth == 16 || kIsLong ? 4 : 8;
  // With more loads in flight registers spill.
  static constexpr int kLoads = kWidth == 16 && (kIsLong || sizeof(Offset) == 8) ? 2 : kMost;
  static constexpr uint32 kMaskWords = kTileBytes / kWidth / 32;
  static constexpr uint32 kTurnWords = CK_STRIDED_TURN_WORDS;
  using Piece = Bytes<kWidth == 16 ? 8 : kWidth>;
  static constexpr int kPieces = kWidth / sizeof(Piece);
  using Arguments = StridedArguments<kRank>;
  const Arguments& a;

  CK_DEVICE const NonzeroArguments& common() const { return a.common; }

  CK_DEVICE Elements elements_of(uint32 tile) const {
    return {Offset{tile} * (a.common.turns * kTurnWords * kReaders), nullptr, 0};
  }

  CK_DEVICE uint32 load(uint32 tile, uint32* masks) const {
    const uint32 lane = threadIdx.x % 32, words = a.common.turns * kTurnWords;
    const uint32 begin = threadIdx.x / 32 * words;
    const Offset start = elements_of(tile)(begin * 32 + lane);
    const Offset elements = static_cast<Offset>(a.common.elements);
    uint32 count = 0;
    for (uint32 word = 0; word < words; word += kLoads) {
      Piece value[kLoads][kPieces];
      uint32 mask = 0;
#pragma unroll
      for (int r = 0; r < kLoads; ++r) {
        const Offset element = start + (word + r) * 32;
        const Offset offset =
            offsets_of(element < elements ? element : elements - 1, a.dimensions).value[0];
#pragma unroll
        for (int k = 0; k < kPieces; ++k) {
          value[r][k] = ck::load(at<Piece>(a.common.x, offset) + k);
        }
      }
#pragma unroll
      for (int r = 0; r < kLoads; ++r) {
        bool set = false;
#pragma unroll
        for (int k = 0; k < kPieces; ++k) {
          set = set || is_nonzero(value[r][k], a.common.value_bits);
        }
        const bool exists = start + ((word + r) * 32) < elements;
        const uint32 bits = __ballot_sync(kAllLanes, set && exists);
        mask = lane == static_cast<uint32>(r) ? bits : mask;
      }
      if (lane < kLoads) {
        masks[begin + word + lane] = mask;
        count += static_cast<uint32>(__popc(mask));
      }
    }
    return count;
  }
};

}  // namespace ck
