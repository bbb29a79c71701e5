"""What a problem's launch has to do: its plan, its machine code, its counts in the simulator."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from cudakern.operators.base import BoundLaunch, Plan
from cudakern.simulator import traffic
from perf.machine_code.occupancy import resident_blocks
from perf.model.code import code_of
from perf.model.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable

    from perf.cases.base import Problem
    from perf.model.gpus import Gpu

#: Blocks whose states one of them folds, as in ``kernels/common/reduce_fold.cuh``.
GROUP_BLOCKS = 32
SEED = 1
#: Elements of a problem that the simulator runs.
ELEMENTS = 2**18
_WARP = 32


class _Planned(Exception):
    """Carries the plan of a call out of it."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan


def plan_of(call: Callable[[], object]) -> Plan:
    """Return the plan of a call that has not run before, and run nothing."""

    def stop(_bound: object, _operator: str, plan: Plan, *_rest: object, **_named: object) -> None:
        raise _Planned(plan)

    with mock.patch.object(BoundLaunch, "__init__", stop):
        try:
            call()
        except _Planned as found:
            return found.plan
    message = "the call has been bound before"
    raise RuntimeError(message)


@dataclass(frozen=True, slots=True)
class Counts:
    """What warps did in the simulator.

    Attributes
    ----------
    read, moved : float
        Bytes that threads loaded from global memory; bytes of the sectors of all accesses.
    wavefronts : float
        Of shared memory.
    instructions : Counter
        Warp-wide instructions of PTX by spelling.
    """

    read: float
    moved: float
    wavefronts: float
    instructions: Counter[str]

    def times(self, factor: float) -> Counts:
        """Return the counts of so many times the work."""
        scaled = Counter({k: n * factor for k, n in self.instructions.items()})
        figures = (self.read, self.moved, self.wavefronts)
        return Counts(*(figure * factor for figure in figures), scaled)  # type: ignore[arg-type]


def count(problem: Problem, grid: int) -> Counts:
    """Run a problem in the simulator, a large one at reduced size, and return what warps did."""
    del grid
    small = problem.shrunk(ELEMENTS)
    call = small.call(small.inputs(np, SEED), small.outputs(np))
    with traffic() as report:
        call()
    (kernel,) = report.kernels
    shared = kernel.total("shared load", "shared store", "shared atomic")
    found = Counts(
        kernel.loads.bytes_requested,
        kernel.bytes_moved,
        shared.wavefronts,
        Counter(getattr(kernel, "instructions", {})),
    )
    return found.times(problem.traffic().total / small.traffic().total)


#: Pipes by what spellings of PTX begin with; what none takes is for the schedulers alone.
_PIPES = (
    ("special", re.compile(r"(ex2|lg2|rcp|rsqrt|sqrt|sin|cos|tanh|div)\.")),
    ("double", re.compile(r"(?!ld|st|mov|cvt).*\.f64")),
    ("convert", re.compile(r"cvt\.(?!u|s|b)\S*\.[us]\d|cvt\.\S*[us]\d+\.f|cvt\S*f64")),
    ("shuffle", re.compile(r"(shfl|vote|match|redux|activemask)")),
    ("integer", re.compile(r"(setp|selp|min|max|and|or|xor|not|sh[lrf]|prmt|lop3|bf[ei]|popc|clz|dp)")),
)


def pipes_of(instructions: Counter[str]) -> dict[str, float]:
    """Return the instructions of each pipe."""
    found = dict.fromkeys((name for name, _ in _PIPES), 0.0)
    for spelling, number in instructions.items():
        for name, pattern in _PIPES:
            if pattern.match(spelling):
                found[name] += number
                break
    return found


def work_of(problem: Problem, gpu: Gpu) -> Work:
    """Return what the launch of a problem has to do on a GPU."""
    plan = plan_of(problem.call(problem.blank(np), problem.outputs(np)))
    launch = plan.launch
    assert launch is not None, problem.title
    code = code_of(launch.kernel, gpu.arch)
    grid, threads = prod(launch.grid), prod(launch.block)
    counts = count(problem, grid)
    pipes = pipes_of(counts.instructions)
    return Work(
        kernel=launch.kernel.entry,
        tasks=grid,
        grid=grid,
        threads=threads,
        resident=resident_blocks(
            gpu.arch, code.registers, code.shared + launch.shared_bytes, threads
        ),
        least=problem.traffic().total,
        moved=counts.moved,
        read=counts.read,
        batch=code.batch * threads,
        overlapped=code.copies > 1,
        instructions=counts.instructions.total() * code.per_ptx or code.per_vector * counts.moved / 16,
        wavefronts=counts.wavefronts,
        exchanges=0 if plan.splits == 1 else 1 if plan.splits <= GROUP_BLOCKS else 2,
        states=min(plan.splits, GROUP_BLOCKS) * plan.states_bytes if plan.splits > 1 else 0,
        **{name: number * code.per_ptx for name, number in pipes.items()},
    )
