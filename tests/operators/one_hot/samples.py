"""One-hot in the tests of all operators."""

from __future__ import annotations

import numpy as np

import cudakern as ck
from tests.helpers.operator_samples import AT, FAR, I8, I32, I64, INDICES, KINDS, ONES, ZEROS, eager
from tests.helpers.places import beside

OFF_ON = np.array([-1, 5], np.int16)
CASES = {
    "one_hot": eager(
        "one_hot",
        {"indices": (INDICES, 0), "values": (OFF_ON, None)},
        np.where(INDICES[:, None] == np.arange(4), OFF_ON[1], OFF_ON[0]),
        depth=4,
    ),
}
VALUES = [(0, 1), (-3, 5), (7, 0)]


def _mixed(random, shape):
    indices = random.integers(0, 6, shape)
    off, on = VALUES[random.integers(len(VALUES))]
    expected = np.where(indices[..., None] == np.arange(6), on, off).astype(np.int32)
    out = np.full_like(expected, 77, order="C")
    return ck.one_hot(indices, 6, values=(off, on), dtype="int32", out=out), expected


MIXED = [_mixed]
LARGE = {
    "one_hot": (
        lambda x, out: ck.one_hot(x, 5, values=(0, 1), dtype="int8", out=out[0]),
        (),
        lambda x: ((x[..., None] == np.arange(5)).astype(np.int8),),
    ),
}
COSTS = {
    "one_hot": (lambda i: ck.one_hot(i, 9), (I64,), 0, 0),
    "one_hot, narrow indices": (lambda i: ck.one_hot(i, 9), (I8,), 4 * 12, 0),
    "one_hot, misaligned indices": (lambda i: ck.one_hot(i, 9), (beside(I32),), 4 * 12, 0),
    "one_hot, numbers for values": (lambda i: ck.one_hot(i, 9, values=range(2)), (I64,), 2 * 8, 0),
}
OPTIONS = {
    "one_hot": {
        "depth": [4], "axis": [0, 1, -1], "dtype": ["float32", "int64"],
        "values": [(0, 1), (False, True), (0, 1j), np.array([3, 4], np.uint16)],
        "negative": ["from_end", "invalid"],
    },
}  # fmt: skip
PAIRS = ((0, 1), (0.0, 1), (-0.0, 1), (False, True), (0, 1.0), (0, np.float16(1)), [0, 1], (0j, 1))
EQUALS = {
    "one_hot: depth": (lambda m, v: m.one_hot(AT, v), (*ZEROS, *ONES, 3, 3.0)),
    "one_hot: axis": (lambda m, v: m.one_hot(AT, 2, axis=v), (*ZEROS, *ONES)),
    "one_hot: values": (lambda m, v: m.one_hot(FAR, 2, values=v), (*PAIRS, np.array([0, 1]), None)),
    "one_hot: dtype": (lambda m, v: m.one_hot(AT, 2, dtype=v), KINDS),
}
