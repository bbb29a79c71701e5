"""Sectors that the simulator counts for a line at full size, to stand beside those of the GPU."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.simulator import traffic
from perf.cases.base import nbytes
from perf.cases.gather import GatherProblem
from perf.cases.gather_nd import GatherNDProblem
from perf.cases.nonzero_coordinates import NonzeroProblem
from perf.cases.one_hot import OneHotProblem

if TYPE_CHECKING:
    from perf.cases.base import Problem

SEED = 1
#: Blocks of a launch that the simulator runs, evenly spread over the grid.
BLOCKS = 6
#: Bytes of a search that it runs: a whole one, as blocks wait for each other.
SEARCHED = 2**22
#: Elements up to which a problem gets its own data; indices that are drawn of larger ones.
OWN, DRAWN = 2**22, 2**16
#: In place of NumPy: memory that the system gives as zeros, a page when it is read.
_UNTOUCHED = SimpleNamespace(empty=np.zeros)


def sectors_of(problem: Problem) -> tuple[float, float] | None:
    """Return the sectors that a problem loads and stores in global memory.

    None for a search that is too large for the simulator.
    """
    searches = isinstance(problem, NonzeroProblem)
    if searches and nbytes(problem.operands[0]) > SEARCHED:
        return None
    call = problem.call(data_of(problem), problem.outputs(np))
    with traffic() if searches else traffic(blocks=BLOCKS) as report:
        call()
    (kernel,) = report.kernels
    return kernel.loads.sectors, kernel.stores.sectors


def data_of(problem: Problem) -> tuple[Any, ...]:
    """Return inputs of a problem; of a large one, zeros and indices that repeat."""
    if problem.size <= OWN:
        return problem.inputs(np, SEED)
    table, *_ = problem.blank(_UNTOUCHED)
    rng = np.random.default_rng(SEED)
    if isinstance(problem, GatherProblem):
        return table, _picks(problem, rng)
    if isinstance(problem, GatherNDProblem):
        drawn = rng.integers(0, problem.extents, (DRAWN, len(problem.extents)))
        return table, np.resize(drawn.astype(problem.index_dtype), problem.indices_shape)
    if isinstance(problem, OneHotProblem):
        return (np.zeros(problem.indices_shape, problem.index_dtype),)
    return (table,)


def _picks(problem: GatherProblem, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Return indices of a large gather: neighbours where they are sorted, else a few repeated."""
    if problem.pattern == "sorted":
        step = problem.extent / problem.count
        return (np.arange(problem.count) * step).astype(problem.index_dtype)
    few = replace(problem, indices_shape=(DRAWN,))
    return np.resize(few.indices(np, rng), problem.indices_shape)
