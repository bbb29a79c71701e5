"""Engines run kernels: CUDA through CuPy, or the simulator. They know no operator."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from cudakern.engines.simulator.engine import SimulatorEngine

if TYPE_CHECKING:
    from cudakern.engines.base import Engine

#: The place of arrays in host memory; CUDA devices are their ordinals.
HOST = -1


@lru_cache(maxsize=1)
def _simulator() -> SimulatorEngine:
    return SimulatorEngine()


@lru_cache(maxsize=1)
def _cuda() -> Engine:
    from cudakern.engines.cuda import CudaEngine  # noqa: PLC0415  CuPy is optional

    return CudaEngine()


def engine_for(place: int) -> Engine:
    """Return the engine that runs kernels on arrays in a place (`HOST` or a device ordinal)."""
    return _simulator() if place == HOST else _cuda()
