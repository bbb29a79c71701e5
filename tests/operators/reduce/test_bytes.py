"""Elements of one byte, of which kernels take many at a time: ties, signs, and what is true."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.samples import covering

#: Shape and axis: a row of whole turns and a rest, rows for warps and in tiles, vectors of columns.
CASES = [((40_001,), 0), ((560, 600), 1), ((70, 256), 1), ((313, 64), 0), ((3, 99, 32), 1)]


def draw(dtype, shape, spread):
    """Return elements of `spread` different values; true ones are any byte but 0."""
    rng = np.random.default_rng(spread)
    values = rng.integers(-128, -128 + spread, shape).astype(np.int8).view(np.uint8)
    values[rng.random(shape) < 0.4] = 0
    return values.view(dtype)


PLACED = [
    (dtype, *case)
    for dtype, cases in ((np.int8, CASES), (np.uint8, CASES[::2]), (np.bool_, CASES[1:4]))
    for case in cases
]
FOUND = [(function, last) for function in (np.argmax, np.argmin) for last in (False, True)]


@pytest.mark.parametrize(("placed", "found"), covering(PLACED, FOUND))
def test_places_of_equal_bytes(placed, found):
    (dtype, shape, axis), (function, last) = placed, found
    for spread in (1, 3, 256):
        x = draw(dtype, shape, spread)
        numbers = x.view(np.uint8) != 0 if dtype is np.bool_ else x
        expected = function(numbers, axis)
        if last:
            expected = shape[axis] - 1 - function(np.flip(numbers, axis), axis)
        result = ck.reduce(x, function.__name__, axis, last_index=last)
        np.testing.assert_array_equal(result, expected)


#: What is added up of numbers, and of the absolute ones of a type, in which -128 is its own.
ADDED = {
    ("sum", "int64"): lambda numbers, _: numbers.sum,
    ("l1", "int64"): lambda _, own: own.sum,
    ("sum_square", "int64"): lambda numbers, _: (numbers**2).sum,
    ("l1", "float64"): lambda numbers, _: abs(numbers).sum,
    ("average", "float64"): lambda numbers, _: numbers.mean,
}


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.bool_])
@pytest.mark.parametrize(("added", "case"), covering(ADDED, CASES[::2]))
def test_sums_of_bytes(dtype, added, case):
    (function, result), (shape, axis) = added, case
    x = draw(dtype, shape, 256)
    numbers = (x.view(np.uint8) != 0 if dtype is np.bool_ else x).astype(np.int64)
    own = abs(x).astype(np.int64) if dtype is np.int8 else abs(numbers)
    found = ck.reduce(x, function, axis, dtype=result)
    np.testing.assert_array_equal(found, ADDED[added](numbers, own)(axis))
