"""How the threads of a block run in plain launches, where their kernel leaves a choice.

Results are the same in each way; tests have kernels that are compiled anew run in one of them.
"""

from __future__ import annotations

from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Way(Enum):
    """A way, the fastest first."""

    TOGETHER = "together"  # in loops, in which lanes go on together as long as they can
    ALONE = "alone"  # in loops, but each thread by itself
    FIBERS = "fibers"


#: The way of kernels that are loaded from now on.
chosen = Way.TOGETHER


@contextmanager
def forced(way: Way) -> Iterator[None]:
    """Have kernels that are loaded inside of the context run in a way."""
    global chosen  # noqa: PLW0603  a setting of the process
    before, chosen = chosen, way
    try:
        yield
    finally:
        chosen = before
