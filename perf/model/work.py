"""What a launch has to do, in numbers: all that the time model knows of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Work:
    """A launch, for one architecture."""

    kernel: str  # entry point
    tasks: int  # blocks that follow each other; tiles, where blocks draw those
    grid: int  # blocks of the launch
    threads: int  # of a block
    resident: int  # blocks that a multiprocessor holds at once
    least: float  # bytes that have to move between memory and the chip
    sectors: float  # bytes that have to move between L2 and the multiprocessors
    moved: float  # bytes that do move there
    read: float  # bytes that threads load from global memory
    loads: float  # rounds of a task's loads: in each, as many are in flight as its code issues
    instructions: float  # machine instructions of warps, of all tasks
    special: float = 0  # those of them for special functions
    double: float = 0  # for float64
    convert: float = 0  # conversions
    integer: float = 0  # integers, comparisons, selections
    shuffle: float = 0
    wavefronts: float = 0  # passes through shared memory
    dependent: float = 0  # loads of a task that others of its loads wait for: indices
    trips: float = 0  # trips to L2 of a task that all else waits for: tickets, look-back
    overlapped: bool = False  # whether a block works while its next loads are in flight
    exchanges: int = 0  # times that blocks hand states to another one, one after the other
    states: float = 0  # bytes of states that one block reads in an exchange
