"""Planning of gather: which variant of ``kernels/gather.cu`` a problem gets, and its arguments."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from cudakern.engines.base import THREADS, KernelSpec, Launch, blocks_for
from cudakern.operators.indexing import kernels, rows
from cudakern.operators.indexing.indices import INDEX_TYPES, compares_wide
from cudakern.operators.indexing.rows import STRIDED_RANKS, RowProblem, Stream
from cudakern.values import layout
from cudakern.values.argument_struct import ArgumentPacker
from cudakern.values.layout import MULTIPROCESSORS, VECTOR_BYTES, Layout, alignment, round_up

if TYPE_CHECKING:
    from collections.abc import Iterator

# Tuning: unit; reason; an estimate, or a limit of hardware or kernels.
# These are of scalars, last_axis and windows; rows.py has the other variants' constants.
SCALAR_OUTPUTS = 4  # elements of a thread, unless there are enough for vectors; measured on H200
SCALAR_BLOCKS = 16 * 4 * MULTIPROCESSORS  # blocks that vectors need, for a short end; estimate
LAST_AXIS_MIN_OUTER = 8  # outer rows that share an index table; estimate
LAST_AXIS_MIN_COUNT = 256  # indices of a row, unless rows are staged; estimate
LAST_AXIS_TABLE = 8192  # entries of the index table, 4 bytes each; limit
LAST_AXIS_TABLE_STAGED = 4096  # entries, 2 bytes each, beside staged rows; limit
LAST_AXIS_MAX_STAGED_BYTES = 16 * 1024  # bytes of a staged row; longer ones take windows; estimate
LAST_AXIS_WORDS = 1024  # words of 16 bytes that a block stages: four a thread; estimate
LAST_AXIS_MAX_PIECES = 8  # elements that a thread writes at once; estimate
LAST_AXIS_LEAST_BLOCKS = 2 * MULTIPROCESSORS  # blocks to have at least; estimate
LAST_AXIS_GOOD_BLOCKS = 512  # blocks to have at best; estimate
LAST_AXIS_BLOCKS = 4096  # blocks at most; estimate
LAST_AXIS_STAGES = 8  # stages of a block: it reads one while it picks from another; estimate
LAST_AXIS_L2_BYTES = 2**24  # bytes of the rows that are read at once: they stay in L2; estimate
LAST_AXIS_RESIDENT = 4 * MULTIPROCESSORS  # blocks at once; limit
WINDOW_THREADS = 512  # threads of a block; their registers fill a multiprocessor; limit
WINDOW_OUTPUT_BYTES = 256  # of a thread's outputs, in registers; limit
LONG_WIDTH = 8  # bytes of an element in rows of more than 2^16 elements at most; limit
WINDOW_SLOTS = 4  # windows in shared memory at most; limit
MAX_GRID_Y = 65535  # blocks in y; CUDA's limit


def _most_shared(variant: str, width: int, bits: int) -> int:
    table = rows.most_rows(variant, width) * bits // 8 if variant == "packed" else 0
    return table + rows.most_spliced(variant, width, bits)


#: Returns a variant's kernel, by width in bytes, index type, mode and offset width.
specialise = partial(kernels.specialise, "gather", shared=_most_shared)


def specialise_last_axis(width: int, index_type: str, mode: str, *, staged: bool) -> KernelSpec:
    """Return the kernel of last_axis whose rows of x are staged, or not."""
    suffix, macros = "_staged" if staged else "", (("CK_STAGED", int(staged)),)
    stage = 2 * LAST_AXIS_TABLE_STAGED + LAST_AXIS_MAX_STAGED_BYTES + VECTOR_BYTES
    return specialise(
        "last_axis", width, index_type, mode, wide=False, suffix=suffix, macros=macros,
        shared=lambda *_: stage if staged else 4 * LAST_AXIS_TABLE,
    )  # fmt: skip


def specialise_scalars(
    width: int, index_type: str, mode: str, *, wide: bool, outputs: int
) -> KernelSpec:
    """Return the kernel of scalars in which a thread has so many outputs."""
    suffix = "" if outputs * width == VECTOR_BYTES else "_few"
    macros = (("CK_OUTPUTS", outputs),)
    return specialise("scalars", width, index_type, mode, wide=wide, suffix=suffix, macros=macros)


def specialise_windows(width: int, index_type: str, mode: str, *, long: bool) -> KernelSpec:
    """Return the kernel of windows; ``long``: for rows whose elements 16 bits cannot number."""
    spec = specialise(
        "windows", width, index_type, mode, wide=False, suffix="_long" if long else "",
        macros=(("CK_LONG", int(long)),), shared=lambda *_: layout.SHARED_BYTES,
    )  # fmt: skip
    return replace(spec, threads=WINDOW_THREADS, resident_blocks=1)


def rows_of(
    x: Layout, indices: Layout, out: Layout, axis: int, index_type: str, mode: str, fill: bytes
) -> RowProblem:
    """Return ``out[o, i, c] = x[o, indices[i], c]`` as rows that indices select."""
    # Tuples of one component, the same for all outer positions.
    shape, strides = (*x.shape[:axis], *indices.shape, 1), ((0,) * axis + indices.strides + (0,))
    tuples = Layout(shape, strides, indices.itemsize, indices.phase)
    return rows.rows_of_tuples(x, tuples, out, axis, index_type, mode, fill)


def plan_gather(problem: RowProblem) -> Launch | None:
    """Choose the variant for a problem whose shapes and types are already known to be legal."""
    if 0 in problem.out.shape:
        return None
    if launch := plan_shared_indices(problem):
        return launch
    return _plan_stream(problem) if problem.is_stream() else rows.plan_strided("gather", problem)


def plan_shared_indices(problem: RowProblem) -> Launch | None:
    """Return the plan for one list of indices for many rows of single elements, if it is that."""
    if not _shares_indices(problem):
        return None
    if chunk := _window_chunk(problem):
        return _plan_windows(problem, chunk)
    return _plan_last_axis(problem) if _suits_last_axis(problem) else None


def _plan_stream(problem: RowProblem) -> Launch:
    stream = Stream.for_problem(problem)
    outer_stride = problem.outer[0].strides[0] if problem.outer else 0
    index_stride = problem.index[0].strides[1] if problem.index else 0
    index_bytes = problem.indices.itemsize
    contiguous = index_stride == index_bytes or not problem.index
    scalar = (
        problem.row_bytes == problem.x.itemsize == stream.width and not problem.outer and contiguous
    )
    variant = stream.variant
    if variant == "rows" and problem.outer:
        variant = "planes"
    elif variant == "packed" and scalar:
        variant = "scalars"
    spec = specialise(variant, stream.width, problem.index_type, problem.mode, wide=stream.wide)
    grid = stream.grid
    if variant == "scalars":
        outputs = _scalar_outputs(stream.width, stream.pieces)
        grid = blocks_for(stream.pieces + stream.lead, THREADS * outputs), 1, 1
        spec = specialise_scalars(
            stream.width, problem.index_type, problem.mode, wide=stream.wide, outputs=outputs
        )
    group = min(VECTOR_BYTES // stream.width * index_bytes, VECTOR_BYTES)
    aligned = (problem.indices.phase - stream.lead * index_bytes) % group == 0
    extent, axis_stride = problem.axes[0]
    compared = compares_wide(problem.indices, wide=stream.wide)
    arguments = (
        ArgumentPacker(wide=stream.wide)
        .offset(pieces=stream.pieces, lead=stream.lead)
        .divisor(row=problem.row_bytes // stream.unit)
        .offset(outer_stride=outer_stride, axis_stride=axis_stride, index_stride=index_stride)
        .offset(vector_indices=int(aligned))
        .divisor(count=problem.count)
        .divisor(extent=extent, wide=compared)
        .raw(fill=problem.fill)
    )
    shared = stream.table_rows(problem) * (8 if stream.wide else 4) if variant == "packed" else 0
    if stream.splice is not None:
        shared = stream.splice.shared_bytes(wide=stream.wide)
        stream.splice.pack(arguments)
    return Launch(spec, grid, shared, 3, arguments.done())


def _scalar_outputs(width: int, count: int) -> int:
    """Return the elements that a thread gathers at once."""
    most = VECTOR_BYTES // width
    return most if count >= most * THREADS * SCALAR_BLOCKS else min(most, SCALAR_OUTPUTS)


def _shares_indices(problem: RowProblem) -> bool:
    """Return whether it has one list of indices for several outer rows of whole elements."""
    outer, index, itemsize = problem.outer, problem.index, problem.x.itemsize
    if not (problem.is_merged() and outer and index and len(problem.axes) == 1) or problem.inner:
        return False
    steps = problem.axes[0][1], outer[0].strides[0], outer[0].strides[2]
    return (
        outer[0].size >= LAST_AXIS_MIN_OUTER
        and (outer[0].strides[1], index[0].strides[2]) == (0, itemsize)
        and alignment(problem.x.phase, problem.out.phase, *steps) >= itemsize
    )


def _suits_last_axis(problem: RowProblem) -> bool:
    count = problem.index[0].size
    return (
        (count >= LAST_AXIS_MIN_COUNT or _is_staged(problem, count))
        and problem.x.itemsize < VECTOR_BYTES
        and problem.axes[0][0] < layout.MAX_SPAN_32
    )


def _window_chunk(problem: RowProblem) -> int:
    """Return how many outputs of a row a block makes from windows, 0 if they do not pay.

    They do where a block reads rows in at most the sectors that its elements would take one by one.
    """
    outer, count, itemsize = problem.outer[0].size, problem.index[0].size, problem.x.itemsize
    extent, stride = problem.axes[0]
    most = WINDOW_THREADS * WINDOW_OUTPUT_BYTES // max(itemsize, 4)
    chunks = max(-(-count // most), -(-MULTIPROCESSORS // outer))
    if chunks > MULTIPROCESSORS:
        chunks = round_up(chunks, MULTIPROCESSORS)
    else:  # as many as leave few multiprocessors idle
        chunks = MULTIPROCESSORS // (MULTIPROCESSORS // chunks)
    chunk = round_up(-(-count // chunks), VECTOR_BYTES)
    lengths = range(LAST_AXIS_MAX_STAGED_BYTES + 1, chunk * layout.SECTOR_BYTES + 1)
    fits = outer < layout.MAX_SPAN_32 and stride == itemsize
    return chunk if fits and extent * stride in lengths else 0


def _plan_windows(problem: RowProblem, chunk: int) -> Launch:
    outer, index, itemsize = problem.outer[0], problem.index[0], problem.x.itemsize
    extent, count, index_bytes = problem.axes[0][0], index.size, problem.indices.itemsize
    row_bytes = extent * itemsize
    margin, ragged = _surroundings(problem, row_bytes)
    words = -(-row_bytes // VECTOR_BYTES) + ragged
    vectors = alignment(problem.out.phase, outer.strides[2], count * itemsize) == VECTOR_BYTES
    group = min(VECTOR_BYTES // itemsize * index_bytes, VECTOR_BYTES)
    vector_indices = (
        vectors and index.strides[1] == index_bytes and problem.indices.phase % group == 0
    )
    arguments = (
        ArgumentPacker(wide=False)
        .int64(count=count, x_outer_stride=outer.strides[0])
        .int64(index_stride=index.strides[1], out_outer_stride=outer.strides[2])
        .divisor(extent=extent, wide=compares_wide(problem.indices, wide=False))
        .raw(fill=problem.fill)
        .uint32(outer=outer.size, margin=min(margin, layout.MAX_SPAN_32))
        .uint32(chunk=chunk, row_bytes=row_bytes, row_words=words, ragged=ragged)
        .uint32(vectors=int(vectors), vector_indices=int(vector_indices))
        .done()
    )
    # Where elements are filled, one number of 16 bits means nowhere.
    long = extent > 2**16 - (problem.mode == "fill")
    spec = specialise_windows(itemsize, problem.index_type, problem.mode, long=long)
    high = WINDOW_THREADS * WINDOW_OUTPUT_BYTES // 4 if long else 0
    shared = min(high + WINDOW_SLOTS * words * VECTOR_BYTES, layout.SHARED_BYTES)
    grid = (-(-count // chunk), min(outer.size, MAX_GRID_Y), 1)
    return Launch(spec, grid, shared, 3, arguments, most_resident=1)


def _surroundings(problem: RowProblem, row_bytes: int) -> tuple[int, int]:
    """Return the rows around one that make the 16-byte words it lies in x's.

    And whether a row may begin or end within a word, as 0 or 1.
    """
    outer = problem.outer[0]
    ragged = alignment(problem.x.phase, outer.strides[0], row_bytes) < VECTOR_BYTES
    dense = row_bytes and problem.x.dense_bytes == outer.size * outer.strides[0]
    return -(-VECTOR_BYTES // row_bytes) if dense else 2**63 - 1, int(ragged)


def _is_staged(problem: RowProblem, count: int) -> bool:
    """Return whether rows of x fit, in at most the sectors that single elements would take."""
    extent, stride = problem.axes[0]
    most = min(LAST_AXIS_MAX_STAGED_BYTES, count * layout.SECTOR_BYTES)
    return stride == problem.x.itemsize and extent * stride <= most


def _plan_last_axis(problem: RowProblem) -> Launch:
    outer, index = problem.outer[0], problem.index[0]
    itemsize, count = problem.x.itemsize, index.size
    extent, axis_stride = problem.axes[0]
    staged = _is_staged(problem, count)
    row_bytes = extent * itemsize if staged else 0
    margin, ragged = _surroundings(problem, row_bytes)
    words = -(-row_bytes // VECTOR_BYTES) + ragged
    chunk = _chunk(outer.size, count, 0 if staged else extent * abs(axis_stride))
    chunks = -(-count // chunk)
    stage_rows = 1
    if staged:
        most = -(-outer.size * chunks // LAST_AXIS_LEAST_BLOCKS)
        stage_rows = max(1, min(LAST_AXIS_WORDS // words, most))
    width = min(
        alignment(problem.out.phase, outer.strides[2], count * itemsize),
        LAST_AXIS_MAX_PIECES * itemsize,
        # Each thread has an element at least.
        VECTOR_BYTES if staged else max(chunk // THREADS, 1) * itemsize,
    )
    width = 1 << width.bit_length() - 1
    arguments = (
        ArgumentPacker(wide=False)
        .int64(outer=outer.size, count=count)
        .int64(x_outer_stride=outer.strides[0], x_axis_stride=axis_stride)
        .int64(index_stride=index.strides[1], out_outer_stride=outer.strides[2], margin=margin)
        .divisor(extent=extent, wide=compares_wide(problem.indices, wide=False))
        .raw(fill=problem.fill)
        .divisor(vectors=min(chunk, count) * itemsize // width, words=max(words, 1), wide=False)
        .uint32(width=width, chunk=chunk, rows=stage_rows, row_bytes=row_bytes)
        .uint32(ragged=ragged if staged else 0, unused=0)
        .done()
    )
    spec = specialise_last_axis(itemsize, problem.index_type, problem.mode, staged=staged)
    # Blocks in y share the stages of a chunk.
    stages = -(-outer.size // stage_rows)
    most = max(-(-stages * chunks // LAST_AXIS_STAGES), LAST_AXIS_GOOD_BLOCKS)
    grid = (chunks, max(1, min(stages, min(most, LAST_AXIS_BLOCKS) // chunks, MAX_GRID_Y)), 1)
    shared = 2 * chunk + stage_rows * words * VECTOR_BYTES if staged else 4 * chunk
    return Launch(spec, grid, shared, 3, arguments)


def _chunk(outer: int, count: int, unstaged: int) -> int:
    """Return the indices of a block: fewer for few rows, unless these would be staged again.

    ``unstaged`` are the bytes of a row whose elements are read one by one, else 0. The blocks that
    run at once have few rows between them, so that a sector that comes to L2 is still there when
    another element of it is picked.
    """
    wanted, least, most = 1, LAST_AXIS_MIN_COUNT, LAST_AXIS_TABLE_STAGED
    if unstaged:
        at_once = -(-LAST_AXIS_RESIDENT * unstaged // LAST_AXIS_L2_BYTES)
        wanted = max(-(-LAST_AXIS_LEAST_BLOCKS // outer), min(at_once, -(-count // (2 * least))))
        most = LAST_AXIS_TABLE
    chunk = min(max(-(-count // wanted), least), count, most)
    return round_up(chunk, VECTOR_BYTES)


def specialisations() -> Iterator[KernelSpec]:
    """Yield every kernel that `plan_gather` can ask for."""
    bytewise = product((1, 2, 4, 8), ("packed", "spliced"))
    streams = [("rows", VECTOR_BYTES), ("planes", VECTOR_BYTES), *((v, w) for w, v in bytewise)]
    for index_type, mode in product(INDEX_TYPES, ("clamp", "wrap", "fill")):
        for wide in (False, True):
            for variant, width in streams:
                yield specialise(variant, width, index_type, mode, wide=wide)
            for width, outputs in ((1, 4), (1, 16), (2, 4), (2, 8), (4, 4), (8, 2)):
                yield specialise_scalars(width, index_type, mode, wide=wide, outputs=outputs)
            for width, rank in product((1, 2, 4, 8, 16), STRIDED_RANKS[wide]):
                yield specialise("strided", width, index_type, mode, wide=wide, rank=rank)
        for width, staged in product((1, 2, 4, 8), (False, True)):
            yield specialise_last_axis(width, index_type, mode, staged=staged)
        for width, long in product((1, 2, 4, 8, 16), (False, True)):
            if width <= LONG_WIDTH or not long:
                yield specialise_windows(width, index_type, mode, long=long)
