// Gathers single elements along the last axis: one list of indices for many outer rows.
//
// A block resolves its chunk of the indices once, into a table in shared memory, and applies it to
// row after row. Rows that fit are staged: a block reads several at a time, once, coalesced, as the
// aligned words they lie in, and picks from shared memory. Meanwhile the next rows are on their way
// into registers.
#pragma once

#include "common/division.cuh"
#include "common/indexing.cuh"
#include "common/memory.cuh"

namespace ck {

/// x (outer, extent), indices (count), out (outer, count), single elements. Strides in bytes. Block
/// (b, c) handles indices from b * chunk on, for stages c, c + gridDim.y, ... of `rows` outer rows.
template <typename U>
struct LastAxisArguments {
  const void* x;
  const void* indices;
  void* out;
  uint64 outer;
  uint64 count;
  int64 x_outer_stride;
  int64 x_axis_stride;
  int64 index_stride;
  int64 out_outer_stride;
  uint64 margin;  ///< rows around a staged one that make the words it lies in x's
  Divisor<U> extent;
  FillPattern fill;
  Divisor<uint32> vectors;  ///< of the output that a chunk has
  Divisor<uint32> words;    ///< that a staged row takes at most
  uint32 width;             ///< bytes of such a vector
  uint32 chunk;             ///< a multiple of 16
  uint32 rows;              ///< of a stage; 1 if rows are not staged
  uint32 row_bytes;         ///< of a staged row
  uint32 ragged;            ///< 1 if a staged row may begin or end within a word
  uint32 unused;
};

/// An entry of the table: where in its row an element lies, in bytes if rows are staged, else in
/// elements; or that the fill value takes its place.
template <bool kStaged>
using Entry = Bytes<kStaged ? 2 : 4>;
template <typename E>
constexpr E kNoEntry = static_cast<E>(~E{0});

/// A block's chunk of the indices, resolved.
template <typename E>
struct EntryTable {
  const E* entries;
  uint64 first;
  uint32 length;

  /// Gets the entries of vector `v` of the output, 0 for filled elements. Returns a mask that has
  /// ones for all other elements.
  template <bool kFills, typename V, typename T, int kPieces>
  CK_DEVICE V read(uint32 v, E (&entry)[kPieces]) const {
    constexpr int kBytes = kPieces * sizeof(E) < 16 ? kPieces * sizeof(E) : 16;
    using Group = Packed<Bytes<kBytes>, E>;
    Packed<V, T> mask;
#pragma unroll
    for (int k = 0; k < kPieces; k += Group::kPieces) {
      Group group;
      group.vector = *reinterpret_cast<const Bytes<kBytes>*>(entries + v * kPieces + k);
#pragma unroll
      for (int j = 0; j < Group::kPieces; ++j) {
        const bool fills = kFills && group.piece[j] == kNoEntry<E>;
        entry[k + j] = fills ? E{0} : group.piece[j];
        mask.piece[k + j] = static_cast<T>(fills ? 0 : ~T{0});
      }
    }
    return mask.vector;
  }
};

/// The bits of `picked` where the mask has ones; those of the fill value elsewhere.
template <bool kFills, typename V>
CK_DEVICE V filled(V picked, V mask, const FillPattern& fill) {
  const V other = fill_piece<V>(fill, 0);
  if constexpr (!kFills) {
    return picked;
  } else if constexpr (sizeof(V) == 16) {
    return make_uint4(
        (picked.x & mask.x) | (other.x & ~mask.x), (picked.y & mask.y) | (other.y & ~mask.y),
        (picked.z & mask.z) | (other.z & ~mask.z), (picked.w & mask.w) | (other.w & ~mask.w));
  } else {
    return static_cast<V>((picked & mask) | (other & ~mask));
  }
}

template <IndexMode mode, bool kStaged, typename T, typename I, typename U>
CK_DEVICE EntryTable<Entry<kStaged>> resolve_chunk(const LastAxisArguments<U>& a, char* shared) {
  using E = Entry<kStaged>;
  constexpr uint32 kReads = 32 / sizeof(I);  // of a thread that are in flight
  E* const entries = reinterpret_cast<E*>(shared);
  const uint64 first = static_cast<uint64>(blockIdx.x) * a.chunk;
  const uint64 left = a.count - first;
  const uint32 length = static_cast<uint32>(left < a.chunk ? left : a.chunk);
  for (uint32 begin = threadIdx.x; begin < length; begin += kThreads * kReads) {
    I index[kReads];
#pragma unroll
    for (uint32 r = 0; r < kReads; ++r) {
      const uint32 j = begin + r * kThreads;
      if (j < length) {
        index[r] = load(at<I>(a.indices, (first + j) * static_cast<uint64>(a.index_stride)));
      }
    }
#pragma unroll
    for (uint32 r = 0; r < kReads; ++r) {
      const uint32 j = begin + r * kThreads;
      if (j < length) {
        const Position<U> position = resolve_index<mode, U>(index[r], a.extent);
        const uint32 place = static_cast<uint32>(position.value) * (kStaged ? sizeof(T) : 1);
        entries[j] = position.valid ? static_cast<E>(place) : kNoEntry<E>;
      }
    }
  }
  return {entries, first, length};
}

/// The widest vector of the output: a thread has registers for the entries of 8 pieces.
template <typename T>
using Widest = Bytes<sizeof(T) == 1 ? 8 : 16>;

/// Calls `pick` with the vector of the output that its rows are aligned to, `V` or a narrower one.
template <typename V, typename T, typename Pick>
CK_DEVICE void pick_by_width(uint32 width, Pick pick) {
  if (sizeof(V) == sizeof(T) || width == sizeof(V)) {
    pick(V{});
  } else if constexpr (sizeof(V) > sizeof(T)) {
    pick_by_width<Bytes<sizeof(V) / 2>, T>(width, pick);
  }
}

/// Rows of x on their way into shared memory.
template <typename T, typename U>
struct RowStage {
  static constexpr int kLoads = 4;
  static constexpr uint32 kTurn = kLoads * kThreads;

  const LastAxisArguments<U>& a;
  uint4* words;
  uint64 first;  ///< row of the stage
  uint32 rows;   ///< 0 if there is no such stage
  bool surrounded;

  CK_DEVICE void begin(uint64 row) {
    first = row;
    const uint64 left = row < a.outer ? a.outer - row : 0;
    rows = static_cast<uint32>(left < a.rows ? left : a.rows);
    surrounded = row >= a.margin && left - rows >= a.margin;
  }
  CK_DEVICE uint32 slots() const { return rows * a.words.value; }
  CK_DEVICE const char* row_at(uint64 row) const {
    return at<char>(a.x, row * static_cast<uint64>(a.x_outer_stride));
  }

  /// The word of a slot: where it lies, at which of its bytes its row begins and ends.
  struct Word {
    const char* source;
    int32 begin, end;
  };
  CK_DEVICE Word word_of(uint32 slot) const {
    const Division<uint32> part = divide(slot, a.words);
    const char* const row = row_at(first + part.quotient);
    const int32 low = static_cast<int32>(reinterpret_cast<uint64>(row)) & 15;
    const int32 byte = static_cast<int32>(part.remainder) * 16;
    return {row - low + byte, low - byte, low + static_cast<int32>(a.row_bytes) - byte};
  }

  /// Whether a word is read as a whole: what lies around its row is x's, too.
  CK_DEVICE bool is_whole(const Word& word) const {
    return (word.end > 0) & (surrounded | ((word.begin <= 0) & (word.end >= 16)));
  }

  CK_DEVICE void fetch(uint32 turn, uint4 (&value)[kLoads]) const {
#pragma unroll
    for (uint32 k = 0; k < kLoads; ++k) {
      const uint32 slot = turn + k * kThreads + threadIdx.x;
      const Word word = word_of(slot);
      value[k] = load_if<true>(slot < slots() && is_whole(word),
                               reinterpret_cast<const uint4*>(word.source));
    }
  }

  CK_DEVICE void put(uint32 turn, const uint4 (&value)[kLoads]) const {
#pragma unroll
    for (uint32 k = 0; k < kLoads; ++k) {
      const uint32 slot = turn + k * kThreads + threadIdx.x;
      if (slot < slots()) words[slot] = value[k];
    }
  }

  /// Puts the elements of words that are not whole.
  CK_DEVICE void put_edges() const {
#pragma unroll 1
    for (uint32 slot = threadIdx.x; slot < slots(); slot += kThreads) {
      const Word word = word_of(slot);
      if (!is_whole(word)) {
        const int32 from = word.begin > 0 ? word.begin : 0;
#pragma unroll 1
        for (int32 byte = from; byte < word.end && byte < 16; byte += sizeof(T)) {
          *reinterpret_cast<T*>(reinterpret_cast<char*>(words + slot) + byte) =
              load(reinterpret_cast<const T*>(word.source + byte));
        }
      }
    }
  }

  /// Puts all of the stage, whose first turn has been fetched. By the whole block.
  CK_DEVICE void fill(uint4 (&value)[kLoads]) const {
    put(0, value);
#pragma unroll 1
    for (uint32 turn = kTurn; turn < slots(); turn += kTurn) {
      fetch(turn, value);
      put(turn, value);
    }
    if (a.ragged != 0 && !surrounded) put_edges();
  }

  /// A thread has a vector of the output in a group of rows: the entries of a vector are the same
  /// in all rows. There are as many groups as there are threads for.
  template <bool kFills, typename V>
  CK_DEVICE void pick(const EntryTable<uint16>& table) const {
    constexpr int kPieces = Packed<V, T>::kPieces;
    constexpr int kUnrolled = kPieces < 4 ? 4 / kPieces : 1;
    const uint32 groups = a.vectors.value < kThreads ? quotient(uint32{kThreads}, a.vectors) : 1;
    const Division<uint32> place = divide(threadIdx.x, a.vectors);
    const uint32 group = place.quotient;
    const uint32 low = static_cast<uint32>(reinterpret_cast<uint64>(row_at(first)));
    for (uint32 v = place.remainder; v * kPieces < table.length && group < groups; v += kThreads) {
      uint16 entry[kPieces];
      const V mask = table.template read<kFills, V, T>(v, entry);
      V* const target = at<V>(a.out, first * static_cast<uint64>(a.out_outer_stride)) +
                        (table.first / kPieces + v);
#pragma unroll kUnrolled
      for (uint32 r = group; r < rows; r += groups) {
        const uint32 phase = (low + r * static_cast<uint32>(a.x_outer_stride)) & 15;
        const char* const row = reinterpret_cast<const char*>(words + r * a.words.value) + phase;
        Packed<V, T> picked;
#pragma unroll
        for (int k = 0; k < kPieces; ++k) {
          picked.piece[k] = *reinterpret_cast<const T*>(row + entry[k]);
        }
        picked.vector = filled<kFills>(picked.vector, mask, a.fill);
        store_streaming(at<V>(target, r * static_cast<uint64>(a.out_outer_stride)), picked.vector);
      }
    }
  }
};

/// Picks from a stage.
template <bool kFills, typename Stage>
struct StagePick {
  const Stage& stage;
  const EntryTable<uint16>& table;

  template <typename V>
  CK_DEVICE void operator()(V) const {
    stage.template pick<kFills, V>(table);
  }
};

template <IndexMode mode, typename T, typename I, typename U>
CK_DEVICE void gather_staged(const LastAxisArguments<U>& a, char* shared) {
  using Stage = RowStage<T, U>;
  Stage stage{a, reinterpret_cast<uint4*>(shared + a.chunk * sizeof(uint16)), 0, 0, false};
  stage.begin(static_cast<uint64>(blockIdx.y) * a.rows);
  uint4 value[Stage::kLoads];
  stage.fetch(0, value);
  const EntryTable<uint16> table = resolve_chunk<mode, true, T, I>(a, shared);
  Stage next = stage;
  for (; stage.rows != 0; stage.begin(next.first)) {
    stage.fill(value);
    __syncthreads();
    next.begin(stage.first + static_cast<uint64>(gridDim.y) * a.rows);
    next.fetch(0, value);
    pick_by_width<Widest<T>, T>(a.width, StagePick<mode == IndexMode::kFill, Stage>{stage, table});
    __syncthreads();  // the next rows take the same stage
  }
}

/// Picks from a row of x in global memory, for a row of the output.
template <bool kFills, typename T, typename U>
struct RowPick {
  const LastAxisArguments<U>& a;
  const EntryTable<uint32>& table;
  const char* source;
  char* target;

  template <typename V>
  CK_DEVICE void operator()(V) const {
    constexpr int kPieces = Packed<V, T>::kPieces;
    constexpr int kUnrolled = kPieces < 8 ? 8 / kPieces : 1;
#pragma unroll kUnrolled
    for (uint32 v = threadIdx.x; v * kPieces < table.length; v += kThreads) {
      uint32 entry[kPieces];
      const V mask = table.template read<kFills, V, T>(v, entry);
      Packed<V, T> picked;
#pragma unroll
      for (int k = 0; k < kPieces; ++k) {
        const int64 offset = static_cast<int64>(entry[k]) * a.x_axis_stride;
        picked.piece[k] = load(reinterpret_cast<const T*>(source + offset));
      }
      picked.vector = filled<kFills>(picked.vector, mask, a.fill);
      store_streaming(reinterpret_cast<V*>(target) + (table.first / kPieces + v), picked.vector);
    }
  }
};

template <IndexMode mode, typename T, typename I, typename U>
CK_DEVICE void gather_unstaged(const LastAxisArguments<U>& a, char* shared) {
  const EntryTable<uint32> table = resolve_chunk<mode, false, T, I>(a, shared);
  __syncthreads();
  for (uint64 row = blockIdx.y; row < a.outer; row += gridDim.y) {
    const RowPick<mode == IndexMode::kFill, T, U> pick = {
        a, table, at<char>(a.x, row * static_cast<uint64>(a.x_outer_stride)),
        at<char>(a.out, row * static_cast<uint64>(a.out_outer_stride))};
    pick_by_width<Widest<T>, T>(a.width, pick);
  }
}

template <IndexMode mode, bool kStaged, typename T, typename I, typename U>
CK_DEVICE void gather_last_axis(const LastAxisArguments<U>& a, char* shared) {
  if constexpr (kStaged) {
    gather_staged<mode, T, I>(a, shared);
  } else {
    gather_unstaged<mode, T, I>(a, shared);
  }
}

}  // namespace ck
