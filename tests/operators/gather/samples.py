"""Gather in the tests of all operators."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import cudakern as ck
from tests.helpers.operator_samples import (
    AT,
    FAR,
    FEW,
    I8,
    I32,
    I64,
    INDICES,
    ONES,
    TABLE,
    ZEROS,
    Case,
    Word,
    X,
    compiled,
    eager,
    operator_for,
    tensors,
)
from tests.helpers.places import beside

DESC = ck.GatherOperatorDesc(*tensors(X, INDICES[None], X[:, :3]), 1, 1)
OWNED = replace(
    DESC, indices_tensor=replace(DESC.indices_tensor, flags=ck.TensorFlags.OWNED_BY_DML)
)
RIGHT = X[:, [3, 0, 2]]


def _owned_gather(x, indices, out=None):
    return operator_for(OWNED).initialize(indices)(x, out=out)


CASES = {
    "gather": eager("gather", {"x": (X, 1), "indices": (INDICES, 0)}, RIGHT, axis=1),
    "compiled gather": compiled(DESC, (X, INDICES[None]), RIGHT),
    "compiled gather of owned": Case((X, INDICES[None]), _owned_gather, RIGHT, {}),
}


def _mixed(random, shape):
    x = random.random(shape)
    axis = int(random.integers(len(shape)))
    indices = random.integers(-shape[axis], shape[axis], (2, 3)).astype(np.int32)
    expected = np.take(x, indices, axis)
    return ck.gather(x, indices, axis, out=np.full_like(expected, 77, order="C")), expected


MIXED = [_mixed]
TWO = np.array([[3, 0], [-1, 2]], np.int32)
LARGE = {
    "gather": (
        lambda x, i, out: ck.gather(x, i, 1, out=out[0]), (TWO,), lambda x: (x[:, TWO],)
    ),
}  # fmt: skip
COSTS = {
    "gather": (ck.gather, (TABLE, I32), 0, 0),
    "gather, 64-bit indices": (ck.gather, (TABLE, I64), 0, 0),
    "gather, narrow indices": (ck.gather, (TABLE, I8), 4 * 12, 0),
    "gather, misaligned indices": (ck.gather, (TABLE, beside(I64)), 8 * 12, 0),
    "gather, misaligned x": (ck.gather, (beside(TABLE), I32), 0, 0),
    "gather, numbers": (lambda x: ck.gather(x, [3, 0, 3], 1), (TABLE,), 3 * 8, 0),
    "gather, raise": (lambda x, i: ck.gather(x, i, mode="raise"), (TABLE, I32), 8, 0),
}
OPTIONS = {
    "gather": {
        "axis": [0, 1, -1], "mode": ["clamp", "fill", "wrap", "raise"], "fill_value": [3],
        "negative": ["from_end", "invalid"],
    },
}  # fmt: skip
EQUALS = {
    "gather: axis": (lambda m, v: m.gather(FEW, AT, v), (*ZEROS, *ONES, [0], (0,))),
    "gather: mode": (
        lambda m, v: m.gather(FEW, AT, mode=v), ("clamp", Word("clamp"), "wrap", ["clamp"])
    ),
    "gather: fill_value": (
        lambda m, v: m.gather(FEW, FAR, mode="fill", fill_value=v), (*ZEROS, *ONES)
    ),
    "gather: no fill": (
        lambda m, v: m.gather(FEW, AT, **v), ({}, {"fill_value": 0}, {"axis": 0})
    ),
}  # fmt: skip
