"""CuPy: import it, count devices, translate its errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.compilation.installation import INSTALL
from cudakern.errors import CudakernError, EngineUnavailableError

if TYPE_CHECKING:
    from types import ModuleType


def import_cupy() -> ModuleType:
    """Return the module cupy, or raise EngineUnavailableError."""
    try:
        import cupy  # noqa: PLC0415  optional, and 0.3 s
    except ImportError as error:
        message = f"cudakern: CuPy is needed for arrays on a GPU and is not installed; {INSTALL}"
        raise EngineUnavailableError(message) from error
    except PermissionError as error:
        message = (
            "cudakern: CuPy must be able to write its cache folder; "
            f"set CUPY_CACHE_DIR to a writable folder ({error})"
        )
        raise EngineUnavailableError(message) from error
    module: ModuleType = cupy
    return module


def device_count() -> int:
    """Return how many CUDA devices can be used; 0 without CuPy, driver or device."""
    try:
        cupy = import_cupy()
    except EngineUnavailableError:
        return 0
    try:
        return int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError:
        return 0


def translate(error: Exception) -> CudakernError | None:
    """Return the cudakern error that explains an error of CuPy, or None."""
    text = f"{type(error).__name__}: {error}"
    if "cudaErrorInsufficientDriver" in text or "cudaErrorNoDevice" in text:
        return EngineUnavailableError(
            "cudakern: no CUDA driver or device is visible; "
            f"in a container start it with --gpus all ({error})"
        )
    if "Failed to find CUDA headers" in text:
        return EngineUnavailableError(f"cudakern: the CUDA headers must be installed; {INSTALL}")
    return None
