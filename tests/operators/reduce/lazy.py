"""Reduce over dask arrays, in the tests of all operators."""

from __future__ import annotations

import dask.array as da
import numpy as np

import cudakern as ck
import cudakern.dask as cd
from tests.helpers.chunked import CLUSTER_X, X

GRAPHS = {
    "reduce, kept": lambda x, *_: cd.reduce(x, "sum", 0, keepdims=True),
    "reduce, initial": lambda x, *_: cd.reduce(x, "sum", initial=3),
    "reduce, uint16": lambda x, *_: cd.reduce(x, "argmin", dtype="uint16"),
    "reduce, ignoring NaN": lambda x, *_: cd.reduce(x, "argmax", nan="ignore"),
    "reduce, the last": lambda x, *_: cd.reduce(x, "argmax", last_index=True),
    **{
        f"reduce, {f.label} over {axis}": lambda x, *_, f=f, axis=axis: cd.reduce(x, f, axis)
        for f in ck.ReduceFunction
        for axis in (None, 1, ())
    },
}
GROWTH = {
    "reduce": (lambda n: cd.reduce(da.ones(n, chunks=1), "argmax"), 4),
    "reduce rows": (lambda n: cd.reduce(da.ones((n, 4), chunks=(1, 2)), "sum", 1), 8),
}
#: `tests/dask/test_device_chunks.py` has every function.
CHUNKS = {"reduce": (lambda x: cd.reduce(x, "sum", 0), (X,), X.sum(0))}
CLUSTER = {
    "sum": (lambda x, _: cd.reduce(x, "sum", 0), CLUSTER_X.sum(0)),
    "average": (lambda x, _: cd.reduce(x, "average"), CLUSTER_X.mean(dtype=np.float64)),
    "log_sum_exp": (
        lambda x, _: cd.reduce(x, "log_sum_exp", 0), np.log(np.exp(CLUSTER_X).sum(0))
    ),
    "argmin": (lambda x, _: cd.reduce(x, "argmin"), CLUSTER_X.argmin()),
}  # fmt: skip
