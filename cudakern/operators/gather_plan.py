"""Planning of gather: which variant of ``kernels/gather.cu`` a problem gets, and its arguments."""

from __future__ import annotations

from dataclasses import dataclass

from cudakern.engines.base import Launch
from cudakern.layout import (
    MAX_ITEMS_32,
    MAX_SPAN_32,
    VECTOR_BYTES,
    ArgumentPacker,
    Dimension,
    Layout,
    alignment,
    merge,
    order_by,
    reach,
)
from cudakern.operators.base import Plan
from cudakern.operators.gather_kernels import STRIDED_RANKS, specialise
from cudakern.operators.indexing import MAX_BLOCKS, THREADS, blocks_for
from cudakern.operators.splice import TILE_BYTES, Splice

#: Slots or items of a thread and turn in the rows, planes and strided variants.
ITEMS_PER_THREAD = 4
#: last_axis: worth it from so many outer rows and indices on; entries of the index table; bytes of
#: a staged row; blocks to aim at. Estimates, no measurement yet.
LAST_AXIS_MIN_OUTER = 8
LAST_AXIS_MIN_COUNT = 256
LAST_AXIS_TABLE = 8192
LAST_AXIS_TABLE_STAGED = 4096
LAST_AXIS_MAX_STAGED_BYTES = 32 * 1024 - 16
LAST_AXIS_BLOCKS = 4096
SECTOR_BYTES = 32
MAX_GRID_Y = 65535


@dataclass(frozen=True, slots=True)
class GatherProblem:
    """``out[o, i, c] = x[o, indices[i], c]`` with its three parts merged as far as they go."""

    x: Layout
    indices: Layout
    out: Layout
    axis: int
    index_type: str
    mode: str
    fill: bytes

    @property
    def extent(self) -> int:
        """Size of the gathered axis."""
        return self.x.shape[self.axis]

    @property
    def axis_stride(self) -> int:
        """Byte stride of x along the axis; 0 where there is nothing to stride over."""
        return self.x.strides[self.axis] if self.extent > 1 else 0

    def dense_bytes(self, row_bytes: int, outer: tuple[Dimension, ...]) -> int:
        """Return the bytes of x from its first on, or 0 if there are others between its rows."""
        plane = self.extent * row_bytes
        follow = self.extent == 1 or self.axis_stride == row_bytes
        if outer and outer[0].strides[0] not in (0, plane):
            return 0
        return plane * (outer[0].size if outer and outer[0].strides[0] else 1) if follow else 0

    def parts(self) -> tuple[tuple[Dimension, ...], ...]:
        """Return outer, index and inner dimensions with the strides of (x, indices, out)."""
        x, out, axis = self.x, self.out, self.axis
        rank = len(self.indices.shape)
        outer = [Dimension(x.shape[d], (x.strides[d], 0, out.strides[d])) for d in range(axis)]
        index = [
            Dimension(self.indices.shape[d], (0, self.indices.strides[d], out.strides[axis + d]))
            for d in range(rank)
        ]
        inner = [
            Dimension(x.shape[d], (x.strides[d], 0, out.strides[d - 1 + rank]))
            for d in range(axis + 1, len(x.shape))
        ]
        return tuple(merge(part) for part in (outer, index, inner))


def plan_gather(problem: GatherProblem) -> Plan:
    """Choose the variant for a problem whose shapes and types are already known to be legal.

    rows and planes need an inner part that is contiguous in x and out, a packed out, everything on
    16 bytes; spliced drops the last condition for rows of that length, scalars and packed for
    shorter ones; last_axis serves single elements with many outer rows; strided the rest.
    """
    if problem.out.size == 0:
        return Plan("empty", None)
    outer, index, inner = problem.parts()
    itemsize = problem.x.itemsize
    one = all(len(part) <= 1 for part in (outer, index, inner))
    inner_packed = not inner or (len(inner) == 1 and inner[0].strides == (itemsize, 0, itemsize))
    if one and inner_packed:
        count = index[0].size if index else 1
        row_bytes = itemsize * (inner[0].size if inner else 1)
        packed = (not index or index[0].strides[2] == row_bytes) and (
            not outer or outer[0].strides[2] == row_bytes * count
        )
        if not inner and _suits_last_axis(problem, outer, index):
            return _plan_last_axis(problem, outer[0], index[0])
        if packed:
            return _plan_stream(problem, outer, index, row_bytes)
    return _plan_strided(problem, (*outer, *index, *inner))


def _is_wide(problem: GatherProblem, items: int, per_block: int, *dimensions: Dimension) -> bool:
    """Return whether 64-bit offsets are needed: by work items, byte offsets or the extent."""
    axis = abs(problem.axis_stride) * (problem.extent - 1)
    reaches = [reach(dimensions, operand) for operand in range(3)]
    return (
        items + per_block * MAX_BLOCKS >= MAX_ITEMS_32
        or reaches[0] + axis + VECTOR_BYTES >= MAX_SPAN_32
        or max(reaches[1:]) + VECTOR_BYTES >= MAX_SPAN_32
        or problem.extent >= MAX_SPAN_32
    )


def _plan_stream(
    problem: GatherProblem,
    outer: tuple[Dimension, ...],
    index: tuple[Dimension, ...],
    row_bytes: int,
) -> Plan:
    planes = outer[0].size if outer else 1
    outer_stride = outer[0].strides[0] if outer else 0
    count = index[0].size if index else 1
    index_stride = index[0].strides[1] if index else 0
    itemsize, index_bytes = problem.x.itemsize, problem.indices.itemsize
    width = alignment(problem.x.phase, outer_stride, problem.axis_stride, row_bytes)
    contiguous = index_stride == index_bytes or not index
    splice = None
    unit = width  # bytes of a piece
    if width == VECTOR_BYTES and problem.out.phase == 0:
        variant, per_block = ("planes" if outer else "rows"), THREADS * ITEMS_PER_THREAD
    elif row_bytes >= VECTOR_BYTES:
        width = min(width, alignment(problem.out.phase), VECTOR_BYTES // 2)
        variant, per_block, unit = "spliced", TILE_BYTES, 1
        splice = Splice.of(row_bytes, width, problem.dense_bytes(row_bytes, outer))
    else:
        width = unit = min(width, alignment(problem.out.phase), VECTOR_BYTES // 2)
        scalar = row_bytes == itemsize == width and not outer and contiguous
        variant, per_block = ("scalars" if scalar else "packed"), THREADS * (VECTOR_BYTES // width)
    lead = problem.out.phase // unit
    pieces = planes * count * row_bytes // unit
    row = Dimension(row_bytes, (1, 0, 1))
    wide = _is_wide(problem, pieces + lead, per_block, *outer, *index, row)
    group = min(VECTOR_BYTES // width * index_bytes, VECTOR_BYTES)
    aligned = (problem.indices.phase - lead * index_bytes) % group == 0
    wide_extent = wide or index_bytes > 4  # noqa: PLR2004  bytes of a 32-bit index
    arguments = (
        ArgumentPacker(wide=wide)
        .offset(pieces, lead)
        .divisor(row_bytes // unit)
        .offset(outer_stride, problem.axis_stride, index_stride, int(aligned))
        .divisor(count)
        .divisor(problem.extent, wide=wide_extent)
        .raw(problem.fill)
    )
    spec = specialise(variant, width, problem.index_type, problem.mode, wide=wide)
    grid = (blocks_for(pieces + lead, per_block), 1, 1)
    shared = 0
    if splice is not None:
        shared = splice.shared_bytes(wide=wide)
        arguments = splice.pack(arguments)
    return Plan(variant, Launch(spec, grid, (THREADS, 1, 1), shared, 3, arguments.done()))


def _suits_last_axis(
    problem: GatherProblem, outer: tuple[Dimension, ...], index: tuple[Dimension, ...]
) -> bool:
    itemsize = problem.x.itemsize
    return (
        bool(outer and index)
        and outer[0].size >= LAST_AXIS_MIN_OUTER
        and index[0].size >= LAST_AXIS_MIN_COUNT
        and index[0].strides[2] == itemsize
        and itemsize < VECTOR_BYTES
        and problem.extent < MAX_SPAN_32
        and alignment(
            problem.x.phase, problem.axis_stride, outer[0].strides[0],
            problem.out.phase, outer[0].strides[2],
        ) >= itemsize
    )  # fmt: skip


def _plan_last_axis(problem: GatherProblem, outer: Dimension, index: Dimension) -> Plan:
    itemsize, count = problem.x.itemsize, index.size
    row_bytes = problem.extent * itemsize
    staged = (
        problem.axis_stride == itemsize
        and row_bytes <= LAST_AXIS_MAX_STAGED_BYTES
        and row_bytes <= count * SECTOR_BYTES
    )
    table = LAST_AXIS_TABLE_STAGED if staged else LAST_AXIS_TABLE
    chunk = min(-(-count // 4) * 4, table)
    chunks = -(-count // chunk)
    band = -(-outer.size // max(1, LAST_AXIS_BLOCKS // chunks))
    bands = min(-(-outer.size // band), MAX_GRID_Y)
    arguments = (
        ArgumentPacker(wide=False)
        .int64(outer.size, count, outer.strides[0], problem.axis_stride)
        .int64(index.strides[1], outer.strides[2])
        .divisor(problem.extent, wide=problem.indices.itemsize > 4)  # noqa: PLR2004
        .raw(problem.fill)
        .uint32(chunk, band, row_bytes if staged else 0, 0)
        .done()
    )
    spec = specialise(
        "last_axis", itemsize, problem.index_type, problem.mode, wide=False, staged=staged
    )
    shared = 4 * chunk + (-(-row_bytes // 16) * 16 + 16 if staged else 0)
    return Plan(
        "last_axis", Launch(spec, (chunks, bands, 1), (THREADS, 1, 1), shared, 3, arguments)
    )


def _plan_strided(problem: GatherProblem, dimensions: tuple[Dimension, ...]) -> Plan:
    itemsize = problem.x.itemsize
    dimensions = merge(order_by(dimensions, 2))
    inner = dimensions[-1] if dimensions else None
    rest = [s for d in dimensions[:-1] for s in (d.strides[0], d.strides[2])]
    fixed = (problem.x.phase, problem.out.phase, problem.axis_stride, *rest)
    if inner is not None and inner.strides == (itemsize, 0, itemsize):
        # The innermost run is contiguous in x and out: move it in the widest pieces that fit.
        width = alignment(*fixed, inner.size * itemsize)
        run = Dimension(inner.size * itemsize // width, (width, 0, width))
        dimensions = merge((*dimensions[:-1], run))
    else:
        last = () if inner is None else (inner.strides[0], inner.strides[2])
        width = min(alignment(*fixed, *last), itemsize)
        if width < itemsize:
            dimensions = (*dimensions, Dimension(itemsize // width, (width, 0, width)))
    items = 1
    for dimension in dimensions:
        items *= dimension.size
    rank = next(r for r in STRIDED_RANKS if r >= len(dimensions))
    per_block = THREADS * ITEMS_PER_THREAD
    wide = _is_wide(problem, items, per_block, *dimensions)
    arguments = (
        ArgumentPacker(wide=wide)
        .offset(items, problem.axis_stride)
        .divisor(problem.extent, wide=wide or problem.indices.itemsize > 4)  # noqa: PLR2004
        .raw(problem.fill)
        .dimensions(dimensions or (Dimension(1, (0, 0, 0)),), rank)
        .done()
    )
    spec = specialise("strided", width, problem.index_type, problem.mode, wide=wide, rank=rank)
    grid = (blocks_for(items, per_block), 1, 1)
    return Plan("strided", Launch(spec, grid, (THREADS, 1, 1), 0, 3, arguments))
