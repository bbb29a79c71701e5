"""What result files say, line by line: fractions, goals, ratios with their intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perf.results import OURS, LineResult, Timing, best_peer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from perf.cases.base import Line
    from perf.results import Result

NAN = float("nan")
#: A run is not to be trusted if its copy ceiling changed by more than this share.
MAX_DRIFT = 0.02


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as long one takes as the other, with the least and the most it may be."""

    value: float
    low: float
    high: float

    @property
    def is_significant(self) -> bool:
        """Whether the intervals from the 10th to the 90th percentile do not overlap."""
        return self.low > 1 or self.high < 1


@dataclass(frozen=True, slots=True)
class Change:
    """A line that both of two results have, with our times."""

    line: LineResult
    old: Timing
    new: Timing


@dataclass(frozen=True, slots=True)
class Changes:
    """What is different between two results; `untimed` is in both, without a time in one."""

    timed: list[Change]
    untimed: list[LineResult]
    new: list[LineResult]
    gone: list[LineResult]


def digits(value: float) -> str:
    """Return a number with three digits or, from 1000 on, with all before the point."""
    for limit, places in ((10, 2), (100, 1)):
        if value < limit:
            return f"{value:.{places}f}"
    return f"{value:.0f}"


def interval(timing: Timing) -> str:
    """Return median, 10th and 90th percentile as text."""
    return f"{digits(timing.median_us)} ({digits(timing.p10_us)}-{digits(timing.p90_us)})"


def ratio(slower: Timing, faster: Timing) -> Ratio:
    """Return how many times faster the second one is; below 1 it is slower."""
    return Ratio(
        slower.median_us / faster.median_us,
        slower.p10_us / faster.p90_us,
        slower.p90_us / faster.p10_us,
    )


def timing(line: LineResult, contender: str = OURS) -> Timing | None:
    """Return a contender's timing; None if it has no time."""
    found = line.timings.get(contender)
    return found if found is not None and found.median_us > 0 else None


def is_measurement(result: Result) -> bool:
    """Return whether there are times of a GPU in it."""
    return result.engine == "cuda" and any(
        timing(line, name) for line in result.lines for name in line.timings
    )


def is_sweep(line: LineResult) -> bool:
    """Return whether a line is there to show how time grows with size."""
    return line.case.startswith("sweep-") and line.size is not None


def operators(result: Result) -> list[str]:
    """Return the operators, in the order of the lines."""
    return list(dict.fromkeys(line.operator for line in result.lines))


def contenders(result: Result) -> list[str]:
    """Return all contenders by name, ours first."""
    names = {name for line in result.lines for name in line.timings}
    return [OURS, *sorted(names - {OURS})]


def fraction(result: Result, line: LineResult, contender: str = OURS) -> float:
    """Return the fraction of its ceiling that a contender reached; NaN if either is unknown."""
    if timing(line, contender) is None or not result.ceilings.get(line.ceiling):
        return NAN
    return result.fraction(line, contender)


def goal(line: Line | LineResult) -> str:
    """Return the goal of a line as text; empty if it has none."""
    if line.goal_us is not None:
        return f"{line.goal_us:g} us"
    return "" if line.goal is None else f"{line.goal:.0%}"


def share_of_goal(result: Result, line: LineResult) -> float:
    """Return what we reached of a line's goal, 1 and above being reached; NaN if unknown."""
    ours = timing(line)
    if ours is not None and line.goal_us is not None:
        return line.goal_us / ours.median_us
    return NAN if line.goal is None else fraction(result, line) / line.goal


def furthest_below(result: Result, count: int) -> list[LineResult]:
    """Return the lines that reached least of their goals, the worst first."""
    below = [line for line in result.lines if share_of_goal(result, line) < 1]
    return sorted(below, key=lambda line: share_of_goal(result, line))[:count]


def against_best_peer(line: LineResult) -> tuple[str, Ratio] | None:
    """Return the best peer and how many times faster we are, if both have a time."""
    peer, ours = best_peer(line), timing(line)
    return (peer[0], ratio(peer[1], ours)) if peer and ours else None


def compare(old: Result, new: Result) -> Changes:
    """Return what changed for us between two results."""
    before = {(line.case, line.line): line for line in old.lines}
    now = {(line.case, line.line): line for line in new.lines}
    both = [(line, timing(before[key]), timing(line)) for key, line in now.items() if key in before]
    return Changes(
        timed=[Change(line, was, this) for line, was, this in both if was and this],
        untimed=[line for line, was, this in both if not (was and this)],
        new=[line for key, line in now.items() if key not in before],
        gone=[line for key, line in before.items() if key not in now],
    )


def newest(results: Iterable[Result]) -> list[tuple[Result, Result | None]]:
    """Return the newest result of each GPU, and the one before; the newest GPU comes first."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in sorted(results, key=lambda result: result.date, reverse=True):
        groups.setdefault((result.engine, str(result.gpu.get("name"))), []).append(result)
    return [(group[0], group[1] if len(group) > 1 else None) for group in groups.values()]
