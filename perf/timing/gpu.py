"""The GPU as the timing sees it: streams, graphs, events, memory, by CuPy in this file alone."""

from __future__ import annotations

import gc
import sys
import time
import weakref
from collections.abc import Callable
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from perf.cases.base import L2_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

    from perf.cases.base import Array

Call = Callable[[], object]
#: Writes of so many times the size of L2 replace all that was in it.
FLUSH_FACTOR = 3
#: The byte that outputs are filled with before a call that is checked.
POISON = 0x5A


class Lane:
    """A contender's place on the GPU: a stream, and memory that outlives the graphs captured there.

    What a call allocates while it is captured goes back to the pool at once, but the graph still
    uses it; so no other contender gets it. Whoever holds a graph holds its lane, so `Gpu` may free
    the pool once the lane is gone.
    """

    def __init__(self, cupy: ModuleType, stream: Any) -> None:  # noqa: ANN401  CuPy has no types
        self._cupy = cupy
        self.pool = cupy.cuda.MemoryPool()
        self.stream = stream

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make the stream and the memory current."""
        with self._cupy.cuda.using_allocator(self.pool.malloc), self.stream:
            yield


class Gpu:
    """The current device, and a clock of the host in nanoseconds."""

    def __init__(self, cupy: ModuleType, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self.cupy = cupy
        self.clock = clock
        self.out_of_memory: type[Exception] = cupy.cuda.memory.OutOfMemoryError
        runtime = cupy.cuda.runtime
        properties = runtime.getDeviceProperties(runtime.getDevice())
        self.l2_bytes = int(properties["l2CacheSize"]) or L2_BYTES  # some drivers give none
        self.multiprocessors = int(properties["multiProcessorCount"])
        self._flushed = cupy.empty(FLUSH_FACTOR * self.l2_bytes, np.uint8)
        self._streams: dict[str, Any] = {}
        self._retired: list[Any] = []
        self._pools: list[tuple[weakref.ref[Lane], Any]] = []
        self._begin, self._end = cupy.cuda.Event(), cupy.cuda.Event()
        cupy.cuda.Device().synchronize()

    def lane(self, name: str) -> Lane:
        """Return the place of a contender, with memory of its own.

        Its stream stays the same, since engines keep memory for each. It is one that waits for the
        default stream: a call that does not keep to the current one then fails to be captured.
        """
        self._free_pools()
        if name not in self._streams:
            self._streams[name] = self.cupy.cuda.Stream()
        lane = Lane(self.cupy, self._streams[name])
        self._pools.append((weakref.ref(lane), lane.pool))
        return lane

    def replace(self, name: str) -> Lane:
        """Return a new place for a contender whose stream a failed capture has left invalid."""
        self._retired.append(self._streams.pop(name))  # others may hold its handle
        return self.lane(name)

    def free_bytes(self) -> int:
        """Return how much memory is free."""
        free, _ = self.cupy.cuda.Device().mem_info
        return int(free)

    def synchronize(self) -> None:
        """Wait for everything that was enqueued."""
        self.cupy.cuda.Device().synchronize()

    def release(self) -> None:
        """Free memory that is unused; that of graphs, if their lanes are gone."""
        gc.collect()
        self.synchronize()
        self._free_pools()
        self.cupy.get_default_memory_pool().free_all_blocks()
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _free_pools(self) -> None:
        """Free the memory of lanes that are gone, which pools of CuPy 14.1 or later keep.

        A pool with memory in use, such as an engine's, is tried again next time.
        """
        for lane, pool in self._pools:
            if lane() is None:
                pool.free_all_blocks()
        self._pools = [pair for pair in self._pools if pair[0]() or pair[1].total_bytes()]

    def flush(self, lane: Lane) -> None:
        """Write more than L2 holds."""
        self._fill(self._flushed, 0, lane)

    def poison(self, arrays: Sequence[Array], lane: Lane) -> None:
        """Fill arrays with bytes that no result has."""
        for array in arrays:
            self._fill(array if array.base is None else array.base, POISON, lane)

    def _fill(self, array: Array, byte: int, lane: Lane) -> None:
        memset = self.cupy.cuda.runtime.memsetAsync
        memset(array.data.ptr, byte, array.nbytes, lane.stream.ptr)

    def make_replay(self, lane: Lane, calls: Sequence[Call]) -> Call:
        """Return what launches a graph of calls, which must have run on this lane before.

        Whatever a call or CUDA raises is passed on; the lane is then to be replaced.
        """
        with lane.current():
            lane.stream.begin_capture()
            try:
                for call in calls:
                    call()
            except BaseException:
                with suppress(Exception):  # of the two errors, the call's says more
                    lane.stream.end_capture()
                raise
            graph = lane.stream.end_capture()
        graph.upload(lane.stream)
        lane.stream.synchronize()
        return partial(graph.launch, lane.stream)

    def elapsed_us(self, lane: Lane, *work: Call) -> float:
        """Return what the last piece of work takes on the GPU; the others keep it busy meanwhile.

        The host is then ahead of the GPU, and its time to enqueue the work is not counted.
        """
        with lane.current():
            for piece in work[:-1]:
                piece()
            self._begin.record(lane.stream)
            work[-1]()
            self._end.record(lane.stream)
        self._end.synchronize()
        milliseconds = self.cupy.cuda.get_elapsed_time(self._begin, self._end)
        return float(milliseconds) * 1000

    def wall_us(self, lane: Lane, call: Call) -> float:
        """Return what a call takes on the host until the GPU is done with it, on any stream."""
        with lane.current():
            self.synchronize()
            begin = self.clock()
            call()
            self.synchronize()
            end = self.clock()
        return (end - begin) / 1000

    def waits(self, lane: Lane, call: Call, turns: int) -> bool:
        """Return whether a call waits for what is on the stream before it."""
        with lane.current():
            for _ in range(turns):
                self.flush(lane)
            self._end.record(lane.stream)
            call()
            waited = bool(self._end.done)
        lane.stream.synchronize()
        return waited
