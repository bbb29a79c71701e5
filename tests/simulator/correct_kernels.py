"""Correct kernels, each with what NumPy says it must write: the checker finds nothing in them."""

from tests.simulator.correct_memory import BYTES_AND_VIEWS, PLAIN, SORTS, TILES
from tests.simulator.correct_reductions import REDUCTIONS, SCANS
from tests.simulator.correct_threads import ATOMICS, BETWEEN_BLOCKS, WARPS
from tests.simulator.tables import Correct

__all__ = ["CORRECT", "Correct"]

CORRECT = (
    *REDUCTIONS,
    *SCANS,
    *TILES,
    *SORTS,
    *ATOMICS,
    *BETWEEN_BLOCKS,
    *WARPS,
    *PLAIN,
    *BYTES_AND_VIEWS,
)
