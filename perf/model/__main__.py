"""Predict what calls take on a GPU. ``python -m perf.model [CASE ...]``. A model, no measurement.

Without a GPU: from plans, machine code and counts of the simulator.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from perf.cases import find
from perf.cases.nonzero_coordinates import NonzeroProblem
from perf.cases.reduce import ReduceProblem
from perf.console import new_console
from perf.model.counts import work_of
from perf.model.gpus import GPUS, Gpu
from perf.model.time import Prediction, in_flight, predict
from perf.model.work import Work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perf.cases.base import Problem

MODEL = "model, no measurement"
_TERMS = ("memory", "port", "issue", "pipe", "flight", "serial", "latency", "tail")


@dataclass(frozen=True, slots=True)
class Row:
    """A line and what the model says of it."""

    case: str
    line: str
    work: Work
    prediction: Prediction


def table_of(rows: Sequence[Row], gpu: Gpu) -> Table:
    """Return the table of predictions for a GPU."""
    title = f"{gpu.name}: times in microseconds ({MODEL})"
    table = Table(title=title, box=SIMPLE_HEAD, collapse_padding=True)
    for heading in ("case", "line", "kernel"):
        table.add_column(heading, overflow="fold")
    figures = ("blocks", "res", "waves", "KiB", "instr/16 B", *_TERMS)
    for heading in (*figures, "total", "roof", "ratio", "bound"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        work, found = row.work, row.prediction
        cells = (
            f"{work.tasks}",
            f"{work.resident}",
            f"{found.waves}",
            f"{in_flight(work, gpu) / 1024:.1f}",
            f"{work.instructions * 32 / (work.least / 16):.0f}",
            *(f"{getattr(found, term):.1f}" for term in _TERMS),
            f"{found.total:.1f}",
            f"{found.roofline:.1f}",
            f"{found.ratio:.2f}",
            found.bound,
        )
        kernel = work.kernel.removeprefix("ck_")
        style = "" if found.holds else "red"
        table.add_row(row.case, row.line, kernel, *cells, style=style)
    return table


def _shape(text: str) -> tuple[int, ...]:
    return tuple(int(eval(size, {"__builtins__": {}})) for size in text.split("x"))  # noqa: S307  such as 2**20


def _given(options: argparse.Namespace) -> list[Problem]:
    """Return the problems that are given by their shapes."""
    found: list[Problem] = []
    for function, dtype, shape, axes in options.reduce:
        of: Any = function
        found.append(ReduceProblem(of, _shape(shape), tuple(map(int, axes.split(","))), dtype))
    for dtype, shape, density in options.nonzero:
        found.append(NonzeroProblem(_shape(shape), dtype, float(density), "random", "uint32"))
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m perf.model", description=__doc__)
    parser.add_argument("case", nargs="*", help="names of cases, such as R-1; otherwise all")
    parser.add_argument("--gpu", choices=tuple(GPUS), default="H200")
    parser.add_argument(
        "--reduce",
        nargs=4,
        action="append",
        default=[],
        metavar=("FUNCTION", "DTYPE", "SHAPE", "AXES"),
        help="a shape, such as sum float32 600x1001 0; more than once",
    )
    parser.add_argument(
        "--nonzero",
        nargs=3,
        action="append",
        default=[],
        metavar=("DTYPE", "SHAPE", "DENSITY"),
        help="such as bool 65536 0.5",
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if a line does not hold."""
    options = _parser().parse_args(arguments)
    gpu, given = GPUS[options.gpu], _given(options)
    problems = [("-", problem) for problem in given]
    if options.case or not given:
        problems += [(c.name, line.problem) for c in find(options.case) for line in c.lines]
    rows = []
    for case, problem in problems:
        work = work_of(problem, gpu)
        rows.append(Row(case, problem.title, work, predict(work, gpu)))
    new_console().print(table_of(rows, gpu))
    return int(not all(row.prediction.holds for row in rows))


if __name__ == "__main__":
    sys.exit(main())
