"""The engine that a command uses."""

from __future__ import annotations

from cudakern.engines.cuda.library import device_count, import_cupy
from cudakern.errors import EngineUnavailableError


def choose(engine: str) -> str:
    """Return ``"cuda"`` or ``"simulator"`` for ``--engine``; raise for CUDA without a device."""
    if engine == "auto":
        return "cuda" if device_count() else "simulator"
    if engine == "cuda" and not device_count():
        import_cupy()  # says what to install if that is what is missing
        message = "cudakern: no CUDA device is visible; in a container start it with --gpus all"
        raise EngineUnavailableError(message)
    return engine
