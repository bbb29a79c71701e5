"""The searches for elements that are not zero in the tests of all operators."""

from __future__ import annotations

import numpy as np

import cudakern as ck
from tests.helpers.operator_samples import FEW, LONG, ONES, TABLE, ZEROS, Word, X, eager
from tests.helpers.places import beside, poison

KIB = 1024
FOUND = np.argwhere(X)
CASES = {
    "nonzero_coordinates": eager(
        "nonzero_coordinates",
        {"x": (X, 0)},
        (np.array([len(FOUND)], np.uint32), FOUND.astype(np.uint32)),
        ("out.count", "out.coordinates"),
        size=len(FOUND),
    ),
    "argwhere": eager("argwhere", {"x": (X, 0)}, FOUND, ()),
    "nonzero": eager("nonzero", {"x": (X, 1)}, tuple(FOUND.T), ()),
}


def _mixed(random, shape):
    x = random.integers(0, 3, shape).astype(np.uint8)
    return ck.argwhere(x), np.argwhere(x)


def _mixed_of_size(random, shape):
    x = random.integers(0, 2, shape).astype(np.float32)
    rows = np.argwhere(x)[:4]
    expected = np.full((4, len(shape)), -1, np.int64)
    expected[: len(rows)] = rows
    return np.stack(ck.nonzero(x, size=4), axis=1), expected


MIXED = [_mixed, _mixed_of_size]


def found(x):
    """Return what nonzero_coordinates must leave in poisoned outputs."""
    rows = poison((x.size, 2), np.uint32)
    rows[: np.count_nonzero(x)] = np.argwhere(x)
    return np.array([np.count_nonzero(x)], np.uint32), rows


LARGE = {"nonzero_coordinates": (lambda x, out: ck.nonzero_coordinates(x, out=out), (), found)}
EYE = np.eye(12, 10, dtype=np.int64)
MANY = np.eye(260, dtype=np.int8)  # whose coordinates would take 33 KiB more than 1 MiB
COSTS = {
    "nonzero_coordinates, to 64 KiB": (ck.nonzero_coordinates, (TABLE,), 0, 0),
    "nonzero_coordinates": (ck.nonzero_coordinates, (LONG,), 0, 32 * KIB + 16),
    "nonzero_coordinates, misaligned": (ck.nonzero_coordinates, (beside(TABLE),), TABLE.nbytes, 0),
    "nonzero of a size": (lambda x: ck.nonzero(x, size=5), (TABLE,), 4, 0),
    "nonzero": (ck.nonzero, (EYE,), 0, 0),
    "nonzero, much is spare": (ck.nonzero, (MANY,), MANY.size * 2 * 8, 0),
    "argwhere": (ck.argwhere, (EYE,), 0, 0),
    "argwhere, much is spare": (ck.argwhere, (MANY,), MANY.size * 2 * 8, 0),
    "argwhere, all is needed": (ck.argwhere, (EYE + 1,), 0, 0),
}
OPTIONS = {
    "nonzero_coordinates": {"size": [None, 2], "dtype": ["float32", "int64"]},
    "nonzero": {"size": [None, 2], "fill_value": [3]},
    "argwhere": {},
}
EQUALS = {
    "nonzero_coordinates: size": (lambda m, v: m.nonzero_coordinates(FEW, size=v), (*ZEROS, *ONES)),
    "nonzero_coordinates: dtype": (
        lambda m, v: m.nonzero_coordinates(FEW, dtype=v),
        ("uint32", Word("uint32"), np.uint32, np.dtype("u4"), ck.DataType.UINT32, 8, "int64"),
    ),
    "nonzero: size": (lambda m, v: m.nonzero(FEW, size=v), (None, *ZEROS, *ONES)),
    "nonzero: fill_value": (lambda m, v: m.nonzero(FEW, size=99, fill_value=v), (*ZEROS, *ONES)),
}
