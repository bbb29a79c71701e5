"""Findings, what kernels did that they must not do, and how a terminal shows them."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cudakern.display import notebook
from cudakern.display.styled_text import Span, Style
from cudakern.simulator.reports.excerpts import Label, excerpt, one_line
from cudakern.simulator.reports.user_files import describe_place
from cudakern.simulator.sources.source_lines import SourceLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cudakern.display.styled_text import Line

#: Of a block or a thread: x, y, z.
Coordinates = tuple[int, ...]
#: Columns where the terminal does not say how many it has.
_COLUMNS = 120


@dataclass(frozen=True, slots=True)
class OtherAccess:
    """The other place of a finding.

    Attributes
    ----------
    access : str
        ``"read"``, ``"write"``, ``"atomic update"`` or ``"asynchronous copy"`` of a race;
        ``"use"`` of an undefined value.
    source, column, stack, code, block, thread
        Those of the other place, as in `Finding`; also ``origin``.

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
    """

    access: str
    source: SourceLine | None
    column: int | None
    stack: tuple[SourceLine, ...]
    block: Coordinates
    thread: Coordinates
    code: str = ""
    origin: SourceLine | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a kernel did and must not do.

    Attributes
    ----------
    kind : str
        ``"out_of_bounds"``, ``"misaligned"``, ``"uninitialized"``, ``"inactive_lane"``,
        ``"race"``, ``"barrier_divergence"`` or ``"deadlock"``; and what ends any launch, checked or
        not: ``"stack_overflow"``, ``"trap"``, ``"assert"``, ``"misuse"``.
    kernel : str
        Name of the kernel.
    block, thread : tuple of int
        Coordinates of the block and of the thread, (x, y, z).
    source : (str, int) or None
        File and line of the access or barrier; None if the compiler kept no trace of it. For a
        line in a header of CUDA, CuPy, libcu++ or CUB: the user's own line that led there.
    stack : tuple of (str, int)
        The source, then the line that called its function, if that was inlined, and so on. The
        user's own lines come first, then those of headers.
    array : int, str or None
        Position among the kernel's arguments, or the name of an operator's tensor, of one of the
        ``arrays`` of `checked`, of a shared array or of a global variable; ``"simulator.empty"``
        for an array of `empty` that only its address leads to.
    index : int or None
        Element of that array in memory order, from 0; negative in front of the array.
    message : str
        One line that says all that.
    access : str
        A read, a write or an atomic update; empty if no memory is accessed.
    column : int or None
        Where the line of ``source`` indexes the array, from 1. If it does not, where its statement
        begins, if the compiler says so; NVRTC does for the first statement of a line.
    threads : int
        How many threads did so, including this one. All findings of a launch count a million of
        them at most.
    code : str
        The text of the line of ``source``; empty if it is not known.
    other : OtherAccess or None
        The other access of a race, if it is one; where an undefined value is used, if elsewhere.
    library : str
        The module that has the kernel: kernels of the same name can differ.
    name : str
        What the kernel's text calls the array; empty if that is not known.
    origin : (str, int) or None
        File and line of the user's own that ``source`` is, if the kernel is a string there and was
        found.
    seeds : tuple of int
        The seeds of the runs that have it, in reports of several runs; otherwise empty.

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
    origin: SourceLine | None = None
    seeds: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.kernel}: {self.kind}: {self.message}"

    def lines(self, width: int) -> Iterator[Line]:
        """Yield what a terminal shows: the message, then the lines of the source."""
        kernel = Span(one_line(self.kernel), Style.STRONG)
        kind = Span(one_line(self.kind), Style.FIRST)
        yield kernel, Span(": "), kind, Span(": "), Span(one_line(self.message), Style.STRONG)
        labels = [_label(self, Style.FIRST, self.threads)]
        if self.other is not None:
            labels.append(_label(self.other, Style.OTHER))
        elif not self.access:  # the message has the rest
            text = f"{self.threads} threads" if self.threads > 1 else ""
            labels = [replace(labels[0], text=text)]
        if any(label.code or label.text for label in labels):
            yield from excerpt(labels, width)
        yield from ((Span(one_line(told)),) for told in describe_origins([self]))

    def _repr_html_(self) -> str:
        lines = format_findings([self], width=notebook.COLUMNS)
        return notebook.render_box("", notebook.render_lines(lines))


def _label(access: Finding | OtherAccess, style: Style, threads: int = 1) -> Label:
    who = f"block {access.block}, thread {access.thread}"
    text = f"{access.access} by {who}" if access.access else who
    if threads > 1:
        text += f" and {threads - 1} more"
    return Label(access.source, access.code.rstrip(), access.column, text, style)


def identify(finding: Finding) -> tuple[object, ...]:
    """Return what the same finding has in every launch: kind, lines, kernel and array."""
    lines = [finding.source] if finding.other is None else [finding.source, finding.other.source]
    if finding.kind == "race":  # either of the two may have come first
        lines.sort(key=str)
    message = finding.message if finding.source is None else ""
    return (finding.kind, finding.kernel, finding.library, *lines, finding.array, message)


def describe_origins(findings: Iterable[Finding]) -> list[str]:
    """Return which lines of the user's files the lines of findings are, each once."""
    ends: list[Finding | OtherAccess | None] = []
    for finding in findings:
        ends += finding, finding.other
    told = (describe_place(end.source, end.origin) for end in ends if end and end.origin)
    return [*dict.fromkeys(told)]


def merge_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return each finding once, with the most threads that any launch has found to do so."""
    merged: dict[tuple[object, ...], Finding] = {}
    for finding in findings:
        known = merged.setdefault(identify(finding), finding)
        if finding.threads > known.threads:
            merged[identify(finding)] = replace(known, threads=finding.threads)
    return (*merged.values(),)


def format_findings(
    findings: Iterable[Finding], notes: Iterable[str] = (), *, width: int | None = None
) -> list[Line]:
    """Return findings and notes as a terminal of so many columns shows them."""
    width = width or shutil.get_terminal_size((_COLUMNS, 0)).columns
    blocks = [[*finding.lines(width)] for finding in findings]
    has_excerpts = any(len(block) > 1 for block in blocks)
    blocks += [[(Span(one_line(note)),) for note in notes]] if notes else []
    lines: list[Line] = []
    for block in blocks:
        lines += [(), *block] if lines and has_excerpts else block
    return lines
