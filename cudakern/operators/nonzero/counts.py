"""Counts that the host reads: words of its own memory that kernels write to."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.engines import HOST
from cudakern.engines.cuda.library import import_cupy
from cudakern.values.layout import WORD_BYTES

if TYPE_CHECKING:
    from cudakern.operators.arrays.native import Array

#: The counts of each device and dtype that no call uses. Kernels may still write to the memory of a
#: call that was interrupted: so all memory stays.
_free: dict[tuple[int, np.dtype[Any]], list[Array]] = {}
_memory: list[Any] = []


def borrow(dtype: np.dtype[Any], device: int) -> Array:
    """Return an uninitialised count, of shape (1,): on a device, an array over pinned memory."""
    if device == HOST:
        return np.empty(1, dtype)
    free = _free.setdefault((device, dtype), [])
    try:
        return free.pop()
    except IndexError:
        cuda = import_cupy().cuda
        pinned = cuda.alloc_pinned_memory(WORD_BYTES)
        _memory.append(pinned)
        owned = cuda.UnownedMemory(pinned.ptr, WORD_BYTES, pinned, device)
        return import_cupy().ndarray((1,), dtype, cuda.MemoryPointer(owned, 0))


def give_back(count: Array) -> int:
    """Wait for the current stream; return the value of a borrowed count that it has written."""
    if type(count) is np.ndarray:
        return int(count[0])
    import_cupy().cuda.get_current_stream().synchronize()
    word = ctypes.c_uint64 if count.itemsize == WORD_BYTES else ctypes.c_uint32
    value = word.from_address(count.data.ptr).value
    _free[count.data.device_id, count.dtype].append(count)
    return value
