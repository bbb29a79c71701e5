"""CUDA graphs: which stream is being captured into one, and memory that one uses when it runs."""

from __future__ import annotations

import ctypes
import threading
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from cudakern.engines.base import T

LEGACY_STREAMS = (0, 1)  # the default one, and cudaStreamLegacy, which is the same
RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED
NO_DESTRUCTOR_SYNC = 1  # CU_USER_OBJECT_NO_DESTRUCTOR_SYNC
MOVE = 1  # CU_GRAPH_USER_OBJECT_MOVE
_SEMAPHORE_BYTES = 64  # sem_t has 32 in glibc and musl


def _ask(function: str, *arguments: object) -> list[Any]:
    """Call a function of the driver; return its results, or raise RuntimeError."""
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


def is_captured(cupy: ModuleType, stream: int) -> bool:
    """Return whether a stream is being captured into a graph."""
    # The legacy default stream cannot be captured, and asking might end another's capture.
    return stream not in LEGACY_STREAMS and bool(cupy.cuda.runtime.streamIsCapturing(stream))


def graph_of(stream: int) -> tuple[int, int]:
    """Return the number of the capture that a stream is in, and the handle of its graph."""
    _, number, graph, *_ = _ask("cuStreamGetCaptureInfo", stream)
    return int(number), int(graph)


def stream_number(stream: int) -> int:
    """Return the number of a stream. Unlike its handle, no later stream gets it."""
    (number,) = _ask("cuStreamGetId", stream)
    return int(number)


def call_after(graph: int, function: int, argument: int) -> None:
    """Have a C function called with an address once a graph, and all that runs it, is gone."""
    (user_object,) = _ask("cuUserObjectCreate", argument, function, 1, NO_DESTRUCTOR_SYNC)
    _ask("cuGraphRetainUserObject", graph, user_object, 1, MOVE)


@contextmanager
def relax_capture() -> Iterator[None]:
    """Let this thread allocate and load, uncaptured, while a stream is captured in any mode."""
    before = exchange_capture_mode(RELAXED)
    try:
        yield
    finally:
        exchange_capture_mode(before)


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None)
    libc.calloc.restype = ctypes.c_void_p
    return libc


class _Event:
    """A semaphore, which CUDA sets from a thread of its own that must not wait for Python.

    A graph may outlive the engine and Python. So the memory stays until CUDA has set it.
    """

    def __init__(self, graph: int) -> None:
        """Have it set once a graph is gone."""
        address = _libc().calloc(1, _SEMAPHORE_BYTES)
        self._semaphore = ctypes.c_void_p(address)
        _libc().sem_init(self._semaphore, 0, 0)
        function = ctypes.cast(_libc().sem_post, ctypes.c_void_p).value
        call_after(graph, int(function or 0), address)

    def is_set(self) -> bool:
        """Return whether CUDA has set it; then `free` may follow."""
        value = ctypes.c_int()
        _libc().sem_getvalue(self._semaphore, ctypes.byref(value))
        return value.value > 0

    def free(self) -> None:
        _libc().free(self._semaphore)


class _Captured(NamedTuple):
    """Memory of the calls that were captured into a graph."""

    gone: _Event
    memory: list[object]
    workspaces: dict[tuple[int, int], Any]


class GraphMemory:
    """Memory that graphs use whenever they run. It is freed after they are gone."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._captured: dict[int, _Captured] = {}

    def __len__(self) -> int:
        return len(self._captured)

    def keep(self, stream: int, make: Callable[[], T]) -> T:
        """Return what a call makes, kept for the graph that a stream is captured into."""
        with relax_capture():
            memory = make()
            self._of(stream).memory.append(memory)
        return memory

    def workspace(self, stream: int, nbytes: int, make: Callable[[], Any]) -> Any:  # noqa: ANN401
        """Return the workspace that all launches of this stream in a graph share."""
        with relax_capture():
            workspaces = self._of(stream).workspaces
            if (stream, nbytes) not in workspaces:
                workspaces[stream, nbytes] = make()
            return workspaces[stream, nbytes]

    def _of(self, stream: int) -> _Captured:
        number, graph = graph_of(stream)
        with self._lock:
            for other in [k for k, captured in self._captured.items() if captured.gone.is_set()]:
                self._captured.pop(other).gone.free()
            if number not in self._captured:
                self._captured[number] = _Captured(_Event(graph), [], {})
            return self._captured[number]
