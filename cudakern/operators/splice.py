"""Planning of spliced rows: the geometry that ``kernels/common/splice.cuh`` stages a tile in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cudakern.layout import VECTOR_BYTES

if TYPE_CHECKING:
    from cudakern.layout import ArgumentPacker

#: Bytes of the output that a block takes at a time.
TILE_BYTES = 8192


@dataclass(frozen=True, slots=True)
class Splice:
    """How a block stages the rows of a tile.

    Attributes
    ----------
    segments : int
        Rows of a tile at most, even.
    words : int
        Aligned 16-byte words that the part of a row in a tile lies in, at most.
    x_bytes : int
        Bytes of x if nothing lies between its rows, else 0.
    """

    segments: int
    words: int
    x_bytes: int

    @classmethod
    def of(cls, row_bytes: int, width: int, x_bytes: int) -> Splice:
        """Return the geometry for rows that are aligned to ``width`` bytes."""
        segments = (TILE_BYTES - 1) // row_bytes + 2
        words = (min(row_bytes, TILE_BYTES) - 1 + VECTOR_BYTES - width) // VECTOR_BYTES + 1
        return cls(segments + segments % 2, words, x_bytes)

    def pack(self, packer: ArgumentPacker) -> ArgumentPacker:
        """Append the ``SpliceShape`` of the kernel's arguments."""
        return packer.int64(self.x_bytes).divisor(self.words, wide=False).uint32(self.segments, 0)

    def shared_bytes(self, *, wide: bool) -> int:
        """Return the dynamic shared memory of a block: the table, then the stage."""
        table = self.segments * (4 + (8 if wide else 4))
        return -(-table // VECTOR_BYTES) * VECTOR_BYTES + self.segments * self.words * VECTOR_BYTES
