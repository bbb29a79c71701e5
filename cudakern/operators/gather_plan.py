"""Planning of gather: which variant of ``kernels/gather.cu`` a problem gets, and its arguments."""

from __future__ import annotations

from dataclasses import dataclass

from cudakern.engines.base import Launch
from cudakern.layout import (
    MAX_SPAN_32,
    SECTOR_BYTES,
    VECTOR_BYTES,
    ArgumentPacker,
    Dimension,
    Layout,
    alignment,
    merge,
)
from cudakern.operators.base import Plan
from cudakern.operators.gather_kernels import specialise
from cudakern.operators.indexing import THREADS, compares_wide
from cudakern.operators.rows import RowProblem, Stream, plan_strided

#: last_axis: worth it from so many outer rows and indices on; entries of the index table; bytes of
#: a staged row; blocks to aim at. Estimates, no measurement yet.
LAST_AXIS_MIN_OUTER = 8
LAST_AXIS_MIN_COUNT = 256
LAST_AXIS_TABLE = 8192
LAST_AXIS_TABLE_STAGED = 4096
LAST_AXIS_MAX_STAGED_BYTES = 32 * 1024 - 16
LAST_AXIS_BLOCKS = 4096
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

    def rows(self) -> RowProblem:
        """Return the problem with its dimensions in three merged parts."""
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
        return RowProblem(
            x,
            self.indices,
            out,
            merge(outer),
            merge(index),
            merge(inner),
            ((self.extent, self.axis_stride),),
            0,
            self.index_type,
            self.mode,
            self.fill,
        )


def plan_gather(problem: GatherProblem) -> Plan:
    """Choose the variant for a problem whose shapes and types are already known to be legal.

    rows and planes need an inner part that is contiguous in x and out, a packed out, everything on
    16 bytes; spliced drops the last condition for rows of that length, scalars and packed for
    shorter ones; last_axis serves single elements with many outer rows; strided the rest.
    """
    if problem.out.size == 0:
        return Plan("empty", None)
    rows = problem.rows()
    if rows.is_merged() and not rows.inner and _suits_last_axis(problem, rows.outer, rows.index):
        return _plan_last_axis(problem, rows.outer[0], rows.index[0])
    return _plan_stream(rows) if rows.is_stream() else plan_strided("gather", rows, 1)


def _plan_stream(rows: RowProblem) -> Plan:
    stream = Stream.of(rows)
    outer_stride = rows.outer[0].strides[0] if rows.outer else 0
    index_stride = rows.index[0].strides[1] if rows.index else 0
    index_bytes = rows.indices.itemsize
    contiguous = index_stride == index_bytes or not rows.index
    scalar = rows.row_bytes == rows.x.itemsize == stream.width and not rows.outer and contiguous
    variant = stream.variant
    if variant == "rows" and rows.outer:
        variant = "planes"
    elif variant == "packed" and scalar:
        variant = "scalars"
    group = min(VECTOR_BYTES // stream.width * index_bytes, VECTOR_BYTES)
    aligned = (rows.indices.phase - stream.lead * index_bytes) % group == 0
    extent, axis_stride = rows.axes[0]
    arguments = (
        ArgumentPacker(wide=stream.wide)
        .offset(stream.pieces, stream.lead)
        .divisor(rows.row_bytes // stream.unit)
        .offset(outer_stride, axis_stride, index_stride, int(aligned))
        .divisor(rows.count)
        .divisor(extent, wide=compares_wide(rows.indices, wide=stream.wide))
        .raw(rows.fill)
    )
    shared = 0
    if stream.splice is not None:
        shared = stream.splice.shared_bytes(wide=stream.wide)
        stream.splice.pack(arguments)
    spec = specialise(variant, stream.width, rows.index_type, rows.mode, wide=stream.wide)
    return Plan(variant, Launch(spec, stream.grid, (THREADS, 1, 1), shared, 3, arguments.done()))


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
        .divisor(problem.extent, wide=compares_wide(problem.indices, wide=False))
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
