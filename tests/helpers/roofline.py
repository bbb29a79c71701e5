"""Which sectors of memory arrays lie in, and ways to lay them out, for tables of traffic."""

from __future__ import annotations

import numpy as np

from tests.helpers.places import Buffer

SECTOR = 32  # bytes


def contiguous(shape, dtype):
    return np.zeros(shape, dtype)


def transposed(shape, dtype):
    return np.zeros(shape[::-1], dtype).T


def padded(shape, dtype):
    """Return rows of x with 48 bytes between them."""
    pad = 48 // np.dtype(dtype).itemsize
    return np.zeros((*shape[:-1], shape[-1] + pad), dtype)[..., : shape[-1]]


def backwards(shape, dtype):
    return np.zeros(shape, dtype)[..., ::-1]


def misaligned(shape, dtype, elements=1):
    """Return an array one element behind a line of memory."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return Buffer(bytes(size + 16), "host").view(
        shape, dtype, offset=elements * np.dtype(dtype).itemsize
    )


def sectors(array):
    """Return the sector of each element, counted from the start of the array's allocation."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    address = np.full(array.shape, array.ctypes.data - owner.ctypes.data)
    for dimension, (size, stride) in enumerate(zip(array.shape, array.strides, strict=True)):
        steps = np.arange(size) * stride
        address += steps.reshape(-1, *(1,) * (array.ndim - 1 - dimension))
    return address // SECTOR


def different(units, axes):
    """Return how many different units each row has, in total; rows begin behind some axes."""
    rows = np.sort(units.reshape(*units.shape[:axes], -1), axis=-1)
    return rows[..., 0].size + np.count_nonzero(np.diff(rows, axis=-1))
