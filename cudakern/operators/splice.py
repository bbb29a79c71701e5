"""Planning of spliced rows: the geometry that ``kernels/common/splice.cuh`` stages a tile in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cudakern._layout import VECTOR_BYTES
from cudakern.engines.base import MULTIPROCESSORS

if TYPE_CHECKING:
    from cudakern._layout import ArgumentPacker

#: Bytes of the output that a block takes at a time: of rows of medium length, and of others, whose
#: words take more room than the output; less for a small output, to have so many tiles.
TILE_BYTES = 16 * 1024
SHORT_TILE_BYTES = 8 * 1024
MIN_TILE_BYTES = 4 * 1024
MEDIUM_ROWS = range(64, 5462)
TILES = 2 * MULTIPROCESSORS


@dataclass(frozen=True, slots=True)
class Splice:
    """How a block stages the rows of a tile.

    Attributes
    ----------
    tile : int
        Bytes of the output that a block takes at a time.
    segments : int
        Rows of a tile at most.
    words : int
        Aligned 16-byte words that the part of a row in a tile lies in, at most.
    x_bytes : int
        Bytes of x if nothing lies between its rows, else 0.
    """

    tile: int
    segments: int
    words: int
    x_bytes: int

    @classmethod
    def of(cls, row_bytes: int, width: int, x_bytes: int, out_bytes: int) -> Splice:
        """Return the geometry for rows that are aligned to ``width`` bytes."""
        tile = TILE_BYTES if row_bytes in MEDIUM_ROWS else SHORT_TILE_BYTES
        while tile > MIN_TILE_BYTES and out_bytes < TILES * tile:
            tile //= 2
        segments = (tile - 1) // row_bytes + 2
        words = (min(row_bytes, tile) - 1 + VECTOR_BYTES - width) // VECTOR_BYTES + 1
        return cls(tile, segments, words, x_bytes)

    def pack(self, packer: ArgumentPacker) -> ArgumentPacker:
        """Append the ``SpliceShape`` of the kernel's arguments."""
        packer.int64(self.x_bytes).divisor(self.words, wide=False)
        return packer.uint32(self._entries, self.tile)

    @property
    def _entries(self) -> int:
        """Segments of the table: even, so that what has 8 bytes lies behind 4-byte entries."""
        return self.segments + self.segments % 2

    def shared_bytes(self, *, wide: bool) -> int:
        """Return the dynamic shared memory of a block: the table, then the stage."""
        table = self._entries * (4 + (8 if wide else 4))
        return -(-table // VECTOR_BYTES) * VECTOR_BYTES + self.segments * self.words * VECTOR_BYTES
