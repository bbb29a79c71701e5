"""Gather by index tuples over dask arrays, in the tests of all operators."""

from __future__ import annotations

import dask.array as da
import numpy as np

import cudakern.dask as cd
from tests.helpers.chunked import CLUSTER_I, CLUSTER_X, T, X
from tests.helpers.gather_nd import gather_nd

GRAPHS = {
    "gather_nd": lambda x, _, tuples: cd.gather_nd(x, tuples),
    "gather_nd of batches": lambda x, *_: cd.gather_nd(x, x[:, :1].astype(np.int32), 1),
    "gather_nd, checked": lambda x, _, tuples: cd.gather_nd(x, tuples, mode="raise"),
}
GROWTH = {
    "gather_nd": (
        lambda n: cd.gather_nd(
            da.ones((n, 2), chunks=1), da.ones((2, 2), chunks=(1, 2), dtype=int)
        ), 16
    ),
}  # fmt: skip
CHUNKS = {
    "gather_nd": (cd.gather_nd, (X, T), gather_nd(X, T, 0)),
    "gather_nd of batches": (
        lambda x, i: cd.gather_nd(x, i[:, :1], 1), (X, T), gather_nd(X, T[:, :1], 1)
    ),
}  # fmt: skip
CLUSTER = {
    "gather_nd": (
        lambda x, i: cd.gather_nd(x, i[:, :2], mode="wrap"),
        CLUSTER_X[CLUSTER_I[:, 0] % 40, CLUSTER_I[:, 1] % 30],
    ),
}
