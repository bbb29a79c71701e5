"""``python -m cudakern info``: installed packages, devices, compilers, and the cache."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import tomllib
from contextlib import suppress
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import cudakern
from cudakern._commands.console import show_table
from cudakern.compilation import nvrtc
from cudakern.compilation.cache import content_of, one_line, survey
from cudakern.engines.cuda.library import import_cupy, translate
from cudakern.engines.kernel_text import kernel_folder
from cudakern.errors import CudakernError
from cudakern.operators.gather.function import gather
from cudakern.process.caches import sizes
from cudakern.simulator.libraries.toolchain import find_toolchain
from cudakern.simulator.sources.text_to_ptx import find_target

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

#: The extras for users of the package; others are for its developers.
_EXTRAS = ("cuda12", "cuda13", "dask", "profile", "simulator")
_EXTRA = re.compile(r"extra == ['\"]([\w.-]+)")
#: Packages besides those of the extras: CuPy built from source, and libraries of arrays.
_PACKAGES = ("cudakern", "numpy", "cupy", "jax", "numba", "torch")
_CHECKOUT = Path(__file__).resolve().parents[2]
_VARIABLES = """
CUDAKERN_ARCH CUDAKERN_CXX CUDAKERN_CACHE_DIR CUDAKERN_CACHE_SHARED CUDAKERN_LINEINFO CUDAKERN_DEBUG
CUDAKERN_QUIET CUDAKERN_REQUIRE_GPU CUDA_VISIBLE_DEVICES CUPY_CACHE_DIR CXX
NVIDIA_DRIVER_CAPABILITIES NVIDIA_VISIBLE_DEVICES
"""


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _packages() -> dict[str, str | None]:
    """Return the versions of all packages that cudakern can use."""
    named = {re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in _requirements()}
    versions = {name: _version(name) for name in sorted(named.union(_PACKAGES))}
    versions["cudakern"] = versions["cudakern"] or "not installed"
    return versions


def _requirements() -> list[str]:
    """Return the requirements of cudakern with its extras: as installed, or of its checkout."""
    with suppress(metadata.PackageNotFoundError):
        lines = metadata.requires("cudakern") or []
        of_extra = [(line, _EXTRA.search(line)) for line in lines]
        return [line for line, extra in of_extra if extra is None or extra[1] in _EXTRAS]
    try:
        text = (_CHECKOUT / "pyproject.toml").read_text(encoding="utf-8")
    except OSError:
        return []
    project: dict[str, Any] = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"]
    return [*project["dependencies"], *chain(*(extras[name] for name in _EXTRAS))]


def _look_for(look: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the result of a function, or the reason why it has none."""
    try:
        return {"available": True, **look()}
    except (CudakernError, RuntimeError, OSError, ImportError) as error:
        return {"available": False, "reason": str(translate(error) or error)}


def _cuda() -> dict[str, Any]:
    runtime = import_cupy().cuda.runtime
    properties = map(runtime.getDeviceProperties, range(runtime.getDeviceCount()))
    devices = [
        {
            "ordinal": ordinal,
            "name": device["name"].decode(),
            "compute_capability": f"{device['major']}.{device['minor']}",
            "multiprocessors": device["multiProcessorCount"],
            "memory_bytes": device["totalGlobalMem"],
        }
        for ordinal, device in enumerate(properties)
    ]
    return {
        "available": bool(devices),
        "driver": runtime.driverGetVersion(),
        "runtime": runtime.runtimeGetVersion(),
        "cupy_cache": os.environ.get("CUPY_CACHE_DIR", "~/.cupy/kernel_cache"),
        "devices": devices,
    }


def _simulator() -> dict[str, Any]:
    """Return the compiler and the architecture of the simulator, which also needs NVRTC."""
    nvrtc.library_path()
    toolchain = find_toolchain()
    return {
        "architecture": find_target(),
        "compiler": " ".join(toolchain.command),
        "version": toolchain.version,
    }


def _cache() -> dict[str, Any]:
    """Return the folder and the size of compiled kernels, and the caches of this process."""
    for name in dir(cudakern):
        getattr(cudakern, name)  # imports its module, which may have a cache
    caches = {name: size._asdict() for name, size in sizes().items()}
    try:
        choice = survey()
    except CudakernError as error:
        return {"cache": str(error), "cache_files": None, "cache_bytes": None, "caches": caches}
    folder = (*filter(None, (choice.writable, *choice.readable)), *choice.candidates)[0]
    files, nbytes = content_of(folder)
    return {
        "cache": one_line(folder),
        "cache_trusted": folder in choice.readable,
        "cache_writable": folder == choice.writable,
        "cache_problem": None if choice.writable and not choice.distrusted else choice.problem,
        "cache_files": files,
        "cache_bytes": nbytes,
        "caches": caches,
    }


def collect() -> dict[str, Any]:
    """Return all that ``info`` shows, ready for JSON."""
    return {
        "cudakern": cudakern.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "kernels": str(kernel_folder()),
        "packages": _packages(),
        **_cache(),
        "cuda": _look_for(_cuda),
        "nvrtc": _look_for(lambda: {"version": nvrtc.version(), "path": nvrtc.library_path()}),
        "simulator": _look_for(_simulator),
        "environment": {name: os.environ.get(name) for name in _VARIABLES.split()},
    }


def _rows(prefix: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _rows(f"{prefix}.{key}" if prefix else key, inner)
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from _rows(f"{prefix}[{position}]", inner)
    else:
        yield prefix, "-" if value is None else str(value)


def _check() -> str:
    """Run a kernel on the GPU; return an empty string, or what is wrong."""
    try:
        cupy = import_cupy()
        x = cupy.arange(1000, dtype=np.float32)
        picked = gather(x, cupy.arange(999, -1, -1, dtype=np.int32)).get()
    except (CudakernError, RuntimeError) as error:
        return str(translate(error) or error)
    correct = np.array_equal(picked, np.arange(1000, dtype=np.float32)[::-1])
    return "" if correct else "cudakern: a gather on the GPU gave a wrong result"


def run(options: argparse.Namespace) -> int:
    """Print the information; with ``--check`` return 1 unless a GPU works."""
    facts = collect()
    problem = _check() if options.check else ""
    if options.check:
        facts["check"] = problem or "passed"
    if options.json:
        sys.stdout.write(json.dumps(facts, indent=2) + "\n")
    else:
        show_table([*_rows("", facts)])
    return 1 if problem else 0
