"""one_hot through descriptors: the documented examples, values of any shape, strides."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from cudakern import FeatureLevel
from tests.helpers.checked import PLAIN_UNLESS_THOROUGH
from tests.helpers.one_hot import expected
from tests.helpers.places import get, same_bytes
from tests.helpers.rows import each
from tests.operators.descriptors import Tensors, change, integers, strided
from tests.operators.one_hot.rules import one_hot

pytestmark = [PLAIN_UNLESS_THOROUGH, pytest.mark.device]

EXTENDED = FeatureLevel.EXTENDED


def reference(indices, values, shape, axis):
    """Return the result: off is the first value, on the next of the last dimension that has one."""
    d = max(k for k, n in enumerate(values.shape) if n > 1)
    off_on = np.array([values.flat[0], values.take(1, d).flat[0]])
    return expected(indices.squeeze(axis), shape[axis], axis, off_on)


@each("reverse", [False, True])
@each("shape", [(1, 1, 2), (2, 1, 1), (1, 3, 1), (3, 2, 1), (2, 3, 1), (2, 1, 3), (4, 4, 4)])
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


@each("flat", [False, True])
@each("kind", ["INT8", "FLOAT64", "COMPLEX128"])
@each("strides", STRIDED)
def test_strides_of_the_descriptor(place, strides, kind, flat):
    desc = strided(one_hot((2, 1, 5), (1, 3, 1), (2, 4, 5), 1, kind, "INT64"), *strides)
    tensors = Tensors(desc, place, integers(7, -5, 6), integers(8, 1, 100))
    tensors.run(EXTENDED, flat=flat)
    indices, values, out = map(get, tensors.arrays)
    tensors.assert_written(reference(indices, values, out.shape, 1))


@each("axis", range(8))
def test_eight_dimensions(axis):
    shape = (2, 1, 2, 3, 1, 2, 2, 2)
    indices = (np.arange(96).reshape(shape) * 5 % 16 - 8).take([0], axis)
    values = np.array([8, 9], np.uint16).reshape((*(1,) * 7, 2))
    sizes = (*shape[:axis], 4, *shape[axis + 1 :])
    desc = one_hot(indices.shape, values.shape, sizes, axis, "UINT16", "INT64")
    found = ck.compile_operator(desc)(indices, values)
    assert same_bytes(found, reference(indices, values, sizes, axis))


@each("sizes", [((3, 1), (1, 2), (3, 0)), ((0, 1), (1, 2), (0, 4)), ((0, 1), (2, 2), (0, 0))])
def test_empty_tensors_at_the_extended_level(sizes):
    desc = one_hot(*sizes, 1)
    with pytest.raises(ck.DescriptorError):
        desc.validate()
    operator = ck.compile_operator(desc, feature_level=EXTENDED)
    result = operator(np.zeros(sizes[0], np.uint32), np.ones(sizes[1], np.float32))
    assert (result.shape, result.dtype) == (sizes[2], np.float32)
