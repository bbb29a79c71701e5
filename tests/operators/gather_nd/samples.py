"""Gather by index tuples in the tests of all operators."""

from __future__ import annotations

import numpy as np

import cudakern as ck
from tests.helpers.operator_samples import AT, FEW, I8, I32, ONES, TABLE, ZEROS, X, eager

TUPLES = np.array([[2, 3], [0, 0]], np.int32)
CASES = {
    "gather_nd": eager("gather_nd", {"x": (X, 1), "indices": (TUPLES, 1)}, X[[2, 0], [3, 0]]),
}


def _mixed(random, shape):
    x = random.integers(-99, 99, shape).astype(np.int16)
    indices = random.integers(0, shape[0], (4, 1))
    return ck.gather_nd(x, indices, mode="raise"), x[indices[:, 0]]


MIXED = [_mixed]
NARROW = np.array([[0, 5], [2, -1], [1, 77]], np.int8)  # which each call converts
LARGE = {
    "gather_nd": (
        lambda x, i, out: ck.gather_nd(x, i, out=out[0]),
        (NARROW,),
        lambda x: (x[tuple(NARROW.T)],),
    ),
}
COSTS = {
    "gather_nd": (ck.gather_nd, (TABLE, I32[:, None]), 0, 0),
    "gather_nd, narrow indices": (ck.gather_nd, (TABLE, I8[:, None]), 4 * 12, 0),
    "gather_nd, raise": (
        lambda x, i: ck.gather_nd(x, i, mode="raise"), (TABLE, I8[:, None]), 4 * 12 + 8, 0
    ),
}  # fmt: skip
OPTIONS = {
    "gather_nd": {
        "batch_dims": [0, 0, 1], "mode": ["clamp", "fill", "wrap", "raise"], "fill_value": [3],
        "negative": ["from_end", "invalid"],
    },
}  # fmt: skip
EQUALS = {
    "gather_nd: batch_dims": (lambda m, v: m.gather_nd(FEW, AT[:, None], v), (*ZEROS, *ONES)),
}
