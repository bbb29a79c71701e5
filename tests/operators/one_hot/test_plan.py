"""Which kernel a one-hot gets, and its tiles."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from cudakern.operators.one_hot.plan import OneHotProblem, plan_one_hot
from cudakern.values.layout import Layout, packed_strides
from tests.helpers.one_hot import in_tiles
from tests.helpers.rows import each
from tests.helpers.samples import examples


def problem(
    indices, depth, axis, itemsize=4, *, index_bytes=4, strides=None, out=None, phases=(0, 0), on=0
):
    """Return a problem; ``strides`` of the indices and ``out`` are in bytes, packed by default."""
    result = (*indices[:axis], depth, *indices[axis:])
    return OneHotProblem(
        Layout(indices, strides or packed_strides(indices, index_bytes), index_bytes),
        Layout((2,) if on else (0,), (on or itemsize,), itemsize, phases[1]),
        Layout(result, out or packed_strides(result, itemsize), itemsize, phases[0]),
        axis,
        {4: "int32", 8: "int64"}[index_bytes],
    )


#: For `tests.operators.test_plans`.
PLAN = plan_one_hot
PINNED = [
    ("few elements", problem((128,), 10, 1), "strided_few_r2_w4_i32_o32"),
    ("few elements of planes", problem((4, 64), 100, 1), "strided_few_r4_w4_i32_o32"),
    ("as many as have threads at once", problem((528,), 256, 1, 1), "strided_few_r2_w1_i32_o32"),
    ("a row more", problem((529,), 256, 1, 1), "stream_w1_i32_o32"),
    ("last axis", problem((1000,), 1000, 1), "stream_w4_i32_o32"),
    ("last axis, complex", problem((10**5,), 10, 1, 16), "stream_w16_i32_o32"),
    ("last axis of several", problem((300, 400, 5), 10, 3, 2), "stream_w2_i32_o32"),
    ("a scalar", problem((), 10**6, 0, 8), "stream_w8_i32_o32"),
    ("depth 1, any stride along it", problem((700, 900), 1, 1, out=(3600, 5, 4)),
     "stream_w4_i32_o32"),
    ("out 4 B off", problem((1000,), 1000, 1, phases=(4, 0)), "stream_w4_i32_o32"),
    ("rows of planes that fit", problem((400, 64), 100, 1, 1), "stream_w1_i32_o32"),
    ("many rows of planes", problem((5000, 100), 1000, 1), "stream_w4_i32_o32"),
    ("planes", problem((4, 64), 5000, 1), "planes_w4_i32_o32"),
    ("planes of images", problem((8, 512, 512), 21, 1, 1, index_bytes=8), "planes_w1_i64_o32"),
    ("first axis", problem((1000, 1000), 7, 0, 2), "planes_w2_i32_o32"),
    ("channels last in memory",
     problem((8, 64, 64), 21, 1, out=(64 * 64 * 84, 4, 64 * 84, 84)), "stream_w4_i32_o32"),
    ("channels first in memory",
     problem((8, 640, 64), 21, 3, out=(640 * 64 * 84, 256, 4, 640 * 256)), "planes_w4_i32_o32"),
    ("reversed indices", problem((10**5,), 10, 1, strides=(-4,)), "stream_w4_i32_o32"),
    ("transposed indices", problem((6, 7), 10, 2, strides=(4, 24)), "strided_r4_w4_i32_o32"),
    ("transposed around the axis", problem((70_000, 6), 10, 1, strides=(4, 280_000)),
     "stream_w4_i32_o32"),
    ("out padded", problem((9,), 8, 1, out=(64, 4)), "strided_r2_w4_i32_o32"),
    ("every second row", problem((4, 9), 8, 2, out=(600, 64, 4)), "strided_r4_w4_i32_o32"),
    ("out 2 B off", problem((9,), 8, 1, phases=(2, 0)), "strided_r4_w2_i32_o32"),
    ("complex 8 B off", problem((9,), 8, 1, 16, phases=(8, 0)), "strided_r4_w8_i32_o32"),
    ("complex values 8 B off",
     problem((9,), 8, 1, 16, out=(256, 16), on=16, phases=(0, 8)), "strided_r4_w8_i32_o32"),
    ("complex values 8 B off, out packed",
     problem((10**5,), 8, 1, 16, on=24, phases=(0, 8)), "stream_w16_i32_o32"),
    ("2^32 elements", problem((2**16,), 2**16, 1, 1), "stream_w1_i32_o64"),
    ("just below", problem((2**16 - 4,), 2**16, 1, 1), "stream_w1_i32_o32"),
    ("depth of 2^31", problem((1,), 2**31, 1, 1), "stream_w1_i32_o64"),
    ("planes beyond 2^32", problem((2**12, 2**12), 2**9, 1, 1), "planes_w1_i32_o64"),
    ("indices far apart", problem((3,), 8, 1, strides=(2**30,)), "stream_w4_i32_o64"),
    ("values far apart", problem((3,), 8, 1, on=2**31), "stream_w4_i32_o64"),
    ("out beyond 2^31 bytes", problem((3,), 8, 1, out=(2**30, 4)), "strided_r4_w4_i32_o64"),
    ("strided of 10 dimensions",  # no two of nine chained, and elements in two pieces
     problem((2,) * 8, 2, 3, 16, out=tuple(3**k * 16 for k in reversed(range(9))), phases=(8, 0)),
     "strided_r16_w8_i32_o32"),
]  # fmt: skip
#: Problems and blocks: each takes 1,024 items at a time.
BLOCKS = [("strided", problem((900,), 8, 1, out=(64, 4)), 8)]
OF_NOTHING = [problem((3, 0), 5, 1), problem((3, 4), 0, 1)]


#: Indices, depth, bytes of an element and of an index, phase of out; then elements of a tile.
TILES = [
    ((9000,), 3, 1, 8, 0, 8064),
    ((10**6,), 10, 4, 8, 0, 8160),
    ((40,), 100_000, 4, 8, 0, 3840),
    ((1000, 7), 90, 8, 4, 0, 630),
    ((2000, 5), 2000, 1, 4, 0, 10_000),
]
#: Then tiles across a plane and along the depth; planes, columns and bits of a run.
TILES_OF_PLANES = [
    ((2, 129), 22, 4, 4, 0, (3, 1, 22, 64, 96)),
    ((3, 5000), 9, 2, 8, 0, (6, 1, 9, 864, 896)),
    ((64, 4096), 1000, 4, 8, 0, (64, 4, 250, 64, 96)),
    ((64, 4096), 1000, 1, 4, 0, (26, 2, 500, 160, 224)),
    ((8, 65536), 21, 4, 8, 4, (171, 1, 21, 384, 416)),
]


@each(("indices", "depth", "itemsize", "index_bytes", "phase", "tile"), TILES + TILES_OF_PLANES)
def test_tiles_are_pinned(indices, depth, itemsize, index_bytes, phase, tile):
    with in_tiles():
        plan = plan_one_hot(
            problem(indices, depth, 1, itemsize, index_bytes=index_bytes, phases=(phase, 0))
        )
    told = plan.arguments
    if plan.variant == "stream":
        assert told["tile"] == tile
    else:
        names = ("chunks", "groups", "planes", "columns", "run")
        assert tuple(told[name] for name in names) == tile


SIZES = st.one_of(st.integers(1, 50), st.integers(1, 5000), st.integers(1, 10**6))


@settings(max_examples=examples(2000))
@given(st.tuples(SIZES, SIZES, SIZES), st.sampled_from([1, 2, 4, 8, 16]), st.sampled_from([4, 8]))
def test_tiles_cover_the_output_and_fit_in_shared_memory(sizes, itemsize, index_bytes):
    outer, depth, inner = sizes
    with in_tiles():
        plan = plan_one_hot(problem((outer, inner), depth, 1, itemsize, index_bytes=index_bytes))
    told = plan.arguments
    tiles = told["tiles"]
    if plan.variant == "stream":
        elements, tile = outer * depth * inner, told["tile"]
        assert (tiles - 1) * tile < elements <= tiles * tile
        assert tile * itemsize >= 1024  # tiles begin at lines, none may be empty
        bits = tile + 256 // itemsize
    else:
        names = ("chunks", "groups", "planes", "columns", "run")
        chunks, groups, planes, part, run = (told[name] for name in names)
        sector = 32 // itemsize
        assert tiles == outer * chunks * groups
        assert (chunks - 1) * part < inner <= chunks * part
        assert (groups - 1) * planes < depth <= groups * planes
        assert part % sector == run % 32 == 0
        assert run >= part + 2 * sector
        bits = planes * run
    assert bits <= told["clears"] * 128
    assert plan.shared_bytes == 32 + told["clears"] * 16 <= 16 * 1024
    assert plan.grid == (min(tiles, 65536), 1, 1)
