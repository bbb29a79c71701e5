"""Bad input to gather: the class of the error, its one line, and that nothing was launched."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.checked import PLAIN_AND_CHECKED_ONCE
from tests.helpers.places import CUDA, HOST, POISON, put
from tests.helpers.refused import assert_named

pytestmark = PLAIN_AND_CHECKED_ONCE

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
I = np.array([0, 1], np.int32)  # noqa: E741  as in the operator's formula


def read_only(shape, dtype=np.float32):
    array = np.zeros(shape, dtype)
    array.flags.writeable = False
    return array


CASES = [
    pytest.param(
        lambda: ck.gather(X, np.array([0.0, 1.0], np.float32)),
        ck.DTypeError,
        "gather: indices.dtype must be int32, int64, uint32 or uint64; got float32",
        id="float indices",
    ),
    pytest.param(
        lambda: ck.gather(X, np.array([True, False])),
        ck.DTypeError,
        "gather: indices.dtype must be int32, int64, uint32 or uint64; got bool",
        id="bool indices",
    ),
    pytest.param(
        lambda: ck.gather(X, I.astype(">i4")),
        ck.DTypeError,
        "gather: indices.dtype must be int32, int64, uint32 or uint64; got >i4",
        id="foreign byte order",
    ),
    pytest.param(
        lambda: ck.gather(X, I, 3),
        ck.ArgumentError,
        "gather: axis must lie in [-3, 2]; got 3",
        id="axis too large",
    ),
    pytest.param(
        lambda: ck.gather(X, I, -4),
        ck.ArgumentError,
        "gather: axis must lie in [-3, 2]; got -4",
        id="axis too small",
    ),
    pytest.param(
        lambda: ck.gather(X, I, 1.5),
        ck.DTypeError,
        "gather: axis must be an int; got 1.5",
        id="fractional axis",
    ),
    pytest.param(
        lambda: ck.gather(np.float32(1), I),
        ck.ArgumentError,
        "gather: x must have 1 to 8 dimensions; got 0",
        id="scalar x",
    ),
    pytest.param(
        lambda: ck.gather(np.zeros((1,) * 9), I),
        ck.ArgumentError,
        "gather: x must have 1 to 8 dimensions; got 9",
        id="rank 9",
    ),
    pytest.param(
        lambda: ck.gather(X, np.zeros((1,) * 9, np.int32)),
        ck.ArgumentError,
        "gather: indices must have 0 to 8 dimensions; got 9",
        id="indices of rank 9",
    ),
    pytest.param(
        lambda: ck.gather(X, I, mode="clip"),
        ck.ArgumentError,
        "gather: mode must be 'clamp', 'wrap', 'fill' or 'raise'; got 'clip'",
        id="unknown mode",
    ),
    pytest.param(
        lambda: ck.gather(X, I, mode=["clamp"]),
        ck.ArgumentError,
        "gather: mode must be 'clamp', 'wrap', 'fill' or 'raise'; got ['clamp']",
        id="mode is a list",
    ),
    pytest.param(
        lambda: ck.gather(np.array([object(), None]), I),
        ck.DTypeError,
        "gather: x.dtype must be one of ",
        id="object array",
    ),
    pytest.param(
        lambda: ck.gather(np.array(["a", "b"]), I), ck.DTypeError, "; got <U1", id="strings"
    ),
    pytest.param(
        lambda: ck.gather(np.zeros(3, "M8[s]"), I), ck.DTypeError, "; got datetime64[s]", id="dates"
    ),
    pytest.param(
        lambda: ck.gather(X.astype(">f4"), I),
        ck.DTypeError,
        "; got >f4",
        id="x of foreign byte order",
    ),
    pytest.param(
        lambda: ck.gather(None, I),
        ck.DTypeError,
        "gather: x must be an array; got NoneType",
        id="None",
    ),
    pytest.param(
        lambda: ck.gather([[1, 2], [3]], I),
        ck.BindingError,
        "gather: x must be an array; ",
        id="ragged list",
    ),
    pytest.param(
        lambda: ck.gather(np.ma.masked_array([1, 2], [0, 1]), I),
        ck.BindingError,
        "gather: x must not be a masked array: the mask would be lost",
        id="masked array",
    ),
    pytest.param(
        lambda: ck.gather(X, I, 1, out=np.zeros((2, 4, 2), np.float32)),
        ck.BindingError,
        "gather: out must have shape (2, 2, 4) for axis=1; got (2, 4, 2)",
        id="out of another shape",
    ),
    pytest.param(
        lambda: ck.gather(X, I, 1, out=np.zeros((2, 2, 4))),
        ck.BindingError,
        "gather: out must have dtype float32; got float64",
        id="out of another dtype",
    ),
    pytest.param(
        lambda: ck.gather(X, I, 1, out=read_only((2, 2, 4))),
        ck.BindingError,
        "gather: out must be writeable; got a read-only array",
        id="read-only out",
    ),
    pytest.param(
        lambda: ck.gather(X, I, 1, out=[[0.0]]),
        ck.BindingError,
        "gather: out must be a numpy.ndarray or cupy.ndarray; got list",
        id="out is a list",
    ),
    pytest.param(
        lambda: ck.gather(
            X, I, 1, out=np.lib.stride_tricks.as_strided(X.copy(), (2, 2, 4), (16, 0, 4))
        ),
        ck.BindingError,
        "gather: out must give each element an address of its own; got strides (16, 0, 4)",
        id="out overlaps itself",
    ),
    pytest.param(
        lambda: ck.gather(X.astype(np.int8), I, mode="fill", fill_value=300),
        ck.DTypeError,
        "gather: fill_value must fit int8; got 300 ",
        id="fill value out of range",
    ),
    pytest.param(
        lambda: ck.gather(X.astype(np.int8), I, mode="fill", fill_value=0.5),
        ck.DTypeError,
        "gather: fill_value must fit int8; got 0.5 (a fraction would be lost)",
        id="fill value with a fraction",
    ),
    pytest.param(
        lambda: ck.gather(X, I, mode="fill", fill_value=[1, 2]),
        ck.DTypeError,
        "gather: fill_value must be a scalar; got shape (2,)",
        id="fill value no scalar",
    ),
    pytest.param(
        lambda: ck.gather(X, I, mode="fill", fill_value="x"),
        ck.DTypeError,
        "gather: fill_value must fit float32; got 'x' ",
        id="fill value no number",
    ),
    pytest.param(
        lambda: ck.gather(X, np.array([0, 3]), 1, mode="raise"),
        ck.IndexRangeError,
        "gather: indices[1] must lie in [-3, 2] for x.shape[1]=3; got 3",
        id="index out of range",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), CASES)
def test_bad_input_is_named(launches, call, error, text):
    assert_named("gather", call, error, text)
    assert not launches


def test_a_good_call_counts_as_a_launch(launches):
    ck.gather(X, I)
    assert len(launches) == 1


@pytest.mark.parametrize("mode", ["clamp", "raise"])
@pytest.mark.parametrize("operand", ["x", "indices"])
def test_out_that_overlaps_an_input_is_refused(place, mode, operand):
    memory = put(np.full(64, POISON, np.int64), place)
    x, indices = put(np.arange(6), place), put(np.array([0, 1, 5]), place)
    if operand == "x":
        x, out = memory[:6], memory[5:8]
    else:
        indices, out = memory[1:4], memory[3:6]
        memory[1:4] = 0
    with pytest.raises(ck.BindingError, match=f"out must not overlap {operand}; ") as caught:
        ck.gather(x, indices, mode=mode, out=out)
    assert caught.value.rule == "T19"


def test_out_between_the_elements_of_x_is_accepted(place):
    memory = put(np.arange(20), place)
    x, out = memory[::2], memory[1:12:4]
    ck.gather(x, put(np.array([9, 0, 1]), place), out=out)
    assert out.tolist() == [18, 0, 2]
    assert x.tolist() == list(range(0, 20, 2))


def test_a_warm_call_refuses_what_a_cold_one_would(place):
    x, indices = put(X, place), put(I, place)
    out = put(np.empty((2, 2, 4), np.float32), place)
    for _ in range(2):
        ck.gather(x, indices, 1, out=out)
    if place == HOST:
        out.flags.writeable = False
        with pytest.raises(ck.BindingError, match="read-only"):
            ck.gather(x, indices, 1, out=out)
    with pytest.raises(ck.BindingError, match="overlap"):
        ck.gather(x, indices, 1, out=x[:, :2])


@pytest.mark.gpu
@pytest.mark.parametrize("device", ["x", "indices", "out"])
def test_mixed_places_are_named(device):
    arrays = {"x": X, "indices": I, "out": np.empty((2, 2, 4), np.float32)}
    arrays[device] = put(arrays[device], CUDA)
    with pytest.raises(ck.BindingError, match=r"on (the host|CUDA device 0); got (the host|CUDA)"):
        ck.gather(arrays["x"], arrays["indices"], 1, out=arrays["out"])
