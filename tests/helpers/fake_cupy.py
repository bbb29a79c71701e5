"""A stand-in for CuPy on machines without a GPU: its arrays, compiler and launcher, as far as used.

In NVRTC's place stands what returns its input, so that is what a module loads. A launch reads the
argument struct where the launcher was told it lies and runs the very text that was compiled, in the
simulator. So everything of the CUDA engine but NVRTC and the driver is exercised.
"""

from __future__ import annotations

import ctypes
import sys
import types
from pathlib import Path

import numpy as np

from cudakern.engines import cuda, nvrtc
from cudakern.engines.simulator.engine import SimulatorEngine
from cudakern.errors import KernelCompileError

NEW_STREAM = 9999
RELAXED = 2
#: What every GPU here can, and the CUDA version of its driver.
CAPABILITY, DRIVER = "90", 14000


class Pointer:
    def __init__(self, p=0):
        self.address = p


class Memory:
    def __init__(self, array, device_id):
        self.ptr = array.__array_interface__["data"][0]
        self.device_id = device_id
        self.mem = types.SimpleNamespace(ptr=self.ptr)


class Record:
    """What was asked of a device: for a stand-in, or for nobody."""

    def __init__(self):
        self.clear()

    def clear(self):
        self.launches, self.allocations, self.memsets, self.synchronisations = [], [], [], []
        self.waits = []  # for a stream, and how many launches there had been


class Array:
    """What cudakern reads of a cupy.ndarray, and does with one; what that costs is recorded."""

    def __init__(self, values, device_id=0, record=None):
        self.values = np.asarray(values)
        self.record = record or Record()
        self.data = Memory(self.values, device_id)
        self.dtype, self.shape, self.strides = (
            self.values.dtype,
            self.values.shape,
            self.values.strides,
        )
        self.ndim, self.size, self.nbytes = self.values.ndim, self.values.size, self.values.nbytes

    def get(self):
        self.record.synchronisations.append(self.nbytes)
        return self.values.copy()

    def __int__(self):
        return int(self.get())

    def fill(self, value):
        self.record.memsets.append(self.nbytes)
        zeroes = self.values.flags.c_contiguous and value == 0
        self._use(any_alignment=zeroes)
        self.values.fill(0 if zeroes else value)  # a memset: -0.0 becomes +0.0

    def astype(self, dtype):
        self._use()
        return self._new(self.values.astype(dtype))

    def copy(self, order="C"):
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
        return Array(values, self.data.device_id, self.record)

    def _new(self, values):
        self.record.allocations.append(values.nbytes)
        return self._view(values)


class CUDARuntimeError(RuntimeError):
    pass


def make(devices=2):  # noqa: C901  one namespace, many small parts
    """Return a module-like object; its ``state`` records what was done.

    Its current stream, ``state.stream``, and the handles of streams that capture are what a test
    sets them to.
    """
    simulator = SimulatorEngine()
    state = Record()
    state.current, state.loaded, state.capturing, state.capture_mode = 0, [], set(), 0

    class Device:
        def __init__(self, device=None):
            self.ordinal = device
            self.compute_capability = CAPABILITY

        def __enter__(self):
            self.previous, state.current = state.current, self.ordinal

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
            return RawKernel(Path(self.path).read_text(encoding="utf-8"), name, state.current)

    class RawKernel:
        def __init__(self, text, name, device):
            self.text, self.name, self.device, self.kernel = text, name, device, None

        def __call__(self, grid, block, args, *, shared_mem=0):
            assert state.current == self.device, "launched while another device is current"
            (pointer,) = args
            state.launches.append((state.current, self.name, grid, block, shared_mem))
            kernel = simulator.compile_text("gather.cu", self.text, self.name)
            if isinstance(pointer, np.ndarray):
                assert pointer.size == 1, "only arrays of one element are passed by value"
                parameters = pointer.tobytes()
            else:
                parameters = ctypes.string_at(pointer.address, kernel.parameter_sizes[0])
            kernel.launcher(grid, block, shared_mem)(parameters)

    def empty(shape, dtype):
        unsafe()
        values = np.full(shape, 0x5A, np.uint8).astype(dtype)
        state.allocations.append(values.nbytes)
        return Array(values, state.current, state)

    def zeros(shape, dtype):
        assert state.stream.ptr not in state.capturing, "filled by each replay of the graph"
        array = empty(shape, dtype)
        array.fill(0)
        return array

    def is_capturing(stream):
        assert stream not in {0, 1}, "asking about the legacy stream may end a capture"
        return stream in state.capturing

    class Stream:
        def __init__(self, null=False, non_blocking=False):  # noqa: ARG002, FBT002  CuPy's
            unsafe()
            self.ptr = 0 if null else NEW_STREAM

        def __enter__(self):
            self.previous, state.stream = state.stream, self
            return self

        def __exit__(self, *_):
            state.stream = self.previous

        def synchronize(self):
            state.waits.append((self.ptr, len(state.launches)))

    def stream_of(pointer):
        """Return the stream of a handle."""
        stream = object.__new__(Stream)
        stream.ptr = pointer
        return stream

    def copy_bytes(dst, src, size, kind, stream):
        del kind, stream
        ctypes.memmove(dst, src, size)

    def current_stream(device_id=-1):
        del device_id  # a stream of the stand-in is that of all devices
        return state.stream

    state.stream, state.stream_of = stream_of(0), stream_of

    def as_strided(x, shape=None, strides=None):
        values = np.lib.stride_tricks.as_strided(x.values, shape, strides)
        return Array(values, x.data.device_id, x.record)

    return types.SimpleNamespace(
        ndarray=Array,
        RawKernel=RawKernel,
        RawModule=RawModule,
        empty=empty,
        zeros=zeros,
        state=state,
        lib=types.SimpleNamespace(stride_tricks=types.SimpleNamespace(as_strided=as_strided)),
        cuda=types.SimpleNamespace(
            Device=Device,
            Stream=Stream,
            function=types.SimpleNamespace(CPointer=Pointer),
            get_current_stream=current_stream,
            runtime=types.SimpleNamespace(
                CUDARuntimeError=CUDARuntimeError,
                driverGetVersion=lambda: DRIVER,
                getDevice=lambda: state.current,
                getDeviceCount=lambda: devices,
                memcpyAsync=copy_bytes,
                memcpyDeviceToHost=2,
                streamIsCapturing=is_capturing,
            ),
        ),
    )


def install(monkeypatch, folder=None, *, by_address=True):
    """Put a stand-in with two devices in CuPy's place; return it.

    With a folder, one stands in NVRTC's place, too, and what it is given is noted.
    """
    fake = make(devices=2)
    fake.state.programs = []

    def compile_program(program):
        fake.state.programs.append(program)
        if "#error" in program.text:
            log = "kernels/gather.cu(1): error: #error directive"
            raise KernelCompileError(program.name, program.options, log)
        return program.text.encode(), ""

    def exchange(mode):
        before, fake.state.capture_mode = fake.state.capture_mode, mode
        return before

    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.setattr(cuda, "exchange_capture_mode", exchange)
    monkeypatch.setattr(cuda, "takes_addresses", lambda _cupy: by_address)
    if folder is not None:
        known = types.SimpleNamespace(nvrtcGetSupportedArchs=lambda: (0, [80, 90]))
        monkeypatch.setattr(nvrtc, "_nvrtc", lambda: known)
        monkeypatch.setattr(nvrtc, "compile_program", compile_program)
        monkeypatch.setattr(nvrtc, "cache_folder", lambda: folder)
        monkeypatch.setattr(nvrtc, "version", lambda: "13.0.1")
    return fake


__all__ = ["Array", "install", "make"]
