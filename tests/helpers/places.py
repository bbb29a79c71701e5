"""Memory on the host or on a GPU, seen through views of any layout."""

from __future__ import annotations

from math import prod

import numpy as np

from cudakern.engines.cuda.library import import_cupy
from cudakern.process.lazy import is_cupy
from cudakern.values.layout import Layout, packed_strides

HOST = "host"
CUDA = "cuda"
#: The arrays of ``cudakern.simulator.in_place_of_cupy``: they look like arrays on a device.
DEVICE = "device"

POISON = 0xA5


class Buffer:
    """A run of bytes in a place, on a 256-byte boundary; views of it share its memory."""

    def __init__(self, data: bytes | bytearray | np.ndarray, place: str) -> None:
        self.place = place
        host = np.frombuffer(bytes(data), np.uint8)
        if place == HOST:
            room = np.empty(host.size + 256, np.uint8)
            start = -room.__array_interface__["data"][0] % 256
            self.memory = room[start : start + host.size]
            self.memory[...] = host
        else:
            import cupy as cp  # noqa: PLC0415  optional

            self.memory = cp.asarray(host)

    def view(self, shape, dtype, strides=None, offset=0):
        """Return an array over this memory; strides and offset in bytes."""
        dtype = np.dtype(dtype)
        strides = packed_strides(shape, dtype.itemsize) if strides is None else strides
        if self.place == HOST:
            return np.ndarray(shape, dtype, self.memory, offset, strides)
        import cupy as cp  # noqa: PLC0415  optional

        return cp.ndarray(shape, dtype, self.memory.data + offset, strides)

    def bytes(self) -> np.ndarray:
        """Return a copy of all bytes on the host."""
        return get(self.memory).copy()


def library(place):
    """Return the module that makes arrays in a place: NumPy, or what ``import cupy`` gives."""
    return np if place == HOST else import_cupy()


def put(array, place):
    """Return a C-contiguous copy of a NumPy array in a place."""
    return Buffer(array.tobytes(), place).view(array.shape, array.dtype)


def get(array) -> np.ndarray:
    """Return an array's elements on the host, in the same layout.

    The bytes are copied: CuPy would launch a kernel of its own for an array with gaps, which ends
    in an error where the elements are misaligned.
    """
    if isinstance(array, np.ndarray) and not is_cupy(array):
        return array
    from cupy import cuda  # noqa: PLC0415  optional

    low, high = Layout(array.shape, array.strides, array.dtype.itemsize).span
    memory = np.empty(high - low, np.uint8)
    if memory.size:
        stream = cuda.get_current_stream()
        source, kind = array.data.ptr + low, cuda.runtime.memcpyDeviceToHost
        cuda.runtime.memcpyAsync(memory.ctypes.data, source, memory.size, kind, stream.ptr)
        stream.synchronize()
    return np.ndarray(array.shape, array.dtype, memory, -low, array.strides)


def wait_for_gpu() -> None:
    """Wait for all launches; raise what CuPy says of them if one failed."""
    import_cupy().cuda.runtime.deviceSynchronize()


def overwrite(array, values) -> None:
    """Write the elements of a NumPy array to a C-contiguous array of the same shape and dtype."""
    if isinstance(array, np.ndarray) and not is_cupy(array):
        array[...] = values
    else:
        array.set(values)


def same_bytes(a, b) -> bool:
    """Return whether two arrays have the same shape, dtype and bytes (NaN payloads included)."""
    a, b = get(a), get(b)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def beside(array, by=1):
    """Return a copy of an array that starts beside a multiple of its elements' size."""
    memory = np.zeros(array.nbytes + 16, np.uint8)
    copy = np.ndarray(array.shape, array.dtype, memory, by)
    copy[...] = array
    return copy


def poison(shape, dtype):
    """Return an array of poison on the host."""
    nbytes = prod(shape) * np.dtype(dtype).itemsize
    return np.full(nbytes, POISON, np.uint8).view(dtype).reshape(shape)
