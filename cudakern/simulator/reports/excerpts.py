"""Lines of a source with what happens there: carets, and labels below them."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cudakern.display.characters import TAB, visible
from cudakern.display.styled_text import Span, Style
from cudakern.simulator.sources.source_lines import SourceLine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cudakern.display.styled_text import Line

_INDENT = "  "
_CUT = "..."
#: Columns that a line of source gets at least.
_LEAST = 20


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a line of the source is pointed at, and the label of that."""

    source: SourceLine | None
    code: str
    column: int | None
    label: str
    style: Style

    @property
    def name(self) -> str:
        """File and line, without folders."""
        file, line = self.source or ("", 0)
        return one_line(f"{file.rpartition('/')[2]}:{line}") if file else "unknown line"


def one_line(text: str) -> str:
    """Return a text that a terminal shows in one line, every character of it."""
    return visible(text, kept="")


def excerpt(marks: list[Mark], width: int) -> Iterator[Line]:
    """Yield the lines of the source that marks point at, each with its labels below it."""
    gutter = max(len(mark.name) for mark in marks)
    room = max(_LEAST, width - gutter - len(f"{_INDENT} | "))
    for together in _by_line(marks, room):
        yield from _excerpt(together, gutter, room)


def _by_line(marks: list[Mark], room: int) -> list[list[Mark]]:
    """Return marks together that one line of the source can show."""
    if len({mark.source for mark in marks}) == 1:
        columns = [_cells(mark.code, mark.column)[1] for mark in marks]
        if max(columns) - min(columns) < room // 2:
            return [marks]
    return [[mark] for mark in marks]


def _excerpt(marks: Sequence[Mark], gutter: int, room: int) -> Iterator[Line]:
    """Yield a line of the source and, below it, what happens there."""
    first = marks[0]
    name, margin = (Span(f"{_INDENT}{text:>{gutter}} |", Style.QUIET) for text in (first.name, ""))
    if not first.code:
        yield from ((name, Span(" "), Span(mark.label, mark.style)) for mark in marks)
        return
    cells = [_cells(mark.code, mark.column) for mark in marks]
    text, shift = _window(cells[0][0], min(at for _, at in cells), room)
    yield name, Span(f" {text}")
    placed = [(at - shift, mark) for mark, (_, at) in zip(marks, cells, strict=True)]
    for line in _pointers(sorted(placed, key=lambda pair: -pair[0]), room):
        yield margin, Span(" "), *line


def _pointers(placed: Sequence[tuple[int, Mark]], room: int) -> Iterator[Line]:
    """Yield carets with the label of the last one, then the others' labels below theirs."""
    carets = {at: mark.style for at, mark in reversed(placed) if mark.column is not None}
    line: list[Span] = []
    end = 0
    for at in sorted(carets):
        line += [Span(" " * (at - end)), Span("^", carets[at])]
        end = at + 1
    for at, mark in placed:
        if not mark.label:
            continue
        column = at + 2 if at == max(carets, default=-1) else at
        if end and (column <= end or column + len(mark.label) > room):
            yield tuple(line)
            line, end = [], 0
        column = min(column, max(0, room - len(mark.label)))
        line += [Span(" " * (column - end)), Span(mark.label, mark.style)]
        end = column + len(mark.label)
    if line:
        yield tuple(line)


def _cells(code: str, column: int | None) -> tuple[list[str], int]:
    """Return what the columns of a terminal show of a line, and where a character of it is.

    Without the character's number, that is where the text begins. Behind a character that fills two
    columns of the terminal, the second one's is empty.
    """
    cells: list[str] = []
    starts: list[int] = []
    for c in code:
        starts.append(len(cells))
        if c == "\t":
            cells += " " * (TAB - len(cells) % TAB)
        elif unicodedata.combining(c) and cells:
            cells[-1] += c
        elif unicodedata.east_asian_width(c) in "WF":
            cells += [c, ""]
        else:
            cells += one_line(c)
    number = len(code) - len(code.lstrip()) if column is None else column - 1
    return cells, starts[number] if number < len(starts) else len(cells)


def _window(cells: list[str], caret: int, room: int) -> tuple[str, int]:
    """Return a line's part around a caret, so wide at most, and how far it is shifted left."""
    start = max(0, min(caret - room // 4, len(cells) - room))
    end = start + room
    part = cells[start:end]
    if end < len(cells):
        part[-len(_CUT) :] = _CUT
        if cells[end - len(_CUT)] == "":  # half of a wide character is left
            part[-len(_CUT) - 1] = " "
    if start:
        part[: len(_CUT)] = _CUT
        if part[len(_CUT)] == "":
            part[len(_CUT)] = " "
    return "".join(part), start
