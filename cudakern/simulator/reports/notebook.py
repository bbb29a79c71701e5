"""What notebooks show of reports, in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.display.characters import plural
from cudakern.display.notebook import COLUMNS, box, paragraph, say_left_out, styled
from cudakern.simulator.reports.findings import lines_of

if TYPE_CHECKING:
    from cudakern.simulator.reports.report import Report

#: How many findings, notes and kernels are shown of many.
_FINDINGS, _KERNELS = 5, 3


def render_findings(report: Report) -> str:
    """Return what a notebook shows of findings."""
    shown, notes = report.findings[:_FINDINGS], report.notes[:_FINDINGS]
    number = len(report.findings)
    return box(
        f"{plural(number, 'finding') if number else 'nothing found'} in "
        f"{plural(report.launches, 'launch', 'es')}",
        styled(lines_of(shown, width=COLUMNS)) if shown else "",
        *map(paragraph, notes),
        more=say_left_out(
            (number - len(shown), "finding"), (len(report.notes) - len(notes), "note")
        ),
    )


def render_traffic(report: Report) -> str:
    """Return what a notebook shows of traffic."""
    parts = [kernel._repr_html_() for kernel in report.kernels[:_KERNELS]]
    title = f"memory traffic of {plural(len(report.kernels), 'kernel')}" if parts else "no launches"
    return box(title, *parts, more=say_left_out((len(report.kernels) - len(parts), "kernel")))
