"""Memory as CuPy has it: pointers, pools, allocators. All of it is NumPy's."""

from __future__ import annotations

import ctypes
import weakref
from contextlib import contextmanager
from functools import wraps
from operator import attrgetter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.simulator.cupy_stand_in.devices import (
    MODELLED_BYTES,
    Device,
    device_count,
    get_device_id,
)
from cudakern.simulator.launching.launch_parameters import (
    address_of,
    empty,
    make_known,
    owner_of,
    span_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Self

    from numpy.typing import DTypeLike


def view_as_numpy(array: np.ndarray) -> np.ndarray:
    """Return an array of the stand-in as one of NumPy's, on the same memory."""
    return np.ndarray.view(array, np.ndarray)


#: The device of memory, by the id of the array that owns it, while that lives. With one device the
#: table is empty: all memory is on device 0.
_device_ids: dict[int, tuple[weakref.ref[np.ndarray], int]] = {}


def assign_device(array: np.ndarray, device_id: int = -1) -> None:
    """Assign the memory of an array to a device, unless it has one; -1 is the current one."""
    if device_count() == 1:
        return
    owner = owner_of(array)
    key = id(owner)
    if key not in _device_ids:
        gone = weakref.ref(owner, lambda _: _device_ids.pop(key, None))
        _device_ids[key] = gone, get_device_id() if device_id == -1 else device_id


def device_id_of(array: np.ndarray) -> int:
    """Return the number of the device that the memory of an array is on."""
    found = _device_ids.get(id(owner_of(array))) if _device_ids else None
    return found[1] if found else 0


class BaseMemory:
    """Bytes that pointers lead into, in one dimension."""

    def __init__(self, held: np.ndarray, device_id: int = -1) -> None:
        self.bytes = held
        assign_device(held, device_id)

    @property
    def device_id(self) -> int:
        """The number of the device."""
        return device_id_of(self.bytes)

    @property
    def ptr(self) -> int:
        """Address of the first byte, by which kernels reach the memory from now on."""
        make_known(owner_of(self.bytes))
        return address_of(self.bytes)

    size = property(attrgetter("bytes.size"), doc="Number of bytes.")

    @property
    def device(self) -> Device:
        """The device."""
        return Device(self.device_id)


class Memory(BaseMemory):
    """New memory of so many bytes, which count as unwritten."""

    def __init__(self, size: int) -> None:
        super().__init__(empty(size, np.uint8))


class UnownedMemory(BaseMemory):
    """Memory at an address that has another owner."""

    def __init__(self, ptr: int, size: int, owner: object, device_id: int = -1) -> None:
        super().__init__(_at(ptr, size, owner), device_id)


def _at(address: int, size: int, owner: object = None) -> np.ndarray:
    """Return the bytes at an address, which keep their owner alive."""
    interface = {"data": (address, False), "shape": (size,), "typestr": "|u1", "version": 3}
    return np.asarray(SimpleNamespace(__array_interface__=interface, base=owner))


def _take_stream(method: Callable[[Any, Any, int], None]) -> Callable[..., None]:
    """Return a method that takes a stream, too, and works at once."""

    @wraps(method)
    def call(self: MemoryPointer, *args: Any, stream: object = None, **kwargs: Any) -> None:
        method(self, *args[:2], **kwargs)  # the stream may also follow the two arguments

    return call


class MemoryPointer:
    """An address in memory, as ``cupy.ndarray.data`` is one."""

    def __init__(self, mem: BaseMemory, offset: int) -> None:
        self.mem = mem
        self._offset = offset

    @property
    def ptr(self) -> int:
        """The address."""
        return self.mem.ptr + self._offset

    device_id = property(attrgetter("mem.device_id"), doc="The number of the device.")
    device = property(attrgetter("mem.device"), doc="The device.")

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self._offset + offset)

    def __radd__(self, offset: int) -> MemoryPointer:
        return self + offset

    def __sub__(self, offset: int) -> MemoryPointer:
        return self + -offset

    def bytes_from_here(self) -> np.ndarray:
        """Return the bytes from here to the end of the memory."""
        if self._offset < 0:
            return _at(address_of(self.mem.bytes) + self._offset, self.mem.size - self._offset)
        return self.mem.bytes[self._offset :]

    def array(
        self, shape: Any, dtype: DTypeLike, strides: tuple[int, ...] | None, order: Any
    ) -> np.ndarray:
        """Return the array whose first element is here; others may be anywhere in the memory."""
        if self._offset < 0:
            return np.ndarray(shape, dtype, self.bytes_from_here(), 0, strides, order)
        return np.ndarray(shape, dtype, self.mem.bytes, self._offset, strides, order)

    def copy_from_device(self, src: MemoryPointer, size: int) -> None:
        """Copy bytes from another pointer."""
        ctypes.memmove(self.ptr, src.ptr, size)

    def copy_from_host(self, mem: Any, size: int) -> None:
        """Copy bytes from an address on the host."""
        ctypes.memmove(self.ptr, mem, size)

    def copy_to_host(self, mem: Any, size: int) -> None:
        """Copy bytes to an address on the host."""
        ctypes.memmove(mem, self.ptr, size)

    def copy_from(self, mem: Any, size: int) -> None:
        """Copy bytes from a pointer, or from an address on the host."""
        ctypes.memmove(self.ptr, mem.ptr if isinstance(mem, MemoryPointer) else mem, size)

    def memset(self, value: int, size: int) -> None:
        """Set bytes to a value."""
        ctypes.memset(self.ptr, value, size)

    copy_from_async = _take_stream(copy_from)
    copy_from_device_async = _take_stream(copy_from_device)
    copy_from_host_async = _take_stream(copy_from_host)
    copy_to_host_async = _take_stream(copy_to_host)
    memset_async = _take_stream(memset)


def pointer_to(array: np.ndarray) -> MemoryPointer:
    """Return the pointer to an array's first element, into all of the memory that it lies in."""
    owner = owner_of(array)
    low, high = span_of(owner)
    return MemoryPointer(BaseMemory(_at(low, high - low, owner)), address_of(array) - low)


def memcpy(dst: int, src: int, size: int, kind: int) -> None:
    """Copy bytes between addresses, as ``cupy.cuda.runtime.memcpy``."""
    ctypes.memmove(dst, src, size)


def memcpy_2d(
    dst: int, dpitch: int, src: int, spitch: int, width: int, height: int, kind: int, stream: int
) -> None:
    """Copy rows between addresses, as ``cupy.cuda.runtime.memcpy2DAsync``."""
    for row in range(height):
        memcpy(dst + row * dpitch, src + row * spitch, width, kind)


def alloc(size: int) -> MemoryPointer:
    """Return new memory, as ``cupy.cuda.alloc``."""
    return MemoryPointer(Memory(size), 0)


class PinnedMemory:
    """Memory of the host, which has an address."""

    def __init__(self, size: int, flags: int = 0) -> None:
        del flags
        self.bytes = bytearray(size)  # no array's, which would be a device's
        self.size, self.ptr = size, address_of(np.ndarray(size, np.uint8, self.bytes))

    def __int__(self) -> int:
        return self.ptr


_Buffer: Any = np.ndarray  # whose methods are not those of a pointer


class PinnedMemoryPointer(_Buffer):  # type: ignore[misc]
    """An address in memory of the host, and a buffer of what follows: so it is an array."""

    mem: PinnedMemory
    __eq__, __hash__, __repr__ = object.__eq__, object.__hash__, object.__repr__

    def __new__(cls, mem: PinnedMemory, offset: int) -> Self:
        """Return the pointer; ValueError if it lies outside of the memory."""
        if not 0 <= offset <= mem.size:
            message = "cupy.cuda.PinnedMemoryPointer: offset must lie in "
            raise ValueError(message + f"[0, {mem.size}]; got {offset}")
        made: Self = super().__new__(cls, mem.size - offset, np.uint8, mem.bytes, offset)
        made.mem = mem
        return made

    def __bool__(self) -> bool:
        return True

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, offset: int) -> Self:
        return type(self)(self.mem, self.ptr - self.mem.ptr + offset)

    __radd__ = __iadd__ = __add__

    def __sub__(self, offset: int) -> Self:
        return self + -offset

    __isub__ = __sub__

    @property
    def ptr(self) -> int:
        """The address."""
        return address_of(self)

    def size(self) -> int:
        """Return the number of bytes from here on."""
        return len(self)


def alloc_pinned_memory(size: int) -> PinnedMemoryPointer:
    """Return memory of the host, as ``cupy.cuda.alloc_pinned_memory``."""
    return PinnedMemoryPointer(PinnedMemory(size), 0)


class MemoryPool:
    """A pool that keeps no memory, and so frees none."""

    def __init__(self, allocator: object = None) -> None:
        self._limit = 0

    def malloc(self, size: int) -> MemoryPointer:
        """Return new memory."""
        return alloc(size)

    def free_all_blocks(self, stream: object = None) -> None:
        """Do nothing."""

    def free_all_free(self) -> None:
        """Do nothing."""

    def free_bytes(self) -> int:
        """Return 0: the pool holds none of NumPy's memory."""
        return 0

    n_free_blocks = total_bytes = used_bytes = free_bytes

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Keep a limit, which has no effect."""
        self._limit = int(size or (fraction or 0) * MODELLED_BYTES)

    def get_limit(self) -> int:
        """Return the limit that was set, or 0."""
        return self._limit


class PinnedMemoryPool(MemoryPool):
    """A pool of memory of the host."""

    def malloc(self, size: int) -> PinnedMemoryPointer:
        """Return memory of the host."""
        return alloc_pinned_memory(size)


POOL, PINNED_POOL = MemoryPool(), PinnedMemoryPool()


def set_allocator(allocator: object = None) -> None:
    """Do nothing: the memory is NumPy's."""


@contextmanager
def using_allocator(allocator: object = None) -> Iterator[None]:
    """Do nothing: the memory is NumPy's."""
    yield
