"""The simulator engine: CUDA kernels on the host's processor, on NumPy arrays."""

from __future__ import annotations

import ctypes
import os
import struct
import threading
from functools import lru_cache
from typing import TYPE_CHECKING

from cudakern.engines.simulator.toolchain import Toolchain, find_toolchain
from cudakern.engines.sources import load_source
from cudakern.errors import BindingError, EngineUnavailableError, SimulatorError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cudakern.engines.base import Grid, KernelSpec, Launch

#: A GPU's limits.
_MAX_THREADS = 1024
_MAX_BLOCK = (1024, 1024, 64)
_MAX_GRID = (2**31 - 1, 65535, 65535)
_MAX_SHARED_BYTES = 227 * 1024
_MAX_PARAMETER_BYTES = 4096


class _Report(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_char * 32),
        ("message", ctypes.c_char * 480),
        ("block", ctypes.c_uint32 * 3),
        ("thread", ctypes.c_uint32 * 3),
    )


def resident_blocks() -> int:
    """Return how many blocks run side by side: at least 2, so that waiting for each other works."""
    return max(2, os.cpu_count() or 1)


class HostKernel:
    """A kernel compiled for the host. It stays loaded until the process ends.

    Attributes
    ----------
    name : str
        Name of its entry point.
    parameter_sizes : tuple of int
        Bytes of each of its parameters.
    """

    def __init__(self, name: str, runtime: ctypes.CDLL, library: ctypes.CDLL) -> None:
        self.name = name
        self._runtime = runtime
        self._entry = ctypes.cast(library.ck_sim_entry, ctypes.c_void_p)
        sizes = ctypes.POINTER(ctypes.c_uint32)()
        count = library.ck_sim_parameter_sizes(ctypes.byref(sizes))
        self.parameter_sizes = tuple(sizes[:count])

    def launcher(
        self,
        grid: Grid,
        block: Grid,
        shared_bytes: int = 0,
        offsets: Sequence[int] = (0,),
        *,
        resident: int | None = None,
        eager: bool = False,
    ) -> Callable[[bytes], None]:
        """Return a function that runs the kernel on packed parameters; many threads can call it.

        Parameters
        ----------
        grid, block : tuple of int
            Blocks of the grid and threads of a block, each in x, y, z.
        shared_bytes : int, optional
            Dynamic shared memory of a block.
        offsets : sequence of int, optional
            Where each parameter starts among the packed bytes.
        resident : int, optional
            How many blocks may run side by side; None for `resident_blocks()`.
        eager : bool, optional
            Start that many at once. Otherwise the others join when the first block waits for them,
            or takes longer than it takes to start them.

        Raises
        ------
        BindingError
            No GPU could run such a launch, or the kernel has another number of parameters.
        """
        name = self.name
        _check_shape(name, grid, block, shared_bytes)
        if len(offsets) != len(self.parameter_sizes):
            requirement = f"must be {len(self.parameter_sizes)} parameters; got {len(offsets)}"
            raise BindingError(name, "arguments", requirement)
        ends = [start + size for start, size in zip(offsets, self.parameter_sizes, strict=True)]
        required = max(ends, default=0)
        if required > _MAX_PARAMETER_BYTES:
            requirement = f"must have at most {_MAX_PARAMETER_BYTES} bytes; got {required}"
            raise BindingError(name, "arguments", requirement)
        count = len(offsets)
        starts = (ctypes.c_uint32 * count)(*offsets)
        workers = resident_blocks() if resident is None else resident
        shape = (ctypes.c_uint32 * 9)(*grid, *block, shared_bytes, workers, eager)
        run = self._runtime.ck_sim_launch
        entry = self._entry
        reports: list[_Report] = []  # spare ones: each call takes its own

        def launch(parameters: bytes) -> None:
            size = len(parameters)
            if size < required:
                requirement = f"must hold {required} bytes; got {size}"
                raise BindingError(name, "arguments", requirement)
            try:
                report = reports.pop()
            except IndexError:
                report = _Report()
            if run(entry, parameters, required, starts, count, shape, report):
                raise _error(name, report)
            reports.append(report)

        return launch


def _check_shape(name: str, grid: Grid, block: Grid, shared_bytes: int) -> None:
    threads = block[0] * block[1] * block[2]
    inside = all(
        1 <= size <= limit
        for size, limit in zip((*grid, *block), (*_MAX_GRID, *_MAX_BLOCK), strict=True)
    )
    if not inside or threads > _MAX_THREADS:
        requirement = (
            f"must have 1 to {_MAX_THREADS} threads a block, at most {_MAX_BLOCK}, "
            f"and a grid of 1 to {_MAX_GRID}"
        )
        raise BindingError(name, "launch", f"{requirement}; got grid {grid}, block {block}")
    if not 0 <= shared_bytes <= _MAX_SHARED_BYTES:
        requirement = f"must have at most {_MAX_SHARED_BYTES} bytes of shared memory"
        raise BindingError(name, "launch", f"{requirement}; got {shared_bytes}")


def _error(name: str, report: _Report) -> SimulatorError:
    return SimulatorError(
        report.kind.decode(),
        name,
        tuple(report.block),
        tuple(report.thread),
        report.message.decode(errors="replace"),
    )


def _open(build: Callable[[], Path]) -> ctypes.CDLL:
    """Load a library, building it once more if what the cache holds is damaged."""
    path = build()
    try:
        return ctypes.CDLL(str(path))
    except OSError:
        path.unlink(missing_ok=True)
    path = build()
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        message = (
            "cudakern: compiled kernels must be loadable, "
            f"set CUDAKERN_CACHE_DIR to a folder that allows it; {error}"
        )
        raise EngineUnavailableError(message) from error


@lru_cache(maxsize=8)
def _runtime(toolchain: Toolchain) -> ctypes.CDLL:
    library = _open(toolchain.runtime)
    pointer, number = ctypes.c_void_p, ctypes.c_uint32
    library.ck_sim_launch.restype = ctypes.c_int
    library.ck_sim_launch.argtypes = (
        pointer,
        ctypes.c_char_p,
        number,
        pointer,
        number,
        pointer,
        ctypes.POINTER(_Report),
    )
    return library


class SimulatorEngine:
    """Compiles a kernel's unchanged text with the host's compiler and runs it there."""

    name = "simulator"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kernels: dict[tuple[KernelSpec, str, Toolchain], HostKernel] = {}

    def compile_text(
        self, source: str, text: str, entry: str, macros: tuple[tuple[str, str], ...] = ()
    ) -> HostKernel:
        """Return a kernel compiled from its text, which is called ``source`` in errors.

        Raises
        ------
        KernelCompileError
            With the compiler's log.
        EngineUnavailableError
            No C++ compiler, or no folder for what it compiles.
        """
        toolchain = find_toolchain()
        with self._lock:
            runtime = _runtime(toolchain)  # first: a kernel's library asks for it by name
        library = _open(lambda: toolchain.kernel(source, text, entry, macros))
        return HostKernel(entry, runtime, library)

    def kernel(self, spec: KernelSpec) -> HostKernel:
        """Return a compiled kernel, compiling it at first use."""
        source = load_source(spec.source)
        key = (spec, source.digest, find_toolchain())
        found = self._kernels.get(key)
        if found is None:
            made = self.compile_text(source.name, source.text, spec.entry, spec.macros)
            found = self._kernels.setdefault(key, made)
        return found

    def compile(self, spec: KernelSpec, device: int) -> None:
        """Compile a specialisation into the cache folder and load it."""
        del device  # there is one host
        self.kernel(spec)

    def prepare(self, launch: Launch, device: int) -> Callable[..., None]:
        """Compile what the launch needs; the result takes the addresses of the arrays."""
        del device
        kernel = self.kernel(launch.kernel)
        pack = struct.Struct(f"={launch.pointers}Q").pack
        tail = launch.arguments
        given = 8 * launch.pointers + len(tail)
        if kernel.parameter_sizes != (given,):
            requirement = f"must fill the kernel's parameters of {kernel.parameter_sizes} bytes"
            raise BindingError(kernel.name, "arguments", f"{requirement}; got {given}")
        run = kernel.launcher(launch.grid, launch.block, launch.shared_bytes)

        def call(*addresses: int) -> None:
            run(pack(*addresses) + tail)

        return call
