"""Arrows in the margin of a source, from row to row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Height of a row, and distances, in units of which 16 are one rem of the page.
ROW = 22
_LANE, _EDGE, _BEND = 9, 18, 5
#: The most lanes; arrows for which no lane is free share the outermost.
_LANES = 8


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow between two rows, which count from 0."""

    number: int  # of the finding
    start: int
    end: int
    is_double: bool  # whether it has a head at either end
    path: str = ""
    heads: str = ""


def draw(arrows: Iterable[Arrow]) -> tuple[list[Arrow], int]:
    """Return arrows with their shapes, short ones inside, and the width of the margin."""
    lanes: list[list[tuple[int, int]]] = []
    placed = []
    for arrow in sorted(arrows, key=lambda a: (abs(a.end - a.start), min(a.start, a.end))):
        first, last = sorted((arrow.start, arrow.end))
        free = (i for i, lane in enumerate(lanes) if all(b < first or last < a for a, b in lane))
        number = next(free, len(lanes))
        if number == len(lanes) < _LANES:
            lanes.append([])
        number = min(number, _LANES - 1)
        lanes[number].append((first, last))
        placed.append((arrow, number))
    width = _EDGE + _LANE * len(lanes) if lanes else 0
    return [_shape(arrow, width, width - _EDGE - _LANE * lane) for arrow, lane in placed], width


def _shape(arrow: Arrow, width: int, x: int) -> Arrow:
    """Return an arrow that runs up or down at x and ends at the margin's edge."""
    start, end = (row * ROW + ROW // 2 for row in (arrow.start, arrow.end))
    bend = _BEND if end > start else -_BEND
    right, inner = width - 2, x + _BEND
    path = f"M{right} {start}H{inner}Q{x} {start} {x} {start + bend}"
    path += f"V{end - bend}Q{x} {end} {inner} {end}H{right}"
    ends = (start, end) if arrow.is_double else (end,)
    return replace(arrow, path=path, heads="".join(f"M{width} {y}l-6-3.5v7z" for y in ends))
