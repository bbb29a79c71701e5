"""The table that a run ends with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from perf.ceilings import MOST_DRIFT
from perf.results import OURS, best_peer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rich.console import Console

    from perf.results import LineResult, Result, Timing

COLUMNS = ("case", "line", "us (p10-p90)", "of ceiling", "goal", "best peer", "us", "ratio")


def goal_reached(result: Result, line: LineResult) -> bool | None:
    """Return whether a line reached its goal; None if it has none, or no time."""
    ours = line.timings[OURS]
    if math.isnan(ours.median_us):
        return None
    if line.goal is not None:
        return result.fraction(line) >= line.goal
    return None if line.goal_us is None else ours.median_us <= line.goal_us


def significant(ours: Timing, peer: Timing) -> bool:
    """Return whether the 10th to 90th percentiles of two contenders do not meet."""
    return ours.p90_us < peer.p10_us or peer.p90_us < ours.p10_us


def row(result: Result, line: LineResult) -> tuple[str, ...]:
    """Return the cells of a line."""
    ours = line.timings[OURS]
    notes = [f"{OURS}: {ours.note}"] if ours.note else []
    cells = ["-"] * 3
    if not math.isnan(ours.median_us):
        times = f"{ours.median_us:.1f} ({ours.p10_us:.1f}-{ours.p90_us:.1f})"
        cells = [
            times if ours.cold else f"{times} warm",
            f"{result.fraction(line):.1%}",
            _goal(result, line),
        ]
    elif ours.note.startswith("WRONG"):
        cells[0] = "WRONG"
    notes += [f"{n}: {t.note}" for n, t in line.timings.items() if n != OURS and t.note]
    peer = ["-"] * 3
    best = best_peer(line)
    if best:
        name, timing = best
        peer[:2] = [name, f"{timing.median_us:.1f}"]
        if not math.isnan(ours.median_us):
            mark = "" if significant(ours, timing) else " ~"
            peer[2] = f"{timing.median_us / ours.median_us:.2f}{mark}"
    return (line.case, line.line, *cells, *peer, "; ".join(notes))


def _goal(result: Result, line: LineResult) -> str:
    reached = goal_reached(result, line)
    if reached is None:
        return "-"
    goal = f"{line.goal:.0%}" if line.goal is not None else f"{line.goal_us:g} us"
    return f"{goal} {'reached' if reached else 'missed'}"


def show(console: Console, result: Result, path: Path, missing: Mapping[str, str]) -> None:
    """Print the table of a run, its ceilings, the peers that are missing, and the file's path."""
    table = Table(title=f"{result.gpu['name']}, {result.commit}")
    for column in (*COLUMNS, "notes"):
        table.add_column(column, justify="left" if column in {"case", "line", "notes"} else "right")
    for line in result.lines:
        table.add_row(*map(escape, row(result, line)))
    console.print(table)
    console.print("ratio: time of the best peer over ours; ~: not significant")
    rates = ", ".join(f"{name} {rate / 1e12:.3f}" for name, rate in result.ceilings.items())
    console.print(f"ceilings in TB/s: {rates}; the copy one changed by {result.drift:.1%}")
    if result.drift > MOST_DRIFT:
        console.print(f"warning: the copy ceiling changed by more than {MOST_DRIFT:.0%}; run again")
    for name, reason in missing.items():
        console.print(escape(f"without {name}: {reason}"))
    console.print(escape(str(path)), soft_wrap=True)
