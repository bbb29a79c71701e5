"""Planning of one_hot: which variant of ``kernels/one_hot.cu`` a problem gets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import product
from math import gcd
from typing import TYPE_CHECKING

from cudakern.engines import base
from cudakern.engines.base import THREADS, KernelSpec, Launch, blocks_for
from cudakern.operators.indexing import kernels
from cudakern.operators.indexing.indices import INDEX_TYPES, compares_wide
from cudakern.operators.indexing.kernels import ITEMS_PER_THREAD
from cudakern.operators.indexing.rows import STRIDED_RANKS
from cudakern.values import layout
from cudakern.values.argument_struct import ArgumentPacker, Arguments
from cudakern.values.layout import VECTOR_BYTES, Dimension, Layout, alignment, merge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Tuning: unit; reason; an estimate, or a limit of hardware or kernels.
SHARED_BYTES = 16 * 1024  # bytes of shared memory of a block: four blocks fit; limit
STAGED_BYTES = 32  # bytes of the two values, in front of the bits; limit
CLEARED_BITS = 128  # bits that a thread clears at a time; limit
TILE_BITS = (SHARED_BYTES - STAGED_BYTES) * 8  # bits of a tile, one for each element; limit
TILE_BYTES = 32 * 1024  # bytes of the output that a tile should have; estimate
MIN_TILE_BYTES = 8 * 1024  # bytes of a tile at least, if there are fewer than TILES; estimate
TILES = 1024  # tiles that keep a large GPU busy to the end; estimate
REREAD = 128  # bytes that a tile writes for each byte of indices read again; estimate
MIN_TILES = 256  # tiles to keep when tiles grow so that REREAD holds; estimate
FEW = 4 * layout.MULTIPROCESSORS * THREADS  # elements that have a thread each at once; estimate
FEW_RANKS = STRIDED_RANKS[False][:2]  # dimensions that few elements in a packed output have; limit
MIN_PLANE_BYTES = 256  # bytes behind the axis at least, if tiles are parts of planes; estimate
MIN_RUN_BYTES = 128  # bytes of a tile in a plane at least: a line; limit
RUN_BYTES = 256  # bytes of a tile in a plane at best; estimate
LINE_BYTES = 128  # bytes that tiles of the output begin at; limit
_WORD_BITS = 32
#: For no dimensions.
POINT = Dimension(1, (0, 0, 0, 0))
_WIDTHS = (1, 2, 4, 8, 16)

#: Returns a variant's kernel, by width in bytes, index type and offset width.
specialise = partial(
    kernels.specialise,
    "one_hot",
    macros=(("CK_STAGED_BYTES", STAGED_BYTES), ("CK_LINE_BYTES", LINE_BYTES)),
    shared=lambda *_: SHARED_BYTES,
)


def specialise_strided(
    width: int, index_type: str, rank: int, *, wide: bool, few: bool
) -> KernelSpec:
    """Return the kernel for any layout; ``few``: a thread has one item."""
    items, suffix = (1, "_few") if few else (ITEMS_PER_THREAD, "")
    return specialise(
        "strided", width, index_type, wide=wide, rank=rank, suffix=suffix, items=items
    )


@dataclass(frozen=True, slots=True)
class OneHotProblem:
    """``out[o, d, i] = on if d == indices[o, i] else off``."""

    indices: Layout  # of the output's shape without the axis
    #: Where off and on are: on is one step behind off along the last dimension that has a step. Of
    #: size 0 if they are in ``pattern``.
    values: Layout
    out: Layout  # with the axis
    axis: int  # of the output
    index_type: str  # dtype of the indices
    pattern: bytes = bytes(2 * VECTOR_BYTES)  # off, then on, each repeated to 16 bytes; or zeros

    @property
    def on_offset(self) -> int:
        """Bytes from off to on."""
        shape, strides = self.values.shape, self.values.strides
        return next((s for n, s in zip(shape[::-1], strides[::-1], strict=True) if n > 1), 0)

    @property
    def depth(self) -> int:
        """Size of the axis."""
        return self.out.shape[self.axis]

    def parts(self) -> tuple[tuple[Dimension, ...], Dimension, tuple[Dimension, ...]]:
        """Return the dimensions outside of the axis, the axis, and the dimensions inside of it.

        Outside and inside refer to the order of out's memory. Each dimension has the strides of
        indices and out, its step along the depth, and its step along the bytes of an element.
        """
        out, axis = self.out, self.axis
        sizes, steps = (of[:axis] + of[axis + 1 :] for of in (out.shape, out.strides))
        walked = zip(sizes, self.indices.strides, steps, strict=True)
        dimensions = layout.order_by([Dimension(n, (i, o, 0, 0)) for n, i, o in walked], 1)
        depth = Dimension(self.depth, (0, out.strides[axis], 1, 0))
        if self.depth == 1:
            return merge(dimensions), depth, ()
        step = abs(depth.strides[1])
        outer = merge(d for d in dimensions if abs(d.strides[1]) >= step)
        inner = merge(d for d in dimensions if abs(d.strides[1]) < step)
        return outer, depth, inner


def plan_one_hot(problem: OneHotProblem) -> Launch | None:
    """Choose the variant for a problem whose shapes and types are already known to be legal.

    stream and planes also need indices that have one stride outside of the axis and one inside.
    """
    if problem.out.size == 0:
        return None
    outer, depth, inner = problem.parts()
    out = problem.out
    is_packed = out.dense_bytes == out.size * out.itemsize and out.phase % out.itemsize == 0
    if is_packed and len(outer) <= 1 and len(inner) <= 1:
        if out.size <= FEW and not _is_wide(problem, out.size, (*outer, *inner)):
            return _plan_strided(problem, (*outer, depth, *inner), few=True)
        return _plan_packed(problem, outer[0] if outer else POINT, inner[0] if inner else POINT)
    return _plan_strided(problem, (*outer, depth, *inner))


def _is_wide(problem: OneHotProblem, items: int, dimensions: Sequence[Dimension]) -> bool:
    """Return whether 64-bit offsets are needed: by work items, byte offsets or the depth."""
    return (
        items >= layout.MAX_ITEMS_32
        or layout.reach(dimensions, 0) >= layout.MAX_SPAN_32
        or problem.depth >= layout.MAX_SPAN_32
        or abs(problem.on_offset) + VECTOR_BYTES >= layout.MAX_SPAN_32
    )


def _common(problem: OneHotProblem, *, wide: bool) -> ArgumentPacker:
    """Return a packer with the fields that all variants begin with."""
    return (
        ArgumentPacker(wide=wide)
        .raw(off=problem.pattern[:VECTOR_BYTES], on=problem.pattern[VECTOR_BYTES:])
        .offset(on_offset=problem.on_offset, in_memory=int(problem.values.size > 0))
        .divisor(depth=problem.depth, wide=compares_wide(problem.indices, wide=wide))
    )


def _plan_packed(problem: OneHotProblem, outer: Dimension, inner: Dimension) -> Launch:
    """Return the plan for out as (outer, depth, inner), packed in this order."""
    size, itemsize = problem.out.size, problem.out.itemsize
    columns, row = inner.size, problem.depth * inner.size
    wide = _is_wide(problem, size + TILE_BITS, (outer, inner))
    target = max(MIN_TILE_BYTES, min(TILE_BYTES, size * itemsize // TILES)) // itemsize
    margin = 2 * LINE_BYTES // itemsize  # bits of a tile beyond its elements
    most = TILE_BITS - margin
    whole_rows = row <= target or (row <= most and outer.size >= TILES)
    if columns * itemsize >= MIN_PLANE_BYTES and not whole_rows:
        return _plan_planes(problem, outer, inner, target, wide=wide)
    if whole_rows:
        tile = _whole_rows(problem, row, columns, target)
    else:
        # A tile that is less than a row reads all indices of the one or two rows that it is in.
        tile = min(max(target, REREAD * columns * problem.indices.itemsize // itemsize), most)
        tile = tile // LINE_BYTES * LINE_BYTES
    tiles = -(-size // tile)
    clears = -(-(tile + margin) // CLEARED_BITS)
    arguments = (
        _common(problem, wide=wide)
        .offset(elements=size, tile=tile, tiles=tiles, clears=clears)
        .offset(outer_stride=outer.strides[0], inner_stride=inner.strides[0])
        .divisor(row=row, inner=columns)
        .done()
    )
    return _plan_tiles("stream", problem, arguments, wide=wide)


def _whole_rows(problem: OneHotProblem, row: int, columns: int, target: int) -> int:
    """Return the elements of a tile of whole rows, of one row at least.

    If there is room, tiles begin at lines of the output and at sectors of the indices.
    """
    line = LINE_BYTES // problem.out.itemsize
    sector = layout.SECTOR_BYTES // problem.indices.itemsize
    together = max(line // gcd(row, line), sector // gcd(columns, sector))
    rows = max(target // row, 1)
    return row * (rows // together * together or rows)


def _plan_planes(
    problem: OneHotProblem, outer: Dimension, inner: Dimension, target: int, *, wide: bool
) -> Launch:
    depth, columns, itemsize = problem.depth, inner.size, problem.out.itemsize
    sector = layout.SECTOR_BYTES // itemsize
    margin = 2 * sector  # bits of a run beyond its columns: up to a sector before and behind
    # First as many planes as make it cheap to read indices again, then as many columns as fit.
    least = MIN_RUN_BYTES // itemsize
    cheap = -(-REREAD * problem.indices.itemsize // itemsize)
    planes = min(depth, cheap, TILE_BITS // layout.round_up(least + margin, _WORD_BITS))
    # A part of a plane reads the indices of a sector that it shares with the next one.
    again = cheap * sector // planes if columns % sector or problem.out.phase else 0
    wanted = max(target // planes, RUN_BYTES // itemsize, again)
    room = TILE_BITS // planes // _WORD_BITS * _WORD_BITS - margin
    chunks = -(-columns // max(min(wanted, room) // _WORD_BITS * _WORD_BITS, least))
    part = layout.round_up(-(-columns // chunks), _WORD_BITS)
    chunks = -(-columns // part)
    run = layout.round_up(part + margin, _WORD_BITS)
    larger = max(2 * TILE_BYTES // itemsize, problem.out.size // MIN_TILES)
    planes = min(depth, TILE_BITS // run, max(min(cheap, larger // part), target // part, 1))
    groups = -(-depth // planes)
    planes = -(-depth // groups)
    tiles = outer.size * groups * chunks
    clears = -(-planes * run // CLEARED_BITS)
    arguments = (
        _common(problem, wide=wide)
        .offset(inner=columns, tiles=tiles)
        .offset(outer_stride=outer.strides[0], inner_stride=inner.strides[0])
        .divisor(chunks=chunks, groups=groups)
        .divisor(vectors=(part + sector) * itemsize // VECTOR_BYTES, wide=False)
        .uint32(planes=planes, columns=part, run=run, clears=clears)
        .done()
    )
    return _plan_tiles("planes", problem, arguments, wide=wide)


def _plan_tiles(
    variant: str, problem: OneHotProblem, arguments: Arguments, *, wide: bool
) -> Launch:
    spec = specialise(variant, problem.out.itemsize, problem.index_type, wide=wide)
    shared = STAGED_BYTES + arguments["clears"] * CLEARED_BITS // 8
    return Launch(spec, (blocks_for(arguments["tiles"], 1), 1, 1), shared, 3, arguments)


def _plan_strided(
    problem: OneHotProblem, dimensions: tuple[Dimension, ...], *, few: bool = False
) -> Launch:
    itemsize = problem.out.itemsize
    dimensions = merge(layout.order_by(dimensions, 1))
    read = (problem.values.phase, problem.on_offset) if problem.values.size else ()
    width = alignment(problem.out.phase, itemsize, *read, *(d.strides[1] for d in dimensions))
    if width < itemsize:
        piece = Dimension(itemsize // width, (0, width, 0, width))
        dimensions = (*dimensions, piece)
    items = problem.out.size * itemsize // width
    per_block = THREADS if few else THREADS * ITEMS_PER_THREAD
    wide = (
        _is_wide(problem, items + per_block * base.MAX_BLOCKS, dimensions)
        or layout.reach(dimensions, 1) + VECTOR_BYTES >= layout.MAX_SPAN_32
    )
    rank = next(r for r in STRIDED_RANKS[wide] if r >= len(dimensions))
    arguments = (
        _common(problem, wide=wide)
        .offset(items=items)
        .dimensions(rank, dimensions=dimensions or (POINT,))
        .done()
    )
    spec = specialise_strided(width, problem.index_type, rank, wide=wide, few=few)
    return Launch(spec, (blocks_for(items, per_block), 1, 1), 0, 3, arguments)


def specialisations() -> Iterator[KernelSpec]:
    """Yield every kernel that `plan_one_hot` can ask for."""
    for index_type, wide, width in product(INDEX_TYPES, (False, True), _WIDTHS):
        for variant in ("stream", "planes"):
            yield specialise(variant, width, index_type, wide=wide)
        for rank in STRIDED_RANKS[wide]:
            yield specialise_strided(width, index_type, rank, wide=wide, few=False)
        for rank in () if wide else FEW_RANKS:
            yield specialise_strided(width, index_type, rank, wide=wide, few=True)
