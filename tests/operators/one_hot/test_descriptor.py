"""one_hot through descriptors: the documented examples, values of any shape, strides."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from cudakern import FeatureLevel
from tests.helpers.checked import PLAIN_UNLESS_THOROUGH
from tests.helpers.one_hot import expected
from tests.helpers.places import get
from tests.helpers.rows import each
from tests.helpers.samples import covering
from tests.operators.descriptors import Tensors, change, integers, strided
from tests.operators.one_hot.rules import one_hot

pytestmark = [PLAIN_UNLESS_THOROUGH, pytest.mark.device]

EXTENDED = FeatureLevel.EXTENDED


def reference(indices, values, shape, axis):
    """Return the result: off is the first value, on the next of the last dimension that has one."""
    d = max(k for k, n in enumerate(values.shape) if n > 1)
    off_on = np.array([values.flat[0], values.take(1, d).flat[0]])
    return expected(indices.squeeze(axis), shape[axis], axis, off_on)


OF_VALUES = [(1, 1, 2), (2, 1, 1), (1, 3, 1), (3, 2, 1), (2, 3, 1), (2, 1, 3), (4, 4, 4)]


@each("order", ["C", "F"])
@each("shape", OF_VALUES)
def test_off_and_on_lie_along_the_last_dimension_with_two(shape, order):
    """Not the first two elements: those of the last dimension that has as many, by its stride."""
    values = np.arange(10, 10 + np.prod(shape), dtype=np.int16).reshape(shape, order=order)
    indices = np.array([[[2]], [[0]], [[-1]], [[9]]], np.int64)
    desc = one_hot((4, 1, 1), shape, (4, 3, 1), 1, "INT16", "INT64")
    desc = change(desc, "values_tensor", strides=tuple(s // 2 for s in values.strides))
    result = ck.compile_operator(desc)(indices, values)
    np.testing.assert_array_equal(result, reference(indices, values, (4, 3, 1), 1))


# Strides of indices {2, 1, 5}, values {1, 3, 1} and output {2, 4, 5}, along axis 1.
PACKED = ((5, 5, 1), (3, 1, 1), (20, 5, 1))
STRIDED = [
    PACKED,
    *((strides, *PACKED[1:]) for strides in [(0, 99, 3), (1, 7, 2), (0, 7, 0)]),
    *((PACKED[0], strides, PACKED[2]) for strides in [(9, 4, 77), (0, 0, 0)]),
    *((*PACKED[:2], strides) for strides in [(47, 9, 2), (1, 2, 8), (4, 1, 8), (5, 10, 1)]),
    ((0, 0, 2), (1, 30, 1), (5, 1, 10)),
]


@each("flat", [False, True])
@each(("strides", "kind"), covering(STRIDED, ["INT8", "FLOAT64", "COMPLEX128"]))
def test_strides_of_the_descriptor(place, strides, kind, flat):
    desc = strided(one_hot((2, 1, 5), (1, 3, 1), (2, 4, 5), 1, kind, "INT64"), *strides)
    tensors = Tensors(desc, place, integers(7, -5, 6), integers(8, 1, 100))
    tensors.run(EXTENDED, flat=flat)
    indices, values, out = map(get, tensors.arrays)
    tensors.assert_written(reference(indices, values, out.shape, 1))


def test_empty_tensors_at_the_extended_level():
    for sizes in [((3, 1), (1, 2), (3, 0)), ((0, 1), (1, 2), (0, 4)), ((0, 1), (2, 2), (0, 0))]:
        operator = ck.compile_operator(one_hot(*sizes, 1), feature_level=EXTENDED)
        result = operator(np.zeros(sizes[0], np.uint32), np.ones(sizes[1], np.float32))
        assert (result.shape, result.dtype) == (sizes[2], np.float32)
