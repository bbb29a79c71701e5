"""Pictures of a result: how its lines compare with peers and goals, how time grows with size."""

from __future__ import annotations

import math
from textwrap import shorten
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from perf.results import NAN, OURS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from perf.results import LineResult, Result

#: Of a picture, of a row and of what is around the rows, in inches.
WIDTH, ROW, AROUND = 11.0, 0.3, 1.3
#: Letters of the label of a row.
LABEL = 60
CAPTIONS = {
    "lines": "Left: time of the best peer, which is named, over ours. Whiskers are the extremes "
    "that the 10th and 90th percentiles allow. Right: what we reached of the goal. Beyond 1 is "
    "better.",
    "growth": "Median time against size, and the band from the 10th to the 90th percentile.",
}


def figures(result: Result) -> dict[str, Figure]:
    """Return all pictures that there is data for, by name."""
    operators = dict.fromkeys(line.operator for line in result.lines)
    drawn = {f"lines-{operator}": lines(result, operator) for operator in operators}
    drawn["growth"] = growth(result)
    return {name: figure for name, figure in drawn.items() if figure is not None}


def is_sweep(line: LineResult) -> bool:
    """Return whether a line is there to show how time grows with size."""
    return line.case.startswith("sweep-") and line.size is not None


def lines(result: Result, operator: str) -> Figure | None:
    """Return how the lines of an operator that are no sweep compare with peers and goals."""
    rows = [x for x in result.lines if x.operator == operator and not is_sweep(x) and x.timing()]
    if not rows:
        return None
    figure = Figure((WIDTH, AROUND + ROW * len(rows)), layout="constrained")
    ratios, shares = figure.subplots(1, 2, sharey=True)
    for y, line in enumerate(rows):
        ours, best = line.timing(), line.best_peer()
        if ours and best:
            value, low, high = best[1].over(ours)
            ratios.errorbar(value, y, xerr=[[value - low], [high - value]], fmt="C0o", capsize=3)
        shares.plot(result.share_of_goal(line), y, "C0o")
    for axes, title in ((ratios, "time of the best peer / ours"), (shares, "share of the goal")):
        axes.axvline(1, color="black", linewidth=1)
        axes.set(xscale="log", title=title)
        axes.grid(visible=True, axis="x", alpha=0.3)
    peers = ((line.best_peer() or ("no peer",))[0] for line in rows)
    texts = (shorten(f"{x.case} {x.line}: {p}", LABEL) for x, p in zip(rows, peers, strict=True))
    labels = [text.replace("$", r"\$") for text in texts]  # which would start a formula
    ratios.set_yticks(range(len(rows)), labels)
    ratios.set_ylim(len(rows) - 0.4, -0.6)
    figure.suptitle(operator)
    return figure


def growth(result: Result) -> Figure | None:
    """Return time against size, one panel for each sweep."""
    swept = [line for line in result.lines if is_sweep(line)]
    names = dict.fromkeys(n for line in swept for n in (OURS, *line.timings) if line.timing(n))
    cases = list(dict.fromkeys(line.case for line in swept))
    if not names:
        return None
    rows = math.ceil(len(cases) / 2)
    figure = Figure((WIDTH, 1.0 + 3.3 * rows), layout="constrained")
    panels = figure.subplots(rows, 2, squeeze=False).ravel()
    for axes, case in zip(panels, cases, strict=False):
        ordered = sorted((x for x in swept if x.case == case), key=lambda line: line.size or 0)
        for number, name in enumerate(names):
            _curve(axes, ordered, name, number)
        axes.set(xlabel="elements", ylabel="us", title=case, yscale="log")
        axes.set_xscale("log", base=2)
        axes.grid(visible=True, alpha=0.3)
    for axes in panels[len(cases) :]:
        axes.remove()
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _curve(axes: Axes, ordered: Sequence[LineResult], name: str, number: int) -> None:
    """Draw the times of one contender; where one is missing, the curve has a gap."""
    sizes = [line.size or 0 for line in ordered]
    timings = [line.timing(name) for line in ordered]
    low, median, high = (
        [getattr(timing, field, NAN) for timing in timings]
        for field in ("p10_us", "median_us", "p90_us")
    )
    style = ("-", "--", ":")[number // 10 % 3]  # Matplotlib has ten colours
    axes.fill_between(sizes, low, high, color=f"C{number % 10}", alpha=0.3, linewidth=0)
    axes.plot(sizes, median, color=f"C{number % 10}", linestyle=style, marker=".", label=name)
