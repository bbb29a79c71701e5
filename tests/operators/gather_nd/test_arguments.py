"""What gather_nd answers to wrong arguments of its own, word by word."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.checked import PLAIN_UNLESS_THOROUGH
from tests.helpers.foreign_arrays import DLPackOnly
from tests.helpers.places import POISON, get, put, same_bytes
from tests.helpers.refused import assert_refused, refusals
from tests.helpers.rows import each
from tests.operators.gather_nd.rules import LEGAL

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
        **{f"batch_dims must be an int; got {b!r}": call(batch_dims=b) for b in (1.5, "1")},
        "batch_dims must be an int; got 1.0; did you mean 1?": call(batch_dims=1.0),
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


SEVERAL = (
    "{0} must be one array; got a {1} of arrays; "
    "use np.stack({0}, axis=-1), or argwhere instead of nonzero"
)


@each("make", [put, lambda array, _: DLPackOnly(array), lambda array, _: memoryview(array)])
@each("count", [1, 2, 3])
@each("kind", [list, tuple])
def test_an_index_for_each_axis(launches, place, kind, count, make):
    """NumPy makes a row of each array of a list, and gather_nd would take the rows as tuples."""
    columns = kind([make(np.arange(count), place)] * count)
    text = f"gather_nd: {SEVERAL.format('indices', kind.__name__)}"
    assert_refused(ck.DTypeError, text, call(put(X, place), columns))
    compiled, x = ck.compile_operator(LEGAL), np.zeros((3, 4), np.float32)
    text = f"gather_nd: {SEVERAL.format('indices_tensor', kind.__name__)}"
    assert_refused(ck.DTypeError, text, lambda: compiled(put(x, place), columns))
    assert not launches


ROWS = {
    "numbers": [[1, 2], [0, 1]],
    "NumPy's numbers": [[np.int64(1), np.array(2)], [np.uint8(0), 1]],
    "an array among lists": [np.array([1, 2]), [0, 1]],
    "arrays in lists": [[np.array([1, 2]), np.array([0, 1])]],
}


@each("rows", ROWS)
def test_rows_are_tuples(rows):
    """As numpy.asarray reads them."""
    found = ck.gather_nd(X, ROWS[rows])
    assert same_bytes(found.reshape(2, 4), X[[1, 0], [2, 1]])


def test_the_way_out_is_what_numpy_selects(place):
    x = put(X, place)
    indices = list(ck.nonzero(x))
    with pytest.raises(ck.DTypeError) as caught:
        ck.gather_nd(x, indices)
    way_out = str(caught.value).partition("; use ")[2].partition(", or ")[0]
    rows = eval(way_out, {"np": np, "indices": [get(index) for index in indices]})  # noqa: S307
    for given in (put(rows, place), ck.argwhere(x)):
        assert same_bytes(get(ck.gather_nd(x, given)), X[np.nonzero(X)])


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
