"""reduce with an initial value, which takes part in each result once."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import cudakern as ck
from cudakern._dtypes import bfloat16
from tests.helpers.places import Buffer, get, put, same_bytes
from tests.helpers.reduce import is_legal, reduce, result_dtype
from tests.helpers.reduce_cases import random_values
from tests.helpers.samples import covering
from tests.helpers.strategies import DTYPES, random_bytes
from tests.operators.reduce import test_kernels
from tests.operators.reduce.tables import INITIAL, initial_subnormals
from tests.operators.reduce.test_edges import FLOATS, check
from tests.operators.reduce.test_kernels import CASES

FUNCTIONS = ["max", "min", "multiply", "sum"]
#: Blocks share small results.
plans = test_kernels.plans


@pytest.mark.parametrize(("name", "function"), covering(CASES, FUNCTIONS))
def test_dtypes_in_every_variant(place, plans, name, function):
    """Each variant takes one or two dtypes, all together take all; sums take float32, too."""
    variant, shape, axis, view, shared = CASES[name]
    rng = np.random.default_rng(21)
    first = ([*CASES].index(name) + 3 * FUNCTIONS.index(function)) % len(CASES)
    legal = [dtype for dtype in DTYPES if is_legal(function, dtype)]
    for dtype in [*legal[first :: len(CASES)], *["float32"] * (function == "sum")]:
        kind = result_dtype(function, dtype)
        x = put(random_values(rng, shape, dtype, function), place)[view]
        nan = "ignore" if function in {"max", "min"} and rng.random() < 0.5 else "propagate"
        initial = random_values(rng, (), kind, function)[()]
        found = ck.reduce(x, function, axis, initial=initial, nan=nan)
        reduce(get(x), function, axis, initial=initial, nan=nan).assert_is(found)
        if dtype == "float32":
            assert (plans[-1].variant, bool(plans[-1].workspace)) == (variant, shared)
            assert "_initial_" in plans[-1].kernel.entry


@pytest.mark.parametrize(("name", "dtype"), covering(CASES, ["float32", "int32"]))
def test_it_takes_part_once(place, plans, name, dtype):
    variant, shape, axis, view, shared = CASES[name]
    ones = np.ones(shape, dtype)[view]
    found = get(ck.reduce(put(np.ones(shape, dtype), place)[view], "sum", axis, initial=1000))
    np.testing.assert_array_equal(found, ones.sum(axis, initial=1000, dtype=dtype))
    twos = ck.reduce(put(np.ones(shape, dtype), place)[view], "multiply", axis, initial=2)
    assert (get(twos) == 2).all()
    assert (plans[-1].variant, bool(plans[-1].workspace)) == (variant, shared)


@pytest.mark.parametrize(
    ("x", "dtype", "function", "initial", "options", "expected"), INITIAL, ids=str
)
def test_what_it_is_combined_in(place, x, dtype, function, initial, options, expected):
    options = {**options, "initial": initial}
    check(place, x, dtype, function, options, expected, options.get("dtype"))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_subnormal_numbers(place, dtype):
    for x, function, initial, expected in initial_subnormals(
        ml_dtypes.finfo(dtype).smallest_normal
    ):
        check(place, x, dtype, function, {"initial": initial}, expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_of_no_elements_have_its_bytes(place, function, dtype, launches):
    if not is_legal(function, dtype):
        dtype = np.dtype(dtype).type(0).real.dtype
    kind, rng = result_dtype(function, dtype), np.random.default_rng(22)
    x = put(np.empty((3, 0, 2), dtype), place)
    for initial in random_bytes(rng, (5,), kind, subnormal=0.5):
        for axis, shape in ((1, (3, 2)), (None, ()), ((0, 1), (2,)), (0, (0, 2))):
            found = ck.reduce(x, function, axis, initial=initial)
            assert same_bytes(found, np.full(shape, initial, kind))
    assert not launches


def test_results_of_no_elements_into_out(place):
    out = put(np.full((4, 6), 7, np.float32), place)
    x = put(np.empty((4, 0), np.float32), place)
    for function in FUNCTIONS:
        ck.reduce(x, function, 1, initial=-2.5, out=out[:, 3])
        expected = np.full((4, 6), 7, np.float32)
        expected[:, 3] = -2.5
        assert (get(out) == expected).all()
    found = ck.reduce(x, "max", 1, initial=2.5, dtype="complex64", keepdims=True)
    assert same_bytes(found, np.full((4, 1), 2.5, np.complex64))


def test_a_call_without_it_is_another_one(place):
    x = put(np.empty((0, 3), np.float32), place)
    for _ in range(2):
        assert get(ck.reduce(x, "min", 0, initial=4)).tolist() == [4, 4, 4]
        with pytest.raises(ck.ArgumentError, match="x must have elements for min"):
            ck.reduce(x, "min", 0)
        assert get(ck.reduce(x, "average", 1)).size == 0
        with pytest.raises(ck.ArgumentError, match="initial must be None for average; got 4"):
            ck.reduce(x, "average", 1, initial=4)


def test_x_that_is_not_aligned(place):
    x = Buffer(b"-" + np.arange(6, dtype=np.float32).tobytes(), place).view((6,), "f4", offset=1)
    assert get(ck.reduce(x, "sum", initial=0.5)).item() == 15.5


def test_equal_values_of_different_bytes_are_told_apart(place):
    x = put(np.full((2, 3), -1, np.float32), place)
    zeros = [0.0, -0.0, 0, -0.0, False, np.float32(-0.0), np.zeros(()), np.array(-0.0), None, 0.0]
    for initial in zeros:
        found = get(ck.reduce(x, "max", 1, initial=initial))
        expected = [-1, -1] if initial is None else [initial, initial]
        assert same_bytes(found, np.array(expected, np.float32)), initial


def test_a_value_is_planned_once(place, plans):
    x = put(np.ones((2, 3), np.float32), place)
    for initial in (np.nan, -np.nan, 1, 1.0, True, np.int8(1), float("nan")):
        ck.reduce(x, "sum", 1, initial=initial)
    signs = {np.signbit(np.float32(value)).item() for value in (np.nan, -np.nan)}
    assert len(plans) == 1 + len(signs)


@pytest.mark.parametrize(
    "initial",
    [3, 3.0, True + 2, np.int64(3), np.float16(3), np.uint8(3), np.array(3)],
    ids=repr,
)
def test_any_scalar_will_do(place, initial):
    x = put(np.ones(4, np.float32), place)
    assert get(ck.reduce(x, "sum", initial=initial)).item() == 7
    if bfloat16() is not None:
        assert get(ck.reduce(x, "sum", initial=bfloat16().type(3))).item() == 7


def test_keepdims_and_a_strided_out(place):
    x = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
    out = put(np.zeros((3, 8, 5), np.int32), place)[:, ::8]
    found = ck.reduce(put(x, place), "max", 1, keepdims=True, initial=30, out=out)
    assert found is out
    assert (get(out) == x.max(1, keepdims=True, initial=30)).all()
    assert (get(ck.reduce(x, "sum", (), initial=9)) == x + 9).all()


def test_initial_counts_as_numpys():
    x = np.random.default_rng(23).integers(-9, 9, (4, 5, 6))
    for axis in (None, 0, (0, 2), ()):
        for initial in (-3, 100):
            for name, function in (("sum", np.sum), ("multiply", np.prod), ("max", np.max),
                                   ("min", np.min)):  # fmt: skip
                found = ck.reduce(x, name, axis, initial=initial)
                np.testing.assert_array_equal(found, function(x, axis, initial=initial))
