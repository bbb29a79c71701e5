"""The simulator engine: CUDA kernels on the host's processor, on NumPy arrays."""

from __future__ import annotations

import ctypes
import os
import struct
import threading
from functools import lru_cache
from typing import TYPE_CHECKING

from cudakern.engines.simulator.toolchain import find_toolchain
from cudakern.engines.sources import load_source
from cudakern.errors import BindingError, SimulatorError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cudakern.engines.base import KernelSpec, Launch

_MAX_THREADS = 1024


class _Report(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_char * 32),
        ("message", ctypes.c_char * 480),
        ("block", ctypes.c_uint32 * 3),
        ("thread", ctypes.c_uint32 * 3),
    )


@lru_cache(maxsize=8)
def _runtime(path: str) -> ctypes.CDLL:
    library = ctypes.CDLL(path)
    library.ck_sim_launch.restype = ctypes.c_int
    library.ck_sim_launch.argtypes = (
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_uint32,
        ctypes.c_void_p,
        ctypes.c_uint32,
        ctypes.c_void_p,
        ctypes.c_void_p,
    )
    return library


def resident_blocks() -> int:
    """Return how many blocks run side by side: at least 2, so that waiting for each other works."""
    return max(2, os.cpu_count() or 1)


class SimulatorEngine:
    """Compiles a kernel's unchanged text with the host's compiler and runs it there."""

    name = "simulator"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kernels: dict[tuple[KernelSpec, str, tuple[str, ...]], tuple[ctypes.CDLL, int]] = {}

    def kernel(self, spec: KernelSpec) -> int:
        """Return the address of a compiled kernel's entry, compiling it at first use."""
        return self._kernel(spec)[1]

    def _kernel(self, spec: KernelSpec) -> tuple[ctypes.CDLL, int]:
        source = load_source(spec.source)
        toolchain = find_toolchain()
        key = (spec, source.digest, toolchain.command)
        found = self._kernels.get(key)
        if found is None:
            path = toolchain.kernel(spec.entry, source.text, spec.entry, spec.macros)
            with self._lock:
                runtime = _runtime(str(toolchain.runtime()))
                library = ctypes.CDLL(str(path))
                address = ctypes.cast(library.ck_sim_entry, ctypes.c_void_p).value
                found = self._kernels.setdefault(key, (runtime, address or 0))
        return found

    def prepare(self, launch: Launch, device: int) -> Callable[..., None]:
        """Compile what the launch needs; the result takes the addresses of the arrays."""
        del device  # there is one host
        runtime, entry = self._kernel(launch.kernel)
        name = launch.kernel.entry
        threads = launch.block[0] * launch.block[1] * launch.block[2]
        if not 1 <= threads <= _MAX_THREADS or min(*launch.grid, *launch.block) < 1:
            requirement = f"must have 1 to {_MAX_THREADS} threads a block and no empty grid"
            raise BindingError(name, "launch", f"{requirement}; got {launch.grid} x {launch.block}")
        shape = (ctypes.c_uint32 * 8)(
            *launch.grid, *launch.block, launch.shared_bytes, resident_blocks()
        )
        offsets = (ctypes.c_uint32 * 1)(0)
        pack = struct.Struct(f"={launch.pointers}Q").pack
        tail = launch.arguments
        size = 8 * launch.pointers + len(tail)
        run = runtime.ck_sim_launch

        def call(*addresses: int) -> None:
            report = _Report()
            if run(entry, pack(*addresses) + tail, size, offsets, 1, shape, ctypes.byref(report)):
                raise SimulatorError(
                    report.kind.decode(),
                    name,
                    tuple(report.block),
                    tuple(report.thread),
                    report.message.decode(errors="replace"),
                )

        return call

