"""Kernels with one planted fault each, marked ``// fault`` where the checker must find it."""

from tests.simulator.broken_memory import MISALIGNED, OUT_OF_BOUNDS, UNINITIALIZED
from tests.simulator.broken_order import DEADLOCKS, DIVERGENCE, MISSING_BARRIERS, RACES
from tests.simulator.tables import Broken, fault_lines

__all__ = ["BROKEN", "Broken", "fault_lines"]

BROKEN = (
    *MISSING_BARRIERS,
    *RACES,
    *OUT_OF_BOUNDS,
    *MISALIGNED,
    *UNINITIALIZED,
    *DIVERGENCE,
    *DEADLOCKS,
)
