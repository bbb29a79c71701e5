"""The CUDA engine: machine code of `cudakern.compilation.nvrtc` on CuPy's current stream."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import threading
import weakref
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.compilation import nvrtc
from cudakern.compilation.waits import KERNELS, announce
from cudakern.engines import kernel_files
from cudakern.engines.cuda import graphs
from cudakern.engines.cuda.graphs import LEGACY_STREAMS, GraphMemory, is_captured, relax_capture
from cudakern.engines.cuda.library import import_cupy, translate
from cudakern.engines.kernel_text import line_info, load_source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cudakern.engines.base import Grid, KernelSpec, Launch, T, Tensor

_PER_THREAD_STREAM = 2  # cudaStreamPerThread
_MULTIPROCESSORS = 16  # cudaDevAttrMultiProcessorCount
_SHARED_BYTES = 97  # cudaDevAttrMaxSharedMemoryPerBlockOptin
_COMMON_SHARED_BYTES = 48 * 1024  # that every kernel may ask for
_NO_CONTEXT = 201  # CUDA_ERROR_INVALID_CONTEXT
#: Workspaces of other libraries' streams that are kept. PyTorch has 32 streams of each priority.
MAX_EXTERNAL_WORKSPACES = 128


class _OfThread(threading.local):
    """The workspaces of a thread's own stream."""

    def __init__(self) -> None:
        self.workspaces: dict[tuple[int, int, int], Any] = {}


class CudaEngine:
    """Loads each specialisation once per device and launches it."""

    name = "cuda"

    def __init__(self) -> None:
        self._cupy = import_cupy()
        self.current_device = self._cupy.cuda.runtime.getDevice
        self._lock = threading.RLock()
        self._kernels: dict[tuple[KernelSpec, str, int, bool], Any] = {}
        self._turns: dict[tuple[KernelSpec, str, int, bool], threading.RLock] = {}
        self._workspaces: dict[tuple[int, int, int], Any] = {}
        self._of_externals: dict[tuple[int, int, int], Any] = {}
        self._of_thread = _OfThread()
        self._graphs = GraphMemory()

    def kernel(self, spec: KernelSpec, device: int) -> Any:  # noqa: ANN401  CuPy has no types
        """Return the ``cupy.RawKernel`` of a specialisation, loaded on a device by one thread."""
        key = (spec, load_source(spec.source).digest, device, line_info())
        if key in self._kernels:
            return self._kernels[key]
        with self._lock:
            turn = self._turns.setdefault(key, threading.RLock())
        with turn:
            if key not in self._kernels:
                try:
                    with self._cupy.cuda.Device(device):
                        self._kernels[key] = self._load(spec, device)
                except (RuntimeError, OSError) as error:
                    translated = translate(error)
                    if translated is None:
                        raise
                    raise translated from error
        return self._kernels[key]

    def compile(self, spec: KernelSpec, device: int) -> Path:
        """Return the file of a specialisation for a device, compiling it unless it is there."""
        cuda = self._cupy.cuda
        nvrtc.require_driver(cuda.runtime.driverGetVersion())
        return kernel_files.file_for_gpu(spec, int(cuda.Device(device).compute_capability))

    def _load(self, spec: KernelSpec, device: int) -> Any:  # noqa: ANN401
        """Load a specialisation on the current device."""
        path = self.compile(spec, device)
        stream = self._cupy.cuda.get_current_stream().ptr
        captured = relax_capture() if is_captured(self._cupy, stream) else nullcontext()
        compiling = path.suffix == ".ptx"  # which the driver does
        late = announce(KERNELS, f"compiling {spec.source}") if compiling else nullcontext()
        with captured, late:
            kernel = self._cupy.RawModule(path=str(path)).get_function(spec.entry)
            kernel.kernel  # noqa: B018  loads it now, not at its first launch
        return kernel

    def is_captured(self, device: int) -> bool:
        """Return whether CuPy's current stream of a device is being captured into a graph."""
        return is_captured(self._cupy, self._cupy.cuda.get_current_stream(device).ptr)

    def prepare(
        self, launch: Launch, device: int, tensors: Sequence[Tensor] = ()
    ) -> Callable[..., None]:
        """Compile what the launch needs on a device; the result takes the addresses of the arrays.

        The result launches on CuPy's current stream of that device, which must be current. It does
        not synchronise, unless ``CUDAKERN_DEBUG=1`` was set when it was prepared.
        """
        del tensors  # compute-sanitizer knows allocations by itself
        cuda, workspace = self._cupy.cuda, launch.workspace
        scratch, zeros = launch.scratch, launch.zeros
        stream_of, memory_info = cuda.get_current_stream, cuda.runtime.memGetInfo
        # The addresses of a workspace and of scratch memory of no bytes stay 0, at the end.
        absent = 0 if scratch else (workspace == 0) + (scratch == 0)
        runs = [self._prepared(part, device, absent=absent) for part in launch.parts]
        debug = os.environ.get("CUDAKERN_DEBUG", "0") == "1"

        def start_each(*given: Any) -> None:  # noqa: ANN401
            for run in runs:
                run(*given)

        start = runs[0] if len(runs) == 1 else start_each

        def call(*addresses: int) -> None:
            stream = stream_of()
            if workspace:
                addresses = (*addresses, self.workspace(workspace, device, stream))
            if scratch:
                memory = self.temporary(device, lambda: cuda.alloc(scratch))
                none = (0,) if workspace == 0 else ()
                addresses = (*addresses, *none, int(memory.ptr))
                if zeros:
                    memory.memset_async(0, zeros, stream)
            try:
                start(stream.ptr, addresses)
            except RuntimeError as error:
                if getattr(error, "status", None) != _NO_CONTEXT:
                    raise
                memory_info()  # gives this thread the device's context
                start(stream.ptr, addresses)
            if debug:
                self._report(launch, device)

        return call

    def _prepared(
        self, launch: Launch, device: int, *, absent: int
    ) -> Callable[[int, Sequence[int]], None]:
        """Compile a kernel; the result launches it on a stream, given all addresses but the absent.

        These are the last of the launch's pointers, and 0.
        """
        tail, size = launch.arguments.data, 8 * launch.pointers + len(launch.arguments.data)
        start = self._starter(launch, device, size)
        pack = struct.Struct(f"{launch.pointers - absent}Q").pack_into
        # The driver copies the arguments during the launch, which releases the interpreter lock. So
        # each call takes a buffer of its own from this list and puts it back.
        buffers: list[tuple[Any, int]] = []

        def new_buffer() -> tuple[Any, int]:
            """Return memory for the address of the arguments and for these, and its address."""
            memory = (ctypes.c_uint64 * (1 + (size + 7) // 8))()
            address = ctypes.addressof(memory)
            memory[0] = address + 8
            ctypes.memmove(address + 8 + size - len(tail), tail, len(tail))
            return memory, address

        def run(stream: int, addresses: Sequence[int]) -> None:
            try:
                buffer = buffers.pop()
            except IndexError:
                buffer = new_buffer()
            pack(buffer[0], 8, *addresses)
            start(stream, buffer[1], 0)
            buffers.append(buffer)

        return run

    def _starter(self, launch: Launch, device: int, size: int) -> Callable[..., None]:
        """Return what starts a kernel on a stream, given the address of its arguments' addresses.

        That is CuPy's binding of the driver's function; its documented way takes 1.5 us more.
        """
        kernel = self.kernel(launch.kernel, device)
        grid, block, shared = self._grid(launch, device), launch.block, launch.shared_bytes
        if shared > _COMMON_SHARED_BYTES:
            runtime = self._cupy.cuda.runtime
            most = int(runtime.deviceGetAttribute(_SHARED_BYTES, device))
            shared = min(shared, most)
            with self._cupy.cuda.Device(device):
                kernel.max_dynamic_shared_size_bytes = most
        start = getattr(getattr(self._cupy.cuda, "driver", None), "launchKernel", None)
        if start is not None:
            with self._cupy.cuda.Device(device):  # CuPy has a function for each
                return partial(start, kernel.kernel.ptr, *grid, *block, shared)

        def by_value(_stream: int, arguments: int, _extra: int) -> None:
            memory = (ctypes.c_uint8 * size).from_address(arguments + 8)
            # An array of one element is passed by value.
            kernel(grid, block, (np.asarray(memory).view(f"V{size}"),), shared_mem=shared)

        return by_value

    def _grid(self, launch: Launch, device: int) -> Grid:
        get_attribute = self._cupy.cuda.runtime.deviceGetAttribute
        return launch.grid_on(int(get_attribute(_MULTIPROCESSORS, device)))

    def workspace(self, nbytes: int, device: int, stream: Any) -> int:  # noqa: ANN401
        """Return the address of memory for a launch on a stream of the current device.

        Each stream has one, since its launches run one after the other. It is freed with the
        stream; that of another library's stream stays. The launches of a stream that are captured
        into a graph share another one, which is freed with the graph: a graph may run on any
        stream, beside eager calls, but not twice at the same time.
        """
        handle = stream.ptr
        if is_captured(self._cupy, handle):
            memory = self._graphs.workspace(handle, nbytes, lambda: self._zeros_beside(nbytes))
            return int(memory.data.ptr)
        # The default stream and each thread's own stream last, and nothing else has their handles.
        of_thread = handle == _PER_THREAD_STREAM
        lasts = of_thread or handle in LEGACY_STREAMS
        workspaces = self._of_thread.workspaces if of_thread else self._workspaces
        # Any other handle may pass to a later stream while this one's last launch still runs. The
        # identity of this object is unique as long as it lives.
        key = (device, 0 if lasts else id(stream), nbytes)
        memory = workspaces.get(key)
        if memory is None:
            external = not lasts and stream.device_id < 0
            memory = self._of_external(handle, device, nbytes) if external else self._zeros(nbytes)
            memory = workspaces.setdefault(key, memory)
            if not lasts:
                weakref.finalize(stream, workspaces.pop, key, None).atexit = False
        return int(memory.data.ptr)

    def _of_external(self, handle: int, device: int, nbytes: int) -> Any:  # noqa: ANN401
        """Return the workspace of a stream that another library has made.

        Each ``with Stream.from_external(x)`` makes an object, and none knows when the stream ends.
        So the stream's number, which no later stream gets, is the key of its workspace, which is
        never freed, as launches may still run. When there are too many, each object has its own.
        """
        key = (device, graphs.stream_number(handle), nbytes)
        memory = self._of_externals.get(key)
        if memory is None:
            memory = self._zeros(nbytes)
            if len(self._of_externals) < MAX_EXTERNAL_WORKSPACES:
                memory = self._of_externals.setdefault(key, memory)
        return memory

    def temporary(self, device: int, make: Callable[[], T]) -> T:
        """Return memory that a call makes for itself; a graph that captures the call keeps it."""
        stream = self._cupy.cuda.get_current_stream(device).ptr
        return self._graphs.keep(stream, make) if is_captured(self._cupy, stream) else make()

    def _zeros_beside(self, nbytes: int) -> Any:  # noqa: ANN401
        """Return zeros that are complete at once, so that no graph fills them each time."""
        with self._cupy.cuda.Stream(non_blocking=True) as beside:
            memory = self._zeros(nbytes)
        beside.synchronize()
        return memory

    def _zeros(self, nbytes: int) -> Any:  # noqa: ANN401
        return self._cupy.zeros(nbytes // 8, np.uint64)

    def _report(self, launch: Launch, device: int) -> None:
        """Wait for a launch and name it on standard error (``CUDAKERN_DEBUG=1``)."""
        self._cupy.cuda.get_current_stream().synchronize()
        for part in launch.parts:
            where = f"grid={self._grid(part, device)} block={part.block}"
            print(f"cudakern: {part.kernel.entry} {where} done", file=sys.stderr)  # noqa: T201
