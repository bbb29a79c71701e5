// Copies rows picked by an operator into one packed output stream.
//
// An operator describes its rows by a policy with kFills, x(), fill() and locate(row). locate gives
// the byte offset in x of an output row, and whether its index was valid. A policy with kStaged
// also has stage(first, count), which all threads call before the block locates any of those rows.
// A row has `shape.row` pieces. copy_rows moves 16-byte pieces, copy_pieces narrower ones.
#pragma once

#include "common/division.cuh"
#include "common/indexing.cuh"
#include "common/memory.cuh"

namespace ck {

/// The output as a stream of pieces.
template <typename O>
struct StreamShape {
  O pieces;        ///< of the whole output
  O lead;          ///< pieces between the 16-byte boundary before out, and out
  Divisor<O> row;  ///< pieces of a row
};

/// Where the rows of a tile lie in x: a table in shared memory.
template <bool kFills, typename O>
struct PlaceTable {
  static constexpr O kNoRow = O{1} << (sizeof(O) * 8 - 1);  // no offset is as low as that

  O* places;
  O first;  ///< row of the tile

  CK_DEVICE Position<O> locate(O row) const {
    const O place = places[row - first];
    const bool valid = !kFills || place != kNoRow;
    return {valid ? place : O{0}, valid};
  }
  CK_DEVICE void put(O row, Position<O> position) {
    places[row - first] = position.valid ? position.value : kNoRow;
  }
};

/// Has the policy stage the rows in which the pieces [first, end) lie.
template <typename Rows, typename O>
CK_DEVICE void stage_rows(Rows& rows, const StreamShape<O>& shape, O first, O end) {
  if constexpr (Rows::kStaged) {
    const O row = quotient(first, shape.row);
    const O last = quotient(end - 1, shape.row);
    rows.stage(row, static_cast<uint32>(last - row) + 1);
  }
}

/// Each thread has kSlots slots of 16 bytes, one block apart. All their reads are in flight at
/// once, and each warp reads and writes 512 contiguous bytes if rows are as long.
template <bool kFull, int kSlots, typename Rows, typename O>
CK_DEVICE void copy_slots(const Rows& rows, uint4* out, const StreamShape<O>& shape, O first) {
  bool valid[kSlots];
  const uint4* source[kSlots];
  uint4 value[kSlots];
  unrolled<kSlots>([&](int k) {
    const O slot = first + k * kThreads;
    const Division<O> part =
        divide(kFull || slot < shape.pieces ? slot : shape.pieces - 1, shape.row);
    const Position<O> row = rows.locate(part.quotient);
    valid[k] = row.valid;
    source[k] = at<uint4>(rows.x(), row.value + part.remainder * O{16});
  });
  unrolled<kSlots>([&](int k) { value[k] = load(source[k]); });
  unrolled<kSlots>([&](int k) {
    const O slot = first + k * kThreads;
    if (Rows::kFills && !valid[k]) value[k] = fill_piece<uint4>(rows.fill(), 0);
    if (kFull || slot < shape.pieces) store_streaming(out + slot, value[k]);
  });
}

/// Rows of whole 16-byte slots, source and output aligned.
template <typename Rows, typename O>
CK_DEVICE void copy_rows(Rows& rows, void* out, const StreamShape<O>& shape) {
  constexpr int kSlots = CK_ITEMS;
  constexpr O kTile = kSlots * kThreads;
  const O step = static_cast<O>(gridDim.x) * kTile;
  for (O tile = static_cast<O>(blockIdx.x) * kTile; tile < shape.pieces; tile += step) {
    const O first = tile + static_cast<O>(threadIdx.x);
    const O end = tile + kTile <= shape.pieces ? tile + kTile : shape.pieces;
    stage_rows(rows, shape, tile, end);
    if (tile + kTile <= shape.pieces) {
      copy_slots<true, kSlots>(rows, static_cast<uint4*>(out), shape, first);
    } else {
      copy_slots<false, kSlots>(rows, static_cast<uint4*>(out), shape, first);
    }
  }
}

template <typename T, typename Rows, typename O>
CK_DEVICE T read_piece(const Rows& rows, Position<O> row, O column) {
  const O within = column * static_cast<O>(sizeof(T));
  const T value = load(at<T>(rows.x(), row.value + within));
  return Rows::kFills && !row.valid ? fill_piece<T>(rows.fill(), static_cast<uint32>(within) & 15)
                                    : value;
}

/// The pieces of one output vector: one division, then a walk along the row and to the next row.
/// All pieces are read at once. 16 pieces with 64-bit offsets are read a word at a time, since
/// registers would not suffice.
template <typename T, typename Rows, typename O>
CK_DEVICE Packed<uint4, T> walk_rows(const Rows& rows, const StreamShape<O>& shape, O first) {
  constexpr int kPieces = Packed<uint4, T>::kPieces;
  const Division<O> start = divide(first, shape.row);
  O number = start.quotient, column = start.remainder;
  Position<O> row = rows.locate(number);
  const auto next_piece = [&](bool is_last) {
    const T piece = read_piece<T>(rows, row, column);
    if (!is_last && ++column == shape.row.value) {
      column = 0;
      row = rows.locate(++number);
    }
    return piece;
  };
  Packed<uint4, T> result;
  if constexpr (kPieces * sizeof(O) <= 64) {
    unrolled<kPieces>([&](int k) { result.piece[k] = next_piece(k + 1 == kPieces); });
  } else {
    constexpr int kOfWord = Packed<uint32, T>::kPieces;
    uint4& v = result.vector;
    v = make_uint4(0, 0, 0, 0);
#pragma unroll 1
    for (int k = kOfWord; k <= kPieces; k += kOfWord) {
      Packed<uint32, T> word;
      unrolled<kOfWord>(
          [&](int j) { word.piece[j] = next_piece(j + 1 == kOfWord && k == kPieces); });
      v = make_uint4(v.y, v.z, v.w, word.vector);
    }
  }
  return result;
}

/// One output vector `V` a thread and turn, put together by `assemble(first piece)`. `lead` moves
/// the vectors onto 16-byte boundaries, so the first and the last may be partial: those are written
/// piece by piece.
template <typename V, typename T, typename Rows, typename O, typename Assemble>
CK_DEVICE void copy_pieces(Rows& rows, void* out, const StreamShape<O>& shape, Assemble assemble) {
  constexpr O kPieces = Packed<V, T>::kPieces;
  const O end = shape.pieces + shape.lead;
  T* const target = static_cast<T*>(out);
  constexpr O kTile = kThreads * kPieces;
  const O step = static_cast<O>(gridDim.x) * kTile;
  for (O tile = static_cast<O>(blockIdx.x) * kTile; tile < end; tile += step) {
    const O limit = end - tile < kTile ? end : tile + kTile;
    stage_rows(rows, shape, tile < shape.lead ? O{0} : tile - shape.lead, limit - shape.lead);
    const O begin = tile + static_cast<O>(threadIdx.x) * kPieces;
    if (begin >= shape.lead && begin + kPieces <= end) {
      const O first = begin - shape.lead;
      store_streaming(reinterpret_cast<V*>(target + first), assemble(first).vector);
      continue;
    }
    const O last = begin + kPieces < end ? begin + kPieces : end;
#pragma unroll 1
    for (O k = begin < shape.lead ? shape.lead : begin; k < last; ++k) {
      const O piece = k - shape.lead;
      const Division<O> start = divide(piece, shape.row);
      target[piece] = read_piece<T>(rows, rows.locate(start.quotient), start.remainder);
    }
  }
}

/// The same with vectors of 16 bytes, each put together along the rows.
template <typename T, typename Rows, typename O>
CK_DEVICE void copy_pieces(Rows& rows, void* out, const StreamShape<O>& shape) {
  copy_pieces<uint4, T>(rows, out, shape,
                        [&](O first) { return walk_rows<T>(rows, shape, first); });
}

}  // namespace ck
