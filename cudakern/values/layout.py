"""Shapes and strides, in bytes, on their way to a kernel: merged dimensions, widths, overlaps."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from math import prod
from operator import mul
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_DIMENSIONS = 8  # of an operand
VECTOR_BYTES = 16  # of the widest load or store
WORD_BYTES = 8  # of the widest integer
SECTOR_BYTES = 32  # that memory moves at least
#: Multiprocessors of an H200, and bytes of shared memory that a block can have: work is divided for
#: them, and the simulator models them.
MULTIPROCESSORS = 132
SHARED_BYTES = 227 * 1024
#: Byte offsets of 32-bit kernels lie in [-2^31, 2^31), their work items and extents below these.
MAX_SPAN_32 = 2**31
MAX_ITEMS_32 = 2**32


@dataclass(frozen=True, slots=True)
class Layout:
    """What a plan knows of an array: everything but its address, besides the low bits of that."""

    shape: tuple[int, ...]  # sizes in elements
    strides: tuple[int, ...]  # strides in bytes; zero and negative values are legal
    itemsize: int  # bytes of an element
    phase: int = 0  # address of the first element modulo 16, in bytes

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def span(self) -> tuple[int, int]:
        """Bytes touched, as an interval relative to the first element: (lowest, one past last)."""
        if 0 in self.shape:
            return 0, 0
        reaches = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        low = sum([r for r in reaches if r < 0])
        return low, sum(reaches) - low + self.itemsize

    @property
    def alignment(self) -> int:
        """Widest power of two, at most 16, that divides the address of every element, in bytes."""
        if 0 in self.shape:
            return VECTOR_BYTES
        steps = (s for n, s in zip(self.shape, self.strides, strict=True) if n > 1)
        return alignment(self.phase, *steps)

    @property
    def is_aligned(self) -> bool:
        """Whether kernels can read and write whole elements; 16 bytes are moved as two halves."""
        return self.alignment >= min(self.itemsize, WORD_BYTES)

    def last(self, count: int) -> Layout:
        """Return the layout of the last dimensions, at the first coordinate of the others."""
        first = len(self.shape) - count
        return Layout(self.shape[first:], self.strides[first:], self.itemsize, self.phase)

    @property
    def dense_bytes(self) -> int:
        """Bytes from the first element on, if nothing lies between the elements; else 0."""
        total = self.itemsize
        steps = zip(self.strides, self.shape, strict=True)
        for stride, extent in sorted((s, n) for s, n in steps if n > 1 and s != 0):
            if stride != total:
                return 0
            total *= extent
        return total


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension of an iteration space, with the byte stride of every operand along it."""

    size: int
    strides: tuple[int, ...]


def packed_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return the byte strides of a C-contiguous array."""
    sizes = (max(extent, 1) for extent in reversed(shape))
    return tuple(accumulate(sizes, mul, initial=itemsize))[-2::-1]


def merge(dimensions: Iterable[Dimension]) -> tuple[Dimension, ...]:
    """Drop dimensions of size 1 and merge neighbours that every operand walks as one."""
    merged: list[Dimension] = []
    for dimension in dimensions:
        if dimension.size == 1:
            continue
        if merged and all(
            outer == inner * dimension.size
            for outer, inner in zip(merged[-1].strides, dimension.strides, strict=True)
        ):
            merged[-1] = Dimension(merged[-1].size * dimension.size, dimension.strides)
        else:
            merged.append(dimension)
    return tuple(merged)


def order_by(dimensions: Iterable[Dimension], operand: int) -> tuple[Dimension, ...]:
    """Sort dimensions by the strides of one operand, largest first: it is walked best so."""
    return tuple(sorted(dimensions, key=lambda d: -abs(d.strides[operand])))


def sort_for_walk(dimensions: Iterable[Dimension]) -> list[Dimension]:
    """Sort dimensions so that the first operand is walked best, without those of size 1."""
    walked = [d for d in dimensions if d.size > 1]
    return sorted(walked, key=lambda d: (d.strides[0] != 0, -abs(d.strides[0])))


def alignment(*offsets: int) -> int:
    """Return the widest power of two, at most 16, that divides every offset (in bytes)."""
    combined = VECTOR_BYTES
    for offset in offsets:
        combined |= offset
    return combined & -combined


def round_up(count: int, multiple: int) -> int:
    """Return the least multiple of ``multiple`` that is at least ``count``."""
    return -(-count // multiple) * multiple


def reach(dimensions: Iterable[Dimension], operand: int) -> int:
    """Return a bound on the magnitude of the byte offsets of one operand."""
    return sum((d.size - 1) * abs(d.strides[operand]) for d in dimensions)


_SEARCH_STEPS = 20_000  # of `overlaps_itself`, before it assumes the worst


def overlaps_itself(shape: Sequence[int], strides: Sequence[int], itemsize: int = 1) -> bool:
    """Return whether two coordinates of a layout share a byte; True if that takes too long to say.

    It looks for coordinate differences whose offset is smaller than an element.
    """
    if 0 in shape:
        return False
    walked = [(n, s) for n, s in zip(shape, strides, strict=True) if n > 1]
    terms = sorted(((abs(s), n - 1) for n, s in walked), reverse=True)
    tails = [sum(s * n for s, n in terms[k:]) for k in range(len(terms) + 1)]
    if all(s >= tails[k + 1] + itemsize for k, (s, _) in enumerate(terms)):
        return False
    steps = 0

    def search(k: int, offset: int, *, zero: bool) -> bool:
        nonlocal steps
        steps += 1
        if steps > _SEARCH_STEPS:
            return True
        if k == len(terms):
            return not zero and abs(offset) < itemsize
        stride, limit = terms[k]
        room = tails[k + 1] + itemsize - 1
        if stride == 0:
            return True
        low = max(-limit, -((offset + room) // stride))
        high = min(limit, (room - offset) // stride)
        return any(
            search(k + 1, offset + d * stride, zero=zero and d == 0) for d in range(low, high + 1)
        )

    return search(0, 0, zero=True)
