"""Launches that are observed: run by the checking runtime, their findings and traffic collected."""

from __future__ import annotations

import ctypes
import os
import threading
from math import prod
from typing import TYPE_CHECKING, NamedTuple, Protocol

from cudakern.simulator import structures
from cudakern.simulator.launches import error_of
from cudakern.simulator.operands import group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudakern.engines.base import Grid
    from cudakern.errors import SimulatorError
    from cudakern.simulator.operands import Buffer, Operand
    from cudakern.simulator.ptx.loaded import LoadedKernel
    from cudakern.simulator.reports.findings import Source

#: Blocks that run side by side at most, when all of fewer wait for another one.
_MOST_RESIDENT = 64


class Launch(NamedTuple):
    """A launch that is to be observed."""

    kernel: LoadedKernel  # of a library for checked launches
    size: tuple[Grid, Grid, int]  # grid, block, bytes of dynamic shared memory
    parameters: bytes  # all of them, packed
    operands: Sequence[Operand]  # the arrays whose addresses are among the parameters
    places: Sequence[int]  # the byte where each address is
    offsets: Sequence[int] = (0,)  # the byte where each parameter starts
    cooperative: bool = False  # whether all blocks must be resident


def stack_of(pointer: ctypes._Pointer[structures.SiteStruct]) -> tuple[Source, ...]:
    """Return file and line of a site, then of the calls that it was inlined through."""
    if not pointer:
        return ()
    site = pointer.contents
    if not site.stack:
        return ((site.file.decode(errors="replace"), site.line),) if site.file else ()
    lines = site.stack.decode(errors="replace").split("\n")
    places = (line.rpartition(":") for line in lines)
    return tuple((file, int(number)) for file, _, number in places)


class Observed:
    """One launch that was observed."""

    def __init__(
        self, launch: Launch, options: structures.OptionsStruct, buffers: list[Buffer]
    ) -> None:
        self.kernel = launch.kernel
        self.name = launch.kernel.name
        self.library = launch.kernel.module.path.name
        self.dynamic_bytes = launch.size[2]  # of shared memory
        self.buffers = buffers  # in the order by which findings count
        #: Where the runtime had the buffers.
        self.addresses = [int(options.buffers[i].address) for i in range(len(buffers))]
        # Copied: the next launch overwrites them. `stack_of` tells their sites.
        self.findings = [
            structures.FindingStruct.from_buffer_copy(options.findings[i])
            for i in range(options.finding_count)
        ]
        self.traffic = [
            structures.TrafficStruct.from_buffer_copy(options.traffic[i])
            for i in range(options.traffic_count)
        ]
        count = launch.kernel.structure.basic_blocks if options.executions else 0
        #: How often warps executed each basic block, if anybody counts.
        self.executions = options.executions[:count]
        self.blocks, self.sampled = prod(launch.size[0]), int(options.sample)
        #: Why the launch ended early, if that is not among the findings, and where.
        self.failure: SimulatorError | None = None
        self.failed_at: tuple[Source, ...] = ()


class Session(Protocol):
    """Who wants to observe launches."""

    seed: int
    resident_blocks: int
    strict: bool
    checks: bool
    sample: int  # blocks that are to run of each launch; 0 for all
    thread: int  # that has begun it

    def add(self, observed: Observed) -> None:
        """Take note of a launch."""


#: Innermost last. A list that is empty nearly always: the hot path asks for nothing but that.
active: list[Session] = []
#: Of the launch that is observed: the checking runtime has the state of one.
_lock = threading.RLock()


def begin(session: Session) -> None:
    """Observe launches for a session."""
    session.thread = threading.get_ident()
    with _lock:
        active.append(session)


def end(session: Session) -> None:
    """Observe launches for a session no more; none is under way when this returns."""
    with _lock:
        active.remove(session)


def _in_fork() -> None:
    """Forget the sessions of threads that a forked process does not have."""
    active[:] = [session for session in active if session.thread == threading.get_ident()]
    _lock.release()


# A fork waits for the end of the launch: amid it, the state is good for nothing.
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_in_fork)


def _checking() -> Session | None:
    """Return the session that checks this thread's launches: the innermost, its own first."""
    checking = [session for session in active if session.checks]
    own = [session for session in checking if session.thread == threading.get_ident()]
    return (own or checking)[-1] if checking else None


def _sample() -> int:
    """Return how many blocks of a launch are to run: as many as anybody wants; 0 for all."""
    wanted = [session.sample for session in active]
    return max(wanted) if wanted and all(wanted) else 0  # none: they ended meanwhile


def observe(launch: Launch) -> bool:
    """Run a launch for the sessions that are active; return whether it came to its end.

    BindingError tells that no GPU could run such a launch or that the kernel has other parameters,
    SimulatorError that it could not start, or ended early and nobody checks it.
    """
    with _lock:
        return _observe(launch)


def _observe(launch: Launch) -> bool:
    kernel, offsets = launch.kernel, launch.offsets
    shape = kernel.shape(*launch.size, cooperative=launch.cooperative)
    required = kernel.required_bytes(offsets)
    checking = _checking()
    counting = [session for session in active if not session.checks]
    buffers = group(launch.operands)
    sample = _sample()
    rows = (buffer.structure(masks=sample == 0) for buffer in buffers)
    resident = 1 if checking is None else checking.resident_blocks
    options = structures.OptionsStruct(
        seed=0 if checking is None else checking.seed,
        resident=resident,
        most_resident=max(_MOST_RESIDENT, resident),
        checks=checking is not None,
        counts=bool(counting),
        strict=checking is not None and checking.strict,
        buffers=(structures.BufferStruct * len(buffers))(*rows),
        buffer_count=len(buffers),
        pointers=_pointers(launch, buffers),
        pointer_count=len(launch.operands),
        variables=kernel.module.variable_table,
        variable_count=len(kernel.module.variables),
        sample=sample,
    )
    if counting:
        options.executions = (ctypes.c_uint64 * kernel.structure.basic_blocks)()
    starts = (ctypes.c_uint32 * len(offsets))(*offsets)
    report = structures.ReportStruct()
    run = kernel.module.runtime.ck_sim_launch_checked
    parameters = launch.parameters, required, starts, len(offsets)
    failed = run(kernel.structure, *parameters, shape, options, report)
    observed = Observed(launch, options, buffers)
    failure = error_of(kernel.name, report) if failed and report.kind else None
    if failure is not None and (checking is None or failure.kind in {"launch", "out_of_memory"}):
        raise failure
    observed.failure, observed.failed_at = failure, stack_of(report.site)
    if checking is not None:
        checking.add(observed)
    for session in counting:
        session.add(observed)
    return not failed


def _pointers(launch: Launch, buffers: Sequence[Buffer]) -> ctypes.Array[structures.PointerStruct]:
    """Return where the parameters have the address of each operand, and where that leads."""
    number_of = {id(o): i for i, buffer in enumerate(buffers) for o in buffer.operands}
    pointers = (structures.PointerStruct * len(launch.operands))()
    for pointer, operand, place in zip(pointers, launch.operands, launch.places, strict=True):
        pointer.place, pointer.buffer = place, number_of[id(operand)]
        pointer.offset = operand.address - buffers[pointer.buffer].start
    return pointers
