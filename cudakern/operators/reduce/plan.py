"""Planning of reduce: which dimensions are kept, which are reduced, and by which kernel.

The division of work, like the result's bits, depends on shape and types alone, never on the device.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from math import gcd, prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cudakern.engines.base import THREADS, KernelSpec, Launch
from cudakern.operators.reduce import shares, tuning
from cudakern.operators.reduce.reduction import WARP, WARPS, Reduction, column_shared_bytes
from cudakern.values import layout
from cudakern.values.argument_struct import ArgumentPacker, Arguments
from cudakern.values.layout import SECTOR_BYTES, VECTOR_BYTES, Dimension, Layout, alignment, merge

if TYPE_CHECKING:
    from collections.abc import Sequence

BANK_BYTES = 4

#: For no dimensions: those that are kept or reduced, and those of pieces.
POINT = (Dimension(1, (0, 0)),)
PIECE = (Dimension(1, (0,)),)


@dataclass(frozen=True)
class ReduceProblem:
    """A function of x over some of its axes."""

    reduction: Reduction
    x: Layout
    out: Layout  # lacks the axes that are reduced, or has size 1 along them
    axes: tuple[int, ...]  # those axes, ascending
    initial: bytes | None = None  # the initial value, of out's type; None if there is none

    @cached_property
    def kept(self) -> tuple[Dimension, ...]:
        """The dimensions that are kept, with the strides of x and out, in the best order for x."""
        x, out = self.x, self.out
        rest = [k for k in range(len(x.shape)) if k not in self.axes]
        written = out.strides if len(out.shape) == len(rest) else [out.strides[k] for k in rest]
        pairs = zip([x.strides[k] for k in rest], written, strict=True)
        return merge(layout.sort_for_walk(map(Dimension, [x.shape[k] for k in rest], pairs)))

    @cached_property
    def logical(self) -> tuple[Dimension, ...]:
        """The dimensions that are reduced, with the strides of x and of places, in their order."""
        shape = [self.x.shape[k] for k in self.axes]
        places = layout.packed_strides(shape, 1) if self.reduction.has_places else [0] * len(shape)
        pairs = zip([self.x.strides[k] for k in self.axes], places, strict=True)
        return merge(map(Dimension, shape, pairs))

    @cached_property
    def along(self) -> tuple[Dimension, ...]:
        """The dimensions that are reduced in the best order for x."""
        return merge(layout.sort_for_walk(self.logical))

    @property
    def rest(self) -> bytes:
        """The argument of ``finish`` in device code: the number of elements or an initial value."""
        if self.initial is None:
            return struct.pack("=Q", self.length)
        element = np.frombuffer(self.initial, self.reduction.result.numpy)
        with np.errstate(invalid="ignore"):  # of NaN
            data = element.astype(self.reduction.initial.numpy).tobytes()
        return data.ljust(layout.WORD_BYTES, b"\0")

    @cached_property
    def in_order(self) -> bool:
        """Whether the best order for x has places in ascending order, if they matter."""
        return not self.reduction.has_places or self.along == self.logical

    @cached_property
    def length(self) -> int:
        """Elements of x for each of out."""
        return prod(d.size for d in self.along)

    @cached_property
    def results(self) -> int:
        """Elements of out."""
        return prod(d.size for d in self.kept)

    @cached_property
    def is_wide(self) -> bool:
        """Whether offsets need 64 bits."""
        spans = [layout.reach(self.kept, operand) for operand in range(2)]
        spans[0] += layout.reach(self.along, 0)
        return (
            max(spans) + VECTOR_BYTES >= layout.MAX_SPAN_32
            or max(self.length, self.results) + tuning.SLACK >= layout.MAX_ITEMS_32
        )

    @cached_property
    def is_aligned(self) -> bool:
        """Whether elements lie on multiples of their size; complex128 may lie on half of it."""
        strides = (d.strides[0] for d in (*self.kept, *self.along))
        return alignment(self.x.phase, *strides) % self.x.itemsize == 0

    @cached_property
    def takes_vectors(self) -> bool:
        """Whether the results' elements lie next to each other, on whole vectors."""
        kept, item = self.kept, self.x.itemsize
        if not kept or kept[-1].strides[0] != item or item == VECTOR_BYTES:
            return False
        columns = kept[-1].size * item
        others = [d.strides[0] for d in (*kept[:-1], *self.along)]
        return columns % SECTOR_BYTES == 0 and alignment(self.x.phase, *others) == VECTOR_BYTES

    def slab(self) -> tuple[int, int, int] | None:
        """Return (slabs, rows, columns) of an x that is contiguous and reduced along rows."""
        item, out_item = self.x.itemsize, self.out.itemsize
        if len(self.along) > 1 or len(self.kept) > 2 or not self.in_order:  # noqa: PLR2004
            return None
        rows, kept = self.length, list(self.kept)
        columns = 1
        if kept and kept[-1].strides == (item, out_item):
            columns = kept.pop().size
        if rows > 1 and self.along[0].strides[0] != columns * item:
            return None
        slabs = kept[0].size if kept else 1
        apart = (rows * columns * item, columns * out_item)
        if len(kept) > 1 or (kept and kept[0].strides != apart):
            return None
        return slabs, rows, columns


def plan_reduce(problem: ReduceProblem) -> Launch:
    """Choose the variant for a problem whose shapes and types are already known to be legal."""
    return (
        _plan_tiles(problem)
        or _plan_stream(problem)
        or _plan_vectors(problem)
        or _plan_columns(problem)
        or _plan_grid(problem, "strided", problem.kept, problem.along, problem.x.itemsize, 0)
    )


def _plan_tiles(problem: ReduceProblem) -> Launch | None:
    """Return a plan for short rows, or slabs of few rows, next to each other."""
    item, slab = problem.x.itemsize, problem.slab()
    if slab is None or not problem.is_aligned:
        return None
    slabs, rows, columns = slab
    slab_bytes = rows * columns * item
    of_vectors = columns == 1 and alignment(problem.x.phase, slab_bytes) == VECTOR_BYTES
    if columns == 1:
        aligned = of_vectors and slab_bytes % SECTOR_BYTES == 0
        most = tuning.ALIGNED_TILE_ROW_BYTES if aligned else tuning.TILE_ROW_BYTES
        fits = rows > 1 and slab_bytes <= most and slabs > 1
    else:
        fits = slab_bytes <= tuning.TILE_SLAB_BYTES and not problem.takes_vectors
    if not fits:
        return None
    by_vectors = of_vectors and not problem.reduction.is_long
    width = VECTOR_BYTES if by_vectors else item
    units = slab_bytes // width if columns == 1 else rows
    room = min(tuning.STAGE_ROOM, max(tuning.MIN_STAGE_BYTES, slabs * slab_bytes // tuning.BLOCKS))
    # Tiles start with sectors of x and of out, unless that takes too many slabs.
    of_sector = SECTOR_BYTES // gcd(SECTOR_BYTES, slab_bytes, columns * problem.out.itemsize)
    if of_sector * slab_bytes > tuning.STAGE_ROOM:
        room, of_sector = tuning.STAGE_ROOM, 1
    tile_slabs = min(slabs, max(of_sector, room // slab_bytes // of_sector * of_sector))
    spare = max(1, THREADS // (tile_slabs * columns))
    lanes = min(WARP, 1 << (spare.bit_length() - 1))
    if columns == 1:  # lanes that read a row together use different banks
        step = slab_bytes // (VECTOR_BYTES if by_vectors else BANK_BYTES)
        lanes = max(lanes, min(step & -step, tuning.MOST_LANES) if step else 1)
    lanes = min(lanes, power_above(units))
    wide = problem.is_wide
    arguments = (
        ArgumentPacker(wide=wide)
        .raw(rest=problem.rest)
        .offset(bytes=slabs * slab_bytes, slabs=slabs, tile_bytes=tile_slabs * slab_bytes)
        .uint32(tile_slabs=tile_slabs, rows=units, slab_bytes=slab_bytes)
        .uint32(lane_shift=lanes.bit_length() - 1)
        .divisor(columns=columns, wide=False)
        .done()
    )
    spec = problem.reduction.specialise("tiles", wide=wide, width=width)
    shared = tuning.STAGE_BYTES + tuning.GATHERED_BYTES
    return launch_of(spec, -(-slabs // tile_slabs), shared, arguments)


def _plan_stream(problem: ReduceProblem) -> Launch | None:
    """Return a plan for rows that are made of contiguous pieces."""
    item, along = problem.x.itemsize, problem.along
    contiguous = along and along[-1].strides[0] == item
    if not contiguous or not problem.in_order or not problem.is_aligned:
        return None
    length, rows = along[-1].size, problem.results
    pieces, row_bytes, piece_bytes = problem.length // length, problem.length * item, length * item
    if piece_bytes < tuning.MIN_PIECE_BYTES and (pieces > 1 or rows > 1):
        return None
    by_blocks = pieces == 1 or piece_bytes >= tuning.BLOCK_PIECE_BYTES
    if by_blocks:
        by_warps = row_bytes <= tuning.MAX_WARP_BYTES and shares.warps_are_faster(rows, row_bytes)
    else:
        by_warps = rows >= (
            tuning.MIN_WARPS if row_bytes <= tuning.MAX_WARP_BYTES else tuning.BLOCKS * WARPS
        )
        if not by_warps:
            return None
    wide = problem.is_wide
    state = problem.reduction.state_bytes(wide=wide)
    splits = 1 if by_warps else shares.row_splits(rows, row_bytes)
    parts = -(-splits // pieces)
    part = -(-length // parts)
    part = min(length, -(-part * item // tuning.MIN_PIECE_BYTES) * tuning.MIN_PIECE_BYTES // item)
    parts = -(-length // part)
    units = pieces * parts
    share = -(-units // splits)
    splits = -(-units // share)
    variant = "warps" if by_warps else "stream"
    rank = rank_of(problem.kept, along[:-1])
    arguments = (
        ArgumentPacker(wide=wide)
        .raw(rest=problem.rest)
        .dimensions(rank, kept=problem.kept or POINT)
        .dimensions(rank, pieces=[Dimension(d.size, d.strides[:1]) for d in along[:-1]] or PIECE)
        .divisor(splits=splits, parts=parts)
        .offset(rows=rows, length=length, part=part, units=units, share=share)
        .done()
    )
    spec = problem.reduction.specialise(variant, wide=wide, rank=rank)
    if by_warps:
        return launch_of(spec, -(-rows // WARPS), 0, arguments)
    return launch_of(spec, rows, WARPS * state, arguments, splits, state)


def _plan_vectors(problem: ReduceProblem) -> Launch | None:
    """Return a plan for results whose elements lie next to each other, on whole vectors."""
    if not problem.takes_vectors:
        return None
    width = problem.reduction.results_bytes(wide=problem.is_wide)
    items = width // problem.x.itemsize
    *outer, inner = problem.kept
    vector = Dimension(inner.size // items, tuple(s * items for s in inner.strides))
    kept = merge((*outer, vector))
    return _plan_grid(problem, "vectors", kept, problem.logical, width, inner.strides[1])


def _plan_grid(
    problem: ReduceProblem,
    variant: str,
    kept: Sequence[Dimension],
    along: Sequence[Dimension],
    width_bytes: int,
    step: int,
) -> Launch:
    """Return a plan for blocks whose threads form a grid: results by threads that share one."""
    reduction, wide = problem.reduction, problem.is_wide
    units, length = prod(d.size for d in kept), problem.length
    items = width_bytes // problem.x.itemsize
    state = reduction.state_bytes(wide=wide) * items
    along_first = bool(along) and (
        not kept or abs(along[-1].strides[0]) < abs(kept[-1].strides[0]) or kept[-1].strides[0] == 0
    )
    unit_bytes = length * width_bytes
    if along_first:
        groups = power_above(min(length, WARP if units >= tuning.BLOCKS * WARPS else THREADS))
        width = THREADS // groups
    else:
        width = _width_for(units, unit_bytes, state)
        width = max(width, THREADS // power_above(min(length, THREADS)))
    tiles = -(-units // width)
    splits = shares.grid_splits(tiles, width * unit_bytes, width * state)
    share = -(-length // splits)
    splits = -(-length // share)
    rank = rank_of(kept, along)
    arguments = (
        ArgumentPacker(wide=wide)
        .raw(rest=problem.rest)
        .dimensions(rank, kept=kept or POINT, along=along or POINT)
        .divisor(splits=splits)
        .offset(units=units, length=length, share=share, step=step)
        .uint32(width_shift=width.bit_length() - 1, along_first=int(along_first))
        .done()
    )
    spec = reduction.specialise(variant, wide=wide, rank=rank, width=width_bytes)
    return launch_of(spec, tiles, THREADS * state, arguments, splits, width * state)


def _width_for(units: int, unit_bytes: int, state_bytes: int) -> int:
    """Return the units of a block if neighbouring threads have neighbouring units."""
    if units >= tuning.BLOCKS * THREADS:
        return THREADS
    even = shares.even_share(units * unit_bytes)
    width = WARP
    while width > tuning.MIN_WIDTH and units < width * tuning.BLOCKS:
        if even >= tuning.SHARE_OF_STATES * width * state_bytes:
            break
        width //= 2
    return min(width, power_above(units))


class _ColumnThreads(NamedTuple):
    """How the threads of a block lie over x.

    `span` threads lie side by side, a vector each; `groups` such rows of threads lie below each
    other. `span` vectors are `period` rows of x; a period of 0 means a range of `width` columns.
    """

    span: int
    groups: int
    period: int
    width: int


def _plan_columns(problem: ReduceProblem) -> Launch | None:
    """Return a plan for the columns of a contiguous x."""
    slab = problem.slab()
    if slab is None or not problem.is_aligned:
        return None
    slabs, rows, columns = slab
    item, wide, reduction = problem.x.itemsize, problem.is_wide, problem.reduction
    vector, state = reduction.column_bytes(wide=wide), reduction.state_bytes(wide=wide)
    threads = _column_threads(columns, item, vector)
    if threads.period == 0 and rows < tuning.COLUMN_MIN_ROWS:
        return None
    ranges = -(-columns // threads.width)
    splits = shares.column_splits(slabs * ranges, rows * threads.width * item)
    share = -(-rows // min(splits, rows))
    splits = -(-rows // share)
    across = min(threads.width, THREADS)
    step = threads.groups * (threads.span if threads.period else 1)
    arguments = (
        ArgumentPacker(wide=wide)
        .raw(rest=problem.rest)
        .divisor(splits=splits, ranges=ranges)
        .offset(bytes=problem.x.size * item, rows=rows, share=share, columns=columns)
        .divisor(step=step)
        .divisor(span=threads.span, across=across, wide=False)
        .uint32(width=threads.width, groups=threads.groups)
        .uint32(parts=THREADS // across, period=threads.period)
        .done()
    )
    spec = reduction.specialise("columns", wide=wide, width=vector)
    shared = column_shared_bytes(state, vector // item, threads.width)
    states = state * threads.width
    return launch_of(spec, slabs * ranges, shared, arguments, splits, states)


def _column_threads(columns: int, item: int, vector: int) -> _ColumnThreads:
    """Return how the threads of a block lie over rows of ``columns`` columns."""
    common = gcd(columns * item, vector)
    span, period, items = columns * item // common, vector // common, vector // item
    if span <= THREADS and columns <= tuning.COLUMN_MOST_WHOLE:
        return _ColumnThreads(span, THREADS // span, period, columns)
    groups = max(tuning.COLUMN_GROUPS, period)
    most = THREADS // groups * items - (items - 1)  # wherever in a vector a row starts
    ranges = -(-columns // most)
    width = -(-columns // ranges)
    return _ColumnThreads(-(-(width + items - 1) // items), groups, 0, width)


def rank_of(*lists: Sequence[Dimension]) -> int:
    """Return the rank of the kernel that takes lists of dimensions."""
    return next(r for r in tuning.RANKS if r >= max(map(len, lists)))


def power_above(value: int) -> int:
    """Return the least power of two that is at least a value."""
    return 1 << (value - 1).bit_length()


def launch_of(
    spec: KernelSpec,
    blocks: int,
    shared: int,
    arguments: Arguments,
    splits: int = 1,
    states_bytes: int = 0,
) -> Launch:
    """Return a launch; ``splits`` blocks share the results of a block, if more than one."""
    workspace = 0
    if splits > 1:
        exchanged = blocks * (splits + -(-splits // tuning.GROUP_BLOCKS)) * states_bytes
        workspace = tuning.COUNTER_BYTES + max(tuning.MIN_STATES_BYTES, power_above(exchanged))
    return Launch(spec, (blocks * splits, 1, 1), shared, 3, arguments, workspace=workspace)
