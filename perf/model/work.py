"""What a launch has to do, in numbers: all that the time model knows of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Work:
    """A launch, for one architecture.

    Attributes
    ----------
    kernel : str
        Entry point.
    tasks : int
        Blocks that follow each other on the multiprocessors; tiles, where blocks draw those.
    grid, threads : int
        Blocks of the launch, threads of one.
    resident : int
        Blocks that a multiprocessor holds at once.
    least, sectors : float
        Bytes that have to move between memory and the chip; between L2 and the multiprocessors.
    moved : float
        Bytes that do move between L2 and the multiprocessors.
    read : float
        Bytes that threads load from global memory.
    loads : float
        Rounds of a task's loads, in each of which as many are in flight as its code issues.
    instructions : float
        Machine instructions of warps, of all tasks.
    special, double, convert, integer, shuffle : float
        Those of them for these pipes.
    wavefronts : float
        Passes through shared memory.
    dependent : float
        Loads of a task that others of its loads wait for: indices.
    trips : float
        Trips to L2 of a task that all else waits for: tickets, look-back.
    overlapped : bool
        Whether a block works while its next loads are in flight.
    exchanges : int
        Times that blocks hand states to another one, one after the other.
    states : float
        Bytes of states that one block reads in an exchange.
    """

    kernel: str
    tasks: int
    grid: int
    threads: int
    resident: int
    least: float
    sectors: float
    moved: float
    read: float
    loads: float
    instructions: float
    special: float = 0
    double: float = 0
    convert: float = 0
    integer: float = 0
    shuffle: float = 0
    wavefronts: float = 0
    dependent: float = 0
    trips: float = 0
    overlapped: bool = False
    exchanges: int = 0
    states: float = 0
