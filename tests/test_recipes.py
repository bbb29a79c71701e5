"""The recipes of the operators' page on other data, compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.places import get, library, put
from tests.helpers.programs import IN_A_PAGE
from tests.helpers.readmes import blocks, section
from tests.helpers.rows import each

RECIPES = section("cudakern/operators/README.md", "## Recipes")
RNG = np.random.default_rng(12)

pytestmark = pytest.mark.device


@pytest.fixture
def recipe(place):
    """Return a function that returns a recipe's function, for arrays in a place."""
    imported = f"import {library(place).__name__} as xp\n"

    def find(name):
        (code,) = (code for code, _ in blocks(RECIPES) if f"def {name}(" in code)
        namespace = {}
        exec(compile(code.replace(IN_A_PAGE, imported), "README", "exec"), namespace)  # noqa: S102  ours
        return namespace[name]

    return find


def assert_equal(found, expected):
    np.testing.assert_array_equal(get(found), expected, strict=True)


@each("size", [0, 1, 31, 32, 33, 1025, 4000])
@each("count", [1, 40])
@each("features", [(), (3,)])
def test_segments(place, recipe, size, count, features):
    keys = RNG.integers(0, count, size)
    keys = np.sort(np.where(RNG.random(size) < 0.7, count // 2, keys))  # one segment is far longer
    x = RNG.integers(-9, 10, (size, *features)).astype(np.float32)
    ends = np.searchsorted(keys, np.arange(count), side="right")
    total = np.zeros((count, *features), np.float32)
    most = np.full((count, *features), -np.inf, np.float32)
    np.add.at(total, keys, x)
    np.maximum.at(most, keys, x)
    reduce_segments, given = recipe("reduce_segments"), (put(x, place), put(ends, place))
    assert_equal(reduce_segments(*given, "sum", 0), total)
    assert_equal(reduce_segments(*given, "max", -np.inf), most)


@each("axis", [0, 1, -1])
def test_take_along_axis(place, recipe, axis):
    x = RNG.standard_normal((4, 5, 6), np.float32)
    shape = [*x.shape]
    shape[axis] = 9
    indices = RNG.integers(-x.shape[axis], x.shape[axis], shape)
    given = put(x, place), put(indices, place), axis
    found = recipe("take_along_axis")(*given, mode="raise")
    assert_equal(found, np.take_along_axis(x, indices, axis))


def largest(row, k):
    """Return the k largest numbers of a row, and where they are; NaN and -1 for those missing."""
    numbers = [j for j in range(len(row)) if row[j] == row[j]]
    chosen = sorted(numbers, key=lambda j: (-row[j], j))[:k]
    missing = k - len(chosen)
    return [*row[chosen], *[np.nan] * missing], [*chosen, *[-1] * missing]


@each("shape", [(5,), (6, 1), (3, 4, 40), (2, 0, 3)])
@each("k", [1, 2, 5])
@each("dtype", ["float16", "float32", "float64"])
def test_top_k(place, recipe, shape, k, dtype):
    x = RNG.choice([-np.inf, -2, -0.0, 0.0, 1, 3, np.inf, np.nan], shape).astype(dtype)
    pairs = [largest(row, k) for row in x.reshape(-1, shape[-1])]
    values, positions = recipe("top_k")(put(x, place), k)
    wanted = (*shape[:-1], k)
    assert_equal(values, np.array([pair[0] for pair in pairs], dtype).reshape(wanted))
    assert_equal(positions, np.array([pair[1] for pair in pairs], int).reshape(wanted))
    kept = put(x, place)
    recipe("top_k")(kept, k)
    assert_equal(kept, x)


@each(("axis", "keepdims"), [(None, False), (0, True), (-1, False), ((0, 2), False), ((), True)])
@each("ddof", [0, 1])
@each("dtype", ["bool", "int8", "uint64", "float16", "float32", "float64", "complex64"])
def test_variance(place, recipe, axis, keepdims, ddof, dtype):
    x = RNG.integers(0, 100, (5, 6, 70)).astype(dtype)
    if x.dtype.kind == "c":
        x += RNG.integers(0, 100, x.shape) * 1j
    if axis == () and ddof:
        return  # no number is left
    found = get(library(place).asarray(recipe("variance")(put(x, place), axis, ddof, keepdims)))
    exact = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    expected = exact.var(axis, ddof=ddof, keepdims=keepdims)
    assert found.dtype == np.promote_types(abs(x[:0]).dtype, np.float32)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=32 * np.finfo(found.dtype).eps)


def test_equal_rows_have_equal_variances(place, recipe):
    rows = np.tile(RNG.standard_normal(1000, np.float32) + 1000, (7, 1))
    variance = recipe("variance")
    of_rows = get(variance(put(rows, place), 1))
    of_columns = get(variance(put(rows.T.copy(), place).T[:3], 1))
    np.testing.assert_allclose(of_rows[0], rows[0].astype(float).var(), rtol=1e-5)
    assert len({*of_rows.tolist(), *of_columns.tolist()}) == 1


@each("axis", [0, -1])
def test_masked_softmax(place, recipe, axis):
    x = (RNG.standard_normal((6, 33)) * 300).astype(np.float32)
    mask = RNG.random(x.shape) < 0.4
    mask[2] = mask[:, 5] = False
    found = get(recipe("masked_softmax")(put(x, place), put(mask, place), axis))
    wide = np.where(mask, x.astype(np.float64), -np.inf)
    largest = wide.max(axis, keepdims=True)
    powers = np.exp(wide - np.where(np.isfinite(largest), largest, 0))
    expected = powers / np.maximum(powers.sum(axis, keepdims=True), np.finfo(float).tiny)
    assert found.dtype == np.float32
    assert (found[~mask] == 0).all()
    # The difference of numbers up to 1000 loses its last bits.
    np.testing.assert_allclose(found, expected, rtol=2000 * np.finfo(np.float32).eps, atol=1e-30)
