"""A small gather, its operands, and what a refused call must look like."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import cudakern as ck
from cudakern import DataType, FeatureLevel, TensorDesc, TensorFlags

EXTENDED = FeatureLevel.EXTENDED
OWNED = TensorFlags.OWNED_BY_DML
FIELDS = ("input_tensor", "indices_tensor", "output_tensor")
POISON = -77
X = np.arange(12, dtype=np.float32).reshape(3, 4)
INDICES = np.array([[2, 0, 0, 1]], np.uint32)
EXPECTED = X[INDICES[0]]
DESC = ck.GatherOperatorDesc(
    TensorDesc(DataType.FLOAT32, (3, 4)),
    TensorDesc(DataType.UINT32, (1, 4)),
    TensorDesc(DataType.FLOAT32, (4, 4)),
    axis=0,
    index_dimensions=1,
)


def change(desc, field, **values):
    return replace(desc, **{field: replace(getattr(desc, field), **values)})


def typed(desc, kind, index_kind="UINT32"):
    desc = change(desc, "input_tensor", data_type=DataType[kind])
    desc = change(desc, "indices_tensor", data_type=DataType[index_kind])
    return change(desc, "output_tensor", data_type=DataType[kind])


STRIDED = change(DESC, "input_tensor", strides=(6, 1))
STRIDED = change(STRIDED, "indices_tensor", strides=(9, 2))
STRIDED = change(STRIDED, "output_tensor", strides=(1, 5))


def operands():
    return [X.copy(), INDICES.copy(), np.full((4, 4), POISON, np.float32)]


def memory(size=512):
    """Poisoned memory on a 256-byte boundary."""
    room = np.full(size + 256, POISON, np.int8)
    start = -room.ctypes.data % 256
    return room[start : start + size]


def view(buffer, offset, like):
    """An array over a buffer that holds the same elements as another."""
    array = np.ndarray(like.shape, like.dtype, buffer, offset)
    array[...] = like
    return array


def strided_view(buffer, sizes, strides):
    return np.ndarray(sizes, buffer.dtype, buffer, 0, [s * buffer.itemsize for s in strides])


def assert_refused(operator, arrays, field, rule):
    """The call raises, and leaves out and the inputs unchanged."""
    before = [np.array(array) for array in arrays]
    with pytest.raises(ck.BindingError) as caught:
        operator(*arrays[:-1], out=arrays[-1])
    assert (caught.value.operator, caught.value.field) == ("gather", field)
    assert caught.value.rule == rule
    assert str(caught.value).startswith(f"gather: {field} ")
    assert len(str(caught.value).splitlines()) == 1
    for array, kept in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, kept)
