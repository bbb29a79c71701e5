"""Sectors that the simulator counts for a line at full size, to stand beside those of the GPU."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.simulator import traffic
from perf.cases.base import nbytes
from perf.cases.gather import GatherWorkload
from perf.cases.gather_nd import GatherNDWorkload
from perf.cases.nonzero_coordinates import NonzeroWorkload
from perf.cases.one_hot import OneHotWorkload

if TYPE_CHECKING:
    from perf.cases.base import Workload

SEED = 1
#: Blocks of a launch that the simulator runs, evenly spread over the grid.
BLOCKS = 6
#: Bytes of a search that it runs: a whole one, as blocks wait for each other.
SEARCHED = 2**22
#: Elements up to which a workload gets its own data; indices that are drawn of larger ones.
OWN, DRAWN = 2**22, 2**16
#: In place of NumPy: memory that the system gives as zeros, a page when it is read.
_UNTOUCHED = SimpleNamespace(empty=np.zeros)


def sectors_of(workload: Workload) -> tuple[float, float] | None:
    """Return the sectors that a workload loads and stores in global memory.

    None for a search that is too large for the simulator.
    """
    searches = isinstance(workload, NonzeroWorkload)
    if searches and nbytes(workload.operands[0]) > SEARCHED:
        return None
    call = workload.call(data_of(workload), workload.outputs(np))
    with traffic() if searches else traffic(blocks=BLOCKS) as report:
        call()
    (kernel,) = report.kernels
    return kernel.loads.sectors, kernel.stores.sectors


def data_of(workload: Workload) -> tuple[Any, ...]:
    """Return inputs of a workload; of a large one, zeros and indices that repeat."""
    if workload.size <= OWN:
        return workload.inputs(np, SEED)
    table, *_ = workload.blank(_UNTOUCHED)
    rng = np.random.default_rng(SEED)
    if isinstance(workload, GatherWorkload):
        return table, _picks(workload, rng)
    if isinstance(workload, GatherNDWorkload):
        drawn = rng.integers(0, workload.extents, (DRAWN, len(workload.extents)))
        return table, np.resize(drawn.astype(workload.index_dtype), workload.indices_shape)
    if isinstance(workload, OneHotWorkload):
        return (np.zeros(workload.indices_shape, workload.index_dtype),)
    return (table,)


def _picks(workload: GatherWorkload, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Return indices of a large gather: neighbours where they are sorted, else a few repeated."""
    if workload.pattern == "sorted":
        step = workload.extent / workload.count
        return (np.arange(workload.count) * step).astype(workload.index_dtype)
    few = replace(workload, indices_shape=(DRAWN,))
    return np.resize(few.indices(np, rng), workload.indices_shape)
