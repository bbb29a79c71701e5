"""What small lines of the matrix move in the simulator, against budgets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cudakern._commands import console
from cudakern.values.layout import SECTOR_BYTES
from perf.engines import kernel_traffic, planned_as

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perf.cases.base import Line

#: Elements that the lines are reduced to.
ELEMENTS = 2**18


@dataclass(frozen=True, slots=True)
class Moved:
    """What a line moved, in bytes, and what it has to and may."""

    case: str
    line: str
    bytes: int
    least: float
    allowed: float

    @property
    def ratio(self) -> float:
        """How many times the least bytes were moved."""
        return self.bytes / self.least

    def fault(self) -> str | None:
        """Return how the budget is broken, in a line; None if it is kept."""
        if self.ratio <= self.allowed:
            return None
        return f"{self.case}, {self.line}: moves {self.ratio:.3f} of its bytes, not {self.allowed}"


def measure(lines: Sequence[tuple[str, Line]]) -> list[Moved]:
    """Return what lines, by the names of their cases, move at reduced size."""
    moved = []
    with console.progress("simulating", len(lines), "lines") as done:
        for case, line in lines:
            workload = line.workload.shrink(ELEMENTS)
            with planned_as(line.workload):
                nbytes = sum(k.sectors for k in kernel_traffic(workload)) * SECTOR_BYTES
            least = workload.traffic(cached=False).total
            moved.append(Moved(case, workload.title, nbytes, least, line.moved))
            done(case)
    return moved


def show(moved: Sequence[Moved]) -> None:
    """Print the traffic of each line."""
    console.show(f"traffic in the simulator, about {ELEMENTS} elements, without a cache")
    rows = [
        (m.case, m.line, f"{m.least / 1e6:.2f}", f"{m.ratio:.3f}", f"{m.allowed:g}") for m in moved
    ]
    console.show_table(rows, ("case", "line", "MB at least", "moved", "may"))
