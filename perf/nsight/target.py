"""The program that is profiled: one NVTX range per line. ``python -m perf.nsight.target R-1 G-2``.

The data of all lines is made and each line is run once before the profiler is switched on, so that
it sees the calls alone. With ``--engine simulator`` there is no profiler; then it shows that the
lines run, and needs ``--elements``, since the full sizes are a GPU's.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cudakern import _ranges as ranges
from cudakern._commands.engines import choose
from cudakern.engines.cuda import import_cupy
from cudakern.errors import EngineUnavailableError
from perf.cases import find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from perf.cases.base import Module, Problem

SEED = 0


class Work(NamedTuple):
    """A line that is ready to run."""

    name: str
    nbytes: int
    call: Callable[[], object]


def prepare(name: str, problem: Problem, xp: Module) -> Work:
    """Make the data of a problem, call it once, and return the call."""
    call = problem.call(problem.inputs(xp, SEED), problem.outputs(xp))
    call()
    return Work(f"{name} {problem.title}", round(problem.traffic().total), call)


@contextmanager
def profiled(xp: Module) -> Iterator[None]:
    """Have the profiler on inside, from an idle GPU to an idle GPU."""
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


def _module(engine: str, *, pool: bool) -> Module:
    """Return the module whose arrays the engine takes."""
    if choose(engine) == "simulator":
        return np
    cupy = import_cupy()
    if not pool:
        cupy.cuda.set_allocator(None)
        cupy.cuda.set_pinned_memory_allocator(None)
    return cupy


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(prog="python -m perf.nsight.target", description=__doc__)
    made.add_argument("cases", nargs="+", metavar="CASE", help="such as R-1 or sweep-gather")
    made.add_argument("--repeats", type=int, default=10, help="calls in a range (default: 10)")
    made.add_argument("--elements", type=int, help="reduce problems to about so many elements")
    made.add_argument("--engine", choices=("cuda", "simulator"), default="cuda")
    made.add_argument(
        "--no-pool",
        action="store_true",
        help="no memory pool, so that each array's bounds are those of its allocation",
    )
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the lines; return the exit status."""
    options = parser().parse_args(arguments)
    try:
        lines = [(case.name, line.problem) for case in find(options.cases) for line in case.lines]
        xp = _module(options.engine, pool=not options.no_pool)
    except (ValueError, EngineUnavailableError) as error:
        sys.stderr.write(f"perf.nsight.target: {error}\n")
        return 1
    if options.elements is not None:
        lines = [(name, problem.shrunk(options.elements)) for name, problem in lines]
    try:
        works = [prepare(name, problem, xp) for name, problem in lines]
    except MemoryError as error:  # CuPy's is one, too
        reason = f"the data of all lines must fit into memory at once, name fewer cases ({error})"
        sys.stderr.write(f"perf.nsight.target: {reason}\n")
        return 1
    with profiled(xp):
        for work in works:
            with ranges.marked(work.name, work.nbytes):
                for _ in range(options.repeats):
                    work.call()
    for work in works:
        print(f"{work.name}: {options.repeats} calls of {work.nbytes} bytes")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
