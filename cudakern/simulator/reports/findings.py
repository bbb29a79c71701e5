"""What kernels did that they must not do: findings, and how they are shown."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cudakern.display import notebook
from cudakern.display.characters import plural
from cudakern.display.styled_text import Span, Style
from cudakern.errors import SimulatorError
from cudakern.simulator.reports.excerpts import Mark, excerpt, one_line
from cudakern.simulator.sources.source_lines import SourceLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cudakern.display.styled_text import Line

#: Of a block or a thread: x, y, z.
Coordinates = tuple[int, ...]
#: Columns where nothing tells how many there are.
_COLUMNS = 120


@dataclass(frozen=True, slots=True)
class OtherAccess:
    """The other place of a finding.

    Attributes
    ----------
    access : str
        ``"read"``, ``"write"``, ``"atomic update"`` or ``"asynchronous copy"`` of a race;
        ``"use"`` of an undefined value.
    source, column, stack, code
        As of `Finding`.
    block, thread : tuple of int
        Coordinates of the block and of the thread, (x, y, z).

    Examples
    --------
    >>> import numpy as np
    >>> import cudakern as ck
    >>> code = 'extern "C" __global__ void f(int* x) { x[0] = threadIdx.x; }'
    >>> try:
    ...     with ck.simulator.checked():
    ...         ck.simulator.RawKernel(code, "f")((1,), (2,), (np.zeros(1, np.int32),))
    ... except ck.SimulatorError as error:
    ...     (finding,) = error.findings
    >>> finding.access, finding.thread, finding.other.access, finding.other.thread
    ('write', (0, 0, 0), 'write', (1, 0, 0))
    >>> finding.code[finding.column - 1 :]
    'x[0] = threadIdx.x; }'
    """

    access: str
    source: SourceLine | None
    column: int | None
    stack: tuple[SourceLine, ...]
    block: Coordinates
    thread: Coordinates
    code: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a kernel did that it must not do.

    Attributes
    ----------
    kind : str
        ``"out_of_bounds"``, ``"misaligned"``, ``"uninitialized"``, ``"inactive_lane"``,
        ``"race"``, ``"barrier_divergence"`` or ``"deadlock"``; also what ends any launch:
        ``"stack_overflow"``, ``"trap"``, ``"assert"``, ``"misuse"``.
    kernel : str
        Name of the kernel.
    block, thread : tuple of int
        Coordinates of the block and of the thread, (x, y, z).
    source : (str, int) or None
        File and line of the access or barrier, None if the compiler kept no trace of it. Within a
        header of CUDA, CuPy, libcu++ or CUB, the line of the user's own that led there.
    stack : tuple of (str, int)
        The source, then where the function it lies in was called, if it was inlined, and so on;
        behind all of the user's own lines, those of headers of CUDA, CuPy, libcu++ and CUB.
    array : int, str or None
        Position among the kernel's arguments, or the name of an operator's tensor, of one of the
        ``arrays`` of `checked`, of a shared array or of a global variable; ``"simulator.empty"``
        for an array of `empty` that only its address leads to.
    index : int or None
        Element of that array, counted from its first in memory order; negative before it.
    message : str
        One line that says all that.
    access : str
        A read, a write or an atomic update; empty for what accesses no memory.
    column : int or None
        Where in the line of `source` the array is indexed, from 1. If it is not, where the
        statement begins, as the compiler tells: NVRTC names the first one of a line. None if it
        does not.
    threads : int
        How many threads were found to do so, this one among them. Of all findings of a launch, a
        million are counted.
    code : str
        The text of the line of `source`; empty if it is not known.
    other : OtherAccess or None
        What a race is with, if that is an access; where an undefined value is used, if elsewhere.
    library : str
        The library that the kernel is in: kernels of one name can be different ones.
    name : str
        What the kernel's text calls the array; empty if that is not known.

    Examples
    --------
    >>> import numpy as np
    >>> import cudakern as ck
    >>> code = 'extern "C" __global__ void f(int* x, int* y) { y[threadIdx.x] = x[threadIdx.x+1]; }'
    >>> shift = ck.simulator.RawKernel(code, "f")
    >>> x, y = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    >>> try:
    ...     with ck.simulator.checked():
    ...         shift((1,), (32,), (x, y))
    ... except ck.SimulatorError as error:
    ...     (finding,) = error.findings
    >>> finding.kind, finding.source, finding.thread, finding.array, finding.index
    ('out_of_bounds', ('f.cu', 1), (31, 0, 0), 0, 32)
    """

    kind: str
    kernel: str
    block: Coordinates
    thread: Coordinates
    source: SourceLine | None
    stack: tuple[SourceLine, ...]
    array: int | str | None
    index: int | None
    message: str
    access: str = ""
    column: int | None = None
    threads: int = 1
    code: str = ""
    other: OtherAccess | None = None
    library: str = ""
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kernel}: {self.kind}: {self.message}"

    def lines(self, width: int) -> Iterator[Line]:
        """Yield what a terminal shows: the message, then the lines of the source."""
        kernel, kind = one_line(self.kernel), one_line(self.kind)
        rest = one_line(str(self)).removeprefix(f"{kernel}: {kind}: ")
        yield (
            Span(kernel, Style.STRONG),
            Span(": "),
            Span(kind, Style.FIRST),
            Span(": "),
            Span(rest, Style.STRONG),
        )
        other = self.other
        marks = [_mark(self, Style.FIRST, self.threads, alone=other is None)]
        if other is not None:
            marks.append(_mark(other, Style.OTHER))
        if any(mark.code or mark.label for mark in marks):
            yield from excerpt(marks, width)

    def _repr_html_(self) -> str:
        """Show it with its lines in a notebook."""
        return notebook.box("", notebook.styled(lines_of([self], width=notebook.COLUMNS)))


def _mark(
    access: Finding | OtherAccess, style: Style, threads: int = 1, *, alone: bool = False
) -> Mark:
    who = f"block {access.block}, thread {access.thread}"
    label = f"{access.access} by {who}" if access.access else who
    if alone and not access.access:  # the message has the rest
        label = f"{threads} threads" if threads > 1 else ""
    elif threads > 1:
        label += f" and {threads - 1} more"
    return Mark(access.source, access.code.rstrip(), access.column, label, style)


def identity(finding: Finding) -> tuple[object, ...]:
    """Return what the same finding has in every launch: kind, lines, kernel and array."""
    lines = [finding.source] if finding.other is None else [finding.source, finding.other.source]
    if finding.kind == "race":  # either of the two may have come first
        lines.sort(key=str)
    message = finding.message if finding.source is None else ""
    return (finding.kind, finding.kernel, finding.library, *lines, finding.array, message)


def merge_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the first of all findings that are the same, with the most threads that any has.

    Launches of a kernel find the same again and again.
    """
    merged: dict[tuple[object, ...], Finding] = {}
    for finding in findings:
        known = merged.setdefault(identity(finding), finding)
        if finding.threads > known.threads:
            merged[identity(finding)] = replace(known, threads=finding.threads)
    return (*merged.values(),)


def lines_of(
    findings: Iterable[Finding], notes: Iterable[str] = (), *, width: int | None = None
) -> list[Line]:
    """Return findings and notes as a terminal shows them.

    Each finding has its message in one line, then the lines of the source, cut to ``width``
    columns, by default the terminal's.
    """
    width = width or shutil.get_terminal_size((_COLUMNS, 0)).columns
    blocks = [[*finding.lines(width)] for finding in findings]
    has_excerpts = any(len(block) > 1 for block in blocks)
    blocks += [[(Span(one_line(note)),) for note in notes]] if notes else []
    lines: list[Line] = []
    for block in blocks:
        lines += [(), *block] if lines and has_excerpts else block
    return lines


def error_for(findings: Sequence[Finding]) -> SimulatorError:
    """Return the error that a checked run with findings ends in."""
    first, *others = findings
    rest = f"; and {plural(len(others), 'more finding')}" if others else ""
    message = f"{first.kind}: {first.message}{rest}"
    return SimulatorError(
        first.kind, first.kernel, first.block, first.thread, message, tuple(findings)
    )
