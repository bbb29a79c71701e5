"""Bad input to gather_nd: the class of the error, its one line, and that nothing was launched."""

from __future__ import annotations

import re

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.checked import PLAIN_AND_CHECKED_ONCE
from tests.helpers.places import CUDA, HOST, POISON, get, put

pytestmark = PLAIN_AND_CHECKED_ONCE

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
I = np.array([[0, 1], [1, 2]], np.int32)  # noqa: E741  as in the operator's formula
INTEGERS = "indices.dtype must be int32, int64, uint32 or uint64; got "
MODES = "mode must be 'clamp', 'wrap', 'fill' or 'raise'; got "
SUPPORTED = "x.dtype must be one of  ... ; got "
LONG = "indices must have at most {} in the last dimension for batch_dims={}; got shape {}"
SINGLE = "; for single indices, use indices[..., None]"
BATCH = "indices must start with the batch {} of x; got shape {}"
SHAPE = "out must have shape {} for batch_dims={}; got {}"
FLOAT32 = "out must have dtype float32; got "
NO_ARRAY = "out must be a numpy.ndarray or cupy.ndarray; got "
READ_ONLY = "out must be writeable; got a read-only array"
MASKED = " must not be a masked array: the mask would be lost"
ONES = (1,) * 9


def zeros(*shape):
    return np.zeros(shape, np.int32)


def floats(*shape):
    return np.zeros(shape, np.float32)


def read_only(*shape):
    array = floats(*shape)
    array.flags.writeable = False
    return array


def call(*arguments, **options):
    return lambda: ck.gather_nd(*arguments, **options)


def fill(value, dtype=np.int8):
    return call(X.astype(dtype), I, mode="fill", fill_value=value)


# The line of the error behind the operator's name; "..." stands for anything.
DESCRIPTOR = {
    "batch_dims is negative": (call(X, I, -1), "batch_dims must lie in [0, 1]; got -1"),
    "all of the indices": (call(X, I, 2), "batch_dims must lie in [0, 1]; got 2"),
    "all of x": (call(zeros(4), zeros(4, 1), 1), "batch_dims must lie in [0, 0]; got 1"),
    "all of both": (call(X, zeros(2, 3, 1), 3), "batch_dims must lie in [0, 2]; got 3"),
    "batch_dims is large": (call(X, I, 2**70), f"batch_dims must lie in [0, 1]; got {2**70}"),
    "tuple too long": (call(X, zeros(2, 4)), LONG.format(3, 0, (2, 4)) + SINGLE),
    "tuple too long for a batch": (
        call(X, zeros(2, 5, 3), 1),
        LONG.format(2, 1, (2, 5, 3)) + SINGLE,
    ),
    "long tuple in another batch": (call(X, zeros(7, 3), 1), LONG.format(2, 1, (7, 3))),
    "batches differ": (call(X, zeros(3, 5, 1), 1), BATCH.format((2,), (3, 5, 1))),
    "batches do not broadcast": (call(X, zeros(1, 5, 1), 1), BATCH.format((2,), (1, 5, 1))),
    "second batches differ": (call(X, zeros(2, 4, 1), 2), BATCH.format((2, 3), (2, 4, 1))),
    "scalar indices": (call(X, np.int32(1)), "indices must have 1 to 8 dimensions; got 0"),
    "indices of rank 9": (call(X, zeros(*ONES)), "indices must have 1 to 8 dimensions; got 9"),
    "scalar x": (call(np.float32(1), I), "x must have 1 to 8 dimensions; got 0"),
    "rank 9": (call(floats(*ONES), I), "x must have 1 to 8 dimensions; got 9"),
    "unknown mode": (call(X, I, mode="clip"), MODES + "'clip'; did you mean 'clamp'?"),
    "mode is a list": (call(X, I, mode=["clamp"]), MODES + "['clamp']"),
    "mode is None": (call(X, I, mode=None), MODES + "None"),
    "mode is bytes": (call(X, I, mode=b"fill"), MODES + "b'fill'"),
}
DTYPE = {
    "batch_dims is a fraction": (call(X, I, 1.5), "batch_dims must be an int; got 1.5"),
    "batch_dims is a float": (call(X, I, 1.0), "batch_dims must be an int; got 1.0"),
    "batch_dims is text": (call(X, I, "1"), "batch_dims must be an int; got '1'"),
    "batch_dims is None": (call(X, I, None), "batch_dims must be an int; got None"),
    "float indices": (call(X, I.astype(np.float32)), INTEGERS + "float32"),
    "bool indices": (call(X, I > 0), INTEGERS + "bool"),
    "complex indices": (call(X, I.astype(complex)), INTEGERS + "complex128"),
    "foreign byte order": (call(X, I.astype(">i4")), INTEGERS + ">i4"),
    "empty float indices": (call(X, floats(0, 2)), INTEGERS + "float32"),
    "object array": (call(np.array([object(), None]), I), SUPPORTED + "object"),
    "strings": (call(np.array(["a", "b"]), I), SUPPORTED + "<U1"),
    "dates": (call(np.zeros(3, "M8[s]"), I), SUPPORTED + "datetime64[s]"),
    "x of foreign byte order": (call(X.astype(">f4"), I), SUPPORTED + ">f4"),
    "fill out of range": (fill(300), "fill_value must fit int8; got 300  ... )"),
    "fill below zero": (fill(-1, np.uint16), "fill_value must fit uint16; got -1  ... )"),
    "fill with a fraction": (fill(0.5), "fill_value must fit int8; got 0.5 (a fraction  ... )"),
    "fill is no number": (fill("x", np.float32), "fill_value must fit float32; got 'x'  ... )"),
    "fill is complex": (fill(1j, np.float32), "fill_value must fit float32; got 1j  ... )"),
    "fill of bool": (fill(2, bool), "fill_value must fit bool; got 2 (a bool is 0 or 1)"),
    "fill no scalar": (fill([1, 2]), "fill_value must be a scalar; got shape (2,)"),
}
BINDING = {
    "ragged list": (call([[1, 2], [3]], I), "x must be an array;  ... "),
    "ragged indices": (call(X, [[0, 1], [2]]), "indices must be an array;  ... "),
    "masked array": (call(np.ma.masked_array(X, X > 1), I), "x" + MASKED),
    "masked indices": (call(X, np.ma.masked_array(I, I > 1)), "indices" + MASKED),
    "out of another shape": (call(X, I, out=floats(4, 2)), SHAPE.format((2, 4), 0, (4, 2))),
    "out of a batch": (
        call(X, zeros(2, 5, 1), 1, out=floats(2, 5, 3, 4)),
        SHAPE.format((2, 5, 4), 1, (2, 5, 3, 4)),
    ),
    "out for one tuple": (call(X, zeros(3), out=floats(1)), SHAPE.format((), 0, (1,))),
    "empty tuples": (call(X, zeros(5, 0), out=floats(5)), SHAPE.format((5, 2, 3, 4), 0, (5,))),
    "no tuples": (call(X, zeros(0, 3), out=floats(0, 4)), SHAPE.format((0,), 0, (0, 4))),
    "out of another dtype": (call(X, I, out=np.zeros((2, 4))), FLOAT32 + "float64"),
    "out of a dtype of the same size": (call(X, I, out=zeros(2, 4)), FLOAT32 + "int32"),
    "read-only out": (call(X, I, out=read_only(2, 4)), READ_ONLY),
    "read-only for empty tuples": (call(X, zeros(5, 0), out=read_only(5, 2, 3, 4)), READ_ONLY),
    "out is a list": (call(X, I, out=[0.0]), NO_ARRAY + "list"),
    "out overlaps itself": (
        call(X, I, out=np.lib.stride_tricks.as_strided(floats(8), (2, 4), (8, 4))),
        "out must give each element an address of its own; got strides (8, 4)",
    ),
}
RANGE = {
    **{
        f"nothing to {mode} to": (
            call(floats(2, 0, 4), I, mode=mode),
            "x.shape[1] must be at least 1 for 4 indices; got 0",
        )
        for mode in ("clamp", "wrap", "raise")
    },
    "nothing in the batches": (
        call(floats(2, 0, 4), zeros(2, 5, 1), 1, out=floats(2, 5, 4)),
        "x.shape[1] must be at least 1 for 10 indices; got 0",
    ),
}
CASES = [
    pytest.param(*row, error, error_base, id=case)
    for cases, error, error_base in (
        (DESCRIPTOR, ck.ArgumentError, ValueError),
        (DTYPE, ck.DTypeError, TypeError),
        (BINDING, ck.BindingError, ValueError),
        (RANGE, ck.IndexRangeError, IndexError),
    )
    for case, row in cases.items()
]


@pytest.mark.parametrize(("bad_call", "text", "error", "error_base"), CASES)
def test_bad_input_is_named(launches, bad_call, text, error, error_base):
    with pytest.raises(error) as caught:
        bad_call()
    message = str(caught.value)
    start, gap, end = f"gather_nd: {text}".partition(" ... ")
    assert message.startswith(start)
    assert message.endswith(end if gap else start)
    assert "\n" not in message
    assert isinstance(caught.value, ck.CudakernError)
    assert isinstance(caught.value, error_base)
    rule = re.search(r"\[([A-Z]\d)\]$", text)
    assert getattr(caught.value, "rule", None) == (rule and rule[1])
    assert not launches


def test_a_good_call_counts_as_a_launch(launches):
    ck.gather_nd(X, I)
    assert len(launches) == 1


def poisoned(shape, dtype, place):
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return put(np.full(size, POISON, np.uint8).view(dtype).reshape(shape), place)


BAD = [
    pytest.param(0, [[0, 0, 0], [1, 2, 4], [2, 0, 0]], "[1, 2]", 2, 4, id="last component"),
    pytest.param(0, [[1, 2], [1, -4], [9, 9]], "[1, 1]", 1, -4, id="below its axis"),
    pytest.param(0, [[-2, 2], [2, 0]], "[1, 0]", 0, 2, id="within another axis"),
    pytest.param(0, [0, 5], "[1]", 1, 5, id="a single tuple"),
    pytest.param(0, [[[0], [0]], [[-3], [2]]], "[1, 0, 0]", 0, -3, id="three dimensions"),
    pytest.param(1, [[[2, 3]], [[-3, -5]]], "[1, 0, 1]", 2, -5, id="a batch"),
    pytest.param(1, [[0], [3]], "[1, 0]", 1, 3, id="one tuple a batch"),
    pytest.param(2, [[[0]] * 3, [[3], [0], [4]]], "[1, 2, 0]", 2, 4, id="two batches"),
]


@pytest.mark.parametrize(("batch", "indices", "where", "axis", "value"), BAD)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_raise_names_the_first_bad_index(
    launches, place, batch, indices, where, axis, value, dtype
):
    indices = put(np.array(indices, dtype), place)
    out = poisoned(indices.shape[:-1] + X.shape[batch + indices.shape[-1] :], X.dtype, place)
    before = get(out).tobytes()
    with pytest.raises(ck.IndexRangeError) as caught:
        ck.gather_nd(put(X, place), indices, batch, mode="raise", out=out)
    extent = X.shape[axis]
    required = f"must lie in [{-extent}, {extent - 1}] for x.shape[{axis}]={extent}; got {value}"
    assert str(caught.value) == f"gather_nd: indices{where} {required}"
    assert get(out).tobytes() == before
    assert not launches


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int64", 2**63 - 1),
        ("int64", -(2**63)),
        ("int64", 2**32),
        ("uint64", 2**64 - 1),
        ("uint64", 2**32 + 1),
        ("uint32", 2**32 - 1),
        ("int32", -(2**31)),
        ("int16", -3),
        ("uint8", 2),
    ],
)
def test_raise_shows_the_whole_value(place, dtype, value):
    memory = put(np.array([[0, 9], [0, value], [1, 0]], dtype), place)
    indices = memory[::-1, ::-1]  # its first one is the last in memory
    lowest = -2 if dtype.startswith("int") else 0
    text = f"gather_nd: indices[1, 0] must lie in [{lowest}, 1] for x.shape[0]=2; got {value}"
    with pytest.raises(ck.IndexRangeError) as caught:
        ck.gather_nd(put(X, place), indices, mode="raise")
    assert str(caught.value) == text


@pytest.mark.parametrize("mode", ["clamp", "wrap", "fill", "raise"])
@pytest.mark.parametrize("operand", ["x", "indices"])
def test_out_that_overlaps_an_input_is_refused(place, mode, operand):
    memory = put(np.full(64, POISON, np.int64), place)
    x, indices = put(np.arange(6), place), put(np.array([[0], [1], [5]]), place)
    if operand == "x":
        x, out = memory[:6], memory[5:8]
    else:
        indices, out = memory[1:4].reshape(3, 1), memory[3:6]
        memory[1:4] = 0
    before = get(memory).tolist()
    with pytest.raises(ck.BindingError, match=f"out must not overlap {operand}; ") as caught:
        ck.gather_nd(x, indices, mode=mode, out=out)
    assert caught.value.rule == "T19"
    assert get(memory).tolist() == before


def test_out_that_overlaps_is_refused_where_nothing_is_launched(place):
    memory = put(np.arange(20, dtype=np.int64), place)
    with pytest.raises(ck.BindingError, match="out must not overlap x; "):
        ck.gather_nd(memory[:3], put(zeros(2, 0), place), out=memory[2:8].reshape(2, 3))
    indices, out = memory[:2].reshape(2, 1), memory[1:5].reshape(2, 2)
    x = put(np.zeros((0, 2), np.int64), place)
    with pytest.raises(ck.BindingError, match="out must not overlap indices; "):
        ck.gather_nd(x, indices, mode="fill", out=out)
    assert get(memory).tolist() == list(range(20))


def test_out_between_the_elements_of_an_input_is_accepted(place):
    memory = put(np.arange(20, dtype=np.int64), place)
    x, out = memory[::2], memory[1:12:4]
    ck.gather_nd(x, put(np.array([[9], [0], [1]]), place), out=out)
    assert out.tolist() == [18, 0, 2]
    assert x.tolist() == list(range(0, 20, 2))
    memory = put(np.arange(8, dtype=np.int64), place)
    indices, out = memory.reshape(4, 2)[:, :1], memory[1::2]
    ck.gather_nd(put(np.arange(10, 17), place), indices, out=out)
    assert memory.tolist() == [0, 10, 2, 12, 4, 14, 6, 16]


def test_a_warm_call_refuses_what_a_cold_one_would(place):
    x, indices = put(X, place), put(I, place)
    out = poisoned((2, 4), np.float32, place)
    for _ in range(2):
        ck.gather_nd(x, indices, out=out)
    assert get(out).tolist() == X[[0, 1], [1, 2]].tolist()
    with pytest.raises(ck.BindingError, match=r"must have shape \(2, 3, 4\) for batch_dims=0; "):
        ck.gather_nd(x, indices[:, :1], out=out)
    with pytest.raises(ck.ArgumentError, match="batch_dims must lie in "):
        ck.gather_nd(x, indices, 2, out=out)
    if place == HOST:
        out.flags.writeable = False
        with pytest.raises(ck.BindingError, match="read-only"):
            ck.gather_nd(x, indices, out=out)
    with pytest.raises(ck.BindingError, match="overlap"):
        ck.gather_nd(x, indices, out=x[:, 0])


@pytest.mark.gpu
@pytest.mark.parametrize("device", ["x", "indices", "out"])
def test_mixed_places_are_named(device):
    arrays = {"x": X, "indices": I, "out": floats(2, 4)}
    arrays[device] = put(arrays[device], CUDA)
    with pytest.raises(ck.BindingError, match=r"on (the host|CUDA device 0); got (the host|CUDA)"):
        ck.gather_nd(arrays["x"], arrays["indices"], out=arrays["out"])
