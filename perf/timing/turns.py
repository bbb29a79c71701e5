"""Contenders timed in turn on one workload, within a time limit."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from perf.peers.base import Prepared
from perf.results import OURS, Timing
from perf.timing.contender import Contender, Flush, Ring, describe, no_time, plan_ring

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from perf.cases.base import Array, Workload
    from perf.peers.base import Peer
    from perf.timing.gpu import Gpu

#: Fewer samples are never taken.
LEAST_SAMPLES = 5
#: A peer that takes so many times as long as we do gets only those.
FAR_SLOWER = 20
#: The time on the host is taken of workloads that move fewer bytes.
HOST_BYTES = 16 * 2**20


@dataclass(slots=True)
class Measured:
    """The timings of a workload."""

    timings: dict[str, Timing]  # by contender
    checked: bool = False  # whether our result was compared
    failed: bool = False  # whether it is wrong, or there is none


class Deadline:
    """Shares the seconds that are left among the lines that are left; its clock has nanoseconds."""

    def __init__(self, clock: Callable[[], int], seconds: float, lines: int) -> None:
        self._clock = clock
        self._end = clock() + int(seconds * 1e9)
        self._lines = lines
        self._line_end = self._end

    def next_line(self) -> None:
        """Begin a line."""
        now = self._clock()
        self._line_end = now + max(0, self._end - now) // max(1, self._lines)
        self._lines -= 1

    def expired(self) -> bool:
        """Return whether the share of this line is used up."""
        return self._clock() >= self._line_end


class NotOfferedError(Exception):
    """A peer has no such operator."""


def measure(
    gpu: Gpu,
    workload: Workload,
    peers: Sequence[Peer],
    samples: int,
    deadline: Deadline,
    scope: AbstractContextManager[object] | None = None,
) -> Measured:
    """Check our result, and take so many samples of all contenders that have the operator.

    The deadline begins a line; when its share is used up, there are fewer samples. The scope is
    entered where samples are taken. Errors of our call are raised, those of peers become notes.
    """
    deadline.next_line()
    scope = scope or nullcontext()
    for ring in (None, Ring(1, flushed=True)):
        measured = None
        with suppress(gpu.out_of_memory):
            measured = _Line(gpu, workload, samples, deadline, ring).measure(peers, scope)
        gpu.release()
        if measured:
            return measured
    return Measured({OURS: no_time("not enough memory")})


class _Line:
    """The data of a workload, and its contenders."""

    def __init__(
        self, gpu: Gpu, workload: Workload, samples: int, deadline: Deadline, ring: Ring | None
    ) -> None:
        self._gpu, self._workload = gpu, workload
        self._samples, self._deadline = samples, deadline
        self._moved = workload.traffic().total
        self._sets = [self._new_set(0)]
        nbytes = sum(array.nbytes for part in self._sets[0] for array in part)
        touched, free = min(nbytes, self._moved), gpu.free_bytes() + nbytes
        self._ring = ring or plan_ring(touched, nbytes, gpu.l2_bytes, free)
        self._sets += [self._new_set(seed) for seed in range(1, self._ring.sets)]
        self._failed: dict[str, Timing] = {}
        gpu.synchronize()

    def _new_set(self, seed: int) -> tuple[Sequence[Array], Sequence[Array]]:
        cupy = self._gpu.cupy
        return self._workload.inputs(cupy, seed), self._workload.outputs(cupy)

    def measure(self, peers: Sequence[Peer], scope: AbstractContextManager[object]) -> Measured:
        calls = [Prepared(self._workload.call(*data)) for data in self._sets]
        ours = Contender(self._gpu, OURS, lambda: calls, self._ring)
        ours.start()
        wrong = self._check(ours)
        if wrong.startswith("WRONG"):
            return Measured({OURS: no_time(wrong)}, checked=True, failed=True)
        if wrong:
            ours.notes.append(wrong)
        flush = Flush(self._gpu) if self._ring.flushed else None
        contenders = [ours, *filter(None, map(self._prepare, peers))]
        for peer in contenders[1:]:
            self._try(peer, peer.start)
        with scope:
            self._take(contenders, flush)
        if self._moved < HOST_BYTES:
            for contender in contenders:
                self._try(contender, partial(contender.time_host, self._deadline.expired))
        flush_us = flush.median_us if flush else 0.0
        times = {c.name: self._failed.get(c.name) or c.timing(flush_us) for c in contenders}
        return Measured(times | self._failed, checked=not wrong)

    def _check(self, ours: Contender) -> str:
        """Return what is wrong with our result; empty if nothing is."""
        inputs, outputs = self._sets[0]
        self._gpu.poison(outputs, ours.lane)
        ours.run()
        self._gpu.synchronize()
        try:
            self._workload.check(self._gpu.cupy, inputs, outputs)
        except AssertionError as error:
            return f"WRONG: {describe(error)}"
        except self._gpu.out_of_memory:
            return "not checked: not enough memory"
        return ""

    def _prepare(self, peer: Peer) -> Contender | None:
        """Return a peer that is ready, or None; if it fails, note why."""
        if self._deadline.expired():  # getting ready can take seconds
            self._failed[peer.name] = no_time("time limit: not tried")
            return None

        def prepare() -> list[Prepared]:
            calls = [peer.prepare(self._workload, inputs) for inputs, _ in self._sets]
            if None in calls:
                raise NotOfferedError
            return [prepared for prepared in calls if prepared is not None]

        try:
            return Contender(self._gpu, peer.name, prepare, self._ring)
        except NotOfferedError:
            pass
        except self._gpu.out_of_memory:
            self._failed[peer.name] = no_time("not enough memory")
        except Exception as error:  # noqa: BLE001  a peer may raise anything
            self._failed[peer.name] = no_time(describe(error))
        return None

    def _take(self, contenders: Sequence[Contender], flush: Flush | None) -> None:
        active = [contender for contender in contenders if contender.name not in self._failed]
        for turn in range(self._samples):
            if turn == LEAST_SAMPLES:
                self._drop_slow(active, flush)
            if turn >= LEAST_SAMPLES and self._deadline.expired():
                for contender in active:
                    contender.notes.append(f"time limit: {turn} of {self._samples} samples")
                return
            if flush:
                flush.sample()
            for contender in active:
                self._try(contender, contender.sample)
            active = [contender for contender in active if contender.name not in self._failed]

    @staticmethod
    def _drop_slow(active: list[Contender], flush: Flush | None) -> None:
        flush_us = flush.median_us if flush else 0.0
        limit = FAR_SLOWER * active[0].median_us(flush_us)
        for contender in active[1:]:
            if contender.median_us(flush_us) > limit > 0:
                note = f"over {FAR_SLOWER} times as long as ours: {LEAST_SAMPLES} samples"
                contender.notes.append(note)
                active.remove(contender)

    def _try(self, contender: Contender, work: Callable[[], None]) -> None:
        """Do a contender's work; a peer that raises is out."""
        if contender.name in self._failed:
            return
        try:
            work()
        except Exception as error:
            if contender.name == OURS:
                raise
            self._failed[contender.name] = no_time(describe(error))
