"""nonzero_coordinates against NumPy: every dtype, density and memory layout, bytes equal."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

import cudakern as ck
from cudakern.engines.base import THREADS
from cudakern.operators.nonzero import plan as nonzero_plan
from cudakern.operators.nonzero.plan import plan_nonzero
from cudakern.values import layout
from tests.helpers.bound import forget, limit_blocks
from tests.helpers.checked import ORDERS, PLAIN, PLAIN_AND_CHECKED, PLAIN_UNLESS_THOROUGH
from tests.helpers.nonzero import (
    COORDINATE_STRIDES,
    DENSITIES,
    LARGEST,
    TILE,
    Outputs,
    assert_any_call,
    assert_found,
    expected_coordinates,
    laid_out,
    random_elements,
    two_launches,
)
from tests.helpers.places import HOST, Buffer, put, same_bytes
from tests.helpers.rows import each
from tests.helpers.samples import covering, examples, is_thorough, sample
from tests.helpers.strategies import DTYPES, OF_EACH_WIDTH
from tests.operators.nonzero.test_plan import problem

pytestmark = [PLAIN_AND_CHECKED, pytest.mark.device]

KINDS = ["uint32", "int64"]
#: Of x, and of coordinates: kernels take the longest of all to compile, so few have both.
OF_BOTH = (
    covering(OF_EACH_WIDTH, KINDS)
    if is_thorough()
    else [("float32", KINDS[0]), ("float16", KINDS[1])]
)


def kinds_of(dtype):
    """Return the dtypes that coordinates of such elements have here."""
    own = KINDS[1] if np.dtype(dtype).itemsize in {2, 8} else KINDS[0]
    return KINDS if is_thorough() else [own]


def run_poisoned(x, outputs, place):
    """Run with outputs in poisoned memory and compare all of that."""
    kind = outputs.pair[1].dtype
    ck.nonzero_coordinates(put(x, place), dtype=kind, out=outputs.pair)
    outputs.assert_hold(expected_coordinates(x))


@pytest.mark.device(on=False)  # of kernels
@PLAIN_UNLESS_THOROUGH
@each(("dtype", "kind"), OF_BOTH)
@settings(max_examples=examples(60))
@given(data=st.data())
def test_equals_numpy(place, dtype, kind, data):
    assert_any_call(place, dtype, kind, data.draw)


@pytest.mark.cudakern_checked(seeds=(None, *ORDERS), resident_blocks=3)
@each(("dtype", "kind"), OF_BOTH if is_thorough() else OF_BOTH[:1])
@settings(max_examples=examples(20))
@given(data=st.data())
def test_few_blocks(monkeypatch, dtype, kind, data):
    """Two or three blocks that have many small tiles."""
    turns = data.draw(st.integers(1, 2), "turns")

    def tiling(_problem, items, _item_bytes, turn_words):
        return turns, -(-items // (turns * THREADS * turn_words))

    monkeypatch.setattr(nonzero_plan, "_tiling", tiling)
    limit_blocks(monkeypatch, data.draw(st.integers(2, 3), "blocks"))
    assert_any_call(HOST, dtype, kind, data.draw, LARGEST // 8)


@PLAIN
@each("dtype", sample(OF_EACH_WIDTH, 5))
@settings(max_examples=examples(10))
@given(data=st.data())
def test_64_bit_offsets(monkeypatch, place, dtype, data):
    """As if 32 bits were too few for anything; a contiguous x then has coordinates of int64."""
    monkeypatch.setattr(layout, "MAX_ITEMS_32", 1)
    forget(monkeypatch)
    assert_any_call(place, dtype, "int64", data.draw)


@PLAIN_UNLESS_THOROUGH
@each(("dtype", "density"), covering(DTYPES, DENSITIES))
def test_every_dtype_and_density(place, dtype, density):
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(7)
    x = random_elements(rng, (2, 3, 5000 // dtype.itemsize), dtype, density)
    if density in (0, 1):
        assert len(expected_coordinates(x)) == density * x.size
    for kind in kinds_of(dtype):
        run_poisoned(x, Outputs.packed(x.shape, kind, place), place)


@pytest.mark.device(on=False)  # of kernels
@PLAIN
@each(
    ("dtype", "density"),
    covering(["uint8", "float16", "float32", "int64", "complex128"], [0.01, 1, "last tile"]),
)
def test_sizes_around_the_limits(place, dtype, density):
    itemsize = np.dtype(dtype).itemsize
    rng = np.random.default_rng(8)
    limits = {1, 32, 16 // itemsize, 4096, TILE // itemsize, 3 * TILE // itemsize, TILE}
    for limit in limits - {n for n in limits if n * itemsize > LARGEST}:
        for size in range(max(1, limit - 1), limit + 2):
            x = random_elements(rng, (size,), dtype, density)
            for kind in kinds_of(dtype):
                run_poisoned(x, Outputs.packed(x.shape, kind, place), place)


@each(
    ("name", "shape", "kind"),
    covering(COORDINATE_STRIDES, [(300,), (9, 70), (2, 3, 150), (2,) * 8], KINDS),
)
def test_every_layout_of_coordinates(place, kind, shape, name):
    x = random_elements(np.random.default_rng(9), shape, "float32", 0.5)
    out_shape = (x.size, x.ndim)
    strides = COORDINATE_STRIDES[name](*out_shape)
    layout = laid_out(out_shape, strides, np.dtype(kind).itemsize, 1)
    run_poisoned(x, Outputs(laid_out((1,), (1,), 4), layout, kind, place), place)


@PLAIN_UNLESS_THOROUGH
@each("rank", sample(range(1, 9), 2, 1))
def test_every_rank_in_any_order_of_axes(place, rank):
    shape = (3, 2, 4, 2, 1, 3, 2, 3)[:rank]
    x = random_elements(np.random.default_rng(rank), shape, "int16", 0.5)
    memory, kind = put(x, place), KINDS[1]
    for view in (np.s_[...], (np.s_[::-1],) * rank, (np.s_[::2],) * rank):
        for axes in map(tuple, (range(rank), reversed(range(rank)), [*range(1, rank), 0])):
            result = ck.nonzero_coordinates(memory[view].transpose(axes), dtype=kind)
            turned = x[view].transpose(axes)
            assert_found(result, expected_coordinates(turned, kind), turned.shape)


@each("dtype", ["float32", "bool", *sample(["int16", "complex64", "complex128"], 4, 3)])
def test_every_address(place, dtype):
    """Also those that are not multiples of the element's size, which occur on the host alone."""
    dtype = np.dtype(dtype)
    step = 1 if place == HOST else min(dtype.itemsize, 8)
    for size in (1, 7, 16, 77, TILE // dtype.itemsize + 2):
        x = random_elements(np.random.default_rng(size), (size,), dtype, 0.5)
        expected = expected_coordinates(x, np.uint32)
        for offset in range(0, 16, step) if size < 100 else (step, 16 - step):
            memory = Buffer(b"\xff" * offset + x.tobytes() + b"\xff" * 32, place)
            result = ck.nonzero_coordinates(memory.view(x.shape, dtype, offset=offset))
            assert_found(result, expected, x.shape)


@each("kind", KINDS)
@each(("value", "count"), [(0.0, 0), (-0.0, 0), (1.5, 1), (np.nan, 1)])
def test_a_scalar_has_the_coordinate_0(place, value, count, kind):
    result = ck.nonzero_coordinates(put(np.array(value, np.float32), place), dtype=kind)
    assert_found(result, np.zeros((count, 1), kind), ())


BROADCAST = [((40, 50), (0, 4)), ((40, 50), (4, 0)), ((9000,), (0,)), ((2, 3, 4, 5), (4, 0, 0, 8))]


@PLAIN_UNLESS_THOROUGH
@each(("shape", "strides"), BROADCAST)
def test_repeated_elements_count_each_time(place, shape, strides):
    for value in (0, 1):
        x = Buffer(np.arange(value, 800 + value, dtype=np.int32).tobytes(), place)
        x = x.view(shape, np.int32, strides)
        result = ck.nonzero_coordinates(x)
        assert_found(result, expected_coordinates(x, np.uint32), shape)


SPECIAL = {
    "float16": (np.uint16, [0x8000], [1, 0x8001, 0x7C00, 0x7E00, 0xFE00, 0x7C01]),
    "float32": (np.uint32, [1 << 31], [1, (1 << 31) + 1, 0x7F800000, 0x7FC00000, 0xFF800001]),
    "float64": (np.uint64, [1 << 63], [1, (1 << 63) + 1, 0x7FF << 52, (0x7FF << 52) + 1, 1 << 31]),
    ml_dtypes.bfloat16: (np.uint16, [0x8000], [1, 0x8001, 0x7F80, 0x7FC0, 0x80]),
    "complex64": (
        np.uint64,
        [1 << 63, 1 << 31, 1 << 63 | 1 << 31],
        [1, 1 << 32, 1 << 31 | 1 << 32, 1 << 63 | 1, 1 << 30, 1 << 62, 0x7FC00000 << 32],
    ),
    "int8": (np.uint8, [], [0x80, 1, 0xFF]),
    "int64": (np.uint64, [], [1 << 63, 1 << 31, 1 << 32, 1]),
    "bool": (np.uint8, [], [1, 2, 0x80, 0xFF]),
}


@PLAIN
@each("dtype", SPECIAL)
def test_signs_of_zero_are_ignored_and_no_other_bit_is(place, dtype):
    bits, zeros, others = SPECIAL[dtype]
    (kind, *_) = kinds_of(dtype)
    x = np.array([0, *zeros, *others, 0], bits).view(dtype)
    found = np.arange(1 + len(zeros), 1 + len(zeros) + len(others), dtype=kind)[:, None]
    assert_found(ck.nonzero_coordinates(put(x, place), dtype=kind), found, x.shape)
    for alone in range(len(x)):  # also the last element of a longer run
        y = np.zeros(77, x.dtype)
        y[-1:] = x[alone : alone + 1]
        coordinates = np.full((int(alone in found), 1), 76, kind)
        assert_found(ck.nonzero_coordinates(put(y, place), dtype=kind), coordinates, y.shape)


@PLAIN
def test_halves_of_complex128_are_looked_at_both(place):
    x = np.array([0, complex(-0.0, -0.0), complex(0, 5e-324), complex(5e-324, -0.0), 0], complex)
    assert_found(ck.nonzero_coordinates(put(x, place)), np.array([[2], [3]], np.uint32), (5,))


@PLAIN
@each("kind", ["int64", np.int64, np.dtype("int64")])
def test_takes_lists_and_any_name_of_a_dtype(kind):
    result = ck.nonzero_coordinates([[0, 3], [1, 0]], dtype=kind)
    assert_found(result, np.array([[0, 1], [1, 0]], kind), (2, 2))
    assert_found(ck.nonzero_coordinates([], dtype=kind), np.zeros((0, 1), kind), (0,))
    assert ck.nonzero_coordinates(True).coordinates.dtype == "uint32"  # noqa: FBT003


@each("kind", KINDS)
@each("shape", [(0,), (0, 3), (2, 0, 4), (0,) * 8, (0, 2**40)])
def test_nothing_to_search(place, shape, kind):
    x = put(np.zeros(shape, np.float32), place)
    none = np.zeros((0, len(shape)), kind)
    outputs = Outputs.packed(shape, kind, place)
    with ck.simulator.traffic() as report:
        assert_found(ck.nonzero_coordinates(x, dtype=kind), none, shape)
        for _ in range(2):
            ck.nonzero_coordinates(x, dtype=kind, out=outputs.pair)
    assert not report.kernels
    outputs.assert_hold(none)


# 5 GB of address space of which a few pages are touched.
@PLAIN
def test_reads_far_apart():
    memory, kind = np.zeros(5 * 2**30, np.uint8), KINDS[1]
    for step in (1, -1):
        x = as_strided(memory[::step], (5, 16), (step * 2**30, step))
        x[...] = np.arange(80).reshape(5, 16) % 3 == 0
        for view in (x, x.T):
            found = ck.nonzero_coordinates(view, dtype=kind)
            assert_found(found, expected_coordinates(view, kind), view.shape)


@PLAIN
@each("kind", KINDS)
@each("apart", ["rows", "axes"])
def test_writes_far_apart(kind, apart):
    memory = np.zeros(5 * 2**30, np.uint8)
    itemsize = np.dtype(kind).itemsize
    shape = (5, 3) if apart == "rows" else (16, 5)
    strides = (2**30, itemsize) if apart == "rows" else (itemsize, 2**30)
    x = np.ones(shape[:1] + (1,) * (shape[1] - 1), np.uint8)
    x[1] = 0
    for flip in (1, -1):
        out = as_strided(memory.view(kind), shape, strides)[::flip, ::flip]
        out[...] = 77
        count = np.zeros(1, np.uint32)
        ck.nonzero_coordinates(x, dtype=kind, out=(count, out))
        found = expected_coordinates(x, kind)
        assert count[0] == len(found)
        assert same_bytes(out[: len(found)], found)
        assert (out[len(found) :] == 77).all()


#: Shapes of arrays before the last two axes change places.
TURNED = [
    ((5000, 32), "uint8"),
    ((130, 48), "uint8"),
    ((3, 500, 256), "uint8"),
    ((3, 130, 16), "int64"),
    *([((9000, 24), "float16"), ((70, 2, 64), "int32")] if is_thorough() else []),
]


@each(("shape", "dtype"), TURNED)
def test_rows_lie_apart_in_memory(place, shape, dtype):
    x = random_elements(np.random.default_rng(len(shape)), shape, dtype, 0.03)
    turned = x.swapaxes(-1, -2)
    with two_launches():
        plan = plan_nonzero(problem(turned.shape, turned.itemsize, strides=turned.strides))
        assert plan.first.variant == "columns"
        result = ck.nonzero_coordinates(put(x, place).swapaxes(-1, -2))
    assert_found(result, expected_coordinates(turned, np.uint32), turned.shape)


@each(("shape", "dtype"), sample([((5000, 16), "float32"), ((9000, 24), "float16")], 2))
def test_dense_tiles_follow_each_other_in_a_block(monkeypatch, shape, dtype):
    # More places than there is room for: warps read masks for as long as they write rows, while
    # others make the masks of the tile after the next one.
    limit_blocks(monkeypatch, 1)
    x = np.ones(shape, dtype)
    x[:, ::3] = -0.0
    expected = expected_coordinates(x.T, np.uint32)
    with two_launches(256):
        for _ in range(3):
            assert_found(ck.nonzero_coordinates(x.T), expected, x.T.shape)
