"""Pictures of a result file, as figures: those with a row for each line are drawn here."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from perf import summary
from perf.curves import PALE, PALETTE, WIDTH, growth, roofline, ticks
from perf.results import OURS, best_peer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from perf.results import LineResult, Result

#: Of a row, of what is around the rows and of a letter, in inches.
ROW, AROUND, LETTER = 0.34, 1.4, 0.075
#: Letters in a line of the labels beside the rows.
LABEL = 58
FASTER, SLOWER = PALETTE[:2]
STRONG, HATCH = 0.75, "///"
GOAL: dict[str, Any] = {"color": "black", "marker": "|", "linestyle": "none"}
GOAL |= {"markersize": 17, "markeredgewidth": 2.5}


@dataclass(frozen=True, slots=True)
class Bar:
    """A row of a picture of ratios."""

    label: str
    ratio: summary.Ratio
    text: str


def figures(result: Result, before: Result | None = None) -> dict[str, Figure]:
    """Return all pictures that there is data for, by name.

    Parameters
    ----------
    result : Result
        A measurement.
    before : Result, optional
        An older one, for what changed since.
    """
    operators = summary.operators(result)
    found = {f"ratio-{operator}": ratios(result, operator) for operator in operators}
    found |= {f"fraction-{operator}": fractions(result, operator) for operator in operators}
    found |= {"roofline": roofline(result), "growth": growth(result)}
    if before is not None:
        changes = summary.compare(before, result)
        found |= {f"change-{operator}": change(changes, operator) for operator in operators}
    return {name: figure for name, figure in found.items() if figure is not None}


def ratios(result: Result, operator: str) -> Figure | None:
    """Return how many times faster we are than the best peer, case by case."""
    bars, alone = [], []
    for line in _cases(result, operator):
        found = summary.against_best_peer(line)
        if found is None:
            alone.append(f"{label(line)} ({'no peer' if summary.timing(line) else 'no time'})")
        else:
            mark = " *" if line.timings[found[0]].note else ""
            text = f"{found[0]} {summary.digits(found[1].value)}x{mark}"
            bars.append(Bar(label(line), found[1], text))
    starred = any(bar.text.endswith("*") for bar in bars)
    notes = ["* see the notes about this peer in the table"] if starred else []
    notes += [f"Not drawn: {'; '.join(alone)}"] if alone else []
    return _bars(f"{operator}: time of the best peer / time of {OURS}", bars, notes)


def change(changes: summary.Changes, operator: str) -> Figure | None:
    """Return how many times faster we are than before, line by line."""
    bars = []
    for entry in changes.timed:
        if entry.line.operator == operator:
            ratio = summary.ratio(entry.old, entry.new)
            times = " to ".join(map(summary.interval, (entry.old, entry.new)))
            bars.append(Bar(label(entry.line), ratio, f"{ratio.value:.3f}x:  {times} us"))
    groups = {
        "New": changes.new,
        "Gone": changes.gone,
        "No time in one of the two": changes.untimed,
    }
    notes = [
        f"{title}: {'; '.join(names)}"
        for title, lines in groups.items()
        if (names := [label(line) for line in lines if line.operator == operator])
    ]
    return _bars(f"{operator}: time of {OURS} before / now", bars, notes)


def _bars(title: str, bars: Sequence[Bar], notes: Sequence[str]) -> Figure | None:
    """Return bars that begin at 1, with notes below."""
    if not bars:
        return None
    width = WIDTH - LETTER * min(LABEL, max(len(bar.label) for bar in bars)) - 0.4
    wrapped = _wrapped(notes, width)
    figure = Figure((WIDTH, AROUND + ROW * len(bars) + 0.17 * len(wrapped)), layout="constrained")
    axes = figure.subplots()
    low = min(1, *(bar.ratio.low for bar in bars)) / 1.02
    span = math.log(1.05)
    for y, bar in enumerate(bars):
        sure = bar.ratio.is_significant
        axes.barh(
            y,
            bar.ratio.value - 1,
            left=1,
            height=0.62,
            color=FASTER if bar.ratio.value >= 1 else SLOWER,
            alpha=STRONG if sure else PALE,
            hatch=None if sure else HATCH,
            edgecolor="white",
        )
        axes.plot((bar.ratio.low, bar.ratio.high), (y, y), color="black", marker="|", linewidth=1)
        end = max(1, bar.ratio.value, bar.ratio.high)
        axes.annotate(bar.text, (end, y), (7, 0), textcoords="offset points", va="center")
        # The axis is as long as it must be for the text to end inside.
        span = max(span, math.log(end / low) / (1 - (LETTER * len(bar.text) + 0.2) / width))
    axes.axvline(1, color="black", linewidth=1)
    axes.set(xscale="log", xlim=(low, low * math.exp(span)), title=title)
    axes.set_xlabel("\n".join(wrapped), loc="left")
    ticks(axes.xaxis)
    _rows(axes, [bar.label for bar in bars])
    handles = [
        Patch(color=FASTER, alpha=STRONG, label="faster"),
        Patch(color=SLOWER, alpha=STRONG, label="slower"),
        Patch(facecolor="#bbbbbb", hatch=HATCH, edgecolor="white", label="intervals overlap"),
        Line2D([], [], color="black", marker="|", label="p10 to p90"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    return figure


def fractions(result: Result, operator: str) -> Figure | None:
    """Return which part of its ceiling each case reaches, or how long it takes."""
    lines = _cases(result, operator)
    timed = [line for line in lines if summary.timing(line) or best_peer(line)]
    latency = [line for line in timed if line.goal_us is not None]
    panels = [panel for panel in ([x for x in timed if x.goal_us is None], latency) if panel]
    if not panels:
        return None
    untimed = [label(line) for line in lines if line not in timed]
    notes = _wrapped([f"No time: {'; '.join(untimed)}"] if untimed else [], WIDTH / 2)
    heights = [len(panel) + 2 for panel in panels]
    height = AROUND + ROW * sum(heights) + 0.17 * len(notes)
    figure = Figure((WIDTH, height), layout="constrained")
    for axes, panel in zip(
        figure.subplots(len(panels), squeeze=False, height_ratios=heights)[:, 0],
        panels,
        strict=True,
    ):
        _dots(axes, result, panel, in_microseconds=panel is latency)
        axes.set_title("GPU time in us" if panel is latency else "fraction of the ceiling")
    axes.set_xlabel("\n".join(notes), loc="left")
    figure.suptitle(f"{operator}: how near to the goal")
    dot: dict[str, Any] = {"color": PALETTE[0], "marker": "o", "linestyle": "none"}
    handles = [
        Line2D([], [], **dot, label=f"{OURS}, goal reached"),
        Line2D([], [], **dot, markerfacecolor="white", label=f"{OURS}, not reached or no goal"),
        Line2D([], [], color=PALETTE[1], marker="D", linestyle="none", label="best peer"),
        Line2D([], [], **{**GOAL, "markersize": 11}, label="goal"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _dots(axes: Axes, result: Result, lines: list[LineResult], *, in_microseconds: bool) -> None:
    for y, line in enumerate(lines):
        goal = line.goal_us if in_microseconds else line.goal
        if goal is not None:
            axes.plot(goal, y, **GOAL, label="goal")
        peer = best_peer(line)
        contenders = [(OURS, "o", 8)] if peer is None else [(peer[0], "D", 6), (OURS, "o", 8)]
        text = "no time"
        for name, marker, size in contenders:
            timing = summary.timing(line, name)
            if timing is None:
                continue
            value = timing.median_us if in_microseconds else summary.fraction(result, line, name)
            if math.isnan(value):
                text = "no ceiling"
                continue
            colour = PALETTE[0] if name == OURS else PALETTE[1]
            hollow = name == OURS and not summary.share_of_goal(result, line) >= 1
            style: dict[str, Any] = {"marker": marker, "markersize": size, "linestyle": "none"}
            fill = "white" if hollow else colour
            axes.plot(value, y, color=colour, markerfacecolor=fill, label=name, **style)
            if name == OURS:
                text = summary.digits(value) if in_microseconds else f"{value:.1%}"
        axes.annotate(text, (1.01, y), xycoords=("axes fraction", "data"), va="center")
    _rows(axes, [label(line) for line in lines])
    if in_microseconds:
        axes.set_xscale("log")
        ticks(axes.xaxis)
    else:
        axes.set_xlim(0, max(1.02, axes.get_xlim()[1]))
        axes.xaxis.set_major_formatter(PercentFormatter(1))


def label(line: LineResult) -> str:
    """Return what a line is called in pictures; a dollar sign would start a formula."""
    return f"{line.case}  {line.line}".replace("$", r"\$")


def _cases(result: Result, operator: str) -> list[LineResult]:
    """Return the lines of an operator that are no sweep."""
    return [x for x in result.lines if x.operator == operator and not summary.is_sweep(x)]


def _wrapped(notes: Sequence[str], width: float) -> list[str]:
    return [line for note in notes for line in textwrap.wrap(note, int(width / LETTER))]


def _rows(axes: Axes, labels: Sequence[str]) -> None:
    shown = [textwrap.wrap(text, LABEL, max_lines=2, placeholder=" ...") for text in labels]
    axes.set_yticks(range(len(labels)), ["\n".join(text) for text in shown])
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=True, axis="x", alpha=PALE)
    axes.set_axisbelow(True)
