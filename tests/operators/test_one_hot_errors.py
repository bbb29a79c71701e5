"""Bad input to one_hot: the class of the error, its one line, and that nothing was launched."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import cudakern as ck
from tests.helpers.checked import PLAIN_AND_CHECKED_ONCE
from tests.helpers.places import CUDA, HOST, POISON, put
from tests.helpers.refused import assert_named

pytestmark = PLAIN_AND_CHECKED_ONCE

I = np.array([[0, 1, 2], [3, -1, 9]], np.int32)  # noqa: E741  as in the operator's formula
TWO = "one_hot: values must be two scalars or an array of two elements; got "


def read_only(shape, dtype=np.float32):
    array = np.zeros(shape, dtype)
    array.flags.writeable = False
    return array


CASES = [
    ("float indices", lambda: ck.one_hot(I.astype(np.float32), 5), ck.DTypeError,
     "one_hot: indices.dtype must be int32, int64, uint32 or uint64; got float32"),
    ("bool indices", lambda: ck.one_hot(np.array([True, False]), 5), ck.DTypeError,
     "one_hot: indices.dtype must be int32, int64, uint32 or uint64; got bool"),
    ("foreign byte order", lambda: ck.one_hot(I.astype(">i4"), 5), ck.DTypeError,
     "one_hot: indices.dtype must be int32, int64, uint32 or uint64; got >i4"),
    ("indices of rank 9", lambda: ck.one_hot(np.zeros((1,) * 9, np.int32), 5), ck.ArgumentError,
     "one_hot: indices must have 0 to 8 dimensions; got 9"),
    ("ragged list", lambda: ck.one_hot([[1, 2], [3]], 5), ck.BindingError,
     "one_hot: indices must be an array; "),
    ("None", lambda: ck.one_hot(None, 5), ck.DTypeError,
     "one_hot: indices must be an array; got NoneType"),
    ("masked array", lambda: ck.one_hot(np.ma.masked_array([1, 2], [0, 1]), 5), ck.BindingError,
     "one_hot: indices must not be a masked array: the mask would be lost"),
    ("negative depth", lambda: ck.one_hot(I, -1), ck.ArgumentError,
     "one_hot: depth must be at least 0; got -1"),
    ("fractional depth", lambda: ck.one_hot(I, 5.0), ck.DTypeError,
     "one_hot: depth must be an int; got 5.0"),
    ("no depth", lambda: ck.one_hot(I, None), ck.DTypeError,
     "one_hot: depth must be an int; got None"),
    ("enormous depth", lambda: ck.one_hot(I, 2**62), ck.ArgumentError,
     "one_hot: depth must give a result of less than 2^63 bytes; got shape "),
    ("enormous depth of nothing", lambda: ck.one_hot(I[:0], 2**62), ck.ArgumentError,
     "one_hot: depth must give a result of less than 2^63 bytes; got shape "),
    ("axis too large", lambda: ck.one_hot(I, 5, axis=3), ck.ArgumentError,
     "one_hot: axis must lie in [-3, 2]; got 3"),
    ("axis too small", lambda: ck.one_hot(I, 5, axis=-4), ck.ArgumentError,
     "one_hot: axis must lie in [-3, 2]; got -4"),
    ("fractional axis", lambda: ck.one_hot(I, 5, axis=1.5), ck.DTypeError,
     "one_hot: axis must be an int; got 1.5"),
    ("three values", lambda: ck.one_hot(I, 5, values=(0, 1, 2)), ck.ArgumentError,
     TWO + "3 of them"),
    ("one value", lambda: ck.one_hot(I, 5, values=[1]), ck.ArgumentError, TWO + "1 of them"),
    ("nested list", lambda: ck.one_hot(I, 5, values=[[0, 1]]), ck.ArgumentError,
     TWO + "1 of them"),
    ("a scalar", lambda: ck.one_hot(I, 5, values=1), ck.ArgumentError, TWO + "shape ()"),
    ("no values", lambda: ck.one_hot(I, 5, values=None), ck.DTypeError,
     "one_hot: values must be an array; got NoneType"),
    ("a set", lambda: ck.one_hot(I, 5, values={0, 1}), ck.DTypeError,
     "one_hot: values must be an array; got set"),
    ("array of three", lambda: ck.one_hot(I, 5, values=np.arange(3)), ck.ArgumentError,
     TWO + "shape (3,)"),
    ("array of strings", lambda: ck.one_hot(I, 5, values=np.array(["a", "b"])), ck.DTypeError,
     "one_hot: values.dtype must be one of "),
    ("values of foreign byte order", lambda: ck.one_hot(I, 5, values=np.array([0, 1], ">f4")),
     ck.DTypeError, "; got >f4"),
    ("value no scalar", lambda: ck.one_hot(I, 5, values=([0], 1)), ck.DTypeError,
     "one_hot: values[0] must be a scalar; got shape (1,)"),
    ("value no number", lambda: ck.one_hot(I, 5, values=(0, "x")), ck.DTypeError,
     "one_hot: values.dtype must be one of "),
    ("value missing", lambda: ck.one_hot(I, 5, values=(None, 1)), ck.DTypeError, "; got object"),
    ("value a date", lambda: ck.one_hot(I, 5, values=(0, np.datetime64(1, "s"))), ck.DTypeError,
     "; got datetime64[s]"),
    ("values of two kinds",
     lambda: ck.one_hot(I, 5, values=(np.float32(0), np.datetime64(1, "s"))), ck.DTypeError,
     "one_hot: values must be scalars of one dtype; got ("),
    ("value out of range", lambda: ck.one_hot(I, 5, values=(0, 300), dtype=np.int8), ck.DTypeError,
     "one_hot: values[1] must fit int8; got 300 "),
    ("value of 41 digits", lambda: ck.one_hot(I, 5, values=(0, 10**40), dtype=int), ck.DTypeError,
     "one_hot: values[1] must fit int64; got 10000000000000000000"),
    ("value with a fraction", lambda: ck.one_hot(I, 5, values=(0.5, np.int8(1))), ck.DTypeError,
     "one_hot: values[0] must fit int8; got 0.5 (a fraction would be lost)"),
    ("value no bool", lambda: ck.one_hot(I, 5, values=(0, 2), dtype=bool), ck.DTypeError,
     "one_hot: values[1] must fit bool; got 2 (a bool is 0 or 1)"),
    ("complex value", lambda: ck.one_hot(I, 5, values=(0, 1j), dtype="float32"), ck.DTypeError,
     "one_hot: values[1] must fit float32; got 1j "),
    ("unknown dtype", lambda: ck.one_hot(I, 5, dtype="float33"), ck.DTypeError, "; got 'float33'"),
    ("dtype not supported", lambda: ck.one_hot(I, 5, dtype="U3"), ck.DTypeError,
     "one_hot: dtype must be one of "),
    ("out of another shape",
     lambda: ck.one_hot(I, 10, axis=1, out=np.zeros((2, 3, 10), np.float32)), ck.BindingError,
     "one_hot: out must have shape (2, 10, 3) for axis=1, depth=10; got (2, 3, 10)"),
    ("out of another dtype", lambda: ck.one_hot(I, 5, out=np.zeros((2, 3, 5))), ck.BindingError,
     "one_hot: out must have dtype float32; got float64"),
    ("read-only out", lambda: ck.one_hot(I, 5, out=read_only((2, 3, 5))), ck.BindingError,
     "one_hot: out must be writeable; got a read-only array"),
    ("out is a list", lambda: ck.one_hot(I, 5, out=[[0.0]]), ck.BindingError,
     "one_hot: out must be a numpy.ndarray or cupy.ndarray; got list"),
    ("out overlaps itself",
     lambda: ck.one_hot(I, 4, out=as_strided(np.zeros(24, "f4"), (2, 3, 4), (48, 0, 4))),
     ck.BindingError,
     "one_hot: out must give each element an address of its own; got strides (48, 0, 4)"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "error", "text"), [pytest.param(*case[1:], id=case[0]) for case in CASES]
)
def test_bad_input_is_named(launches, call, error, text):
    assert_named("one_hot", call, error, text)
    assert not launches


def test_a_good_call_counts_as_a_launch(launches):
    ck.one_hot(I, 5)
    assert len(launches) == 1


@pytest.mark.parametrize("operand", ["indices", "values"])
def test_out_that_overlaps_an_input_is_refused(place, operand):
    memory = put(np.full(64, POISON, np.int64), place)
    indices, values = put(np.array([0, 1]), place), put(np.array([0, 1]), place)
    out = memory[3:13].reshape(2, 5)
    if operand == "indices":
        indices = memory[2:4]
    else:
        values = memory[12:14]
    with pytest.raises(ck.BindingError, match=f"out must not overlap {operand}; ") as caught:
        ck.one_hot(indices, 5, values=values, out=out)
    assert caught.value.rule == "T19"


def test_out_between_the_indices_is_accepted(place):
    memory = put(np.array([1, 8, 8, 0, 8, 8]), place)
    out = memory.reshape(2, 3)[:, 1:]
    ck.one_hot(memory[::3], 2, values=(5, 6), dtype=np.int64, out=out)
    assert memory.tolist() == [1, 5, 6, 0, 6, 5]


def test_a_warm_call_refuses_what_a_cold_one_would(place):
    indices = put(I, place)
    out = put(np.empty((2, 3, 5), np.float32), place)
    for _ in range(2):
        ck.one_hot(indices, 5, out=out)
    with pytest.raises(ck.BindingError, match="overlap"):
        ck.one_hot(out.reshape(-1)[:6].reshape(2, 3).view(np.int32), 5, out=out)
    if place == HOST:
        out.flags.writeable = False
        with pytest.raises(ck.BindingError, match="read-only"):
            ck.one_hot(indices, 5, out=out)


def test_a_warm_call_tells_values_and_dtypes_apart(place):
    indices, out = put(I, place), put(np.empty((2, 3, 5), np.float32), place)
    for values in [(0, 1), (0, 2), (0.0, -0.0), (-0.0, 0.0), (1, 0)]:
        ck.one_hot(indices, 5, values=values, out=out)
        assert out.reshape(-1).tolist()[:2] == [values[1], values[0]]
        assert (
            np.signbit(out.reshape(-1).tolist()[:2]).tolist() == np.signbit(values[::-1]).tolist()
        )
    with pytest.raises(ck.BindingError, match="must have dtype float16; got float32"):
        ck.one_hot(indices, 5, dtype=np.float16, out=out)
    with pytest.raises(ck.BindingError, match="must have dtype float16; got float32"):
        ck.one_hot(indices, 5, values=(np.float16(0), np.float16(1)), out=out)
    for depth in (4, 6):
        with pytest.raises(ck.BindingError, match=f"depth={depth}; got"):
            ck.one_hot(indices, depth, out=out)


@pytest.mark.gpu
@pytest.mark.parametrize("device", ["indices", "values", "out"])
def test_mixed_places_are_named(device):
    arrays = {
        "indices": I,
        "values": np.array([0, 1], np.float32),
        "out": np.empty((2, 3, 5), np.float32),
    }
    arrays[device] = put(arrays[device], CUDA)
    with pytest.raises(ck.BindingError, match=r"on (the host|CUDA device 0); got (the host|CUDA)"):
        ck.one_hot(arrays["indices"], 5, values=arrays["values"], out=arrays["out"])
