"""What a run ran on: GPU, driver, packages, commit; and the state of the GPU."""

from __future__ import annotations

import re
import subprocess
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cudakern
from cudakern.compilation import nvrtc

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

ROOT = Path(__file__).parents[2]
PACKAGES = ("numpy", "cupy-cuda12x", "cupy-cuda13x", "ml-dtypes")


def now() -> str:
    """Return the date and time in UTC, as ISO 8601 has it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def commit(root: Path = ROOT) -> str:
    """Return the commit, with ``"+"`` if files were changed; ``"unknown"`` outside a repository."""
    git = partial(subprocess.check_output, cwd=root, stderr=subprocess.DEVNULL, text=True)
    try:
        commit_hash = git(["git", "rev-parse", "--short=12", "HEAD"]).strip()
        changed = git(["git", "status", "--porcelain", "--untracked-files=no"])
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return commit_hash + ("+" if changed else "")


def cuda_version(number: int) -> str:
    """Return ``"13.2"`` for 13020."""
    return f"{number // 1000}.{number % 1000 // 10}"


def describe_gpu(cupy: ModuleType, nvml: Nvml) -> dict[str, Any]:
    """Return what a result says of the GPU."""
    runtime = cupy.cuda.runtime
    properties = runtime.getDeviceProperties(runtime.getDevice())
    name = properties["name"]
    return {
        "name": name.decode() if isinstance(name, bytes) else name,
        "compute_capability": f"{properties['major']}.{properties['minor']}",
        "multiprocessors": int(properties["multiProcessorCount"]),
        "l2_bytes": int(properties["l2CacheSize"]),
        "memory_bytes": int(properties["totalGlobalMem"]),
        "driver": nvml.driver() or f"of CUDA {cuda_version(runtime.driverGetVersion())}",
    }


def versions(cupy: ModuleType) -> dict[str, str]:
    """Return the versions of what every run needs."""
    runtime = cupy.cuda.runtime
    numbers = {
        "cudakern": cudakern.__version__,
        "cuda runtime": cuda_version(runtime.runtimeGetVersion()),
        "cuda driver": cuda_version(runtime.driverGetVersion()),
        "nvrtc": nvrtc.version(),
    }
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            numbers[package] = metadata.version(package)
    return numbers


def default_path(gpu: str, date: str, version: str) -> Path:
    """Return where the file of a run belongs: in a folder such as ``nvidia-h200``."""
    folder = re.sub(r"[^a-z0-9]+", "-", gpu.lower()).strip("-")
    when = re.sub(r"[+].*", "Z", date).replace(":", "")
    return ROOT / "perf" / "results" / folder / f"{when}-{version}.json"


class Nvml:
    """Clock, temperature and power of a GPU, where nvidia-ml-py is installed.

    A GPU is known by its PCI bus: unlike an ordinal, it does not depend on which GPUs are visible.
    """

    def __init__(self, pci_bus_id: str) -> None:
        self._nvml: Any = None
        try:
            import pynvml  # noqa: PLC0415  optional
        except ImportError:
            return
        try:
            pynvml.nvmlInit()
            self._gpu = pynvml.nvmlDeviceGetHandleByPciBusId(pci_bus_id)
        except pynvml.NVMLError:
            return
        self._nvml = pynvml

    def driver(self) -> str:
        """Return the driver's version; empty if it is unknown."""
        if self._nvml:
            with suppress(self._nvml.NVMLError):
                return str(self._nvml.nvmlSystemGetDriverVersion())
        return ""

    def read(self, suffix: str = "") -> dict[str, float]:
        """Return what is known of the state, with a suffix behind each name."""
        nvml = self._nvml
        if nvml is None:
            return {}
        readings: dict[str, Callable[[], float]] = {
            "sm_mhz": lambda: nvml.nvmlDeviceGetClockInfo(self._gpu, nvml.NVML_CLOCK_SM),
            "celsius": lambda: nvml.nvmlDeviceGetTemperature(self._gpu, nvml.NVML_TEMPERATURE_GPU),
            "watts": lambda: nvml.nvmlDeviceGetPowerUsage(self._gpu) / 1000,
        }
        state = {}
        for name, reading in readings.items():
            with suppress(nvml.NVMLError):
                state[name + suffix] = float(reading())
        return state
