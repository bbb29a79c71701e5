"""one_hot against NumPy: every dtype, index type and memory layout, bytes equal."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cudakern as ck
from cudakern.values import layout
from tests.helpers.bound import forget
from tests.helpers.checked import PLAIN, PLAIN_AND_CHECKED, PLAIN_UNLESS_THOROUGH
from tests.helpers.one_hot import expected, in_tiles, one_hot_shapes
from tests.helpers.places import POISON, get, put, same_bytes
from tests.helpers.rows import each
from tests.helpers.samples import covering, examples, sample
from tests.helpers.strategies import (
    COPIED,
    DTYPES,
    INDEX_DTYPES,
    OF_EACH_WIDTH,
    fill_values,
    memory_layouts,
    random_bytes,
    random_indices,
)
from tests.operators.calls import assert_gives

pytestmark = [PLAIN_AND_CHECKED, pytest.mark.device]

KINDS = covering(INDEX_DTYPES, OF_EACH_WIDTH)


@pytest.mark.device(on=False)  # of kernels
@PLAIN_UNLESS_THOROUGH
@each(("index_dtype", "dtype"), sample(KINDS, 2))
@settings(max_examples=examples(60))
@given(data=st.data())
def test_one_hot_equals_numpy(place, index_dtype, dtype, data):
    draw = data.draw
    index_shape, depth, axis = draw(one_hot_shapes(), "shapes")
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(draw(st.integers(0, 2**32), "seed"))
    index_values = random_indices(rng, index_shape, index_dtype, depth)
    index_layout = draw(memory_layouts(index_shape, index_values.itemsize), "indices layout")
    indices = index_layout.holding(index_values, place)
    options = {"negative": draw(st.sampled_from(["from_end", "invalid"]), "negative")}
    form = draw(st.sampled_from(["numbers", "scalars", "array"]), "values")
    if form == "numbers":
        values = np.array([0, 1]).astype(dtype)
        options["dtype"] = dtype
    else:
        values = random_bytes(rng, draw(st.sampled_from([(2,), (1, 2, 1)]), "shape"), dtype)
        if form == "array":
            layout = draw(memory_layouts(values.shape, dtype.itemsize), "layout")
            options["values"] = layout.holding(values, place)
            values = get(options["values"])  # one that is repeated keeps the last value written
        else:
            values = np.array(fill_values(dtype)[-2:]).astype(dtype)
            options["values"] = tuple(values)
    result = expected(get(indices), depth, axis, values, options["negative"])
    given_axis = axis - result.ndim if draw(st.booleans(), "negative axis") else axis
    call = partial(ck.one_hot, indices, depth, axis=given_axis, **options)
    with in_tiles() if draw(st.booleans(), "in tiles") else nullcontext():
        assert_gives(result, place, draw, call)


@PLAIN_UNLESS_THOROUGH
@each("dtype", COPIED)
def test_one_hot_every_dtype(place, dtype):
    rng = np.random.default_rng(7)
    given, pair = random_bytes(rng, (2,), dtype), np.array(fill_values(dtype)[-2:]).astype(dtype)
    for index_dtype in [i for i, kind in KINDS if np.dtype(kind).itemsize == dtype.itemsize]:
        indices = random_indices(rng, (3, 5), index_dtype, 7)
        for axis in (0, 1, 2):
            for values in (put(given, place), tuple(pair)):
                result = ck.one_hot(put(indices, place), 7, axis=axis, values=values)
                held = pair if isinstance(values, tuple) else given
                assert same_bytes(result, expected(indices, 7, axis, held))


EXTREMES = {
    "int32": [0, 4, 5, -1, -5, -6, 2**31 - 1, -(2**31), -(2**31) + 4],
    "int64": [4, -5, -6, 2**31, 2**32, 2**32 + 1, -(2**32), -(2**32) + 3, 2**63 - 1, -(2**63)],
    "uint32": [0, 4, 5, 2**31, 2**31 + 1, 2**32 - 1, 2**32 - 5],
    "uint64": [0, 4, 5, 2**32, 2**32 + 1, 2**63, 2**63 + 1, 2**64 - 1, 2**64 - 5],
}


@PLAIN_UNLESS_THOROUGH
@each("index_dtype", INDEX_DTYPES)
def test_one_hot_compares_whole_indices(place, index_dtype):
    indices = np.array(EXTREMES[index_dtype], index_dtype)
    for axis, negative in ((0, "from_end"), (1, "from_end"), (1, "invalid")):
        end = 5 if negative == "from_end" else 0
        hot = np.array(
            [[d == (i + end if i < 0 else i) for d in range(5)] for i in map(int, indices)]
        )
        result = get(ck.one_hot(put(indices, place), 5, axis=axis, negative=negative))
        assert result.tolist() == (hot if axis == 1 else hot.T).tolist()


def test_one_hot_takes_lists_and_python_scalars():
    assert ck.one_hot([1, -1], 3).tolist() == [[0, 1, 0], [0, 0, 1]]
    assert ck.one_hot(1, 3, values=[5, 6]).tolist() == [5, 6, 5]
    assert ck.one_hot([], 3).shape == (0, 3)
    assert ck.one_hot([[0]], np.int8(2), axis=np.int64(0)).shape == (2, 1, 1)


TYPES = [
    ((0, 1), None, "float32"),
    ((0.5, 2), None, "float32"),
    ((False, True), None, "bool"),
    ((0, 1j), None, "complex64"),
    ((np.int8(0), np.int16(1)), None, "int16"),
    ((0, np.float16(1)), None, "float16"),
    ((np.bool_(0), True), None, "bool"),
    ((np.array(1.5), 2), None, "float64"),
    ((0, 1), bool, "bool"),
    ((np.float64(0), np.float64(1.5)), np.float16, "float16"),
    ((0, 1), "bfloat16", "bfloat16"),
    *((((1, 2), kind.name, kind.name)) for kind in COPIED if kind not in DTYPES),
    ((ml_dtypes.bfloat16(0.5), 2), None, "bfloat16"),
    (np.array([[3], [4]], np.int64), "float32", "float32"),
]


@each(("values", "dtype", "result"), TYPES)
def test_one_hot_has_the_dtype_of_its_values(values, dtype, result):
    found = ck.one_hot([1], 2, values=values, dtype=dtype)
    assert found.dtype == result
    off, on = np.array(values, dtype=object).ravel()
    assert found.tolist() == [[off, on]]


OF_NOTHING = [((0,), 5, 0), ((3,), 0, 1), ((2, 0, 3), 4, 1), ((), 0, 0), ((0,), 2**40, 1)]


@each(("shape", "depth", "axis"), OF_NOTHING)
def test_one_hot_of_nothing_is_empty(place, shape, depth, axis):
    result = ck.one_hot(put(np.zeros(shape, np.int64), place), depth, axis=axis, dtype=np.int8)
    assert result.shape == (*shape[:axis], depth, *shape[axis:])
    assert result.size == 0


def test_one_hot_of_eight_dimensions_has_nine(place):
    indices = np.arange(2**8, dtype=np.int32).reshape((2,) * 8) % 5 - 2
    values = np.array([7, 9], np.uint16)
    for axis in range(9):
        found = ck.one_hot(put(indices, place), 3, axis=axis, values=put(values, place))
        assert same_bytes(found, expected(indices, 3, axis, values))
    memory = put(np.full((4,) * 9, POISON, np.uint16), place)
    out = memory[::-2, ::2, :2, ::2, 1:3, ::2, ::2, ::2, :3]
    ck.one_hot(put(indices, place), 3, values=put(values, place), out=out)
    assert same_bytes(out, expected(indices, 3, 8, values))


@pytest.mark.device(on=False)  # of kernels
@each(("shape", "depth", "axis"), [((900,), 33, 1), ((2, 700), 40, 1), ((3, 4, 5), 6, 2)])
def test_one_hot_in_64_bit_offsets(monkeypatch, place, shape, depth, axis):
    """As if 32 bits were too few for anything."""
    monkeypatch.setattr(layout, "MAX_ITEMS_32", 1)
    forget(monkeypatch)
    rng = np.random.default_rng(1)
    indices = random_indices(rng, shape, "int32", depth)
    values = random_bytes(rng, (2,), np.uint16)
    memory = np.full((*shape[:axis], depth, *shape[axis:-1], 2 * shape[-1]), POISON, np.uint16)
    for pair in (put(values, place), tuple(values)):
        result = ck.one_hot(put(indices, place), depth, axis=axis, values=pair)
        assert same_bytes(result, expected(indices, depth, axis, values))
        if axis < len(shape):
            out = put(memory, place)[..., ::2]
            ck.one_hot(put(indices, place), depth, axis=axis, values=pair, out=out)
            assert same_bytes(out, expected(indices, depth, axis, values))


@PLAIN
def test_one_hot_in_64_bit_offsets_writes_far_apart():
    # 5 GB of address space of which a few pages are touched.
    memory = np.zeros(5 * 2**30, np.uint8)
    out = np.lib.stride_tricks.as_strided(memory, (5, 16), (2**30, 1))
    indices = np.array([4, 0, -1, 2, 99])
    values = np.array([3, 4], np.uint8)
    ck.one_hot(indices, 16, values=values, out=out)
    assert same_bytes(out, expected(indices, 16, 1, values))
    ck.one_hot(indices, 16, values=values, out=out[::-1])
    assert same_bytes(out, expected(indices[::-1], 16, 1, values))


@PLAIN
def test_one_hot_in_64_bit_offsets_reads_far_apart():
    memory = np.zeros(5 * 2**28, np.int32)
    indices = np.lib.stride_tricks.as_strided(memory, (5, 16), (2**30, 4))
    indices[...] = np.arange(80).reshape(5, 16) % 9 - 4
    values = np.array([3, 4], np.uint8)
    for axis in (0, 1, 2):
        result = ck.one_hot(indices, 7, axis=axis, values=values)
        assert same_bytes(result, expected(indices, 7, axis, values))
