"""gather_nd at its edges: extremes of ranks, nothing to copy, bad indices."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from tests.helpers import gather_nd as oracle
from tests.helpers.checked import PLAIN_AND_CHECKED
from tests.helpers.gather_nd import random_tuples
from tests.helpers.oracle import MODES, options
from tests.helpers.places import POISON, Buffer, get, put, same_bytes
from tests.helpers.strategies import INDEX_DTYPES, random_bytes

pytestmark = PLAIN_AND_CHECKED


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("x", "indices", "batch_dims"),
    [
        ((2, 1, 3, 2, 2, 1, 2, 3), (2, 1, 3, 2, 2, 1, 2, 1), 7),
        ((2, 2, 1, 2, 2, 2, 4, 3), (2, 2, 1, 2, 2, 2, 3, 2), 6),
        ((2, 2, 1, 2, 2, 2, 4, 3), (2, 2, 1, 2, 2, 2, 1), 6),
        ((3, 2, 2, 1, 2, 3, 2, 2), (9, 8), 0),
        ((3, 2, 2, 1, 2, 3, 2, 2), (3, 5, 7), 1),
        ((3, 2, 2, 1, 2, 3, 2, 2), (2, 1, 2, 1, 2, 1, 2, 1), 0),
        ((3, 2, 5), (3,), 0),
        ((4,), (1,), 0),
    ],
)  # fmt: skip
def test_gather_nd_at_the_ends_of_ranks_and_tuple_sizes(place, x, indices, batch_dims, mode):
    rng = np.random.default_rng(len(x) + indices[-1])
    values = random_bytes(rng, x, np.int16)
    tuples = random_tuples(rng, indices, np.int64, x[batch_dims : batch_dims + indices[-1]])
    expected = oracle.gather_nd(values, tuples, batch_dims, mode, 5)
    arrays = put(values, place), put(tuples, place)
    assert same_bytes(ck.gather_nd(*arrays, batch_dims, **options(mode, 5)), expected)


@pytest.mark.parametrize("bad", range(8))
def test_gather_nd_holds_each_component_against_its_own_axis(place, bad):
    extents = (2, 3, 4, 5, 6, 7, 2, 3)
    x = np.arange(np.prod(extents), dtype=np.int32).reshape(extents)
    inside = np.array([1, 2, 3, 4, 5, 6, 1, 2])
    beyond, below = inside.copy(), -inside
    beyond[bad], below[bad] = extents[bad], -extents[bad] - 1
    indices = np.stack([inside, beyond, -inside, below])
    for mode in MODES:
        expected = oracle.gather_nd(x, indices, 0, mode, -9)
        assert mode != "fill" or (expected == -9).tolist() == [False, True, False, True]
        result = ck.gather_nd(put(x, place), put(indices, place), **options(mode, -9))
        assert same_bytes(result, expected)


@pytest.mark.parametrize(
    ("shape", "index_shape", "batch_dims"),
    [
        ((3, 0), (2, 1), 0),
        ((3, 4, 0), (5, 2), 0),
        ((3, 4), (0, 2), 0),
        ((0, 4), (0, 1), 1),
        ((0,), (0, 1), 0),
        ((2, 0, 3), (2, 0, 1), 1),
        ((2, 3, 0), (2, 3, 5, 0), 2),
        ((3, 4), (0, 0), 0),
    ],
)
@pytest.mark.parametrize("mode", [*MODES, "raise"])
def test_gather_nd_of_nothing_is_empty(place, shape, index_shape, batch_dims, mode):
    x = np.empty(shape, np.float32)
    indices = np.full(index_shape, 99, np.int64)
    expected = index_shape[:-1] + shape[batch_dims + index_shape[-1] :]
    result = ck.gather_nd(put(x, place), put(indices, place), batch_dims, **options(mode, 0))
    assert result.shape == expected
    assert result.size == 0


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("mode", [*MODES, "raise"])
@pytest.mark.parametrize(
    ("shape", "index_shape", "batch_dims"),
    [((300, 5), (0,), 0), ((4, 5), (3, 2, 0), 0), ((3, 2, 5), (3, 4, 0), 1), ((0, 3), (2, 0), 0)],
)
def test_gather_nd_tuples_of_nothing_copy_whole_batches(
    place, shape, index_shape, batch_dims, mode
):
    x = random_bytes(np.random.default_rng(1), shape, np.uint16)
    indices = np.empty(index_shape, np.int32)
    buffer = Buffer(bytes([POISON]) * 5000, place)
    result_shape = index_shape[:-1] + shape[batch_dims:]
    strides = np.empty(result_shape, "V2").strides
    out = buffer.view(result_shape, np.uint16, strides, 10)
    given = put(x, place), put(indices, place), batch_dims
    assert ck.gather_nd(*given, **options(mode, 0), out=out) is out
    assert same_bytes(out, oracle.gather_nd(x, indices, batch_dims))
    written = slice(10, 10 + 2 * out.size)
    assert (np.delete(buffer.bytes(), written) == POISON).all()


def test_gather_nd_raise_names_the_first_bad_index_and_leaves_out_alone(place):
    x = put(np.arange(2 * 6 * 4, dtype=np.int16).reshape(2, 6, 4), place)
    values = np.zeros((2, 40, 2), np.int64)
    # 4 and 5 are good on the first axis that is selected from, and bad on the second.
    values[0, 7], values[0, 9], values[0, 11], values[1, 2] = (5, 3), (0, -5), (6, 0), (10**12, 0)
    indices = put(values, place)
    out = put(np.full((2, 40), POISON, np.int16), place)
    with pytest.raises(ck.IndexRangeError) as error:
        ck.gather_nd(x, indices, 1, mode="raise", out=out)
    expected = "gather_nd: indices[0, 9, 1] must lie in [-4, 3] for x.shape[2]=4; got -5"
    assert str(error.value) == expected
    assert isinstance(error.value, IndexError)
    assert (get(out) == POISON).all()
    good = values.copy()
    good[0, 9], good[0, 11] = (0, -4), (-6, 3)
    with pytest.raises(ck.IndexRangeError, match=r"indices\[1, 2, 0\] .*x.shape\[1\]=6; got 10+$"):
        ck.gather_nd(x, put(good, place), 1, mode="raise")
    good[1, 2] = 0
    again = ck.gather_nd(x, put(good, place), 1, mode="raise")  # nothing is broken by the error
    assert same_bytes(again, oracle.gather_nd(get(x), good, 1))


@pytest.mark.parametrize("index_dtype", INDEX_DTYPES)
def test_gather_nd_raise_accepts_the_whole_range_only(place, index_dtype):
    extents = (5, 3)
    x = put(np.arange(15, dtype=np.float64).reshape(extents), place)
    signed = index_dtype.startswith("i")
    axes = [np.arange(-n if signed else 0, n) for n in extents]
    good = np.stack(np.meshgrid(*axes), -1).astype(index_dtype)
    result = ck.gather_nd(x, put(good, place), mode="raise")
    assert same_bytes(result, oracle.gather_nd(get(x), good))
    info = np.iinfo(index_dtype)
    for k, n in enumerate(extents):
        low = -n if signed else 0
        for bad in sorted({low - 1, n, info.min, info.max} - set(range(low, n))):
            if info.min <= bad <= info.max:
                values = np.zeros((2, 2), index_dtype)
                values[1, k] = bad
                message = rf"indices\[1, {k}\] must lie in \[{low}, {n - 1}\] .*; got {bad}$"
                with pytest.raises(ck.IndexRangeError, match=message):
                    ck.gather_nd(x, put(values, place), mode="raise")
