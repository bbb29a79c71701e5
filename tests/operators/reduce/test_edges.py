"""reduce where a rule decides: ties, NaN, zeros, infinities, overflow, axes, and no elements."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import cudakern as ck
from cudakern._dtypes import bfloat16
from tests.helpers.places import get, put
from tests.helpers.reduce import FUNCTIONS, is_legal, reduce, result_dtype
from tests.helpers.strategies import DTYPES
from tests.operators.reduce.tables import (
    BOTH,
    INF,
    LIMITS,
    NAN,
    NANS,
    TIES,
    ZEROS_AND_INFINITIES,
    complex_subnormals,
    subnormals,
)

FLOATS = ["float32", "float64", "float16", bfloat16() or "float16"]
LEGAL = [(f, dtype) for f in FUNCTIONS for dtype in DTYPES if is_legal(f, dtype)]


def check(place, x, dtype, function, options, expected, kind=None):
    """Hold a result against a literal, and its dtype against that of x or another.

    x is there three times, next to each other: few kernels have to be compiled so.
    """
    x = np.array(x, dtype)
    axes = options.get("axis", tuple(range(x.ndim)))
    axes = tuple(d % x.ndim for d in (axes if isinstance(axes, tuple) else (axes,)))
    columns = put(np.stack([x] * 3, -1), place)
    result = get(ck.reduce(columns, function, **{**options, "axis": axes}))
    assert result.dtype == (result_dtype(function, dtype) if kind is None else kind)
    found = np.asarray(result, object if result.dtype.kind in "iub" else np.complex128)
    np.testing.assert_array_equal(found, np.stack([expected] * 3, -1))


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize(("x", "function", "options", "expected"), TIES)
def test_ties(place, x, function, options, expected, dtype):
    check(place, x, dtype, function, options, expected)


@pytest.mark.parametrize("start", range(5))
def test_every_element_of_a_row_is_taken_once(place, start):
    """A row may begin and end anywhere in a vector of 16 bytes."""
    for size in range(5000, 5005):
        x = put(np.ones((2, size), np.float32), place)[:, start:]
        assert get(ck.reduce(x, "sum", 1)).tolist() == [size - start] * 2


FAR = pytest.mark.parametrize(("axis", "shape"), [(1, (2, 90_000)), (0, (900, 5))], ids=str)


@FAR
@pytest.mark.parametrize(("function", "value"), [("argmax", -INF), ("argmin", INF), ("argmin", 1)])
def test_ties_far_apart(place, axis, shape, function, value):
    """No value is worse than an infinity, not even that of threads without an element."""
    x = put(np.full(shape, value, np.float32), place)
    assert not get(ck.reduce(x, function, axis)).any()
    assert (get(ck.reduce(x, function, axis, last_index=True)) == shape[axis] - 1).all()


@pytest.mark.parametrize(
    ("x", "function", "options", "expected", "dtype"),
    [
        (*case, dtype)
        for case in NANS + ZEROS_AND_INFINITIES
        for dtype in (["float32"] if case[2] else FLOATS)
    ],
)
def test_nan_and_infinities(place, x, function, options, expected, dtype):
    check(place, x, dtype, function, options, expected)


SUBNORMALS = [(dtype, *case) for dtype in FLOATS for case in
              subnormals(ml_dtypes.finfo(dtype).smallest_normal)]  # fmt: skip
SUBNORMALS += [(dtype, *case) for dtype in ("complex64", "complex128") for case in
               complex_subnormals(np.finfo(dtype).smallest_normal)]  # fmt: skip


@pytest.mark.parametrize(("dtype", "x", "function", "options", "expected"), SUBNORMALS, ids=str)
def test_subnormal_numbers(place, dtype, x, function, options, expected):
    check(place, x, dtype, function, options, expected)


@FAR
@pytest.mark.parametrize(("function", "options"), [("max", {}), ("argmax", {}), ("argmin", BOTH)])
def test_one_nan_among_many(place, axis, shape, function, options):
    rng = np.random.default_rng(6)
    for _ in range(5):
        x = rng.random(shape, np.float32)
        x.reshape(-1)[rng.integers(x.size)] = NAN
        result = ck.reduce(put(x, place), function, axis, **options)
        reduce(x, function, axis, **options).assert_is(result)


@pytest.mark.parametrize(("x", "dtype", "function", "options", "expected"), LIMITS)
def test_limits_of_types(place, x, dtype, function, options, expected):
    check(place, x, dtype, function, options, expected, options.get("dtype"))


@pytest.mark.parametrize(
    ("function", "none", "some", "every"),
    [
        ("max", False, True, True),
        ("min", False, False, True),
        ("multiply", False, False, True),
        ("sum", 0, 2, 3),
        ("l1", 0, 2, 3),
        ("sum_square", 0, 2, 3),
        ("average", 0.0, 2 / 3, 1.0),
        ("l2", 0.0, 2**0.5, 3**0.5),
        ("argmax", 0, 1, 0),
        ("argmin", 0, 0, 0),
    ],
)
def test_bool(place, function, none, some, every):
    rows = put(np.array([[0, 0, 0], [0, 1, 1], [1, 1, 1]], bool), place)
    found = get(ck.reduce(rows, function, 1))
    np.testing.assert_allclose(found, [none, some, every], rtol=1e-15)
    assert found.dtype == result_dtype(function, bool)


def test_bool_is_true_if_any_bit_is_set(place):
    x = put(np.array([[0, 1, 0], [2, 0, 0], [128, 255, 0]], np.uint8).view(bool), place)
    assert get(ck.reduce(x, "sum", 0)).tolist() == [2, 2, 0]
    for function in ("max", "multiply"):
        found = get(ck.reduce(x, function, 0))
        assert found.view(np.uint8).tolist() == ([1, 1, 0] if function == "max" else [0, 0, 0])


def test_bool_counts_whether_any_is_set(place):
    rows = put(np.array([[0, 0], [0, 1], [1, 1]], bool), place)
    for function in ("sum", "l1", "sum_square"):
        found = get(ck.reduce(rows, function, 1, dtype=bool))
        assert (found.dtype, found.tolist()) == (bool, [False, True, True])
    ones = put(np.ones(256, bool), place)
    assert get(ck.reduce(ones, "sum", dtype=bool)).item() is True
    assert int(ck.reduce(ones, "sum", dtype="uint8")) == 0


ALONE = {"sum": -2.5, "average": -2.5, "multiply": -2.5, "max": -2.5, "min": -2.5, "l1": 2.5,
         "l2": 2.5, "sum_square": 6.25, "log_sum": NAN, "log_sum_exp": -2.5, "argmax": 0,
         "argmin": 0}  # fmt: skip


@pytest.mark.parametrize("shape", [(3,), (2, 3), (1, 1, 5)], ids=str)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_axes_is_each_element(place, function, shape):
    x = put(np.full(shape, -2.5, np.float32), place)
    expected = np.full(shape, ALONE[function], result_dtype(function, np.float32))
    for keepdims in (False, True):
        found = get(ck.reduce(x, function, (), keepdims=keepdims))
        assert found.shape == shape
        np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize(
    ("function", "dtype"), [("argmax", "float32"), ("sum", "int8"), ("multiply", "complex128")]
)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)], ids=str)
def test_one_element(place, function, dtype, shape):
    x = np.full(shape, 3, dtype)
    for axis in (None, (), *range(len(shape))):
        for keepdims in (False, True):
            found = ck.reduce(put(x, place), function, axis, keepdims=keepdims)
            reduce(x, function, axis, keepdims=keepdims).assert_is(found)
    expected = 0 if function == "argmax" else 3
    assert get(ck.reduce(put(x, place), function)).item() == expected


@pytest.mark.parametrize("axis", [0, -1, (0,)])
def test_scalars_have_no_axis(place, axis):
    with pytest.raises(ck.ArgumentError) as caught:
        ck.reduce(put(np.array(1.5), place), "sum", axis)
    assert str(caught.value) == f"reduce: axis must be None or () for a scalar; got {axis}"


IDENTITIES = {"sum": 0, "l1": 0, "l2": 0, "sum_square": 0, "multiply": 1, "average": NAN,
              "log_sum": -INF, "log_sum_exp": -INF}  # fmt: skip


@pytest.mark.parametrize(("function", "dtype"), LEGAL, ids=str)
def test_no_elements(place, function, dtype, launches):
    x = put(np.empty((3, 0, 2), dtype), place)
    for axis, shape in ((1, (3, 2)), (None, ()), ((0, 1), (2,)), ((1, 2), (3,))):
        if function not in IDENTITIES:
            with pytest.raises(ck.DescriptorError, match=f"x .* {function}, which has no identity"):
                ck.reduce(x, function, axis)
            continue
        found = get(ck.reduce(x, function, axis))
        assert found.dtype == result_dtype(function, dtype)
        assert found.shape == shape
        real = np.asarray(found.real, np.float64)
        np.testing.assert_array_equal(real, np.full(shape, IDENTITIES[function]))
    for axis, shape in ((0, (0, 2)), (2, (3, 0)), ((0, 2), (0,)), ((), (3, 0, 2))):
        assert ck.reduce(x, function, axis).shape == shape
    assert ck.reduce(x, function, 2, keepdims=True).shape == (3, 0, 1)
    assert not launches


def test_no_elements_into_out(place):
    out = put(np.full((4, 6), 7, np.float32), place)
    ck.reduce(put(np.empty((4, 0), np.float32), place), "multiply", 1, out=out[:, 3])
    expected = np.full((4, 6), 7)
    expected[:, 3] = 1
    assert (get(out) == expected).all()
