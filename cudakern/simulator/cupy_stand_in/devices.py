"""Devices, their streams and events. The simulator works at once: there is nothing to wait for."""

from __future__ import annotations

import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

from cudakern.simulator.cupy_stand_in.absent import absent
from cudakern.simulator.runtime.abi_parser import read_constant
from cudakern.simulator.runtime.limits import MAX_SHARED_BYTES, MAX_STATIC_SHARED_BYTES
from cudakern.simulator.sources.text_to_ptx import find_target
from cudakern.values.layout import MULTIPROCESSORS

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

_ROOM = "runtime/residency.hpp"
#: Memory of the modelled GPU, an H200.
MODELLED_BYTES = 141 * 10**9

#: Attributes of a device: CUDA's number, and the name of the same among its properties.
ATTRIBUTES = {
    "MaxThreadsPerBlock": (1, "maxThreadsPerBlock"),
    "MaxBlockDimX": (2, "maxThreadsDim"),
    "MaxBlockDimY": (3, "maxThreadsDim"),
    "MaxBlockDimZ": (4, "maxThreadsDim"),
    "MaxGridDimX": (5, "maxGridSize"),
    "MaxGridDimY": (6, "maxGridSize"),
    "MaxGridDimZ": (7, "maxGridSize"),
    "MaxSharedMemoryPerBlock": (8, "sharedMemPerBlock"),
    "TotalConstantMemory": (9, "totalConstMem"),
    "WarpSize": (10, "warpSize"),
    "MaxRegistersPerBlock": (12, "regsPerBlock"),
    "MultiProcessorCount": (16, "multiProcessorCount"),
    "L2CacheSize": (38, "l2CacheSize"),
    "MaxThreadsPerMultiProcessor": (39, "maxThreadsPerMultiProcessor"),
    "ComputeCapabilityMajor": (75, "major"),
    "ComputeCapabilityMinor": (76, "minor"),
    "MaxSharedMemoryPerMultiprocessor": (81, "sharedMemPerMultiprocessor"),
    "MaxRegistersPerMultiprocessor": (82, "regsPerMultiprocessor"),
    "CooperativeLaunch": (95, "cooperativeLaunch"),
    "MaxSharedMemoryPerBlockOptin": (97, "sharedMemPerBlockOptin"),
}


class CUDARuntimeError(RuntimeError):
    """An error of the CUDA runtime."""


class _Properties(dict[str, Any]):
    """Known properties of the modelled GPU, by CUDA's names."""

    def __init__(self, owner: str, known: dict[str, Any]) -> None:
        super().__init__(known)
        self._owner = owner

    def __missing__(self, name: str) -> Any:
        message = absent(f"{self._owner}[{name!r}]", f"the modelled GPU has {', '.join(self)}")
        raise KeyError(message)


class _Current(threading.local):
    """A thread's current device, streams by device, and what blocks of both restore."""

    def __init__(self) -> None:
        self.device = 0
        self.before: list[int] = []
        self.entered: list[int] = []
        self.streams: dict[int, list[BaseStream]] = {}


_current = _Current()
#: How many devices each open block of `in_place_of_cupy` has.
_counts: list[int] = []


def add_devices(count: int) -> None:
    """Provide devices for a block; the current one is 0 where the first block starts."""
    global _current  # noqa: PLW0603
    if not _counts:
        _current = _Current()
    _counts.append(count)


def remove_devices(count: int) -> None:
    """Take the devices of a block back."""
    _counts.remove(count)


def device_count() -> int:
    """Return how many devices there are."""
    return max(_counts, default=1)


def get_device_id() -> int:
    """Return the number of the current device of this thread."""
    return _current.device


def use_device(device: int) -> None:
    """Make a device the current one; CUDARuntimeError if there is none with that number."""
    _current.device = _check_device(device)


def properties(device: int = 0) -> dict[str, Any]:
    """Return what is known of the modelled GPU, as ``getDeviceProperties``."""
    major, minor = divmod(int(Device(device).compute_capability), 10)
    known = {
        "name": b"cudakern's simulator of an H200",
        "totalGlobalMem": MODELLED_BYTES,
        "sharedMemPerBlock": MAX_STATIC_SHARED_BYTES,
        "sharedMemPerBlockOptin": MAX_SHARED_BYTES,
        "sharedMemPerMultiprocessor": read_constant(_ROOM, "kSharedEach"),
        "regsPerBlock": 65536,
        "regsPerMultiprocessor": 65536,
        "warpSize": 32,
        "maxThreadsPerBlock": 1024,
        "maxThreadsPerMultiProcessor": read_constant(_ROOM, "kThreadsEach"),
        "maxThreadsDim": (1024, 1024, 64),
        "maxGridSize": (2**31 - 1, 65535, 65535),
        "multiProcessorCount": MULTIPROCESSORS,
        "totalConstMem": 65536,
        "l2CacheSize": 50 * 2**20,
        "major": major,
        "minor": minor,
        "cooperativeLaunch": 1,
        "unifiedAddressing": 1,
        "integrated": 0,
        "pciBusID": device,
        "pciDeviceID": 0,
        "pciDomainID": 0,
    }
    return _Properties(f"cupy.cuda.runtime.getDeviceProperties({device})", known)


def _check_device(device: int) -> int:
    if not 0 <= device < device_count():
        there = "the device 0 alone" if device_count() == 1 else f"{device_count()} devices"
        message = f"cudaErrorInvalidDevice: in_place_of_cupy has {there}; got {device!r}"
        raise CUDARuntimeError(message)
    return device


class Device:
    """A device, by its number; the current one if none is given."""

    def __init__(self, device: int | Device | None = None) -> None:
        self.id = get_device_id() if device is None else _check_device(int(device))

    def __int__(self) -> int:
        return self.id

    def __enter__(self) -> Self:
        _current.before.append(get_device_id())
        use_device(self.id)
        return self

    def __exit__(self, *_: object) -> None:
        use_device(_current.before.pop())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(absent(f"cupy.cuda.Device.{name}"), name=name, obj=self)

    def use(self) -> Self:
        """Become the current device from now on."""
        use_device(self.id)
        return self

    def synchronize(self) -> None:
        """Do nothing: what was launched has ended."""

    @property
    def compute_capability(self) -> str:
        """That of ``CUDAKERN_ARCH``, or ``"90"``."""
        return "".join(filter(str.isdigit, find_target()))

    @property
    def mem_info(self) -> tuple[int, int]:
        """Free and all bytes of the modelled GPU."""
        return MODELLED_BYTES, MODELLED_BYTES

    @property
    def pci_bus_id(self) -> str:
        """An address."""
        return f"0000:{self.id:02x}:00.0"

    @property
    def attributes(self) -> dict[str, Any]:
        """What is known of the modelled GPU."""
        known, values = properties(self.id), {}
        for name, (_, property_name) in ATTRIBUTES.items():
            value = known[property_name]
            values[name] = value["XYZ".index(name[-1])] if isinstance(value, tuple) else value
        return _Properties(f"cupy.cuda.Device({self.id}).attributes", values)


def device_attribute(attrib: int, device: int) -> int:
    """Return what is known of the modelled GPU, by CUDA's number."""
    for name, (number, _) in ATTRIBUTES.items():
        if number == attrib:
            return int(Device(device).attributes[name])
    message = f"cudaErrorInvalidValue: in_place_of_cupy has no attribute {attrib} of a device"
    raise CUDARuntimeError(message)


class _Finished:
    """Work that is always finished."""

    def synchronize(self) -> None:
        """Do nothing: what was launched has ended."""

    @property
    def done(self) -> bool:
        return True


class Event(_Finished):
    """A moment, once it is recorded."""

    def __init__(
        self, block: bool = False, disable_timing: bool = False, interprocess: bool = False
    ) -> None:
        self.ptr = id(self)
        _events[self.ptr] = self
        self._is_timed = not disable_timing
        self._at: float | None = None

    def record(self, stream: BaseStream | None = None) -> None:
        """Take the current moment."""
        record_event(self.ptr, (stream or get_current_stream()).ptr)

    def begin(self) -> None:
        """Note the time."""
        self._at = time.perf_counter()

    def moment(self) -> float:
        """Return the time in seconds; CUDARuntimeError if there is none."""
        if self._at is None or not self._is_timed:
            message = "cudaErrorInvalidResourceHandle: the event must be recorded, and with timing"
            raise CUDARuntimeError(message)
        return self._at


#: Events by their handles.
_events: weakref.WeakValueDictionary[int, Event] = weakref.WeakValueDictionary()


def _find_event(handle: int) -> Event:
    try:
        return _events[handle]
    except KeyError:
        message = f"cudaErrorInvalidResourceHandle: there is no event {handle}"
        raise CUDARuntimeError(message) from None


def record_event(event: int, stream: int) -> None:
    """Set the event of a handle to the current moment."""
    _find_event(event).begin()


def wait_for_event(stream: int, event: int, flags: int = 0) -> None:
    """Do nothing: the work before an event has ended; CUDARuntimeError if there is no event."""
    _find_event(event)


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Return the milliseconds between two events, by the clock of this machine."""
    return (end_event.moment() - start_event.moment()) * 1e3


class BaseStream(_Finished):
    """A stream; with the device -1, one of each device."""

    def __init__(self, ptr: int, device_id: int = -1) -> None:
        self.ptr = ptr
        self.device_id = device_id

    def __enter__(self) -> Self:
        """Become the current stream of the current device, which must be the stream's."""
        device = self._check_current()
        _current.streams.setdefault(device, []).append(self)
        _current.entered.append(device)
        return self

    def __exit__(self, *_: object) -> None:
        _current.streams[_current.entered.pop()].pop()

    def _check_current(self) -> int:
        device = get_device_id()
        if self.device_id not in {-1, device}:
            message = f"a stream of device {self.device_id} can be current on that device alone; "
            message += f"the current device is {device}"
            raise RuntimeError(message)
        return device

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the version of this protocol, by which libraries take streams, and the handle."""
        return 0, self.ptr

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BaseStream) and other.ptr == self.ptr

    def __hash__(self) -> int:
        return hash(self.ptr)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.ptr} (device {self.device_id})>"

    def use(self) -> BaseStream:
        """Become the current stream from now on."""
        _current.streams.setdefault(self._check_current(), [])[-1:] = [self]
        return self

    @property
    def is_non_blocking(self) -> bool:
        """Whether it would not wait for the null stream, which has no effect here."""
        return getattr(self, "non_blocking", False)

    def record(self, event: Event | None = None) -> Event:
        """Record an event, a new one if none is given."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Do nothing: the work before the event has ended."""
        wait_for_event(self.ptr, event.ptr)

    def add_callback(self, callback: Callable[[Any, int, Any], object], arg: Any) -> None:
        """Call a function with the stream, 0 for no error, and an argument."""
        callback(self, 0, arg)

    def launch_host_func(self, callback: Callable[[Any], object], arg: Any) -> None:
        """Call a function with an argument."""
        callback(arg)

    def is_capturing(self) -> bool:
        """Return whether a graph is captured: never."""
        return False

    def begin_capture(self, mode: object = None) -> None:
        """Raise NotImplementedError: there are no graphs."""
        raise NotImplementedError(absent("cupy.cuda.Stream.begin_capture", "launch without it"))

    def end_capture(self) -> None:
        """Raise NotImplementedError: there are no graphs."""
        raise NotImplementedError(absent("cupy.cuda.Stream.end_capture", "launch without it"))


class Stream(BaseStream):
    """A new stream, or the null stream."""

    null: Stream
    ptds: Stream
    _of: object = None  # the stream of another library that this one is

    def __init__(
        self,
        null: bool = False,
        non_blocking: bool = False,
        ptds: bool = False,
        priority: int | None = None,
    ) -> None:
        if null or ptds:
            super().__init__(0 if null else 2)
        else:
            super().__init__(id(self), get_device_id())
        self.non_blocking = non_blocking
        self.priority = priority or 0

    @classmethod
    def from_external(cls, obj: Any) -> Stream:
        """Return the stream of another library, which has ``__cuda_stream__``, and keep it."""
        protocol = getattr(obj, "__cuda_stream__", None)
        version, handle = protocol() if protocol else (None, 0)
        if version != 0:
            message = "cupy.cuda.Stream.from_external: a stream must have __cuda_stream__(), which "
            message += f"returns version 0 and a handle; got {type(obj).__name__}"
            raise TypeError(message)
        stream = cls(null=True)
        stream.ptr, stream._of = handle, obj
        return stream


Stream.null, Stream.ptds = Stream(null=True), Stream(ptds=True)


class ExternalStream(BaseStream):
    """A stream of another library."""


def get_current_stream(device_id: int = -1) -> BaseStream:
    """Return this thread's current stream of a device, by default of the current device."""
    streams = _current.streams.get(get_device_id() if device_id == -1 else _check_device(device_id))
    return streams[-1] if streams else Stream.null
