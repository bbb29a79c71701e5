"""What a problem's launch has to do: its plan, its machine code, its counts in the simulator."""

from __future__ import annotations

import re
import struct
from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, prod
from typing import TYPE_CHECKING
from unittest import mock

import numpy as np

from cudakern._caches import clear_caches
from cudakern.engines import use
from cudakern.engines.base import THREADS, Launch
from cudakern.operators.nonzero import plan as nonzero_plan
from cudakern.operators.reduce.plan import GROUP_BLOCKS
from cudakern.simulator import TrafficReport, traffic
from perf.cases.base import SECTOR_BYTES
from perf.cases.nonzero_coordinates import NonzeroProblem
from perf.engines import NullEngine
from perf.model.code import code_of
from perf.model.data import data_of
from perf.model.work import Work
from perf.static.occupancy import resident_blocks

if TYPE_CHECKING:
    from cudakern.engines.base import Launch
    from perf.cases.base import Problem
    from perf.model.code import Code
    from perf.model.gpus import Gpu

NONZERO = "nonzero_coordinates"
#: Blocks of a launch that the simulator runs, evenly spread over the grid.
BLOCKS = 6
#: Bytes of a search that it runs: a whole one, as blocks wait for each other.
SEARCHED = 2**20
#: Blocks whose states one of them folds: in stream, as many as it has threads.
FOLDED = {"stream": THREADS}
#: Byte of a search's arguments where the number of tiles is.
TILES_AT = 72
_WARP = 32
#: Pipes by how spellings of PTX begin; what none takes is for the schedulers alone.
_PIPES = {
    "special": r"(ex2|lg2|rcp|rsqrt|sqrt|sin|cos|tanh|div)\b",
    "double": r"(?!ld|st|mov|cvt)\S*\.f64",
    "convert": r"cvt\.\S*(\.f\d+\.[su]\d+|\.[su]\d+\.f\d+|\.f64\.f32|\.f32\.f64)",
    "shuffle": r"shfl|vote|match|redux",
    "integer": r"setp|selp|min|max|and|or\b|xor|not|sh[lr]|shf|prmt|lop3|bf[ei]|popc|clz|dp[24]a",
}


@dataclass(frozen=True, slots=True)
class Counts:
    """What warps did in the simulator, scaled to the whole launch."""

    read: float  # bytes that threads loaded from global memory
    moved: float  # bytes of the sectors of all accesses
    loaded: float  # sectors of loads of global memory
    stored: float  # sectors of stores
    wavefronts: float  # of shared memory
    instructions: Counter[str]  # of PTX, of warps, by spelling

    def number(self, pattern: str) -> float:
        """Return the instructions whose spelling begins so."""
        found = re.compile(pattern)
        return sum(n for spelling, n in self.instructions.items() if found.match(spelling))


def plan_of(problem: Problem) -> Launch:
    """Return the launch of a problem's call, which does not run."""
    call = problem.call(problem.blank(np), problem.outputs(np))
    engine = NullEngine()
    with use(engine):
        call()
    return engine.prepared[-1]


@cache
def count(problem: Problem) -> Counts:
    """Run some blocks of a problem in the simulator; a search as a whole, but with fewer tiles."""
    if not isinstance(problem, NonzeroProblem):
        return _counted(problem, traffic(blocks=BLOCKS))
    launch = plan_of(problem)
    itemsize = np.dtype(problem.dtype).itemsize
    if problem.pattern == "last":  # nearly all of its tiles are empty
        problem = replace(problem, density=problem.found / problem.size, pattern="random")
    small = problem.shrunk(SEARCHED // itemsize)
    scale = problem.traffic().total / small.traffic().total
    tile_bytes = min(problem.size * itemsize // tiles_of(launch), nonzero_plan.TILE_BYTES)
    patched = mock.patch.object(nonzero_plan, "MIN_TILE_BYTES", tile_bytes)
    with patched if scale > 1 else nullcontext():  # tiles as large as in the whole
        clear_caches()
        return _counted(small, traffic(), scale)


def _counted(
    problem: Problem, counting: AbstractContextManager[TrafficReport], scale: float = 1
) -> Counts:
    call = problem.call(data_of(problem), problem.outputs(np))
    with counting as report:
        call()
    (kernel,) = report.kernels
    shared = kernel.total("shared load", "shared store", "shared atomic")
    return Counts(
        kernel.loads.bytes_requested * scale,
        kernel.bytes_moved * scale,
        kernel.loads.sectors * scale,
        kernel.stores.sectors * scale,
        shared.wavefronts * scale,
        Counter({name: number * scale for name, number in kernel.instructions.items()}),
    )


def work_of(problem: Problem, gpu: Gpu) -> Work:
    """Return what the launch of a problem has to do on a GPU."""
    launch = plan_of(problem)
    code, counts = code_of(launch.kernel, gpu.arch), count(problem)
    grid, threads = prod(launch.grid_on(gpu.multiprocessors)), prod(launch.block)
    tasks = tasks_of(problem, launch)
    shared, gathers = code.shared + launch.shared_bytes, problem.operator.startswith("gather")
    folded = FOLDED.get(launch.variant, GROUP_BLOCKS)
    sectors = problem.traffic(SECTOR_BYTES, cached=False).total
    pipes = {name: counts.number(pattern) for name, pattern in _PIPES.items()}
    pipes["integer"] *= code.per_ptx  # others have the same instructions in PTX
    return Work(
        kernel=launch.kernel.entry,
        tasks=tasks,
        grid=grid,
        threads=threads,
        resident=resident_blocks(gpu.arch, code.registers, shared, threads),
        least=problem.traffic().total,
        sectors=sectors,
        moved=min(counts.moved, sectors) if gathers else counts.moved,  # L1 has what meets again
        read=counts.read,
        loads=rounds(launch, counts, code, tasks, gathers=gathers),
        instructions=counts.instructions.total() * code.per_ptx,
        wavefronts=counts.wavefronts,
        dependent=float(gathers),
        trips=trips(grid, threads, tasks, code) if problem.operator == NONZERO else 0,
        overlapped=code.copies > 1 or grid < tasks,
        exchanges=0 if launch.splits == 1 else 1 if launch.splits <= folded else 2,
        states=min(launch.splits, folded) * launch.states_bytes if launch.splits > 1 else 0,
        **pipes,
    )


def tasks_of(problem: Problem, launch: Launch) -> int:
    """Return the blocks of a launch, or the tiles that they draw."""
    return tiles_of(launch) if problem.operator == NONZERO else prod(launch.grid)


def tiles_of(launch: Launch) -> int:
    """Return the tiles of a search."""
    (tiles,) = struct.unpack_from("=I", launch.arguments, TILES_AT)
    return int(tiles)


def rounds(launch: Launch, counts: Counts, code: Code, tasks: int, *, gathers: bool) -> int:
    """Return how often a task waits for loads.

    As often as it has batches of what its code issues at once; asynchronous copies as often as it
    has groups of them, but some are in flight at once; rows that are staged between barriers, one
    at a time, as often as there are two of these. Indices of a gather, which are loaded before,
    count apart.
    """
    threads = prod(launch.block)
    warps = tasks * threads / _WARP
    found = 0.0
    if code.batch:
        copied = counts.number(r"cp\.async\.c[ag]") * _WARP * 16
        found = max(0.0, counts.read - copied) / (tasks * threads * code.batch)
    if code.copies:
        found += counts.number(r"cp\.async\.commit") / warps / code.copies
    if dict(launch.kernel.defines).get("CK_STAGED") == "1":
        found = max(found, counts.number(r"bar(rier)?\.") / warps / 2)
    return max(1, int(found) if gathers else round(found))


def trips(grid: int, threads: int, tiles: int, code: Code) -> float:
    """Return the trips to L2 of a tile of a search that its rows wait for.

    Two for a ticket whose answer is shuffled before the loads are issued, else one, in a block's
    first tile alone; one for each round of the look-back, unless a warp of its own does that while
    the others load.
    """
    if grid == 1:
        return 0
    ticket, own_warp = 2 if code.shuffles_ticket else 1, threads > THREADS
    if grid == tiles:
        return ticket + (0 if own_warp else 1) + 1 + ceil(tiles / nonzero_plan.TILES)
    return 0 if own_warp else ticket + 2
