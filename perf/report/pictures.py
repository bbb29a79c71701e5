"""Pictures of a result: how time grows with size, how its lines compare with peers and goals.

Here are their places and texts; ``pictures.html.j2`` draws them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from textwrap import shorten
from typing import TYPE_CHECKING, NamedTuple

from perf.results import OURS, format_goal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from perf.results import LineResult, Result, Timing

#: Ends of the axes of a panel in its own units, left and right, bottom and top; of a strip, in
#: per cent of its width.
SIZES, TIMES, STRIP = (44, 392), (214, 24), (4, 96)
#: A strip shows at least half and twice as good.
LEAST_STRIP = (0.5, 2.0)
#: Stands for values that have no place on a logarithmic axis, at or below zero or infinite.
FAR = 1e-30
#: Steps in a decade of an axis whose ends have a ratio below the first number.
STEPS: tuple[tuple[float, tuple[float, ...]], ...] = (
    (6, (1, 1.5, 2, 3, 5, 7)),
    (20, (1, 2, 3, 5)),
    (1000, (1, 2, 5)),
    (math.inf, (1,)),
)
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
#: Letters of what is said about times that are missing.
ABSENCE = 300


@dataclass(frozen=True, slots=True)
class Axis:
    """A logarithmic axis."""

    low: float
    high: float
    start: float  # the place of the lowest value
    end: float

    @classmethod
    def around(cls, values: Iterable[float], ends: tuple[float, float]) -> Axis:
        """Return an axis that has these values, a margin, and more than one tick."""
        known = [value for value in values if 0 < value < math.inf]
        low, high = min(known), max(known)
        margin = max(2 / math.sqrt(high / low), (high / low) ** 0.04)
        return cls(low / margin, high * margin, *ends)

    def place(self, value: float) -> float:
        """Return where a value is, maybe beyond an end."""
        share = math.log(min(max(value, FAR), 1 / FAR) / self.low) / math.log(self.high / self.low)
        return round(self.start + (self.end - self.start) * share, 1)

    def powers_of_two(self) -> list[tuple[float, str]]:
        """Return places and names of seven ticks at most."""
        first, last = math.ceil(math.log2(self.low)), math.floor(math.log2(self.high))
        step = 1 << ((last - first) // 6).bit_length()
        powers = (power for power in range(first, last + 1) if power % step == 0)
        return [(self.place(2.0**p), f"2{str(p).translate(SUPERSCRIPTS)}") for p in powers]

    def numbers(self, unit: float = 1) -> list[tuple[float, str]]:
        """Return places and names, in units, of round numbers: the longer the axis, the fewer."""
        span = self.high / self.low
        steps = next(steps for longest, steps in STEPS if span < longest)
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        powers = range(first, last, 1 + (last - first) // 8)
        values = (step * 10.0**power for power in powers for step in steps)
        ticks = (value for value in values if self.low <= value <= self.high)
        return [(self.place(value), f"{value / unit:.12g}") for value in ticks]


class Curve(NamedTuple):
    """The times of one contender, as paths; where a time is missing, they have a gap."""

    name: str
    number: int  # decides about colour and dashes
    line: str
    dots: str
    band: str


class Panel(NamedTuple):
    """A sweep: time against size."""

    title: str
    absence: str
    sizes: Axis
    times: Axis
    least: str  # the path of the least times, and that of the area below
    below: str
    curves: list[Curve]


class Mark(NamedTuple):
    """A dot in a strip, with its whiskers and its text."""

    text: str
    place: float
    low: float
    high: float


class Row(NamedTuple):
    """A line of a comparison; what is None is unknown."""

    title: str
    peer: str | None
    ratio: Mark | None
    share: Mark | None


class Comparison(NamedTuple):
    """The lines of an operator; an axis is None if no row has a mark on it."""

    operator: str
    absence: str
    ratios: Axis | None
    shares: Axis | None
    rows: list[Row]


def is_sweep(line: LineResult) -> bool:
    """Return whether a line is one of a sweep over sizes."""
    return line.case.startswith("sweep-") and line.size is not None


def panels(result: Result) -> list[Panel]:
    """Return a panel for each sweep that has times."""
    swept = [line for line in result.lines if is_sweep(line)]
    names = list(dict.fromkeys(n for x in swept for n in (OURS, *x.timings) if x.timing(n)))
    cases = dict.fromkeys(x.case for x in swept if any(map(x.timing, names)))
    ordered = sorted(swept, key=lambda line: line.size or 0)
    return [_panel(result, [x for x in ordered if x.case == case], names) for case in cases]


def comparisons(result: Result) -> list[Comparison]:
    """Return how the lines of each operator, sweeps aside, compare with peers and goals."""
    timed = [line for line in result.lines if line.timing() and not is_sweep(line)]
    operators = dict.fromkeys(line.operator for line in timed)
    found = (_comparison(result, [x for x in timed if x.operator == name]) for name in operators)
    return [comparison for comparison in found if comparison.ratios or comparison.shares]


def describe_absence(lines: Sequence[LineResult], of: str) -> str:
    """Return how many of these lines no other library has a time of, and why."""
    alone = [line for line in lines if line.best_peer() is None]
    if not alone:
        return ""
    others = (t for x in alone for name, t in x.timings.items() if not name.startswith(OURS))
    reasons = "; ".join(dict.fromkeys(filter(None, (timing.note for timing in others))))
    some = "" if len(alone) == len(lines) else f" {of.format(len(alone), len(lines))}"
    because = f" ({shorten(reasons, ABSENCE)})" if reasons else ""
    return f"No other library was timed{some}{because}."


def _panel(result: Result, lines: Sequence[LineResult], names: Sequence[str]) -> Panel:
    timings = [timing for line in lines for timing in map(line.timing, names) if timing]
    sizes = Axis.around((line.size or 0 for line in lines), SIZES)
    spread = (time for t in timings for time in (t.p10_us, t.median_us, t.p90_us))
    times = Axis.around(spread, TIMES)
    rates = ((line, result.ceilings.get(line.ceiling)) for line in lines)
    least = [
        (sizes.place(line.size or 0), times.place(line.bytes / rate * 1e6))
        for line, rate in rates
        if rate
    ]
    path = _path(least)
    below = f"{path}V{times.start}H{least[0][0]:g}z" if least else ""
    drawn = (_curve(lines, name, number, sizes, times) for number, name in enumerate(names))
    curves = [curve for curve in drawn if curve.line]
    absence = describe_absence(lines, "at {} of {} sizes")
    return Panel(lines[0].case, absence, sizes, times, path, below, curves)


def _curve(lines: Sequence[LineResult], name: str, number: int, sizes: Axis, times: Axis) -> Curve:
    timings = ((sizes.place(line.size or 0), line.timing(name)) for line in lines)
    runs = [[*run] for timed, run in groupby(timings, lambda pair: pair[1] is not None) if timed]

    def points(run: Iterable[tuple[float, Timing | None]], field: str) -> list[tuple[float, float]]:
        return [(x, times.place(getattr(timing, field))) for x, timing in run]

    medians = [points(run, "median_us") for run in runs]
    rounds = (points(run, "p10_us") + points(run[::-1], "p90_us") for run in runs)
    return Curve(
        name,
        number,
        line="".join(map(_path, medians)),
        dots="".join(f"M{x:g} {y:g}h0" for run in medians for x, y in run),
        band="".join(f"{_path(run)}z" for run in rounds),
    )


def _path(points: Sequence[tuple[float, float]]) -> str:
    """Return the path of an SVG through these points."""
    return "M" + " ".join(f"{x:g} {y:g}" for x, y in points) if points else ""


def _comparison(result: Result, lines: Sequence[LineResult]) -> Comparison:
    ratios = [line.ratio() for line in lines]
    ratio_axis, ratio_marks = _strip(ratios, map(str, ratios))
    reached = [result.share_of_goal(line) for line in lines]
    texts = (f"{x:.0%} of {format_goal(line)}" for x, line in zip(reached, lines, strict=True))
    share_axis, share_marks = _strip([(x, x, x) if x > 0 else None for x in reached], texts)
    best = (line.best_peer() for line in lines)
    peers = (pair[0] if pair else None for pair in best)
    titles = (f"{line.case} {line.line}" for line in lines)
    rows = [Row(*cells) for cells in zip(titles, peers, ratio_marks, share_marks, strict=True)]
    absence = describe_absence(lines, "for {} of {} lines")
    return Comparison(lines[0].operator, absence, ratio_axis, share_axis, rows)


def _strip(
    values: Sequence[tuple[float, float, float] | None], texts: Iterable[str]
) -> tuple[Axis | None, list[Mark | None]]:
    """Return the axis of values with their least and their most, and their marks."""
    known = [value for row in values if row for value in row]
    if not known:
        return None, [None] * len(values)
    axis = Axis.around((*known, *LEAST_STRIP), STRIP)
    rows = zip(values, texts, strict=True)
    return axis, [Mark(text, *map(axis.place, row)) if row else None for row, text in rows]
