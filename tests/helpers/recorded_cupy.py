"""The shipped stand-in for CuPy under the CUDA engine, with a record of what is asked of a device.

`in_place_of_cupy` refuses what CuPy refuses. Here is what no program asks it for: machine code, for
which stand the name of a source and its text, and whose launches execute the PTX that NVRTC makes
of it; graphs; arrays of other libraries on a device.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import cudakern as ck
from cudakern import engines
from cudakern.compilation import nvrtc
from cudakern.engines import kernel_files
from cudakern.engines.cuda import graphs
from cudakern.engines.cuda.graphs import LEGACY_STREAMS, RELAXED
from cudakern.engines.cuda.library import import_cupy
from cudakern.simulator.cupy_stand_in import devices, memory
from cudakern.simulator.launching.launch_parameters import address_of, span_of
from cudakern.simulator.libraries.loader import ModuleLoader
from cudakern.simulator.sources.text_to_ptx import ptx_of_program
from tests.helpers.foreign_arrays import device_at, host_array


def on_device(array, device=0):
    """Return an array on a device that shares the memory of one of NumPy's."""
    cupy, (low, high) = import_cupy(), span_of(array)
    there = cupy.cuda.UnownedMemory(low, high - low, [array], device)  # a list is not a view
    pointer = cupy.cuda.MemoryPointer(there, address_of(array) - low)
    return cupy.ndarray(array.shape, array.dtype, pointer, array.strides)


def as_method(call):
    """Return a function that a class takes as a method, whose first argument is the instance."""

    def method(instance, *args):
        return call(instance, *args)

    return method


class Graph:
    """What a stream has launched while it was captured, and what CUDA calls once it is gone."""

    def __init__(self, number, mode):
        self.number, self.mode, self.works, self.after = number, mode, [], []

    def launch(self, stream):
        with stream:
            for work in self.works:
                work()

    def __del__(self):
        for function, argument in self.after:
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function)(argument)


class Kernel:
    """A kernel of a file that stands for machine code, loaded on a device."""

    def __init__(self, record, path, name):
        record.require_safe()
        self.record, self.path, self.name = record, path, name
        self.device = devices.get_device_id()
        self.max_dynamic_shared_size_bytes = 48 * 1024
        record.loaded.append((self.device, name))
        self.function = SimpleNamespace(ptr=len(record.loaded))
        record.kernels[self.function.ptr] = self

    @property
    def kernel(self):
        """The function, which CuPy loads on the current device where it is read first."""
        assert devices.get_device_id() == self.device, "CuPy would load it on another device, too"
        return self.function

    @cached_property
    def simulated(self):
        source, _, text = Path(self.path).read_text(encoding="utf-8").partition("\n")
        module = self.record.loader.load(ptx_of_program(source, text, self.name))
        return module.kernel(self.name, source)

    def __call__(self, grid, block, args, *, shared_mem=0):
        (argument,) = args
        assert isinstance(argument, np.ndarray), "other arguments may be anything"
        assert argument.size == 1, "only arrays of one element are passed by value"
        self.launch(grid, block, shared_mem, argument.tobytes())

    def launch(self, grid, block, shared, parameters):
        record, stream = self.record, self.record.stream
        assert shared <= self.max_dynamic_shared_size_bytes, "CUDA refuses the launch"
        assert devices.get_device_id() == self.device, "launched while another device is current"
        record.launches.append((self.device, self.name, grid, block, shared))
        record.order.append(("launch", stream))
        with record.turn:  # as those of a stream take turns
            work = partial(self.simulated.launcher(grid, block, shared), parameters)
            if stream in record.capturing:
                record.capturing[stream].works.append(work)
            else:
                work()


class NoContextError(RuntimeError):
    """What the driver says to a thread without a context."""

    status = 201


class Placed(dict):
    """The memory that the stand-in has placed on devices; what is new is noted."""

    def __init__(self, record):
        super().__init__()
        self.record, self.sizes = record, {}

    def __setitem__(self, key, placed):
        super().__setitem__(key, placed)
        owner, record = placed[0](), self.record
        if owner.flags.owndata:  # otherwise another array owns it
            record.require_safe()
            record.allocations.append(owner.nbytes)
            self.sizes[key] = owner.nbytes
            record.live += owner.nbytes
            record.peak = max(record.peak, record.live)

    def pop(self, key, default=None):
        self.record.live -= self.sizes.pop(key, 0)
        return super().pop(key, default)

    def at(self, address):
        """Return the device that has memory at an address, and of how many bytes."""
        found = [(device, owner()) for owner, device in self.values()]
        ((device, owner),) = [pair for pair in found if address_of(pair[1]) == address]
        return device, owner.nbytes


class Record:
    """What was asked of devices, and the graphs that streams are being captured into."""

    def __init__(self, cupy):
        self.cupy, self.loader, self.turn = cupy, ModuleLoader(), threading.RLock()
        self.memory, self.live = Placed(self), 0  # bytes that are allocated
        self.capturing, self.captures = {}, itertools.count(1)
        self.thread = threading.local()  # its mode of captures
        self.streams, self.numbers = {}, itertools.count(1)  # numbers by handles
        self.events, self.moments = {}, itertools.count(1)  # the last moment of each handle
        self.unfinished = False  # whether events are still to come
        self.loaded, self.programs, self.kernels = [], [], {}
        self.thread.has_context = True  # other threads get one with the first that they ask for
        self.clear()

    def clear(self):
        """Forget what was done."""
        self.launches, self.allocations, self.memsets, self.synchronisations = [], [], [], []
        self.copies = []  # bytes that came from the host
        self.waits = []  # for a stream, and how many launches there had been
        self.order = []  # of launches and events on streams: what, its stream, the moment
        self.peak = self.live

    @property
    def stream(self):
        return self.cupy.cuda.get_current_stream().ptr

    @property
    def mode(self):
        return getattr(self.thread, "mode", 0)

    def require_safe(self):
        """Fail as CUDA does where a thread may not allocate or load while it captures."""
        strict = any(graph.mode != RELAXED for graph in self.capturing.values())
        assert self.mode == RELAXED or not strict, "unsafe during a capture"

    # Of the driver.

    def launch_kernel(self, function, *sizes_and_addresses):
        """Launch as cuLaunchKernel: three sizes of the grid and of blocks, shared bytes, stream."""
        gx, gy, gz, bx, by, bz, shared, stream, arguments, extra = sizes_and_addresses
        if not getattr(self.thread, "has_context", False):
            raise NoContextError("CUDA_ERROR_INVALID_CONTEXT: invalid device context")
        kernel = self.kernels[function]
        assert (stream, extra) == (self.stream, 0)
        address = ctypes.c_void_p.from_address(arguments).value
        (size,) = kernel.simulated.parameter_sizes
        parameters = ctypes.string_at(address, size)
        kernel.launch((gx, gy, gz), (bx, by, bz), shared, parameters)

    def memory_info(self):
        self.thread.has_context = True
        return 2**30, 2**30

    def exchange_capture_mode(self, mode):
        before, self.thread.mode = self.mode, mode
        return before

    def graph_of(self, stream):
        return self.capturing[stream].number, id(self.capturing[stream])

    def call_after(self, handle, function, argument):
        (graph,) = {graph for graph in self.capturing.values() if id(graph) == handle}
        graph.after.append((function, argument))

    def stream_number(self, stream):
        """Return the number of a stream: a new one once a test has taken it from its handle."""
        return self.streams.setdefault(stream, next(self.numbers))

    # Of CUDA's runtime.

    def is_capturing(self, stream):
        assert stream not in LEGACY_STREAMS, "asking about the legacy stream may end a capture"
        return stream in self.capturing

    def record_event(self, record, event, stream):
        record(event, stream)
        self.events[event] = next(self.moments)
        self.order.append(("record", stream, self.events[event]))

    def wait_for_event(self, wait, stream, event):
        assert stream not in self.capturing, "uncaptured work in a graph"
        wait(stream, event)
        self.order.append(("wait", stream, self.events[event]))

    # Of CuPy.

    def is_done(self, event):
        del event
        self.require_safe()
        return not self.unfinished

    def zeros(self, make, *args):
        assert self.stream not in self.capturing, "filled by each replay of the graph"
        array = make(*args)
        self.memsets.append(array.nbytes)
        return array

    def memset_of(self, pointer, value, size, stream):
        work = partial(ctypes.memset, pointer.ptr, value, size)
        if stream.ptr in self.capturing:
            self.capturing[stream.ptr].works.append(work)
        else:
            work()

    def asarray(self, make, a):
        interface = getattr(a, "__cuda_array_interface__", None)
        if interface is None:
            self.copies += [a.nbytes] if type(a) is np.ndarray else []
            return make(a)
        assert interface.get("stream") is None, "CuPy waits for it on the host"
        host = SimpleNamespace(__array_interface__={**interface, "version": 3}, kept=a)
        # CuPy copies an array that is not on the current device.
        return make(on_device(np.asarray(host), device_at(interface["data"][0])))

    def unowned(self, make, ptr, size, owner, device_id=-1):
        return make(ptr, size, owner, device_at(ptr) if device_id < 0 else device_id)

    def from_dlpack(self, array):
        """Return the array of a tensor, after what its library has on its stream."""
        capsule = array.__dlpack__(stream=self.stream or 1, max_version=(1, 0), copy=None)
        return on_device(host_array(capsule), array.__dlpack_device__()[1])

    def compiled_for(self, folder, spec, capability):
        program = kernel_files.program_of(spec, f"sm_{capability}")
        path = Path(folder, nvrtc.file_name(spec.entry, program))
        with self.turn:
            if not path.exists():
                self.programs.append(program)
                path.write_text(f"{program.name}\n{program.text}", encoding="utf-8")
        return path

    def replacements(self):
        """Yield what has an attribute, its name, and what does the same or more here."""
        cupy, runtime, stream = self.cupy, self.cupy.cuda.runtime, devices.BaseStream

        def noting(owner, name, notes, note):
            def call(of, *args, **kwargs):
                getattr(self, notes).append(note(of))
                return method(of, *args, **kwargs)

            method = getattr(owner, name)
            return owner, name, call

        def begin(of, mode=RELAXED):
            self.capturing[of.ptr] = Graph(next(self.captures), mode)

        def read(array):
            assert self.stream not in self.capturing, "a graph does not wait"
            return array.nbytes

        yield memory.MemoryPointer, "memset_async", as_method(self.memset_of)
        for name in ("get", "item", "tolist", "__repr__", "__str__"):
            yield noting(cupy.ndarray, name, "synchronisations", read)
        yield noting(cupy.ndarray, "fill", "memsets", lambda x: x.nbytes)
        yield noting(stream, "synchronize", "waits", lambda s: (s.ptr, len(self.launches)))
        for name, of_cupy in (
            ("record_event", "eventRecord"),
            ("wait_for_event", "streamWaitEvent"),
        ):
            call = partial(getattr(self, name), getattr(devices, name))
            yield from ((devices, name, call), (runtime, of_cupy, call))
        for name in ("exchange_capture_mode", "graph_of", "call_after", "stream_number"):
            yield graphs, name, getattr(self, name)
        for name in ("asarray", "zeros"):
            yield cupy, name, partial(getattr(self, name), getattr(cupy, name))
        yield cupy.cuda, "UnownedMemory", partial(self.unowned, cupy.cuda.UnownedMemory)
        yield stream, "begin_capture", begin
        yield stream, "end_capture", lambda of: self.capturing.pop(of.ptr)
        yield devices.Event, "done", property(self.is_done)
        yield runtime, "streamIsCapturing", self.is_capturing
        yield runtime, "driverGetVersion", lambda: 14000
        yield runtime, "memGetInfo", self.memory_info
        yield cupy, "from_dlpack", self.from_dlpack
        yield memory, "_device_ids", self.memory
        yield engines, "is_cupy_simulated", lambda: False  # else the simulator runs all


@contextmanager
def recorded(folder=None, *, has_driver=True):
    """Put the stand-in in CuPy's place, with two devices and an engine of its own; give its record.

    With a folder, text that lies there stands for machine code. Without a driver, CuPy has no
    function of it.
    """
    with ck.simulator.in_place_of_cupy(devices=2) as cupy, pytest.MonkeyPatch.context() as patch:
        record = Record(cupy)
        for owner, name, new in [*record.replacements()]:
            patch.setattr(owner, name, new)
        if has_driver:
            driver = SimpleNamespace(launchKernel=record.launch_kernel)
            patch.setattr(cupy.cuda, "driver", driver, raising=False)
        if folder is not None:
            module = lambda *, path: SimpleNamespace(get_function=partial(Kernel, record, path))  # noqa: E731
            patch.setattr(cupy, "RawModule", module)
            patch.setattr(kernel_files, "file_for_gpu", partial(record.compiled_for, folder))
        engines._cuda.cache_clear()  # noqa: SLF001  a process has one engine
        yield record
        engines._cuda.cache_clear()  # noqa: SLF001
