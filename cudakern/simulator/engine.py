"""The simulator engine: CUDA kernels on the host's processor, on NumPy arrays."""

from __future__ import annotations

import ctypes
import struct
import threading
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.simulator.reports import sessions
from cudakern.simulator.launches import HostKernel, Report
from cudakern.simulator.kernel_text import KernelText
from cudakern.simulator.operands import operands_of
from cudakern.simulator.ptx.compile import Ptx, ptx_of, target
from cudakern.simulator.ptx.library import library
from cudakern.simulator.ptx.module import Kernel, Module
from cudakern.simulator.toolchain import Toolchain, find_toolchain
from cudakern.engines.sources import load_source
from cudakern.errors import BindingError, EngineUnavailableError
from cudakern.forks import Lock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
def _runtime(toolchain: Toolchain, checked: bool = False) -> ctypes.CDLL:  # noqa: FBT001, FBT002
    library, _ = _open(lambda: toolchain.runtime(checked=checked))
    pointer, number = ctypes.c_void_p, ctypes.c_uint32
    run = library.ck_sim_launch_checked if checked else library.ck_sim_launch_kernel
    run.restype = ctypes.c_int
    start = (pointer, ctypes.c_char_p, number, pointer, number, pointer)
    run.argtypes = (*start, *((pointer,) if checked else ()), ctypes.POINTER(Report))
    return library


#: What checked launches read in place of the header with the kernels' inline PTX.
_ON_HOST = (("common/ptx.cuh", Path(__file__).with_name("ptx_on_host.cuh")),)


def _text_of(spec: KernelSpec) -> KernelText:
    source = load_source(spec.source, _ON_HOST)
    return KernelText(source.name, source.text, spec.macros)


class _Workspaces(threading.local):
    """Those of a thread: its launches follow each other."""

    def __init__(self) -> None:
        self.by_size: dict[int, np.ndarray[Any, Any]] = {}


class SimulatorEngine:
    """Runs the PTX that NVRTC makes of a kernel; checked launches compile its text for the host."""

    name = "simulator"

    def __init__(self) -> None:
        self._lock = Lock()
        self._kernels: dict[tuple[KernelSpec, str, Toolchain, str], Kernel] = {}
        self._checked: dict[tuple[KernelSpec, str, Toolchain], HostKernel] = {}
        self._workspaces = _Workspaces()

    def module(self, ptx: Ptx) -> Module:
        """Return a loaded PTX module, compiling it unless it is cached.

        Raises
        ------
        KernelCompileError
            NVRTC made no PTX of it; with the log.
        EngineUnavailableError
            No NVRTC, no C++ compiler, or no folder for what they compile.
        """
        toolchain = find_toolchain()
        with self._lock:
            runtime = _runtime(toolchain)  # first: the kernels' library asks for it by name
        loaded, path = _open(partial(library, ptx, toolchain, toolchain.runtime()))
        return Module(path, loaded, runtime)

    def compile_kernels(self, code: KernelText, entries: tuple[str, ...]) -> tuple[HostKernel, ...]:
        """Return the kernels of a text for checked launches, all of one library.

        Raises
        ------
        KernelCompileError
            With the compiler's log.
        EngineUnavailableError
            No C++ compiler, or no folder for what it compiles.
        """
        toolchain = find_toolchain()
        with self._lock:
            runtime = _runtime(toolchain, checked=True)
        build = partial(toolchain.kernels, code, entries)
        build()  # which takes long, and nobody shall wait for it
        with sessions.alone():
            loaded, path = _open(build)
            return tuple(
                HostKernel(entry, runtime, loaded, i, path) for i, entry in enumerate(entries)
            )

    def kernel(self, spec: KernelSpec) -> Kernel:
        """Return a kernel, compiling it at first use."""
        key = (spec, load_source(spec.source).digest, find_toolchain(), target())
        found = self._kernels.get(key)
        if found is None:
            made = self.module(ptx_of(spec)).kernel(spec.entry, spec.source)
            found = self._kernels.setdefault(key, made)
        return found

    def checked_kernel(self, spec: KernelSpec) -> HostKernel:
        """Return a kernel for checked launches, compiling it at first use."""
        key = (spec, load_source(spec.source).digest, find_toolchain())
        found = self._checked.get(key)
        if found is None:
            made = self.compile_kernels(_text_of(spec), (spec.entry,))[0]
            found = self._checked.setdefault(key, made)
        return found

    def compile(self, spec: KernelSpec, device: int) -> None:
        """Compile a specialisation into the cache folder."""
        del device  # there is one host
        toolchain = find_toolchain()
        with self._lock:
            runtime = toolchain.runtime()  # first: not by each of the threads that compile kernels
        library(ptx_of(spec), toolchain, runtime)

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
        del device
        pack = struct.Struct(f"={launch.pointers}Q").pack
        tail = launch.arguments

        def require_size(kernel: Kernel | HostKernel) -> None:
            given = 8 * launch.pointers + len(tail)
            if kernel.parameter_sizes != (given,):
                requirement = f"must fill the kernel's parameters of {kernel.parameter_sizes} bytes"
                raise BindingError(kernel.name, "arguments", f"{requirement}; got {given}")

        def plain() -> Callable[[bytes], None]:
            kernel = self.kernel(launch.kernel)
            require_size(kernel)
            return kernel.launcher(launch.grid, launch.block, launch.shared_bytes)

        run = None if sessions.active else plain()

        def observe(addresses: tuple[int, ...]) -> bool:
            operands = operands_of(tensors, addresses)
            shape = (launch.grid, launch.block, launch.shared_bytes)
            kernel = self.checked_kernel(launch.kernel)
            require_size(kernel)
            return sessions.observe(kernel, shape, pack(*addresses) + tail, operands)

        def call(*addresses: int) -> None:
            nonlocal run
            complete = False
            try:
                if sessions.active:
                    complete = observe(addresses)
                    return
                if run is None:
                    run = plain()
                run(pack(*addresses) + tail)
                complete = True
            finally:
                if not complete:  # what the launch left in its workspace is good for nothing
                    self._workspaces.by_size.clear()

        return call
