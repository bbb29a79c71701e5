"""Pictures of a result: how time grows with size, how its lines compare with peers and goals."""

from __future__ import annotations

import io
import math
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, PercentFormatter

from perf.results import NAN, OURS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from perf.results import LineResult, Result

#: Of a picture, of a row and of what is around the rows, in inches.
WIDTH, ROW, AROUND = 13.0, 0.22, 1.1
#: Letters of the label of a row.
LABEL = 60
CAPTIONS = {
    "growth": "Median time against size, and the band from the 10th to the 90th percentile. Grey: "
    "below the least time, which is the least bytes at the ceiling's rate.",
    "lines": "Left: time of the best peer, which is named, over ours. Whiskers are the extremes "
    "that the 10th and 90th percentiles allow. Right: what we reached of the goal. Beyond the line "
    "is better.",
}
#: Stands for the page's colour of text, light or dark.
INK = "#123456"
LEAST = "least time"
#: Of contenders, visible on black and on white; ours first.
COLOURS = ("#0090ff", "#e5484d", "#30a46c", "#f76b15", "#8e4ec6", "#a18072", "#d6409f", "#978365")
INKED = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
STYLE: dict[Any, Any] = {
    **dict.fromkeys(INKED, INK),
    "axes.facecolor": "none",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titleweight": "bold",
    "figure.facecolor": "none",
    "svg.hashsalt": OURS,
}
#: Of a picture by itself; a page's scheme is a picture's, too.
SCHEMES = "svg{color:#1f2328}@media(prefers-color-scheme:dark){svg{color:#e6edf3}}"


def figures(result: Result) -> dict[str, Figure]:
    """Return the pictures that there are data for, by name."""
    operators = dict.fromkeys(line.operator for line in result.lines)
    with mpl.rc_context(STYLE):
        drawn = {"growth": growth(result)}
        drawn |= {f"lines-{operator}": lines(result, operator) for operator in operators}
    return {name: figure for name, figure in drawn.items() if figure is not None}


def svg(figure: Figure) -> str:
    """Return a picture in the colours of the page around it."""
    text = io.StringIO()
    with mpl.rc_context(STYLE):
        figure.savefig(text, format="svg", metadata={"Date": None})
    style = '<style type="text/css">'
    return text.getvalue().replace(INK, "currentColor").replace(style, f"{style}{SCHEMES}", 1)


def is_sweep(line: LineResult) -> bool:
    """Return whether a line is one of a sweep over sizes."""
    return line.case.startswith("sweep-") and line.size is not None


def lines(result: Result, operator: str) -> Figure | None:
    """Return how the lines of an operator, sweeps aside, compare with peers and goals."""
    rows = [x for x in result.lines if x.operator == operator and not is_sweep(x) and x.timing()]
    if not rows:
        return None
    figure = Figure((WIDTH, AROUND + ROW * len(rows)), layout="constrained")
    ratios, shares = figure.subplots(1, 2, sharey=True)
    for y, line in enumerate(rows):
        ours, best = line.timing(), line.best_peer()
        if ours and best:
            value, low, high = best[1].over(ours)
            whiskers = [[value - low], [high - value]]
            ratios.errorbar(value, y, xerr=whiskers, color=COLOURS[0], fmt="o", capsize=3)
        shares.plot(result.share_of_goal(line), y, color=COLOURS[0], marker="o")
    ratios.set(xscale="log", title="time of the best peer / ours")
    low, high = ratios.get_xlim()
    ratios.set_xlim(min(low, 0.5), max(high, 2.0))
    _label_plainly(ratios.xaxis)
    shares.set_title("share of the goal")
    shares.set_xlim(0, max(1.1, shares.get_xlim()[1]))
    shares.xaxis.set_major_formatter(PercentFormatter(1))
    for axes in (ratios, shares):
        axes.axvline(1, color=INK, linewidth=1)
        axes.grid(visible=True, axis="x", color=INK, alpha=0.15)
    peers = ((line.best_peer() or ("no peer",))[0] for line in rows)
    texts = (shorten(f"{x.case} {x.line}: {p}", LABEL) for x, p in zip(rows, peers, strict=True))
    labels = [text.replace("$", r"\$") for text in texts]  # which would start a formula
    ratios.set_yticks(range(len(rows)), labels)
    ratios.set_ylim(len(rows) - 0.4, -0.6)
    shares.tick_params(left=False)
    figure.suptitle(operator, fontweight="bold")
    return figure


def growth(result: Result) -> Figure | None:
    """Return time against size, one panel for each sweep."""
    swept = [line for line in result.lines if is_sweep(line)]
    names = dict.fromkeys(n for line in swept for n in (OURS, *line.timings) if line.timing(n))
    cases = list(dict.fromkeys(line.case for line in swept))
    if not names:
        return None
    rows = math.ceil(len(cases) / 2)
    figure = Figure((WIDTH, 1.0 + 3.6 * rows), layout="constrained")
    panels = figure.subplots(rows, 2, squeeze=False).ravel()
    for axes, case in zip(panels, cases, strict=False):
        ordered = sorted((x for x in swept if x.case == case), key=lambda line: line.size or 0)
        for number, name in enumerate(names):
            _draw_curve(axes, ordered, name, number)
        axes.set(xlabel="elements", ylabel="microseconds", title=case, yscale="log")
        axes.set_xscale("log", base=2)
        _label_plainly(axes.yaxis)
        axes.xaxis.set_major_locator(LogLocator(base=16, numticks=15))
        _draw_least_times(axes, result, ordered)
        axes.grid(visible=True, color=INK, alpha=0.15)
    for axes in panels[len(cases) :]:
        axes.remove()
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _draw_curve(axes: Axes, ordered: Sequence[LineResult], name: str, number: int) -> None:
    """Draw the times of one contender; where one is missing, the curve has a gap."""
    sizes = [line.size or 0 for line in ordered]
    timings = [line.timing(name) for line in ordered]
    low, median, high = (
        [getattr(timing, field, NAN) for timing in timings]
        for field in ("p10_us", "median_us", "p90_us")
    )
    color = COLOURS[number % len(COLOURS)]
    style = ("-", "--", ":")[number // len(COLOURS) % 3]
    width = 2.5 if name == OURS else 1.2
    axes.fill_between(sizes, low, high, color=color, alpha=0.3, linewidth=0)
    axes.plot(sizes, median, color=color, linestyle=style, linewidth=width, marker=".", label=name)


def _draw_least_times(axes: Axes, result: Result, ordered: Sequence[LineResult]) -> None:
    """Draw the least time of each size, as far up as times were measured."""
    bottom = axes.get_ylim()[0]
    rates = [result.ceilings.get(line.ceiling, NAN) for line in ordered]
    least = [line.bytes / rate * 1e6 for line, rate in zip(ordered, rates, strict=True)]
    sizes = [line.size or 0 for line in ordered]
    axes.plot(sizes, least, color=INK, linestyle="--", linewidth=1, label=LEAST)
    axes.fill_between(sizes, bottom, least, color=INK, alpha=0.08, linewidth=0)
    axes.set_ylim(bottom=bottom)


def _label_plainly(axis: Axis) -> None:
    """Label an axis of powers of ten with 0.5, 1, 2, 5, 10, or with fewer if it is long."""
    low, high = axis.get_view_interval()
    steps = (1, 2, 5) if high < 1000 * low else (1,)
    axis.set_major_locator(LogLocator(subs=steps, numticks=15))
    axis.set_major_formatter("{x:.12g}")
    axis.set_minor_locator(NullLocator())
