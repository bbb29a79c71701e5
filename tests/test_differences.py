"""The table of what differs from other libraries: each row's claim about cudakern is tried."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.places import library
from tests.helpers.readmes import has_test, rows, section

X = np.array([[1, 3, 0], [5, 0, 7]], np.float32)
NAN = np.array([2, np.nan, 3, np.nan], np.float32)
F32 = ck.DataType.FLOAT32
TITLE = "## What differs from NumPy, CuPy and DirectML"


def described(function, x, out):
    """Return what the descriptor of a reduction over all axes gives."""
    sizes = (1,) * x.ndim
    tensors = (ck.TensorDesc(F32, x.shape), ck.TensorDesc(out, sizes))
    make = {"argmax": ck.ArgmaxOperatorDesc, "argmin": ck.ArgminOperatorDesc}.get(function)
    axes = tuple(range(x.ndim))
    if make:
        desc = make(*tensors, axes, ck.AxisDirection.INCREASING)
    else:
        desc = ck.ReduceOperatorDesc(ck.ReduceFunction[function.upper()], *tensors, axes)
    return ck.compile_operator(desc)(x).item()


def indices_out_of_range(xp):
    x = xp.arange(5)
    found = [ck.gather(x, [7, -6], mode=mode).tolist() for mode in ("clamp", "wrap", "fill")]
    with pytest.raises(ck.IndexRangeError):
        ck.gather(x, [7], mode="raise")
    return found == [[4, 0], [2, 4], [0, 0]]


def negative_indices(xp):
    x = xp.arange(5)
    modes = [ck.gather(x, [-2], mode=mode).item() for mode in ("clamp", "fill", "raise")]
    invalid = ck.gather(x, [-2], mode="fill", fill_value=9, negative="invalid").item()
    return modes == [3, 3, 3] and invalid == 9


def tuples_of_no_component(xp):
    x, indices = xp.array(X), xp.zeros((2, 0), int)
    return ck.gather_nd(x, indices, batch_dims=1).tolist() == X.tolist()


def coordinates_and_count(xp):
    found = ck.nonzero_coordinates(xp.array(X), size=2)
    return found.count.tolist() == [4] and found.coordinates.tolist() == [[0, 0], [0, 1]]


def what_is_zero(xp):
    x = xp.array([0, -0.0, 1e-45, np.nan], np.float32)
    return ck.argwhere(x).tolist() == [[2], [3]]


def nonzero_with_a_size(xp):
    return ck.nonzero(xp.array(X)[0], size=3)[0].tolist() == [0, 1, -1]


def nonzero_of_a_scalar(xp):
    with pytest.raises(ck.ArgumentError):
        ck.nonzero(xp.array(3))
    return ck.nonzero_coordinates(xp.array(3)).coordinates.tolist() == [[0]]


def one_hot_out_of_range(xp):
    return ck.one_hot(xp.array([3, -4, -1]), 3).tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 1]]


def dtype_of_one_hot(xp):
    indices, values = xp.array([1]), xp.array([0, 1], np.int64)
    found = ck.one_hot(indices, 3), ck.one_hot(indices, 3, values=values)
    return [array.dtype for array in found] == ["f4", "i8"]


def nan(xp):
    all_nan = xp.full(3, np.nan, np.float32)
    x, skipped = xp.array(NAN), {"max": 3, "min": 2, "argmax": 2, "argmin": 0}
    for function, value in skipped.items():
        kept = ck.reduce(x, function)
        assert kept == 1 if function.startswith("arg") else np.isnan(kept)
        assert ck.reduce(x, function, nan="ignore") == value
        out = ck.DataType.UINT32 if function.startswith("arg") else F32
        assert described(function, x, out) == value
    return np.isnan(ck.reduce(all_nan, "max", nan="ignore")) and not ck.reduce(
        all_nan, "argmax", nan="ignore"
    )


def order_of_complex_numbers(xp):
    x = xp.array([2 - 3j, 2 - 4j, 1 + 9j], np.complex64)
    with_nan = xp.append(x, np.complex64(complex(0, np.nan)))
    found = [ck.reduce(x, name) for name in ("max", "min", "argmax", "argmin")]
    kept = [ck.reduce(with_nan, "argmax", nan=rule) for rule in ("propagate", "ignore")]
    return found == [2 - 3j, 1 + 9j, 0, 2] and kept == [3, 0]


def sums_of_integers(xp):
    x = xp.array([100, 100], np.int8)
    return (ck.reduce(x, "sum"), ck.reduce(x, "sum", dtype="int64")) == (-56, 200)


def l1_of_the_least_integer(xp):
    x = xp.array([-128], np.int8)
    return (ck.reduce(x, "l1"), ck.reduce(x, "l1", dtype="int64")) == (-128, 128)


def log_sum_exp(xp):
    near_zero = ck.reduce(xp.array([0.0, -40]), "log_sum_exp")
    assert abs(near_zero / np.log1p(np.exp(-40)) - 1) <= 4 * np.finfo(float).eps
    return ck.reduce(xp.array([100, 100], np.float32), "log_sum_exp") == np.float32(100 + np.log(2))


def squares(xp):
    x = xp.array([1e30, 1e30], np.float32)
    return np.isinf(ck.reduce(x, "l2")) and np.isinf(ck.reduce(x, "sum_square"))


def float16(xp):
    x = xp.ones(68000, np.float16)
    return ck.reduce(x, "average") == 1 and np.isinf(ck.reduce(x, "sum"))


def averages_of_integers(xp):
    average = ck.reduce(xp.array([1, 2], np.int32), "average")
    return average.dtype == np.float64 and average == 1.5


def no_axes(xp):
    return ck.reduce(-xp.array(X), "l1", axis=()).tolist() == X.tolist()


def an_axis_twice(xp):
    with pytest.raises(ck.ArgumentError):
        ck.reduce(xp.array(X), "sum", axis=(0, -2))
    return True


def equal_elements(xp):
    x = xp.array([0.0, -0.0], np.float32)
    return [ck.reduce(x, "argmax", last_index=last) for last in (False, True)] == [0, 1]


def of_no_elements(xp):
    x = xp.zeros(0, np.float32)
    for function, value in {"sum": 0, "l1": 0, "l2": 0, "sum_square": 0, "multiply": 1}.items():
        assert ck.reduce(x, function) == value
    assert ck.reduce(x, "log_sum") == ck.reduce(x, "log_sum_exp") == -np.inf
    for function in ("max", "min", "argmax", "argmin"):
        with pytest.raises(ck.ArgumentError):
            ck.reduce(x, function)
    assert ck.reduce(x, "max", initial=4) == 4
    return np.isnan(ck.reduce(x, "average"))


def an_index_that_does_not_fit(xp):
    with pytest.raises(ck.DTypeError):
        ck.reduce(xp.zeros(300, np.float32), "argmax", dtype="int8")
    return True


def index_dimensions_of_all(xp):
    tensors = [ck.TensorDesc(kind, (3,)) for kind in (F32, ck.DataType.UINT32, F32)]
    desc = ck.GatherOperatorDesc(*tensors, axis=0, index_dimensions=1)
    x = xp.array([5, 6, 7], np.float32)
    return ck.compile_operator(desc)(x, xp.array([2, 0, 9], np.uint32)).tolist() == [7, 5, 7]


#: By the first cell of a row: what tries it here, or the test elsewhere that does.
CLAIMS = {
    "index out of range": indices_out_of_range,
    "negative index": negative_indices,
    '`mode="raise"` on a GPU': "operators/gather/test_function.py::"
    "test_gather_raise_names_the_first_bad_index_and_leaves_out_alone",
    "tuples of no component, `indices.shape[-1] == 0`": tuples_of_no_component,
    "coordinates and their count": coordinates_and_count,
    "what is zero": what_is_zero,
    "`nonzero` with `size`": nonzero_with_a_size,
    "`nonzero` of a scalar": nonzero_of_a_scalar,
    "one_hot index out of range: `depth` and beyond, below `-depth`": one_hot_out_of_range,
    "dtype of `one_hot`": dtype_of_one_hot,
    "NaN in `max`, `min`, `argmax`, `argmin`": nan,
    "`max`, `min`, `argmax`, `argmin` of complex numbers": order_of_complex_numbers,
    "sums and products of integers": sums_of_integers,
    "`l1` of the least signed integer": l1_of_the_least_integer,
    "`log_sum_exp`": log_sum_exp,
    "`l2`, `sum_square`": squares,
    "float16": float16,
    "dtype of averages of integers": averages_of_integers,
    "no axes, `axis=()`": no_axes,
    "an axis twice": an_axis_twice,
    "equal elements, 0.0 and -0.0 among them": equal_elements,
    "reductions of no elements": of_no_elements,
    "an index that the output's type cannot hold": an_index_that_does_not_fit,
    "output sizes of gatherND": "operators/gather_nd/test_descriptor.py::test_padding_dimensions",
    "gatherND's example of batches": "operators/gather_nd/test_descriptor.py::"
    "test_documented_batches",
    "gather example 3 of DirectML": "operators/test_documented_examples.py::"
    "test_what_is_printed_wrongly_is_rejected",
    "`index_dimensions` equal to the dimension count": index_dimensions_of_all,
}
ROWS = rows(section("cudakern/operators/reference.md", TITLE))


def test_every_row_is_tried():
    assert [case for case, *_ in ROWS] == [*CLAIMS]


TRIED = {case: claim for case, claim in CLAIMS.items() if not isinstance(claim, str)}


@pytest.mark.device
@pytest.mark.parametrize("claim", TRIED.values(), ids=TRIED)
def test_row(place, claim):
    assert claim(library(place))


def test_rows_that_are_tried_elsewhere():
    assert all(has_test(claim) for claim in CLAIMS.values() if isinstance(claim, str))
