"""Launches that are observed: run by the checking runtime, their findings and traffic collected."""

from __future__ import annotations

import ctypes
import os
import threading
from contextlib import contextmanager
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING

from cudakern.errors import BindingError
from cudakern.process.forks import AwaitedLock
from cudakern.simulator.launching.known_arrays import find_reached_arrays
from cudakern.simulator.launching.operands import group_operands
from cudakern.simulator.libraries.loaded import error_of, reraise
from cudakern.simulator.runtime import abi
from cudakern.simulator.sources.source_lines import read_column, read_own_stack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np

    from cudakern.errors import SimulatorError
    from cudakern.simulator.launching.launch_parameters import PackedArguments
    from cudakern.simulator.launching.operands import Buffer
    from cudakern.simulator.libraries.loaded import LoadedKernel
    from cudakern.simulator.runtime.limits import Grid
    from cudakern.simulator.sources.source_lines import SourceLine

    #: Grid, block, bytes of dynamic shared memory.
    Size = tuple[Grid, Grid, int]

#: Blocks that run side by side at most, on a GPU that has room for so many.
_MOST_RESIDENT = 2**32 - 1


class ObservedLaunch:
    """One launch that was observed."""

    def __init__(
        self,
        kernel: LoadedKernel,
        size: Size,
        options: ctypes.Structure,
        buffers: list[Buffer],
        offsets: Sequence[int],
    ) -> None:
        grid, _, self.dynamic_bytes = size
        self.kernel = kernel
        self.offsets = offsets  # where each parameter starts
        self.buffers = buffers  # in the order by which findings count
        #: Whether the kernel accessed memory of no known array, as in a plain launch.
        self.unknown_memory = bool(options.unknown_memory)
        #: Where the runtime had the buffers.
        self.addresses = [int(row.address) for row in options.buffers[: len(buffers)]]
        # Copied: the next launch overwrites them. `read_stack` reads their sites.
        rows = options.findings[: options.finding_count], options.traffic[: options.traffic_count]
        findings = [*map(abi.FindingStruct.from_buffer_copy, rows[0])]
        #: What is wrong; and what is not, or might only be in a strict launch.
        self.findings = [raw for raw in findings if options.strict or not raw.only_strict]
        self.noted = [raw for raw in findings if raw.only_strict and not options.strict]
        self.traffic = [*map(abi.TrafficStruct.from_buffer_copy, rows[1])]
        #: Writes that may race with readers that the checker has forgotten; where the first one is.
        self.forgotten = int(options.forgotten)
        self.forgotten_at = read_own_stack(options.forgotten_at)
        count = kernel.structure.basic_blocks if options.executions else 0
        #: How often warps executed each basic block, if a session counts.
        self.executions = options.executions[:count]
        self.blocks, self.sampled = prod(grid), int(options.sample)
        #: Why the launch ended early, if that is not among the findings, and where.
        self.failure: SimulatorError | None = None
        self.failed_at: tuple[SourceLine, ...] = ()
        self.failed_column: int | None = None


class Session:
    """An observer of launches, and how they are to run for it."""

    seed = 0
    resident_blocks = 1
    strict = False
    checks = False
    unknown_memory = False  # whether kernels access memory of no known array, as in plain launches
    sample = 0  # blocks that are to run of each launch; 0 for all
    #: Arrays that kernels reach by other addresses than their arguments, by the names in findings.
    arrays: Mapping[str, np.ndarray] = MappingProxyType({})
    thread = 0  # that began it

    def add(self, observed: ObservedLaunch) -> None:
        """Take note of a launch."""


#: Held while a launch is observed.
_lock = AwaitedLock()
#: Innermost last. It is nearly always empty, which is all that the hot path looks at.
active: list[Session] = []
#: Called after each launch that was observed, by its thread.
watchers: list[Callable[[], None]] = []
#: Called when a program makes a RawKernel or a RawModule.
makers: list[Callable[[], None]] = []
_running: list[bool] = []  # whether the checking runtime has a launch: it has state for one


def note_kernel() -> None:
    """Take note of a kernel that a program makes, to launch it or not."""
    for maker in [*makers]:
        maker()


@contextmanager
def observing(session: Session) -> Iterator[None]:
    """Observe launches for a session; none is under way when this ends."""
    session.thread = threading.get_ident()
    with _lock:
        active.append(session)
    try:
        yield
    finally:
        with _lock:
            active.remove(session)


def _forget_other_threads() -> None:
    """Forget the sessions of threads that a forked process does not have."""
    active[:] = [session for session in active if session.thread == threading.get_ident()]


os.register_at_fork(after_in_child=_forget_other_threads)


def _find_checking_session() -> Session | None:
    """Return the session that checks this thread's launches: the innermost, its own first."""
    checking = [session for session in active if session.checks]
    own = [session for session in checking if session.thread == threading.get_ident()]
    return (own or checking)[-1] if checking else None


def observe(
    kernel: LoadedKernel, size: Size, arguments: PackedArguments, *, cooperative: bool = False
) -> bool:
    """Run a launch for the sessions that are active; return whether it came to its end.

    The kernel belongs to a library for checked launches. SimulatorError means that
    the launch could not start, or ended early and nobody checks it.
    """
    try:
        return _observe(kernel, size, arguments, cooperative=cooperative)
    finally:
        for watcher in [*watchers]:
            watcher()


def _observe(
    kernel: LoadedKernel, size: Size, arguments: PackedArguments, *, cooperative: bool
) -> bool:
    with _lock:
        if _running:
            requirement = "must not come from a signal's handler amid an observed launch"
            raise BindingError(kernel.name, "launch", requirement)
        shape = kernel.shape(*size, cooperative=cooperative)
        offsets = (ctypes.c_uint32 * len(arguments.offsets))(*arguments.offsets)
        required = kernel.required_bytes(arguments.offsets)
        checking = _find_checking_session()
        counting = [session for session in active if not session.checks]
        sessions = sorted(active, key=lambda session: session is not checking)  # its names first
        arrays = [item for session in sessions for item in session.arrays.items()]
        samples = [session.sample for session in active]  # none: they ended meanwhile
        sample = max(samples) if samples and all(samples) else 0
        reached = find_reached_arrays(kernel.module, arguments, arrays, sampled=sample != 0)
        buffers = group_operands((*arguments.operands, *reached))
        options = _make_options(kernel, buffers, checking, sample)
        options.pointers_alone = arguments.pointers_alone
        if counting:
            options.counts = True
            options.executions = (ctypes.c_uint64 * kernel.structure.basic_blocks)()
        report = abi.ReportStruct()
        run = kernel.module.runtime.ck_sim_launch_checked
        parameters = arguments.data, required, offsets, len(offsets)
        _running.append(True)
        try:
            failed = run(kernel.structure, *parameters, shape, options, report)
        finally:
            _running.clear()
        reraise(report)
        observed = ObservedLaunch(kernel, size, options, buffers, arguments.offsets)
        failure = error_of(kernel.name, report) if failed and report.kind else None
        if failure is not None and (
            checking is None or failure.kind in {"launch", "out_of_memory"}
        ):
            if checking is not None and observed.findings:
                checking.add(observed)  # findings until then
            raise failure
        observed.failure, observed.failed_at = failure, read_own_stack(report.site)
        observed.failed_column = read_column(report.site)
        if checking is not None:
            checking.add(observed)
        for session in counting:
            session.add(observed)
        return not failed


def _make_options(
    kernel: LoadedKernel, buffers: Sequence[Buffer], checking: Session | None, sample: int
) -> ctypes.Structure:
    """Return the options of a launch, which a session may check."""
    rows = [buffer.structure(masks=sample == 0) for buffer in buffers]
    pointers = [
        abi.PointerStruct(place=offset, buffer=i, offset=operand.address - buffer.start)
        for i, buffer in enumerate(buffers)
        for operand in buffer.operands
        if (offset := operand.parameter_offset) is not None
    ]
    session = checking or Session()
    return abi.OptionsStruct(
        seed=session.seed,
        resident=session.resident_blocks,
        most_resident=max(_MOST_RESIDENT, session.resident_blocks),
        checks=session.checks,
        strict=session.strict,
        unknown_memory=session.unknown_memory,
        buffers=(abi.BufferStruct * len(rows))(*rows),
        buffer_count=len(rows),
        pointers=(abi.PointerStruct * len(pointers))(*pointers),
        pointer_count=len(pointers),
        variables=ctypes.pointer(kernel.module.variable_table),
        variable_count=len(kernel.module.variables),
        sample=sample,
    )
