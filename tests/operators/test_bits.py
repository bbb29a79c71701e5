"""Bits that survive what copies bytes or tests bits, in all kinds of kernels.

Of numbers subnormal ones and zeros of either sign, of the 8-bit floats of ml_dtypes every pattern.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import cudakern as ck
from tests.helpers import gather_nd as gather_nd_oracle
from tests.helpers import one_hot as one_hot_oracle
from tests.helpers import oracle
from tests.helpers.nonzero import assert_found
from tests.helpers.places import put, same_bytes
from tests.helpers.samples import covering
from tests.helpers.strategies import FLOATS, fill_values, random_bytes

pytestmark = pytest.mark.device

FLOAT8 = [getattr(ml_dtypes, name) for name in dir(ml_dtypes) if name.startswith("float8_")]
PATTERNS = np.arange(256, dtype=np.uint8)
COPIED = [*FLOATS, *FLOAT8]
EVERY_OTHER = np.s_[..., ::-2]
VIEWS = {"packed": np.s_[...], "strided": EVERY_OTHER}
#: Shape, axis and number of indices: slots, pieces, single elements, many indices; then strided.
GATHERED = [((50, 16), 0, 40), ((50, 19), 0, 40), ((50, 3), 0, 40), ((900,), 0, 700)]
GATHERED += [((9, 300), 1, 400), ((9, 20, 16), 1, 30)]


def interesting(shape, dtype):
    """Return numbers none of which is a normal one, or every pattern of 8-bit floats."""
    if dtype in FLOAT8:
        return np.resize(PATTERNS, shape).view(dtype)
    return random_bytes(np.random.default_rng(4), shape, dtype, subnormal=1)


def fills(dtype):
    return (2, np.nan, PATTERNS.view(dtype)[13]) if dtype in FLOAT8 else fill_values(dtype)


@pytest.mark.parametrize(("dtype", "view", "of"), covering(COPIED, VIEWS, GATHERED), ids=str)
def test_gather(place, dtype, view, of):
    (shape, axis, count), view = of, VIEWS[view]
    x = interesting(shape, dtype)
    indices = np.random.default_rng(5).integers(-1, shape[axis] // 2 + 2, count)
    for fill in fills(dtype):
        given = put(x, place)[view], put(indices, place)
        result = ck.gather(*given, axis, mode="fill", fill_value=fill)
        assert same_bytes(result, oracle.gather(x[view], indices, axis, "fill", fill))


@pytest.mark.parametrize(
    ("dtype", "view", "columns"), covering(COPIED, VIEWS, [1, 3, 16, 19]), ids=str
)
def test_gather_nd(place, dtype, view, columns):
    view = VIEWS[view]
    x = interesting((20, 30, 2 * columns), dtype)
    indices = np.random.default_rng(5).integers(-1, 24, (300, 2))
    for fill in fills(dtype):
        given = put(x, place)[view], put(indices, place)
        result = ck.gather_nd(*given, mode="fill", fill_value=fill)
        assert same_bytes(result, gather_nd_oracle.gather_nd(x[view], indices, 0, "fill", fill))


@pytest.mark.device(on=False)  # of kernels
@pytest.mark.parametrize(("dtype", "axis"), covering(COPIED, [0, 1]), ids=str)
def test_one_hot(place, dtype, axis):
    indices = np.random.default_rng(5).integers(-2, 25, 2500)
    if dtype in FLOAT8:
        pairs = PATTERNS.view(dtype).reshape(2, 128).T[::8]
    else:
        pairs = [np.array(fill_values(dtype)[-2:]).astype(dtype), interesting((2,), dtype)]
    for values in pairs:
        expected = one_hot_oracle.expected(indices, 24, axis, values)
        for given in (tuple(values), put(values, place)):
            found = ck.one_hot(put(indices, place), 24, axis=axis, values=given)
            assert same_bytes(found, expected)
            out = put(np.ones((*expected.shape, 2), dtype), place)[..., 1]
            ck.one_hot(put(indices, place), 24, axis=axis, values=given, out=out)
            assert same_bytes(out, expected)


@pytest.mark.parametrize("dtype", FLOAT8)
def test_one_hot_by_the_name_of_a_dtype(place, dtype):
    result = ck.one_hot(put(np.array([1, 0]), place), 2, values=(1, 2), dtype=dtype.__name__)
    assert same_bytes(result, np.array([[1, 2], [2, 1]]).astype(dtype))


SEARCHED = {"stream": lambda x: x, "columns": lambda x: x.T, "strided": lambda x: x[EVERY_OTHER]}


SHAPES = [(320, 3), (320, 160), (5000, 16), (2, 9000)]


@pytest.mark.device(on=False)  # of kernels
@pytest.mark.parametrize(("dtype", "view", "shape"), covering(FLOATS, SEARCHED, SHAPES), ids=str)
def test_nonzero_coordinates(place, dtype, shape, view):
    x = interesting(shape, dtype)
    x[:, ::3] = -np.zeros((), dtype)
    seen = SEARCHED[view](x)
    result = ck.nonzero_coordinates(SEARCHED[view](put(x, place)))
    assert_found(result, np.argwhere(seen != 0).astype(np.uint32), seen.shape)
