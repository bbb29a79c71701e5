"""Subnormal numbers and signed zeros in what copies bytes or tests bits: all kinds of kernels."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from tests.helpers import gather_nd as gather_nd_oracle
from tests.helpers import one_hot as one_hot_oracle
from tests.helpers import oracle
from tests.helpers.nonzero import assert_found
from tests.helpers.places import put, same_bytes
from tests.helpers.strategies import FLOATS, fill_values, random_bytes

pytestmark = pytest.mark.parametrize("dtype", FLOATS, ids=str)
EVERY_OTHER = np.s_[..., ::-2]
#: Shape, axis and number of indices: slots, pieces, single elements, many indices; then strided.
GATHERED = [((50, 16), 0, 40), ((50, 19), 0, 40), ((50, 3), 0, 40), ((900,), 0, 700)]
GATHERED += [((9, 300), 1, 400), ((9, 20, 16), 1, 30)]


def subnormal_numbers(shape, dtype):
    """Return numbers none of which is a normal one."""
    return random_bytes(np.random.default_rng(4), shape, dtype, subnormal=1)


@pytest.mark.parametrize("view", [np.s_[...], EVERY_OTHER], ids=["packed", "strided"])
@pytest.mark.parametrize(("shape", "axis", "count"), GATHERED)
def test_gather(place, dtype, shape, axis, count, view):
    x = subnormal_numbers(shape, dtype)
    indices = np.random.default_rng(5).integers(-1, shape[axis] // 2 + 2, count)
    for fill in fill_values(dtype):
        given = put(x, place)[view], put(indices, place)
        result = ck.gather(*given, axis, mode="fill", fill_value=fill)
        assert same_bytes(result, oracle.gather(x[view], indices, axis, "fill", fill))


@pytest.mark.parametrize("view", [np.s_[...], EVERY_OTHER], ids=["packed", "strided"])
@pytest.mark.parametrize("columns", [1, 3, 16, 19])
def test_gather_nd(place, dtype, columns, view):
    x = subnormal_numbers((20, 30, 2 * columns), dtype)
    indices = np.random.default_rng(5).integers(-1, 24, (300, 2))
    for fill in fill_values(dtype):
        given = put(x, place)[view], put(indices, place)
        result = ck.gather_nd(*given, mode="fill", fill_value=fill)
        assert same_bytes(result, gather_nd_oracle.gather_nd(x[view], indices, 0, "fill", fill))


@pytest.mark.parametrize("axis", [0, 1])
def test_one_hot(place, dtype, axis):
    indices = np.random.default_rng(5).integers(-2, 25, 2500)
    pairs = [np.array(fill_values(dtype)[-2:]).astype(dtype), subnormal_numbers((2,), dtype)]
    for values in pairs:
        expected = one_hot_oracle.expected(indices, 24, axis, values)
        for given in (tuple(values), put(values, place)):
            found = ck.one_hot(put(indices, place), 24, axis=axis, values=given)
            assert same_bytes(found, expected)
            out = put(np.ones((*expected.shape, 2), dtype), place)[..., 1]
            ck.one_hot(put(indices, place), 24, axis=axis, values=given, out=out)
            assert same_bytes(out, expected)


SEARCHED = {
    "stream": lambda x: x,
    "columns": lambda x: x.T,
    "strided": lambda x: x[EVERY_OTHER],
}


@pytest.mark.parametrize("view", SEARCHED)
@pytest.mark.parametrize("shape", [(320, 3), (320, 160), (5000, 16), (2, 9000)], ids=str)
def test_nonzero_coordinates(place, dtype, shape, view):
    x = subnormal_numbers(shape, dtype)
    x[:, ::3] = -np.zeros((), dtype)
    seen = SEARCHED[view](x)
    result = ck.nonzero_coordinates(SEARCHED[view](put(x, place)))
    assert_found(result, np.argwhere(seen != 0).astype(np.uint32), seen.shape)
