"""reduce where a rule decides: ties, NaN, infinities, limits of types, initial values, no elements.

Tables have x, the function, its options, and the result.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import cudakern as ck
from tests.helpers.places import get, put, same_bytes
from tests.helpers.reduce import EXTREMES, FUNCTIONS, OF_NOTHING, is_legal, reduce, result_dtype
from tests.helpers.rows import each
from tests.helpers.samples import covering, sample
from tests.helpers.strategies import DTYPES, random_bytes

pytestmark = pytest.mark.device

COUNTING = ["sum", "l1", "sum_square"]
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = ["float32", "float64", "float16", BFLOAT16]
NAN, INF = np.nan, np.inf
IGNORE = {"nan": "ignore"}
LAST = {"last_index": True}
BOTH = {**IGNORE, **LAST}

TIES = [
    ([7, 7, 7], "argmax", LAST, 2),
    ([[[1, 9], [9, 1]], [[5, 5], [9, 5]]], "argmax", LAST, 6),
    ([3, 2, 1, 2, 3], "argmax", LAST, 4),
    ([1, 2, 3, 2, 1], "argmin", LAST, 4),
    ([[1, 2, 3], [3, 0, 4], [2, 5, 2]], "argmin", {"axis": 1}, [0, 1, 0]),
    # Positions count row by row within the reduced axes, in whatever order these are given.
    ([[[1, 9], [9, 1]], [[5, 5], [9, 5]]], "argmax", {"axis": (0, 2)}, [1, 0]),
    ([[[1, 9], [9, 1]], [[5, 5], [9, 5]]], "argmax", {"axis": (2, 0), **LAST}, [1, 2]),
    ([[[1, 9], [9, 1]], [[5, 5], [9, 5]]], "argmin", {"axis": (1, 0), **LAST}, [0, 1]),
]

NANS = [
    ([1, NAN, 3], "max", {}, NAN),
    ([1, NAN, 3, NAN], "argmax", {}, 1),
    ([1, NAN, 3, NAN], "max", IGNORE, 3),
    ([NAN, 1, NAN, 3, 1, NAN], "argmin", BOTH, 4),
    ([NAN, -INF, NAN, -INF, NAN], "argmax", BOTH, 3),
    ([NAN, NAN], "max", IGNORE, NAN),
    ([NAN, NAN], "argmax", {}, 0),
    ([NAN, NAN], "argmin", BOTH, 0),
    ([INF, INF], "argmin", BOTH, 1),
    ([[NAN, 2], [1, NAN], [NAN, NAN]], "max", {"axis": 1, **IGNORE}, [2, 1, NAN]),
    ([-INF, NAN], "log_sum_exp", {}, NAN),
    ([0, NAN], "multiply", {}, NAN),
    *(([1, NAN], f, {}, NAN) for f in FUNCTIONS if f not in EXTREMES),
]
ZEROS_AND_INFINITIES = [
    ([0.0, -0.0], "argmin", {}, 0),
    ([-0.0, 0.0, -0.0], "argmin", LAST, 2),
    ([-0.0, 0.0], "max", {}, 0),
    ([1, INF, -INF], "sum", {}, NAN),
    ([1, -INF, INF], "l1", {}, INF),
    ([1, -INF], "log_sum", {}, NAN),
    ([INF, -INF], "log_sum_exp", {}, INF),
    ([-INF, 3], "log_sum_exp", {}, 3),
    ([0, -INF], "multiply", {}, NAN),
    ([1, -INF, INF], "argmin", {}, 1),
    ([0, 0], "log_sum", {}, -INF),
    ([-1, -3], "log_sum", {}, NAN),
    # Over no axes, each element is reduced.
    *(([-2.5], f, {"axis": ()}, [-2.5]) for f in ("sum", "average", "multiply", "max", "min")),
    *(([-2.5], f, {"axis": ()}, [2.5]) for f in ("l1", "l2")),
    *(([-2.5], f, {"axis": ()}, [0]) for f in ("argmax", "argmin")),
    ([-2.5], "sum_square", {"axis": ()}, [6.25]),
    ([-2.5], "log_sum", {"axis": ()}, [NAN]),
    ([[-2.5], [0.5]], "log_sum_exp", {"axis": ()}, [[-2.5], [0.5]]),
]


def subnormals(least):
    """Return exact reductions of or to subnormal numbers, for the least normal one of a type."""
    least = float(least)
    a, b, c, root = least / 4, least / 2, 3 * least / 2, least**0.5 / 2
    return [
        ([-a, 0, -b], "argmax", {}, 1),
        ([NAN, 0, a], "argmax", IGNORE, 2),
        ([-a, -b], "max", {}, -a),
        ([a, b], "sum", {}, a + b),
        ([c, -least], "sum", {}, b),
        ([a, b, -least], "l1", {}, a + b + least),
        ([least, 0], "average", {}, b),
        ([b, 4], "multiply", {}, 2 * least),
        ([root, -root, root], "sum_square", {}, a + b),
        ([root, root, -root, root], "l2", {}, 2 * root),
        ([a], "log_sum_exp", {}, a),
        ([a, -b], "sum", {"initial": least}, c - a - b),
        ([a, -b], "max", {"initial": 0.0}, a),
        ([a, 1], "multiply", {"initial": -2}, -b),
    ]


def complex_subnormals(least):
    """Return the same for the parts of complex numbers."""
    least = float(least)
    a, b, root = least / 4, least / 2, least**0.5 / 2
    return [
        ([complex(a, b), complex(a, -a)], "sum", {}, complex(b, a)),
        ([complex(least, a), complex(0, a)], "average", {}, complex(b, a)),
        ([complex(a, b), 2j], "multiply", {}, complex(-least, b)),
        ([complex(0, root), complex(0, root)], "sum_square", {}, -b),
        ([complex(0, root), complex(0, root), root, root], "l2", {}, 2 * root),
    ]


NONE_SOME_ALL = [[0, 0, 0], [0, 1, 1], [1, 1, 1]]
#: With the dtype of x: ties go to even, and a result is rounded once.
ROUNDED = [
    ([65_504, 16], "float16", "sum", {}, INF),
    ([2048, 2050], "float16", "average", {}, 2048),
    ([256, 1, 1], BFLOAT16, "sum", {}, 258),
    ([256, 1], BFLOAT16, "sum", {}, 256),
    ([256, 3], BFLOAT16, "l1", {}, 260),
    ([1, 2.0**-24, -1], "float32", "sum", {"dtype": "float64"}, 2.0**-24),
    ([2051, 0], "int32", "max", {"dtype": "float16"}, 2052),
    ([257, 259], "int32", "min", {"dtype": BFLOAT16}, 256),
    # Half a unit in the last place of the narrow type and a bit: one rounding, not two.
    ([1 + 2.0**-11 + 2.0**-40], "float64", "sum", {"dtype": "float16"}, 1 + 2.0**-10),
    ([1 + 2.0**-11 - 2.0**-40], "float64", "sum", {"dtype": "float16"}, 1),
    ([1 + 2.0**-8 + 2.0**-40], "float64", "sum", {"dtype": BFLOAT16}, 1 + 2.0**-7),
    # Half-way between subnormal numbers of the narrow type.
    ([3 * 2.0**-25], "float32", "max", {"dtype": "float16"}, 2.0**-23),
    ([3 * 2.0**-134], "float32", "sum", {"dtype": BFLOAT16}, 2.0**-132),
    ([3 * 2.0**-150], "float64", "sum", {"dtype": "float32"}, 2.0**-148),
]
#: With the dtype of x.
LIMITS = [
    (NONE_SOME_ALL, "bool", "max", {"axis": 1}, [False, True, True]),
    *((NONE_SOME_ALL, "bool", f, {"axis": 1}, [0, 2, 3]) for f in COUNTING),
    *((NONE_SOME_ALL, "bool", f, {"axis": 1, "dtype": "bool"}, [0, 1, 1]) for f in COUNTING),
    (NONE_SOME_ALL, "bool", "average", {"axis": 1}, [0, 2 / 3, 1]),
    ([1e30, 1e30], "float32", "l2", {}, INF),
    ([3e38, -3e38], "float32", "log_sum_exp", {}, np.float32(3e38)),
    ([2**31 - 1, 1], "int32", "sum", {}, -(2**31)),
    ([2**31 - 1, 1], "int32", "sum", {"dtype": "float32"}, 2.0**31),
    ([2**63 - 1, 1], "int64", "sum", {}, -(2**63)),
    ([-(2**31), 3], "int32", "sum_square", {"dtype": "int64"}, 2**62 + 9),
    # The sum of |x| is exact, and wraps in the type of the result.
    ([-128, 1], "int8", "l1", {"dtype": "int64"}, 129),
    ([-(2**63), -1], "int64", "l1", {"dtype": "uint64"}, 2**63 + 1),
    ([2**53, 2**53 + 1], "int64", "argmax", {}, 1),
    ([3 + 4j, 12j - 0], "complex128", "l2", {"dtype": "float64"}, 13),
    ([3 + 4j, 2j], "complex64", "sum_square", {}, -11 + 24j),
]

#: With the dtype of x, and the initial value.
INITIAL = [
    # Integers wrap, in the type of the result.
    ([100, 100], "int8", "sum", 100, {}, 44),
    ([5, 7], "int8", "multiply", -3, {}, -105),
    ([1, 1, 1], "bool", "sum", 40, {}, 43),
    ([0, 0], "bool", "sum", True, {"dtype": "bool"}, True),
    # Values of the result's type are compared.
    ([1, -5], "int8", "max", 1.5, {"dtype": "float64"}, 1.5),
    ([-1, -2], "int64", "max", 5, {"dtype": "uint64"}, 2**64 - 1),
    # One rounding: what is added up has more digits than the result.
    ([2048, 1], "float16", "sum", 1, {}, 2050),
    ([1, 2.0**-24], "float64", "sum", 2.0**-24, {"dtype": "float32"}, 1 + 2.0**-23),
    # Complex numbers, of which nothing is lost if x is real.
    ([1j, 2], "complex64", "sum", 3 + 1j, {}, 5 + 2j),
    ([2, 3], "float32", "sum", 1 - 2j, {"dtype": "complex64"}, 6 - 2j),
    # NaN and infinities.
    ([1, 2], "float32", "max", NAN, {}, NAN),
    ([1, NAN], "float32", "max", 5, {}, NAN),
    ([NAN, NAN], "float32", "max", 5, IGNORE, 5),
    ([1, 2], "int32", "max", NAN, {"dtype": "float32"}, NAN),
    ([0, 3], "float32", "multiply", INF, {}, NAN),
]
LIMITS += [(x, dtype, f, {**o, "initial": i}, result) for x, dtype, f, i, o, result in INITIAL]
LEGAL = [(f, dtype) for f in FUNCTIONS for dtype in DTYPES if is_legal(f, dtype)]


def check(place, x, dtype, function, options, expected):
    """Hold a result against a literal, and its dtype against that of x or another.

    x is there three times, next to each other: few kernels have to be compiled so.
    """
    x = np.array(x, dtype)
    axes = options.get("axis", tuple(range(x.ndim)))
    axes = tuple(d % x.ndim for d in (axes if isinstance(axes, tuple) else (axes,)))
    columns = put(np.stack([x] * 3, -1), place)
    result = get(ck.reduce(columns, function, **{**options, "axis": axes}))
    assert result.dtype == options.get("dtype", result_dtype(function, dtype))
    values = np.asarray(result, object if result.dtype.kind in "iub" else np.complex128)
    np.testing.assert_array_equal(values, np.stack([expected] * 3, -1))


@each("dtype", sample(["float32", "uint8"], 2))
@each(("x", "function", "options", "expected"), TIES)
def test_ties(place, x, function, options, expected, dtype):
    check(place, x, dtype, function, options, expected)


@each("start", range(5))
def test_every_element_of_a_row_is_taken_once(place, start):
    """A row may begin and end anywhere in a vector of 16 bytes."""
    for size in range(5000, 5005):
        x = put(np.ones((2, size), np.float32), place)[:, start:]
        assert get(ck.reduce(x, "sum", 1)).tolist() == [size - start] * 2


FAR = [(1, (2, 90_000)), (0, (900, 5))]


@each(("far", "call"), covering(FAR, [("argmax", -INF), ("argmin", INF), ("argmax", 1)]))
def test_ties_far_apart(place, far, call):
    """No value is worse than an infinity, not even that of threads without an element."""
    (axis, shape), (function, value) = far, call
    x = put(np.full(shape, value, np.float32), place)
    assert not get(ck.reduce(x, function, axis)).any()
    assert (get(ck.reduce(x, function, axis, last_index=True)) == shape[axis] - 1).all()


@each(
    ("x", "function", "options", "expected", "dtype"),
    [
        (*case, dtype)
        for k, case in enumerate(NANS + ZEROS_AND_INFINITIES)
        for dtype in (["float32"] if case[2] or k % 6 else sample(FLOATS, 3, k % 4))
    ],
)
def test_nan_and_infinities(place, x, function, options, expected, dtype):
    check(place, x, dtype, function, options, expected)


SUBNORMALS = [(dtype, *case) for dtype in FLOATS for case in
              subnormals(ml_dtypes.finfo(dtype).smallest_normal)]  # fmt: skip
SUBNORMALS += [(dtype, *case) for dtype in ("complex64", "complex128") for case in
               complex_subnormals(np.finfo(dtype).smallest_normal)]  # fmt: skip


@each(("dtype", "x", "function", "options", "expected"), sample(SUBNORMALS, 7))
def test_subnormal_numbers(place, dtype, x, function, options, expected):
    check(place, x, dtype, function, options, expected)


@each(("far", "call"), covering(FAR, [("max", {}), ("argmax", {}), ("argmin", BOTH)]))
def test_one_nan_among_many(place, far, call):
    (axis, shape), (function, options) = far, call
    rng = np.random.default_rng(6)
    for _ in range(5):
        x = rng.random(shape, np.float32)
        x.reshape(-1)[rng.integers(x.size)] = NAN
        result = ck.reduce(put(x, place), function, axis, **options)
        reduce(x, function, axis, **options).assert_is(result)


@each(("x", "dtype", "function", "options", "expected"), ROUNDED + sample(LIMITS, 4))
def test_limits_of_types(place, x, dtype, function, options, expected):
    check(place, x, dtype, function, options, expected)


@pytest.mark.device(on=False)  # of kernels
@each(("function", "dtype"), LEGAL)
def test_no_elements(place, function, dtype, launches):
    x = put(np.empty((3, 0, 2), dtype), place)
    for axis, shape in ((1, (3, 2)), (None, ()), ((0, 1), (2,)), ((1, 2), (3,))):
        if function not in OF_NOTHING:
            with pytest.raises(ck.DescriptorError, match=f"x .* {function}, which has no identity"):
                ck.reduce(x, function, axis)
            continue
        result = get(ck.reduce(x, function, axis))
        assert result.dtype == result_dtype(function, dtype)
        assert result.shape == shape
        real = np.asarray(result.real, np.float64)
        np.testing.assert_array_equal(real, np.full(shape, OF_NOTHING[function]))
    for axis, shape in ((0, (0, 2)), (2, (3, 0)), ((0, 2), (0,)), ((), (3, 0, 2))):
        assert ck.reduce(x, function, axis).shape == shape
    assert ck.reduce(x, function, 2, keepdims=True).shape == (3, 0, 1)
    assert not launches


@each("dtype", DTYPES)
@each("function", ["max", "min", "multiply", "sum"])
def test_results_of_no_elements_have_its_bytes(place, function, dtype, launches):
    if not is_legal(function, dtype):
        dtype = np.dtype(dtype).type(0).real.dtype
    kind, rng = result_dtype(function, dtype), np.random.default_rng(22)
    x = put(np.empty((3, 0, 2), dtype), place)
    for initial in random_bytes(rng, (5,), kind, subnormal=0.5):
        for axis, shape in ((1, (3, 2)), (None, ()), ((0, 1), (2,)), (0, (0, 2))):
            expected, memory = np.full(shape, initial, kind), np.zeros((*shape, 2), kind)
            assert same_bytes(ck.reduce(x, function, axis, initial=initial), expected)
            out = put(memory, place)
            ck.reduce(x, function, axis, initial=initial, out=out[..., 1])
            memory[..., 1] = expected
            assert same_bytes(out, memory)
    assert not launches


def test_a_call_without_it_is_another_one(place):
    x = put(np.empty((0, 3), np.float32), place)
    for _ in range(2):
        assert get(ck.reduce(x, "min", 0, initial=4)).tolist() == [4, 4, 4]
        with pytest.raises(ck.ArgumentError, match="x must have elements for min"):
            ck.reduce(x, "min", 0)
        assert get(ck.reduce(x, "average", 1)).size == 0
        with pytest.raises(ck.ArgumentError, match="initial must be None for average; got 4"):
            ck.reduce(x, "average", 1, initial=4)


def test_equal_values_of_different_bytes_are_told_apart(place):
    x = put(np.full((2, 3), -1, np.float32), place)
    zeros = [0.0, -0.0, 0, -0.0, False, np.float32(-0.0), np.zeros(()), np.array(-0.0), None, 0.0]
    for initial in zeros:
        result = get(ck.reduce(x, "max", 1, initial=initial))
        expected = [-1, -1] if initial is None else [initial, initial]
        assert same_bytes(result, np.array(expected, np.float32)), initial


def test_a_value_is_planned_once(place, plans):
    x = put(np.ones((2, 3), np.float32), place)
    for initial in (np.nan, -np.nan, 1, 1.0, True, np.int8(1), float("nan")):
        ck.reduce(x, "sum", 1, initial=initial)
    signs = {np.signbit(np.float32(value)).item() for value in (np.nan, -np.nan)}
    assert len(plans) == 1 + len(signs)


@each("kind", [int, float, "i8", "f2", "u1", ml_dtypes.bfloat16, np.array])
def test_any_scalar_will_do(place, kind):
    initial = kind(3) if callable(kind) else np.dtype(kind).type(3)
    assert get(ck.reduce(put(np.ones(4, np.float32), place), "sum", initial=initial)).item() == 7
