"""Descriptors: changed, judged, and their tensors in memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import cudakern as ck
from cudakern import FeatureLevel
from tests.helpers.places import POISON, Buffer, get
from tests.helpers.strategies import MemoryLayout


def change(desc, field, **values):
    return replace(desc, **{field: replace(getattr(desc, field), **values)})


def verdict(desc, level=FeatureLevel.LEVEL_6_4):
    """Return the rule that is reported as broken, the field of an error without a rule, or None."""
    try:
        desc.validate(level)
    except ck.DescriptorError as error:
        return error.rule or error.field
    return None


def rule_of_rank(rule, rank, level):
    """Return the rule that tensors of so many dimensions break, if any.

    Operators take 4 below feature level 3_0, where tensors have 4 or 5; 1 to 8 from there.
    """
    if level < FeatureLevel.LEVEL_3_0:
        return {4: None, 5: rule}.get(rank, "T3")
    return None if 1 <= rank <= 8 else "T3"


def strided(desc, *strides):
    """Return a descriptor whose tensors, in binding order, have these strides."""
    tensors = (*desc.inputs(), *desc.outputs())
    for (field, _), steps in zip(tensors, strides, strict=True):
        desc = change(desc, field, strides=steps)
    return desc


class Tensors:
    """The tensors of a descriptor with one output, as arrays of its strides and as flat buffers.

    The inputs hold what ``elements`` returns for a number of elements and a dtype; the output and
    what lies between its elements is poison.
    """

    def __init__(self, desc, place, *elements):
        self._desc, self._tensors = desc, [t for _, t in (*desc.inputs(), *desc.outputs())]
        self.buffers, self.arrays, self.flat = [], [], []
        for tensor, made in zip(self._tensors, (*elements, poison), strict=True):
            dtype = tensor.data_type.numpy
            count = -(-tensor.total_bytes // dtype.itemsize)
            buffer = Buffer(made(count, dtype).tobytes(), place)
            strides = tuple(s * dtype.itemsize for s in tensor.element_strides)
            self.buffers.append(buffer)
            self.arrays.append(buffer.view(tensor.sizes, dtype, strides))
            self.flat.append(buffer.view((count,), dtype))

    def run(self, level=FeatureLevel.LEVEL_6_4, *, flat=False):
        """Run the operator twice."""
        *inputs, out = self.flat if flat else self.arrays
        operator = ck.compile_operator(self._desc, level)
        for _ in range(2):
            assert operator(*inputs, out=out) is out

    def outside(self):
        """Return the bytes of the output's memory that belong to no element."""
        out, memory = self.arrays[-1], self.buffers[-1].bytes()
        layout = MemoryLayout(out.shape, out.strides, 0, memory.size)
        return memory[~layout.touched(out.dtype.itemsize)]

    def assert_written(self, expected):
        """The output holds these elements, and all other memory is unchanged."""
        np.testing.assert_array_equal(get(self.arrays[-1]), expected)
        assert (self.outside() == POISON).all()


def poison(count, dtype):
    return np.full(count * dtype.itemsize, POISON, np.uint8).view(dtype)


def integers(seed, low, high):
    """Return what makes random integers, each time the same."""
    rng = np.random.default_rng(seed)
    return lambda count, dtype: rng.integers(low, high, count).astype(dtype)
