"""The CUDA engine: kernels compiled by CuPy's NVRTC, launched on CuPy's current stream.

This is the only module that touches CuPy's compiler and launcher.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.engines.sources import line_info, load_source
from cudakern.errors import CudakernError, EngineUnavailableError, KernelCompileError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from cudakern.engines.base import KernelSpec, Launch, Tensor

_LEGACY_STREAMS = (0, 1)  # the default one, and cudaStreamLegacy, which is the same
_PER_THREAD_STREAM = 2  # cudaStreamPerThread
_INSTALL = "run: pip install 'cudakern[cuda12]' (CUDA 12) or 'cudakern[cuda13]' (CUDA 13)"


def import_cupy() -> ModuleType:
    """Return the module cupy.

    Raises
    ------
    EngineUnavailableError
        CuPy is not installed, or cannot write its cache folder.
    """
    try:
        import cupy  # noqa: PLC0415  optional, and 0.3 s
    except ImportError as error:
        message = f"cudakern: CuPy is needed for arrays on a GPU and is not installed; {_INSTALL}"
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
    """Return the cudakern error that says what an error of CuPy means, or None."""
    text = f"{type(error).__name__}: {error}"
    if "cudaErrorInsufficientDriver" in text or "cudaErrorNoDevice" in text:
        return EngineUnavailableError(
            "cudakern: no CUDA driver or device is visible; "
            f"in a container start it with --gpus all ({error})"
        )
    if "Failed to find CUDA headers" in text:
        return EngineUnavailableError(f"cudakern: the CUDA headers must be installed; {_INSTALL}")
    return None


def takes_addresses(cupy: ModuleType) -> bool:
    """Return whether CuPy's CPointer hands an address to the driver as it is.

    It does from version 14.2 at the latest. It is no documented interface, so its one field, behind
    the object header, is looked at; where it is another, arguments go the documented way.
    """
    made_from = ctypes.c_uint64()
    address = ctypes.addressof(made_from)
    try:
        pointer = cupy.cuda.function.CPointer(address)
    except (AttributeError, TypeError):
        return False
    field = id(pointer) + object.__basicsize__
    return bool(ctypes.c_void_p.from_address(field).value == address)


class _Workspaces(threading.local):
    """Those of a thread's own stream."""

    def __init__(self) -> None:
        self.workspaces: dict[tuple[int, int, int], Any] = {}


class CudaEngine:
    """Compiles each specialisation once per device and launches it."""

    name = "cuda"

    def __init__(self) -> None:
        self._cupy = import_cupy()
        self._lock = threading.Lock()
        self._takes_addresses = takes_addresses(self._cupy)
        self._functions: dict[tuple[KernelSpec, str, int, bool], Any] = {}
        self._workspaces: dict[tuple[int, int, int], Any] = {}
        self._of_thread = _Workspaces()
        self._captured: list[Any] = []

    def kernel(self, spec: KernelSpec, device: int) -> Any:  # noqa: ANN401  CuPy has no types
        """Return the compiled function of a specialisation on a device.

        Raises
        ------
        KernelCompileError
            With NVRTC's log.
        EngineUnavailableError
            No driver, or no CUDA headers.
        """
        source = load_source(spec.source)
        key = (spec, source.digest, device, line_info())
        found = self._functions.get(key)
        if found is not None:
            return found
        options = (
            "-std=c++17",
            *(f"-D{name}={value}" for name, value in spec.macros),
            f"-DCK_SOURCE_DIGEST=0x{source.digest[:16]}",
            *(("-lineinfo",) if line_info() else ()),
        )
        cupy = self._cupy
        with self._lock:
            if key in self._functions:
                return self._functions[key]
            try:
                with cupy.cuda.Device(device):
                    module = cupy.RawModule(code=source.text, options=options, backend="nvrtc")
                    function = module.get_function(spec.entry).kernel
            except cupy.cuda.compiler.CompileException as error:
                raise KernelCompileError(spec.source, options, str(error)) from error
            except (RuntimeError, OSError) as error:
                translated = translate(error)
                if translated is None:
                    raise
                raise translated from error
            self._functions[key] = function
        return function

    def compile(self, spec: KernelSpec, device: int) -> None:
        """Compile a specialisation; CuPy keeps it on disk."""
        self.kernel(spec, device)

    def prepare(
        self, launch: Launch, device: int, tensors: Sequence[Tensor] = ()
    ) -> Callable[..., None]:
        """Compile what the launch needs on a device; the result takes the addresses of the arrays.

        The result launches on CuPy's current stream of that device and does not synchronise, unless
        ``CUDAKERN_DEBUG=1`` was set when it was prepared.
        """
        del tensors  # compute-sanitizer knows allocations by itself
        function = self.kernel(launch.kernel, device)
        runtime = self._cupy.cuda.runtime
        switch = self._cupy.cuda.Device
        grid, block, shared_bytes = launch.grid, launch.block, launch.shared_bytes
        count, tail = launch.pointers, launch.arguments
        size = 8 * count + len(tail)
        pointer = self._cupy.cuda.function.CPointer if self._takes_addresses else None
        # The driver copies the arguments while it launches, but the launch releases the interpreter
        # lock; so each call takes a buffer of its own from this list and puts it back.
        buffers: list[tuple[Any, tuple[Any]]] = []
        debug = os.environ.get("CUDAKERN_DEBUG", "0") == "1"

        def new_buffer() -> tuple[Any, tuple[Any]]:
            memory = (ctypes.c_uint64 * ((size + 7) // 8))()
            ctypes.memmove(ctypes.byref(memory, 8 * count), tail, len(tail))
            if pointer is not None:
                return memory, (pointer(ctypes.addressof(memory)),)
            # Documented, and 1.5 us slower: an array of one element is passed by value.
            return memory, (np.asarray(memory).view(f"V{8 * len(memory)}"),)

        def call(*addresses: int) -> None:
            try:
                buffer = buffers.pop()
            except IndexError:
                buffer = new_buffer()
            buffer[0][:count] = addresses
            if runtime.getDevice() == device:
                function(grid, block, buffer[1], shared_bytes)
            else:
                with switch(device):
                    function(grid, block, buffer[1], shared_bytes)
            buffers.append(buffer)
            if debug:
                self._report(launch, device)

        return call

    def workspace(self, device: int, nbytes: int) -> int:
        """Return the address of memory for a launch that is to follow on CuPy's current stream.

        One for each stream, since its launches follow each other. A launch that is captured into a
        graph gets one of its own, kept as long as the process: the graph may run on any stream,
        beside eager calls.
        """
        cuda = self._cupy.cuda
        if cuda.runtime.getDevice() != device:
            with cuda.Device(device):
                return self.workspace(device, nbytes)
        stream = cuda.get_current_stream().ptr
        # The legacy default stream cannot be captured, and asking might end another's capture.
        if stream not in _LEGACY_STREAMS and cuda.runtime.streamIsCapturing(stream):
            with cuda.Stream(non_blocking=True) as beside:  # the graph need not fill it each time
                memory = self._zeros(nbytes)
            beside.synchronize()
            self._captured.append(memory)
            return int(memory.data.ptr)
        # The per-thread default stream has one handle and is another one in each thread.
        kept = self._workspaces if stream != _PER_THREAD_STREAM else self._of_thread.workspaces
        key = (device, stream, nbytes)
        memory = kept.get(key)
        if memory is None:
            memory = kept.setdefault(key, self._zeros(nbytes))
        return int(memory.data.ptr)

    def _zeros(self, nbytes: int) -> Any:  # noqa: ANN401
        return self._cupy.zeros(nbytes // 8, np.uint64)

    def _report(self, launch: Launch, device: int) -> None:
        """Wait for a launch and name it on standard error (``CUDAKERN_DEBUG=1``)."""
        with self._cupy.cuda.Device(device):
            self._cupy.cuda.get_current_stream().synchronize()
        line = f"cudakern: {launch.kernel.entry} grid={launch.grid} block={launch.block} done"
        print(line, file=sys.stderr)  # noqa: T201  what the variable asks for
