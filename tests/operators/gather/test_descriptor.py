"""gather through descriptors: the documented examples, padding dimensions, strides."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import cudakern as ck
from cudakern import DataType, FeatureLevel
from tests.helpers.checked import PLAIN_UNLESS_THOROUGH
from tests.helpers.places import get
from tests.helpers.rows import each
from tests.helpers.samples import covering
from tests.operators.descriptors import Tensors, change, integers, strided
from tests.operators.gather.rules import gather

pytestmark = [PLAIN_UNLESS_THOROUGH, pytest.mark.device]

EXTENDED = FeatureLevel.EXTENDED


def reference(x, indices, shape, axis, count):
    """The operator coordinate by coordinate, in Python's integers."""
    rank, extent = x.ndim, x.shape[axis]
    result = np.empty(shape, x.dtype)
    for c in product(*map(range, shape)):
        t = c[axis + 1 - count : axis + 1]
        i = int(indices[(0,) * (rank - count) + t])
        i = min(max(i + extent if i < 0 else i, 0), extent - 1)
        before = [c[axis - count - k] if axis - count - k >= 0 else 0 for k in range(axis)]
        result[c] = x[(*reversed(before), i, *c[axis + 1 :])]
    return result


@each(("axis", "shape"), [(0, (1, 4, 2)), (1, (1, 3, 2)), (2, (1, 3, 4))])
def test_no_index_dimension_selects_one_slice(axis, shape):
    x = np.arange(24, dtype=np.int16).reshape(3, 4, 2)
    operator = ck.compile_operator(gather(x.shape, (1, 1, 1), shape, axis, 0, "INT16", "INT32"))
    extent = x.shape[axis]
    for index in (2, 0, -1, -3, 3, 9, -4, -9):
        nearest = min(max(index + extent if index < 0 else index, 0), extent - 1)
        result = operator(x, np.array([[[index]]], np.int32))
        np.testing.assert_array_equal(result, np.take(x, nearest, axis)[np.newaxis], strict=True)


@each(
    ("kind", "indices", "expected"),
    [
        ("INT32", [-1, -3, -4, -10, 3, 10], [30, 10, 10, 10, 30, 30]),
        ("INT64", [-1, -(2**40), 2**40, -(2**32)], [30, 10, 30, 10]),
        ("INT64", [2**63 - 1, -(2**63), 2**32 + 1], [30, 10, 30]),
        ("UINT32", [2**32 - 1, 2**31, 3, 1], [30, 30, 30, 20]),
        ("UINT64", [2**64 - 1, 2**63, 2**32, 0], [30, 30, 30, 10]),
    ],
)
def test_indices_out_of_range_clamp(kind, indices, expected):
    indices = np.array(indices, DataType[kind].numpy)
    desc = gather((3,), indices.shape, indices.shape, 0, 1, "FLOAT32", kind)
    result = ck.compile_operator(desc)(np.array([10, 20, 30], np.float32), indices)
    assert result.tolist() == expected


# Strides of input {2, 3, 4}, indices {1, 1, 5} and output {2, 5, 4}, gathered along axis 1.
PACKED = ((12, 4, 1), (5, 5, 1), (20, 4, 1))
X_STRIDES = {
    "padded": (40, 9, 2),
    "broadcast": (0, 4, 1),
    "one element": (0, 0, 0),
    "broadcast along the axis": (4, 0, 1),
    "reversed": (1, 2, 6),
    "axis innermost": (3, 1, 6),
    "sheared": (2, 1, 1),
}
STRIDED = [
    PACKED,
    *((strides, *PACKED[1:]) for strides in X_STRIDES.values()),
    *((PACKED[0], strides, PACKED[2]) for strides in [(0, 99, 3), (7, 7, 0)]),
    *((*PACKED[:2], strides) for strides in [(47, 9, 2), (1, 2, 10), (4, 8, 1)]),
    ((1, 8, 2), (0, 0, 2), (5, 1, 10)),
]


@each("flat", [False, True])
@each(("strides", "kind"), covering(STRIDED, ["INT8", "FLOAT64"]))
def test_strides_of_the_descriptor(place, strides, kind, flat):
    desc = strided(gather((2, 3, 4), (1, 1, 5), (2, 5, 4), 1, 1, kind, "INT64"), *strides)
    tensors = Tensors(desc, place, integers(7, 1, 100), integers(8, -4, 5))
    tensors.run(flat=flat)
    x, indices, out = map(get, tensors.arrays)
    tensors.assert_written(reference(x, indices, out.shape, 1, 1))


@each("out_strides", [None, (1, 8, 2), (50, 9, 2)])
@each("count", [0, 1, 2])
def test_padding_dimensions_and_strides_together(count, out_strides):
    """An input padded with a leading 1, of which the output has room for less."""
    indices = np.array([[[2]], [[1, -1, 0]], [[-2, 1], [0, 9]]][count], np.int32)
    shape = [(1, 1, 3), (1, 3, 3), (2, 2, 3)][count]
    indices = indices.reshape((1,) * (3 - indices.ndim) + indices.shape)
    x = np.arange(12, dtype=np.uint16).reshape(1, 4, 3)
    desc = gather(x.shape, indices.shape, shape, 1, count, "UINT16", "INT32")
    desc = change(desc, "input_tensor", strides=(999, 1, 4))
    desc = change(desc, "output_tensor", strides=out_strides)
    x = x.transpose(0, 2, 1).copy().transpose(0, 2, 1)
    expected = reference(x, indices, shape, 1, count)
    np.testing.assert_array_equal(ck.compile_operator(desc)(x, indices), expected)


def test_empty_tensors_at_the_extended_level():
    for sizes in [((3, 0), (1, 2), (2, 0)), ((3, 4), (1, 0), (0, 4))]:
        operator = ck.compile_operator(gather(*sizes, 0, 1), feature_level=EXTENDED)
        result = operator(np.ones(sizes[0], np.float32), np.zeros(sizes[1], np.uint32))
        assert (result.shape, result.dtype) == (sizes[2], np.float32)
