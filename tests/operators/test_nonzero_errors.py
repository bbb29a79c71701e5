"""Bad input to nonzero_coordinates, argwhere and nonzero: one line, and nothing was launched."""

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
NINE = np.zeros((1,) * 9, np.float32)
#: One element too many for uint32, in one byte.
HUGE = np.broadcast_to(np.ones(1, np.uint8), (2**16, 2**16))
PAIR = "nonzero_coordinates: out must be a pair (count, coordinates); got "
COUNT = "nonzero_coordinates: out.count must "
COORDINATES = "nonzero_coordinates: out.coordinates must "
FUNCTIONS = ["nonzero_coordinates", "argwhere", "nonzero"]


def count(shape=(1,), dtype=np.uint32):
    return np.zeros(shape, dtype)


def coordinates(shape=(6, 2), dtype=np.uint32):
    return np.zeros(shape, dtype)


def read_only(array):
    array.flags.writeable = False
    return array


def out(*given, x=X, **options):
    return lambda: ck.nonzero_coordinates(x, out=given, **options)


def kind(dtype, x=X):
    return lambda: ck.nonzero_coordinates(x, dtype=dtype)


def fixed(**options):
    return lambda: ck.nonzero(X, **options)


OF_X = [
    ("strings", np.array(["a", "b"]), ck.DTypeError, "; got <U1"),
    ("dates", np.zeros(3, "M8[s]"), ck.DTypeError, "; got datetime64[s]"),
    ("foreign byte order", X.astype(">i4"), ck.DTypeError, "; got >i4"),
    ("foreign byte order of nothing", X[:0].astype(">f4"), ck.DTypeError, "; got >f4"),
    ("objects", np.array([object(), None]), ck.DTypeError, "; got object"),
    ("a structure", np.zeros(3, "i4,i4"), ck.DTypeError, "x.dtype must be one of "),
    ("None", None, ck.DTypeError, "x must be an array; got NoneType"),
    ("ragged list", [[1, 2], [3]], ck.BindingError, "x must be an array; "),
    ("masked array", np.ma.masked_array(X, X > 1), ck.BindingError,
     "x must not be a masked array: the mask would be lost"),
]  # fmt: skip
CASES = [
    ("rank 9", lambda: ck.nonzero_coordinates(NINE), ck.ArgumentError,
     "nonzero_coordinates: x must have 0 to 8 dimensions; got 9"),
    ("int32", kind("int32"), ck.DTypeError,
     "nonzero_coordinates: dtype must be one of uint32, int64; got int32"),
    ("uint64", kind(np.uint64), ck.DTypeError, "dtype must be one of uint32, int64; got "),
    ("a float", kind(float), ck.DTypeError, "dtype must be one of uint32, int64; got "),
    ("foreign byte order", kind(">i8"), ck.DTypeError, "dtype must be one of uint32, int64; got "),
    ("unknown", kind("int65"), ck.DTypeError, "dtype must be one of uint32, int64; got "),
    ("no dtype", kind(None), ck.DTypeError, "dtype must be one of uint32, int64; got "),
    ("a number", kind(3), ck.DTypeError, "dtype must be one of uint32, int64; got "),
    ("of nothing", kind("int16", X[:0]), ck.DTypeError, "dtype must be one of uint32, int64; got "),
    ("too many elements", kind("uint32", HUGE), ck.ArgumentError,
     "nonzero_coordinates: dtype must be int64 for more than 2^32 - 1 elements; got uint32"),
    ("too many elements for out", out(count(), coordinates(), x=HUGE), ck.ArgumentError,
     "nonzero_coordinates: dtype must be int64 for more than 2^32 - 1 elements; got uint32"),
    ("not yet too many", out(count(), coordinates(), x=HUGE.reshape(-1)[:-1]), ck.BindingError,
     COORDINATES + "have shape (4294967295, 1) "),
    ("a small count", out(count(), coordinates(dtype=np.int64), x=HUGE, dtype="int64"),
     ck.BindingError, COUNT + "have dtype uint64; got uint32"),
    ("out is one array", lambda: ck.nonzero_coordinates(X, out=coordinates()), ck.BindingError,
     PAIR),
    ("out is an array of two", lambda: ck.nonzero_coordinates(X, out=coordinates((2, 6))),
     ck.BindingError, PAIR),
    ("one output", out(count()), ck.BindingError, PAIR),
    ("three outputs", out(count(), coordinates(), count()), ck.BindingError, PAIR),
    ("no outputs", out(), ck.BindingError, PAIR),
    ("out is a number", lambda: ck.nonzero_coordinates(X, out=5), ck.BindingError, PAIR),
    ("out is text", lambda: ck.nonzero_coordinates(X, out="ab"), ck.BindingError, PAIR),
    ("count is a list", out([0], coordinates()), ck.BindingError,
     COUNT + "be a numpy.ndarray or cupy.ndarray; got list"),
    ("no count", out(None, coordinates()), ck.BindingError,
     COUNT + "be a numpy.ndarray or cupy.ndarray; got NoneType"),
    ("no coordinates", out(count(), None), ck.BindingError,
     COORDINATES + "be a numpy.ndarray or cupy.ndarray; got NoneType"),
    ("scalar count", out(count(()), coordinates()), ck.BindingError, COUNT + "have shape (1,)"),
    ("two counts", out(count((2,)), coordinates()), ck.BindingError, COUNT + "have shape (1,)"),
    ("count of two dimensions", out(count((1, 1)), coordinates()), ck.BindingError,
     COUNT + "have shape (1,)"),
    ("signed count", out(count(dtype=np.int32), coordinates()), ck.BindingError,
     COUNT + "have dtype uint32; got int32"),
    ("long count", out(count(dtype=np.uint64), coordinates()), ck.BindingError,
     COUNT + "have dtype uint32; got uint64"),
    ("read-only count", out(read_only(count()), coordinates()), ck.BindingError,
     COUNT + "be writeable; got a read-only array"),
    ("too few rows", out(count(), coordinates((5, 2))), ck.BindingError,
     COORDINATES + "have shape (6, 2) for x.shape=(2, 3); got (5, 2)"),
    ("transposed", out(count(), coordinates((2, 6))), ck.BindingError,
     COORDINATES + "have shape (6, 2) for x.shape=(2, 3); got (2, 6)"),
    ("flat", out(count(), coordinates((12,))), ck.BindingError,
     COORDINATES + "have shape (6, 2) for x.shape=(2, 3); got (12,)"),
    ("of a scalar", out(count(), coordinates((1, 0)), x=np.float32(1)), ck.BindingError,
     COORDINATES + "have shape (1, 1) for x.shape=(); got (1, 0)"),
    ("of nothing but rows", out(count(), coordinates((1, 2)), x=X[:0]), ck.BindingError,
     COORDINATES + "have shape (0, 2) for x.shape=(0, 3); got (1, 2)"),
    ("int64 coordinates", out(count(), coordinates(dtype=np.int64)), ck.BindingError,
     COORDINATES + "have dtype uint32; got int64"),
    ("uint32 coordinates", out(count(), coordinates(), dtype=np.int64), ck.BindingError,
     COORDINATES + "have dtype int64; got uint32"),
    ("read-only coordinates", out(count(), read_only(coordinates())), ck.BindingError,
     COORDINATES + "be writeable; got a read-only array"),
    ("read-only of nothing", out(read_only(count()), coordinates((0, 2)), x=X[:0]),
     ck.BindingError, COUNT + "be writeable; got a read-only array"),
    ("coordinates overlap themselves",
     out(count(), as_strided(coordinates((12,)), (6, 2), (4, 4))), ck.BindingError,
     COORDINATES + "give each element an address of its own; got strides (4, 4)"),
    ("coordinates are repeated", out(count(), as_strided(coordinates((6,)), (6, 2), (4, 0))),
     ck.BindingError,
     COORDINATES + "give each element an address of its own; got strides (4, 0)"),
    ("count between addresses", out(np.ndarray((1,), "u4", bytearray(8), 1), coordinates()),
     ck.BindingError, COUNT + "lie on multiples of 4 bytes; got "),
    ("coordinates between addresses",
     out(count(), np.ndarray((6, 2), "i8", bytearray(128), 4), dtype="int64"), ck.BindingError,
     COORDINATES + "lie on multiples of 8 bytes; got "),
    ("argwhere of rank 9", lambda: ck.argwhere(NINE), ck.ArgumentError,
     "argwhere: x must have 0 to 8 dimensions; got 9"),
    ("more elements than there can be",
     lambda: ck.nonzero(np.broadcast_to(np.uint8(1), (2**31, 2**31)), size=3), ck.ArgumentError,
     "nonzero: x must have at most 2^40 elements; got 4611686018427387904"),
    ("nonzero of rank 9", lambda: ck.nonzero(NINE), ck.ArgumentError,
     "nonzero: x must have 1 to 8 dimensions; got 9"),
    ("nonzero of a scalar", lambda: ck.nonzero(5), ck.ArgumentError,
     "nonzero: x must have 1 to 8 dimensions; got 0"),
    ("so many of a scalar", lambda: ck.nonzero(5, size=1), ck.ArgumentError,
     "nonzero: x must have 1 to 8 dimensions; got 0"),
    ("fractional size", fixed(size=2.5), ck.DTypeError,
     "nonzero: size must be an int; got 2.5"),
    ("size is text", fixed(size="3"), ck.DTypeError,
     "nonzero: size must be an int; got '3'"),
    ("several sizes", fixed(size=(1, 2)), ck.DTypeError,
     "nonzero: size must be an int; got (1, 2)"),
    ("negative size", fixed(size=-1), ck.ArgumentError,
     "nonzero: size must be at least 0; got -1"),
    ("size too large", fixed(size=2**61), ck.ArgumentError,
     "nonzero: size must give a result of less than 2^63 bytes; got 2305843009213693952"),
    ("fill too large", fixed(size=2, fill_value=2**63), ck.DTypeError,
     "nonzero: fill_value must fit int64; got 9223372036854775808"),
    ("fill too small", fixed(size=2, fill_value=-(2**63) - 1), ck.DTypeError,
     "nonzero: fill_value must fit int64; got -9223372036854775809"),
    ("fractional fill", fixed(size=2, fill_value=0.5), ck.DTypeError,
     "nonzero: fill_value must fit int64; got 0.5"),
    ("fill is text", fixed(size=2, fill_value="x"), ck.DTypeError,
     "nonzero: fill_value must fit int64; got 'x'"),
    ("no fill", fixed(size=2, fill_value=None), ck.DTypeError,
     "nonzero: fill_value must fit int64; got None"),
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("x", "error", "text"), [pytest.param(*case[1:], id=case[0]) for case in OF_X]
)
def test_bad_x_is_named(launches, function, x, error, text):
    assert_named(function, lambda: getattr(ck, function)(x), error, f"{text}")
    assert not launches


@pytest.mark.parametrize(
    ("call", "error", "text"), [pytest.param(*case[1:], id=case[0]) for case in CASES]
)
def test_bad_input_is_named(launches, call, error, text):
    tracemalloc.start()
    try:
        assert_named(text.partition(":")[0] if ": " in text else FUNCTIONS[0], call, error, text)
        assert tracemalloc.get_traced_memory()[1] < 2**20, "nothing is allocated"
    finally:
        tracemalloc.stop()
    assert not launches


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_good_call_counts_as_a_launch(launches, function):
    getattr(ck, function)(X)
    assert len(launches) == 1


# Where x of six elements, the count and twelve coordinates lie, in elements of four bytes.
OVERLAPS = [
    pytest.param((0, 5, 20), "count", "x", id="count in x"),
    pytest.param((0, 40, 5), "coordinates", "x", id="coordinates at the end of x"),
    pytest.param((11, 40, 0), "coordinates", "x", id="x at the end of coordinates"),
    pytest.param((0, 20, 9), "coordinates", "out.count", id="count in coordinates"),
]


@pytest.mark.parametrize(("starts", "name", "other"), OVERLAPS)
def test_outputs_that_overlap_are_refused(place, starts, name, other):
    memory = put(np.full(64, POISON, np.uint32), place)
    x, count, coordinates = (
        memory[start : start + size] for start, size in zip(starts, (6, 1, 12), strict=True)
    )
    before = get(memory).tolist()
    for _ in range(2):
        with pytest.raises(ck.BindingError, match="must not overlap") as caught:
            ck.nonzero_coordinates(x.reshape(2, 3), out=(count, coordinates.reshape(6, 2)))
        assert str(caught.value).startswith(
            f"nonzero_coordinates: out.{name} must not overlap {other}; "
        )
        assert caught.value.rule == "T19"
    assert get(memory).tolist() == before


def test_outputs_between_the_elements_of_x_are_accepted(place):
    memory = put(np.array([5, 9, 9, 0, 9, 9, 7, 9, 9, 8], np.uint32), place)
    coordinates = memory[:9].reshape(3, 3)[:, 1:2]
    ck.nonzero_coordinates(memory[:9:3], out=(memory[9:], coordinates))
    assert get(memory).tolist() == [5, 0, 9, 0, 2, 9, 7, 9, 9, 2]


def test_a_warm_call_refuses_what_a_cold_one_would(place):
    x, pair = put(X, place), (put(count(), place), put(coordinates(), place))
    for _ in range(2):
        assert get(ck.nonzero_coordinates(x, out=pair).count).tolist() == [4]
    with pytest.raises(ck.BindingError, match="must have dtype int64; got uint32"):
        ck.nonzero_coordinates(x, dtype="int64", out=pair)
    with pytest.raises(ck.BindingError, match=r"must have shape \(6, 1\) for x.shape=\(6,\); got"):
        ck.nonzero_coordinates(x.reshape(6), out=pair)
    with pytest.raises(ck.BindingError, match="must not overlap x"):
        ck.nonzero_coordinates(pair[1].reshape(-1)[:6].reshape(2, 3).view("f4"), out=pair)
    if place == HOST:
        for array in pair:
            array.flags.writeable = False
            with pytest.raises(ck.BindingError, match="read-only"):
                ck.nonzero_coordinates(x, out=pair)
            array.flags.writeable = True


@pytest.mark.parametrize(
    ("places", "name", "where"),
    [
        ((0, 1, 0), "count", "on CUDA device 0; got CUDA device 1"),
        ((0, None, 0), "count", "on CUDA device 0; got the host"),
        ((None, 0, None), "count", "on the host; got CUDA device 0"),
        ((1, 1, 0), "coordinates", "on CUDA device 1; got CUDA device 0"),
        ((1, 1, None), "coordinates", "on CUDA device 1; got the host"),
        ((None, None, 1), "coordinates", "on the host; got CUDA device 1"),
        ((0, None, None), "count", "on CUDA device 0; got the host"),
    ],
)
def test_mixed_places_are_named(monkeypatch, launches, places, name, where):
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy.make())
    x, *pair = (
        array if place is None else fake_cupy.Array(array, place)
        for array, place in zip((X, count(), coordinates()), places, strict=True)
    )
    with pytest.raises(ck.BindingError) as caught:
        ck.nonzero_coordinates(x, out=pair)
    assert str(caught.value).startswith(f"nonzero_coordinates: out.{name} must be where ")
    assert where in str(caught.value)
    assert not launches
