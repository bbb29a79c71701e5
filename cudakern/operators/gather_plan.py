"""Planning of gather: which variant of ``kernels/gather.cu`` a problem gets, and its arguments."""

from __future__ import annotations

from dataclasses import dataclass

from cudakern._layout import (
    MAX_SPAN_32,
    SECTOR_BYTES,
    VECTOR_BYTES,
    ArgumentPacker,
    Dimension,
    Layout,
    alignment,
    merge,
)
from cudakern.engines.base import MULTIPROCESSORS, Launch
from cudakern.operators.base import Plan
from cudakern.operators.gather_kernels import specialise
from cudakern.operators.indexing import THREADS, compares_wide
from cudakern.operators.rows import RowProblem, Stream, plan_strided

#: last_axis: worth it from so many outer rows on, and indices if rows are not staged; entries of
#: the index table; bytes of a row that is staged; words of 16 bytes that a block reads at once;
#: elements that a thread writes at once.
LAST_AXIS_MIN_OUTER = 8
LAST_AXIS_MIN_COUNT = 256
LAST_AXIS_TABLE = 8192
LAST_AXIS_TABLE_STAGED = 4096
LAST_AXIS_MAX_STAGED_BYTES = 32 * 1024 - 16
LAST_AXIS_WORDS = 1024
LAST_AXIS_MAX_PIECES = 8
#: Blocks to have at least, at best, and at most; stages of a block, so that it reads one while it
#: picks from another. Estimates, no measurement yet.
LAST_AXIS_LEAST_BLOCKS = 2 * MULTIPROCESSORS
LAST_AXIS_GOOD_BLOCKS = 512
LAST_AXIS_BLOCKS = 4096
LAST_AXIS_STAGES = 8
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
    shared = stream.table_rows(rows) * (8 if stream.wide else 4) if variant == "packed" else 0
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
        and (index[0].size >= LAST_AXIS_MIN_COUNT or _is_staged(problem, index[0].size))
        and index[0].strides[2] == itemsize
        and itemsize < VECTOR_BYTES
        and problem.extent < MAX_SPAN_32
        and alignment(
            problem.x.phase, problem.axis_stride, outer[0].strides[0],
            problem.out.phase, outer[0].strides[2],
        ) >= itemsize
    )  # fmt: skip


def _is_staged(problem: GatherProblem, count: int) -> bool:
    """Return whether rows of x fit, and take no more sectors than reading elements one by one."""
    row_bytes = problem.extent * problem.x.itemsize
    return problem.axis_stride == problem.x.itemsize and row_bytes <= min(
        LAST_AXIS_MAX_STAGED_BYTES, count * SECTOR_BYTES
    )


def _plan_last_axis(problem: GatherProblem, outer: Dimension, index: Dimension) -> Plan:
    itemsize, count = problem.x.itemsize, index.size
    staged = _is_staged(problem, count)
    row_bytes = problem.extent * itemsize if staged else 0
    ragged = alignment(problem.x.phase, outer.strides[0], row_bytes) < VECTOR_BYTES
    dense = row_bytes and problem.x.dense_bytes == outer.size * outer.strides[0]
    margin = -(-VECTOR_BYTES // row_bytes) if dense else 2**63 - 1
    words = -(-row_bytes // VECTOR_BYTES) + int(ragged)
    chunk = _chunk(outer.size, count, staged=staged)
    chunks = -(-count // chunk)
    rows = 1
    if staged:
        shared_out = -(-outer.size * chunks // LAST_AXIS_LEAST_BLOCKS)
        rows = max(1, min(LAST_AXIS_WORDS // words, shared_out))
    width = min(
        alignment(problem.out.phase, outer.strides[2], count * itemsize),
        LAST_AXIS_MAX_PIECES * itemsize,
    )
    arguments = (
        ArgumentPacker(wide=False)
        .int64(outer.size, count, outer.strides[0], problem.axis_stride)
        .int64(index.strides[1], outer.strides[2], margin)
        .divisor(problem.extent, wide=compares_wide(problem.indices, wide=False))
        .raw(problem.fill)
        .divisor(min(chunk, count) * itemsize // width, wide=False)
        .divisor(max(words, 1), wide=False)
        .uint32(width, chunk, rows, row_bytes, int(staged and ragged), 0)
        .done()
    )
    spec = specialise(
        "last_axis", itemsize, problem.index_type, problem.mode, wide=False, staged=staged
    )
    grid = (chunks, _bands(chunks, -(-outer.size // rows)), 1)
    shared = 2 * chunk + rows * words * VECTOR_BYTES if staged else 4 * chunk
    return Plan("last_axis", Launch(spec, grid, (THREADS, 1, 1), shared, 3, arguments))


def _chunk(outer: int, count: int, *, staged: bool) -> int:
    """Return how many indices a block has: few, if rows are, and need not be staged again."""
    most = LAST_AXIS_TABLE_STAGED if staged else LAST_AXIS_TABLE
    wanted = 1 if staged else -(-LAST_AXIS_LEAST_BLOCKS // outer)
    chunk = min(max(-(-count // wanted), LAST_AXIS_MIN_COUNT), count, most)
    return -(-chunk // VECTOR_BYTES) * VECTOR_BYTES


def _bands(chunks: int, stages: int) -> int:
    """Return how many blocks share the stages of a chunk."""
    most = max(-(-stages * chunks // LAST_AXIS_STAGES), LAST_AXIS_GOOD_BLOCKS)
    return max(1, min(stages, min(most, LAST_AXIS_BLOCKS) // chunks, MAX_GRID_Y))
