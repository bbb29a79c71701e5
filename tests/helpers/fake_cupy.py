"""A stand-in for CuPy on machines without a GPU: its arrays, compiler and launcher, as far as used.

A launch reads the argument struct where the launcher was told it lies and runs the very text that
was compiled, in the simulator. So everything of the CUDA engine but the driver itself is exercised.
"""

from __future__ import annotations

import ctypes
import re
import types

import numpy as np

from cudakern.engines.simulator.engine import SimulatorEngine

NEW_STREAM = 9999


class Pointer:
    def __init__(self, address):
        self.address = address


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
        self.values.fill(value)

    def astype(self, dtype):
        return self._new(self.values.astype(dtype))

    def copy(self, order="C"):
        return self._new(self.values.copy(order))

    @property
    def T(self):  # noqa: N802  NumPy's name
        return self._view(self.values.T)

    def __getitem__(self, key):
        return self._view(self.values[key])

    def _view(self, values):
        return Array(values, self.data.device_id, self.record)

    def _new(self, values):
        self.record.allocations.append(values.nbytes)
        return self._view(values)


class CompileException(Exception):  # noqa: N818  CuPy's name
    pass


class CUDARuntimeError(RuntimeError):
    pass


def make(devices=2):  # noqa: C901  one namespace, many small parts
    """Return a module-like object; its ``state`` records what was done.

    Its current stream, ``state.stream``, and the handles of streams that capture are what a test
    sets them to.
    """
    simulator = SimulatorEngine()
    state = Record()
    state.current, state.compilations, state.capturing = 0, [], set()

    class Device:
        def __init__(self, ordinal):
            self.ordinal = ordinal

        def __enter__(self):
            self.previous, state.current = state.current, self.ordinal

        def __exit__(self, *_):
            state.current = self.previous

    class RawModule:
        def __init__(self, *, code, options, backend):
            assert backend == "nvrtc"
            if "#error" in code:
                raise CompileException("kernels/gather.cu(1): error: #error directive")
            self.code, self.options = code, options

        def get_function(self, name):
            state.compilations.append((state.current, name, self.options))
            return types.SimpleNamespace(kernel=Function(self, name, state.current))

    class Function:
        def __init__(self, module, name, device):
            self.module, self.name, self.device = module, name, device

        def __call__(self, grid, block, args, shared_mem=0):
            assert state.current == self.device, "launched while another device is current"
            (pointer,) = args
            macros = dict(re.match(r"-D(\w+)=(.*)", o).groups() for o in self.module.options
                          if o.startswith("-D"))  # fmt: skip
            state.launches.append((state.current, self.name, grid, block, shared_mem))
            kernel = simulator.compile_text(
                "gather.cu", self.module.code, self.name, tuple(macros.items())
            )
            if isinstance(pointer, np.ndarray):
                assert pointer.size == 1, "only arrays of one element are passed by value"
                parameters = pointer.tobytes()
            else:
                parameters = ctypes.string_at(pointer.address, kernel.parameter_sizes[0])
            kernel.launcher(grid, block, shared_mem)(parameters)

    def empty(shape, dtype):
        values = np.full(shape, 0x5A, np.uint8).astype(dtype)
        state.allocations.append(values.nbytes)
        return Array(values, state.current, state)

    def zeros(shape, dtype):
        assert state.stream.ptr not in state.capturing, "filled by each replay of the graph"
        array = empty(shape, dtype)
        array.fill(0)
        return array

    def is_capturing(pointer):
        assert pointer not in {0, 1}, "asking about the legacy stream may end a capture"
        return pointer in state.capturing

    class Stream:
        def __init__(self, pointer=NEW_STREAM, *, non_blocking=False):
            self.ptr, self.non_blocking = pointer, non_blocking

        def __enter__(self):
            self.previous, state.stream = state.stream, self
            return self

        def __exit__(self, *_):
            state.stream = self.previous

        def synchronize(self):
            state.waits.append((self.ptr, len(state.launches)))

    state.stream = Stream(0)
    return types.SimpleNamespace(
        ndarray=Array,
        RawModule=RawModule,
        empty=empty,
        zeros=zeros,
        state=state,
        cuda=types.SimpleNamespace(
            Device=Device,
            Stream=Stream,
            compiler=types.SimpleNamespace(CompileException=CompileException),
            function=types.SimpleNamespace(CPointer=Pointer),
            get_current_stream=lambda: state.stream,
            runtime=types.SimpleNamespace(
                CUDARuntimeError=CUDARuntimeError,
                getDevice=lambda: state.current,
                getDeviceCount=lambda: devices,
                streamIsCapturing=is_capturing,
            ),
        ),
    )


__all__ = ["Array", "make"]
