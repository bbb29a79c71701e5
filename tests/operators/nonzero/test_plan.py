"""The kernel and the arguments that each problem gets: pinned, without an engine."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cudakern.operators.nonzero.plan import NonzeroProblem, plan_nonzero, specialisations
from cudakern.values.dtypes import DataType
from cudakern.values.layout import Layout, packed_strides
from tests.helpers.rows import each
from tests.helpers.samples import examples
from tests.helpers.strategies import memory_layouts

KIB = 1024
TILE = 64 * KIB
KINDS = {1: "UINT8", 2: "FLOAT16", 4: "FLOAT32", 8: "INT64", 16: "COMPLEX128"}


def problem(shape, width=4, *, strides=None, phase=0, item=4, rows=None, out=None, **options):
    """Return a problem; strides of x and of coordinates (``out``) in bytes, packed by default."""
    x = Layout(shape, strides or packed_strides(shape, width), width, phase)
    table = (x.size if rows is None else rows, max(1, len(shape)))
    coordinates = Layout(table, out or packed_strides(table, item), item)
    kind = DataType[options.pop("kind", KINDS[width])]
    return NonzeroProblem(x, coordinates, kind, **options)


#: For `tests.operators.test_plans`.
PLAN = plan_nonzero
PINNED = [
    ("scalar", problem(()), "stream_w4_u32_o32"),
    ("three dimensions", problem((30, 40, 50), 8), "stream_w8_u32_o32"),
    ("64-bit coordinates", problem((30, 40), 2, item=8), "stream_w2_i64_o32"),
    ("not on a vector", problem((90,), phase=12), "stream_w4_u32_o32"),
    ("nothing", problem((3, 0), strides=(7, 9)), "stream_w4_u32_o32"),
    ("between elements", problem((90,), phase=2), "strided_r2_w4_u32_o32"),
    ("reversed", problem((90,), strides=(-4,)), "strided_r2_w4_u32_o32"),
    ("every second one", problem((90,), 1, strides=(2,)), "strided_r2_w1_u32_o32"),
    ("transposed", problem((5, 6), strides=(4, 20)), "strided_r2_w4_u32_o32"),
    ("padded twice", problem((5, 6, 7), strides=(600, 32, 4)), "strided_r4_w4_u32_o32"),
    ("five dimensions", problem((2,) * 5, 1, strides=(160, 54, 18, 6, 2)), "strided_r8_w1_u32_o32"),
    ("columns, few elements", problem((16, 16), strides=(4, 64)), "strided_r2_w4_u32_o32"),
    ("columns", problem((512, 512), strides=(4, 2048)), "columns_r1_w4_o32"),
    ("columns of bytes", problem((1024, 400), 1, strides=(1, 1024), item=8), "columns_r1_w1_o32"),
    ("planes", problem((3, 512, 512), strides=(2**20, 4, 2048)), "columns_r1_w4_o32"),
    (
        "NHWC",
        problem((9, 64, 99, 8), strides=(2**14 * 99 // 8, 4, 2**11, 2**8)),
        "columns_r1_w4_o32",
    ),
    (
        "two dimensions inside",
        problem((64, 99, 80), 2, strides=(2, 80 * 128, 128)),
        "columns_r1_w2_o32",
    ),
    (
        "transposed inside",
        problem((64, 99, 80), 2, strides=(2, 128, 99 * 128)),
        "columns_r4_w2_o32",
    ),
    ("few columns", problem((2**16, 15), strides=(4, 2**18)), "strided_r2_w4_u32_o32"),
    ("many columns", problem((4, 2**16), strides=(4, 16)), "columns_r1_w4_o32"),
    ("columns at 4", problem((512, 512), strides=(4, 2048), phase=4), "strided_r2_w4_u32_o32"),
    ("columns, spans 2^31", problem((2**17, 2**12), strides=(4, 2**19)), "columns_r1_w4_o64"),
    ("columns, padded to 2^32", problem((2**25, 65), 1, strides=(1, 2**25)), "columns_r1_w1_o64"),
    ("2^26 elements", problem((2**26,), 1), "stream_w1_u32_o32"),
    ("one more", problem((2**26 + 1,), 1), "bits_w1_o32"),
    ("one more, of any layout", problem((2**26 + 1,), 1, strides=(2,)), "strided_bits_r2_w1_o32"),
    ("2^32 - 1 elements", problem((2**32 - 1,), 1), "bits_w1_o32"),
    ("2^32 elements", problem((2**16, 2**16), 1, item=8), "bits_w1_o64"),
    ("spans 2^31", problem((2, 2), strides=(2**31 - 4 - 16, 4)), "strided_r2_w4_u32_o64"),
    ("just below", problem((2, 2), strides=(2**31 - 4 - 20, 4)), "strided_r2_w4_u32_o32"),
    ("all one element", problem((2**32 - 1,), 1, strides=(0,)), "strided_bits_r2_w1_o64"),
    ("some fewer", problem((2**32 - TILE - 1,), 1, strides=(0,)), "strided_bits_r2_w1_o32"),
]


@settings(max_examples=examples(500))
@given(data=st.data())
def test_every_planned_kernel_is_listed(data):
    listed = set(specialisations())
    width, item = data.draw(st.sampled_from([*KINDS])), data.draw(st.sampled_from([4, 8]))
    size = st.sampled_from([1, 2, 3, 5, 2**10, 2**16, 2**31])
    shape = tuple(data.draw(st.lists(size, max_size=8)))
    layout = data.draw(memory_layouts(shape, width))
    search = problem(shape, width, strides=layout.strides, phase=layout.offset % 16, item=item)
    assume(search.x.size < (2**32 if item == 4 else 2**36))
    assert {part.kernel for part in plan_nonzero(search).parts} <= listed


TILINGS = [  # x, then tiles and bytes of the workspace
    ("scalar", problem((), 1), 1, 0),
    ("an element more", problem((KIB + 1,)), 1, 0),
    ("64 KiB, to 8 bytes each", problem((16 * KIB,), item=8), 16, 32784),
    ("60 KiB, to 8 bytes each", problem((15 * KIB,), item=8), 15, 32784),
    ("64 KiB, to 8 bytes for all", problem((16 * KIB,), item=8, rows=1), 1, 0),
    ("64 KiB, to rows for more", problem((16 * KIB,), rows=64 * KIB), 1, 0),
    ("smallest tiles", problem((2**19,), 1), 128, 32784),
    ("a tile for each block", problem((16 * KIB * 256,)), 256, 32784),
    ("an element more", problem((16 * KIB * 256 + 1,)), 373, 32784),
    ("two rounds", problem((16 * KIB * 396 + 1,)), 705, 32784),
    ("4096 tiles", problem((2**26,)), 4096, 32784),
    ("one strided tile", problem((16 * KIB,), strides=(8,)), 1, 0),
    ("larger tiles rather than more", problem((2**20,), 1, strides=(3,)), 128, 32784),
    ("strided 2^26", problem((2**26,), 1, strides=(0,)), 1171, 32784),
]


@each(("search", "tiles", "workspace"), [pytest.param(*rest, id=name) for name, *rest in TILINGS])
def test_tiles_are_pinned(search, tiles, workspace):
    plan = plan_nonzero(search)
    assert (plan.grid, plan.workspace) == ((tiles, 1, 1), workspace)


@each(
    ("search", "form"),
    [
        (problem((9, 5), out=(12, 4)), "scattered"),
        (problem((9, 5), out=(4, 999)), "axes"),
        (problem((9, 5), rows=1, out=(4, 4)), "rows"),
        (problem((90,), out=(4, 999)), "rows"),
    ],
)
def test_a_stride_of_one_row_or_column_means_nothing(search, form):
    assert plan_nonzero(search).arguments["form"] == {"rows": 0, "axes": 1, "scattered": 2}[form]


@settings(max_examples=examples(2000))
@given(st.data())
def test_tiles_cover_x_and_each_block_has_one_or_many(data):
    width, strided = data.draw(st.sampled_from([*KINDS])), data.draw(st.booleans())
    size = data.draw(st.one_of(*(st.integers(2, 2**bits) for bits in (12, 17, 24, 26))))
    phase = width * data.draw(st.integers(0, 15)) % 16
    search = problem((size,), width, strides=(0,) if strided else None, phase=phase, item=8)
    plan = plan_nonzero(search)
    told = plan.arguments
    vectors = -(-(size * width + phase) // 16)
    items, item_bytes, per_turn = (size, width, 2048) if strided else (vectors, 16, 256)
    tile = told["turns"] * per_turn
    assert (told["tiles"] - 1) * tile < items <= told["tiles"] * tile
    assert tile * item_bytes <= TILE
    if told["tiles"] == 1:
        assert size * (width + 8) <= 128 * KIB
    else:
        assert tile * item_bytes >= 4 * KIB
        assert told["tiles"] <= 256 or items * item_bytes > 256 * (TILE - item_bytes * per_turn)
        assert told["tiles"] <= told["slots"]
    assert plan.grid_on(16) == (min(told["tiles"], 48), 1, 1)
    assert plan.workspace == (8 * (2 + told["slots"]) if told["tiles"] > 1 else 0)


@settings(max_examples=examples(500))
@given(st.data())
def test_bits_of_columns_cover_x(data):
    width, size = data.draw(st.sampled_from([1, 2, 4, 8])), st.integers(1, 400)
    planes, columns = data.draw(size), data.draw(st.one_of(size, st.integers(1, 33000)))
    rows = data.draw(size) * 16 // width
    strides = (rows * columns * width, width, rows * width)
    plan = plan_nonzero(problem((planes, rows, columns), width, strides=strides))
    assume(plan.variant == "rows")
    told, rest = plan.first.arguments, plan.arguments
    strips, words, pitch = 1 << told["strips_shift"], 1 << told["words_shift"], told["pitch"]
    assert (told["rows"], told["columns"]) == (rows, columns)
    assert columns <= pitch * 32 < columns + 32 * strips
    assert pitch == told["chunks"] * strips
    of_block = 64 // strips * 16 // width
    assert (told["lines"] - 1) * of_block < rows <= told["lines"] * of_block
    lanes = 1 << told["lanes_shift"]
    assert lanes == 8 or lanes / 2 < rows * width / 16 <= lanes
    assert plan.first.grid == (planes * told["lines"] * told["chunks"], 1, 1)
    assert (rest["padded"], rest["gap"]) == (pitch * 32, pitch * 32 - columns)
    total = planes * rows * pitch
    assert rest["words"] == total
    assert words == told["turns"] == rest["turns"]
    assert (rest["tiles"] - 1) * 8 * words < total <= rest["tiles"] * 8 * words
    assert rest["slots"] == told["slots"] == rest["tiles"]
    assert plan.zeros == 16 * rest["tiles"]
    assert 0 <= plan.scratch - plan.zeros - 4 * total < 16


def test_three_blocks_share_the_memory_of_a_multiprocessor():
    launches = [part for _, search, _ in PINNED for part in plan_nonzero(search).parts]
    assert all(launch.shared_bytes <= 48 * KIB for launch in launches)
