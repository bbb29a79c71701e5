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


class Pointer:
    def __init__(self, address):
        self.address = address


class Memory:
    def __init__(self, array, device_id):
        self.ptr = array.__array_interface__["data"][0]
        self.device_id = device_id
        self.mem = types.SimpleNamespace(ptr=self.ptr)


class Array:
    """What cudakern reads of a cupy.ndarray."""

    def __init__(self, values, device_id=0):
        self.values = np.asarray(values)
        self.data = Memory(self.values, device_id)
        self.dtype, self.shape, self.strides = (
            self.values.dtype,
            self.values.shape,
            self.values.strides,
        )
        self.ndim, self.size, self.nbytes = self.values.ndim, self.values.size, self.values.nbytes

    def get(self):
        return self.values.copy()

    def fill(self, value):
        self.values.fill(value)

    def astype(self, dtype):
        return Array(self.values.astype(dtype), self.data.device_id)

    def __getitem__(self, key):
        return self.values[key]


class CompileException(Exception):  # noqa: N818  CuPy's name
    pass


class CUDARuntimeError(RuntimeError):
    pass


def make(devices=2):  # noqa: C901  one namespace, many small parts
    """Return a module-like object; ``launches`` and ``compilations`` record what was done."""
    simulator = SimulatorEngine()
    state = types.SimpleNamespace(current=0, launches=[], compilations=[])

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
        return Array(np.full(shape, 0x5A, np.uint8).astype(dtype), state.current)

    stream = types.SimpleNamespace(synchronize=lambda: state.launches.append("synchronize"))
    return types.SimpleNamespace(
        ndarray=Array,
        RawModule=RawModule,
        empty=empty,
        state=state,
        cuda=types.SimpleNamespace(
            Device=Device,
            compiler=types.SimpleNamespace(CompileException=CompileException),
            function=types.SimpleNamespace(CPointer=Pointer),
            get_current_stream=lambda: stream,
            runtime=types.SimpleNamespace(
                CUDARuntimeError=CUDARuntimeError,
                getDevice=lambda: state.current,
                getDeviceCount=lambda: devices,
            ),
        ),
    )


__all__ = ["Array", "make"]
