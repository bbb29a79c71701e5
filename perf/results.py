"""Result files: what was measured, on what, and how. Every reader and writer goes through here."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from perf.cases.base import Line

SCHEMA = 2
NAN = math.nan
#: Our own name among the contenders.
OURS = "cudakern"
#: A run cannot be trusted if its copy ceiling changed by more than this share.
MAX_DRIFT = 0.02


class Ratio(NamedTuple):
    """How many times as long one takes as the other, with the least and the most it may be."""

    value: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """``~`` if the intervals from 10th to 90th percentile overlap."""
        if self.low > 1:
            return "faster"
        return "slower" if self.high < 1 else "~"

    def __str__(self) -> str:
        """Three digits, and ``~`` if they are not significant."""
        return f"{format_number(self.value)}{' ~' if self.verdict == '~' else ''}"


@dataclass(slots=True)
class Timing:
    """What one contender took for one line."""

    #: Time of a call on the GPU in microseconds; NaN, null in JSON, if there is no time.
    median_us: float
    p10_us: float
    p90_us: float
    samples: int
    #: ``"graph"``: replay of a captured graph; ``"events"``: around single calls; ``"wall"``: on
    #: the host, for calls that wait for the GPU themselves; empty if there is no time.
    method: str
    cold: bool  # whether the data had left L2 before each call
    warm_us: float | None = None  # median with the data in L2, where that is another
    host_us: float | None = None  # what the call took on the host before it returned: median
    scratch_bytes: int = 0  # memory that the contender took besides its operands
    #: How its work or its timing differs from the usual, or why there is no time. The note of a
    #: wrong result begins with ``"WRONG"``.
    note: str = ""

    @property
    def interval(self) -> str:
        """Median, 10th and 90th percentile as text."""
        median, low, high = map(format_number, (self.median_us, self.p10_us, self.p90_us))
        return f"{median} ({low}-{high})"

    def over(self, faster: Timing) -> Ratio:
        """Return how many times as long this takes as another; below 1 it is faster."""
        # A time that is the difference of two may be below zero at its 10th percentile.
        most = self.p90_us / faster.p10_us if faster.p10_us > 0 else math.inf
        return Ratio(self.median_us / faster.median_us, self.p10_us / faster.p90_us, most)


@dataclass(slots=True)
class LineResult:
    """One workload, timed for all contenders in turn."""

    case: str
    line: str  # title of the workload
    operator: str
    bytes: float  # what has to move
    ceiling: str  # ``"read"``, ``"write"`` or ``"copy"``: which of the ceilings applies
    goal: float | None = None  # fraction of the ceiling that counts as reached
    goal_us: float | None = None  # or microseconds
    checked: bool = False  # whether our result was compared with the oracle's
    size: int | None = None  # elements, of lines that show how time grows with size
    kernel: str = ""  # our kernel's entry point
    timings: dict[str, Timing] = field(default_factory=dict)  # by contender
    #: Of the GPU after the line: ``sm_mhz``, ``celsius``, ``watts``; the same with ``_before``.
    state: dict[str, float] = field(default_factory=dict)

    def timing(self, contender: str = OURS) -> Timing | None:
        """Return a contender's timing; None if it has no time."""
        timing = self.timings.get(contender)
        return timing if timing is not None and timing.median_us > 0 else None

    @property
    def is_wrong(self) -> bool:
        """Whether our result is wrong."""
        return OURS in self.timings and self.timings[OURS].note.startswith("WRONG")

    def best_peer(self) -> tuple[str, Timing] | None:
        """Return the fastest contender besides us, if any; a note may say how its work differs."""
        timed = {name: t for name in self.timings if (t := self.timing(name))}
        peers = {name: t for name, t in timed.items() if not name.startswith(OURS)}
        return min(peers.items(), key=lambda pair: pair[1].median_us, default=None)

    def ratio(self) -> Ratio | None:
        """Return the best peer's time over ours, if both have one."""
        ours, best = self.timing(), self.best_peer()
        return best[1].over(ours) if best and ours else None


@dataclass(slots=True)
class Result:
    """A run."""

    engine: str  # ``"cuda"``; a run in the simulator has no times
    date: str  # ISO 8601 in UTC
    commit: str  # hash, with ``"+"`` behind it if files were changed
    gpu: dict[str, Any]  # ``name``, ``driver``, ``l2_bytes``, ...: `describe_gpu`
    versions: dict[str, str]  # of the packages that took part
    ceilings: dict[str, float]  # bytes per second: ``read``, ``write``, ``copy``, ``memcpy``
    #: How much the copy ceiling changed during the run, as a fraction; NaN, null in JSON, of a run
    #: that ended early.
    drift: float
    lines: list[LineResult] = field(default_factory=list)  # in the order of the matrix
    incomplete: str = ""  # what the run lacks; empty if it went to its end

    @property
    def is_measurement(self) -> bool:
        """Whether there are times of a GPU in it."""
        timed = (line.timing(name) for line in self.lines for name in line.timings)
        return self.engine == "cuda" and any(timed)

    def fraction(self, line: LineResult) -> float:
        """Return the fraction of its ceiling that we reached; NaN if either is unknown."""
        timing, ceiling = line.timing(), self.ceilings.get(line.ceiling)
        if timing is None or not ceiling:
            return NAN
        return line.bytes / (timing.median_us * 1e-6) / ceiling

    def share_of_goal(self, line: LineResult) -> float:
        """Return what we reached of a line's goal, 1 and above being reached; NaN if unknown."""
        timing = line.timing()
        if timing is not None and line.goal_us is not None:
            return line.goal_us / timing.median_us
        return NAN if line.goal is None else self.fraction(line) / line.goal

    def completes(self, newer: Result) -> bool:
        """Return whether this run is of a newer one's commit, and they share no line."""
        lines = {(line.case, line.line) for line in newer.lines}
        return self.commit == newer.commit and lines.isdisjoint(
            (x.case, x.line) for x in self.lines
        )

    def join(self, newer: Result) -> Result:
        """Return a newer run with the lines of this one appended."""
        lacks = "; ".join(filter(None, (newer.incomplete, self.incomplete)))
        known = [drift for drift in (newer.drift, self.drift) if not math.isnan(drift)]
        drift = max(known, default=NAN)
        return replace(newer, lines=newer.lines + self.lines, incomplete=lacks, drift=drift)

    def warnings(self) -> list[str]:
        """Return why it cannot be trusted."""
        warnings = []
        if not self.is_measurement:
            warnings.append(f"no measurement (engine {self.engine})")
        if self.incomplete:
            warnings.append(f"the run is incomplete: {self.incomplete}")
        if self.drift > MAX_DRIFT:
            warnings.append(f"the copy ceiling changed by more than {MAX_DRIFT:.0%}; run again")
        return warnings

    def save(self, path: Path) -> None:
        """Write the file."""
        write_json({"schema": SCHEMA, **asdict(self)}, path)


def write_json(data: dict[str, Any], path: Path) -> None:
    """Write a file, which is whole at any time, with null for NaN; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(json.loads(json.dumps(data), parse_constant=lambda _nan: None), indent=1)
    is_kept = path.is_symlink() or (path.exists() and not path.is_file())  # such as /dev/null
    target = path if is_kept else path.with_name(f".{path.name}.part")
    target.write_text(text + "\n", encoding="utf-8")
    target.replace(path)


def format_number(value: float) -> str:
    """Return a number with three digits or, from 1000 on, with all before the point."""
    for limit, places in ((10, 2), (100, 1)):
        if value < limit:
            return f"{value:.{places}f}"
    return f"{value:.0f}"


def format_goal(line: Line | LineResult) -> str:
    """Return the goal of a line as text; empty if it has none."""
    if line.goal_us is not None:
        return f"{line.goal_us:g} us"
    return "" if line.goal is None else f"{line.goal:.0%}"


def load(path: Path) -> Result:
    """Read a result file; ValueError if it is missing, or has another form or schema."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        schema = data.pop("schema")
        if schema != SCHEMA:
            message = f"{path}: must have schema {SCHEMA}; got {schema}"
            raise ValueError(message)
        lines = [_line(entry) for entry in data.pop("lines")]
        if data["drift"] is None:
            data["drift"] = NAN
        return Result(lines=lines, **data)
    except OSError as error:
        message = f"{path}: {error.strerror}"
        raise ValueError(message) from error
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        message = f"{path}: must be a result file of perf run; got {error!r}"
        raise ValueError(message) from error


def _line(entry: dict[str, Any]) -> LineResult:
    for timing in entry["timings"].values():
        timing |= {k: NAN for k in ("median_us", "p10_us", "p90_us") if timing[k] is None}
    timings = {name: Timing(**timing) for name, timing in entry.pop("timings").items()}
    return LineResult(timings=timings, **entry)
