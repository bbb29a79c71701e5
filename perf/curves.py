"""Pictures of a result file with curves and points, and the style of all pictures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, FormatStrFormatter, LogLocator, MaxNLocator, NullLocator

from perf import summary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from perf.results import LineResult, Result

#: Of a picture, in inches.
WIDTH = 11.0
#: Distinct for colour-blind readers too (Okabe and Ito); ours is the first.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555")
MARKERS = "osD^vPX*"
PALE = 0.3
STYLES = {"read": "-", "copy": "--", "write": "-.", "memcpy": ":"}
#: Up to so many times from end to end, a logarithmic axis has evenly spaced ticks; 1, 2, 5 beyond.
EVEN_TICKS, CLOSE_TICKS = 8, 1500


def roofline(result: Result) -> Figure | None:
    """Return bytes per second against the bytes of a call, with the ceilings."""
    figure = Figure((WIDTH, 6.5), layout="constrained")
    axes = figure.subplots()
    names = summary.contenders(result)
    for who, alpha, suffix in ((names[1:], PALE, ", peers"), (names[:1], 1.0, "")):
        for index, operator in enumerate(summary.operators(result)):
            points = [
                (line.bytes, line.bytes / (timing.median_us * 1e-6))
                for line in result.lines
                for name in who
                if line.operator == operator and (timing := summary.timing(line, name))
            ]
            if points:
                style = {**_style(index), "linestyle": "none", "alpha": alpha}
                axes.plot(*zip(*points, strict=True), **style, label=operator + suffix)
    if not axes.lines:
        return None
    for name, value in result.ceilings.items():
        if value:
            text = f"ceiling: {name}, {value / 1e12:.2f} TB/s"
            axes.axhline(value, color="black", linestyle=STYLES.get(name, "-"), label=text)
    if result.gpu.get("l2_bytes"):
        axes.axvline(result.gpu["l2_bytes"], color="gray", linestyle=":", label="size of L2")
    axes.set(xscale="log", yscale="log", title="Roofline: rate against size")
    axes.set(xlabel="bytes that a call has to move", ylabel="bytes per second")
    axes.xaxis.set_major_formatter(EngFormatter("B"))
    axes.yaxis.set_major_formatter(EngFormatter("B/s"))
    axes.grid(visible=True, alpha=PALE)
    figure.legend(loc="outside right upper", frameon=False)
    return figure


def growth(result: Result) -> Figure | None:
    """Return time against size, one panel for each sweep."""
    lines = [line for line in result.lines if summary.is_sweep(line)]
    names = [n for n in summary.contenders(result) if any(summary.timing(x, n) for x in lines)]
    cases = list(dict.fromkeys(line.case for line in lines))
    if not names:
        return None
    columns = min(2, len(cases))
    rows = math.ceil(len(cases) / columns)
    figure = Figure((WIDTH, 1.0 + 3.3 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, case in zip(panels, cases, strict=False):
        for index, name in enumerate(names):
            _curve(axes, [line for line in lines if line.case == case], name, index)
        axes.set(xlabel="elements", ylabel="us", title=case, yscale="log")
        axes.set_xscale("log", base=2)
        ticks(axes.yaxis)
        axes.grid(visible=True, alpha=PALE)
    for axes in panels[len(cases) :]:
        axes.remove()
    handles = [Line2D([], [], label=name, **_style(i)) for i, name in enumerate(names)]
    figure.suptitle("Time against size: median, and band from p10 to p90")
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _curve(axes: Axes, lines: Iterable[LineResult], name: str, index: int) -> None:
    """Draw the times of one contender; where one is missing, the curve has a gap."""
    ordered = sorted(lines, key=lambda line: line.size or 0)
    timings = [summary.timing(line, name) for line in ordered]
    if any(timings):
        sizes = [line.size or 0 for line in ordered]
        low, median, high = (
            [getattr(timing, field, summary.NAN) for timing in timings]
            for field in ("p10_us", "median_us", "p90_us")
        )
        style = _style(index)
        axes.fill_between(sizes, low, high, color=style["color"], alpha=PALE, linewidth=0)
        axes.plot(sizes, median, label=name, markersize=5, **style)


def _style(index: int) -> dict[str, Any]:
    """Return what tells one of many from the others; nothing else has the colour of the first."""
    peers = len(PALETTE) - 1
    rounds, colour = divmod(index - 1, peers) if index else (0, -1)
    return {
        "color": PALETTE[colour + 1],
        "marker": MARKERS[index % len(MARKERS)],
        "linestyle": ("-", "--")[rounds % 2],
    }


def ticks(axis: Axis) -> None:
    """Set plain numbers at a logarithmic axis, as many as its limits leave room for."""
    low, high = axis.get_view_interval()
    if high / low < EVEN_TICKS:
        axis.set_major_locator(MaxNLocator(8, steps=[1, 2, 5, 10]))
    else:
        subs = (1.0, 2.0, 5.0) if high / low < CLOSE_TICKS else (1.0,)
        axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(FormatStrFormatter("%g"))
    axis.set_minor_locator(NullLocator())
