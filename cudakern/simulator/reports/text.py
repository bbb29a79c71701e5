"""What a terminal shows: findings, each with its line of the source, and errors of compilers."""

from __future__ import annotations

import re
import shutil
import unicodedata
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cudakern.simulator.reports.characters import TAB, plural, visible
from cudakern.simulator.sources.source_lines import Source, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.text import Text

    from cudakern.errors import KernelCompileError
    from cudakern.simulator.reports.findings import Finding, OtherAccess
    from cudakern.simulator.reports.sessions import CheckReport

_INDENT = "  "
_CUT = "..."
#: Columns where nothing tells how many there are, and the fewest that a line of source gets.
_COLUMNS = 120
_LEAST = 20
#: Lines of source around the one that a compiler names.
_AROUND = 2
#: Where a compiler says an error is, and its words.
_ERROR = re.compile(
    r"^(?P<file>[^\n]+?)(?:\((?P<line>\d+)\)|:(?P<other>\d+)): (?:catastrophic )?error\b[^\n]*"
    r"(?:\n  (?P<code>[^\n]*)\n  (?P<before>\s*)\^)?",
    re.MULTILINE,
)
#: ANSI's numbers of styles.
_FOUND, _OTHER, _STRONG, _QUIET = "1;31", "1;34", "1", "36"


def identity(finding: Finding) -> tuple[object, ...]:
    """Return what findings have in common that are the same: kind, lines, kernel and array."""
    lines = [finding.source] if finding.other is None else [finding.source, finding.other.source]
    if finding.kind == "race":  # either of the two may have come first
        lines.sort(key=str)
    told = finding.message if finding.source is None else ""
    return (finding.kind, finding.kernel, finding.library, *lines, finding.array, told)


def grouped(findings: Iterable[Finding]) -> list[Finding]:
    """Return the first of all findings that are the same, with the most threads that any has.

    Launches of a kernel find the same again and again.
    """
    found: dict[tuple[object, ...], Finding] = {}
    for finding in findings:
        known = found.setdefault(identity(finding), finding)
        if finding.threads > known.threads:
            found[identity(finding)] = replace(known, threads=finding.threads)
    return [*found.values()]


def described(
    findings: Iterable[Finding],
    notes: Iterable[str] = (),
    *,
    color: bool = False,
    width: int | None = None,
) -> str:
    """Return findings as a terminal shows them; ``color`` adds nothing but ANSI's codes.

    Each has its one-line message, then the lines of the source, cut to ``width`` columns, by
    default the terminal's. Those that are the same are shown once.
    """
    page = _Page(color, width or shutil.get_terminal_size((_COLUMNS, 0)).columns)
    blocks = ["\n".join(page.finding(finding)) for finding in grouped(findings)]
    between = "\n\n" if any("\n" in block for block in blocks) else "\n"
    told = between.join(blocks)
    remarks = "\n".join(map(_safe, notes))
    return (between if told and remarks else "").join((told, remarks))


def as_rich(report: CheckReport, width: int) -> Text:
    """Return what rich prints of a report."""
    from rich.text import Text  # noqa: PLC0415  asked for by rich itself

    if not report.findings:
        return Text(str(report))
    found = described(report.findings, report.notes, color=True, width=width)
    return Text.from_ansi(found)


def compiler_lines(error: KernelCompileError, *, color: bool = False) -> Iterator[str]:
    """Yield the source lines around a compiler's first error, if it names one."""
    errors = [*_ERROR.finditer(error.log)]
    if not errors:
        return
    first = errors[0]
    number = int(first["line"] or first["other"])
    text = text_of(error.text, error.source, first["file"])
    start = max(1, number - _AROUND)
    around = text.removesuffix("\n").split("\n")[start - 1 : number + _AROUND]
    if not text or number >= start + len(around):  # the log may have the line alone
        around, start = [first["code"]] if first["code"] else [], number
    width = len(str(start + len(around) - 1))
    for at, line in enumerate(around, start):
        mark = ">" if at == number else " "
        yield f"{mark} {at:>{width}} | {visible(line).expandtabs(TAB)}"
        if at == number and first["before"] is not None:
            column = len((first["code"] or "")[: len(first["before"])].expandtabs(TAB))
            yield f"  {'':{width}} | {'':{column}}{_styled(_STRONG, '^', color=color)}"
    if len(errors) > 1:
        yield f"and {plural(len(errors) - 1, 'more error')}: error.log has all"


def _styled(style: str, text: str, *, color: bool) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if color and text else text


@dataclass(frozen=True)
class _Mark:
    """Where a line of the source is pointed at, and what is said of that."""

    place: str  # file and line, without folders, which the message has
    source: Source | None
    code: str
    column: int | None
    label: str
    style: str


@dataclass(frozen=True)
class _Page:
    """How a text is to look."""

    color: bool
    width: int

    def finding(self, finding: Finding) -> Iterator[str]:
        """Yield the lines of a finding."""
        kernel, kind = _safe(finding.kernel), _safe(finding.kind)
        rest = _safe(str(finding)).removeprefix(f"{kernel}: {kind}: ")
        styled = self._styled
        yield f"{styled(_STRONG, kernel)}: {styled(_FOUND, kind)}: {styled(_STRONG, rest)}"
        other = finding.other
        marks = [_mark(finding, _FOUND, finding.threads, alone=other is None)]
        if other is not None:
            marks.append(_mark(other, _OTHER))
        if any(mark.code or mark.label for mark in marks):
            gutter = max(len(mark.place) for mark in marks)
            room = max(_LEAST, self.width - gutter - len(f"{_INDENT} | "))
            for together in _by_line(marks, room):
                yield from self._excerpt(together, gutter, room)

    def _styled(self, style: str, text: str) -> str:
        return _styled(style, text, color=self.color)

    def _excerpt(self, marks: Sequence[_Mark], gutter: int, room: int) -> Iterator[str]:
        """Yield a line of the source and, below it, what happens there."""
        first = marks[0]
        name, margin = (
            self._styled(_QUIET, f"{_INDENT}{text:>{gutter}} |") for text in (first.place, "")
        )
        if not first.code:
            yield from (f"{name} {self._styled(mark.style, mark.label)}" for mark in marks)
            return
        cells = [_cells(mark.code, mark.column) for mark in marks]
        text, shift = _window(cells[0][0], min(at for _, at in cells), room)
        yield f"{name} {text}"
        placed = [(at - shift, mark) for mark, (_, at) in zip(marks, cells, strict=True)]
        for line in self._pointers(sorted(placed, key=lambda pair: -pair[0]), room):
            yield f"{margin} {line}"

    def _pointers(self, placed: Sequence[tuple[int, _Mark]], room: int) -> Iterator[str]:
        """Yield carets with the label of the last one, then the others' labels below theirs."""
        carets = {at: mark.style for at, mark in reversed(placed) if mark.column is not None}
        line, end = "", 0
        for at in sorted(carets):
            line += f"{'':{at - end}}{self._styled(carets[at], '^')}"
            end = at + 1
        for at, mark in placed:
            if not mark.label:
                continue
            column = at + 2 if at == max(carets, default=-1) else at
            if end and (column <= end or column + len(mark.label) > room):
                yield line
                line, end = "", 0
            column = min(column, max(0, room - len(mark.label)))
            line += f"{'':{column - end}}{self._styled(mark.style, mark.label)}"
            end = column + len(mark.label)
        if line:
            yield line


def _mark(
    access: Finding | OtherAccess, style: str, threads: int = 1, *, alone: bool = False
) -> _Mark:
    file, line = access.source or ("", 0)
    place = _safe(f"{file.rpartition('/')[2]}:{line}") if file else "unknown line"
    who = f"block {access.block}, thread {access.thread}"
    label = f"{access.access} by {who}" if access.access else who
    if alone and not access.access:  # of which the message tells
        label = f"{threads} threads" if threads > 1 else ""
    elif threads > 1:
        label += f" and {threads - 1} more"
    return _Mark(place, access.source, access.code.rstrip(), access.column, label, style)


def _by_line(marks: list[_Mark], room: int) -> list[list[_Mark]]:
    """Return marks together that one line of the source can show."""
    if len({mark.source for mark in marks}) == 1:
        columns = [_cells(mark.code, mark.column)[1] for mark in marks]
        if max(columns) - min(columns) < room // 2:
            return [marks]
    return [[mark] for mark in marks]


def _safe(text: str) -> str:
    """Return a text that a terminal shows in one line, every character of it."""
    return visible(text, kept="")


def _cells(code: str, column: int | None) -> tuple[list[str], int]:
    """Return what the columns of a terminal show of a line, and where a character of it is.

    Without a number of it, that is where the text begins. Behind a character that fills two columns
    of the terminal, the second one's is empty.
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
            cells += _safe(c)
    number = len(code) - len(code.lstrip()) if column is None else column - 1
    return cells, starts[number] if number < len(starts) else len(cells)


def _window(cells: list[str], caret: int, room: int) -> tuple[str, int]:
    """Return a line's part around a caret, so wide at most, and how far it is shifted left."""
    start = max(0, min(caret - room // 4, len(cells) - room))
    end = start + room
    shown_cells = cells[start:end]
    if end < len(cells):
        shown_cells[-len(_CUT) :] = _CUT
        if cells[end - len(_CUT)] == "":  # half of a wide character is left
            shown_cells[-len(_CUT) - 1] = " "
    if start:
        shown_cells[: len(_CUT)] = _CUT
        if shown_cells[len(_CUT)] == "":
            shown_cells[len(_CUT)] = " "
    return "".join(shown_cells), start
