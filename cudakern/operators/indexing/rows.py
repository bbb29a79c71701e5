"""Planning for the operators that copy rows of x selected by indices.

A problem has up to three merged parts: outer dimensions, the dimensions of the indices, and inner
dimensions, which form a row. A stream is a problem whose output is packed, row after row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from cudakern.engines import base
from cudakern.engines.base import THREADS, Launch, blocks_for
from cudakern.operators.indexing.indices import compares_wide
from cudakern.operators.indexing.kernels import ITEMS_PER_THREAD, MAX_COMPONENTS, specialise
from cudakern.values import layout
from cudakern.values.argument_struct import ArgumentPacker
from cudakern.values.layout import VECTOR_BYTES, Dimension, Layout, alignment, merge

# Tuning: unit; reason; an estimate, or a limit of hardware or kernels.
STRIDED_RANKS = {False: (2, 4, 8, 16), True: (4, 16)}  # dimensions of a strided kernel, by whether
# offsets are wide; a loop from 8 on; few kernels; estimate
TILE_BYTES = 16 * 1024  # bytes of a tile: the output that a block splices at a time; estimate
SHORT_TILE_BYTES = 8 * 1024  # bytes of a tile whose rows take more room than TILE_BYTES; limit
MIN_TILE_BYTES = 4 * 1024  # bytes of a tile at least, if there are fewer than TILES; estimate
MEDIUM_ROWS = range(64, 5462)  # bytes of rows: a tile of TILE_BYTES fits shared memory; limit
TILES = 2 * layout.MULTIPROCESSORS  # tiles to have; estimate


@dataclass(frozen=True)
class RowProblem:
    """Rows of x that indices pick, in any layout."""

    x: Layout
    indices: Layout
    out: Layout
    #: Dimensions of the output, each part merged, with the byte strides of (x, indices, out).
    outer: tuple[Dimension, ...]
    index: tuple[Dimension, ...]
    inner: tuple[Dimension, ...]
    #: Extent and byte stride of x along the axis of each component of an index tuple.
    axes: tuple[tuple[int, int], ...]
    component_stride: int  # byte stride of the indices from one component to the next
    #: Names in INDEX_TYPES and MODES.
    index_type: str
    mode: str
    fill: bytes  # the fill value repeated to 16 bytes

    @cached_property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return self.x.itemsize * prod(d.size for d in self.inner)

    @cached_property
    def planes(self) -> int:
        """Outer positions."""
        return prod(d.size for d in self.outer)

    @cached_property
    def count(self) -> int:
        """Rows of one outer position."""
        return prod(d.size for d in self.index)

    @cached_property
    def total_rows(self) -> int:
        """Rows of the output."""
        return self.planes * self.count

    def is_merged(self) -> bool:
        """Return whether each part is one dimension at most, and rows are contiguous."""
        item = self.x.itemsize
        is_flat = all(len(part) <= 1 for part in (self.outer, self.index, self.inner))
        return is_flat and (not self.inner or self.inner[0].strides == (item, 0, item))

    def is_stream(self) -> bool:
        """Return whether the problem is merged and the output has no gaps between rows."""
        row = self.row_bytes
        return (
            self.is_merged()
            and (not self.index or self.index[0].strides[2] == row)
            and (not self.outer or self.outer[0].strides[2] == row * self.count)
        )

    def is_wide(self, items: int, per_block: int, *dimensions: Dimension) -> bool:
        """Return whether 64-bit offsets are needed: by work items, byte offsets or an extent."""
        reaches = [layout.reach(dimensions, operand) for operand in range(3)]
        reaches[0] += sum((extent - 1) * abs(stride) for extent, stride in self.axes)
        reaches[1] += (len(self.axes) - 1) * abs(self.component_stride)
        return (
            items + per_block * base.MAX_BLOCKS >= layout.MAX_ITEMS_32
            or max(reaches) + VECTOR_BYTES >= layout.MAX_SPAN_32
            or max((extent for extent, _ in self.axes), default=0) >= layout.MAX_SPAN_32
        )


def rows_of_tuples(
    x: Layout, indices: Layout, out: Layout, batch: int, index_type: str, mode: str, fill: bytes
) -> RowProblem:
    """Return ``out[b, i, c] = x[b, indices[b, i, 0], ..., indices[b, i, t - 1], c]`` as rows."""
    last, tuple_size = len(indices.shape) - 1, indices.shape[-1]
    first = batch + tuple_size
    outer = [
        Dimension(x.shape[d], (x.strides[d], indices.strides[d], out.strides[d]))
        for d in range(batch)
    ]
    index = [
        Dimension(indices.shape[d], (0, indices.strides[d], out.strides[d]))
        for d in range(batch, last)
    ]
    inner = [
        Dimension(x.shape[d], (x.strides[d], 0, out.strides[last + d - first]))
        for d in range(first, len(x.shape))
    ]
    axes = tuple((x.shape[d], x.strides[d] if x.shape[d] > 1 else 0) for d in range(batch, first))
    step = indices.strides[-1] if tuple_size > 1 else 0
    parts = merge(outer), merge(index), merge(inner)
    return RowProblem(x, indices, out, *parts, axes, step, index_type, mode, fill)


@dataclass(frozen=True, slots=True)
class Splice:
    """How a block stages the rows of a tile."""

    tile: int  # bytes of the output that a block takes at a time
    segments: int  # rows of a tile at most
    words: int  # aligned 16-byte words that the part of a row in a tile lies in, at most
    x_bytes: int  # bytes of x if nothing lies between its rows, else 0

    @classmethod
    def for_rows(cls, row_bytes: int, width: int, x_bytes: int, out_bytes: int) -> Splice:
        """Return the geometry for rows that are aligned to ``width`` bytes."""
        tile = TILE_BYTES if row_bytes in MEDIUM_ROWS else SHORT_TILE_BYTES
        while tile > MIN_TILE_BYTES and out_bytes < TILES * tile:
            tile //= 2
        segments = (tile - 1) // row_bytes + 2
        words = (min(row_bytes, tile) - 1 + VECTOR_BYTES - width) // VECTOR_BYTES + 1
        return cls(tile, segments, words, x_bytes)

    def pack(self, packer: ArgumentPacker) -> ArgumentPacker:
        """Append the ``SpliceShape`` of the kernel's arguments."""
        packer.int64(x_bytes=self.x_bytes).divisor(words=self.words, wide=False)
        return packer.uint32(segments=self._entries, tile=self.tile)

    @property
    def _entries(self) -> int:
        """Entries of the table: an even number of 4 bytes each, so 8-byte words can follow."""
        return self.segments + self.segments % 2

    def shared_bytes(self, *, wide: bool) -> int:
        """Return the dynamic shared memory of a block: the table, then the stage."""
        table = self._entries * (4 + (8 if wide else 4))
        return layout.round_up(table, VECTOR_BYTES) + self.segments * self.words * VECTOR_BYTES


def most_rows(variant: str, width: int) -> int:
    """Return the most rows that a tile of a variant of a stream can have a part of."""
    tiles = {"rows": THREADS * ITEMS_PER_THREAD, "packed": THREADS * VECTOR_BYTES // width}
    return tiles.get(variant, SHORT_TILE_BYTES // VECTOR_BYTES) + 2


def most_spliced(variant: str, width: int, bits: int) -> int:
    """Return the most shared memory that a variant of a stream needs to splice rows."""
    longest = Splice.for_rows(MEDIUM_ROWS[-1], width, 0, TILES * TILE_BYTES)
    return longest.shared_bytes(wide=bits == 64) if variant == "spliced" else 0  # noqa: PLR2004


@dataclass(frozen=True, slots=True)
class Stream:
    """How the rows of a packed output are copied."""

    variant: str  # "rows", "spliced" or "packed"
    width: int  # bytes of a load; of spliced rows, bytes of a piece
    unit: int  # bytes of a piece, in which the output is counted
    #: Pieces between a 16-byte boundary and the output, of the output, of a block in a turn.
    lead: int
    pieces: int
    tile: int
    wide: bool  # whether offsets need 64 bits
    splice: Splice | None  # the geometry of spliced rows

    @classmethod
    def for_problem(cls, problem: RowProblem) -> Stream:
        """Return how to copy the rows of a problem that is a stream."""
        row_bytes = problem.row_bytes
        steps = [d.strides[0] for d in problem.outer] + [stride for _, stride in problem.axes]
        width = alignment(problem.x.phase, row_bytes, *steps)
        splice = None
        if width == VECTOR_BYTES and problem.out.phase == 0:
            variant, unit, tile = "rows", width, THREADS * ITEMS_PER_THREAD
        else:
            width = min(width, alignment(problem.out.phase), VECTOR_BYTES // 2)
            variant, unit, tile = "packed", width, THREADS * (VECTOR_BYTES // width)
            if row_bytes >= VECTOR_BYTES:
                out_bytes = problem.total_rows * row_bytes
                splice = Splice.for_rows(row_bytes, width, problem.x.dense_bytes, out_bytes)
                variant, unit, tile = "spliced", 1, splice.tile
        lead = problem.out.phase // unit
        pieces = problem.total_rows * row_bytes // unit
        row = Dimension(row_bytes, (1, 0, 1))
        wide = problem.is_wide(pieces + lead, tile, *problem.outer, *problem.index, row)
        return cls(variant, width, unit, lead, pieces, tile, wide, splice)

    def table_rows(self, problem: RowProblem) -> int:
        """Return the most rows that a tile can have a part of."""
        return min((self.tile * self.unit - 1) // problem.row_bytes + 2, problem.total_rows)

    @property
    def grid(self) -> tuple[int, int, int]:
        """Blocks of the launch."""
        return blocks_for(self.pieces + self.lead, self.tile), 1, 1


def plan_strided(operator: str, problem: RowProblem) -> Launch:
    """Return the plan for any layout."""
    itemsize = problem.x.itemsize
    dimensions = merge(layout.order_by((*problem.outer, *problem.index, *problem.inner), 2))
    inner = dimensions[-1] if dimensions else None
    rest = [s for d in dimensions[:-1] for s in (d.strides[0], d.strides[2])]
    steps = [stride for _, stride in problem.axes]
    fixed = (problem.x.phase, problem.out.phase, *steps, *rest)
    if inner is not None and inner.strides == (itemsize, 0, itemsize):
        # The innermost run is contiguous in x and out: copy it in the widest pieces that fit.
        width = alignment(*fixed, inner.size * itemsize)
        run = Dimension(inner.size * itemsize // width, (width, 0, width))
        dimensions = merge((*dimensions[:-1], run))
    else:
        last = () if inner is None else (inner.strides[0], inner.strides[2])
        width = min(alignment(*fixed, *last), itemsize)
        if width < itemsize:
            dimensions = (*dimensions, Dimension(itemsize // width, (width, 0, width)))
    items = prod(d.size for d in dimensions)
    per_block = THREADS * ITEMS_PER_THREAD
    wide = problem.is_wide(items, per_block, *dimensions)
    rank = next(r for r in STRIDED_RANKS[wide] if r >= len(dimensions))
    arguments = ArgumentPacker(wide=wide).raw(fill=problem.fill)
    pack_axes(arguments, problem, operator, wide=wide)
    arguments.offset(component_stride=problem.component_stride)
    arguments.offset(components=len(problem.axes), items=items)
    arguments.dimensions(rank, dimensions=dimensions or (Dimension(1, (0, 0, 0)),))
    spec = specialise(
        operator, "strided", width, problem.index_type, problem.mode, wide=wide, rank=rank
    )
    grid = (blocks_for(items, per_block), 1, 1)
    return Launch(spec, grid, 0, 3, arguments.done())


def pack_axes(arguments: ArgumentPacker, problem: RowProblem, operator: str, *, wide: bool) -> None:
    """Append the extents, then the strides of x, of as many axes as the kernel has room for."""
    axes = (*problem.axes, *[(1, 0)] * (MAX_COMPONENTS[operator] - len(problem.axes)))
    extents, strides = zip(*axes, strict=True)
    arguments.divisor(extent=extents, wide=compares_wide(problem.indices, wide=wide))
    arguments.offset(axis_stride=strides)
