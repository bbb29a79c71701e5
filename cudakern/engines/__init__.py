"""Engines run kernels: CUDA through CuPy, or the simulator. They know no operator."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from cudakern.engines.simulator.engine import SimulatorEngine
from cudakern.forks import Lock

if TYPE_CHECKING:
    from cudakern.engines.base import Engine

#: The place of arrays in host memory; CUDA devices are their ordinals.
HOST = -1


_simulator = SimulatorEngine()
_asking = Lock()


@lru_cache(maxsize=1)
def _cuda() -> Engine:
    from cudakern.engines.cuda import CudaEngine  # noqa: PLC0415  CuPy is optional

    return CudaEngine()


def engine_for(place: int) -> Engine:
    """Return the engine that runs kernels on arrays in a place (`HOST` or a device ordinal)."""
    if place == HOST:
        return _simulator
    with _asking:  # of threads that ask for the first time at once, each shall get the same
        return _cuda()
