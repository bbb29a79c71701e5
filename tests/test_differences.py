"""The table of what differs from other libraries: what its rows say of cudakern is tried.

Three rows are held elsewhere: of `mode="raise"` on a GPU, and of documents of DirectML.
"""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.places import library
from tests.helpers.readmes import rows, section
from tests.helpers.rows import each

X = np.array([[1, 3, 0], [5, 0, 7]], np.float32)
NAN = np.array([2, np.nan, 3, np.nan], np.float32)
F32 = ck.DataType.FLOAT32
TITLE = "## What differs from NumPy, CuPy and DirectML"
ELSEWHERE = {
    '`mode="raise"` on a GPU', "output sizes of gatherND", "gatherND's example of batches",
    "gather example 3 of DirectML",
}  # fmt: skip


def refuses(error, call, *arguments, **options):
    with pytest.raises(error):
        call(*arguments, **options)
    return True


def described(function, x, out):
    """Return what the descriptor of a reduction over all axes gives."""
    tensors = (ck.TensorDesc(F32, x.shape), ck.TensorDesc(out, (1,) * x.ndim))
    make = {"argmax": ck.ArgmaxOperatorDesc, "argmin": ck.ArgminOperatorDesc}.get(function)
    axes = tuple(range(x.ndim))
    if make:
        desc = make(*tensors, axes, ck.AxisDirection.INCREASING)
    else:
        desc = ck.ReduceOperatorDesc(ck.ReduceFunction[function.upper()], *tensors, axes)
    return ck.compile_operator(desc)(x).item()


def nan(xp):
    x, skipped = xp.array(NAN), {"max": 3, "min": 2, "argmax": 2, "argmin": 0}
    for function, value in skipped.items():
        kept = ck.reduce(x, function)
        assert kept == 1 if function.startswith("arg") else np.isnan(kept)
        assert ck.reduce(x, function, nan="ignore") == value
        out = ck.DataType.UINT32 if function.startswith("arg") else F32
        assert described(function, x, out) == value
    nothing = xp.full(3, np.nan, np.float32)
    found = [ck.reduce(nothing, function, nan="ignore") for function in ("max", "argmax")]
    return np.isnan(found[0]) and found[1] == 0


def order_of_complex_numbers(xp):
    x = xp.array([2 - 3j, 2 - 4j, 1 + 9j], np.complex64)
    with_nan = xp.append(x, np.complex64(complex(0, np.nan)))
    found = [ck.reduce(x, name) for name in ("max", "min", "argmax", "argmin")]
    kept = [ck.reduce(with_nan, "argmax", nan=rule) for rule in ("propagate", "ignore")]
    return found == [2 - 3j, 1 + 9j, 0, 2] and kept == [3, 0]


def of_no_elements(xp):
    x = xp.zeros(0, np.float32)
    for function, value in {"sum": 0, "l1": 0, "l2": 0, "sum_square": 0, "multiply": 1}.items():
        assert ck.reduce(x, function) == value
    assert ck.reduce(x, "log_sum") == ck.reduce(x, "log_sum_exp") == -np.inf
    for function in ("max", "min", "argmax", "argmin"):
        refuses(ck.ArgumentError, ck.reduce, x, function)
    return ck.reduce(x, "max", initial=4) == 4 and np.isnan(ck.reduce(x, "average"))


def index_dimensions_of_all(xp):
    tensors = [ck.TensorDesc(kind, (3,)) for kind in (F32, ck.DataType.UINT32, F32)]
    operator = ck.compile_operator(ck.GatherOperatorDesc(*tensors, axis=0, index_dimensions=1))
    x = xp.array([5, 6, 7], np.float32)
    return operator(x, xp.array([2, 0, 9], np.uint32)).tolist() == [7, 5, 7]


def reduced(values, kind, *functions, **options):
    """Return a claim of what functions make of values."""
    return lambda xp: [ck.reduce(xp.array(values, kind), f, **options) for f in functions]


#: By the first cell of a row: what it says, and what that gives unless it says yes or no.
CLAIMS = {
    "index out of range": (
        lambda xp: [ck.gather(xp.arange(5), [7, -6], mode=mode).tolist()
                    for mode in ("clamp", "wrap", "fill")]
        + [refuses(ck.IndexRangeError, ck.gather, xp.arange(5), [7], mode="raise")],
        [[4, 0], [2, 4], [0, 0], True],
    ),
    "negative index": (
        lambda xp: [ck.gather(xp.arange(5), [-2], mode=mode).item()
                    for mode in ("clamp", "fill", "raise")]
        + [ck.gather(xp.arange(5), [-2], mode="fill", fill_value=9, negative="invalid").item()],
        [3, 3, 3, 9],
    ),
    "tuples of no component, `indices.shape[-1] == 0`": (
        lambda xp: ck.gather_nd(xp.array(X), xp.zeros((2, 0), int), batch_dims=1).tolist(),
        X.tolist(),
    ),
    "coordinates and their count": (
        lambda xp: [part.tolist() for part in ck.nonzero_coordinates(xp.array(X), size=2)],
        [[4], [[0, 0], [0, 1]]],
    ),
    "what is zero": (
        lambda xp: ck.argwhere(xp.array([0, -0.0, 1e-45, np.nan], np.float32)).tolist(),
        [[2], [3]],
    ),
    "`nonzero` with `size`": (
        lambda xp: ck.nonzero(xp.array(X)[0], size=3)[0].tolist(), [0, 1, -1]
    ),
    "`nonzero` of a scalar": (
        lambda xp: refuses(ck.ArgumentError, ck.nonzero, xp.array(3))
        and ck.nonzero_coordinates(xp.array(3)).coordinates.tolist(),
        [[0]],
    ),
    "one_hot index out of range: `depth` and beyond, below `-depth`": (
        lambda xp: ck.one_hot(xp.array([3, -4, -1]), 3).tolist(),
        [[0, 0, 0], [0, 0, 0], [0, 0, 1]],
    ),
    "dtype of `one_hot`": (
        lambda xp: [ck.one_hot(xp.array([1]), 3, **values).dtype
                    for values in ({}, {"values": xp.array([0, 1], np.int64)})],
        ["f4", "i8"],
    ),
    "NaN in `max`, `min`, `argmax`, `argmin`": (nan, True),
    "`max`, `min`, `argmax`, `argmin` of complex numbers": (order_of_complex_numbers, True),
    "sums and products of integers": (reduced([100, 100], np.int8, "sum", "multiply"), [-56, 16]),
    "`l1` of the least signed integer": (reduced([-128], np.int8, "l1"), [-128]),
    "`log_sum_exp`": (
        reduced([100, 100], np.float32, "log_sum_exp"), [np.float32(100 + np.log(2))]
    ),
    "`l2`, `sum_square`": (
        reduced([1e30, 1e30], np.float32, "l2", "sum_square"), [np.inf, np.inf]
    ),
    "float16": (reduced(np.ones(68000), np.float16, "average", "sum"), [1, np.inf]),
    "dtype of averages of integers": (
        lambda xp: ck.reduce(xp.array([1, 2], np.int32), "average").dtype, "f8"
    ),
    "no axes, `axis=()`": (
        lambda xp: ck.reduce(-xp.array(X), "l1", axis=()).tolist(), X.tolist()
    ),
    "an axis twice": (
        lambda xp: refuses(ck.ArgumentError, ck.reduce, xp.array(X), "sum", axis=(0, -2)), True
    ),
    "equal elements, 0.0 and -0.0 among them": (
        lambda xp: [ck.reduce(xp.array([0.0, -0.0], np.float32), "argmax", last_index=last)
                    for last in (False, True)],
        [0, 1],
    ),
    "reductions of no elements": (of_no_elements, True),
    "an index that the output's type cannot hold": (
        lambda xp: refuses(
            ck.DTypeError, ck.reduce, xp.zeros(300, np.float32), "argmax", dtype="int8"
        ),
        True,
    ),
    "`index_dimensions` equal to the dimension count": (index_dimensions_of_all, True),
}  # fmt: skip


def test_every_row_is_tried():
    found = {case for case, *_ in rows(section("cudakern/operators/reference.md", TITLE))}
    assert found == {*CLAIMS, *ELSEWHERE}


@pytest.mark.device
@each("row", CLAIMS)
def test_row(place, row):
    claim, expected = CLAIMS[row]
    found = claim(library(place))
    assert found == expected
