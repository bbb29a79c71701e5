"""How the threads of a block run in plain launches, where their kernel leaves a choice.

A library that compiles fast serves launches of few threads; where there are many, one that runs
fast is worth its compilation. Results are the same in each mode; tests run all kernels in one.
"""

from __future__ import annotations

from enum import Enum
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cudakern.simulator.runtime.limits import Grid

#: Threads of a launch that are many.
_MANY = 1 << 15


class ExecutionMode(Enum):
    """How threads take turns; the fastest mode first."""

    WARP_LOOPS = "warp_loops"  # the lanes of a warp go on together as long as they can
    THREAD_LOOPS = "thread_loops"  # each thread goes on by itself
    FIBERS = "fibers"


#: The mode of kernels that are loaded from now on, which tests set; None leaves it to each launch.
chosen: ExecutionMode | None = None


def is_fast(grid: Grid, block: Grid) -> bool:
    """Return whether the library for a launch is one that runs fast."""
    if chosen is None:
        return prod(grid) * prod(block) >= _MANY
    return chosen is ExecutionMode.WARP_LOOPS
