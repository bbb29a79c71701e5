"""one_hot through descriptors: the documented examples, values of any shape, strides."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import cudakern as ck
from cudakern import DataType, FeatureLevel
from tests.helpers.checked import PLAIN_AND_CHECKED_ONCE
from tests.helpers.one_hot import expected
from tests.helpers.places import get, same_bytes
from tests.operators.descriptors import Tensors, change, integers, strided
from tests.operators.one_hot.rules import one_hot

pytestmark = PLAIN_AND_CHECKED_ONCE

EXTENDED = FeatureLevel.EXTENDED


def reference(indices, values, shape, axis):
    """The operator coordinate by coordinate, in Python's integers."""
    d = max(k for k, n in enumerate(values.shape) if n > 1)
    off = values[(0,) * values.ndim]
    on = values[tuple(int(k == d) for k in range(values.ndim))]
    depth = shape[axis]
    result = np.empty(shape, values.dtype)
    for c in product(*map(range, shape)):
        v = int(indices[(*c[:axis], 0, *c[axis + 1 :])])
        v = v + depth if v < 0 else v
        result[c] = on if c[axis] == v else off
    return result


@pytest.mark.parametrize("reverse", [False, True], ids=["packed", "reversed"])
@pytest.mark.parametrize(
    "shape", [(1, 1, 2), (2, 1, 1), (1, 3, 1), (3, 2, 1), (2, 3, 1), (2, 1, 3), (4, 4, 4)], ids=str
)
def test_off_and_on_lie_along_the_last_dimension_with_two(shape, reverse):
    """Not the first two elements: those of the last dimension that has as many, by its stride."""
    order = "F" if reverse else "C"
    values = np.arange(10, 10 + np.prod(shape), dtype=np.int16).reshape(shape, order=order)
    indices = np.array([[[2]], [[0]], [[-1]], [[9]]], np.int64)
    desc = one_hot((4, 1, 1), shape, (4, 3, 1), 1, "INT16", "INT64")
    strides = tuple(s // 2 for s in values.strides)
    desc = change(desc, "values_tensor", strides=strides)
    result = ck.compile_operator(desc)(indices, values)
    np.testing.assert_array_equal(result, reference(indices, values, (4, 3, 1), 1))


@pytest.mark.parametrize(
    ("kind", "indices", "positions"),
    [
        pytest.param("INT32", [-1, -3, -4, -10, 3, 10], [2, 0, None, None, None, None], id="int32"),
        pytest.param("INT64", [-1, -(2**40), 2**40, 2**32 + 1], [2] + [None] * 3, id="int64"),
        pytest.param("INT64", [2**63 - 1, -(2**63), -(2**32)], [None] * 3, id="int64-extremes"),
        pytest.param("UINT32", [2**32 - 1, 2**31, 3, 1], [None, None, None, 1], id="uint32"),
        pytest.param("UINT64", [2**64 - 1, 2**63, 2**32, 0], [None, None, None, 0], id="uint64"),
    ],
)
def test_indices_out_of_range_are_all_off(kind, indices, positions):
    indices = np.array(indices, DataType[kind].numpy).reshape(-1, 1)
    desc = one_hot(indices.shape, (1, 2), (len(indices), 3), 1, "INT8", kind)
    result = ck.compile_operator(desc)(indices, np.array([[-5, 7]], np.int8))
    assert result.tolist() == [[7 if d == p else -5 for d in range(3)] for p in positions]


# Strides of indices {2, 1, 5}, values {1, 3, 1} and output {2, 4, 5}, along axis 1.
PACKED = ((5, 5, 1), (3, 1, 1), (20, 5, 1))
STRIDED = [
    pytest.param(PACKED, id="packed"),
    pytest.param(((0, 99, 3), *PACKED[1:]), id="indices-padded"),
    pytest.param(((1, 7, 2), *PACKED[1:]), id="indices-transposed"),
    pytest.param(((0, 7, 0), *PACKED[1:]), id="indices-broadcast"),
    pytest.param((PACKED[0], (9, 4, 77), PACKED[2]), id="values-padded"),
    pytest.param((PACKED[0], (0, 0, 0), PACKED[2]), id="values-broadcast"),
    pytest.param((*PACKED[:2], (47, 9, 2)), id="output-padded"),
    pytest.param((*PACKED[:2], (1, 2, 8)), id="output-reversed"),
    pytest.param((*PACKED[:2], (4, 1, 8)), id="output-axis-innermost"),
    pytest.param((*PACKED[:2], (5, 10, 1)), id="output-axis-outermost"),
    pytest.param(((0, 0, 2), (1, 30, 1), (5, 1, 10)), id="everything"),
]


@pytest.mark.parametrize("flat", [False, True], ids=["arrays", "buffers"])
@pytest.mark.parametrize("kind", ["INT8", "FLOAT64", "COMPLEX128"])
@pytest.mark.parametrize("strides", STRIDED)
def test_strides_of_the_descriptor(place, strides, kind, flat):
    desc = strided(one_hot((2, 1, 5), (1, 3, 1), (2, 4, 5), 1, kind, "INT64"), *strides)
    tensors = Tensors(desc, place, integers(7, -5, 6), integers(8, 1, 100))
    tensors.run(EXTENDED, flat=flat)
    indices, values, out = map(get, tensors.arrays)
    tensors.assert_written(reference(indices, values, out.shape, 1))


@pytest.mark.parametrize("axis", range(8))
def test_eight_dimensions(axis):
    shape = (2, 1, 2, 3, 1, 2, 2, 2)
    indices = np.arange(-8, 8)[np.arange(96).reshape(shape) * 5 % 16]
    values = np.array([8, 9], np.uint16)
    padded = np.take(indices, [0], axis)
    dropped = padded.squeeze(axis)
    sizes = (*shape[:axis], 4, *shape[axis + 1 :])
    desc = one_hot(padded.shape, (*(1,) * 7, 2), sizes, axis, "UINT16", "INT64")
    found = ck.compile_operator(desc)(padded, values.reshape((*(1,) * 7, 2)))
    assert same_bytes(found, expected(dropped, 4, axis, values))


@pytest.mark.parametrize(
    "sizes", [((3, 1), (1, 2), (3, 0)), ((0, 1), (1, 2), (0, 4)), ((0, 1), (2, 2), (0, 0))], ids=str
)
def test_empty_tensors_at_the_extended_level(sizes):
    desc = one_hot(*sizes, 1)
    with pytest.raises(ck.DescriptorError):
        desc.validate()
    operator = ck.compile_operator(desc, feature_level=EXTENDED)
    result = operator(np.zeros(sizes[0], np.uint32), np.ones(sizes[1], np.float32))
    assert (result.shape, result.dtype) == (sizes[2], np.float32)


@pytest.mark.parametrize("kind", ["BOOL", "BFLOAT16", "COMPLEX64", "COMPLEX128"])
def test_more_data_types_at_the_extended_level(kind):
    if kind == "BFLOAT16":
        pytest.importorskip("ml_dtypes")
    operator = ck.compile_operator(one_hot((3, 1), (1, 2), (3, 4), 1, kind), feature_level=EXTENDED)
    values = np.array([[0, 1]]).astype(DataType[kind].numpy)
    result = operator(np.array([[3], [0], [4]], np.uint32), values)
    assert result.tolist() == [[0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 0, 0]]
