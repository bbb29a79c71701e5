"""The same work by several contenders: its results are checked, and timed on one core."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = np.ndarray[Any, np.dtype[Any]]
#: Makes new outputs, and returns the call that is timed and gives the result.
Prepare = Callable[[], Callable[[], Any]]

#: Calls, of which the fastest counts. One more goes before them, which compiles.
REPEATS = 9
#: Seconds that short calls are repeated for.
LONG = 0.02
OURS = "ours"


@contextmanager
def on_one_core() -> Iterator[None]:
    """Keep this thread, and those that it starts, on one core."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def require(result: Any, expected: Array, title: str) -> None:  # noqa: ANN401  of any contender
    """Assert that a result, or its sum, is what an oracle says: integers exactly, floats nearly."""
    found = np.asarray(result if expected.ndim else result.sum())
    assert found.shape == expected.shape, title
    if expected.dtype.kind == "f":
        least = 1e-5 * float(np.abs(expected).max())  # what cancels out has that error
        assert np.allclose(found, expected, rtol=1e-4, atol=least), title
    else:
        assert np.array_equal(found, expected), title


@dataclass(frozen=True)
class Row:
    """The times of some work, in seconds."""

    title: str
    times: dict[str, float]  # of the processor, on one core, by contender
    wall: float  # ours, on all cores

    def ratio(self, other: str) -> float | None:
        """Return how many times as long as another we take; None if it does not do this work."""
        return self.times[OURS] / self.times[other] if other in self.times else None


@dataclass(frozen=True)
class Comparison:
    """Some work, its contenders, ours among them, and its expected result."""

    title: str
    contenders: dict[str, Prepare]
    expected: Array

    def row(self) -> Row:
        """Return the least times."""
        with on_one_core():
            times = {name: self._least(name, time.process_time) for name in self.contenders}
        return Row(self.title, times, self._least(OURS, time.perf_counter))

    def _least(self, name: str, clock: Callable[[], float]) -> float:
        prepare, title = self.contenders[name], f"{self.title}, {name}"
        require(prepare()(), self.expected, title)  # the first call compiles
        seconds: list[float] = []
        result = None
        while len(seconds) < REPEATS or sum(seconds) < LONG:
            call = prepare()
            del result  # its memory serves the next one
            start = clock()
            result = call()
            seconds.append(clock() - start)
        require(result, self.expected, title)
        return min(seconds)
