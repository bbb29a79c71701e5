"""How the threads of a block run in plain launches, where their kernel leaves a choice.

A library that compiles fast serves launches of few threads; where there are many, one that runs
fast is worth its compilation. Results are the same in each way; tests have all kernels run in one.
"""

from __future__ import annotations

from contextlib import contextmanager
from enum import Enum
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cudakern.simulator.runtime.limits import Grid

#: Threads of a launch that are many.
_MANY = 1 << 15


class Way(Enum):
    """A way, the fastest first."""

    TOGETHER = "together"  # in loops, in which lanes go on together as long as they can
    ALONE = "alone"  # in loops, but each thread by itself
    FIBERS = "fibers"


#: The way of kernels that are loaded from now on; None leaves it to each launch.
chosen: Way | None = None


def is_fast(grid: Grid, block: Grid) -> bool:
    """Return whether the library for a launch is one that runs fast."""
    return chosen is Way.TOGETHER or (chosen is None and prod(grid) * prod(block) >= _MANY)


@contextmanager
def forced(way: Way | None) -> Iterator[None]:
    """Have kernels that are loaded inside of the context run in a way."""
    global chosen  # noqa: PLW0603  a setting of the process
    before, chosen = chosen, way
    try:
        yield
    finally:
        chosen = before
