"""The searches over dask arrays, in the tests of all operators."""

from __future__ import annotations

import dask.array as da
import numpy as np

import cudakern.dask as cd
from tests.helpers.chunked import CLUSTER_X, X

GRAPHS = {
    "argwhere": lambda x, *_: cd.argwhere(x),
    "nonzero": lambda x, *_: cd.nonzero(x)[0],
    "nonzero, the second axis": lambda x, *_: cd.nonzero(x)[1],
    "nonzero of a size": lambda x, *_: cd.nonzero(x, size=5)[0],
    "nonzero of another size": lambda x, *_: cd.nonzero(x, size=6)[0],
    "nonzero of a size, filled": lambda x, *_: cd.nonzero(x, size=5, fill_value=0)[0],
    "nonzero_coordinates": lambda x, *_: cd.nonzero_coordinates(x).coordinates,
    "nonzero_coordinates, int64": (
        lambda x, *_: cd.nonzero_coordinates(x, dtype="int64").coordinates
    ),
    "nonzero_coordinates, count": lambda x, *_: cd.nonzero_coordinates(x, size=4).count,
}
GROWTH = {
    "argwhere": (lambda n: cd.argwhere(da.ones(n, chunks=1)), 2),
    "nonzero": (lambda n: cd.nonzero(da.ones(n, chunks=1), size=9)[0], 4),
}
FOUND = np.argwhere(X)
PADDED = np.pad(FOUND, ((0, 20 - len(FOUND)), (0, 0)), constant_values=-1)
CHUNKS = {
    "argwhere": (cd.argwhere, (X,), FOUND),
    "nonzero": (cd.nonzero, (X,), tuple(FOUND.T)),
    "nonzero of a size": (lambda x: cd.nonzero(x, size=20), (X,), tuple(PADDED.T)),
    "nonzero_coordinates": (
        lambda x: cd.nonzero_coordinates(x, size=7),
        (X,),
        (np.uint32([len(FOUND)]), FOUND[:7].astype(np.uint32)),
    ),
}
CLUSTER = {
    "nonzero": (lambda x, _: cd.nonzero(x)[1], np.nonzero(CLUSTER_X)[1]),
    "nonzero of a size": (
        lambda x, _: cd.nonzero(x, size=99)[0], np.nonzero(CLUSTER_X)[0][:99]
    ),
    "count": (lambda x, _: cd.nonzero_coordinates(x).count, [np.count_nonzero(CLUSTER_X)]),
}  # fmt: skip
