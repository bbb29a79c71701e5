"""What machine code can break: the kinds of faults, their figures, and their sentences."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any


class Kind(Enum):
    """What is wrong with a kernel; the value is the sentence that says so."""

    SPILLS = "{found.stack} bytes of stack and {found.local} of local memory, not none"
    REGISTERS = "{found} registers, more than {limit}"
    STATIC_SHARED = "{found} bytes of static shared memory, not none"
    BLOCKS = "{found} blocks, not {limit}"
    BYTES_IN_FLIGHT = "{found} bytes in flight, not {limit}"
    INSTRUCTIONS = "{found:.1f} instructions for 16 bytes, more than {limit}"
    TAKES = "{found:.1f} instructions to take an element from a window, more than {limit}"
    LOADS = "16-byte loads in flight: {found}, not {limit}"
    LOADS_OF_TILES = "16-byte loads in flight: {found}, not {limit} in whole tiles"
    STREAMED_LOADS = "16-byte NA loads in flight: {found}, not {limit}"
    LOOK_BACK = "reads of the look-back in flight: {found}, not {limit}"
    TICKET = "reads of the look-back behind a ticket: {found}"
    NO_VECTOR_LOAD = "no 16-byte load"
    NO_VECTOR_STORE = "no 16-byte store with the evict-first hint"
    OTHER_STORE = "another store than STG.E.EF.128: {found}"
    DIVISION = "a division: {found}"
    FLUSH = "takes subnormal numbers for zero: {found}"
    ATOMICS = "atomic operations: {found}, not {limit} that count"
    FENCE = "a fence: {found}"
    FENCES = "fences: {found}, not {limit} for other blocks"
    USELESS = "of no use here: {found}"


@dataclass(frozen=True, slots=True)
class Fault:
    """A budget that a kernel breaks."""

    kind: Kind
    found: Any = None  # the figure, figures or instructions that break it
    limit: int = 0  # what the budget allows or demands, where that is a number

    def __str__(self) -> str:
        """Return the sentence."""
        return self.kind.value.format(found=self.found, limit=self.limit)
