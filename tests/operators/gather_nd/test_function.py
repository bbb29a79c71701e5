"""gather_nd against NumPy: every dtype, index type, mode and memory layout, bytes equal."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cudakern as ck
from tests.helpers import gather_nd as oracle
from tests.helpers.checked import PLAIN, PLAIN_AND_CHECKED, PLAIN_UNLESS_THOROUGH
from tests.helpers.gather_nd import gather_nd_shapes, random_tuples
from tests.helpers.oracle import MODES, options
from tests.helpers.places import Buffer, get, put, same_bytes
from tests.helpers.rows import each
from tests.helpers.samples import covering, examples, sample
from tests.helpers.strategies import (
    COPIED,
    INDEX_DTYPES,
    OF_EACH_WIDTH,
    fill_values,
    lookups,
    memory_layouts,
    random_bytes,
)
from tests.operators.calls import assert_gives

pytestmark = [PLAIN_AND_CHECKED, pytest.mark.device]

KINDS = covering(INDEX_DTYPES, OF_EACH_WIDTH, MODES)


@pytest.mark.device(on=False)  # of kernels
@PLAIN_UNLESS_THOROUGH
@each(("index_dtype", "dtype", "mode"), sample(KINDS, 2))
@settings(max_examples=examples(60))
@given(data=st.data())
def test_gather_nd_equals_numpy(place, index_dtype, dtype, mode, data):
    draw = data.draw
    dtype = np.dtype(dtype)
    shapes = draw(gather_nd_shapes(dtype.itemsize), "shapes")
    rng = np.random.default_rng(draw(st.integers(0, 2**32), "seed"))
    wild = draw(st.sampled_from([0.02, 0.1, 0.6]), "share of wild indices")
    x_values = random_bytes(rng, shapes.x, dtype)
    index_values = random_tuples(rng, shapes.indices, index_dtype, shapes.extents, wild)
    fill = draw(st.sampled_from(fill_values(dtype)), "fill")
    given = options(mode, fill)

    x_layout = draw(memory_layouts(shapes.x, dtype.itemsize), "x layout")
    index_layout = draw(memory_layouts(shapes.indices, index_values.itemsize), "indices layout")
    x = x_layout.holding(x_values, place)
    indices = index_layout.holding(index_values, place)
    # Broadcast dimensions keep the last value written: read back what the arrays hold.
    expected = oracle.gather_nd(get(x), get(indices), shapes.batch_dims, mode, fill)
    call = partial(ck.gather_nd, x, indices, shapes.batch_dims, **given)
    assert_gives(expected, place, draw, call)


@PLAIN_UNLESS_THOROUGH
@each("dtype", COPIED)
def test_gather_nd_every_dtype(place, dtype):
    rng = np.random.default_rng(7)
    x = random_bytes(rng, (2, 5, 7, 3), dtype)
    for index_dtype, mode in lookups(KINDS, dtype):
        indices = random_tuples(rng, (2, 9, 2), index_dtype, (5, 7), 0.3)
        for fill in fill_values(dtype):
            result = ck.gather_nd(put(x, place), put(indices, place), 1, **options(mode, fill))
            assert same_bytes(result, oracle.gather_nd(x, indices, 1, mode, fill))


def test_gather_nd_holds_each_component_against_its_own_axis(place):
    extents = (2, 3, 4, 5, 6, 7, 2, 3)
    x = np.arange(np.prod(extents), dtype=np.int32).reshape(extents)
    inside = np.array([1, 2, 3, 4, 5, 6, 1, 2])
    beyond, below = (np.tile(side, (8, 1)) for side in (inside, -inside))
    np.fill_diagonal(beyond, extents)
    np.fill_diagonal(below, -np.array(extents) - 1)
    indices = np.concatenate([[inside, -inside], beyond, below])
    for mode in MODES:
        expected = oracle.gather_nd(x, indices, 0, mode, -9)
        assert mode != "fill" or (expected == -9).tolist() == [False] * 2 + [True] * 16
        result = ck.gather_nd(put(x, place), put(indices, place), **options(mode, -9))
        assert same_bytes(result, expected)


OF_NOTHING = [
    ((3, 0), (2, 1), 0),
    ((3, 4), (0, 2), 0),
    ((0, 4), (0, 1), 1),
    ((2, 0, 3), (2, 0, 1), 1),
    ((2, 3, 0), (2, 3, 5, 0), 2),
    ((3, 4), (0, 0), 0),
]


@each(("shape", "index_shape", "batch_dims"), OF_NOTHING)
def test_gather_nd_of_nothing_is_empty(place, shape, index_shape, batch_dims):
    x, indices = put(np.empty(shape, np.float32), place), put(np.full(index_shape, 99), place)
    expected = index_shape[:-1] + shape[batch_dims + index_shape[-1] :]
    for mode in (*MODES, "raise"):
        result = ck.gather_nd(x, indices, batch_dims, **options(mode, 0))
        assert result.shape == expected
        assert result.size == 0


@each(
    ("shape", "index_shape", "batch_dims", "axis", "count"),
    [((0, 4), (3, 1), 0, 0, 3), ((2, 5, 0, 3), (2, 3, 2), 1, 2, 12), ((0, 0), (2,), 0, 0, 2)],
)
def test_gather_nd_from_an_empty_axis_fills_or_raises(
    place, shape, index_shape, batch_dims, axis, count
):
    x = put(np.empty(shape, np.float32), place)
    indices = put(np.zeros(index_shape, np.int64), place)
    filled = ck.gather_nd(x, indices, batch_dims, mode="fill", fill_value=3)
    assert filled.shape == index_shape[:-1] + shape[batch_dims + index_shape[-1] :]
    assert (get(filled) == 3).all()
    message = rf"^gather_nd: x.shape\[{axis}\] must be at least 1 for {count} indices; got 0$"
    for mode in ("clamp", "wrap", "raise"):
        with pytest.raises(ck.IndexRangeError, match=message):
            ck.gather_nd(x, indices, batch_dims, mode=mode)


def test_gather_nd_takes_lists():
    x = [[10, 11], [20, 21]]
    assert ck.gather_nd(x, [[1, 0], [0, -1], [7, 7]]).tolist() == [20, 11, 21]
    assert ck.gather_nd(x, [[1], [0]], 1).tolist() == [11, 20]
    assert ck.gather_nd(x, [1, 1]).tolist() == 21
    assert ck.gather_nd(x, [[], []]).tolist() == [x, x]
    assert ck.gather_nd(x, []).tolist() == x


@PLAIN  # a checked launch walks along all of the axis
@each("step", [1, -1])
def test_gather_nd_in_64_bit_offsets(place, step):
    # An axis of 2^33 elements that all lie in one place: 64-bit positions without the memory.
    buffer = Buffer(np.arange(16, dtype=np.uint8), place)
    x = buffer.view((3, 2**33, 2), np.uint8, (4, 0, step), offset=3)
    indices = np.array([[0, 0], [2, 2**33 - 1], [1, 2**33], [-1, -1], [-5, -(2**40)]], np.int64)
    result = get(ck.gather_nd(x, put(indices, place)))
    assert result.tolist() == [[n, n + step] for n in (3, 11, 7, 11, 3)]
    filled = get(ck.gather_nd(x, put(indices, place), mode="fill", fill_value=99))
    assert filled.tolist() == [[n, n + step] for n in (3, 11)] + [
        [99, 99],
        [11, 11 + step],
        [99, 99],
    ]
    with pytest.raises(ck.IndexRangeError, match=f"indices.2, 1. .*got {2**33}$"):
        ck.gather_nd(x, put(indices, place), mode="raise")


@PLAIN
def test_gather_nd_in_64_bit_offsets_reads_far_apart():
    # 5 GB of address space of which a few pages are touched.
    x = np.lib.stride_tricks.as_strided(
        np.zeros(5 * 2**30, np.uint8), (5, 3, 16), (2**30, 2**20, 1)
    )
    x[...] = np.arange(240, dtype=np.uint8).reshape(5, 3, 16)
    indices = np.array([[4, 2], [0, 1], [-1, 0], [2, -1]], np.int32)
    expected = np.stack([x[4, 2], x[0, 1], x[4, 0], x[2, 2]])
    for view in np.s_[:], np.s_[1:], np.s_[::-1], np.s_[:7]:
        source = x[..., view]
        assert same_bytes(ck.gather_nd(source, indices), expected[:, view])
        batches = ck.gather_nd(source, indices[:, :1].repeat(5, 0)[:5] % 3, 1)
        rows = indices[:, 0].repeat(5)[:5] % 3
        assert same_bytes(batches, source[np.arange(5), rows])
