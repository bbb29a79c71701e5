"""The simulator engine: CUDA kernels on the host's processor, on NumPy arrays."""

from __future__ import annotations

import ctypes
import struct
import threading
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern._forks import Lock
from cudakern.engines.base import MULTIPROCESSORS
from cudakern.engines.sources import load_source
from cudakern.errors import BindingError, EngineUnavailableError
from cudakern.simulator.operands import operands_of
from cudakern.simulator.ptx.compile import Ptx, ptx_of, target
from cudakern.simulator.ptx.library import library
from cudakern.simulator.ptx.loaded import LoadedKernel, LoadedModule
from cudakern.simulator.reports import sessions
from cudakern.simulator.structures import KernelStruct, OptionsStruct, ReportStruct, ShapeStruct
from cudakern.simulator.toolchain import Toolchain, find_toolchain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cudakern.engines.base import KernelSpec, Launch, Tensor


def _open(build: Callable[[], Path]) -> tuple[ctypes.CDLL, Path]:
    """Load a library, building it once more if what the cache holds is damaged."""
    path = build()
    try:
        return ctypes.CDLL(str(path)), path
    except OSError:
        path.unlink(missing_ok=True)
    path = build()
    try:
        return ctypes.CDLL(str(path)), path
    except OSError as error:
        message = (
            "cudakern: compiled kernels must be loadable, "
            f"set CUDAKERN_CACHE_DIR to a folder that allows it; {error}"
        )
        raise EngineUnavailableError(message) from error


@lru_cache(maxsize=8)
def _runtime(toolchain: Toolchain, *, checked: bool) -> ctypes.CDLL:
    library, _ = _open(partial(toolchain.runtime, checked=checked))
    run = library.ck_sim_launch_checked if checked else library.ck_sim_launch_kernel
    run.restype = ctypes.c_int
    run.argtypes = (
        ctypes.POINTER(KernelStruct),
        ctypes.c_char_p,
        ctypes.c_uint32,
        ctypes.POINTER(ctypes.c_uint32),
        ctypes.c_uint32,
        ctypes.POINTER(ShapeStruct),
        *((ctypes.POINTER(OptionsStruct),) if checked else ()),
        ctypes.POINTER(ReportStruct),
    )
    return library


class _Workspaces(threading.local):
    """Those of a thread: its launches follow each other."""

    def __init__(self) -> None:
        self.by_size: dict[int, np.ndarray[Any, Any]] = {}


class SimulatorEngine:
    """Runs the PTX that NVRTC makes of a kernel, observed or not."""

    name = "simulator"

    def __init__(self) -> None:
        self._lock = Lock()
        self._modules: dict[tuple[str, Toolchain, bool], LoadedModule] = {}
        self._kernels: dict[tuple[KernelSpec, str, Toolchain, str, bool], LoadedKernel] = {}
        self._workspaces = _Workspaces()

    def module(self, ptx: Ptx, *, checked: bool = False) -> LoadedModule:
        """Return a loaded PTX module, compiling it unless it is cached.

        Its variables are those of the module for launches of the other kind, if that is loaded.
        KernelCompileError has the log of NVRTC where it made no PTX; EngineUnavailableError tells
        that NVRTC, a C++ compiler or a folder is missing.
        """
        toolchain = find_toolchain()
        with self._lock:
            # First: the kernels' library asks for it by name.
            runtime = _runtime(toolchain, checked=checked)
            path = toolchain.runtime(checked=checked)  # of several threads, one builds it
        loaded, path = _open(partial(library, ptx, toolchain, path, checked=checked))
        with self._lock:
            found = self._modules.get((ptx.key, toolchain, checked))
            if found is None or found.path != path:
                found = LoadedModule(path, loaded, runtime)
                other = self._modules.get((ptx.key, toolchain, not checked))
                if other is not None:
                    found.share_variables(other)
                self._modules[ptx.key, toolchain, checked] = found
            return found

    def kernel(self, spec: KernelSpec, *, checked: bool = False) -> LoadedKernel:
        """Return a kernel, compiling it at first use."""
        key = (spec, load_source(spec.source).digest, find_toolchain(), target(), checked)
        found = self._kernels.get(key)
        if found is None:
            made = self.module(ptx_of(spec), checked=checked).kernel(spec.entry, spec.source)
            found = self._kernels.setdefault(key, made)
        return found

    def compile(self, spec: KernelSpec, device: int) -> None:
        """Compile a specialisation into the cache folder."""
        del device  # there is one host
        toolchain = find_toolchain()
        with self._lock:
            runtime = toolchain.runtime()  # first: not by each of the threads that compile kernels
        library(ptx_of(spec), toolchain, runtime)

    def multiprocessors(self, device: int) -> int:
        """Return those of an H200: grids here are as there."""
        del device
        return MULTIPROCESSORS

    def workspace(self, device: int, nbytes: int) -> int:
        """Return the address of memory for a launch that is to follow on this thread."""
        del device
        kept = self._workspaces.by_size
        memory = kept.get(nbytes)
        if memory is None:
            memory = kept[nbytes] = np.zeros(nbytes // 8, np.uint64)
        return int(memory.__array_interface__["data"][0])

    def is_captured(self, device: int) -> bool:  # noqa: ARG002
        """Return False: there are no graphs."""
        return False

    def keep(self, device: int, memory: object) -> None:
        """Do nothing: there are no graphs."""

    def prepare(
        self, launch: Launch, device: int, tensors: Sequence[Tensor] = ()
    ) -> Callable[..., None]:
        """Compile what the launch needs; the result takes the addresses of the arrays."""
        pack = struct.Struct(f"={launch.pointers}Q").pack
        tail = launch.arguments.data
        grid = launch.grid_on(self.multiprocessors(device))
        size = (grid, launch.block, launch.shared_bytes)

        def kernel(*, checked: bool) -> LoadedKernel:
            found = self.kernel(launch.kernel, checked=checked)
            given = 8 * launch.pointers + len(tail)
            if found.parameter_sizes != (given,):
                requirement = f"must fill the kernel's parameters of {found.parameter_sizes} bytes"
                raise BindingError(found.name, "arguments", f"{requirement}; got {given}")
            return found

        run = None if sessions.active else kernel(checked=False).launcher(*size)

        def observe(addresses: tuple[int, ...]) -> bool:
            observed = sessions.Launch(
                *(kernel(checked=True), size, pack(*addresses) + tail),
                operands_of(tensors, addresses),
                tuple(range(0, 8 * len(addresses), 8)),
            )
            return sessions.observe(observed)

        def call(*addresses: int) -> None:
            nonlocal run
            complete = False
            try:
                if sessions.active:
                    complete = observe(addresses)
                    return
                if run is None:
                    run = kernel(checked=False).launcher(*size)
                run(pack(*addresses) + tail)
                complete = True
            finally:
                if not complete:  # what the launch left in its workspace is good for nothing
                    self._workspaces.by_size.clear()

        return call


#: What runs kernels on arrays in host memory.
ENGINE = SimulatorEngine()
