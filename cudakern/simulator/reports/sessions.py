"""Launches that are observed: run by the checking runtime, their findings and traffic collected."""

from __future__ import annotations

import ctypes
import os
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from cudakern.caches import Results, kept
from cudakern.simulator.launches import Report, check_shape, error_of
from cudakern.simulator.operands import BufferStructure, group
from cudakern.simulator.symbols import Symbols

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from cudakern.engines.base import Grid
    from cudakern.simulator.launches import HostKernel
    from cudakern.simulator.operands import Buffer, Operand

#: Blocks that run side by side at most, when all of fewer wait for another one.
_MOST_RESIDENT = 64
#: Tenths of a second that a thread may run without any access to memory.
_QUIET_TENTHS = 100


class FindingStructure(ctypes.Structure):
    """As in findings.hpp."""

    _fields_ = (
        ("kind", ctypes.c_char * 24),
        ("block", ctypes.c_uint32 * 3),
        ("thread", ctypes.c_uint32 * 3),
        ("site", ctypes.c_uint64),
        ("other_block", ctypes.c_uint32 * 3),
        ("other_thread", ctypes.c_uint32 * 3),
        ("other_site", ctypes.c_uint64),
        ("space", ctypes.c_uint32),
        ("object", ctypes.c_uint32),
        ("offset", ctypes.c_int64),
        ("bytes", ctypes.c_uint32),
        ("access", ctypes.c_uint32),
    )


class TrafficStructure(ctypes.Structure):
    """As in traffic.hpp."""

    _fields_ = (
        ("site", ctypes.c_uint64),
        ("kind", ctypes.c_uint32),
        ("unused", ctypes.c_uint32),
        ("requests", ctypes.c_uint64),
        ("accesses", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("sectors", ctypes.c_uint64),
        ("wavefronts", ctypes.c_uint64),
    )


class _Object(ctypes.Structure):
    _fields_ = (("offset", ctypes.c_uint64), ("bytes", ctypes.c_uint64))


class _Options(ctypes.Structure):
    _fields_ = (
        ("seed", ctypes.c_uint64),
        ("resident", ctypes.c_uint32),
        ("most_resident", ctypes.c_uint32),
        ("checks", ctypes.c_uint32),
        ("counts", ctypes.c_uint32),
        ("quiet_tenths", ctypes.c_uint32),
        ("buffers", ctypes.POINTER(BufferStructure)),
        ("buffer_count", ctypes.c_uint32),
        ("pointers", ctypes.POINTER(ctypes.c_uint64)),
        ("pointer_count", ctypes.c_uint32),
        ("shared_objects", ctypes.POINTER(_Object)),
        ("shared_object_count", ctypes.c_uint32),
        ("image", ctypes.c_uint64),
        ("findings", ctypes.POINTER(FindingStructure)),
        ("finding_count", ctypes.c_uint64),
        ("traffic", ctypes.POINTER(TrafficStructure)),
        ("traffic_count", ctypes.c_uint64),
    )


class Observed:
    """One launch that was observed.

    Attributes
    ----------
    name, library : str
        The kernel's, and of the library it is in.
    symbols : Symbols
        Of its library, which lay at the address ``image``.
    buffers : list of Buffer
        The arrays, by which findings count, and where the runtime had them: ``addresses``.
    findings, traffic : list of ctypes.Structure
        As the runtime left them.
    failure : SimulatorError or None
        Why the launch ended early, if that is not among the findings.
    """

    def __init__(self, kernel: HostKernel, options: _Options, buffers: list[Buffer]) -> None:
        self.name = kernel.name
        self.library = kernel.path.name
        self.symbols = symbols_of(kernel.path)
        self.image = int(options.image)
        self.buffers = buffers
        self.addresses = [int(options.buffers[i].address) for i in range(len(buffers))]
        # Copied: the next launch overwrites them.
        self.findings = [
            FindingStructure.from_buffer_copy(options.findings[i])
            for i in range(options.finding_count)
        ]
        self.traffic = [
            TrafficStructure.from_buffer_copy(options.traffic[i])
            for i in range(options.traffic_count)
        ]
        self.failure: Exception | None = None

    def stack(self, site: int) -> tuple[tuple[str, int], ...]:
        """Return file and line of a place in the code, then of the inlined calls around it."""
        frames = self.symbols.frames(site - self.image) if site else ()
        return tuple((frame.file, frame.line) for frame in frames)


class Session(Protocol):
    """Who wants to observe launches."""

    seed: int
    resident_blocks: int
    checks: bool
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


def alone() -> AbstractContextManager[object]:
    """Return a context in which no launch is observed.

    Whatever runs of a checked kernel's library, initialisers included, reports its accesses: to the
    launch that is under way, even on another thread.
    """
    return _lock


def _in_fork() -> None:
    """Forget the sessions of threads that a forked process does not have."""
    active[:] = [session for session in active if session.thread == threading.get_ident()]
    _lock.release()


# A fork waits for the end of the launch: amid it, the state is good for nothing.
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_in_fork)


@lru_cache(maxsize=64)  # of 2.6 MB for a kernel of reduce, read in 35 ms
def symbols_of(path: Path) -> Symbols:
    """Return the symbols of a library."""
    return Symbols(path)


kept("symbols of kernels", Results(symbols_of))


def _checking() -> Session | None:
    """Return the session that checks this thread's launches: the innermost, its own first."""
    checking = [session for session in active if session.checks]
    own = [session for session in checking if session.thread == threading.get_ident()]
    return (own or checking)[-1] if checking else None


def observe(
    kernel: HostKernel,
    shape: tuple[Grid, Grid, int],
    parameters: bytes,
    operands: Sequence[Operand],
    offsets: Sequence[int] = (0,),
    places: Sequence[int] | None = None,
) -> bool:
    """Run a checked kernel for the sessions that are active; return whether it came to its end.

    Parameters
    ----------
    kernel : HostKernel
        Compiled for checked launches.
    shape : tuple
        Grid, block, and bytes of dynamic shared memory.
    parameters : bytes
        The packed parameters, the i-th at byte ``offsets[i]``.
    operands : sequence of Operand
        The arrays whose addresses are among the parameters.
    places : sequence of int, optional
        The byte where each address is; None for one after the other from the start.
    """
    check_shape(kernel.name, *shape)
    with _lock:
        return _observe(kernel, shape, parameters, operands, offsets, places)


def _observe(
    kernel: HostKernel,
    shape: tuple[Grid, Grid, int],
    parameters: bytes,
    operands: Sequence[Operand],
    offsets: Sequence[int],
    places: Sequence[int] | None,
) -> bool:
    grid, block, shared_bytes = shape
    required = kernel.required_bytes(offsets)
    checking = _checking()
    counting = [session for session in active if not session.checks]
    buffers = group(operands)
    structures = (BufferStructure * len(buffers))(*(b.structure() for b in buffers))
    places = [8 * i for i in range(len(operands))] if places is None else places
    number_of = {id(o): i for i, buffer in enumerate(buffers) for o in buffer.operands}
    pointers = (ctypes.c_uint64 * (3 * len(operands)))()
    for i, (operand, place) in enumerate(zip(operands, places, strict=True)):
        number = number_of[id(operand)]
        pointers[3 * i : 3 * i + 3] = [place, number, operand.address - buffers[number].start]
    shared = symbols_of(kernel.path).shared_objects()
    objects = (_Object * len(shared))(*(_Object(o.offset, o.size) for o in shared))
    options = _Options()
    options.seed = 0 if checking is None else checking.seed
    options.resident = 4 if checking is None else checking.resident_blocks
    options.most_resident = max(_MOST_RESIDENT, options.resident)
    options.quiet_tenths = _QUIET_TENTHS
    options.checks, options.counts = checking is not None, bool(counting)
    options.buffers, options.buffer_count = structures, len(buffers)
    options.pointers, options.pointer_count = pointers, len(operands)
    options.shared_objects, options.shared_object_count = objects, len(shared)
    starts = (ctypes.c_uint32 * len(offsets))(*offsets)
    sizes = (ctypes.c_uint32 * 7)(*grid, *block, shared_bytes)
    report = Report()
    run = kernel.runtime.ck_sim_launch_checked
    given = kernel.entry, parameters, required, starts, len(offsets), sizes
    failed = run(*given, ctypes.byref(options), report)
    observed = Observed(kernel, options, buffers)
    failure = error_of(kernel.name, report) if failed and report.kind else None
    if failure is not None and (checking is None or failure.kind in {"launch", "out_of_memory"}):
        raise failure
    observed.failure = failure
    if checking is not None:
        checking.add(observed)
    for session in counting:
        session.add(observed)
    return not failed
