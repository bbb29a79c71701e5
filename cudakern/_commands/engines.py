"""Which engine a command uses, and arrays for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cudakern.engines.cuda import device_count, import_cupy
from cudakern.errors import EngineUnavailableError

if TYPE_CHECKING:
    from cudakern._arrays import Array


def choose(wanted: str) -> str:
    """Return ``"cuda"`` or ``"simulator"`` for ``--engine``.

    Raises
    ------
    EngineUnavailableError
        CUDA was asked for and there is no device.
    """
    if wanted == "auto":
        return "cuda" if device_count() else "simulator"
    if wanted == "cuda" and not device_count():
        import_cupy()  # says what to install if that is what is missing
        message = "cudakern: no CUDA device is visible; in a container start it with --gpus all"
        raise EngineUnavailableError(message)
    return wanted


def to_engine(array: Array, engine: str) -> Array:
    """Return a NumPy array as an array of the engine."""
    return import_cupy().asarray(array) if engine == "cuda" else array


def to_host(array: Array) -> Array:
    """Return an array as a NumPy array."""
    return array if isinstance(array, np.ndarray) else array.get()
