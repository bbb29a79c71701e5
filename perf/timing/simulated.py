"""Every benchmark case once in the simulator, small and checked: that it runs, not how fast.

``python -m perf run --engine simulator`` ends here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from rich.table import Table

import cudakern as ck
from cudakern.errors import CudakernError, EngineUnavailableError
from perf.cases.base import Problem
from perf.console import new_console, new_progress
from perf.results import LineResult, Result
from perf.timing.environment import commit, now

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.progress import Progress

    from perf.cases.base import Array, Case

#: Elements of a problem, about.
ELEMENTS = 2**14
#: What each byte of an output is before the call.
POISON = 0x5A
SEED = 1

NO_MEASUREMENT = (
    "This is no measurement: the simulator runs small versions of the problems on the host, and "
    "says nothing about the speed of a GPU."
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a line.

    Attributes
    ----------
    case : str
        Name of the case.
    problem : Problem
        As it ran, small.
    kernel : str
        Entry points of what was launched.
    error : str
        Empty if the result is right.
    """

    case: str
    problem: Problem
    kernel: str
    error: str


def run(cases: Sequence[Case], progress: Progress) -> list[Outcome]:
    """Run each line of the cases once in the simulator, and compare its result.

    Raises
    ------
    EngineUnavailableError
        The simulator cannot run here.
    """
    lines = [(case.name, line.problem) for case in cases for line in case.lines]
    task = progress.add_task("", total=len(lines))
    outcomes = []
    for name, problem in lines:
        progress.update(task, description=name)
        outcomes.append(_run_one(name, problem.shrunk(ELEMENTS)))
        progress.advance(task)
    return outcomes


def _run_one(case: str, problem: Problem) -> Outcome:
    inputs, outputs = problem.inputs(np, SEED), problem.outputs(np)
    for array in outputs:
        _poison(array)
    error = ""
    with ck.simulator.traffic() as report:  # it knows the kernels' names
        try:
            problem.call(inputs, outputs)()
            problem.check(np, inputs, outputs)
        except EngineUnavailableError:
            raise
        except (AssertionError, CudakernError) as failure:
            error = (f"{failure}" or type(failure).__name__).splitlines()[0]
    return Outcome(case, problem, ", ".join(k.kernel for k in report.kernels), error)


def _poison(array: Array) -> None:
    """Fill an array of any layout with bytes that no right result has everywhere."""
    array[...] = np.full(array.itemsize, POISON, np.uint8).view(array.dtype)[0]


def result_of(outcomes: Sequence[Outcome]) -> Result:
    """Return what a file has of a run: no times, no ceilings, and which lines were right."""
    lines = []
    for outcome in outcomes:
        problem = outcome.problem
        traffic = problem.traffic()
        lines.append(
            LineResult(
                outcome.case,
                problem.title,
                problem.operator,
                traffic.total,
                traffic.ceiling,
                checked=not outcome.error,
                size=problem.size,
                kernel=outcome.kernel,
            )
        )
    versions = {"cudakern": ck.__version__, "numpy": np.__version__}
    return Result("simulator", now(), commit(), {}, versions, {}, 0.0, lines)


def _table(outcomes: Sequence[Outcome]) -> Table:
    table = Table(title="benchmark cases in the simulator, at reduced size")
    for heading in ("case", "line", "kernel", "elements", "result"):
        justify = "right" if heading == "elements" else "left"
        table.add_column(heading, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for outcome in outcomes:
        problem = outcome.problem
        verdict = f"WRONG: {outcome.error}" if outcome.error else "right"
        cells = (outcome.case, problem.title, outcome.kernel, f"{problem.size}", verdict)
        table.add_row(*cells)
    return table


def main_simulator(cases: Sequence[Case], output: Path | None) -> int:
    """Run the cases in the simulator, print what is right, write a file if one is named.

    Returns
    -------
    int
        1 if a result is wrong or the simulator cannot run, else 0.
    """
    console = new_console()
    try:
        with new_progress(console, transient=True) as progress:
            outcomes = run(cases, progress)
    except EngineUnavailableError as error:
        console.print(f"{error}")
        return 1
    console.print(_table(outcomes))
    wrong = sum(bool(outcome.error) for outcome in outcomes)
    console.print(f"{len(outcomes) - wrong} of {len(outcomes)} results are right.")
    console.print(NO_MEASUREMENT)
    if output is not None:
        result_of(outcomes).save(output)
    return 1 if wrong else 0
