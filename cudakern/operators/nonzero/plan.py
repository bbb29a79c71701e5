"""Planning of nonzero_coordinates: tiles, the workspace, how coordinates are written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from cudakern.engines.base import RESIDENT_BLOCKS, THREADS, KernelSpec, Launch, blocks_for
from cudakern.values import layout
from cudakern.values.argument_struct import ArgumentPacker
from cudakern.values.dtypes import DataType
from cudakern.values.layout import VECTOR_BYTES, Dimension, Layout, alignment, merge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WIDTHS = (1, 2, 4, 8, 16)
#: Types of coordinates: names in entry points and in device code.
COORDINATE_TYPES = {4: ("u32", "ck::uint32"), 8: ("i64", "ck::int64")}
_FORMS = {"rows": 0, "axes": 1, "scattered": 2}
_WARP = 32
_WARPS = THREADS // _WARP

# Tuning: unit; reason; an estimate, or a limit of hardware or kernels.
# Blocks and tiles. There are at most TILES tiles, one for each block, until TILE_BYTES no longer
# suffice. A larger x has about a multiple of BLOCKS tiles, so no round of blocks is nearly empty.
RANKS = (2, 4, 8)  # dimensions of a strided kernel; few kernels; estimate
TILE_THREADS = THREADS + _WARP  # threads of a block: one warp works on no tile; limit
TILE_BLOCKS = 3  # blocks of a multiprocessor, with 72 registers a thread; limit
BLOCKS = TILE_BLOCKS * layout.MULTIPROCESSORS  # blocks that a large GPU holds at once; limit
TILES = 256  # tiles that a look-back reads at once; half as many rather than small ones; estimate
TILE_BYTES = 64 * 1024  # bytes of x in a tile at most: shared memory has its bits twice; limit
MIN_TILE_BYTES = 4 * 1024  # bytes of x in a tile at least: a look-back reads 8 each; estimate
ONE_BLOCK_BYTES = 128 * 1024  # bytes that one block moves while two hear of each other; estimate
MAX_PLACES = 65536  # elements of a tile: their places have 16 bits; limit
STRIDED_TURN_WORDS = 8  # words of masks that a lane makes in a turn of strided; limit
COLUMN_RANKS = (1, 4)  # dimensions inside of the contiguous one of columns; few kernels; estimate
# Two launches: from so many elements on; on an H200 sketches were slower at 2^26, faster at 2^28.
COUNTED_SIZE = 2**26 + 1  # estimate
COUNTED_COLUMNS_SIZE = 2**18  # the same of columns; estimate
MAX_STRIPS = 8  # of 32 columns that a block has; limit
MAX_LANES_SHIFT = 3  # 8 lanes have a line of a column; limit
COUNTED_WORDS = (32, 256)  # words of bits of a warp, in a tile, at least and at most; limit
COUNT_BYTES = 16  # bytes of a tile's counts; limit
MIN_COLUMNS = 16  # columns inside: with fewer most lanes idle; estimate
# Workspace
MIN_SLOTS = 4096  # tiles that there is room for; beyond, a power of two; estimate
HEADER_WORDS = 2  # words of 8 bytes in front of the tiles' own; limit
# Writing coordinates
BUFFER_BYTES = 1536  # bytes in which a warp puts rows together; limit
GAP_BYTES = BUFFER_BYTES // 128 * 8  # bytes of gaps there, so rows use different banks; limit
ALIGNED_ROWS = 8  # rows that a warp's part is rounded to, so it ends with a sector; limit
UNCOUNTED_BYTES = 64 * 2**20  # bytes at most allocated before elements are counted; estimate
SPARE_BYTES = 2**20  # bytes at most that stay allocated behind all coordinates; estimate
STAGED_PLACES = 1024  # places that a warp keeps until it writes them; limit
# Those of these that kernels get as macros.
_MACROS = {
    "CK_TILE_BYTES": TILE_BYTES,
    "CK_MAX_PLACES": MAX_PLACES,
    "CK_HEADER_WORDS": HEADER_WORDS,
    "CK_BUFFER_BYTES": BUFFER_BYTES,
    "CK_ALIGNED_ROWS": ALIGNED_ROWS,
    "CK_STAGED_PLACES": STAGED_PLACES,
    "CK_STRIDED_TURN_WORDS": STRIDED_TURN_WORDS,
}


@dataclass(frozen=True, slots=True)
class NonzeroProblem:
    """Coordinates of the elements of x that are not zero, row k for the k-th."""

    x: Layout  # the input
    #: Of shape (rows, columns): the last columns of the coordinates, rows up to their number.
    coordinates: Layout
    kind: DataType  # of x
    count_bytes: int = 4  # of the count: 4 or 8
    fill: int | None = None  # the value of rows behind the last coordinate; None: not written

    @property
    def value_bits(self) -> tuple[int, int]:
        """Bits of an element that make it nonzero, as two words: all but the signs of floats."""
        is_complex = self.kind.name.startswith("COMPLEX")
        is_float = is_complex or "FLOAT" in self.kind.name
        bits = self.kind.bits // 2 if is_complex else self.kind.bits
        ones = (1 << bits) - 1
        number = ones >> 1 if is_float else ones
        mask = sum(number << shift for shift in range(0, 64, bits))
        return mask & 0xFFFFFFFF, mask >> 32


def plan_nonzero(problem: NonzeroProblem) -> Launch:
    """Choose the variant for a problem whose shapes and types are already known to be legal."""
    x = problem.x
    walked = zip(x.shape, x.strides, strict=True)
    dimensions = merge(Dimension(size, (stride,)) for size, stride in walked)
    contiguous = not dimensions or (len(dimensions) == 1 and dimensions[0].strides == (x.itemsize,))
    if x.size == 0 or (contiguous and x.phase % x.itemsize == 0):
        return _plan_stream(problem)
    return _plan_columns(problem, dimensions) or _plan_strided(problem, dimensions)


def _plan_stream(problem: NonzeroProblem) -> Launch:
    x = problem.x
    lead = x.phase // x.itemsize
    wide = x.size >= layout.MAX_ITEMS_32
    if x.size >= COUNTED_SIZE:
        turns = COUNTED_WORDS[1] * x.itemsize // VECTOR_BYTES
        return _plan_counted(problem, "bits", turns, lead, wide=wide)
    vectors = max(1, -(-(lead + x.size) * x.itemsize // VECTOR_BYTES))
    turns, tiles = _tiling(problem, vectors, VECTOR_BYTES, 1)
    packer = _common(problem, turns, tiles, lead, slots_for(tiles), wide=wide)
    return _launch("stream", problem, packer, wide=wide)


def _plan_strided(problem: NonzeroProblem, dimensions: Sequence[Dimension]) -> Launch:
    x = problem.x
    wide = _is_wide(x, dimensions)
    rank = next(r for r in RANKS if r >= len(dimensions))
    dimensions = dimensions or (Dimension(1, (0,)),)
    if x.size >= COUNTED_SIZE:
        turns = COUNTED_WORDS[1] // STRIDED_TURN_WORDS
        return _plan_counted(problem, "strided_bits", turns, 0, dimensions, wide=wide, rank=rank)
    turns, tiles = _tiling(problem, x.size, x.itemsize, STRIDED_TURN_WORDS)
    packer = _common(problem, turns, tiles, 0, slots_for(tiles), wide=wide)
    packer.dimensions(rank, dimensions=dimensions)
    return _launch("strided", problem, packer, wide=wide, rank=rank)


def _plan_counted(
    problem: NonzeroProblem, variant: str, turns: int, lead: int,
    dimensions: Sequence[Dimension] = (), *, wide: bool, rank: int = 0,
) -> Launch:  # fmt: skip
    """Return two launches, the first of which reads x in the order of its elements."""
    words = COUNTED_WORDS[1]
    tile = _WARP * _WARPS * words
    tiles = -(-(problem.x.size + lead) // tile)
    packer = _common(problem, turns, tiles, lead, tiles, wide=wide)
    if dimensions:
        packer.dimensions(rank, dimensions=dimensions)
    spec = specialise(variant, problem.x.itemsize, wide=wide, rank=rank)
    first = Launch(spec, (blocks_for(tiles, 1), 1, 1), tile // 8, 5, packer.done())
    return _launch_rows(problem, first, words, tiles * tile, lead, wide=wide)


def _plan_columns(problem: NonzeroProblem, dimensions: Sequence[Dimension]) -> Launch | None:
    """Return a plan for an x that is contiguous along another dimension than the last, or None."""
    x, item = problem.x, problem.x.itemsize
    contiguous = [k for k, d in enumerate(dimensions[:-1]) if d.strides[0] == item]
    if not contiguous or item == VECTOR_BYTES or x.size < COUNTED_COLUMNS_SIZE:
        return None
    along = contiguous[0]
    outer, rows, inner = dimensions[:along], dimensions[along].size, dimensions[along + 1 :]
    others = (d.strides[0] for d in (*outer, *inner))
    columns = prod(d.size for d in inner)
    fits = max(len(outer), len(inner)) <= COLUMN_RANKS[-1] and columns >= MIN_COLUMNS
    if not fits or alignment(x.phase, rows * item, *others) < VECTOR_BYTES:
        return None
    strips = min(1 << (-(-columns // _WARP) - 1).bit_length(), MAX_STRIPS)
    pitch = layout.round_up(-(-columns // _WARP), strips)
    vectors, chunks = rows * item // VECTOR_BYTES, pitch // strips
    lines = -(-vectors * strips // (THREADS // 4))
    total = x.size // columns * pitch
    blocks = prod(d.size for d in outer) * lines * chunks
    if columns >= layout.MAX_SPAN_32 or blocks >= layout.MAX_SPAN_32:
        return None
    wide = _is_wide(x, dimensions) or total * _WARP + MAX_PLACES >= layout.MAX_ITEMS_32
    least, most = COUNTED_WORDS
    words = min(max(least, 1 << (total // (_WARPS * 2 * BLOCKS)).bit_length() >> 1), most)
    tiles = -(-total // (_WARPS * words))
    point = (Dimension(1, (0,)),)
    rank = next(r for r in COLUMN_RANKS if r >= len(inner))
    packer = (
        _common(problem, words, tiles, 0, tiles, wide=wide)
        .dimensions(COLUMN_RANKS[-1], outer=outer or point)
        .dimensions(rank, inner=inner)
        .divisor(lines=lines, chunks=chunks)
        .offset(rows=rows, pitch=pitch)
        .uint32(columns=columns, strips_shift=strips.bit_length() - 1)
        .uint32(words_shift=words.bit_length() - 1)
        .uint32(lanes_shift=min((vectors - 1).bit_length(), MAX_LANES_SHIFT))
    )
    spec = specialise("columns", item, wide=wide, rank=rank)
    shared = columns_shared_bytes(item)
    first = Launch(spec, (blocks, 1, 1), shared, 5, packer.done())
    return _launch_rows(problem, first, words, total * _WARP, 0, (pitch, columns), wide=wide)


def columns_shared_bytes(width: int) -> int:
    """Return the shared memory of a block of columns: ``kPitch`` words for each four threads."""
    return THREADS * (VECTOR_BYTES // width + 1)


def _launch_rows(
    problem: NonzeroProblem, first: Launch, words: int, bits: int, lead: int,
    padded: tuple[int, int] = (1, _WARP), *, wide: bool,
) -> Launch:  # fmt: skip
    """Return the launch that writes the rows of so many bits, behind the first.

    ``padded`` are words and columns of the rows in which bits lie.
    """
    tiles = first.arguments["tiles"]
    packer = _common(problem, words, tiles, lead, tiles, wide=wide)
    packer.int64(words=bits // _WARP).divisor(padded=padded[0] * _WARP)
    packer.offset(gap=padded[0] * _WARP - padded[1])
    launch = _launch("rows", problem, packer, wide=wide)
    counts = COUNT_BYTES * tiles
    scratch = layout.round_up(counts + bits // 8, VECTOR_BYTES)
    zeros = counts if first.variant == "columns" else 0  # whose blocks share counts
    return replace(launch, first=first, workspace=0, scratch=scratch, zeros=zeros)


def _is_wide(x: Layout, dimensions: Sequence[Dimension]) -> bool:
    """Return whether 64-bit offsets are needed: by places or byte offsets."""
    return (
        x.size + MAX_PLACES >= layout.MAX_ITEMS_32
        or layout.reach(dimensions, 0) + VECTOR_BYTES >= layout.MAX_SPAN_32
    )


def _bytes_moved(problem: NonzeroProblem) -> int:
    """Return the bytes of x and the most bytes of coordinates."""
    elements, (capacity, columns) = problem.x.size, problem.coordinates.shape
    written = min(capacity, elements) * columns * problem.coordinates.itemsize
    return elements * problem.x.itemsize + written


def _tiling(problem: NonzeroProblem, items: int, item_bytes: int, words: int) -> tuple[int, int]:
    """Return the turns of a tile and the tiles, if lanes of a block load the items."""
    per_turn = THREADS * words
    most = TILE_BYTES // (per_turn * item_bytes)
    needed = -(-items // per_turn)
    if needed <= most and _bytes_moved(problem) <= ONE_BLOCK_BYTES:
        return needed, 1
    least = max(1, MIN_TILE_BYTES // (per_turn * item_bytes))
    turns = _size_of_tile(needed, least, most)
    return turns, -(-needed // turns)


def _size_of_tile(units: int, least: int, most: int) -> int:
    """Return the units of a tile, between ``least`` and ``most``."""
    if units <= TILES * most:
        small = min(2 * least, -(-units // (TILES // 2)))
        return min(most, max(least, small, -(-units // TILES)))
    rounds = -(-units // (BLOCKS * most))
    return -(-units // (BLOCKS * rounds))


def _common(
    problem: NonzeroProblem, turns: int, tiles: int, lead: int, slots: int, *, wide: bool
) -> ArgumentPacker:
    """Return a packer with the fields that all variants begin with."""
    out = problem.coordinates
    capacity, columns = out.shape
    form, rows, step = _form_of(out)
    # An empty x has no coordinates to compute.
    sizes = problem.x.shape[::-1][: columns - 1] if problem.x.size else ()
    row_step, axis_step = out.strides
    return (
        ArgumentPacker(wide=wide)
        .int64(elements=problem.x.size, capacity=capacity)
        .int64(row_step=row_step, axis_step=axis_step, fill_value=problem.fill or 0)
        .uint32(axes=columns, form=_FORMS[form], buffer_rows=rows, buffer_step=step)
        .uint32(value_bits=problem.value_bits)
        .uint32(count_bytes=problem.count_bytes, fills=int(problem.fill is not None))
        .uint32(tiles=tiles, slots=slots, turns=turns, lead=lead)
        .divisor(sizes=(*sizes, *[1] * (layout.MAX_DIMENSIONS - 1 - len(sizes))))
    )


def _form_of(out: Layout) -> tuple[str, int, int]:
    """Return how coordinates lie, the rows a warp writes at once, and its step between axes."""
    (capacity, columns), (row, axis), item = out.shape, out.strides, out.itemsize
    if columns == 1 or capacity == 1:  # then a stride means nothing
        axis = item if columns == 1 else axis
        row = columns * item if capacity == 1 else row
    if row == columns * item and axis == item:
        form, step, rows = "rows", 0, BUFFER_BYTES // (columns * item)
    elif row == item:
        form, step = "axes", (BUFFER_BYTES // columns) // VECTOR_BYTES * VECTOR_BYTES
        rows = (step - VECTOR_BYTES) // item
    else:
        form, step, rows = "scattered", 0, STAGED_PLACES
    return form, min(rows, STAGED_PLACES) // ALIGNED_ROWS * ALIGNED_ROWS, step


def slots_for(tiles: int) -> int:
    """Return the tiles that a workspace for ``tiles`` has room for; 0 for a single tile."""
    return 0 if tiles == 1 else max(MIN_SLOTS, 1 << (tiles - 1).bit_length())


def _launch(
    variant: str, problem: NonzeroProblem, packer: ArgumentPacker, *, wide: bool, rank: int = 0
) -> Launch:
    width = VECTOR_BYTES if variant == "rows" else problem.x.itemsize
    arguments = packer.done()
    spec = specialise(variant, width, problem.coordinates.itemsize, wide=wide, rank=rank)
    grid, slots = (arguments["tiles"], 1, 1), arguments["slots"]
    workspace = 8 * (HEADER_WORDS + slots) if slots else 0
    return Launch(spec, grid, spec.most_shared, 5, arguments, TILE_BLOCKS, workspace, scratch=0)


def shared_bytes(variant: str, width: int) -> int:
    """Return the shared memory of a block: ``NonzeroShared`` of the kernel."""
    masks = 2 * (MAX_PLACES if variant == "rows" else TILE_BYTES // width) // 8
    stages = _WARPS * (BUFFER_BYTES + VECTOR_BYTES + GAP_BYTES + 2 * STAGED_PLACES)
    words = 8 * 3 + 4 * (2 + 2 * _WARPS)
    return layout.round_up(masks + stages + words, VECTOR_BYTES)


def specialise(
    variant: str, width: int, coordinate_bytes: int = 0, *, wide: bool, rank: int = 0
) -> KernelSpec:
    """Return a variant's kernel, by width of x, type of coordinates and width of offsets.

    It writes no coordinates if it is the first of two launches; the second does not read x.
    """
    bits = 64 if wide else 32
    short, device_type = COORDINATE_TYPES[coordinate_bytes or 4]
    names = [variant, *([f"r{rank}"] if rank else [])]
    names += [f"w{width}"] if variant != "rows" else []
    names += [short] if coordinate_bytes else []
    if coordinate_bytes:
        threads, blocks, shared = TILE_THREADS, TILE_BLOCKS, shared_bytes(variant, width)
    else:
        threads, blocks = THREADS, RESIDENT_BLOCKS
        shared = columns_shared_bytes(width) if variant == "columns" else MAX_PLACES // 8
    defines = [
        ("CK_WIDTH", str(width)),
        ("CK_COORDINATE_T", device_type),
        ("CK_OFFSET_T", f"ck::uint{bits}"),
        ("CK_SHARED_BYTES", str(shared)),
        *((name, str(value)) for name, value in _MACROS.items()),
    ]
    if rank:
        defines.append(("CK_RANK", str(rank)))
    entry = "_".join(("ck_nonzero_coordinates", *names, f"o{bits}"))
    return KernelSpec(
        "nonzero_coordinates", variant, entry, tuple(defines), threads, blocks, shared
    )


def specialisations() -> Iterator[KernelSpec]:
    """Yield every kernel that `plan_nonzero` can ask for."""
    for wide in (False, True):
        for coordinate_bytes in COORDINATE_TYPES:
            yield specialise("rows", VECTOR_BYTES, coordinate_bytes, wide=wide)
        for width in WIDTHS:
            yield specialise("bits", width, wide=wide)
            for rank in COLUMN_RANKS if width < VECTOR_BYTES else ():
                yield specialise("columns", width, wide=wide, rank=rank)
            for rank in RANKS:
                yield specialise("strided_bits", width, wide=wide, rank=rank)
    for width, coordinate_bytes in product(WIDTHS, COORDINATE_TYPES):
        yield specialise("stream", width, coordinate_bytes, wide=False)
        for wide, rank in product((False, True), RANKS):
            yield specialise("strided", width, coordinate_bytes, wide=wide, rank=rank)
