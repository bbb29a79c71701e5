"""Tables: the cases, and what a run found."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.table import Table

from perf.cases.base import REFERENCE_BANDWIDTH
from perf.results import OURS, best_peer
from perf.summary import MAX_DRIFT, fraction, goal, ratio, share_of_goal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from perf.cases.base import Case
    from perf.results import LineResult, Result

COLUMNS = (
    *("case", "line", "us (p10-p90)", "of ceiling", "goal", "model, us", "of model"),
    *("best peer", "us", "ratio"),
)


def matrix(cases: Sequence[Case]) -> Table:
    """Return the lines of cases: the least they move, the least time, what they are held to."""
    table = Table(title=f"least times at {REFERENCE_BANDWIDTH / 1e12:g} TB/s")
    for column in ("case", "line", "MB", "us", "goal", "strongest peers", "shows"):
        table.add_column(column, justify="right" if column in {"MB", "us", "goal"} else "left")
    for case in cases:
        for line in case.lines:
            traffic = line.problem.traffic()
            figures = f"{traffic.total / 1e6:.1f}", f"{traffic.microseconds():.1f}"
            named = ", ".join(case.peers)
            cells = (case.name, line.problem.title, *figures, goal(line) or "-", named, case.shows)
            table.add_row(*cells)
    return table


def row(result: Result, line: LineResult) -> tuple[str, ...]:
    """Return the cells of a line."""
    ours = line.timings[OURS]
    notes = [f"{OURS}: {ours.note}"] if ours.note else []
    cells = ["-"] * 3
    if not math.isnan(ours.median_us):
        times = f"{ours.median_us:.1f} ({ours.p10_us:.1f}-{ours.p90_us:.1f})"
        cells = [
            times if ours.cold else f"{times} warm",
            f"{fraction(result, line):.1%}",
            _verdict(result, line),
        ]
    elif ours.note.startswith("WRONG"):
        cells[0] = "WRONG"
    notes += [f"{n}: {t.note}" for n, t in line.timings.items() if n != OURS and t.note]
    model = ["-"] * 2
    if line.predicted_us is not None:
        model[0] = f"{line.predicted_us:.1f}"
        if not math.isnan(ours.median_us):
            model[1] = f"{ours.median_us / line.predicted_us:.2f}"
    peer = ["-"] * 3
    best = best_peer(line)
    if best:
        name, timing = best
        peer[:2] = [name, f"{timing.median_us:.1f}"]
        if not math.isnan(ours.median_us):
            found = ratio(timing, ours)
            peer[2] = f"{found.value:.2f}{'' if found.is_significant else ' ~'}"
    return (line.case, line.line, *cells, *model, *peer, "; ".join(notes))


def _verdict(result: Result, line: LineResult) -> str:
    share = share_of_goal(result, line)
    return "-" if math.isnan(share) else f"{goal(line)} {'reached' if share >= 1 else 'missed'}"


def show(console: Console, result: Result, path: Path, missing: Mapping[str, str]) -> None:
    """Print the table of a run, its ceilings, the peers that are missing, and the file's path."""
    table = Table(title=f"{result.gpu['name']}, {result.commit}")
    for column in (*COLUMNS, "notes"):
        table.add_column(column, justify="left" if column in {"case", "line", "notes"} else "right")
    for line in result.lines:
        table.add_row(*row(result, line))
    console.print(table)
    console.print("ratio: time of the best peer over ours; ~: not significant")
    console.print("model: what python -m perf.model predicts, no measurement; of it, our time")
    rates = ", ".join(f"{name} {rate / 1e12:.3f}" for name, rate in result.ceilings.items())
    change = "" if math.isnan(result.drift) else f"; the copy one changed by {result.drift:.1%}"
    console.print(f"ceilings in TB/s: {rates}{change}")
    if result.incomplete:
        console.print(f"the run is incomplete: {result.incomplete}")
    if result.drift > MAX_DRIFT:
        console.print(f"warning: the copy ceiling changed by more than {MAX_DRIFT:.0%}; run again")
    for name, reason in missing.items():
        console.print(f"without {name}: {reason}")
    console.print(str(path))
