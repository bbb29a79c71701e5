"""Time that functions over dask arrays take to build a graph, and its number of tasks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np

import cudakern.dask as cd
from cudakern._commands import console

if TYPE_CHECKING:
    from collections.abc import Callable

#: Chunks of x, or of the indices.
CHUNKS = 10_000
#: Seconds that a graph of so many chunks may take.
BUDGET = 5.0


def calls() -> dict[str, tuple[Callable[[], Any], int]]:
    """Return calls by name, each with the number of tasks of its operands."""
    side = round(CHUNKS**0.5)
    row = da.zeros(100 * CHUNKS, chunks=100, dtype=np.float32)
    square = da.zeros((10 * side, 10 * side), chunks=10, dtype=np.float32)
    indices = da.zeros(100 * CHUNKS, chunks=100, dtype=np.int64)
    few = da.zeros(100, dtype=np.int64)
    pairs = da.zeros((100, 2), dtype=np.int64)
    host = np.arange(0, row.size, 1000)
    single = row.rechunk(-1)
    joined = len(single.dask) + CHUNKS
    return {
        "reduce(x, 'sum')": (lambda: cd.reduce(row, "sum"), CHUNKS),
        "reduce(x, 'average'), a square grid": (lambda: cd.reduce(square, "average"), CHUNKS),
        "reduce(x, 'argmax', 0), a square grid": (lambda: cd.reduce(square, "argmax", 0), CHUNKS),
        "gather(x, one chunk)": (lambda: cd.gather(row, few), CHUNKS + 1),
        "gather(x, one chunk, mode='raise')": (lambda: cd.gather(row, few, mode="raise"), CHUNKS),
        "gather(x, NumPy array)": (lambda: cd.gather(row, host), CHUNKS),
        "gather(one chunk, indices)": (lambda: cd.gather(single, indices), joined),
        "gather_nd(x, one chunk), a square grid": (lambda: cd.gather_nd(square, pairs), CHUNKS),
        "one_hot(indices, 4)": (lambda: cd.one_hot(indices, 4), CHUNKS),
        "argwhere(x)": (lambda: cd.argwhere(row), CHUNKS),
        "argwhere(x), a square grid": (lambda: cd.argwhere(square), CHUNKS),
        "nonzero(x)": (lambda: cd.nonzero(row), CHUNKS),
        "nonzero(x, size=9)": (lambda: cd.nonzero(row, size=9), CHUNKS),
        "nonzero_coordinates(x)": (lambda: cd.nonzero_coordinates(row), CHUNKS),
    }


def time_graph(call: Callable[[], Any]) -> tuple[float, int]:
    """Return the seconds that a call takes, its graph made of tasks included, and their number."""
    start = time.perf_counter()
    results = call()
    graph: dict[Any, Any] = {}
    for lazy in results if isinstance(results, tuple) else (results,):
        graph.update(lazy.__dask_graph__())
    return time.perf_counter() - start, len(graph)


def measure() -> list[str]:
    """Print what all calls take; return which budgets are broken."""
    broken, rows = [], []
    for name, (call, operand_count) in calls().items():
        seconds, count = time_graph(call)
        rows.append((name, f"{seconds:.2f}", str(count), str(count - operand_count)))
        if seconds > BUDGET:
            broken.append(f"{name}: {seconds:.2f} s, more than {BUDGET:g}")
    console.show(f"graphs of {CHUNKS} chunks, at most {BUDGET:.0f} s each")
    console.show_table(rows, ("call", "seconds", "tasks", "besides operands"))
    return broken
