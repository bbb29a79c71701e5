"""What notebooks show of reports, in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.display.characters import format_count
from cudakern.display.notebook import (
    COLUMNS,
    render_box,
    render_lines,
    render_paragraph,
    say_left_out,
)
from cudakern.simulator.reports.findings import format_findings
from cudakern.simulator.reports.traffic import tell_apart

if TYPE_CHECKING:
    from cudakern.simulator.reports.report import Report

#: How many findings, notes and kernels are shown of many.
_FINDINGS, _KERNELS = 5, 3


def render(report: Report) -> str:
    """Return the first findings of a report, or the worst lines of its first kernels."""
    if report.kernels is not None:
        kernels = tell_apart(report.kernels)[:_KERNELS]
        title = f"memory traffic of {format_count(len(report.kernels), 'kernel')}"
        return render_box(
            title if kernels else "no launches",
            *(kernel._repr_html_() for kernel in kernels),
            more=say_left_out((len(report.kernels) - len(kernels), "kernel")),
        )
    findings, notes = report.findings[:_FINDINGS], report.notes[:_FINDINGS]
    number = len(report.findings)
    return render_box(
        f"{format_count(number, 'finding') if number else 'nothing found'} in "
        f"{format_count(report.launches, 'launch', 'es')}",
        render_lines(format_findings(findings, width=COLUMNS)) if findings else "",
        *map(render_paragraph, notes),
        more=say_left_out(
            (number - len(findings), "finding"), (len(report.notes) - len(notes), "note")
        ),
    )
