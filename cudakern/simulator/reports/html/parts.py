"""What pages are made of: cells, tables, and sources line by line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cudakern.simulator.reports.traffic import POOR, describe_sharing

if TYPE_CHECKING:
    from cudakern.simulator.reports.traffic import Requests
    from cudakern.simulator.sources.source_lines import SourceLine
    from cudakern.simulator.sources.source_texts import Sources


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table."""

    text: str
    value: float | None = None  # what a number sorts by
    share: float | None = None  # how long its bar is, from 0 to 1
    link: str = ""  # the place on the page that it leads to
    is_poor: bool = False  # whether its bar says that something could be better
    is_code: bool = False


#: Stands where a number has no meaning.
NO_NUMBER = Cell("-", -1)


def format_number(value: float, most: float = 0, digits: int = 0) -> Cell:
    """Return the cell of a number, with a bar if the longest one is known."""
    share = value / most if most else None
    return Cell(f"{value:,.{digits}f}", round(value, 4), share)


def format_efficiency(requests: Requests, *, is_total: bool = False) -> Cell:
    """Return the cell of an efficiency; requests of one kind may be a broadcast."""
    if not requests.sectors:
        return NO_NUMBER
    ratio = requests.efficiency
    text = describe_sharing(requests) if requests.is_broadcast and not is_total else f"{ratio:.0%}"
    return Cell(text, round(ratio, 4), ratio, is_poor=ratio < POOR)


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose rows can be sorted."""

    name: str  # of the place on the page
    title: str
    headings: tuple[str, ...]  # those of numbers end in a space
    rows: Sequence[tuple[Cell, ...]]
    note: str = ""


@dataclass
class Listing:
    """A source, line by line."""

    name: str  # of the place on the page
    file: str
    library: str
    lines: list[str]
    kernels: list[str] = field(default_factory=list)  # those whose lines a report names

    def anchor(self, line: int) -> str:
        """Return the name of a line's place on the page."""
        return f"{self.name}-{line}"


#: A listing, and the number of one of its lines.
ListingLine = tuple[Listing, int]


class Listings:
    """The sources of a report that its page shows: those that have lines of the report."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self.all: dict[tuple[str, str], Listing] = {}

    def find(self, library: str, stack: Iterable[SourceLine], kernel: str) -> ListingLine | None:
        """Return the first line of a kernel's stack whose text is known."""
        for file, number in stack:
            text = self._sources.get((library, file), "")
            if not text:
                continue
            lines = text.removesuffix("\n").split("\n")
            new = Listing(f"s{len(self.all) + 1}", file, library, lines)
            listing = self.all.setdefault((library, file), new)
            if kernel not in listing.kernels:
                listing.kernels.append(kernel)
            if 1 <= number <= len(listing.lines):
                return listing, number
        return None
