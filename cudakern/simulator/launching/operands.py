"""The arrays of a launch, as the checker lays them out: their bytes, addresses and names."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.simulator.runtime import abi
from cudakern.values.layout import Layout

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Sequence

#: Allocations of a GPU start at multiples of this.
_ALLOCATION_ALIGNMENT = 512


@dataclass
class Operand:
    """An array that a kernel gets the address of."""

    name: int | str  # position among the kernel's arguments, or what findings call it
    address: int  # of its first element
    layout: Layout
    phase: int  # its address modulo 512, as it would be on a GPU
    parameter_offset: int | None  # where its address is in the parameters, if it is an argument
    read_only: bool = False  # whether a write is an error
    unwritten: np.ndarray | bool = False  # which bytes of the span nothing has written yet
    parameter: str = ""  # its name in a raw kernel's text, if that is known
    no_addresses: bool = False  # whether no element of it can be an address
    is_strided: bool = False  # whether a raw kernel sees memory besides its elements
    dtype: np.dtype[Any] | None = None  # if a raw kernel gets it
    start: int = field(init=False)  # lowest address of its elements
    end: int = field(init=False)  # one past the highest

    def __post_init__(self) -> None:
        low, high = self.layout.span
        self.start, self.end = self.address + low, self.address + high


@dataclass
class Buffer:
    """One operand, or several that share memory, which the checker copies as a whole."""

    start: int
    end: int
    operands: list[Operand] = field(default_factory=list)
    _masks: list[np.ndarray] = field(default_factory=list)

    def structure(self, *, masks: bool) -> ctypes.Structure:
        """Return the form in which the runtime takes it; valid as long as this object is.

        Without masks, the memory between the elements of an array counts as the array's, too.
        """
        first = self.operands[0]
        structure = abi.BufferStruct(
            host=self.start,
            bytes=self.end - self.start,
            phase=(first.phase + first.start - first.address) % _ALLOCATION_ALIGNMENT,
            read_only=all(operand.read_only for operand in self.operands),
            no_addresses=all(operand.no_addresses for operand in self.operands),
        )
        sizes = {operand.layout.size * operand.layout.itemsize for operand in self.operands}
        if masks and sizes != {structure.bytes}:
            structure.valid = self._mask([(o, True) for o in self.operands])
        if not structure.valid and all(o.unwritten is True for o in self.operands):
            structure.all_unwritten = True
        elif masks and any(o.unwritten is not False for o in self.operands):
            structure.unwritten = self._mask([(o, o.unwritten) for o in self.operands])
        return structure

    def _mask(self, marks: Sequence[tuple[Operand, np.ndarray | bool]]) -> int:
        mask = np.zeros(max(1, self.end - self.start), np.uint8)
        for operand, mark in marks:
            low, high = operand.start - self.start, operand.end - self.start
            part = mask[low:high]
            if isinstance(mark, np.ndarray):
                part |= mark
            elif mark and part.size:
                layout = operand.layout
                steps = zip(layout.shape, layout.strides, strict=True)
                once = (1 if stride == 0 else extent for extent, stride in steps)
                elements = np.lib.stride_tricks.as_strided(
                    part[operand.address - operand.start :],
                    (*once, layout.itemsize),
                    (*layout.strides, 1),
                )
                elements[...] = 1
        self._masks.append(mask)
        return int(mask.ctypes.data)


def group_operands(operands: Sequence[Operand]) -> list[Buffer]:
    """Return the buffers of a launch, in the order of their addresses."""
    buffers: list[Buffer] = []
    for operand in sorted(operands, key=attrgetter("start", "end")):
        if not buffers or operand.start >= buffers[-1].end:
            buffers.append(Buffer(operand.start, operand.end))
        buffers[-1].operands.append(operand)
        buffers[-1].end = max(buffers[-1].end, operand.end)
    return buffers
