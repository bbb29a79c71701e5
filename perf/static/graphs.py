"""Time that functions over dask arrays take to build a graph, and its number of tasks."""

from __future__ import annotations

import time
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np

import cudakern.dask as cd
from cudakern._commands import console
from perf.cases import MODULES

if TYPE_CHECKING:
    from collections.abc import Callable

#: Chunks of x, or of the indices.
CHUNKS = 10_000
#: Seconds that a graph of so many chunks may take.
BUDGET = 5.0


def operands() -> SimpleNamespace:
    """Return what calls are made of."""
    side = round(CHUNKS**0.5)
    row = da.zeros(100 * CHUNKS, chunks=100, dtype=np.float32)
    return SimpleNamespace(
        row=row,
        square=da.zeros((10 * side, 10 * side), chunks=10, dtype=np.float32),
        indices=da.zeros(100 * CHUNKS, chunks=100, dtype=np.int64),
        few=da.zeros(100, dtype=np.int64),
        pairs=da.zeros((100, 2), dtype=np.int64),
        host=np.arange(0, row.size, 1000),
        single=row.rechunk(-1),
    )


def time_graph(call: Callable[[], Any]) -> tuple[float, set[Any]]:
    """Return the seconds that a call takes, its graph made of tasks included, and their keys."""
    start = time.perf_counter()
    results = call()
    graph: dict[Any, Any] = {}
    for lazy in results if isinstance(results, tuple) else (results,):
        graph.update(lazy.__dask_graph__())
    return time.perf_counter() - start, {*graph}


def measure() -> list[str]:
    """Print what all calls take; return which budgets are broken."""
    broken, rows = [], []
    of = operands()
    known = set().union(*(x.dask for x in vars(of).values() if isinstance(x, da.Array)))
    calls = {name: call for module in MODULES.values() for name, call in module.GRAPHS.items()}
    for name, call in calls.items():
        seconds, keys = time_graph(partial(call, cd, of))
        rows.append((name, f"{seconds:.2f}", str(len(keys)), str(len(keys - known))))
        if seconds > BUDGET:
            broken.append(f"{name}: {seconds:.2f} s, more than {BUDGET:g}")
    console.show(f"graphs of {CHUNKS} chunks, at most {BUDGET:.0f} s each")
    console.show_table(rows, ("call", "seconds", "tasks", "besides operands"))
    return broken
