"""A stand-in for CuPy on machines without a GPU: its arrays, compiler and launcher, as far as used.

In place of NVRTC's machine code stand the name of a source and the text that it was to be made of,
so that is what a module loads. A launch reads the argument struct where the launcher was told it
lies and executes the PTX that NVRTC makes of that text, in the simulator. So everything of the CUDA
engine but the driver is exercised.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
import types
import weakref
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import cudakern as ck
from cudakern import engines
from cudakern.engines import nvrtc
from cudakern.engines.cache import Kept
from cudakern.engines.cuda import graphs, library
from cudakern.errors import KernelCompileError
from cudakern.simulator.loading import ModuleLoader
from cudakern.simulator.ptx.compile import ptx_of_program
from tests.helpers import foreign_arrays

NEW_STREAM = 9999
PER_THREAD = 2
RELAXED = 2
#: What every GPU here can, and the CUDA version of its driver.
CAPABILITY, DRIVER = "90", 14000
#: By number, for each: how many multiprocessors it has.
ATTRIBUTES = {16: (5, 2)}
COMPILE, FILE, FOUND = nvrtc.compile_program, nvrtc.program_file, nvrtc.found
#: Handles of graphs are this and the number of their capture.
GRAPH = 5000
#: Characters of the dtypes that CuPy takes as they are; one of an 8-bit float is an L, too.
BUILT_IN = "?bhilqBHILQefdFD"
#: Since this NumPy, CuPy has kernels for bfloat16.
BFLOAT16 = np.lib.NumpyVersion(np.__version__) >= "2.1.2"


def has_kernels(dtype):
    """Return whether CuPy has kernels for elements of a dtype."""
    return dtype.isbuiltin == 1 or (dtype.name == "bfloat16" and BFLOAT16)


def require_kernels(*dtypes):
    """Refuse a dtype as CuPy does when it writes a kernel."""
    for dtype in dtypes:
        if not has_kernels(dtype):
            message = f"Unsupported dtype {dtype}"
            raise ValueError(message)


def require_new(dtype):
    """Refuse a dtype of new memory as CuPy does, which lets one of the 8-bit floats pass."""
    if dtype.char not in BUILT_IN:
        require_kernels(dtype)


class Pointer:
    def __init__(self, p=0):
        self.address = p


class UnownedMemory:
    record = None  # of what is asked of its device

    def __init__(self, ptr, size, owner, device_id):
        self.ptr, self.size, self.owner, self.device_id = ptr, size, owner, device_id


class MemoryPointer:
    def __init__(self, mem, offset):
        assert mem.ptr != 0 or offset == 0
        self.mem, self.ptr, self.device_id = mem, mem.ptr + offset, mem.device_id


def pointer_to(values, device_id, record):
    """Return a pointer to the memory of an array of NumPy."""
    address = values.__array_interface__["data"][0]
    memory = UnownedMemory(address, values.nbytes, values, device_id)
    memory.record = record
    return MemoryPointer(memory, 0)


class Record:
    """What was asked of a device: for a stand-in, or for nobody."""

    def __init__(self):
        self.live = self.peak = 0  # bytes that are allocated, and were at most
        self.clear()

    def clear(self):
        self.launches, self.allocations, self.memsets, self.synchronisations = [], [], [], []
        self.copies = []  # bytes that came from the host
        self.waits = []  # for a stream, and how many launches there had been
        self.order = []  # of launches and events on streams: what, its stream, the event's number


class Array:
    """What cudakern reads of a cupy.ndarray, and does with one; what that costs is recorded."""

    def __init__(self, values, device_id=0, record=None):
        self.values = np.asarray(values)
        self.record = record or Record()
        self.data = pointer_to(self.values, device_id, self.record)
        for name in ("dtype", "shape", "strides", "ndim", "size", "nbytes"):
            setattr(self, name, getattr(self.values, name))

    def get(self):
        self.record.synchronisations.append(self.nbytes)
        return self.values.copy()

    def __int__(self):
        return int(self.get())

    def fill(self, value):
        self.record.memsets.append(self.nbytes)
        zeroes = self.values.flags.c_contiguous and value == 0
        if not zeroes:
            require_kernels(self.dtype)
        self._use(any_alignment=zeroes)
        self.values.fill(0 if zeroes else value)  # a memset: -0.0 becomes +0.0

    def astype(self, dtype):
        require_kernels(self.dtype, np.dtype(dtype))
        self._use()
        return self._new(self.values.astype(dtype))

    def copy(self, order="C"):
        require_kernels(self.dtype)
        self._use()
        return self._new(self.values.copy(order))

    @property
    def T(self):  # noqa: N802  NumPy's name
        return self._view(self.values.T)

    def __getitem__(self, key):
        return self._view(self.values[key])

    def __setitem__(self, key, source):
        self[key]._use()  # noqa: SLF001
        source._use()  # noqa: SLF001
        assert self.dtype == source.dtype, "a conversion in a kernel of CuPy"
        require_kernels(self.dtype)
        self.values[key] = source.values

    def view(self, dtype):
        return self._view(self.values.view(dtype))

    def _use(self, *, any_alignment=False):
        """Raise where a kernel of CuPy would fail: it moves elements on their own alignment."""
        device = self.data.device_id
        assert getattr(self.record, "current", device) == device, "another device is current"
        if any_alignment or not self.size:
            return
        steps = [s for n, s in zip(self.shape, self.strides, strict=True) if n > 1]
        if any(k % self.dtype.itemsize for k in (self.data.ptr, *steps)):
            raise CUDARuntimeError("cudaErrorMisalignedAddress: misaligned address")

    def _view(self, values):
        view = Array(values, self.data.device_id, self.record)
        view.data.mem = self.data.mem
        return view

    def _new(self, values):
        return allocated(self.record, values, self.data.device_id)


def allocated(record, values, device_id):
    """Return an array of new memory, which counts as long as anything is a view of it."""

    def free():
        record.live -= values.nbytes

    array = Array(values, device_id, record)
    record.allocations.append(values.nbytes)
    record.live += values.nbytes
    record.peak = max(record.peak, record.live)
    weakref.finalize(array.data.mem, free).atexit = False
    return array


class _Arrays(type):
    def __instancecheck__(cls, value):
        return isinstance(value, Array)


class ndarray(metaclass=_Arrays):  # noqa: N801  CuPy's name
    """An array on memory that is there."""

    def __new__(cls, shape, dtype, memptr, strides=None):
        dtype = np.dtype(dtype)
        shape = shape if isinstance(shape, tuple) else (shape,)
        if strides is None and 0 in shape:
            strides = (0,) * len(shape)
        interface = {
            "data": (memptr.ptr, False),
            "shape": shape,
            "strides": strides,
            "typestr": f"V{dtype.itemsize}",
            "version": 3,
        }
        exporter = types.SimpleNamespace(__array_interface__=interface, kept=memptr)
        values = np.asarray(exporter)
        array = Array(values.view(dtype), memptr.device_id, memptr.mem.record)
        array.data = memptr
        return array


def as_strided(x, shape=None, strides=None):
    return ndarray(shape, x.dtype, x.data, strides)


def copy_bytes(dst, src, size, kind, stream):
    del kind, stream
    ctypes.memmove(dst, src, size)


class CUDARuntimeError(RuntimeError):
    pass


class BaseStream:
    """A stream, which is the state's while it is entered."""

    state = wait = None

    def __init__(self, ptr, device_id):
        self.ptr, self.device_id = ptr, device_id

    def __enter__(self):
        assert self.device_id in {-1, self.state.current}, "of another device"
        self.previous, self.state.stream = self.state.stream, self
        return self

    def __exit__(self, *_):
        self.state.stream = self.previous

    def __cuda_stream__(self):
        return 0, self.ptr

    def synchronize(self):
        self.state.waits.append((self.ptr, len(self.state.launches)))

    def wait_event(self, event):
        self.wait(self.ptr, event.ptr)


def class_of_streams(state, unsafe, wait):
    """Return the class of streams, of which the default one is current."""
    base = type("_BaseStream", (BaseStream,), {"state": state, "wait": staticmethod(wait)})

    class Stream(base):
        def __init__(self, null=False, non_blocking=False, ptds=False):  # noqa: ARG002, FBT002  CuPy's
            if null or ptds:
                super().__init__(0 if null else PER_THREAD, -1)
            else:
                unsafe()
                super().__init__(NEW_STREAM, state.current)

        @classmethod
        def from_external(cls, obj):
            stream = cls(null=True)
            _, stream.ptr = obj.__cuda_stream__()
            return stream

    def stream_of(pointer):
        """Return a stream of CuPy's own with a handle."""
        stream = Stream(null=True)
        stream.ptr, stream.device_id = pointer, state.current if pointer > PER_THREAD else -1
        return stream

    Stream.null, Stream.ptds = Stream(null=True), Stream(ptds=True)
    state.stream, state.stream_of = Stream.null, stream_of
    return Stream


def make(devices=2):  # noqa: C901  one namespace, many small parts
    """Return a module-like object; its ``state`` records what was done.

    Its current stream, ``state.stream``, and the handles of streams that capture are what a test
    sets them to.
    """
    loader = ModuleLoader()
    state = Record()
    state.current, state.loaded, state.capturing, state.capture_mode = 0, [], set(), 0
    state.unfinished = False  # whether events are still to come

    class Device:
        def __init__(self, device=None):
            self.id = state.current if device is None else device
            self.compute_capability = CAPABILITY

        def __enter__(self):
            self.previous, state.current = state.current, self.id
            return self

        def __exit__(self, *_):
            state.current = self.previous

    def unsafe():
        """Fail as CUDA does where a thread may not allocate while it captures."""
        assert not state.capturing or state.capture_mode == RELAXED, "unsafe during a capture"

    class RawModule:
        def __init__(self, *, path):
            self.path = path

        def get_function(self, name):
            unsafe()
            state.loaded.append((state.current, name))
            source, _, text = Path(self.path).read_text(encoding="utf-8").partition("\n")
            return RawKernel(source, text, name, state.current)

    class RawKernel:
        def __init__(self, source, text, name, device):
            self.source, self.text, self.name, self.device = source, text, name, device
            self.kernel = None  # read where CuPy loads it

        def __call__(self, grid, block, args, *, shared_mem=0):
            assert state.current == self.device, "launched while another device is current"
            (pointer,) = args
            state.launches.append((state.current, self.name, grid, block, shared_mem))
            state.order.append(("launch", state.stream.ptr))
            module = loader.load(ptx_of_program(self.source, self.text, self.name))
            kernel = module.kernel(self.name, self.source)
            if isinstance(pointer, np.ndarray):
                assert pointer.size == 1, "only arrays of one element are passed by value"
                parameters = pointer.tobytes()
            else:
                parameters = ctypes.string_at(pointer.address, kernel.parameter_sizes[0])
            kernel.launcher(grid, block, shared_mem)(parameters)

    def alloc(size):
        unsafe()
        return allocated(state, np.full(size, 0x5A, np.uint8), state.current).data

    def empty(shape, dtype):
        dtype = np.dtype(dtype)
        require_new(dtype)
        return ndarray(shape, dtype, alloc(int(np.prod(shape)) * dtype.itemsize))

    def zeros(shape, dtype):
        assert state.stream.ptr not in state.capturing, "filled by each replay of the graph"
        array = empty(shape, dtype)
        array.fill(0)
        return array

    def is_capturing(stream):
        assert stream not in {0, 1}, "asking about the legacy stream may end a capture"
        return stream in state.capturing

    events = itertools.count(1)

    class Event:
        def __init__(self, *, disable_timing):
            assert disable_timing
            self.ptr = next(events)

        @property
        def done(self):
            unsafe()
            return not state.unfinished

        def record(self, stream):
            event_record(self.ptr, stream.ptr)

    def event_record(event, stream):
        state.order.append(("record", stream, event))

    def stream_wait_event(stream, event):
        assert stream not in state.capturing, "uncaptured work in a graph"
        state.order.append(("wait", stream, event))

    stream_class = class_of_streams(state, unsafe, stream_wait_event)

    def from_dlpack(array):
        """Return the array of a tensor, after what its library has on its stream."""
        device = array.__dlpack_device__()[1]
        values = array.__dlpack__(stream=state.stream.ptr or 1, max_version=(1, 0), copy=None)
        return Array(foreign_arrays.host_array(values), device, state)

    def asarray(a):
        if isinstance(a, np.ndarray):
            state.copies.append(a.nbytes)
            return allocated(state, a.copy(), state.current)
        interface = a.__cuda_array_interface__
        assert interface.get("stream") is None, "CuPy waits for it on the host"
        shape, kind = interface["shape"], np.dtype(interface["typestr"])
        size, device = int(np.prod(shape)) * kind.itemsize, interface.get("device", 0)
        memory = UnownedMemory(interface["data"][0], size, a, device)
        return ndarray(shape, kind, MemoryPointer(memory, 0), interface.get("strides"))

    def current_stream(device_id=-1):
        del device_id  # a stream of the stand-in is that of all devices
        return state.stream

    return types.SimpleNamespace(
        ndarray=ndarray,
        RawKernel=RawKernel,
        RawModule=RawModule,
        asarray=asarray,
        empty=empty,
        from_dlpack=from_dlpack,
        zeros=zeros,
        state=state,
        lib=types.SimpleNamespace(stride_tricks=types.SimpleNamespace(as_strided=as_strided)),
        cuda=types.SimpleNamespace(
            Device=Device,
            Event=Event,
            MemoryPointer=MemoryPointer,
            Stream=stream_class,
            UnownedMemory=UnownedMemory,
            alloc=alloc,
            function=types.SimpleNamespace(CPointer=Pointer),
            get_current_stream=current_stream,
            runtime=types.SimpleNamespace(
                CUDARuntimeError=CUDARuntimeError,
                deviceGetAttribute=lambda attrib, device: ATTRIBUTES[attrib][device],
                driverGetVersion=lambda: DRIVER,
                eventRecord=event_record,
                getDevice=lambda: state.current,
                getDeviceCount=lambda: devices,
                memcpyAsync=copy_bytes,
                memcpyDeviceToHost=2,
                streamIsCapturing=is_capturing,
                streamWaitEvent=stream_wait_event,
            ),
        ),
    )


def _keep_machine_code(monkeypatch, folder):
    """Keep what stands for machine code in a folder of its own; PTX is real."""

    def found(name):
        if name.endswith(".ptx"):
            return FOUND(name)
        return Kept(folder / name, b"") if (folder / name).exists() else None

    def program_file(stem, program, more="", finish=None, compiling=None):
        if program.is_ptx:
            return FILE(stem, program, more, finish, compiling)
        name = nvrtc.name_of(stem, program, more)
        if not found(name):
            (folder / name).write_bytes(nvrtc.compile_program(program)[0])
        return found(name)

    monkeypatch.setattr(nvrtc, "found", found)
    monkeypatch.setattr(nvrtc, "program_file", program_file)


def install(monkeypatch, folder=None, *, by_address=True):
    """Put a stand-in with two devices in CuPy's place; return it.

    With a folder, one stands in NVRTC's place, too, and what it is given is noted.
    """
    fake = make(devices=2)
    fake.state.programs = []

    def compile_program(program):
        if program.is_ptx:  # what a launch here executes
            return COMPILE(program)
        fake.state.programs.append(program)
        if "#error" in program.text:
            log = "kernels/gather.cu(1): error: #error directive"
            raise KernelCompileError(program.name, program.options, log)
        return f"{program.name}\n{program.text}".encode(), ""

    def exchange(mode):
        before, fake.state.capture_mode = fake.state.capture_mode, mode
        return before

    monkeypatch.setitem(sys.modules, "cupy", fake)

    def graph_of(stream):
        assert stream in fake.state.capturing
        return fake.state.captures, GRAPH + fake.state.captures

    def call_after(graph, function, argument):
        fake.state.destructors[graph] = function, argument

    def stream_number(stream):
        """Return the number of a stream: a new one once a test has taken it from its handle."""
        return fake.state.numbers.setdefault(stream, next(numbers))

    numbers, fake.state.numbers = itertools.count(1), {}
    fake.state.captures, fake.state.destructors = 1, {}
    monkeypatch.setattr(graphs, "stream_number", stream_number)
    monkeypatch.setattr(graphs, "exchange_capture_mode", exchange)
    monkeypatch.setattr(graphs, "graph_of", graph_of)
    monkeypatch.setattr(graphs, "call_after", call_after)
    monkeypatch.setattr(library, "takes_addresses", lambda _cupy: by_address)
    if folder is not None:
        monkeypatch.setattr(nvrtc, "capabilities", lambda: (80, 90))
        monkeypatch.setattr(nvrtc, "compile_program", compile_program)
        _keep_machine_code(monkeypatch, folder)
    return fake


def refuse_reads(monkeypatch):
    """Have whatever reads an array fail, as it would wait for the GPU."""

    def read(*_):
        raise AssertionError("it waits for the GPU")

    for name in ("get", "item", "tolist", "__getitem__", "__int__", "__array__", "__repr__"):
        monkeypatch.setattr(Array, name, read, raising=False)


def _forget():
    """Empty all tables; a process has one engine."""
    ck.clear_caches()
    engines._cuda.cache_clear()  # noqa: SLF001


@contextmanager
def installed(folder, *, by_address=True):
    """Put a stand-in in CuPy's place for a while, with an engine and tables of its own."""
    with pytest.MonkeyPatch.context() as patch:
        fake = install(patch, folder, by_address=by_address)
        _forget()
        yield fake
        _forget()


__all__ = ["Array", "install", "installed", "make", "refuse_reads"]
