"""What IPython shows of errors that nobody caught: lines of sources, and calls."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from cudakern.display.characters import escape_unprintable, format_count
from cudakern.display.notebook import COLUMNS
from cudakern.display.styled_text import Span, Style, as_ansi, as_text
from cudakern.errors import KernelCompileError, SimulatorError, describe_error, is_inside
from cudakern.simulator.reports.compiler_errors import excerpt_error
from cudakern.simulator.reports.findings import describe_origins, format_findings
from cudakern.simulator.reports.user_files import name_cell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cudakern.display.styled_text import Line


def register() -> None:
    """Have IPython show errors of kernels in this way: it asks the error for the lines."""
    for kind in (KernelCompileError, SimulatorError):
        kind._render_traceback_ = format_error  # type: ignore[union-attr]


def format_error(error: SimulatorError | KernelCompileError) -> list[str]:
    """Return what IPython shows: lines of sources, then the calls from outside of the package."""
    head = Span(type(error).__name__, Style.STRONG), Span(": ")
    lines: list[Line] = [(*head, Span(escape_unprintable(str(error))))]
    if isinstance(error, KernelCompileError):
        excerpt = [*excerpt_error(error)]
        lines += [(), *excerpt] if excerpt else []
    elif error.findings:
        count = Span(format_count(len(error.findings), "finding"))
        found = as_text(format_findings(error.findings, width=COLUMNS))
        lines = [(*head, count), (), (Span(found),)]
    later = error.__cause__
    if isinstance(later, Exception):
        lines.append((Span(f"and then {type(later).__name__}: {describe_error(later)}"),))
    told = describe_origins(error.findings) if isinstance(error, SimulatorError) else []
    notes = [note for note in getattr(error, "__notes__", ()) if note not in told]
    return [*map(as_ansi, ([line] for line in lines)), *notes, "", *_calls(error)]


def _calls(error: Exception) -> Iterator[str]:
    """Yield the calls that led to an error, without those of the package and of IPython."""
    calls = traceback.extract_tb(error.__traceback__)
    for (frame, _), call in zip(traceback.walk_tb(error.__traceback__), calls, strict=True):
        if not is_inside(frame, "IPython"):
            place = Span(f"{name_cell(call.filename)}, line {call.lineno}", Style.STRONG)
            yield as_ansi([(place, Span(f": {call.line}"))])
