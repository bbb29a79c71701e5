"""Rows that indices pick, for the cases of several operators: bytes, data, comparison."""

from __future__ import annotations

from math import expm1, gcd, log1p, prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perf.cases.base import Array, Module

#: Elements that a check compares at a time.
CHUNK = 2**26


def granules_of_row(row_bytes: int, granule: int) -> float:
    """Return how many granules a row of a packed table lies in, on the average of its rows."""
    return (row_bytes - gcd(row_bytes, granule)) / granule + 1


def bytes_of_distinct(count: int, table: int, row_bytes: int, granule: int) -> float:
    """Return the expected bytes of the granules of a table that at least one random row touches."""
    granules = -(-table // granule)
    share = granules_of_row(row_bytes, granule) / granules
    missed = count * log1p(-share) if share < 1 else -float("inf")
    return min(-expm1(missed) * granules * granule, table)


def random_values(xp: Module, rng: Array, shape: tuple[int, ...], dtype: str) -> Array:
    """Return random values: floats in [0.5, 1.5), all bits of integers."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        values = rng.random(shape, dtype=xp.float64 if kind.itemsize == 8 else xp.float32)  # noqa: PLR2004
        values += 0.5
        return values.astype(kind, copy=False)
    octets = rng.integers(0, 256, prod(shape) * kind.itemsize, dtype=xp.uint8)
    return octets.view(kind).reshape(shape)


def into_range(xp: Module, indices: Array, extent: int) -> Array:
    """Return indices as positions: negative ones counted from the end once, then clamped."""
    return xp.clip(xp.where(indices < 0, indices + extent, indices), 0, extent - 1)


def chunks(planes: int, count: int, inner: int) -> Iterator[tuple[slice, slice]]:
    """Yield slices of planes and of rows that cover all of them, CHUNK elements at a time."""
    rows = max(CHUNK // inner, 1)
    step = max(rows // count, 1)
    for plane in range(0, planes, step):
        for row in range(0, count, rows):
            yield slice(plane, plane + step), slice(row, row + rows)


def require_equal(xp: Module, actual: Array, expected: Array) -> None:
    """Raise AssertionError unless two arrays are the same bit by bit."""
    assert actual.dtype == expected.dtype, f"is {actual.dtype}; must be {expected.dtype}"
    bits = f"u{actual.dtype.itemsize}"
    wrong = int(xp.count_nonzero(actual.view(bits) != expected.view(bits)))
    assert not wrong, f"{wrong} of {actual.size} elements are wrong"
