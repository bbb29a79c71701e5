"""Every benchmark case once in the simulator, small and checked: that it runs, not how fast.

``python -m perf run --engine simulator`` ends here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.table import Table

import cudakern as ck
from cudakern.errors import CudakernError, EngineUnavailableError
from perf.console import new_console, new_progress
from perf.results import OURS, LineResult, Result
from perf.timing.contender import no_time
from perf.timing.environment import commit, now

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.progress import Progress

    from perf.cases.base import Case, Problem

#: Elements of a problem, about.
ELEMENTS = 2**14
#: What each byte of an output is before the call.
POISON = 0x5A
SEED = 1

NO_MEASUREMENT = (
    "This is no measurement: the simulator runs small versions of the problems on the host, and "
    "says nothing about the speed of a GPU."
)


def run(cases: Sequence[Case], progress: Progress) -> Result:
    """Run each line of the cases once in the simulator, and compare its result.

    What is returned has no times, no ceilings, and of each wrong line the error as a note.
    """
    versions = {"cudakern": ck.__version__, "numpy": np.__version__}
    result = Result("simulator", now(), commit(), {}, versions, {}, 0.0)
    lines = [(case.name, line.problem) for case in cases for line in case.lines]
    task = progress.add_task("", total=len(lines))
    for name, problem in lines:
        progress.update(task, description=name)
        result.lines.append(_run_one(name, problem.shrunk(ELEMENTS)))
        progress.advance(task)
    return result


def _run_one(case: str, problem: Problem) -> LineResult:
    inputs, outputs = problem.inputs(np, SEED), problem.outputs(np)
    for array in outputs:  # of any layout
        array[...] = np.full(array.itemsize, POISON, np.uint8).view(array.dtype)[0]
    error = ""
    with ck.simulator.traffic() as report:  # it knows the kernels' names
        try:
            problem.call(inputs, outputs)()
            problem.check(np, inputs, outputs)
        except EngineUnavailableError:
            raise
        except (AssertionError, CudakernError) as failure:
            error = (f"{failure}" or type(failure).__name__).splitlines()[0]
    traffic = problem.traffic()
    return LineResult(
        case,
        problem.title,
        problem.operator,
        traffic.total,
        traffic.ceiling,
        checked=not error,
        size=problem.size,
        kernel=", ".join(kernel.kernel for kernel in report.kernels),
        timings={OURS: no_time(f"WRONG: {error}")} if error else {},
    )


def main_simulator(cases: Sequence[Case], output: Path | None) -> int:
    """Run the cases in the simulator, print what is right, write a file if one is named.

    Return 1 if a result is wrong or the simulator cannot run, else 0.
    """
    console = new_console()
    try:
        with new_progress(console, transient=True) as progress:
            result = run(cases, progress)
    except EngineUnavailableError as error:
        console.print(f"{error}")
        return 1
    table = Table(title="benchmark cases in the simulator, at reduced size")
    for heading in ("case", "line", "kernel", "elements", "result"):
        table.add_column(heading, overflow="fold")
    for line in result.lines:
        verdict = "right" if line.checked else line.timings[OURS].note
        table.add_row(line.case, line.line, line.kernel, f"{line.size}", verdict)
    console.print(table)
    right = sum(line.checked for line in result.lines)
    console.print(f"{right} of {len(result.lines)} results are right.")
    console.print(NO_MEASUREMENT)
    if output is not None:
        result.save(output)
    return int(right < len(result.lines))
