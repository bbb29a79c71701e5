"""Planning of reduce: which dimensions are kept, which are reduced, and by which kernel.

The division of work, like the result's bits, depends on shape and types alone, never on the device.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd, prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cudakern.engines.base import THREADS, KernelSpec, Launch
from cudakern.operators.reduce import shares, tuning
from cudakern.operators.reduce.reduction import WARP, WARPS, Reduction, column_pad
from cudakern.values import layout
from cudakern.values.argument_struct import ArgumentPacker, Arguments
from cudakern.values.layout import (
    SECTOR_BYTES,
    VECTOR_BYTES,
    Dimension,
    Layout,
    alignment,
    merge,
    round_up,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

#: For no dimensions.
POINT = (Dimension(1, (0, 0)),)


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
    def is_contiguous(self) -> bool:
        """Whether the elements of a result lie next to each other."""
        return len(self.along) == 1 and self.along[0].strides[0] == self.x.itemsize

    @cached_property
    def can_start_anywhere(self) -> bool:
        """Whether rows start where the kernels of rows can read them."""
        has_vectors = self.x.itemsize < VECTOR_BYTES or not self.reduction.is_any_order
        return self.is_aligned and has_vectors and self.reduction.reads_vectors

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
        _plan_lanes(problem)
        or _plan_tiles(problem)
        or _plan_rows(problem)
        or _plan_periods(problem)
        or _plan_columns(problem)
        or _plan_strided(problem)
    )


def _plan_lanes(problem: ReduceProblem) -> Launch | None:
    """Return a plan for short rows of whole vectors."""
    row_bytes, rows = problem.length * problem.x.itemsize, problem.results
    vectors = row_bytes // VECTOR_BYTES
    readable = problem.is_contiguous and problem.in_order and problem.reduction.reads_vectors
    if not (readable and 0 < vectors <= WARP):
        return None
    others = [d.strides[0] for d in problem.kept]
    if alignment(problem.x.phase, row_bytes, *others) != VECTOR_BYTES:
        return None
    lanes, wide = power_above(vectors), problem.is_wide
    threads = min(THREADS, max(WARP, power_above(rows * lanes)))
    loads = min(tuning.LANE_ROWS, max(1, rows * lanes // (THREADS * tuning.BLOCKS)))
    rank = rank_of(problem.kept)
    arguments = (
        ArgumentPacker(wide=wide)
        .raw(rest=problem.rest)
        .dimensions(rank, kept=problem.kept or POINT)
        .offset(rows=rows)
        .uint32(vectors=vectors, lane_shift=lanes.bit_length() - 1)
        .done()
    )
    spec = problem.reduction.specialise("lanes", wide=wide, rank=rank, loads=loads)
    blocks = -(-rows // (threads // lanes * loads))
    return Launch(spec, (blocks, 1, 1), 0, 3, arguments, workspace=0, threads=threads)


def _plan_tiles(problem: ReduceProblem) -> Launch | None:
    """Return a plan for short rows, or slabs of few rows next to each other."""
    item, slab = problem.x.itemsize, problem.slab()
    if slab is None or not problem.is_aligned:
        return None
    slabs, rows, columns = slab
    slab_bytes = rows * columns * item
    if columns > 1:
        whole = slab_bytes <= tuning.TILE_SLAB_BYTES and not problem.takes_vectors
    else:
        whole = rows > 1 and slabs > 1 and slab_bytes <= tuning.TILE_ROW_BYTES
        whole = whole and alignment(problem.x.phase, slab_bytes) < VECTOR_BYTES
    if not whole:
        return None
    # Shared memory holds a tile and the states of its parts.
    wide, state = problem.is_wide, problem.reduction.state_bytes(wide=problem.is_wide)
    most = tuning.MOST_SHARED_BYTES * 7 * item // (7 * item + state)
    most = min(tuning.STAGE_ROOM, most, slabs * slab_bytes // tuning.BLOCKS)
    most = max(most, tuning.MIN_STAGE_BYTES)
    # Tiles start with sectors of x and of out, unless that takes too many slabs.
    of_sector = SECTOR_BYTES // gcd(SECTOR_BYTES, slab_bytes, columns * problem.out.itemsize)
    if of_sector * slab_bytes > most:
        of_sector = 1
    tile_slabs = min(slabs, max(of_sector, most // slab_bytes // of_sector * of_sector))
    results = tile_slabs * columns
    stage = round_up(tile_slabs * slab_bytes + SECTOR_BYTES, SECTOR_BYTES) + SECTOR_BYTES
    few = -(-rows * results // tuning.TILE_ITEMS)  # rows of a part, so that there are enough
    part = min(tuning.TILE_PART, max(tuning.STEPS, power_above(few + 1) // 2))
    arguments = (
        ArgumentPacker(wide=wide)
        .raw(rest=problem.rest)
        .offset(bytes=problem.x.size * item, slabs=slabs)
        .uint32(rows=rows, tile_slabs=tile_slabs, row_bytes=columns * item)
        .uint32(part=part, part_shift=part.bit_length() - 1, stage_bytes=stage)
        .divisor(columns=columns, results=results, wide=False)
        .done()
    )
    spec = problem.reduction.specialise("tiles", wide=wide)
    states = results * room_of(-(-rows // part) * tuning.STEPS)
    return launch_of(spec, -(-slabs // tile_slabs), stage + states * state, arguments)


def _plan_rows(problem: ReduceProblem) -> Launch | None:
    """Return a plan for rows whose elements lie next to each other."""
    item, length, rows = problem.x.itemsize, problem.length, problem.results
    row_bytes = length * item
    if not (problem.is_contiguous and problem.in_order and problem.can_start_anywhere):
        return None
    if row_bytes < tuning.MIN_ROW_BYTES and rows > 1:
        return None
    any_order, rank = problem.reduction.is_any_order, rank_of(problem.kept)
    wide, state = problem.is_wide, problem.reduction.state_bytes(wide=problem.is_wide)
    chunk = tuning.BLOCK_LOADS * WARP * max(1, VECTOR_BYTES // item)
    by_warps = length <= WARP * chunk  # each lane has a state of a chunk
    share = shares.row_share(rows, length, item, chunk)
    costs = tuning.BLOCK_COSTS if any_order else tuning.TEAM_COSTS
    turn = tuning.WARP_TURN if any_order else chunk * item
    team = WARPS
    if share == length:
        team = shares.row_team(rows, row_bytes, turn, costs, by_warps=by_warps)
    splits = -(-length // share)
    once = not any_order and team == WARPS and share <= WARPS * chunk
    once = once and (splits == 1 or share == WARPS * chunk)
    arguments = (
        ArgumentPacker(wide=wide)
        .raw(rest=problem.rest)
        .dimensions(rank, kept=problem.kept or POINT)
        .offset(rows=rows, length=length, share=share)
        .done()
    )
    variant = "warps" if team == 1 else "blocks"
    starts = alignment(problem.x.phase, *(d.strides[0] for d in problem.kept))
    on_vectors = once and starts == VECTOR_BYTES
    spec = problem.reduction.specialise(
        variant, wide=wide, rank=rank, once=WARPS * once, alone=once and splits == 1,
        on_vectors=on_vectors,
    )  # fmt: skip
    if team == 1:
        threads = WARP * min(WARPS, rows)
        blocks = -(-rows // (threads // WARP))
        return Launch(spec, (blocks, 1, 1), 0, 3, arguments, workspace=0, threads=threads)
    launch = launch_of(spec, rows, staged_bytes(share, chunk, state), arguments, splits, state)
    return replace(launch, threads=WARP * team)


class _PeriodThreads(NamedTuple):
    """How the threads of a block lie over x.

    `span` threads lie side by side, a vector each; `groups` such rows of threads lie below each
    other. `span` vectors are `period` rows of x; a period of 0 means a range of `width` columns.
    """

    span: int
    groups: int
    period: int
    width: int


def _plan_periods(problem: ReduceProblem) -> Launch | None:
    """Return a plan for the columns of a contiguous x, of functions of any order."""
    slab = problem.slab()
    if slab is None or not (problem.is_aligned and problem.reduction.is_any_order):
        return None
    slabs, rows, columns = slab
    item, wide, reduction = problem.x.itemsize, problem.is_wide, problem.reduction
    vector, state = reduction.column_bytes(wide=wide), reduction.state_bytes(wide=wide)
    threads = _period_threads(columns, item, vector)
    if problem.takes_vectors or (threads.period == 0 and rows < tuning.PERIOD_MIN_ROWS):
        return None
    ranges = -(-columns // threads.width)
    splits = shares.period_splits(slabs * ranges, rows * threads.width * item)
    splits = min(splits, rows, shares.most_splits(state * threads.width))
    share = -(-rows // (1 if slabs * ranges > tuning.COUNTERS else splits))
    splits = -(-rows // share)
    step = threads.groups * (threads.span if threads.period else 1)
    arguments = (
        ArgumentPacker(wide=wide)
        .raw(rest=problem.rest)
        .divisor(ranges=ranges)
        .offset(bytes=problem.x.size * item, rows=rows, share=share, columns=columns)
        .divisor(step=step)
        .divisor(span=threads.span, folded=threads.width, wide=False)
        .uint32(width=threads.width, groups=threads.groups, period=threads.period)
        .done()
    )
    spec = reduction.specialise("periods", wide=wide, rank=1, width=vector)
    pad = column_pad(state, vector // item)
    own = vector // item * (THREADS + pad) + threads.width * room_of(
        threads.groups * max(1, threads.period)
    )
    shared = max(own, threads.width * room_of(splits)) * state
    return launch_of(spec, slabs * ranges, shared, arguments, splits, state * threads.width)


def _period_threads(columns: int, item: int, vector: int) -> _PeriodThreads:
    """Return how the threads of a block lie over rows of ``columns`` columns."""
    common = gcd(columns * item, vector)
    span, period, items = columns * item // common, vector // common, vector // item
    if span <= THREADS and columns <= tuning.PERIOD_MOST_WHOLE:
        return _PeriodThreads(span, THREADS // span, period, columns)
    groups = max(tuning.PERIOD_GROUPS, period)
    most = THREADS // groups * items - (items - 1)  # wherever in a vector a row starts
    ranges = -(-columns // most)
    width = -(-columns // ranges)
    return _PeriodThreads(-(-(width + items - 1) // items), groups, 0, width)


def _plan_columns(problem: ReduceProblem) -> Launch | None:
    """Return a plan for results that lie closer to each other than what is reduced."""
    kept, along = problem.kept, problem.along
    closer = kept and kept[-1].strides[0] != 0
    if closer and along and problem.length >= WARP:
        closer = abs(kept[-1].strides[0]) <= abs(along[-1].strides[0]) or not along[-1].strides[0]
    if not closer and problem.length >= WARP:
        return None
    reduction, wide, step = problem.reduction, problem.is_wide, 0
    width_bytes = problem.x.itemsize
    if problem.takes_vectors:
        along = problem.logical if reduction.has_places else along
        width_bytes = reduction.results_bytes(wide=wide)
        items = width_bytes // problem.x.itemsize
        *outer, inner = kept
        vector = Dimension(inner.size // items, tuple(s * items for s in inner.strides))
        kept, step = merge((*outer, vector)), inner.strides[1]
    items = width_bytes // problem.x.itemsize
    units, length = prod(d.size for d in kept), problem.length
    state = reduction.state_bytes(wide=wide) * items
    rank = rank_of(kept) if len(along) <= 1 else max(3, rank_of(kept, along))
    packed = (not along or (len(along) == 1 and len(kept) <= 1)) and (
        along and along[0].strides[0] == units * width_bytes
    )
    grid = shares.column_grid(
        units, length, width_bytes, items, state,
        any_order=reduction.is_any_order, packed=bool(packed),
    )  # fmt: skip
    once, splits, room = grid.turns > 0, -(-length // grid.share), room_of(grid.round)
    spec = reduction.specialise(
        "columns", wide=wide, rank=rank, width=width_bytes, threads=grid.most_threads,
        loads=grid.rows, interleaved=grid.interleaved, once=grid.states * once,
        alone=once and splits == 1,
    )  # fmt: skip
    arguments = (
        ArgumentPacker(wide=wide)
        .raw(rest=problem.rest)
        .dimensions(rank, kept=kept or POINT)
        .dimensions(1 if rank < 3 else rank, along=along or POINT)  # noqa: PLR2004
        .offset(units=units, length=length, share=grid.share, step=step)
        .divisor(width=grid.width, results=grid.width * items, wide=False)
        .uint32(strips=grid.strips, sides=grid.sides)
        .uint32(width_shift=grid.width.bit_length() - 1, strip_shift=grid.strip_shift)
        .uint32(states=grid.states, turns=grid.turns, round=grid.round, room=room)
        .done()
    )
    levels = levels_of(-(-min(grid.share, length) // (grid.part * grid.round)))
    shared = max(grid.round + room + levels, room_of(splits)) * grid.width * state
    launch = launch_of(spec, -(-units // grid.width), shared, arguments, splits, grid.width * state)
    return replace(launch, threads=grid.threads)


def _plan_strided(problem: ReduceProblem) -> Launch:
    """Return a plan for rows of any layout."""
    reduction, wide, rows = problem.reduction, problem.is_wide, problem.results
    item, along = problem.x.itemsize, problem.along
    width = item
    others = [d.strides[0] for d in (*problem.kept, *along[:-1])]
    beside = along[-1].strides[0] == item < VECTOR_BYTES
    if beside and problem.in_order and reduction.reads_vectors:
        piece = along[-1].size * item
        if alignment(problem.x.phase, piece, *others) == VECTOR_BYTES:
            items = VECTOR_BYTES // item
            width = VECTOR_BYTES
            *outer, inner = along
            vector = Dimension(inner.size // items, tuple(s * items for s in inner.strides))
            along = merge((*outer, vector))
    length = prod(d.size for d in along)
    state, chunk = reduction.state_bytes(wide=wide), tuning.STRIDED_UNITS * WARP
    share = shares.row_share(rows, length, width, chunk)
    team = WARPS
    if share == length:
        team = shares.row_team(
            rows, length * width, tuning.WARP_TURN, tuning.BLOCK_COSTS,
            by_warps=length <= WARP * chunk,
        )  # fmt: skip
    splits = -(-length // share)
    rank = rank_of(problem.kept) if len(along) <= 1 else max(3, rank_of(problem.kept, along))
    arguments = (
        ArgumentPacker(wide=wide)
        .raw(rest=problem.rest)
        .dimensions(rank, kept=problem.kept or POINT)
        .dimensions(1 if rank < 3 else rank, along=along or POINT)  # noqa: PLR2004
        .offset(rows=rows, length=length, share=share)
        .uint32(team_shift=team.bit_length() - 1)
        .done()
    )
    spec = reduction.specialise("strided", wide=wide, rank=rank, width=width)
    shared = staged_bytes(share, chunk, state) if team > 1 else 0
    blocks = -(-rows // (WARPS // team))
    return launch_of(spec, blocks, shared, arguments, splits, state)


def rank_of(*lists: Sequence[Dimension]) -> int:
    """Return the rank of the kernel that takes lists of dimensions."""
    return next(r for r in tuning.RANKS if r >= max(map(len, lists)))


def power_above(value: int) -> int:
    """Return the least power of two that is at least a value."""
    return 1 << (value - 1).bit_length()


def room_of(states: int) -> int:
    """Return the parts of all levels that ``states`` states are combined by, but for the last."""
    total, parts = 0, -(-states // tuning.STEPS)
    while parts > 1:
        total, parts = total + parts, -(-parts // tuning.STEPS)
    return total


def levels_of(parts: int) -> int:
    """Return how many states wait at most while so many parts are combined one by one."""
    return parts.bit_length() if parts > 1 else 0


def staged_bytes(length: int, chunk: int, state: int) -> int:
    """Return the shared memory of a block that takes chunks of a row of ``length``."""
    levels = levels_of(-(-length // (chunk * tuning.STAGE_STATES)))
    return (tuning.STAGE_STATES + WARPS + levels) * state


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
        exchanged = blocks * splits * states_bytes
        workspace = tuning.COUNTER_BYTES + max(tuning.MIN_STATES_BYTES, power_above(exchanged))
    return Launch(spec, (blocks, splits, 1), shared, 3, arguments, workspace=workspace)
