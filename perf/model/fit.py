"""Parameters of the model from a measurement, and which lines the model gets wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from perf.results import OURS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perf.model.gpus import Gpu
    from perf.model.predictions import Row
    from perf.results import Result

#: What is fitted: of each, the logarithm.
FREE = ("launch", "latency", "l2_latency", "bandwidth", "issue", "dependent")
#: A line is wrong whose prediction is so far off, as a fraction of what was measured.
WRONG = 0.25
#: How much a parameter is held to where it starts: a little, for those that no line depends on.
_HOLD = 1e-3
_STEPS = 60
_DELTA = 1e-4


@dataclass(frozen=True, slots=True)
class Fitted:
    """A line, what it took and what it takes by the model, before and after the fit."""

    case: str
    line: str
    measured: float
    before: float
    after: float

    @property
    def is_wrong(self) -> bool:
        """Whether the fitted model is far off."""
        return abs(self.after - self.measured) > WRONG * self.measured


def _with(gpu: Gpu, scales: np.ndarray[Any, Any]) -> Gpu:
    changed = {
        name: getattr(gpu, name) * float(np.exp(scale))
        for name, scale in zip(FREE, scales, strict=True)
    }
    return replace(gpu, **changed)


def fit(rows: Sequence[tuple[Row, float]], gpu: Gpu) -> Gpu:
    """Return a GPU whose parameters fit lines and the microseconds that were measured.

    Least squares of the logarithms of the ratios, by Levenberg's and Marquardt's method.
    """
    measured = np.log([time for _, time in rows])

    def residuals(scales: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        found = _with(gpu, scales)
        off = np.log([row.predict(found).total for row, _ in rows]) - measured
        return np.concatenate((off, _HOLD * scales))

    scales, damping = np.zeros(len(FREE)), 1e-2
    now = residuals(scales)
    for _ in range(_STEPS):
        steps = _DELTA * np.eye(len(FREE))
        slopes = np.stack([(residuals(scales + step) - now) / _DELTA for step in steps], axis=1)
        square = slopes.T @ slopes
        change = np.linalg.solve(square + damping * np.eye(len(FREE)), -slopes.T @ now)
        after = residuals(scales + change)
        if after @ after < now @ now:
            scales, now, damping = scales + change, after, damping / 3
        else:
            damping *= 4
    return _with(gpu, scales)


def measured_lines(result: Result, rows: Sequence[Row]) -> list[tuple[Row, float]]:
    """Return the lines of a result that the model knows, with the microseconds that ours took."""
    known = {(row.case, row.line): row for row in rows}
    found = []
    for line in result.lines:
        row, timing = known.get((line.case, line.line)), line.timings.get(OURS)
        if row is not None and timing is not None and not isnan(timing.median_us):
            found.append((row, timing.median_us))
    return found


def judge(lines: Sequence[tuple[Row, float]], gpu: Gpu, fitted: Gpu) -> list[Fitted]:
    """Return each line's times."""
    return [
        Fitted(row.case, row.line, time, row.predict(gpu).total, row.predict(fitted).total)
        for row, time in lines
    ]


def table_of(judged: Sequence[Fitted], gpu: Gpu, fitted: Gpu) -> Table:
    """Return the table of a fit; lines that the model gets wrong are red."""
    changes = ", ".join(
        f"{name} {getattr(gpu, name):.4g} -> {getattr(fitted, name):.4g}" for name in FREE
    )
    table = Table(title=f"{gpu.name}: measured beside the model, fitted to it", caption=changes)
    for heading in ("case", "line"):
        table.add_column(heading)
    for heading in ("measured, us", "model", "fitted", "off"):
        table.add_column(heading, justify="right")
    for one in judged:
        times = (f"{time:.1f}" for time in (one.measured, one.before, one.after))
        off = f"{one.after / one.measured - 1:+.0%}"
        table.add_row(one.case, one.line, *times, off, style="red" if one.is_wrong else "")
    return table
