"""Counts that the host reads: words of its own memory that kernels write to."""

from __future__ import annotations

import ctypes
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.engines import HOST
from cudakern.engines.cuda.library import import_cupy
from cudakern.values.layout import WORD_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from cudakern.operators.arrays.native import Array


class _Words:
    """Counts of a dtype on a device, over pinned memory. Calls in any thread may borrow one.

    The kernel of a call that was interrupted may still write to its count. So nobody else gets
    that, and all memory stays.
    """

    def __init__(self, cupy: ModuleType, dtype: np.dtype[Any], device: int) -> None:
        self._cupy, self._dtype, self._device = cupy, dtype, device
        self._word = ctypes.c_uint64 if dtype.itemsize == WORD_BYTES else ctypes.c_uint32
        self._free: list[Array] = []
        self._memory: list[Any] = []

    def borrow(self) -> Array:
        """Return an uninitialised count, of shape (1,)."""
        try:
            return self._free.pop()
        except IndexError:
            cuda = self._cupy.cuda
            memory = cuda.alloc_pinned_memory(WORD_BYTES)
            self._memory.append(memory)
            owned = cuda.UnownedMemory(memory.ptr, WORD_BYTES, memory, self._device)
            return self._cupy.ndarray((1,), self._dtype, cuda.MemoryPointer(owned, 0))

    def read(self, count: Array) -> int:
        """Take a count back; return its value, after waiting for the current stream."""
        self._cupy.cuda.get_current_stream().synchronize()
        value = self._word.from_address(count.data.ptr).value
        self._free.append(count)
        return value


_of: dict[tuple[ModuleType, np.dtype[Any], int], _Words] = {}


def counts_of(
    dtype: np.dtype[Any], device: int
) -> tuple[Callable[[], Array], Callable[[Array], int]]:
    """Return what makes a count, or borrows one, and what reads it once a launch has written it."""
    if device == HOST:
        return partial(np.empty, 1, dtype), lambda count: int(count[0])
    key = import_cupy(), dtype, device
    words = _of.get(key) or _of.setdefault(key, _Words(*key))
    return words.borrow, words.read
