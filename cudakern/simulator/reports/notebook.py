"""What notebooks show: reports, findings, kernels and operators in a few lines; errors by source.

Text has the notebook's own colours, light or dark, and nothing needs a script or another file.
"""

from __future__ import annotations

import re
import sys
import traceback
from html import escape
from typing import TYPE_CHECKING

from cudakern.errors import KernelCompileError, SimulatorError, is_inside, reason
from cudakern.simulator.reports.characters import plural, visible
from cudakern.simulator.reports.html.parts import array_name
from cudakern.simulator.reports.text import compiler_lines, described, grouped
from cudakern.simulator.reports.traffic import GLOBAL
from cudakern.simulator.sources.source_lines import shown as shown_place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cudakern.simulator.reports.findings import Finding
    from cudakern.simulator.reports.sessions import CheckReport, TrafficReport
    from cudakern.simulator.reports.traffic import KernelTraffic, LineTraffic

#: How many findings, kernels and lines are shown of many.
_FINDINGS, _KERNELS, _LINES = 5, 3, 8
#: Columns of findings.
_COLUMNS = 110

_LINE = "1px solid rgba(128,128,128,.4)"
_TABLE = "border-collapse:collapse;margin:.3em 0"
_CELL = f"border:0;border-bottom:{_LINE};padding:.15em 1.2em .15em 0;vertical-align:top;text-align:"
_TEXT = "font:inherit;font-family:monospace;margin:.3em 0;white-space:pre-wrap;"
_TEXT += "word-break:normal;overflow-wrap:anywhere"
_BOX = "margin-bottom:.6em;overflow-x:auto"
#: What stands for a terminal's styles. Of colours there are lines alone, which are seen on light
#: and on dark pages; no text is.
_STYLES = {
    "1": "font-weight:bold",
    "36": "opacity:.75",
    "1;31": "border-bottom:2px solid #e5484d;font-weight:bold",
    "1;34": "border-bottom:2px solid #8e4ec6;font-weight:bold",
}
_STYLED = re.compile(r"\x1b\[([\d;]+)m(.*?)\x1b\[0m", re.DOTALL)


class Number(str):
    """A text that stands on the right of its column."""

    __slots__ = ()


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    head = f"<tr>{''.join(map(_cell, headings, ['th'] * len(headings)))}</tr>" if headings else ""
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f'<table style="{_TABLE}"><thead>{head}</thead><tbody>{body}</tbody></table>'


def _cell(text: str, tag: str = "td") -> str:
    side = "right;white-space:nowrap" if isinstance(text, Number) else "left"
    return f'<{tag} style="{_CELL}{side}">{escape(visible(text))}</{tag}>'


def box(title: str, *parts: str, more: str = "") -> str:
    """Return what a notebook shows: a title, parts of HTML, and a remark."""
    heading = f"<div><b>{escape(visible(title))}</b></div>"
    remark = f'<div style="opacity:.75">{escape(visible(more))}</div>' if more else ""
    return f'<div style="{_BOX}">{heading}{"".join(parts)}{remark}</div>'


def found(finding: Finding) -> str:
    """Return what a notebook shows of a finding."""
    return f'<div style="{_BOX}">{_told([finding])}</div>'


def _told(findings: Iterable[Finding]) -> str:
    """Return findings with their lines."""
    text = described(findings, color=True, width=_COLUMNS)
    parts, end = [], 0
    for match in _STYLED.finditer(text):
        parts.append(escape(text[end : match.start()]))
        parts.append(f'<span style="{_STYLES.get(match[1], "")}">{escape(match[2])}</span>')
        end = match.end()
    return f'<pre style="{_TEXT}">{"".join(parts)}{escape(text[end:])}</pre>'


def checked(report: CheckReport) -> str:
    """Return what a notebook shows of a checked report."""
    findings = grouped(report.findings)
    shown = findings[:_FINDINGS]
    what = plural(len(findings), "finding") if findings else "nothing found"
    notes = report.notes[:_FINDINGS]
    left = (len(findings) - len(shown), "finding"), (len(report.notes) - len(notes), "note")
    return box(
        f"{what} in {plural(report.launches, 'launch', 'es')}",
        _told(shown) if shown else "",
        *(f"<div>{escape(visible(note))}</div>" for note in notes),
        more=_left_out(*left),
    )


def traffic(report: TrafficReport) -> str:
    """Return what a notebook shows of a traffic report."""
    parts = [moved(kernel) for kernel in report.kernels[:_KERNELS]]
    kernels = plural(len(report.kernels), "kernel")
    title = f"memory traffic of {kernels}" if parts else "no launches"
    return box(title, *parts, more=_left_out((len(report.kernels) - len(parts), "kernel")))


def moved(kernel: KernelTraffic) -> str:
    """Return what a notebook shows of a kernel's traffic."""
    every = kernel.total(*GLOBAL)
    ran = f", of which {kernel.sampled:,} ran" if kernel.sampled != kernel.blocks else ""
    share = f", {every.efficiency:.0%} efficiency" if every.sectors else ""
    title = (
        f"{kernel.kernel}: {plural(kernel.launches, 'launch', 'es')} of "
        f"{plural(kernel.blocks, 'block')}{ran}; {every.bytes_requested:,} bytes requested, "
        f"{every.bytes_moved:,} moved{share}"
    )
    lines = kernel.worst()
    shown = lines[:_LINES]
    rows = table(_HEADINGS, map(_row, shown)) if shown else ""
    return box(title, rows, more=_left_out((len(lines) - len(shown), "line")))


_NUMBERS = ("requests", "a request", "bytes requested", "bytes moved", "efficiency")
_HEADINGS = ("line", "access", "array", *map(Number, _NUMBERS))


def _row(line: LineTraffic) -> tuple[str, ...]:
    rate = f"{line.wavefronts_per_request:.2f} wavefronts"
    if line.sectors:
        rate = f"{line.sectors_per_request:.2f} sectors"
    figures = (
        f"{line.requests:,}",
        rate,
        f"{line.bytes_requested:,}",
        f"{line.bytes_moved:,}" if line.sectors else "",
        f"{line.efficiency:.0%}" if line.sectors else "",
    )
    return shown_place(line.stack[:2]), line.kind, array_name(line), *map(Number, figures)


def _left_out(*counts: tuple[int, str]) -> str:
    """Return a remark on what is not shown, if anything."""
    left = [plural(count, f"more {noun}") for count, noun in counts if count]
    return f"and {' and '.join(left)}: report.html(path) shows all" if left else ""


def of_error(error: SimulatorError | KernelCompileError) -> list[str]:
    """Return what IPython shows of an error that nobody caught: lines of sources.

    Of the calls that led there, those are named that are not inside of the package.
    """
    head = f"{_bold(type(error).__name__)}: "
    if isinstance(error, KernelCompileError):
        lines = [*compiler_lines(error, color=True)]
        shown = [head + visible(str(error)), *([""] if lines else []), *lines]
    elif error.findings:
        count = plural(len(grouped(error.findings)), "finding")
        shown = [head + count, "", described(error.findings, width=_COLUMNS)]
    else:
        shown = [head + visible(str(error))]
    later = error.__cause__
    if isinstance(later, Exception):
        shown.append(f"and then {type(later).__name__}: {reason(later)}")
    return [*shown, *getattr(error, "__notes__", ()), "", *_calls(error)]


def _calls(error: Exception) -> Iterator[str]:
    """Yield the calls that led to an error, without those of the package and of IPython."""
    calls = traceback.extract_tb(error.__traceback__)
    for (frame, _), call in zip(traceback.walk_tb(error.__traceback__), calls, strict=True):
        if not is_inside(frame, "IPython"):
            yield f"{_bold(f'{_named(call.filename)}, line {call.lineno}')}: {call.line}"


def _bold(text: str) -> str:
    """Return a text in bold, which is read on any background, unlike in a colour."""
    return f"\x1b[1m{text}\x1b[0m"


def _named(file: str) -> str:
    """Return what IPython calls a cell, or a file."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    names = None if shell is None else shell.compile.format_code_name(file)
    return file if names is None else " ".join(names)
