"""Predict what calls take on a GPU. This is a model and no measurement.

Needs no GPU: it has plans, machine code, and counts of the simulator. Exits with 1 if a line is not
close to its roofline.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf import results
from perf.cases import SHAPES, find
from perf.cases.gather import GatherProblem
from perf.cases.nonzero_coordinates import NonzeroProblem
from perf.cases.reduce import ReduceProblem
from perf.console import new_console, new_progress
from perf.model import fit, predictions
from perf.model.counts import work_of
from perf.model.gpus import GPUS
from perf.model.table import table_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from perf.cases.base import Problem
    from perf.model.gpus import Gpu


def _shape(text: str) -> tuple[int, ...]:
    """Return the sizes of ``600x1001`` or ``2^22x33``."""
    powers = ([int(part) for part in size.split("^")] for size in text.split("x"))
    return tuple(base ** (exponent[0] if exponent else 1) for base, *exponent in powers)


def _given(options: argparse.Namespace) -> list[Problem]:
    """Return the problems that are given by their shapes."""
    found: list[Problem] = []
    function: Any
    for function, dtype, shape, axes in options.reduce:
        found.append(ReduceProblem(function, _shape(shape), _shape(axes), dtype))
    for dtype, shape, density in options.nonzero:
        found.append(NonzeroProblem(_shape(shape), dtype, float(density), "random", "uint32"))
    for dtype, shape, axis, count in options.gather:
        of = int(axis), _shape(count), dtype, "int32"
        found.append(GatherProblem(_shape(shape), *of, "random"))
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m perf model", description=__doc__)
    parser.add_argument("case", nargs="*", help="names of cases, such as R-1; otherwise all")
    parser.add_argument("--gpu", choices=tuple(GPUS), default="H200")
    parser.add_argument("--shapes", action="store_true", help="the cases S-1 and on")
    given = partial(parser.add_argument, action="append", default=[])
    given("--reduce", nargs=4, metavar=("FUNCTION", "DTYPE", "SHAPE", "AXES"),
          help="a shape, such as sum float32 600x1001 0; axes 0x2")  # fmt: skip
    given("--nonzero", nargs=3, metavar=("DTYPE", "SHAPE", "DENSITY"), help="bool 65536 0.5")
    given("--gather", nargs=4, metavar=("DTYPE", "SHAPE", "AXIS", "COUNT"),
          help="float32 2^16x64 1 256")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="what launches have to do")
    parser.add_argument("--load", type=Path, metavar="FILE", help="predict what a file has")
    parser.add_argument("--fit", type=Path, metavar="RESULT", help="a result file of perf run")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    options, console = _parser().parse_args(arguments), new_console()
    gpu = GPUS[options.gpu]
    if options.fit:
        return _fit(options, console)
    rows = _rows(options, gpu, console)
    console.print(table_of(rows, gpu))
    found = [row.predict(gpu) for row in rows]
    console.print(f"{sum(one.holds for one in found)} of {len(rows)} lines hold (a model)")
    if options.json:
        predictions.save(rows, gpu, options.json)
    return int(not all(one.holds for one in found))


def _rows(options: argparse.Namespace, gpu: Gpu, console: Console) -> list[predictions.Row]:
    if options.load:
        return predictions.load(options.load)[1]
    lines = [("-", problem) for problem in _given(options)]
    cases = find(options.case) if options.case or not lines else ()
    if options.shapes:
        cases = SHAPES
    lines += [(case.name, line.problem) for case in cases for line in case.lines]
    rows = []
    with new_progress(console, transient=True) as progress:
        for case, problem in progress.track(lines):
            rows.append(predictions.Row(case, problem.title, work_of(problem, gpu)))
    return rows


def _fit(options: argparse.Namespace, console: Console) -> int:
    """Fit the model to a result; return 1 if it gets a line wrong then."""
    result = results.load(options.fit)
    gpu, rows = predictions.load(options.load or predictions.PATH)
    lines = fit.measured_lines(result, rows)
    fitted = fit.fit(lines, gpu)
    judged = fit.judge(lines, gpu, fitted)
    console.print(fit.table_of(judged, gpu, fitted))
    wrong = [one for one in judged if one.is_wrong]
    for one in wrong:
        console.print(f"wrong: {one.case}, {one.line}: {one.after / one.measured:.2f} of its time")
    return int(bool(wrong))
