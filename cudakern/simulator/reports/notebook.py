"""What notebooks show of reports, in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.display.characters import plural
from cudakern.display.notebook import COLUMNS, box, paragraph, say_left_out, styled
from cudakern.simulator.reports.findings import format_findings

if TYPE_CHECKING:
    from cudakern.simulator.reports.report import Report

#: How many findings, notes and kernels are shown of many.
_FINDINGS, _KERNELS = 5, 3


def render(report: Report) -> str:
    """Return the first findings of a report, or the worst lines of its first kernels."""
    if report.kernels is not None:
        kernels = report.kernels[:_KERNELS]
        title = f"memory traffic of {plural(len(report.kernels), 'kernel')}"
        return box(
            title if kernels else "no launches",
            *(kernel._repr_html_() for kernel in kernels),
            more=say_left_out((len(report.kernels) - len(kernels), "kernel")),
        )
    findings, notes = report.findings[:_FINDINGS], report.notes[:_FINDINGS]
    number = len(report.findings)
    return box(
        f"{plural(number, 'finding') if number else 'nothing found'} in "
        f"{plural(report.launches, 'launch', 'es')}",
        styled(format_findings(findings, width=COLUMNS)) if findings else "",
        *map(paragraph, notes),
        more=say_left_out(
            (number - len(findings), "finding"), (len(report.notes) - len(notes), "note")
        ),
    )
