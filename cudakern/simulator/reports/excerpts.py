"""Excerpts of a source: its lines, carets below them, and labels that say what happens there."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cudakern.display.characters import TAB, escape_unprintable
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
class Label:
    """A place in a line of the source, and the text that stands below it."""

    source: SourceLine | None
    code: str
    column: int | None
    text: str
    style: Style

    @property
    def name(self) -> str:
        """File and line, without folders."""
        file, line = self.source or ("", 0)
        return one_line(f"{file.rpartition('/')[2]}:{line}") if file else "unknown line"


def one_line(text: str) -> str:
    """Return a text with which a terminal fills one line, and in which every character is seen."""
    return escape_unprintable(text, kept="")


def excerpt(labels: list[Label], width: int) -> Iterator[Line]:
    """Yield the lines of the source that labels point at, each with its labels below it."""
    gutter = max(len(label.name) for label in labels)
    room = max(_LEAST, width - gutter - len(f"{_INDENT} | "))
    for together in _group_by_line(labels, room):
        yield from _excerpt_line(together, gutter, room)


def _group_by_line(labels: list[Label], room: int) -> list[list[Label]]:
    """Return labels in groups, each of which fits below one line of the source."""
    if len({label.source for label in labels}) == 1:
        columns = [_split_into_cells(label.code, label.column)[1] for label in labels]
        if max(columns) - min(columns) < room // 2:
            return [labels]
    return [[label] for label in labels]


def _excerpt_line(labels: Sequence[Label], gutter: int, room: int) -> Iterator[Line]:
    """Yield a line of the source and, below it, its labels."""
    first = labels[0]
    name, margin = (Span(f"{_INDENT}{text:>{gutter}} |", Style.QUIET) for text in (first.name, ""))
    if not first.code:
        yield from ((name, Span(" "), Span(label.text, label.style)) for label in labels)
        return
    cells = [_split_into_cells(label.code, label.column) for label in labels]
    text, shift = _cut_around(cells[0][0], min(at for _, at in cells), room)
    yield name, Span(f" {text}")
    placed = [(at - shift, label) for label, (_, at) in zip(labels, cells, strict=True)]
    for line in _point_at(sorted(placed, key=lambda pair: -pair[0]), room):
        yield margin, Span(" "), *line


def _point_at(placed: Sequence[tuple[int, Label]], room: int) -> Iterator[Line]:
    """Yield carets, the last one with its label, then the other labels below their carets."""
    carets = {at: label.style for at, label in reversed(placed) if label.column is not None}
    line: list[Span] = []
    end = 0
    for at in sorted(carets):
        line += [Span(" " * (at - end)), Span("^", carets[at])]
        end = at + 1
    for at, label in placed:
        if not label.text:
            continue
        column = at + 2 if at == max(carets, default=-1) else at
        if end and (column <= end or column + len(label.text) > room):
            yield tuple(line)
            line, end = [], 0
        column = min(column, max(0, room - len(label.text)))
        line += [Span(" " * (column - end)), Span(label.text, label.style)]
        end = column + len(label.text)
    if line:
        yield tuple(line)


def _split_into_cells(code: str, column: int | None) -> tuple[list[str], int]:
    """Return what the terminal's columns show of a line, and the column of one of its characters.

    Without the character's number, that is where the text begins. A character that fills two
    columns leaves the second one empty.
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


def _cut_around(cells: list[str], caret: int, room: int) -> tuple[str, int]:
    """Return the part of a line around a caret, and how far left that is shifted."""
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
