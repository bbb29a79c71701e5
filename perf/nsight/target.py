"""The program that is profiled: one NVTX range for each line.

The data of all lines is made and each line is run once before the profiler is switched on, so that
it sees the calls alone. With ``--engine simulator`` there is no profiler; then it shows that the
lines run, and needs ``--elements``, since the full sizes are a GPU's.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from cudakern._commands.engines import choose
from cudakern.engines.cuda.library import import_cupy
from cudakern.errors import EngineUnavailableError
from cudakern.operators import nvtx_ranges
from perf.nsight.tools import NsightError, check_cases

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from perf.cases.base import Module

SEED = 0


@contextmanager
def profiling(xp: Module) -> Iterator[None]:
    """Keep the profiler on inside, with an idle GPU at both ends."""
    if xp is np:
        yield
        return
    device = xp.cuda.Device()
    device.synchronize()
    xp.cuda.runtime.profilerStart()
    try:
        yield
        device.synchronize()
    finally:
        xp.cuda.runtime.profilerStop()


def run(options: argparse.Namespace) -> int:
    """Run the lines; return the exit status."""
    cases = check_cases(options.cases)
    lines = [(case.name, line.workload) for case in cases for line in case.lines]
    try:
        xp = np if choose(options.engine) == "simulator" else import_cupy()
    except EngineUnavailableError as error:
        raise NsightError(str(error)) from error
    if options.no_pool and xp is not np:
        xp.cuda.set_allocator(None)
        xp.cuda.set_pinned_memory_allocator(None)
    if options.elements is not None:
        lines = [(name, workload.shrink(options.elements)) for name, workload in lines]
    try:
        calls = [w.call(w.inputs(xp, SEED), w.outputs(xp)) for _, w in lines]
        for call in calls:
            call()
    except MemoryError as error:  # CuPy's is one, too
        message = f"the data of all lines must fit into memory at once, name fewer cases ({error})"
        raise NsightError(message) from error
    ranges = [(f"{name} {w.title}", round(w.traffic().total)) for name, w in lines]
    with profiling(xp):
        for line, call in zip(ranges, calls, strict=True):
            with nvtx_ranges.mark_range(*line):
                for _ in range(options.repeats):
                    call()
    for name, nbytes in ranges:
        print(f"{name}: {options.repeats} calls of {nbytes} bytes")  # noqa: T201
    return 0
