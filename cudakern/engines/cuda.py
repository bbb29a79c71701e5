"""The CUDA engine: machine code of `cudakern.engines.nvrtc` on CuPy's current stream.

This is the only module that touches CuPy's loader, launcher and streams. A call that is captured
into a CUDA graph leaves it the memory that it needs to run again. A call with an array of another
library takes its turn in that library's stream, too.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import weakref
from collections import deque
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.engines import nvrtc
from cudakern.engines.nvrtc import INSTALL
from cudakern.engines.sources import line_info, load_source
from cudakern.errors import BindingError, CudakernError, EngineUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from types import ModuleType

    from cudakern.engines.base import Grid, KernelSpec, Launch, Tensor

_PER_THREAD_STREAM = 2  # cudaStreamPerThread
_MULTIPROCESSORS = 16  # cudaDevAttrMultiProcessorCount
_LEGACY_STREAMS = (0, 1)  # the default one, and cudaStreamLegacy, which is the same
#: Workspaces of other libraries' streams that are kept. PyTorch has 32 streams of each priority.
_MOST_KEPT = 128
_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED
_NO_DESTRUCTOR_SYNC = 1  # CU_USER_OBJECT_NO_DESTRUCTOR_SYNC
_MOVE = 1  # CU_GRAPH_USER_OBJECT_MOVE
_SEMAPHORE_BYTES = 64  # sem_t has 32 in glibc and musl
#: The driver's words for a file that is no machine code, or not whole.
_DAMAGED = ("CUDA_ERROR_INVALID_IMAGE", "CUDA_ERROR_INVALID_PTX", "CUDA_ERROR_INVALID_SOURCE")

#: What calls that may still run have borrowed from libraries whose streams are not known, each
#: after the event that ends its call.
_unreturned: deque[tuple[Any, Any]] = deque()


def import_cupy() -> ModuleType:
    """Return the module cupy.

    Raises EngineUnavailableError if CuPy is not installed, or cannot write its cache folder.
    """
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
    """Return the cudakern error that says what an error of CuPy means, or None."""
    text = f"{type(error).__name__}: {error}"
    if "cudaErrorInsufficientDriver" in text or "cudaErrorNoDevice" in text:
        return EngineUnavailableError(
            "cudakern: no CUDA driver or device is visible; "
            f"in a container start it with --gpus all ({error})"
        )
    if "Failed to find CUDA headers" in text:
        return EngineUnavailableError(f"cudakern: the CUDA headers must be installed; {INSTALL}")
    return None


def takes_addresses(cupy: ModuleType) -> bool:
    """Return whether CuPy's CPointer hands an address to the driver as it is.

    It does from version 14.0 at the latest. It is no documented interface, so its one field, behind
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


# ------------------------------------------------------------------------------------------- graphs


def _ask(function: str, *arguments: object) -> list[Any]:
    """Call a function of the driver; return what it gives.

    Raises RuntimeError if the call fails.
    """
    from cuda.bindings import driver  # noqa: PLC0415  optional, and 30 ms

    results: list[Any]
    status, *results = getattr(driver, function)(*arguments)
    if status != driver.CUresult.CUDA_SUCCESS:
        message = f"{function}: {status.name}"
        raise RuntimeError(message)
    return results


def exchange_capture_mode(mode: int) -> int:
    """Set this thread's capture mode, a value of ``CUstreamCaptureMode``; return what it was."""
    from cuda.bindings import driver  # noqa: PLC0415  optional, and 30 ms

    (before,) = _ask("cuThreadExchangeStreamCaptureMode", driver.CUstreamCaptureMode(mode))
    return int(before)


def same_stream(a: int, b: int) -> bool:
    """Return whether two handles are of one stream."""
    return a == b or (a in _LEGACY_STREAMS and b in _LEGACY_STREAMS)


def is_captured(cupy: ModuleType, stream: int) -> bool:
    """Return whether a stream is being captured into a graph."""
    # The legacy default stream cannot be captured, and asking might end another's capture.
    return stream not in _LEGACY_STREAMS and bool(cupy.cuda.runtime.streamIsCapturing(stream))


def graph_of(stream: int) -> tuple[int, int]:
    """Return the number of the capture that a stream is in, and the handle of its graph."""
    _, number, graph, *_ = _ask("cuStreamGetCaptureInfo", stream)
    return int(number), int(graph)


def stream_number(stream: int) -> int:
    """Return the number of a stream. Unlike its handle, no later stream gets it."""
    (number,) = _ask("cuStreamGetId", stream)
    return int(number)


def call_after(graph: int, function: int, argument: int) -> None:
    """Have a C function called with an address once a graph is gone with all that runs of it."""
    (user_object,) = _ask("cuUserObjectCreate", argument, function, 1, _NO_DESTRUCTOR_SYNC)
    _ask("cuGraphRetainUserObject", graph, user_object, 1, _MOVE)


@contextmanager
def relaxed() -> Iterator[None]:
    """Let this thread allocate and load, uncaptured, while a stream is captured in any mode."""
    before = exchange_capture_mode(_RELAXED)
    try:
        yield
    finally:
        exchange_capture_mode(before)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


class _Event:
    """What CUDA sets from a thread of its own, which must not wait for Python: a semaphore."""

    def __init__(self) -> None:
        self._semaphore = ctypes.create_string_buffer(_SEMAPHORE_BYTES)
        _libc().sem_init(self._semaphore, 0, 0)

    def set_after(self, graph: int) -> None:
        """Have it set once a graph is gone."""
        function = ctypes.cast(_libc().sem_post, ctypes.c_void_p).value
        call_after(graph, int(function or 0), ctypes.addressof(self._semaphore))

    def is_set(self) -> bool:
        value = ctypes.c_int()
        _libc().sem_getvalue(self._semaphore, ctypes.byref(value))
        return value.value > 0


class _Captured:
    """Memory of the calls that were captured into a graph."""

    def __init__(self) -> None:
        self.gone = _Event()
        self.memory: list[object] = []
        self.workspaces: dict[tuple[int, int], Any] = {}


class GraphMemory:
    """Memory that graphs use whenever they run. It is given back after they are gone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._captured: dict[int, _Captured] = {}

    def __len__(self) -> int:
        return len(self._captured)

    def keep(self, stream: int, memory: object) -> None:
        """Keep memory that the graph uses which a stream is being captured into."""
        with relaxed():
            self._of(stream).memory.append(memory)

    def workspace(self, stream: int, nbytes: int, make: Callable[[], Any]) -> Any:  # noqa: ANN401
        """Return the workspace of the launches that this stream has in a graph, one by one."""
        with relaxed():
            kept = self._of(stream).workspaces
            if (stream, nbytes) not in kept:
                kept[stream, nbytes] = make()
            return kept[stream, nbytes]

    def _of(self, stream: int) -> _Captured:
        number, graph = graph_of(stream)
        with self._lock:
            for other in [k for k, captured in self._captured.items() if captured.gone.is_set()]:
                del self._captured[other]
            captured = self._captured.get(number)
            if captured is None:
                captured = _Captured()
                captured.gone.set_after(graph)
                self._captured[number] = captured
            return captured


# ------------------------------------------------------------------------------------------- engine


class _OfThread(threading.local):
    """The workspaces of a thread's own stream."""

    def __init__(self) -> None:
        self.workspaces: dict[tuple[int, int, int], Any] = {}


class CudaEngine:
    """Loads each specialisation once per device and launches it."""

    name = "cuda"

    def __init__(self) -> None:
        self._cupy = import_cupy()
        self._lock = threading.Lock()
        self._takes_addresses = takes_addresses(self._cupy)
        self._kernels: dict[tuple[KernelSpec, str, int, bool], Any] = {}
        self._turns: dict[tuple[KernelSpec, str, int, bool], threading.Lock] = {}
        self._workspaces: dict[tuple[int, int, int], Any] = {}
        self._of_externals: dict[tuple[int, int, int], Any] = {}
        self._of_thread = _OfThread()
        self._graphs = GraphMemory()

    def kernel(self, spec: KernelSpec, device: int) -> Any:  # noqa: ANN401  CuPy has no types
        """Return the ``cupy.RawKernel`` of a specialisation, loaded on a device.

        Kernels are compiled at once on several threads, each kernel on one of them.

        Raises KernelCompileError with NVRTC's log, EngineUnavailableError without a driver or
        NVRTC, or where they do not go together.
        """
        key = (spec, load_source(spec.source).digest, device, line_info())
        found = self._kernels.get(key)
        if found is not None:
            return found
        with self._lock:
            turn = self._turns.setdefault(key, threading.Lock())
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

    def compile(self, spec: KernelSpec, device: int) -> None:
        """Compile a specialisation for a device into the cache folder."""
        self._compiled(spec, device)

    def _compiled(self, spec: KernelSpec, device: int) -> Path:
        cuda = self._cupy.cuda
        nvrtc.require_driver(cuda.runtime.driverGetVersion())
        return nvrtc.compiled_for(spec, int(cuda.Device(device).compute_capability))

    def _load(self, spec: KernelSpec, device: int) -> Any:  # noqa: ANN401
        """Load a specialisation on the current device; compile it again if its file is damaged."""
        path = self._compiled(spec, device)
        try:
            return self._opened(path, spec.entry)
        except RuntimeError as error:
            if not any(word in str(error) for word in _DAMAGED):
                raise
        path.unlink(missing_ok=True)
        return self._opened(self._compiled(spec, device), spec.entry)

    def _opened(self, path: Path, entry: str) -> Any:  # noqa: ANN401
        stream = self._cupy.cuda.get_current_stream().ptr
        with relaxed() if is_captured(self._cupy, stream) else nullcontext():
            kernel = self._cupy.RawModule(path=str(path)).get_function(entry)
            kernel.kernel  # noqa: B018  loads it now, not at its first launch
        return kernel

    def is_captured(self, device: int) -> bool:
        """Return whether CuPy's current stream of a device is being captured into a graph."""
        return is_captured(self._cupy, self._cupy.cuda.get_current_stream(device).ptr)

    def multiprocessors(self, device: int) -> int:
        """Return how many multiprocessors a device has."""
        return int(self._cupy.cuda.runtime.deviceGetAttribute(_MULTIPROCESSORS, device))

    def prepare(
        self, launch: Launch, device: int, tensors: Sequence[Tensor] = ()
    ) -> Callable[..., None]:
        """Compile what the launch needs on a device; the result takes the addresses of the arrays.

        The result launches on CuPy's current stream of that device and does not synchronise, unless
        ``CUDAKERN_DEBUG=1`` was set when it was prepared.
        """
        del tensors  # compute-sanitizer knows allocations by itself
        kernel = self.kernel(launch.kernel, device)
        runtime = self._cupy.cuda.runtime
        switch = self._cupy.cuda.Device
        grid, block, shared_bytes = launch.grid, launch.block, launch.shared_bytes
        if launch.most_resident:
            grid = launch.grid_on(self.multiprocessors(device))
        count, tail = launch.pointers, launch.arguments.data
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
                kernel(grid, block, buffer[1], shared_mem=shared_bytes)
            else:
                with switch(device):
                    kernel(grid, block, buffer[1], shared_mem=shared_bytes)
            buffers.append(buffer)
            if debug:
                self._report(launch, grid, device)

        return call

    def workspace(self, device: int, nbytes: int) -> int:
        """Return the address of memory for a launch that is to follow on CuPy's current stream.

        One for each stream, since its launches follow each other; it goes with the stream, or stays
        if that is another library's. The launches that a stream has in a graph share another, which
        goes with the graph: that may run on any stream, beside eager calls, but not twice at the
        same time.
        """
        cuda = self._cupy.cuda
        if cuda.runtime.getDevice() != device:
            with cuda.Device(device):
                return self.workspace(device, nbytes)
        stream = cuda.get_current_stream()
        if is_captured(self._cupy, stream.ptr):
            memory = self._graphs.workspace(stream.ptr, nbytes, lambda: self._zeros_beside(nbytes))
            return int(memory.data.ptr)
        # One handle is of the default stream, one of another stream in each thread: to their end.
        handle = stream.ptr
        of_thread = handle == _PER_THREAD_STREAM
        lasts = of_thread or handle in _LEGACY_STREAMS
        kept = self._of_thread.workspaces if of_thread else self._workspaces
        # Any other handle may be that of a later stream when this one's last launch still runs;
        # while this object lives, its identity is that of no other.
        key = (device, 0 if lasts else id(stream), nbytes)
        memory = kept.get(key)
        if memory is None:
            external = not lasts and stream.device_id < 0
            made = self._of_external(handle, device, nbytes) if external else self._zeros(nbytes)
            memory = kept.setdefault(key, made)
            if not lasts:
                weakref.finalize(stream, kept.pop, key, None).atexit = False
        return int(memory.data.ptr)

    def _of_external(self, handle: int, device: int, nbytes: int) -> Any:  # noqa: ANN401
        """Return the workspace of a stream that another library has made.

        Each ``with Stream.from_external(x)`` makes an object, and none tells when the stream ends.
        So what is kept goes by the stream's number, which unlike a handle is given once, and is
        never freed, as launches may still run. When that is too much, an object has its own.
        """
        key = (device, stream_number(handle), nbytes)
        memory = self._of_externals.get(key)
        if memory is None:
            memory = self._zeros(nbytes)
            if len(self._of_externals) < _MOST_KEPT:
                memory = self._of_externals.setdefault(key, memory)
        return memory

    def keep(self, device: int, memory: object) -> None:
        """Keep memory as long as the graph that CuPy's current stream is being captured into."""
        stream = self._cupy.cuda.get_current_stream(device).ptr
        if is_captured(self._cupy, stream):
            self._graphs.keep(stream, memory)

    def _zeros_beside(self, nbytes: int) -> Any:  # noqa: ANN401
        """Return zeros that are there at once: no graph need fill them each time."""
        with self._cupy.cuda.Stream(non_blocking=True) as beside:
            memory = self._zeros(nbytes)
        beside.synchronize()
        return memory

    def _zeros(self, nbytes: int) -> Any:  # noqa: ANN401
        return self._cupy.zeros(nbytes // 8, np.uint64)

    def _report(self, launch: Launch, grid: Grid, device: int) -> None:
        """Wait for a launch and name it on standard error (``CUDAKERN_DEBUG=1``)."""
        with self._cupy.cuda.Device(device):
            self._cupy.cuda.get_current_stream().synchronize()
        line = f"cudakern: {launch.kernel.entry} grid={grid} block={launch.block} done"
        print(line, file=sys.stderr)  # noqa: T201  what the variable asks for


# ------------------------------------------------------------------------ arrays of other libraries


def borrowed(operator: str, name: str, value: Any) -> Any:  # noqa: ANN401  arrays of any library
    """Return a cupy.ndarray with the memory of another library's array on a GPU, without a copy.

    The call runs after what is in the library's current stream now, and what comes there later runs
    after the call. Where that stream is not known, the array is kept until the call has run.
    The array has ``__dlpack__`` or ``__cuda_array_interface__``.

    Raises BindingError if a graph is being captured, and the order with the array's library cannot
    be kept.
    """
    cupy = import_cupy()
    _return()
    torch = sys.modules.get("torch")
    lender: int | None = None
    if torch is not None and isinstance(value, torch.Tensor):
        lender = int(torch.cuda.current_stream(value.device).cuda_stream)
        array = cupy.from_dlpack(_Unordered(value))
    elif hasattr(value, "__dlpack__"):
        device = int(value.__dlpack_device__()[1])
        if is_captured(cupy, cupy.cuda.get_current_stream(device).ptr):
            requirement = "must be of CuPy or PyTorch while a CUDA graph is captured"
            raise BindingError(operator, name, f"{requirement}; got {type(value).__name__}")
        array = cupy.from_dlpack(value)  # CuPy's stream waits for the library's
    else:
        interface = dict(value.__cuda_array_interface__)
        lender = interface.pop("stream", None)
        array = cupy.asarray(_Interface(interface, value))  # which would wait for that stream
    with cupy.cuda.Device(array.data.device_id):
        return _in_order(operator, name, array, lender, cupy)


def _return() -> None:
    """Give back what no call uses any more."""
    while _unreturned:
        with suppress(IndexError), relaxed():  # another thread was faster
            loan = _unreturned.popleft()
            if not loan[0].done:
                _unreturned.appendleft(loan)
                break


def _in_order(operator: str, name: str, array: Any, lender: int | None, cupy: Any) -> Any:  # noqa: ANN401
    """Have CuPy's current stream wait for the lender's now, and that for this when all is done."""
    stream = cupy.cuda.get_current_stream()
    if lender is not None and same_stream(lender, stream.ptr):
        return array
    if lender is not None and is_captured(cupy, lender):
        requirement = (
            "must be of a library whose current stream is CuPy's while that stream is captured "
            "into a CUDA graph; got another stream; enter cupy.cuda.Stream.from_external of it"
        )
        raise BindingError(operator, name, requirement)
    if is_captured(cupy, stream.ptr):
        return array  # its graph runs later, when its caller says
    if lender is not None:
        event = cupy.cuda.Event(disable_timing=True)
        cupy.cuda.runtime.eventRecord(event.ptr, lender)
        stream.wait_event(event)
    memory, loan = array.data.mem, _Loan(array, stream, lender, cupy)
    memory = cupy.cuda.UnownedMemory(memory.ptr, memory.size, loan, memory.device_id)
    pointer = cupy.cuda.MemoryPointer(memory, array.data.ptr - memory.ptr)
    return cupy.ndarray(array.shape, array.dtype, pointer, array.strides)


class _Loan:
    """Owns borrowed memory as long as any array of CuPy is a view of it: to the end of the call."""

    def __init__(self, array: Any, stream: Any, lender: int | None, cupy: Any) -> None:  # noqa: ANN401
        self._kept = array
        self._stream = stream
        self._lender = lender
        self._cupy = cupy

    def __del__(self) -> None:
        if sys.is_finalizing():
            return
        with suppress(RuntimeError), self._cupy.cuda.Device(self._kept.data.device_id):
            event = self._cupy.cuda.Event(disable_timing=True)
            event.record(self._stream)
            if self._lender is None:
                _unreturned.append((event, self._kept))
            else:
                self._cupy.cuda.runtime.streamWaitEvent(self._lender, event.ptr)


class _Unordered:
    """A tensor whose library is not asked to order streams: that is done here, for all of them."""

    def __init__(self, value: Any) -> None:  # noqa: ANN401
        self._value = value

    def __dlpack_device__(self) -> tuple[int, int]:
        device: tuple[int, int] = self._value.__dlpack_device__()
        return device

    def __dlpack__(self, **options: Any) -> Any:  # noqa: ANN401
        return self._value.__dlpack__(**{**options, "stream": -1})


class _Interface:
    """A CUDA array interface without its stream, and the array that it is of."""

    def __init__(self, interface: dict[str, Any], array: object) -> None:
        self.__cuda_array_interface__ = interface
        self._array = array
