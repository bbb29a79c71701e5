"""Hypothesis strategies: shapes, memory layouts, indices."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

from cudakern.values.dtypes import bfloat16, copyable_dtypes
from tests.helpers.places import POISON, Buffer

DTYPES = [
    "bool", "int8", "uint8", "int16", "uint16", "float16", "int32", "uint32", "float32",
    "int64", "uint64", "float64", "complex64", "complex128", bfloat16() or "float16",
]  # fmt: skip
#: One dtype for each number of bytes: what copies elements is compiled for widths alone.
OF_EACH_WIDTH = ["float32", "uint8", "float16", "complex64", "complex128"]
#: The approximate bytes of an array's buffer from which on it has no gaps.
LARGEST = 2**22
FLOATS = [dtype for dtype in DTYPES if np.dtype(dtype).kind in "fcV"]
INDEX_DTYPES = ["int32", "int64", "uint32", "uint64"]
#: With the 8-bit floats.
COPIED = [*copyable_dtypes()]


@dataclass(frozen=True)
class MemoryLayout:
    """An array of a shape somewhere inside a buffer: byte strides, byte offset, buffer size."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    nbytes: int

    def poisoned(self, dtype, place):
        """Return a buffer of poison and this view of it."""
        buffer = Buffer(bytes([POISON]) * self.nbytes, place)
        return buffer, buffer.view(self.shape, dtype, self.strides, self.offset)

    def holding(self, values, place):
        """Return an array of this layout that holds values, the bytes between them poisoned."""
        data = np.full(self.nbytes, POISON, np.uint8)
        view = np.ndarray(self.shape, values.dtype, data, self.offset, self.strides)
        view[...] = values
        return Buffer(data, place).view(self.shape, values.dtype, self.strides, self.offset)

    def touched(self, itemsize):
        """Return which bytes of the buffer belong to the array."""
        mask = np.zeros(self.nbytes, bool)
        view = np.ndarray(
            self.shape, f"V{itemsize}", mask.view(np.uint8), self.offset, self.strides
        )
        view[...] = np.frombuffer(b"\1" * itemsize, f"V{itemsize}")[0]
        return mask


@st.composite
def memory_layouts(draw, shape, itemsize, *, output=False, aligned=False):
    """Draw a layout: permuted, padded, stepped, reversed, broadcast, offset, misaligned."""
    rank = len(shape)
    order, padded, steps = range(rank), [0] * rank, [1] * rank
    reversed_ = repeated = [False] * rank
    if draw(st.integers(0, 3)):
        order = draw(st.permutations(range(rank)))
        few = st.sampled_from([0, 0, 0, 1, 3])
        padded = [draw(few) for _ in shape]
        steps = [draw(st.sampled_from([1, 1, 1, 2])) for _ in shape]
        reversed_ = [draw(st.sampled_from([False, False, False, True])) for _ in shape]
        repeat = st.just(value=False) if output else st.sampled_from([False] * 5 + [True])
        repeated = [draw(repeat) for _ in shape]
    strides, run = [0] * rank, itemsize
    for d in reversed(order):
        if run * prod(shape) > LARGEST:  # gaps multiply: of eight dimensions, to gigabytes
            steps[d], padded[d] = 1, 0
        if not repeated[d]:
            strides[d] = run * steps[d]
            run *= max(shape[d], 1) * steps[d] + padded[d]
    front = draw(st.sampled_from([0, 0, 0, 1, 2, 5])) * itemsize
    if not aligned and draw(st.integers(0, 15)) == 0:
        front += draw(st.integers(0, 15))  # not even aligned to the element
    offset = front
    for d in range(rank):
        if reversed_[d] and shape[d] > 0:
            offset += strides[d] * (shape[d] - 1)
            strides[d] = -strides[d]
    return MemoryLayout(tuple(shape), tuple(strides), offset, front + run + itemsize + 16)


@st.composite
def gather_shapes(draw):
    """Draw (x shape, axis, indices shape), among them what each kernel variant is made for."""
    kind = draw(st.sampled_from(["any", "any", "any", "rows", "planes", "scalars", "last_axis"]))
    extent = draw(st.integers(1, 40))
    few = st.integers(1, 5)
    if kind == "rows":
        return (extent, draw(st.sampled_from([3, 4, 16, 20, 33]))), 0, (draw(st.integers(1, 90)),)
    if kind == "planes":
        inner = draw(st.sampled_from([1, 2, 3, 8, 16]))
        return (draw(few), extent, inner), 1, (draw(st.integers(1, 60)),)
    if kind == "scalars":
        return (extent,), 0, (draw(st.integers(1, 1500)),)
    if kind == "last_axis":
        outer, count = draw(st.integers(8, 12)), draw(st.integers(250, 700))
        return (outer, draw(st.integers(1, 3000))), 1, (count,)
    rank = draw(st.sampled_from([1, 2, 3, 4, 5, 8]))
    limit = 3 if rank > 4 else 5
    low = st.sampled_from([0] + [1] * 24)
    shape = [draw(st.integers(min(1, draw(low)), limit)) for _ in range(rank)]
    axis = draw(st.integers(0, rank - 1))
    shape[axis] = draw(st.integers(1, 6))
    index_rank = draw(st.sampled_from([0, 1, 1, 2, 3, 8]))
    longest = 2 if index_rank > 3 else 4
    indices = [draw(st.integers(min(1, draw(low)), longest)) for _ in range(index_rank)]
    return tuple(shape), axis, tuple(indices)


def random_bytes(rng, shape, dtype, subnormal=0.1):
    """Return an array whose bytes are random: NaN payloads and odd bools included.

    Of floats, and of parts of complex numbers, such a share is subnormal, some of it zeros of
    either sign.
    """
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    array = np.frombuffer(rng.bytes(count * dtype.itemsize), dtype).copy()
    if dtype in FLOATS:
        size = dtype.itemsize // (2 if dtype.kind == "c" else 1)
        parts = array.view(f"u{size}")
        sign = 1 << (8 * size - 1)
        small = rng.random(parts.size) < subnormal
        parts[small] &= sign | (1 << ml_dtypes.finfo(dtype).nmant) - 1
        parts[small & (rng.random(parts.size) < 0.2)] &= sign
    return array.reshape(shape)


def fill_values(dtype):
    """Return Python numbers that elements of a dtype can be: -0.0 and a subnormal one included."""
    dtype = np.dtype(dtype)
    if dtype not in DTYPES:
        return [2, np.nan]
    if dtype not in FLOATS:
        return [0, 1]
    least = 3 * float(ml_dtypes.finfo(dtype).smallest_subnormal)
    return [1.5, -0.0, *((complex(-0.0, least),) if dtype.kind == "c" else (least, -least))]


def random_indices(rng, shape, dtype, extent):
    """Return indices: most in range, some negative or beyond, some at the type's extremes."""
    info = np.iinfo(dtype)
    values = rng.integers(-extent - 2 if info.min < 0 else 0, extent + 3, shape, np.int64)
    extremes = [info.min, info.max, min(2**32, info.max), min(2**32 + 1, info.max)]
    extremes += [extent, max(extent - 1, 0)]
    extremes += [-1, -extent, -extent - 1] if info.min < 0 else []
    result = np.asarray(values.astype(object))
    for position in np.flatnonzero(rng.random(shape) < 0.1):
        result.reshape(-1)[position] = extremes[rng.integers(len(extremes))]
    return result.astype(dtype)


def lookups(kinds, dtype):
    """Return what ``kinds`` look up elements of this width by: index dtypes and modes, and fill.

    They are rows (index dtype, dtype, mode): kernels are compiled for the width alone.
    """
    width = np.dtype(dtype).itemsize
    return [
        (index_dtype, mode)
        for index_dtype, like, first in kinds
        if np.dtype(like).itemsize == width
        for mode in dict.fromkeys([first, "fill"])
    ]
