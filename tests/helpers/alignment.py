"""Arrays on any alignment: on the host, on a GPU, and on a stand-in for one."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from cudakern.values.layout import packed_strides
from tests.helpers.places import POISON
from tests.helpers.recorded_cupy import on_device
from tests.helpers.strategies import MemoryLayout


@dataclass(frozen=True)
class Memory:
    """Where arrays of a test are; of a stand-in, on its second device, the first being current."""

    place: str
    stand_in: bool = False

    def wrap(self, array):
        """Return an array of this memory."""
        return on_device(array, 1) if self.stand_in else array

    def poisoned(self, layout, dtype):
        """Return a buffer of poison and a view of it."""
        buffer, view = layout.poisoned(dtype, self.place)
        return buffer, self.wrap(view)

    def put(self, values, where="packed"):
        """Return an array that holds values."""
        return self.wrap(layout(where, values.shape, values.dtype).holding(values, self.place))


#: By the bytes of an element: those before the first one, and those between two.
WHERE = {
    "packed": lambda _: (0, 0),
    "gaps": lambda itemsize: (itemsize, itemsize),
    "half": lambda itemsize: (itemsize // 2, 0),
    "odd": lambda _: (1, 0),
    "odd gaps": lambda itemsize: (itemsize, 1),
}


def layout(where, shape, dtype):
    """Return a layout of an array; where there are gaps, its first dimension runs backwards."""
    itemsize = np.dtype(dtype).itemsize
    offset, gap = WHERE[where](itemsize)
    strides = list(packed_strides(shape, itemsize + gap))
    nbytes = offset + prod(shape) * (itemsize + gap) + 32
    if gap and shape:
        offset += strides[0] * (shape[0] - 1)
        strides[0] *= -1
    return MemoryLayout(tuple(shape), tuple(strides), offset, nbytes)


def written(there, values):
    """Return the bytes of a poisoned buffer whose view has these values."""
    data = np.full(there.nbytes, POISON, np.uint8)
    raw = f"V{values.itemsize}"  # bytes, which NumPy does not normalise
    view = np.ndarray(there.shape, raw, data, there.offset, there.strides)
    view[...] = np.frombuffer(values.tobytes(), raw).reshape(values.shape)
    return data


def repeated(shape, value):
    """Return an array of one element's bytes."""
    return np.frombuffer(value.tobytes() * prod(shape), value.dtype).reshape(shape)
