"""Gather over dask arrays, in the tests of all operators."""

from __future__ import annotations

import dask.array as da
import numpy as np

import cudakern.dask as cd
from tests.helpers import oracle
from tests.helpers.chunked import CLUSTER_I, CLUSTER_X, I, X

GRAPHS = {
    "gather": lambda x, i, _: cd.gather(x, i, 0),
    "gather, along another axis": lambda x, i, _: cd.gather(x, i, 1),
    "gather, wrapped": lambda x, i, _: cd.gather(x, i, 0, mode="wrap"),
    "gather, filled": lambda x, i, _: cd.gather(x, i, 0, mode="fill", fill_value=3),
    "gather, filled with 4": lambda x, i, _: cd.gather(x, i, 0, mode="fill", fill_value=4),
    "gather, filled with 0.0": lambda x, i, _: cd.gather(x, i, 0, mode="fill", fill_value=0.0),
    "gather, filled with -0.0": lambda x, i, _: cd.gather(x, i, 0, mode="fill", fill_value=-0.0),
    "gather, invalid": lambda x, i, _: cd.gather(x, i, mode="fill", negative="invalid"),
    "gather, checked": lambda x, i, _: cd.gather(x, i, 0, mode="raise"),
    "gather of a list": lambda x, *_: cd.gather(x, [1, 0]),
    "gather of another list": lambda x, *_: cd.gather(x, [1, 1]),
}
GROWTH = {
    "gather": (lambda n: cd.gather(da.ones(n, chunks=1), da.ones(2, chunks=1, dtype=int)), 8),
    "gather, by indices": (
        lambda n: cd.gather(da.ones(2, chunks=1), da.ones(n, chunks=1, dtype=int)), 11
    ),
    "gather, checked": (
        lambda n: cd.gather(np.ones(2), da.ones(n, chunks=1, dtype=int), mode="raise"), 4
    ),
}  # fmt: skip
CHUNKS = {
    "gather": (lambda x, i: cd.gather(x, i, 1), (X, I), oracle.gather(X, I, 1, "clamp", 0)),
    "gather, filled": (
        lambda x, i: cd.gather(x, i, 0, mode="fill", fill_value=-0.0),
        (X, I),
        oracle.gather(X, I, 0, "fill", -0.0),
    ),
    "gather, wrapped": (
        lambda x, i: cd.gather(x, i, 0, mode="wrap"), (X, I), oracle.gather(X, I, 0, "wrap", 0)
    ),
    "gather, checked": (
        lambda x, i: cd.gather(x, i, 0, mode="raise"),
        (X, I % 3),
        oracle.gather(X, I % 3, 0, "clamp", 0),
    ),
    "gather, unsigned": (
        cd.gather,
        (X, (I % 11).astype(np.uint64)),
        oracle.gather(X, (I % 11).astype(np.uint64), 0, "clamp", 0),
    ),
}  # fmt: skip
CLUSTER = {
    "gather, filled": (
        lambda x, i: cd.gather(x, i, mode="fill", fill_value=-0.5, negative="invalid"),
        np.where(
            ((CLUSTER_I >= 0) & (CLUSTER_I < 40))[..., None],
            CLUSTER_X[CLUSTER_I.clip(0, 39)],
            -0.5,
        ),
    ),
    "gather of an array": (
        lambda x, _: cd.gather(x, CLUSTER_I % 30, 1), CLUSTER_X[:, CLUSTER_I % 30]
    ),
}  # fmt: skip
