"""Reduce in the tests of all operators."""

from __future__ import annotations

import numpy as np

import cudakern as ck
from tests.helpers.operator_samples import (
    FEW,
    KINDS,
    LONG,
    ONES,
    TABLE,
    ZEROS,
    Word,
    X,
    compiled,
    eager,
    tensors,
)
from tests.helpers.places import beside

KIB = 1024
ARGMAX = ck.ArgmaxOperatorDesc(
    *tensors(X, np.zeros((3, 1), np.int64)), (1,), ck.AxisDirection.INCREASING
)
CASES = {
    "reduce": eager("reduce", {"x": (X, 0)}, X.max(1), function="max", axis=1),
    "compiled argmax": compiled(ARGMAX, (X,), X.argmax(1)[:, None]),
}


def _mixed(random, shape):
    x = random.integers(-9, 9, shape)
    initial = int(random.integers(-1, 2))
    return ck.reduce(x, "sum", 0, initial=initial), np.asarray(x.sum(0) + initial)


def _mixed_argmax(random, shape):
    x = random.random(shape, np.float32)
    return ck.reduce(x, "argmax", -1), np.asarray(x.argmax(-1))


MIXED = [_mixed, _mixed_argmax]
LARGE = {
    "reduce": (
        lambda x, out: ck.reduce(x, "sum", out=out[0]),
        (),
        lambda x: (np.array(x.sum(dtype=np.int32)),),
    ),
    "reduce, argmax": (
        lambda x, out: ck.reduce(x, "argmax", last_index=True, out=out[0]),
        (),
        lambda x: (np.array(np.flatnonzero(x == x.max())[-1]),),
    ),
}
COSTS = {
    "reduce": (lambda x: ck.reduce(x, "sum", axis=0), (TABLE,), 0, 0),
    "reduce, few results": (lambda x: ck.reduce(x, "sum"), (LONG,), 0, 72 * KIB),
    "reduce, misaligned": (
        lambda x: ck.reduce(x, "sum", axis=0), (beside(TABLE),), TABLE.nbytes, 0
    ),
}  # fmt: skip
OPTIONS = {
    "reduce": {
        "function": ["sum", "argmax", "max", "l2"], "axis": [0, 1, -1], "keepdims": [True],
        "dtype": ["float32", "int64"], "nan": ["propagate", "ignore"],
        "last_index": [False, True], "initial": [None, 1],
    },
}  # fmt: skip
SUM = ck.ReduceFunction.SUM
EQUALS = {
    "reduce: function": (lambda m, v: m.reduce(FEW, v), ("sum", Word("sum"), SUM, int(SUM), "max")),
    "reduce: axis": (
        lambda m, v: m.reduce(FEW, "max", v),
        (*ZEROS, *((v,) for v in ZEROS), *ONES, None, [0], (0, 1), (False, True)),
    ),
    "reduce: keepdims": (lambda m, v: m.reduce(FEW, "sum", 0, keepdims=v), (*ZEROS, *ONES)),
    "reduce: last_index": (lambda m, v: m.reduce(FEW, "argmax", 0, last_index=v), (*ZEROS, *ONES)),
    "reduce: dtype": (lambda m, v: m.reduce(FEW, "sum", dtype=v), KINDS),
    "reduce: initial": (lambda m, v: m.reduce(FEW[:0] - 0.0, "sum", 0, initial=v), (None, *ZEROS)),
    "reduce: added": (lambda m, v: m.reduce(-FEW, "sum", initial=v), (None, *ZEROS, *ONES)),
}
