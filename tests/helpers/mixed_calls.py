"""Calls of every function and of compiled operators on random data, held against NumPy."""

from __future__ import annotations

import numpy as np

import cudakern as ck
from cudakern import DataType, FeatureLevel, TensorDesc
from tests.helpers import bindings
from tests.helpers.operator_samples import rows

SHAPES = [(3, 4), (1, 5), (2, 3, 5), (16,), (7, 33)]
GATHER = ck.compile_operator(bindings.DESC)
MAXIMUM = ck.compile_operator(
    ck.ReduceOperatorDesc(
        ck.ReduceFunction.MAX,
        TensorDesc(DataType.INT32, (5, 7)),
        TensorDesc(DataType.INT32, (5, 1)),
        axes=(1,),
    ),
    FeatureLevel.EXTENDED,
)


def _compiled_gather(random):
    x = random.random((3, 4), np.float32)
    indices = random.integers(0, 3, (1, 4), np.uint32)
    expected = x[indices[0]]
    operands = [x, indices, np.full_like(expected, 77)]
    if random.integers(2):  # another way to bind the same tensors
        operands = [array.ravel() for array in operands]
    return GATHER(*operands[:2], out=operands[2]).reshape(4, 4), expected


def _compiled_maximum(random):
    x = random.integers(-999, 999, (5, 7)).astype(np.int32)
    return MAXIMUM(x), x.max(1, keepdims=True)


CALLS = [
    *((lambda r, f=f, s=s: f(r, s)) for f in rows("MIXED") for s in SHAPES),
    *[_compiled_gather, _compiled_maximum] * len(SHAPES),
]


def call(number, random):
    """Make one of the calls; its result must be NumPy's, byte for byte."""
    result, expected = CALLS[number % len(CALLS)](random)
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    assert result.tobytes() == expected.tobytes(), (number, result, expected)


def call_all(seed=0):
    """Make every call once."""
    random = np.random.default_rng(seed)
    for number in range(len(CALLS)):
        call(number, random)
