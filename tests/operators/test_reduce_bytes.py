"""Elements of one byte, of which kernels take many at a time: ties, signs, and what is true."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck

#: Shape and axis: a row of whole turns and a rest, rows for warps and in tiles, vectors of columns.
CASES = [((40_001,), 0), ((560, 600), 1), ((70, 256), 1), ((313, 64), 0), ((3, 99, 32), 1)]


def draw(dtype, shape, spread):
    """Return elements of `spread` different values; true ones are any byte but 0."""
    rng = np.random.default_rng(spread)
    values = rng.integers(-128, -128 + spread, shape).astype(np.int8).view(np.uint8)
    values[rng.random(shape) < 0.4] = 0
    return values.view(dtype)


@pytest.mark.parametrize(
    ("dtype", "shape", "axis"),
    [
        (dtype, *case)
        for dtype, cases in ((np.int8, CASES), (np.uint8, CASES[::2]), (np.bool_, CASES[1:4]))
        for case in cases
    ],
)
def test_places_of_equal_bytes(dtype, shape, axis):
    for spread in (1, 3, 256):
        x = draw(dtype, shape, spread)
        numbers = x.view(np.uint8) != 0 if dtype is np.bool_ else x
        for function in (np.argmax, np.argmin):
            first = function(numbers, axis)
            last = shape[axis] - 1 - function(np.flip(numbers, axis), axis)
            name = function.__name__
            np.testing.assert_array_equal(ck.reduce(x, name, axis), first)
            np.testing.assert_array_equal(ck.reduce(x, name, axis, last_index=True), last)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.bool_])
@pytest.mark.parametrize(("shape", "axis"), CASES[::2])
def test_sums_of_bytes(dtype, shape, axis):
    x = draw(dtype, shape, 256)
    numbers = (x.view(np.uint8) != 0 if dtype is np.bool_ else x).astype(np.int64)
    own = abs(numbers) if dtype is not np.int8 else abs(x).astype(np.int64)  # of -128, itself
    for function, terms in (("sum", numbers), ("l1", own), ("sum_square", numbers**2)):
        found = ck.reduce(x, function, axis, dtype="int64")
        np.testing.assert_array_equal(found, terms.sum(axis))
    found = ck.reduce(x, "l1", axis, dtype="float64")
    np.testing.assert_array_equal(found, abs(numbers).sum(axis))
    np.testing.assert_array_equal(
        ck.reduce(x, "average", axis, dtype="float64"), numbers.mean(axis)
    )
