"""Tables of the cases, and of the results of a run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cudakern._commands import console
from perf.cases.base import REFERENCE_BANDWIDTH
from perf.results import format_goal, format_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from perf.cases.base import Case
    from perf.results import LineResult, Result, Timing

#: Of a terminal's table.
COLUMNS = ("case", "line", "us (p10-p90)", "of ceiling", "goal", "best peer", "ratio", "notes")


def show_matrix(cases: Sequence[Case]) -> None:
    """Print the lines of cases: the least they move, the least time, what they are held to."""
    rows = []
    for case in cases:
        for line in case.lines:
            traffic = line.workload.traffic()
            figures = (traffic.total / 1e6, traffic.total / REFERENCE_BANDWIDTH * 1e6)
            texts = (*(f"{figure:.1f}" for figure in figures), format_goal(line) or "-", case.shows)
            rows.append((case.name, line.workload.title, *texts))
    console.show(f"least times at {REFERENCE_BANDWIDTH / 1e12:g} TB/s")
    console.show_table(rows, ("case", "line", "MB", "us", "goal", "shows"))


def row(result: Result, line: LineResult) -> dict[str, str]:
    """Return the cells of a line for a terminal, by heading."""
    best, fraction = line.best_peer(), result.fraction(line)
    texts = (
        line.case,
        line.line,
        _format_time(line),
        "-" if math.isnan(fraction) else f"{fraction:.1%}",
        _describe_goal(result, line),
        f"{best[0]}, {format_number(best[1].median_us)} us" if best else "-",
        str(line.ratio() or "-"),
        "; ".join(f"{name}: {timing.note}" for name, timing in line.timings.items() if timing.note),
    )
    return dict(zip(COLUMNS, texts, strict=True))


def more(result: Result, line: LineResult, before: LineResult | None = None) -> dict[str, str]:
    """Return what a row of the page unfolds; ``before`` is the same line of another run."""
    names: dict[str, list[str]] = {}
    for name, timing in line.timings.items():
        names.setdefault(_describe_timing(timing), []).append(name)
    found = {"; ".join(alike): text for text, alike in names.items()}
    ours, old = line.timing(), before.timing() if before else None
    if ours and old:
        found["before"] = f"{old.interval} us, {old.over(ours)} of now"
    return found | {"goal": _describe_goal(result, line), "kernel": line.kernel}


def _describe_timing(timing: Timing) -> str:
    """Return all that is known of a contender."""
    facts = [timing.note]
    if timing.median_us > 0:
        facts[:0] = [f"{timing.interval} us {'cold' if timing.cold else 'warm'}, {timing.method}"]
        if timing.warm_us is not None:
            facts.insert(1, f"{format_number(timing.warm_us)} us warm")
        if timing.host_us is not None:
            facts.insert(-1, f"{format_number(timing.host_us)} us on the host")
    return "; ".join(filter(None, facts)) or "no time"


def _describe_goal(result: Result, line: LineResult) -> str:
    share = result.share_of_goal(line)
    reached = "" if math.isnan(share) else " reached" if share >= 1 else " missed"
    return f"{format_goal(line) or '-'}{reached}"


def _format_time(line: LineResult) -> str:
    """Return our time as text, or why there is none."""
    ours = line.timing()
    if ours is None:
        return "WRONG" if line.is_wrong else "-"
    warm = "" if ours.warm_us is None else f", warm {format_number(ours.warm_us)}"
    return f"{ours.interval}{warm if ours.cold else ' warm'}"


def show(result: Result, path: Path, missing: Mapping[str, str]) -> None:
    """Print the table of a run, its ceilings, the peers that are missing, and the file's path."""
    rows = [row(result, line) for line in result.lines]
    console.show(f"{result.gpu['name']}, {result.commit}")
    console.show_table([[*cells.values()] for cells in rows], COLUMNS)
    console.show("ratio: time of the best peer over ours; ~: not significant")
    rates = ", ".join(f"{name} {rate / 1e12:.3f}" for name, rate in result.ceilings.items())
    change = "" if math.isnan(result.drift) else f"; the copy one changed by {result.drift:.1%}"
    console.show(f"ceilings in TB/s: {rates}{change}")
    for warning in result.warnings():
        console.show(f"warning: {warning}")
    for name, reason in missing.items():
        console.show(f"without {name}: {reason}")
    console.show(str(path))
