"""Bad input to reduce: one line that names what is wrong, and nothing was launched."""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import cudakern as ck
from tests.helpers import fake_cupy
from tests.helpers.checked import PLAIN_AND_CHECKED_ONCE
from tests.helpers.places import HOST, POISON, get, put
from tests.helpers.refused import assert_named

pytestmark = PLAIN_AND_CHECKED_ONCE

X = np.array([[0, 1, 2], [3, 0, 5]], np.float32)
INTS = X.astype(np.int32)
COMPLEX = X.astype(np.complex64)
SCALAR = np.array(2.5, np.float32)
NAMES = "argmax, argmin, average, l1, l2, log_sum, log_sum_exp, max, min, multiply, sum, sum_square"
NO_ORDER = "for {}: complex numbers have no order; got complex64"


def call(x=X, function="sum", axis=None, **options):
    return lambda: ck.reduce(x, function, axis, **options)


def read_only(array):
    array.flags.writeable = False
    return array


OF_X = [
    ("strings", np.array(["a", "b"]), ck.DTypeError, "; got <U1"),
    ("dates", np.zeros(3, "M8[s]"), ck.DTypeError, "; got datetime64[s]"),
    ("foreign byte order", X.astype(">f4"), ck.DTypeError, "; got >f4"),
    ("foreign byte order of nothing", X[:0].astype(">i4"), ck.DTypeError, "; got >i4"),
    ("objects", np.array([object(), None]), ck.DTypeError, "; got object"),
    ("a structure", np.zeros(3, "i4,i4"), ck.DTypeError, "x.dtype must be one of "),
    ("None", None, ck.DTypeError, "x must be an array; got NoneType"),
    ("ragged list", [[1, 2], [3]], ck.BindingError, "x must be an array; "),
    ("masked array", np.ma.masked_array(X, X > 1), ck.BindingError,
     "x must not be a masked array: the mask would be lost"),
    ("rank 9", np.zeros((1,) * 9, np.float32), ck.ArgumentError,
     "x must have 0 to 8 dimensions; got 9"),
    ("a result too large", np.broadcast_to(np.uint8(1), (2**31, 2**31, 1)), ck.ArgumentError,
     "x must give a result of less than 2^63 bytes; got shape (2147483648, 2147483648, 1)"),
]  # fmt: skip
CASES = [
    ("a mean", call(function="mean"), ck.ArgumentError,
     f"function must be one of {NAMES}; got 'mean'"),
    ("upper case", call(function="SUM"), ck.ArgumentError, "; got 'SUM'"),
    ("no function", call(function=None), ck.ArgumentError, "; got None"),
    ("a callable", call(function=np.sum), ck.ArgumentError, "function must be one of "),
    ("twelve", call(function=12), ck.ArgumentError, "; got 12"),
    ("minus one", call(function=-1), ck.ArgumentError, "; got -1"),
    ("a fraction", call(function=10.0), ck.ArgumentError, "; got 10.0"),
    ("several functions", call(function=["sum"]), ck.ArgumentError, "; got ['sum']"),
    ("axis is the rank", call(axis=2), ck.ArgumentError, "axis must lie in [-2, 1]; got 2"),
    ("axis is negative", call(axis=-3), ck.ArgumentError,
     "axis must lie in [-2, 1]; got -3"),
    ("one of two axes", call(axis=(0, 9)), ck.ArgumentError,
     "axis must lie in [-2, 1]; got 9"),
    ("axis of a scalar", call(SCALAR, axis=0), ck.ArgumentError,
     "axis must be None or () for a scalar; got 0"),
    ("last axis of a scalar", call(SCALAR, axis=(-1,)), ck.ArgumentError,
     "axis must be None or () for a scalar; got (-1,)"),
    ("an axis twice", call(axis=(1, 1)), ck.ArgumentError,
     "axis must name no axis twice; got (1, 1)"),
    ("an axis from both ends", call(axis=(0, -2)), ck.ArgumentError,
     "axis must name no axis twice; got (0, -2)"),
    ("axis is a float", call(axis=1.0), ck.DTypeError,
     "axis must be an int, a tuple of ints or None; got 1.0"),
    ("axis is text", call(axis="0"), ck.DTypeError, "a tuple of ints or None; got '0'"),
    ("axis is a list", call(axis=[0, 1]), ck.DTypeError, "a tuple of ints or None; got [0, 1]"),
    ("axes of floats", call(axis=(0, 1.0)), ck.DTypeError, "ints or None; got (0, 1.0)"),
    ("axes of tuples", call(axis=((0, 1),)), ck.DTypeError, "ints or None; got ((0, 1),)"),
    ("axes of None", call(axis=(None,)), ck.DTypeError, "ints or None; got (None,)"),
    ("nan is unknown", call(function="max", nan="omit"), ck.ArgumentError,
     "nan must be 'propagate' or 'ignore'; got 'omit'"),
    ("nan is None", call(function="max", nan=None), ck.ArgumentError,
     "nan must be 'propagate' or 'ignore'; got None"),
    ("nan is a list", call(function="max", nan=["ignore"]), ck.ArgumentError,
     "nan must be 'propagate' or 'ignore'; got ['ignore']"),
    *((f"ignores NaN in {name}", call(function=name, nan="ignore"), ck.ArgumentError,
       f"nan must be 'propagate' for {name}; got 'ignore'")
      for name in NAMES.split(", ") if name not in {"max", "min", "argmax", "argmin"}),
    *((f"last index of {name}", call(function=name, last_index=True), ck.ArgumentError,
       f"last_index must be False for {name}; got True")
      for name in NAMES.split(", ") if name not in {"argmax", "argmin"}),
    *((f"complex {name}", call(COMPLEX, name), ck.DTypeError,
       f"x.dtype must be real {NO_ORDER.format(name)}")
      for name in ("max", "min", "argmax", "argmin", "log_sum_exp")),
    ("complex in need of an axis", call(COMPLEX, "max", 7), ck.ArgumentError,
     "axis must lie in "),
    ("integer sum of floats", call(dtype="int64"), ck.DTypeError,
     "dtype must be float or complex for sum of float32; got int64"),
    ("bool sum of integers", call(INTS, dtype=bool), ck.DTypeError,
     "dtype must be integer, float or complex for sum of int32; got bool"),
    ("float sum of complex numbers", call(COMPLEX, dtype="float64"), ck.DTypeError,
     "dtype must be complex for sum of complex64; got float64"),
    ("integer l1 of complex numbers", call(COMPLEX, "l1", dtype="int32"), ck.DTypeError,
     "dtype must be float or complex for l1 of complex64; got int32"),
    ("integer average", call(INTS, "average", dtype="int32"), ck.DTypeError,
     "dtype must be float or complex for average of int32; got int32"),
    ("integer logarithm", call(INTS > 0, "log_sum", dtype="int8"), ck.DTypeError,
     "dtype must be float or complex for log_sum of bool; got int8"),
    ("float index", call(function="argmax", dtype="float64"), ck.DTypeError,
     "dtype must be integer for argmax of float32; got float64"),
    ("index is a bool", call(function="argmin", dtype=bool), ck.DTypeError,
     "dtype must be integer for argmin of float32; got bool"),
    ("index beyond int8", call(np.zeros((2, 129)), "argmax", 1, dtype="int8"), ck.DTypeError,
     "dtype must hold indices up to 128; got int8"),
    ("index beyond uint8", call(np.zeros((2, 129)), "argmin", dtype="uint8"), ck.DTypeError,
     "dtype must hold indices up to 257; got uint8"),
    ("foreign byte order", call(dtype=">f4"), ck.DTypeError, "dtype must be one of "),
    ("no such dtype", call(dtype="float33"), ck.DTypeError, "; got 'float33'"),
    ("structure", call(dtype=[("a", "f4")]), ck.DTypeError, "; got [('a', '<f4')]"),
    ("strings", call(dtype=str), ck.DTypeError, "; got <U0"),
    ("dtype is a number", call(dtype=4), ck.DTypeError, "; got 4"),
    *((f"{name} of nothing", call(X[:0], name), ck.ArgumentError,
       f"x must have elements for {name}, which has no identity; got shape (0, 3)")
      for name in ("max", "min", "argmax", "argmin")),
    ("rows of nothing", call(X[:, :0], "max", 1), ck.ArgumentError, "no identity; got shape (2"),
    *((f"initial value of {name}", call(function=name, initial=5), ck.ArgumentError,
       f"initial must be None for {name}; got 5")
      for name in NAMES.split(", ") if name not in {"max", "min", "multiply", "sum"}),
    ("initial array of an average", call(function="average", initial=np.eye(2)), ck.ArgumentError,
     "initial must be None for average; got array([[1., 0.], [0., 1.]])"),
    ("initial zero", call(function="l1", initial=0), ck.ArgumentError,
     "initial must be None for l1; got 0"),
    ("complex initial", call(initial=1j), ck.DTypeError,
     "initial must fit float32; got 1j (it is complex)"),
    ("complex initial maximum", call(function="max", dtype="c8", initial=1j), ck.DTypeError,
     "initial must fit float32; got 1j (it is complex)"),
    ("initial fraction", call(INTS, initial=0.5), ck.DTypeError,
     "initial must fit int32; got 0.5 (a fraction would be lost)"),
    ("initial beyond", call(INTS, "max", initial=2**31), ck.DTypeError,
     "initial must fit int32; got 2147483648 (it is out of range)"),
    ("initial beyond float16", call(X.astype("f2"), initial=70_000), ck.DTypeError,
     "initial must fit float16; got 70000 (it is out of range)"),
    ("initial beyond out", call(np.int8([1]), initial=300, out=np.zeros((), "u1")), ck.DTypeError,
     "initial must fit uint8; got 300 (it is out of range)"),
    ("several initial values", call(initial=[1, 2]), ck.DTypeError,
     "initial must be a scalar; got shape (2,)"),
    ("initial text", call(function="min", initial="1"), ck.DTypeError,
     "initial must fit float32; got '1' (it is no number)"),
    ("out is a list", call(out=[0.0]), ck.BindingError,
     "out must be a numpy.ndarray or cupy.ndarray; got list"),
    ("out has an axis too many", call(axis=1, out=np.zeros((2, 1), "f4")), ck.BindingError,
     "out must have shape (2,) for x.shape=(2, 3), axis=(1,); got (2, 1)"),
    ("out lacks the axis", call(axis=1, keepdims=True, out=np.zeros(2, "f4")), ck.BindingError,
     "out must have shape (2, 1) for x.shape=(2, 3), axis=(1,); got (2,)"),
    ("out is no scalar", call(out=np.zeros(1, "f4")), ck.BindingError,
     "out must have shape () for x.shape=(2, 3), axis=(0, 1); got (1,)"),
    ("out of nothing", call(X[:0], axis=0, out=np.zeros(0, "f4")), ck.BindingError,
     "out must have shape (3,) for x.shape=(0, 3), axis=(0,); got (0,)"),
    ("out of integers", call(axis=0, out=np.zeros(3, "i8")), ck.BindingError,
     "out must have dtype float or complex for sum of float32; got int64"),
    ("out of bools", call(INTS, axis=0, out=np.zeros(3, bool)), ck.BindingError,
     "out must have dtype integer, float or complex for sum of int32; got bool"),
    ("out of floats for complex", call(COMPLEX, axis=0, out=np.zeros(3, "f8")), ck.BindingError,
     "out must have dtype complex for sum of complex64; got float64"),
    ("out of integers for averages", call(INTS, "average", 0, out=np.zeros(3, "i8")),
     ck.BindingError, "out must have dtype float or complex for average of int32; got int64"),
    ("out of floats for indices", call(function="argmax", out=np.zeros((), "f8")),
     ck.BindingError, "out must have dtype integer for argmax of float32; got float64"),
    ("index beyond out", call(np.zeros((2, 129)), "argmax", 1, out=np.zeros(2, "i1")),
     ck.BindingError, "out must hold indices up to 128; got int8"),
    ("out of foreign byte order", call(axis=0, out=np.zeros(3, ">f8")), ck.BindingError,
     "out must have dtype float or complex for sum of float32; got >f8"),
    ("out of text", call(axis=0, out=np.zeros(3, "U1")), ck.BindingError,
     "out must have dtype float or complex for sum of float32; got <U1"),
    ("out of objects for nothing", call(X[:0], axis=0, out=np.zeros(3, object)), ck.BindingError,
     "out must have dtype float or complex for sum of float32; got object"),
    ("complex in spite of out", call(COMPLEX, "max", out=np.zeros((), "f4")), ck.DTypeError,
     f"x.dtype must be real {NO_ORDER.format('max')}"),
    ("out is wider than dtype", call(axis=0, dtype="f4", out=np.zeros(3, "f8")), ck.BindingError,
     "out must have dtype float32; got float64"),
    ("out is narrower", call(axis=0, dtype="f8", out=np.zeros(3, "f4")), ck.BindingError,
     "out must have dtype float64; got float32"),
    ("out for other indices", call(function="argmax", dtype="i8", out=np.zeros((), "i4")),
     ck.BindingError, "out must have dtype int64; got int32"),
    ("read-only", call(axis=0, out=read_only(np.zeros(3, "f4"))), ck.BindingError,
     "out must be writeable; got a read-only array"),
    ("read-only of nothing", call(X[:0], axis=0, out=read_only(np.zeros(3, "f4"))),
     ck.BindingError, "out must be writeable; got a read-only array"),
    ("out is repeated", call(axis=0, out=as_strided(np.zeros(1, "f4"), (3,), (0,))),
     ck.BindingError, "out must give each element an address of its own; got strides (0,)"),
    ("out overlaps itself", call(axis=(), out=as_strided(np.zeros(9, "f4"), (2, 3), (4, 4))),
     ck.BindingError, "out must give each element an address of its own; got strides (4, 4)"),
    ("out between addresses", call(axis=0, out=np.ndarray((3,), "f4", bytearray(16), 2)),
     ck.BindingError, "out must lie on multiples of 4 bytes; got "),
]  # fmt: skip


@pytest.mark.parametrize(
    ("x", "error", "text"), [pytest.param(*case[1:], id=case[0]) for case in OF_X]
)
def test_bad_x_is_named(launches, x, error, text):
    assert_named("reduce", lambda: ck.reduce(x, "sum", -1, dtype="complex128"), error, text)
    assert not launches


@pytest.mark.parametrize(
    ("call", "error", "text"), [pytest.param(*case[1:], id=case[0]) for case in CASES]
)
def test_bad_input_is_named(launches, call, error, text):
    tracemalloc.start()
    try:
        assert_named("reduce", call, error, text)
        assert tracemalloc.get_traced_memory()[1] < 2**20, "nothing is allocated"
    finally:
        tracemalloc.stop()
    assert not launches


def test_operator_and_argument_are_attributes():
    for options, field in [
        ({"function": "mean"}, "function"),
        ({"axis": 2}, "axis"),
        ({"axis": (1, -1)}, "axis"),
        ({"nan": "ignore"}, "nan"),
    ]:
        with pytest.raises(ck.ArgumentError) as caught:
            call(**options)()
        assert (caught.value.operator, caught.value.field) == ("reduce", field)


def test_a_good_call_counts_as_a_launch(launches):
    assert float(ck.reduce(X, "sum")) == 11
    assert len(launches) == 1


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8"])
def test_the_largest_index_fits(dtype):
    n = np.iinfo(dtype).max + 1
    x = np.zeros(n, np.int8)
    x[-1] = 1
    found = ck.reduce(x, "argmax", dtype=dtype)
    assert (found.dtype, int(found)) == (np.dtype(dtype), n - 1)
    with pytest.raises(ck.DTypeError, match=f"must hold indices up to {n}; got {dtype}"):
        ck.reduce(np.zeros(n + 1, np.int8), "argmax", dtype=dtype)


# Where x of six elements and the three of out lie, in elements of four bytes.
@pytest.mark.parametrize(("x_start", "out_start"), [(0, 0), (0, 5), (2, 0), (0, 2)])
def test_out_that_overlaps_x_is_refused(place, x_start, out_start):
    memory = put(np.full(16, POISON, np.uint32), place)
    x, out = memory[x_start : x_start + 6].reshape(2, 3), memory[out_start : out_start + 3]
    before = get(memory).tolist()
    for _ in range(2):
        with pytest.raises(ck.BindingError) as caught:
            ck.reduce(x, "sum", 0, out=out)
        assert str(caught.value) == "reduce: out must not overlap x; they share memory [T19]"
        assert caught.value.rule == "T19"
    assert get(memory).tolist() == before


def test_out_between_the_elements_of_x_is_accepted(place):
    memory = put(np.array([5, 90, 2, 91, 7, 92, 4, 93], np.int32), place)
    x, out = memory[::2].reshape(2, 2), memory[1:4:2]
    assert ck.reduce(x, "max", 0, out=out) is out
    assert get(memory).tolist() == [5, 7, 2, 4, 7, 92, 4, 93]


def test_a_warm_call_refuses_what_a_cold_one_would(place):
    x, out = put(X, place), put(np.zeros(3, np.float32), place)
    for _ in range(2):
        assert get(ck.reduce(x, "sum", 0, out=out)).tolist() == [3, 1, 7]
    refused = [
        ({"axis": 0.0}, ck.DTypeError, "got 0.0"),
        ({"axis": (0.0,)}, ck.DTypeError, "got (0.0,)"),
        ({"axis": 1}, ck.BindingError, "must have shape (2,)"),
        ({"function": 10.0}, ck.ArgumentError, "got 10.0"),
        ({"dtype": "float64"}, ck.BindingError, "must have dtype float64; got float32"),
        ({"dtype": "int32"}, ck.DTypeError, "must be float or complex"),
        ({"keepdims": True}, ck.BindingError, "must have shape (1, 3)"),
        ({"nan": "ignore"}, ck.ArgumentError, "must be 'propagate' for sum"),
        ({"last_index": 1}, ck.ArgumentError, "must be False for sum"),
        ({"function": "argmax"}, ck.BindingError, "must have dtype integer for argmax of float32"),
        ({"initial": 1j}, ck.DTypeError, "initial must fit float32; got 1j"),
        ({"function": "l2", "initial": 1}, ck.ArgumentError, "must be None for l2; got 1"),
    ]
    for options, error, text in refused:
        given = {"function": "sum", "axis": 0, **options}
        assert_named("reduce", lambda given=given: ck.reduce(x, **given, out=out), error, text)
    with pytest.raises(ck.BindingError, match="must not overlap x"):
        ck.reduce(x, "sum", 0, out=x[1])
    if place == HOST:
        out.flags.writeable = False
        with pytest.raises(ck.BindingError, match="read-only"):
            ck.reduce(x, "sum", 0, out=out)


@pytest.mark.parametrize(
    ("places", "where"),
    [
        ((0, 1), "on CUDA device 0; got CUDA device 1"),
        ((0, None), "on CUDA device 0; got the host"),
        ((None, 0), "on the host; got CUDA device 0"),
    ],
)
@pytest.mark.parametrize("rows", [0, 2])
def test_mixed_places_are_named(monkeypatch, launches, places, where, rows):
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy.make())
    x, out = (
        array if place is None else fake_cupy.Array(array, place)
        for array, place in zip((X[:rows], np.zeros(3, np.float32)), places, strict=True)
    )
    with pytest.raises(ck.BindingError) as caught:
        ck.reduce(x, "sum", 0, out=out)
    assert str(caught.value).startswith("reduce: out must be where the inputs are, ")
    assert where in str(caught.value)
    assert not launches


def test_bfloat16_is_named():
    dtype = pytest.importorskip("ml_dtypes").bfloat16
    assert_named(
        "reduce",
        call(np.ones((2, 3), dtype), dtype="int64"),
        ck.DTypeError,
        "dtype must be float or complex for sum of bfloat16; got int64",
    )
