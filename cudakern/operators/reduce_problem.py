"""A reduction as planning sees it: what is kept, what is reduced, how x is walked best."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from cudakern._dtypes import DataType
from cudakern._layout import (
    MAX_ITEMS_32,
    MAX_SPAN_32,
    VECTOR_BYTES,
    WORD_BYTES,
    Dimension,
    Layout,
    alignment,
    merge,
    packed_strides,
    reach,
)
from cudakern.operators.reduce_kernels import Reduction
from cudakern.operators.reduce_types import ARG_FUNCTIONS, ReduceFunction, initial_type

if TYPE_CHECKING:
    from collections.abc import Iterable


#: Elements that positions of a 32-bit kernel may run past the last one: those of a block's turn.
SLACK = 4096


@dataclass(frozen=True)
class ReduceProblem:
    """A function of x over some of its axes.

    Attributes
    ----------
    function : ReduceFunction
        What is computed.
    x, out : Layout
        The operands, of the same rank: out has size 1 along the axes that are reduced.
    axes : tuple of int
        Those axes, ascending.
    kind, result : DataType
        Of x and of out.
    ignore_nan : bool
        Whether NaN counts as absent for max, min, argmax and argmin, instead of winning.
    last_index : bool
        Whether argmax and argmin give the last of equal positions, instead of the first.
    initial : bytes or None
        The initial value, of `initial_type`; None if there is none.
    """

    function: ReduceFunction
    x: Layout
    out: Layout
    axes: tuple[int, ...]
    kind: DataType
    result: DataType
    ignore_nan: bool = False
    last_index: bool = False
    initial: bytes | None = None

    @cached_property
    def reduction(self) -> Reduction:
        """What kernels are compiled for."""
        return Reduction(
            self.function,
            self.kind,
            self.result,
            self.ignore_nan,
            self.last_index,
            self.initial is not None,
        )

    @property
    def rest(self) -> bytes:
        """What ``finish`` of the function takes in device code: elements, or an initial value."""
        if self.initial is None:
            return struct.pack("=Q", self.length)
        given = np.frombuffer(self.initial, initial_type(self.function, self.result).numpy)
        with np.errstate(invalid="ignore"):  # of NaN
            value = given.astype(self.reduction.initial.numpy).tobytes()
        return value.ljust(WORD_BYTES, b"\0")

    @cached_property
    def kept(self) -> tuple[Dimension, ...]:
        """What is kept, with the strides of x and out: as x is walked best."""
        kept = (k for k in range(len(self.x.shape)) if k not in self.axes)
        x, out = self.x, self.out
        return merge(_ordered(Dimension(x.shape[k], (x.strides[k], out.strides[k])) for k in kept))

    @cached_property
    def logical(self) -> tuple[Dimension, ...]:
        """What is reduced, with the strides of x and of places: in the order of places."""
        shape = [self.x.shape[k] for k in self.axes]
        places = packed_strides(shape, 1) if self.function in ARG_FUNCTIONS else [0] * len(shape)
        strides = [self.x.strides[k] for k in self.axes]
        return merge(map(Dimension, shape, zip(strides, places, strict=True)))

    @cached_property
    def along(self) -> tuple[Dimension, ...]:
        """The same, as x is walked best."""
        return merge(_ordered(self.logical))

    @property
    def in_order(self) -> bool:
        """Whether walking x like this meets places in ascending order, if they matter."""
        return self.function not in ARG_FUNCTIONS or self.along == self.logical

    @property
    def length(self) -> int:
        """Elements of x for one of out."""
        return prod(d.size for d in self.along)

    @property
    def results(self) -> int:
        """Elements of out."""
        return prod(d.size for d in self.kept)

    @property
    def is_wide(self) -> bool:
        """Whether offsets need 64 bits."""
        spans = (reach(self.kept, 0) + reach(self.along, 0), reach(self.kept, 1))
        return (
            max(spans) + VECTOR_BYTES >= MAX_SPAN_32
            or max(self.length, self.results) + SLACK >= MAX_ITEMS_32
        )

    @property
    def is_aligned(self) -> bool:
        """Whether elements lie on multiples of their size; complex128 may lie on half of it."""
        strides = (d.strides[0] for d in (*self.kept, *self.along))
        return alignment(self.x.phase, *strides) % self.x.itemsize == 0

    def slab(self) -> tuple[int, int, int] | None:
        """Return x as a contiguous array of (slabs, rows, columns) reduced along rows, if it is."""
        item, out_item = self.x.itemsize, self.out.itemsize
        if len(self.along) > 1 or len(self.kept) > 2 or not self.in_order:  # noqa: PLR2004
            return None
        rows, kept = self.length, list(self.kept)
        columns = 1
        if kept and kept[-1].strides == (item, out_item):
            columns = kept.pop().size
        if rows > 1 and self.along[0].strides[0] != columns * item:
            return None
        slabs = kept[0].size if kept else 1
        apart = (rows * columns * item, columns * out_item)
        if len(kept) > 1 or (kept and kept[0].strides != apart):
            return None
        return slabs, rows, columns


def _ordered(dimensions: Iterable[Dimension]) -> list[Dimension]:
    """Sort dimensions by the strides of x, largest first; those of stride 0 are outermost."""
    return sorted(
        (d for d in dimensions if d.size > 1),
        key=lambda d: (d.strides[0] != 0, -abs(d.strides[0])),
    )
