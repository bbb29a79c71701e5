"""Engines run kernels: CUDA through CuPy, or the simulator. They know no operator."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from cudakern.errors import EngineUnavailableError
from cudakern.process.caches import clear_caches
from cudakern.process.forks import Lock
from cudakern.process.lazy import is_cupy_simulated, load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cudakern.engines.base import Engine

HOST = -1  # the device of arrays in host memory; CUDA devices have their ordinals
_FORKED = (
    "cudakern: a GPU must not be used in a process that was forked after its parent had used one, "
    "which CUDA does not allow; start processes with multiprocessing's spawn or forkserver"
)

_asking = Lock()
_refused: list[str] = []  # why this process must not use a GPU
_handed_in: list[Engine] = []


@lru_cache(maxsize=1)
def _simulator() -> Engine:
    engine: Engine = load("cudakern.engines.simulator").ENGINE
    return engine


@lru_cache(maxsize=1)
def _cuda() -> Engine:
    engine: Engine = load("cudakern.engines.cuda.engine").CudaEngine()
    return engine


def require_own_process() -> None:
    """Raise EngineUnavailableError if this process was forked after its parent had used a GPU."""
    if _refused:
        raise EngineUnavailableError(_refused[0])


@contextmanager
def use(engine: Engine) -> Iterator[None]:
    """Have an engine run all kernels inside of a block, whatever the device of the arrays."""
    _handed_in.append(engine)
    clear_caches()
    try:
        yield
    finally:
        _handed_in.pop()
        clear_caches()


def engine_for(device: int) -> Engine:
    """Return the engine that runs kernels on arrays of a device (`HOST` or an ordinal)."""
    if _handed_in:
        return _handed_in[-1]
    if device == HOST or is_cupy_simulated():
        return _simulator()
    require_own_process()
    with _asking:  # otherwise two threads that ask first could get an engine each
        return _cuda()


def _in_fork() -> None:
    """Have a forked process refuse to use a GPU, also for launches that its parent has bound."""
    if _cuda.cache_info().currsize:
        _refused.append(_FORKED)
        clear_caches()


os.register_at_fork(after_in_child=_in_fork)
