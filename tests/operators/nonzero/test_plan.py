"""Which kernel a problem gets, and what it is told: pinned, no engine involved."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cudakern._dtypes import DataType
from cudakern._layout import Layout, packed_strides
from cudakern.engines.base import THREADS
from cudakern.operators.nonzero import plan as nonzero_plan
from cudakern.operators.nonzero.plan import NonzeroProblem, plan_nonzero, specialisations
from tests.helpers.samples import examples
from tests.helpers.strategies import memory_layouts

KIB = 1024
TILE = 64 * KIB
KINDS = {1: "UINT8", 2: "FLOAT16", 4: "FLOAT32", 8: "INT64", 16: "COMPLEX128"}
FORMS = ["rows", "axes", "scattered"]


def problem(shape, width=4, *, strides=None, phase=0, item=4, rows=None, out=None, **options):
    """Return a problem; strides of x and of coordinates (``out``) in bytes, packed by default."""
    x = Layout(shape, strides or packed_strides(shape, width), width, phase)
    table = (x.size if rows is None else rows, max(1, len(shape)))
    coordinates = Layout(table, out or packed_strides(table, item), item)
    kind = DataType[options.pop("kind", KINDS[width])]
    return NonzeroProblem(x, coordinates, kind, **options)


def named(table):
    """Return the rows of a table as parameters, the first column being their names."""
    return [pytest.param(*rest, id=name) for name, *rest in table]


#: Problems and kernels, for `tests.operators.test_plans`.
PINNED = [
    ("scalar", problem(()), "stream_w4_u32_o32"),
    ("three dimensions", problem((30, 40, 50), 8), "stream_w8_u32_o32"),
    ("eight dimensions", problem((2,) * 8, 1), "stream_w1_u32_o32"),
    ("64-bit coordinates", problem((30, 40), 2, item=8), "stream_w2_i64_o32"),
    ("not on a vector", problem((90,), phase=12), "stream_w4_u32_o32"),
    ("axes of size 1 elsewhere", problem((5, 1, 6), 2, strides=(12, 2, 2)), "stream_w2_u32_o32"),
    ("nothing", problem((3, 0), strides=(7, 9)), "stream_w4_u32_o32"),
    ("between elements", problem((90,), phase=2), "strided_r2_w4_u32_o32"),
    ("complex on 8 bytes", problem((90,), 16, phase=8), "strided_r2_w16_u32_o32"),
    ("reversed", problem((90,), strides=(-4,)), "strided_r2_w4_u32_o32"),
    ("every second one", problem((90,), 1, strides=(2,)), "strided_r2_w1_u32_o32"),
    ("transposed", problem((5, 6), strides=(4, 20)), "strided_r2_w4_u32_o32"),
    ("padded planes", problem((5, 6, 7), strides=(300, 28, 4)), "strided_r2_w4_u32_o32"),
    ("padded twice", problem((5, 6, 7), strides=(600, 32, 4)), "strided_r4_w4_u32_o32"),
    ("five dimensions", problem((2,) * 5, 1, strides=(160, 54, 18, 6, 2)), "strided_r8_w1_u32_o32"),
    ("columns", problem((16, 16), strides=(4, 64)), "columns_w4_u32_o32"),
    ("columns of bytes", problem((32, 40), 1, strides=(1, 32), item=8), "columns_w1_i64_o32"),
    ("planes of columns", problem((3, 64, 256), 2, strides=(2**15, 2, 128)), "columns_w2_u32_o32"),
    ("small planes", problem((3, 8, 16), 2, strides=(256, 2, 16)), "strided_r4_w2_u32_o32"),
    ("NHWC", problem((9, 64, 8, 8), strides=(2**14, 4, 2**11, 2**8)), "columns_w4_u32_o32"),
    ("few columns", problem((16, 15), strides=(4, 64)), "strided_r2_w4_u32_o32"),
    ("many columns", problem((4, 16384), strides=(4, 16)), "columns_w4_u32_o32"),
    ("more columns", problem((4, 16385), strides=(4, 16)), "parts_w4_u32_o32"),
    ("most columns", problem((16, 32768), 1, strides=(1, 16)), "parts_w1_u32_o32"),
    ("too many columns", problem((16, 32769), 1, strides=(1, 16)), "strided_r2_w1_u32_o32"),
    ("columns at 4", problem((16, 16), strides=(4, 64), phase=4), "strided_r2_w4_u32_o32"),
    ("columns not in vectors", problem((15, 16), strides=(4, 64)), "strided_r2_w4_u32_o32"),
    ("columns of pairs", problem((16, 16), 16, strides=(16, 256)), "strided_r2_w16_u32_o32"),
    ("columns, spans 2^31", problem((2**17, 2**12), strides=(4, 2**19)), "columns_w4_u32_o64"),
    ("2^32 - 1 elements", problem((2**32 - 1,), 1), "stream_w1_u32_o32"),
    ("2^32 elements", problem((2**16, 2**16), 1, item=8), "stream_w1_i64_o64"),
    ("spans 2^31", problem((2, 2), strides=(2**31 - 4 - 16, 4)), "strided_r2_w4_u32_o64"),
    ("just below", problem((2, 2), strides=(2**31 - 4 - 20, 4)), "strided_r2_w4_u32_o32"),
    ("all one element", problem((2**32 - 1,), 1, strides=(0,)), "strided_r2_w1_u32_o64"),
    ("some fewer", problem((2**32 - TILE - 1,), 1, strides=(0,)), "strided_r2_w1_u32_o32"),
    ("some more", problem((2**32,), 1, strides=(0,), item=8), "strided_r2_w1_i64_o64"),
]


@settings(max_examples=examples(500))
@given(data=st.data())
def test_every_planned_kernel_is_listed(data):
    listed = set(specialisations())
    width, item = data.draw(st.sampled_from([*KINDS])), data.draw(st.sampled_from([4, 8]))
    size = st.sampled_from([1, 2, 3, 5, 2**10, 2**16, 2**31])
    shape = tuple(data.draw(st.lists(size, max_size=8)))
    made = data.draw(memory_layouts(shape, width))
    options = {"phase": made.offset % 16, "item": item, "rows": data.draw(st.sampled_from([0, 7]))}
    given = problem(shape, width, strides=made.strides, **options)
    assume(given.x.size < (2**32 if item == 4 else 2**36))
    plan = plan_nonzero(given)
    assert plan.kernel in listed
    assert (plan.block, plan.pointers) == ((THREADS + 32, 1, 1), 4)
    told = plan.arguments
    assert (told["elements"], told["capacity"]) == (given.x.size, options["rows"])
    if given.x.size:
        assert told["sizes"] == (*shape[:0:-1], *[1] * (8 - max(1, len(shape))))


TILINGS = [  # x, then tiles and bytes of the workspace
    ("scalar", problem((), 1), 1, 0),
    ("an element more", problem((KIB + 1,)), 1, 0),
    ("4 KiB, not on a vector", problem((KIB,), phase=8), 1, 0),
    ("64 KiB", problem((16 * KIB,)), 1, 0),
    ("64 KiB, to 8 bytes each", problem((16 * KIB,), item=8), 16, 32784),
    ("64 KiB, to few of them", problem((16 * KIB,), item=8, rows=9), 1, 0),
    ("smallest tiles", problem((2**19,), 1), 128, 32784),
    ("1 MiB", problem((2**20,), 1), 128, 32784),
    ("2 MiB", problem((2**21,), 1), 256, 32784),
    ("a tile for each block", problem((16 * KIB * 256,)), 256, 32784),
    ("an element more", problem((16 * KIB * 256 + 1,)), 373, 32784),
    ("as many as blocks", problem((16 * KIB * 396,)), 396, 32784),
    ("two rounds", problem((16 * KIB * 396 + 1,)), 705, 32784),
    ("4096 tiles", problem((2**26,)), 4096, 32784),
    ("4097 tiles", problem((2**26 + 1,)), 4097, 65552),
    ("4096 tiles, not on a vector", problem((2**26,), phase=4), 4097, 65552),
    ("2^32 - 1 bytes", problem((2**32 - 1,), 1), 65536, 512 * KIB + 16),
    ("2^32 elements", problem((2**32,), 2, item=8), 2**17, 2**20 + 16),
    ("one strided tile", problem((16 * KIB,), strides=(8,)), 1, 0),
    ("of bytes", problem((TILE // 4,), 1, strides=(2,)), 1, 0),
    ("strided 2^32 - 1", problem((2**32 - 1,), 1, strides=(0,)), 65536, 512 * KIB + 16),
]


@pytest.mark.parametrize(("given", "tiles", "workspace"), named(TILINGS))
def test_tiles_are_pinned(given, tiles, workspace):
    plan = plan_nonzero(given)
    assert (plan.grid, plan.workspace) == ((tiles, 1, 1), workspace)


@settings(max_examples=examples(2000))
@given(st.data())
def test_tiles_cover_x_and_each_block_has_one_or_many(data):
    width, strided = data.draw(st.sampled_from([*KINDS])), data.draw(st.booleans())
    size = data.draw(st.one_of(*(st.integers(2, 2**bits) for bits in (12, 17, 24, 29, 32))))
    phase = width * data.draw(st.integers(0, 15)) % 16
    given = problem((size,), width, strides=(0,) if strided else None, phase=phase, item=8)
    plan = plan_nonzero(given)
    told = plan.arguments
    assert told["lead"] == (0 if strided else phase // width)
    vectors = -(-(size * width + phase) // 16)
    items, item_bytes, per_turn = (size, width, 2048) if strided else (vectors, 16, 256)
    tile = told["turns"] * per_turn
    assert (told["tiles"] - 1) * tile < items <= told["tiles"] * tile
    assert tile * item_bytes <= TILE
    if told["tiles"] == 1:
        assert size * (width + 8) <= 128 * KIB
        assert (told["turns"] - 1) * per_turn < items  # no larger than x
    else:
        assert size * (width + 8) > 128 * KIB or items * item_bytes > TILE
        assert tile * item_bytes >= 4 * KIB
        assert told["tiles"] <= 256 or items * item_bytes > 256 * (TILE - item_bytes * per_turn)
        assert told["tiles"] <= 128 or tile * item_bytes >= 8 * KIB
    assert plan.grid_on(132) == (min(told["tiles"], 396), 1, 1)
    assert plan.grid_on(16) == (min(told["tiles"], 48), 1, 1)
    assert plan.workspace == (8 * (2 + told["slots"]) if told["tiles"] > 1 else 0)
    assert told["slots"] == nonzero_plan.slots_for(told["tiles"])


def test_few_sizes_of_workspaces():
    sizes = {8 * (2 + nonzero_plan.slots_for(n)) for n in range(2, 2**17)}
    assert len(sizes) == 6  # so that calls share them


ONES = 2**32 - 1
KEPT = {
    "FLOAT16": (0x7FFF7FFF, 0x7FFF7FFF),
    "BFLOAT16": (0x7FFF7FFF, 0x7FFF7FFF),
    "FLOAT32": (0x7FFFFFFF, 0x7FFFFFFF),
    "COMPLEX64": (0x7FFFFFFF, 0x7FFFFFFF),
    "FLOAT64": (ONES, 0x7FFFFFFF),
    "COMPLEX128": (ONES, 0x7FFFFFFF),
}


@pytest.mark.parametrize("kind", [kind.name for kind in DataType if kind.bits >= 8])
def test_signs_of_floats_do_not_count(kind):
    told = plan_nonzero(problem((9,), DataType[kind].itemsize, kind=kind)).arguments
    assert told["kept"] == KEPT.get(kind, (ONES, ONES))


@pytest.mark.parametrize("item", [4, 8])
@pytest.mark.parametrize("columns", range(1, 9))
def test_rows_fit_the_buffer_of_a_warp(columns, item):
    shape = (5,) * columns
    for out in (None, (item, item * 5**columns), (2 * columns * item, item)):
        told = plan_nonzero(problem(shape, item=item, out=out)).arguments
        assert told["buffer_rows"] % nonzero_plan.ALIGNED_ROWS == 0
        assert told["buffer_rows"] >= 16
        if FORMS[told["form"]] == "scattered":
            assert told["buffer_rows"] <= 1024
        elif FORMS[told["form"]] == "rows":  # and what is in front of the first one: 16 bytes more
            assert told["buffer_rows"] * columns * item <= 1536
        else:
            assert told["buffer_step"] % 16 == 0
            assert told["buffer_rows"] * item + 16 <= told["buffer_step"]
            assert told["buffer_step"] * columns <= 1536


def test_count_and_fill_are_passed_on():
    told = plan_nonzero(problem((9,))).arguments
    assert (told["count_bytes"], told["fills"]) == (4, 0)
    for fill in (0, -1, 2**63 - 1, -(2**63)):
        told = plan_nonzero(problem((9,), item=8, count_bytes=8, fill=fill)).arguments
        assert (told["count_bytes"], told["fills"], told["fill_value"]) == (8, 1, fill)


@settings(max_examples=examples(500))
@given(st.data())
def test_tiles_of_columns_cover_x_and_fit(data):
    width, size = data.draw(st.sampled_from([1, 2, 4, 8])), st.integers(1, 400)
    planes, columns = data.draw(size), data.draw(st.one_of(size, st.integers(1, 33000)))
    rows = data.draw(size) * 16 // width
    strides = (rows * columns * width, width, rows * width)
    plan = plan_nonzero(problem((planes, rows, columns), width, strides=strides))
    assume(plan.variant in {"columns", "parts"})
    told = plan.arguments
    groups, group, strips, padded = (told[k] for k in ("groups", "group", "strips", "padded"))
    assert (told["rows"], told["columns"]) == (rows, columns)
    assert (strips, padded) == (-(-columns // 32), 32 * strips)
    part = group in {2, 4, 8} and 65536 * width // 16 < padded <= 65536 // group < 2 * padded
    assert part if plan.variant == "parts" else group % (16 // width) == 0
    assert (groups - 1) * group < rows <= groups * group
    assert (told["turns"] - 1) * 256 < group * padded <= told["turns"] * 256 <= 65536
    assert told["tiles"] == planes * groups
    assert plan.grid == (told["tiles"], 1, 1)
    assert told["slots"] == nonzero_plan.slots_for(told["tiles"])


@pytest.mark.parametrize("width", KINDS)
def test_three_blocks_share_the_memory_of_a_multiprocessor(width):
    plans = [problem((2**20,), width), problem((90,), width, strides=(0,))]
    plans += [problem((64, 64), width, strides=(width, 64 * width))] * (width < 16)
    plans = list(map(plan_nonzero, plans))
    assert [plan.variant for plan in plans] == ["stream", "strided", "columns"][: len(plans)]
    for plan in plans:
        nbytes = nonzero_plan.shared_bytes(plan.variant, width)
        assert plan.shared_bytes == nbytes <= 48 * KIB
        assert nbytes % 16 == 0
