"""What gather_nd answers to wrong arguments of its own, word by word."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.checked import PLAIN_UNLESS_THOROUGH
from tests.helpers.places import POISON, get, put
from tests.helpers.refused import assert_refused, refusals
from tests.helpers.rows import each

pytestmark = [PLAIN_UNLESS_THOROUGH, pytest.mark.device]

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
I = np.array([[0, 1], [1, 2]], np.int32)  # noqa: E741  as in the operator's formula
LONG = "indices must have at most {} in the last dimension for batch_dims={}; got shape {}"
SINGLE = "; for single indices, use indices[..., None]"
BATCH = "indices must start with the batch {} of x; got shape {}"
SHAPE = "out must have shape {} for batch_dims={}; got {}"


def zeros(*shape, dtype=np.int32):
    return np.zeros(shape, dtype)


def call(x=X, indices=I, batch_dims=0, **options):
    return lambda: ck.gather_nd(x, indices, batch_dims, **options)


def into(indices, batch_dims, *shape):
    """Return a call with an output of a shape."""
    return call(X, indices, batch_dims, out=zeros(*shape, dtype=np.float32))


TABLES = {
    ck.ArgumentError: {
        "batch_dims must lie in [0, 1]; got -1": call(batch_dims=-1),
        "batch_dims must lie in [0, 1]; got 2": call(batch_dims=2),
        "batch_dims must lie in [0, 0]; got 1": call(zeros(4), zeros(4, 1), 1),
        f"batch_dims must lie in [0, 0]; got 1{SINGLE}": call(X[..., 0], [0, -1], 1),
        "batch_dims must lie in [0, 2]; got 3": call(X, zeros(2, 3, 1), 3),
        f"batch_dims must lie in [0, 1]; got {2**70}": call(batch_dims=2**70),
        LONG.format(3, 0, (2, 4)) + SINGLE: call(X, zeros(2, 4)),
        LONG.format(2, 1, (2, 5, 3)) + SINGLE: call(X, zeros(2, 5, 3), 1),
        LONG.format(2, 1, (7, 3)): call(X, zeros(7, 3), 1),
        BATCH.format((2,), (3, 5, 1)): call(X, zeros(3, 5, 1), 1),
        BATCH.format((2,), (1, 5, 1)): call(X, zeros(1, 5, 1), 1),
        BATCH.format((2, 3), (2, 4, 1)): call(X, zeros(2, 4, 1), 2),
        "mode must be  ... ": call(mode="clip"),
        "negative must be  ... ": call(mode="wrap", negative="invalid"),
        "fill_value must come  ... ": call(mode="raise", fill_value=-1.5),
    },
    ck.DTypeError: {
        **{f"batch_dims must be an int; got {b!r}": call(batch_dims=b) for b in (1.5, 1.0, "1")},
    },
    ck.BindingError: {
        SHAPE.format((2, 4), 0, (4, 2)): into(I, 0, 4, 2),
        SHAPE.format((2, 5, 4), 1, (2, 5, 3, 4)): into(zeros(2, 5, 1), 1, 2, 5, 3, 4),
        SHAPE.format((), 0, (1,)): into(zeros(3), 0, 1),
        SHAPE.format((5, 2, 3, 4), 0, (5,)): into(zeros(5, 0), 0, 5),
        SHAPE.format((0,), 0, (0, 4)): into(zeros(0, 3), 0, 0, 4),
    },
}


@each(("error", "text", "call"), refusals(TABLES))
def test_answer(launches, error, text, call):
    assert_refused(error, f"gather_nd: {text}", call)
    assert not launches


# Batch dimensions, indices, where the first bad component is, of which axis, and what it is.
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


@each(("batch", "indices", "where", "axis", "value"), BAD)
def test_raise_names_the_first_bad_index(launches, place, batch, indices, where, axis, value):
    indices = put(np.array(indices), place)
    shape = indices.shape[:-1] + X.shape[batch + indices.shape[-1] :]
    out, extent = put(np.full(shape, POISON, X.dtype), place), X.shape[axis]
    required = f"must lie in [{-extent}, {extent - 1}] for x.shape[{axis}]={extent}; got {value}"
    text = f"gather_nd: indices{where} {required}"
    assert_refused(
        ck.IndexRangeError, text, call(put(X, place), indices, batch, mode="raise", out=out)
    )
    assert (get(out) == POISON).all()
    assert not launches


@each("mode", ["clamp", "raise"])
@each("operand", ["x", "indices"])
def test_out_that_overlaps_is_refused_where_nothing_is_launched(place, operand, mode):
    memory = put(np.arange(20, dtype=np.int64), place)
    if operand == "x":  # tuples of no component
        arguments = memory[:3], put(zeros(2, 0), place)
        options = {"out": memory[2:8].reshape(2, 3), "mode": mode}
    else:  # an empty axis
        arguments = put(zeros(0, 2, dtype=np.int64), place), memory[:2].reshape(2, 1)
        options = {"out": memory[1:5].reshape(2, 2), "mode": "fill"}
    text = f"gather_nd: out must not overlap {operand}; they share memory [T19]"
    assert_refused(ck.BindingError, text, call(*arguments, **options))
    assert get(memory).tolist() == list(range(20))
