"""A stand-in for CuPy whose GPU keeps time, and workloads and peers whose times are known.

The GPU has streams, graphs, events, memory, and an L2. Work is a function that returns how long it
takes and has its effect when it runs: at once on a stream, at each launch if a graph captured it.
Host and GPU share one clock, in nanoseconds.
"""

from __future__ import annotations

import ctypes
import types
import weakref
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from perf.cases.base import Traffic
from perf.peers.base import Prepared

#: What the host takes to enqueue something, and to launch a graph.
ENQUEUE_NS, LAUNCH_NS = 1_000, 10_000
#: Bytes per nanosecond of what memory does by itself.
MEMORY_RATE = 10


OutOfMemoryError = type("OutOfMemoryError", (MemoryError,), {})
CUDARuntimeError = type("CUDARuntimeError", (RuntimeError,), {})


class Array(np.ndarray):
    @property
    def data(self):
        return types.SimpleNamespace(ptr=self.__array_interface__["data"][0])

    @property
    def base(self):
        return None


class Memory:
    """An allocation; when it is gone, its pool has a free block more."""

    def __init__(self, pool, nbytes):
        self.pool, self.nbytes = pool, nbytes

    def __del__(self):
        self.pool.used -= self.nbytes
        self.pool.free += self.nbytes


class MemoryPool:
    """As CuPy's from 14.1 on: the device gets free blocks back on request alone."""

    def __init__(self, cuda):
        self.cuda, self.used, self.free = cuda, 0, 0
        self.graphs = weakref.WeakSet()

    def malloc(self, nbytes):
        if nbytes <= self.free:
            self.free -= nbytes
        elif nbytes <= self.cuda.gpu.capacity:
            self.cuda.gpu.capacity -= nbytes
        else:
            raise OutOfMemoryError("Out of memory allocating")
        self.used += nbytes
        return Memory(self, nbytes)

    def total_bytes(self):
        return self.used + self.free

    def free_all_blocks(self):
        assert not self.graphs, "memory that a graph may use is freed"
        assert all(stream.works is None for stream in self.cuda.streams.values())
        self.cuda.gpu.capacity += self.free
        self.free = 0


class Clock:
    def __init__(self):
        self.now = 0

    def __call__(self):
        return self.now


class Device:
    """A GPU that does one thing after another."""

    def __init__(self, clock, l2_bytes, capacity):
        self.clock, self.l2_bytes, self.capacity = clock, l2_bytes, capacity
        self.end, self.cache = 0, OrderedDict()

    def do(self, work):
        begin = max(self.end, self.clock.now)
        self.end = begin + work()

    def wait(self):
        self.clock.now = max(self.clock.now, self.end)

    def touch(self, key, nbytes):
        """Return whether something lies in L2, where it then does if it fits."""
        hit = key in self.cache
        self.cache[key] = nbytes
        self.cache.move_to_end(key)
        while sum(self.cache.values()) > self.l2_bytes:
            self.cache.popitem(last=False)
        return hit


class Graph:
    def __init__(self, device, works):
        self.device, self.works = device, works

    def upload(self, stream):
        assert stream.works is None

    def launch(self, stream):
        assert stream.works is None
        self.device.clock.now += LAUNCH_NS
        for work in self.works:
            self.device.do(work)


class Event:
    def __init__(self, device):
        self.device, self.time = device, None

    def record(self, stream):
        assert stream.works is None
        self.time = max(self.device.end, self.device.clock.now)

    def synchronize(self):
        self.device.clock.now = max(self.device.clock.now, self.time)

    @property
    def done(self):
        return self.time <= self.device.clock.now


class Stream:
    def __init__(self, cuda, pointer):
        self.cuda, self.ptr, self.works, self.invalid = cuda, pointer, None, False

    def __enter__(self):
        self.cuda.stack.append(self)

    def __exit__(self, *_):
        self.cuda.stack.pop()

    def begin_capture(self):
        assert self.ptr, "the default stream cannot be captured"
        self.works, self.invalid = [], False
        self.pool = self.cuda.pools[-1]

    def end_capture(self):
        works, self.works = self.works, None
        if self.invalid:
            raise CUDARuntimeError("cudaErrorStreamCaptureInvalidated: capture is invalid")
        graph = Graph(self.cuda.gpu, works)
        self.pool.graphs.add(graph)
        return graph

    def enqueue(self, work):
        self.cuda.gpu.clock.now += ENQUEUE_NS
        if self.works is None:
            self.cuda.gpu.do(work)
        else:
            self.works.append(work)

    def synchronize(self):
        if self.works is not None:
            self.invalid = True
            raise CUDARuntimeError("cudaErrorStreamCaptureUnsupported: waits while capturing")
        self.cuda.gpu.wait()


def make(l2_bytes=2**20, capacity=2**26):  # noqa: C901  one namespace, many small parts
    """Return a module-like object; ``gpu`` and ``clock`` are its device and its time."""
    clock = Clock()
    gpu = Device(clock, l2_bytes, capacity)
    cuda = types.SimpleNamespace(gpu=gpu, streams={}, taken=0)

    def new_stream():
        stream = Stream(cuda, len(cuda.streams))
        cuda.streams[stream.ptr] = stream
        return stream

    cuda.stack, cuda.pools = [new_stream()], [MemoryPool(cuda)]

    def empty(shape, dtype):
        array = np.empty(shape, dtype).view(Array)
        array.memory = cuda.pools[-1].malloc(array.nbytes)
        return array

    def memset(pointer, value, nbytes, stream):
        def work():
            if value:  # nobody reads what is written over L2
                ctypes.memset(pointer, value, nbytes)
            if nbytes > l2_bytes:
                gpu.cache.clear()
            return nbytes // MEMORY_RATE

        cuda.streams[stream].enqueue(work)

    def memcpy(target, source, nbytes, kind, stream):
        assert kind == 3

        def work():
            ctypes.memmove(target, source, nbytes)
            return 2 * nbytes // MEMORY_RATE

        cuda.streams[stream].enqueue(work)

    class RawModule:
        def __init__(self, *, code, options, backend):
            assert "ceiling_copy" in code
            assert (backend, options) == ("nvrtc", ("-std=c++17",))

        def get_function(self, name):
            def launch(_grid, _block, arguments):
                arrays = 2 if name == "ceiling_copy" else 1
                nbytes = 16 * int(arguments[-1]) * arrays
                cuda.stack[-1].enqueue(lambda: nbytes // MEMORY_RATE)

            return launch

    @contextmanager
    def using_allocator(allocator):
        cuda.pools.append(allocator.__self__)
        try:
            yield
        finally:
            cuda.pools.pop()

    properties = {
        "name": b"Stand-in 1",
        "major": 9,
        "minor": 0,
        "multiProcessorCount": 4,
        "l2CacheSize": l2_bytes,
        "totalGlobalMem": capacity,
    }
    cuda.__dict__.update(
        Stream=new_stream,
        Event=lambda: Event(gpu),
        MemoryPool=lambda: MemoryPool(cuda),
        using_allocator=using_allocator,
        get_elapsed_time=lambda begin, end: (end.time - begin.time) / 1e6,
        get_current_stream=lambda: cuda.stack[-1],
        memory=types.SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
        Device=lambda: types.SimpleNamespace(
            synchronize=gpu.wait, mem_info=(gpu.capacity, capacity), pci_bus_id="0000:00:00.0"
        ),
        runtime=types.SimpleNamespace(
            CUDARuntimeError=CUDARuntimeError,
            getDevice=lambda: 0,
            getDeviceProperties=lambda _device: properties,
            driverGetVersion=lambda: 13020,
            runtimeGetVersion=lambda: 13010,
            memcpyDeviceToDevice=3,
            memcpyAsync=memcpy,
            memsetAsync=memset,
        ),
    )
    return types.SimpleNamespace(
        cuda=cuda,
        gpu=gpu,
        clock=clock,
        empty=empty,
        arange=lambda n, dtype: np.arange(n, dtype=dtype).view(Array),
        RawModule=RawModule,
        get_default_memory_pool=lambda: cuda.pools[0],
    )


@dataclass
class Increment:
    """Adds 1; takes so many microseconds with its data in L2, and so many without."""

    cupy: object
    nbytes: int = 2**12
    cold_us: float = 8.0
    warm_us: float = 3.0
    host_us: float = 0.0
    title: str = "increment"
    operator: str = "increment"
    calls_that_work: int = 10**9
    begun: list = field(default_factory=list)

    @property
    def size(self):
        return self.nbytes

    def traffic(self):
        return Traffic(self.nbytes, self.nbytes)

    def inputs(self, xp, seed):
        x = xp.empty(self.nbytes, np.uint8)
        x[...] = seed + 1
        return (x,)

    def outputs(self, xp):
        return (xp.empty(self.nbytes, np.uint8),)

    def call(self, inputs, outputs):
        (x,), (out,) = inputs, outputs
        gpu = self.cupy.gpu

        def work():
            self.begun.append("ours")
            if len(self.begun) <= self.calls_that_work:
                out[...] = x + 1
            hit = gpu.touch(id(out), 2 * self.nbytes)
            return round(1000 * (self.warm_us if hit else self.cold_us))

        def call():
            self.cupy.clock.now += round(1000 * self.host_us)
            self.cupy.cuda.get_current_stream().enqueue(work)

        return call

    def check(self, xp, inputs, outputs):
        assert xp is self.cupy
        np.testing.assert_array_equal(outputs[0], inputs[0] + 1)


@dataclass
class TimedPeer:
    """A peer that takes so many microseconds a call, in turn; the last one for ever."""

    cupy: object
    name: str = "other"
    times_us: tuple = (5.0,)
    captures: bool = True
    waits: bool = False
    #: What happens at each call, and when it is prepared.
    at_call: object = None
    at_prepare: object = None
    default_stream: bool = False
    note: str = ""
    version: str = "1.0"
    log: list = field(default_factory=list)
    streams: list = field(default_factory=list)

    def ready(self):
        return True

    def prepare(self, workload, inputs):
        assert len(inputs) == len(workload.inputs(self.cupy, 0))
        if self.at_prepare is not None:
            return self.at_prepare()
        cuda = self.cupy.cuda
        stream = cuda.streams[0] if self.default_stream else cuda.get_current_stream()
        self.streams.append(stream)

        def work():
            self.log.append(self.name)
            turn = min(len(self.log), len(self.times_us)) - 1
            return round(1000 * self.times_us[turn])

        def call():
            if self.at_call is not None:
                self.at_call()
            stream.enqueue(work)
            if self.waits:
                stream.synchronize()

        return Prepared(call, self.note, self.captures)
