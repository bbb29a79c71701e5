"""Which kernel a reduction gets, and what it is told: no engine involved."""

from __future__ import annotations

import re
import struct
from dataclasses import replace
from math import prod
from types import SimpleNamespace

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from cudakern._dtypes import DataType
from cudakern._layout import Layout, packed_strides, prepare_division
from cudakern.engines.base import THREADS
from cudakern.operators.nonzero import plan as nonzero_plan
from cudakern.operators.reduce import plan as reduce_plan
from cudakern.operators.reduce.plan import (
    COUNTER_BYTES,
    ReduceProblem,
    Reduction,
    plan_reduce,
    specialisations,
)
from cudakern.operators.reduce.types import ReduceFunction, result_type
from tests.helpers.samples import examples
from tests.helpers.strategies import memory_layouts

KIB = 1024
FIELDS = {
    "stream": ("rows", "length", "part", "units", "share"),
    "warps": ("rows", "length", "part", "units", "share"),
    "tiles": ("nbytes", "slabs", "tile_bytes"),
    "columns": ("nbytes", "rows", "share", "columns"),
    "vectors": ("units", "length", "share", "step"),
    "strided": ("units", "length", "share", "step"),
}


def problem(shape, axes=None, kind="FLOAT32", function="SUM", *, strides=None, phase=0, out=None,
            dtype=None, **options):  # fmt: skip
    """Return a problem over all axes by default; strides of x and out in bytes, packed by default.

    Sizes of out along the axes are 1.
    """
    axes = tuple(range(len(shape))) if axes is None else axes
    kind, function = DataType[kind], ReduceFunction[function]
    result = result_type(function, kind, dtype and DataType[dtype])
    x = Layout(shape, strides or packed_strides(shape, kind.itemsize), kind.itemsize, phase)
    sizes = tuple(1 if k in axes else size for k, size in enumerate(shape))
    written = Layout(sizes, out or packed_strides(sizes, result.itemsize), result.itemsize)
    return ReduceProblem(Reduction(function, kind, result, **options), x, written, axes)


class Reader:
    """Reads the fields of an argument struct, one after another."""

    def __init__(self, data, bits):
        self.data, self.bits = data, bits

    def __call__(self, code):
        code = f"={code}".replace("O", "Q" if self.bits == 64 else "I")
        found = struct.unpack_from(code, self.data)
        self.data = self.data[struct.calcsize(code) :]
        return found

    def divisor(self, code="O"):
        found = self(f"{code}{code}II")
        assert found == prepare_division(found[0], self.bits if code == "O" else 32)
        return found[0]

    def dimensions(self, rank, operands):
        """Return (size, stride of each operand) for those that are not of size 1."""
        found = [(self.divisor(), *map(self.signed, self(f"{operands}O"))) for _ in range(rank)]
        return tuple(d for d in found if d[0] > 1)

    def signed(self, offset):
        """Return an offset, which is written modulo the range of its type."""
        half = 1 << (self.bits - 1)
        return (offset + half) % (2 * half) - half


def arguments_of(plan):
    """Return what a kernel is told, by the names that the structs in ``kernels/common`` have."""
    macros, found = dict(plan.kernel.defines), SimpleNamespace()
    read = Reader(plan.arguments, 64 if macros["CK_OFFSET_T"] == "ck::uint64" else 32)
    rank, variant = int(macros.get("CK_RANK", 0)), plan.variant
    (found.reduced,) = read("q")
    if rank:
        found.kept = read.dimensions(rank, 2)
        found.along = read.dimensions(rank, 1 if variant in {"stream", "warps"} else 2)
    found.splits = 1 if variant == "tiles" else read.divisor()
    if variant in {"stream", "warps"}:
        found.parts = read.divisor()
    if variant == "columns":
        found.ranges = read.divisor()
    for name in FIELDS[variant]:
        setattr(found, name, *read("O"))
    if variant == "tiles":
        found.tile_slabs, found.rows, found.slab_bytes, shift = read("4I")
        found.lanes, found.columns = 1 << shift, read.divisor("I")
    elif variant == "columns":
        found.step, found.span, found.across = read.divisor(), read.divisor("I"), read.divisor("I")
        found.width, found.groups, found.parts, found.period = read("4I")
    elif variant in {"vectors", "strided"}:
        shift, found.along_first = read("2I")
        found.width = 1 << shift
    assert len(read.data) < 8
    assert not any(read.data)
    return found


#: What is pinned of the arguments, besides the blocks that share a result.
OWN = {
    "stream": ("part", "share"),
    "warps": ("part", "share"),
    "tiles": ("tile_slabs", "lanes"),
    "columns": ("ranges", "width", "groups", "period"),
    "vectors": ("width", "along_first"),
    "strided": ("width", "along_first"),
}
I1, C16 = "INT8", "COMPLEX128"


def rows(length, *more, **options):
    return problem((2000, length), (1,), *more, **options)


def columns(shape, *more, **options):
    return problem(shape, (0,), *more, **options)


IMAGES = (32, 64, 56, 56)
SWAPPED = {"strides": (4, 4000)}
PINNED = [  # x, kernel without function and types, blocks, blocks that share a result, OWN
    ("everything", problem((10**6,)), "stream_r1", 243, 243, (4128, 1)),
    ("everything, of bytes", problem((2**24,), kind=I1), "stream_r1", 256, 256, (65536, 1)),
    ("everything, at most shares", problem((2**28,)), "stream_r1", 4224, 4224, (63552, 1)),
    ("everything in one block", problem((16384,)), "stream_r1", 1, 1, (16384, 1)),
    ("everything in some blocks", problem((16385,)), "stream_r1", 4, 4, (4128, 1)),
    ("everything, 4 B off", problem((10**6,), phase=4), "stream_r1", 243, 243, (4128, 1)),
    ("everything, swapped", problem((1000, 2000), **SWAPPED), "stream_r1", 256, 256, (7840, 1)),
    ("complex", problem((10**6,), kind=C16), "stream_r1", 256, 256, (3912, 1)),
    ("rows of 3", rows(3), "tiles_w4", 6, 1, (336, 1)),
    ("rows of 3, padded", rows(3, strides=(16, 4)), "strided_r1_w4", 32, 1, (64, 1)),
    ("rows of 3, out padded", rows(3, out=(8, 4)), "strided_r1_w4", 32, 1, (64, 1)),
    ("rows of 4", rows(4), "tiles_w16", 8, 1, (256, 1)),
    ("rows of 4, 4 B off", rows(4, phase=4), "tiles_w4", 8, 1, (256, 4)),
    ("rows of 33, of bytes", rows(33, I1), "tiles_w1", 21, 1, (96, 8)),
    ("rows of 33", rows(33), "tiles_w4", 84, 1, (24, 8)),
    ("rows of 257", rows(257), "tiles_w4", 250, 1, (8, 32)),
    ("rows of 512", rows(512), "warps_r1", 250, 1, (512, 1)),
    ("rows of 1024", rows(1024), "warps_r1", 250, 1, (1024, 1)),
    ("rows of 1024, 4 B off", rows(1024, phase=4), "tiles_w4", 286, 1, (7, 32)),
    ("rows of 1025, 4 B off", rows(1025, phase=4), "warps_r1", 250, 1, (1025, 1)),
    ("rows of 3001", rows(3001), "warps_r1", 250, 1, (3001, 1)),
    ("rows of 4097", rows(4097), "stream_r1", 2000, 1, (4097, 1)),
    ("rows of 20,000", rows(20_000), "stream_r1", 2000, 1, (20_000, 1)),
    ("rows of 200,000", rows(200_000), "stream_r1", 4000, 2, (100_000, 1)),
    ("rows of a long function", rows(4, "FLOAT64", "LOG_SUM_EXP"), "tiles_w8", 16, 1, (128, 4)),
    ("64 rows", problem((64, 3001), (1,)), "stream_r1", 64, 1, (3001, 1)),
    ("528 rows", problem((528, 3001), (1,)), "stream_r1", 528, 1, (3001, 1)),
    ("a row more than a wave of blocks", problem((529, 2**18), (1,)), "stream_r1",
     3703, 7, (37_472, 1)),
    ("few and huge rows", problem((4, 200_000), (1,)), "stream_r1", 192, 48, (4192, 1)),
    ("rows of a vocabulary", problem((8, 129_280), (1,)), "stream_r1", 248, 31, (4192, 1)),
    ("padded rows", rows(1000, strides=(8000, 4)), "warps_r1", 250, 1, (1000, 1)),
    ("rows of complex", problem((5000, 3), (1,), C16), "tiles_w16", 60, 1, (84, 2)),
    ("16384 columns", columns((4096, 16384)), "vectors_r1_w16", 2048, 16, (32, 0)),
    ("1024 columns", columns((1024, 1024)), "vectors_r1_w16", 256, 8, (8, 0)),
    ("8 columns", columns((2**20, 8)), "vectors_r1_w16", 512, 512, (2, 0)),
    ("2 columns", columns((2**20, 2)), "columns_w16", 264, 264, (1, 2, 256, 2)),
    ("33 columns", columns((2**18, 33)), "columns_w16", 264, 264, (1, 33, 7, 4)),
    ("33 columns, out padded", columns((900, 33), out=(0, 8)), "strided_r1_w4", 14, 7, (32, 0)),
    ("1001 columns", columns((8000, 1001)), "columns_w16", 261, 29, (9, 112, 8, 0)),
    ("3001 columns", columns((3000, 3001)), "columns_w16", 250, 10, (25, 121, 8, 0)),
    ("200 columns of bytes", columns((2**19, 200), I1), "columns_w16", 792, 792, (1, 200, 10, 2)),
    ("1001 columns of bytes", columns((8000, 1001), I1), "columns_w16", 160, 32, (5, 201, 16, 0)),
    ("few rows of 100,001 columns", columns((23, 100_001)), "strided_r1_w4", 3126, 1, (32, 0)),
    ("columns, 4 B off", columns((2**13, 1024), phase=4), "columns_w16", 261, 29, (9, 114, 8, 0)),
    ("columns of complex", columns((5000, 32), C16), "columns_w16", 32, 32, (1, 32, 8, 1)),
    ("columns of bool", columns((2**20, 32), "BOOL"), "vectors_r1_w8", 512, 512, (4, 0)),
    ("swapped rows", problem((1000, 2000), (1,), **SWAPPED), "vectors_r1_w16", 256, 16, (16, 0)),
    ("swapped columns", columns((1000, 2000), **SWAPPED), "warps_r1", 250, 1, (1000, 1)),
    ("middle axis", problem((64, 512, 512), (1,)), "vectors_r3_w16", 1024, 4, (32, 0)),
    ("middle, small slabs", problem((64, 100, 33), (1,)), "tiles_w4", 32, 1, (2, 2)),
    ("middle, slabs", problem((64, 200, 33), (1,)), "columns_w16", 64, 1, (1, 33, 7, 4)),
    ("middle, tiny slabs", problem((50_000, 2, 3), (1,)), "tiles_w4", 298, 1, (168, 1)),
    ("channels of images", problem(IMAGES, (0, 2, 3)), "stream_r1", 704, 11, (3136, 3)),
    ("short pieces", problem((100, 5000, 100), (0, 2)), "warps_r1", 625, 1, (100, 100)),
    ("few of short pieces", problem((100, 64, 100), (0, 2)), "strided_r3_w4", 128, 2, (1, 1)),
    ("alternating", problem((6, 7, 8, 9, 10), (0, 2, 4)), "strided_r3_w4", 63, 1, (1, 1)),
    ("alternating, kept inside", problem((6, 7, 8, 9), (0, 2)), "strided_r3_w4", 2, 1, (32, 0)),
    ("rank 8", problem((3, 4, 5, 6, 7, 8, 9, 10), (1, 3, 5, 7)), "strided_r8_w4", 945, 1, (1, 1)),
    ("rank 8, tiny", problem((2,) * 8, (0, 2, 4, 6)), "strided_r8_w4", 1, 1, (16, 0)),
    ("every second", rows(1000, strides=(8000, 8)), "strided_r1_w4", 2000, 1, (1, 1)),
    ("reversed", problem((10**6,), strides=(-4,)), "strided_r1_w4", 244, 244, (1, 1)),
    ("one row, many times", columns((1000, 1000), strides=(0, 4)), "vectors_r1_w16",
     250, 1, (1, 1)),
    ("one element, many times", problem((1000,) * 2, strides=(0, 0)), "strided_r1_w4",
     244, 244, (1, 1)),
    ("complex, 8 B off", problem((10**6,), kind=C16, phase=8), "strided_r1_w16", 256, 256, (1, 1)),
    ("rows of complex, 8 B off", problem((5000, 3), (1,), C16, phase=8), "strided_r1_w16",
     79, 1, (64, 1)),
    ("per element", problem((1000, 1000), ()), "vectors_r1_w16", 977, 1, (256, 0)),
    ("per element, odd", problem((1001,), ()), "tiles_w4", 1, 1, (1, 1)),
    ("scalar", problem(()), "columns_w16", 1, 1, (1, 1, 256, 4)),
    ("2^31 floats", problem((2**31,)), "stream_r1_o64", 4224, 4224, (508_416, 1)),
    ("just below 2^31 bytes", problem((2**31 - 16,), kind=I1), "stream_r1", 4224, 4224,
     (508_416, 1)),
    ("2^31 bytes, nearly", problem((2**31 - 15,), kind=I1), "stream_r1_o64",
     4224, 4224, (508_416, 1)),
    ("warps of 16 GiB", problem((2**20, 2**12), (1,)), "warps_r1_o64", 2**17, 1, (4096, 1)),
    ("tiles of 6 GiB", problem((2**29, 3), (1,)), "tiles_w4_o64", 196_801, 1, (2728, 1)),
    ("columns of 4 GiB", columns((2**20, 1025)), "columns_w16_o64", 1845, 205, (9, 114, 8, 0)),
    ("vectors of 16 GiB", columns((2**20, 2**12)), "vectors_r1_w16_o64", 2048, 64, (32, 0)),
    ("2^32 - 4096 elements", problem((2**32 - 4096,), kind=I1, strides=(0,)), "strided_r1_w1_o64",
     2048, 2048, (1, 1)),
    ("one fewer", problem((2**32 - 4097,), kind=I1, strides=(0,)), "strided_r1_w1",
     2048, 2048, (1, 1)),
    ("out far apart", problem((2, 100), (1,), out=(2**31 - 16, 4)), "stream_r1_o64",
     2, 1, (100, 1)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "kernel", "blocks", "splits", "own"),
    [pytest.param(*rest, id=name) for name, *rest in PINNED],
)
def test_plan_is_pinned(given, kernel, blocks, splits, own):
    plan = plan_reduce(given)
    reduction = given.reduction
    wide = kernel.endswith("_o64")
    variant, *shape = kernel.removesuffix("_o64").split("_")
    found = {part[0]: int(part[1:]) for part in shape}
    spec = reduction.specialise(variant, wide=wide, rank=found.get("r", 0), width=found.get("w", 0))
    assert (plan.variant, plan.kernel) == (variant, spec)
    assert (plan.grid, plan.block) == ((blocks, 1, 1), (THREADS, 1, 1))
    arguments = arguments_of(plan)
    assert arguments.splits == splits
    assert tuple(getattr(arguments, name) for name in OWN[variant]) == own
    assert arguments.reduced == given.x.size // given.out.size
    assert plan_reduce(replace(given)) == plan


WORKSPACES = [  # x, bytes of states that its blocks exchange
    ("one block", problem((16384,)), 0),
    ("a block for each row", rows(20_000), 0),
    ("243 blocks", problem((10**6,)), 64 * KIB),
    ("1024 blocks of 16 columns, and 32 groups", columns((2**20, 16)), 128 * KIB),
    ("256 blocks of 32 columns", columns((1024, 1024)), 64 * KIB),
    ("128 blocks of 32 columns, positions", columns((1024, 1024), function="ARGMAX"), 64 * KIB),
    ("2048 blocks of 128 columns, 64-bit positions", columns((2**20, 4096), function="ARGMAX"),
     8192 * KIB),
    ("2048 blocks of 128 columns, and 128 groups", columns((4096, 16384)), 2048 * KIB),
    ("261 blocks of 112 columns", columns((8000, 1001)), 128 * KIB),
]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "states"), [pytest.param(*rest, id=name) for name, *rest in WORKSPACES]
)
def test_workspace_is_pinned(given, states):
    assert plan_reduce(given).workspace == (COUNTER_BYTES + states if states else 0)


NAMES = [
    ({}, "sum_f32_f32"),
    ({"dtype": "FLOAT64"}, "sum_f32_f64"),
    ({"kind": I1, "dtype": "INT64"}, "sum_i8_i64"),
    ({"function": "MAX", "ignore_nan": True}, "max_f32_f32_ignore"),
    ({"function": "ARGMAX", "last_index": True}, "argmax_f32_i64_last"),
    ({"function": "ARGMIN", "ignore_nan": True, "last_index": True}, "argmin_f32_i64_ignore_last"),
]


@pytest.mark.parametrize(("options", "name"), NAMES, ids=[name for _, name in NAMES])
def test_names_tell_types_and_choices(options, name):
    entry = plan_reduce(problem((10**6,), **options)).kernel.entry
    assert entry == f"ck_reduce_stream_{name}_r1_o32"


def test_places_follow_an_x_that_is_walked_in_another_order():
    swapped = problem((1000, 2000), function="ARGMAX", **SWAPPED)
    plan = plan_reduce(swapped)
    assert plan.kernel.entry == "ck_reduce_strided_argmax_f32_i64_r3_w4_o32"
    assert arguments_of(plan).along == ((2000, 4000, 1), (1000, 4, 2000))
    # Where places ascend in memory, or nobody asks for them, x is one row.
    assert plan_reduce(problem((1000, 2000), function="ARGMAX")).variant == "stream"
    assert plan_reduce(replace(swapped, reduction=problem((1,)).reduction)).variant == "stream"


def test_listed_kernels_have_names_of_their_own_and_are_those_that_are_planned():
    listed = {spec.entry: spec for spec in specialisations()}
    assert len(listed) == len(list(specialisations())) == 170 * 5 + 163 * 2 - 10
    planned = [plan_reduce(pinned).kernel for _, pinned, *_ in PINNED]
    found = [listed[spec.entry] == spec for spec in planned if spec.entry in listed]
    assert all(found)
    rare = [spec.entry for spec in planned if spec.entry not in listed]
    assert all(re.search("_o64|_r8|strided_.*_r1|vectors_.*_r3", entry) for entry in rare)


KINDS = ["INT8", "FLOAT16", "FLOAT32", "INT64", "COMPLEX64", "COMPLEX128"]


@st.composite
def problems(draw):
    """Draw a function of an x of 2^34 elements at most, mostly of a few packed dimensions."""
    kind = draw(st.sampled_from(KINDS))
    function = draw(st.sampled_from(["SUM", "ARGMAX"] if "COMPLEX" not in kind else ["SUM"]))
    packed, rank = draw(st.booleans()), draw(st.sampled_from([1, 2, 2, 3, 3, 4, 8]))
    shape = []
    for _ in range(rank):
        most = 2**34 // prod(shape)
        likely = st.sampled_from([n for n in (1, 2, 4, 8, 32) if n <= most])
        size = st.one_of(st.integers(1, most), st.integers(1, min(40, most)), likely)
        shape.insert(draw(st.integers(0, len(shape))), draw(size))
    axes = tuple(k for k in range(rank) if draw(st.booleans()))
    made = problem(tuple(shape), axes, kind, function)
    item = made.x.itemsize
    if packed:
        phase = draw(st.sampled_from([0, min(item, 8)]))
        return problem(tuple(shape), axes, kind, function, phase=phase)
    x = draw(memory_layouts(shape, item, aligned=True))
    out = draw(memory_layouts(made.out.shape, made.out.itemsize, output=True, aligned=True))
    strides = {"strides": x.strides, "out": out.strides, "phase": x.offset % 16}
    return problem(tuple(shape), axes, kind, function, **strides)


@settings(max_examples=examples(500), deadline=None)
@given(problems())
@example(problem((2048, 200_000), (1,)))
@example(problem((2049, 200_000), (1,)))
def test_blocks_share_results_within_the_limits(given):
    plan = plan_reduce(given)
    a, item, wide = arguments_of(plan), given.x.itemsize, plan.kernel.entry.endswith("_o64")
    state = given.reduction.state_bytes(wide=wide)
    width = int(dict(plan.kernel.defines).get("CK_WIDTH", item))
    # Groups of results, bytes of x and states for each: what blocks share.
    groups, nbytes, states = {
        "stream": lambda: (a.rows, a.reduced * item, 1),
        "warps": lambda: (-(-a.rows // 8), 8 * a.reduced * item, 8),
        "tiles": lambda: (-(-a.slabs // a.tile_slabs), a.tile_bytes, 0),
        "columns": lambda: (prod(given.out.shape) // a.columns * a.ranges,
                            a.rows * a.width * item, a.width),
        "vectors": lambda: (-(-a.units // a.width), a.width * a.length * width,
                            a.width * width // item),
        "strided": lambda: (-(-a.units // a.width), a.width * a.length * item, a.width),
    }[plan.variant]()  # fmt: skip
    assert plan.grid == (groups * a.splits, 1, 1)
    assert plan.grid[0] < 2**31
    assert plan.shared_bytes <= 48 * KIB
    assert (plan.workspace > 0) == (a.splits > 1)
    if a.splits > 1:
        stream = plan.variant == "stream"
        folds = -(-a.splits // reduce_plan.GROUP_BLOCKS)
        counters = -(-a.splits // THREADS) if stream else folds
        counters += counters > 1
        assert groups * counters <= COUNTER_BYTES // 4  # that count arrivals
        least = "COLUMN_MIN_SHARE_BYTES" if plan.variant == "columns" else "MIN_SHARE_BYTES"
        assert nbytes // a.splits >= getattr(reduce_plan, least)
        assert plan.grid[0] <= (8 * reduce_plan.BLOCKS if stream else reduce_plan.MAX_SHARES)
        room = plan.workspace - COUNTER_BYTES
        assert room >= max(64 * KIB, groups * (a.splits + folds) * states * state)
        assert room & (room - 1) == 0
        # Engines tell workspaces by their sizes: none is that of another operator.
        slots = plan.workspace // 8 - nonzero_plan.HEADER_WORDS
        assert nonzero_plan.slots_for(slots) != slots
    spans = given.x.span, given.out.span
    fits = all(low >= -(2**31) and high <= 2**31 for low, high in spans)
    assert wide or (fits and max(a.reduced, given.out.size) < 2**32)


@settings(max_examples=examples(500), deadline=None)
@given(st.data())
def test_what_is_staged_fits_shared_memory(data):
    kind, size = data.draw(st.sampled_from(KINDS)), st.integers(1, 5000)
    shape = (data.draw(st.one_of(st.just(1), size)), data.draw(size), data.draw(size))
    item = problem((1,), kind=kind).x.itemsize
    given = problem(shape, (1,), kind, phase=item * data.draw(st.integers(0, 15)) % 16)
    assume(given.x.itemsize <= 8 or given.x.phase == 0)
    plan = plan_reduce(given)
    a = arguments_of(plan)
    before = 16 + given.x.phase  # of the sector that x starts in
    if plan.variant == "tiles":
        assert before + a.tile_bytes <= 32 * KIB < plan.shared_bytes
        assert a.tile_bytes == a.tile_slabs * a.slab_bytes
    if plan.variant == "columns":
        vector = int(dict(plan.kernel.defines)["CK_WIDTH"])
        assert plan.shared_bytes <= 48 * KIB
        assert a.groups * a.span <= THREADS
        assert a.parts * a.across <= THREADS
        assert a.across in {a.width, THREADS}
        assert (a.ranges - 1) * a.width < a.columns <= a.ranges * a.width
        if a.period:  # turns of all threads are whole rows
            assert (a.ranges, a.step) == (1, a.groups * a.span)
            assert a.span * vector == a.period * a.columns * item
        else:  # wherever in a vector a row starts; rows of a thread start at the same place in one
            assert (a.width + vector // item - 1) * item <= a.span * vector
            assert a.step == a.groups
            assert a.groups * a.columns * item % vector == 0
