"""Every benchmark case once in the simulator, small and checked; nothing is timed."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np

import cudakern as ck
from cudakern._commands import console
from cudakern.errors import CudakernError, EngineUnavailableError
from perf.results import OURS, LineResult, Result
from perf.timing.contender import no_time
from perf.timing.environment import commit, now
from perf.timing.gpu import POISON

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from perf.cases.base import Case, Workload

#: Elements of a workload, about.
ELEMENTS = 2**14
SEED = 1


def main_simulator(cases: Sequence[Case], minutes: float | None, output: Path | None) -> int:
    """Run the cases in the simulator, print what is right, write a file if one is named.

    Return 1 if a result is wrong or missing or the simulator cannot run, else 0.
    """
    versions = {"cudakern": ck.__version__, "numpy": np.__version__}
    result = Result("simulator", now(), commit(), {}, versions, {}, 0.0)
    lines = [(case.name, line.workload) for case in cases for line in case.lines]
    count, end = len(lines), time.monotonic() + 60 * (minutes or math.inf)
    try:
        with console.progress("simulating", count, "lines") as done:
            for number, (name, workload) in enumerate(lines):
                if time.monotonic() >= end:
                    result.incomplete = f"time limit: ended after {number} of {count} lines"
                    break
                result.lines.append(_run_one(name, workload.shrink(ELEMENTS)))
                done(name)
    except EngineUnavailableError as error:
        console.show(f"{error}")
        return 1
    console.show("benchmark cases in the simulator, at reduced size")
    rows = []
    for line in result.lines:
        verdict = "right" if line.checked else line.timings[OURS].note
        rows.append((line.case, line.line, line.kernel, f"{line.size}", verdict))
    console.show_table(rows, ("case", "line", "kernel", "elements", "result"))
    right = sum(line.checked for line in result.lines)
    console.show(f"{right} of {count} results are right.")
    console.show(
        "This is no measurement: the simulator runs small versions of the workloads on the host, "
        "and says nothing about the speed of a GPU."
    )
    if output is not None:
        result.save(output)
    return int(right < count)


def _run_one(case: str, workload: Workload) -> LineResult:
    inputs, outputs = workload.inputs(np, SEED), workload.outputs(np)
    for array in outputs:  # of any layout
        array[...] = np.full(array.itemsize, POISON, np.uint8).view(array.dtype)[0]
    error = ""
    with ck.simulator.traffic() as report:  # it knows the kernels' names
        try:
            workload.call(inputs, outputs)()
            workload.check(np, inputs, outputs)
        except EngineUnavailableError:
            raise
        except (AssertionError, CudakernError) as failure:
            error = (f"{failure}" or type(failure).__name__).splitlines()[0]
    traffic = workload.traffic()
    return LineResult(
        case,
        workload.title,
        workload.operator,
        traffic.total,
        traffic.ceiling,
        checked=not error,
        size=workload.size,
        kernel=", ".join(kernel.kernel for kernel in report.kernels),
        timings={OURS: no_time(f"WRONG: {error}")} if error else {},
    )
