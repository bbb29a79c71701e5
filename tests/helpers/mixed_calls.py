"""Calls of every function and of compiled operators on random data, held against NumPy."""

from __future__ import annotations

import numpy as np

import cudakern as ck
from cudakern import DataType, FeatureLevel, TensorDesc
from tests.helpers import bindings

POISON = 77
VALUES = [(0, 1), (-3, 5), (7, 0)]
SHAPES = [(3, 4), (1, 5), (2, 3, 5), (16,), (7, 33)]


def _poisoned(like):
    return np.full_like(like, POISON, order="C")


def _gather(random, shape):
    x = random.random(shape)
    axis = int(random.integers(len(shape)))
    indices = random.integers(-shape[axis], shape[axis], (2, 3)).astype(np.int32)
    expected = np.take(x, indices, axis)
    return ck.gather(x, indices, axis, out=_poisoned(expected)), expected


def _gather_nd(random, shape):
    x = random.integers(-99, 99, shape).astype(np.int16)
    indices = random.integers(0, shape[0], (4, 1))
    return ck.gather_nd(x, indices, mode="raise"), x[indices[:, 0]]


def _one_hot(random, shape):
    indices = random.integers(0, 6, shape)
    off, on = VALUES[random.integers(len(VALUES))]
    expected = np.where(indices[..., None] == np.arange(6), on, off).astype(np.int32)
    out = _poisoned(expected)
    return ck.one_hot(indices, 6, values=(off, on), dtype="int32", out=out), expected


def _nonzero(random, shape):
    x = random.integers(0, 3, shape).astype(np.uint8)
    return ck.argwhere(x), np.argwhere(x)


def _nonzero_of_size(random, shape):
    x = random.integers(0, 2, shape).astype(np.float32)
    rows = np.argwhere(x)[:4]
    expected = np.full((4, len(shape)), -1, np.int64)
    expected[: len(rows)] = rows
    return np.stack(ck.nonzero(x, size=4), axis=1), expected


def _reduce(random, shape):
    x = random.integers(-9, 9, shape)
    initial = int(random.integers(-1, 2))
    return ck.reduce(x, "sum", 0, initial=initial), np.asarray(x.sum(0) + initial)


def _argmax(random, shape):
    x = random.random(shape, np.float32)
    return ck.reduce(x, "argmax", -1), np.asarray(x.argmax(-1))


FUNCTIONS = [_gather, _gather_nd, _one_hot, _nonzero, _nonzero_of_size, _reduce, _argmax]

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
    operands = [x, indices, _poisoned(expected)]
    if random.integers(2):  # another way to bind the same tensors
        operands = [array.ravel() for array in operands]
    return GATHER(*operands[:2], out=operands[2]).reshape(4, 4), expected


def _compiled_maximum(random):
    x = random.integers(-999, 999, (5, 7)).astype(np.int32)
    return MAXIMUM(x), x.max(1, keepdims=True)


CALLS = [
    *((lambda r, f=f, s=s: f(r, s)) for f in FUNCTIONS for s in SHAPES),
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
