"""Tables: the cases, and what a run found."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cudakern._commands import console
from perf.cases.base import REFERENCE_BANDWIDTH
from perf.results import OURS, digits, goal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from perf.cases.base import Case
    from perf.results import LineResult, Result

#: What a terminal has room for of a row.
COLUMNS = ("case", "line", "us (p10-p90)", "of ceiling", "goal", "best peer", "ratio", "notes")


def show_matrix(cases: Sequence[Case]) -> None:
    """Print the lines of cases: the least they move, the least time, what they are held to."""
    rows = []
    for case in cases:
        for line in case.lines:
            traffic = line.workload.traffic()
            figures = f"{traffic.total / 1e6:.1f}", f"{traffic.microseconds:.1f}"
            held_to = goal(line) or "-", case.peers, case.shows
            rows.append((case.name, line.workload.title, *figures, *held_to))
    console.show(f"least times at {REFERENCE_BANDWIDTH / 1e12:g} TB/s")
    console.show_table(rows, ("case", "line", "MB", "us", "goal", "strongest peers", "shows"))


def row(result: Result, line: LineResult, before: LineResult | None = None) -> dict[str, str]:
    """Return the cells of a line by their headings; ``before`` is the same line of another run."""
    ours, best = line.timing(), line.best_peer()
    old = before.timing() if before else None
    share, fraction = result.share_of_goal(line), result.fraction(line)
    reached = "" if math.isnan(share) else " reached" if share >= 1 else " missed"
    host = ours.host_us if ours else None
    return {
        "case": line.case,
        "line": line.line,
        "us (p10-p90)": _time(line),
        "of ceiling": "-" if math.isnan(fraction) else f"{fraction:.1%}",
        "goal": f"{goal(line) or '-'}{reached}",
        "best peer": f"{best[0]}, {digits(best[1].median_us)} us" if best else "-",
        "ratio": str(best[1].over(ours)) if best and ours else "-",
        "notes": "; ".join(f"{n}: {t.note}" for n, t in line.timings.items() if t.note),
        "before": f"{old.interval} us, {old.over(ours)} of now" if old and ours else "-",
        "peers": "; ".join(
            f"{name} {timed.interval}"
            for name in line.timings
            if name != OURS and (timed := line.timing(name))
        ),
        "host, us": "-" if host is None else digits(host),
        "method": ours.method if ours else "-",
        "kernel": line.kernel,
    }


def _time(line: LineResult) -> str:
    """Return our time as text, or why there is none."""
    ours = line.timing()
    if ours is None:
        return "WRONG" if line.is_wrong else "-"
    warm = "" if ours.warm_us is None else f", warm {digits(ours.warm_us)}"
    return f"{ours.interval}{warm if ours.cold else ' warm'}"


def show(result: Result, path: Path, missing: Mapping[str, str]) -> None:
    """Print the table of a run, its ceilings, the peers that are missing, and the file's path."""
    rows = [row(result, line) for line in result.lines]
    console.show(f"{result.gpu['name']}, {result.commit}")
    console.show_table([[cells[column] for column in COLUMNS] for cells in rows], COLUMNS)
    console.show("ratio: time of the best peer over ours; ~: not significant")
    rates = ", ".join(f"{name} {rate / 1e12:.3f}" for name, rate in result.ceilings.items())
    change = "" if math.isnan(result.drift) else f"; the copy one changed by {result.drift:.1%}"
    console.show(f"ceilings in TB/s: {rates}{change}")
    for warning in result.warnings():
        console.show(f"warning: {warning}")
    for name, reason in missing.items():
        console.show(f"without {name}: {reason}")
    console.show(str(path))
