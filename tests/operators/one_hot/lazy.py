"""One-hot over dask arrays, in the tests of all operators."""

from __future__ import annotations

import dask.array as da
import numpy as np

import cudakern.dask as cd
from tests.helpers.chunked import CLUSTER_I, I
from tests.helpers.one_hot import expected

GRAPHS = {
    "one_hot": lambda _, i, __: cd.one_hot(i, 5),
    "one_hot of depth 6": lambda _, i, __: cd.one_hot(i, 6),
    "one_hot along axis 0": lambda _, i, __: cd.one_hot(i, 5, axis=0),
    "one_hot of 1 and 2": lambda _, i, __: cd.one_hot(i, 5, values=(1, 2)),
    "one_hot of an array": lambda _, i, __: cd.one_hot(i, 5, values=np.array([1, 2])),
    "one_hot of lazy values": lambda x, i, _: cd.one_hot(i, 5, values=x[0, :2]),
    "one_hot, invalid": lambda _, i, __: cd.one_hot(i, 5, negative="invalid"),
}
GROWTH = {"one_hot": (lambda n: cd.one_hot(da.ones(n, chunks=1, dtype=int), 3), 2)}
OFF_ON = np.float16([2, 3])
CHUNKS = {
    "one_hot": (
        lambda i: cd.one_hot(i, 4, axis=0), (I,), expected(I, 4, 0, np.array([0, 1], np.float32))
    ),
    "one_hot of an array": (
        lambda i, v: cd.one_hot(i, 4, values=v), (I, OFF_ON), expected(I, 4, 1, OFF_ON)
    ),
}  # fmt: skip
CLUSTER = {
    "one_hot": (
        lambda _, i: cd.one_hot(i, 9, negative="invalid"), CLUSTER_I[..., None] == np.arange(9)
    ),
}  # fmt: skip
