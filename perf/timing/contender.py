"""One contender on one workload: how its calls are captured, sampled and summed up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from perf.peers.base import join_notes
from perf.results import NAN, Timing
from perf.timing.gpu import FLUSH_FACTOR

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perf.peers.base import Prepared
    from perf.timing.gpu import Gpu

#: Calls in a graph, at most; also the most sets of data.
CALLS = 20
#: A graph is long enough when it takes so many microseconds.
LONG_ENOUGH_US = 2000.0
#: No graph with a kernel in each of its calls ends in so few microseconds.
EMPTY_US = 8.0
BURSTS, BURST = 20, 50


@dataclass(frozen=True, slots=True)
class Ring:
    """Sets of data that calls go through in turn."""

    sets: int
    flushed: bool  # whether L2 is written over before each call, since the sets do not do that


def plan_ring(touched: float, nbytes: int, l2_bytes: int, free: int) -> Ring:
    """Return how many sets of so many bytes leave in L2 nothing that a call touches."""
    sets = int(FLUSH_FACTOR * l2_bytes // max(1.0, touched)) + 1
    fits = sets == 1 or 3 * sets * nbytes <= free
    return Ring(sets, flushed=False) if sets <= CALLS and fits else Ring(1, flushed=True)


def describe(error: BaseException) -> str:
    """Return an error in one line."""
    text = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def no_time(note: str) -> Timing:
    """Return the timing of a contender without a time, and why."""
    return Timing(NAN, NAN, NAN, 0, "", cold=False, note=note)


class Flush:
    """A graph of writes over L2 alone, whose time is subtracted."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu, self._lane = gpu, gpu.lane("flush")
        self._flush = partial(gpu.flush, self._lane)
        self._replay = gpu.make_replay(self._lane, [self._flush] * CALLS)
        self._samples: list[float] = []
        self.sample()
        self._samples.clear()

    def sample(self) -> None:
        """Take a sample."""
        taken = self._gpu.elapsed_us(self._lane, self._flush, self._replay)
        self._samples.append(taken / CALLS)

    @property
    def median_us(self) -> float:
        """What a write over L2 takes."""
        return float(np.median(self._samples))


class Contender:
    """A library; `prepare` returns its calls for the sets of a workload, on the current stream."""

    def __init__(
        self, gpu: Gpu, name: str, prepare: Callable[[], Sequence[Prepared]], ring: Ring
    ) -> None:
        self.name = name
        self._gpu, self._prepare, self._ring = gpu, prepare, ring
        self._samples: list[float] = []
        self._warm: list[float] = []
        self._host: list[float] = []
        self.notes: list[str] = []  # remarks on the time
        self.method = ""
        self._turn = 0
        self._prepared: list[Prepared] = []
        self._replay: Any = None
        self._warm_up(replace=False)
        self.notes.append(self._prepared[0].note)

    def start(self) -> None:
        """Capture the graphs, if that can be done, and take a sample that does not count.

        First all get ready: a library that is short of memory may give back what its graphs use.
        """
        sets = self._ring.sets  # all equally often, so that a replay begins where one ends
        single_us = max(0.1, self._gpu.elapsed_us(self.lane, self._flush, self._next))
        turns = math.ceil(LONG_ENOUGH_US / single_us / sets)
        self._calls = sets * max(1, min(CALLS // sets, turns))
        self.method = self._capture()
        self.sample()
        self._samples.clear()
        self._warm.clear()

    def _warm_up(self, *, replace: bool) -> None:
        self.lane = self._gpu.replace(self.name) if replace else self._gpu.lane(self.name)
        self._prepared.clear()  # their memory may be needed
        with self.lane.current():
            self._prepared.extend(self._prepare())
            for prepared in self._prepared:
                prepared.call()
        self._gpu.synchronize()

    def _capture(self) -> str:
        """Capture the graphs, on a new stream if that fails; return how samples are to be taken."""
        if not self._prepared[0].captures:
            return self._single_method()
        ring = [self._prepared[i % self._ring.sets].call for i in range(self._calls)]
        try:
            self._replay = self._gpu.make_replay(self.lane, ring)
            self._replay()
            if self._gpu.elapsed_us(self.lane, self._flush, self._replay) < EMPTY_US:
                self.notes.append("works on a stream of its own")
                return "wall"
            if self._ring.flushed:
                apart = [step for call in ring for step in (self._flush, call)]
                self._replay_apart = self._gpu.make_replay(self.lane, apart)
        except Exception as error:  # noqa: BLE001  a peer may raise anything
            self.notes.append(f"not captured: {describe(error)}")
            self._replay = None  # its lane goes
            self._warm_up(replace=True)
            return self._single_method()
        return "graph"

    def _single_method(self) -> str:
        waits = self._gpu.waits(self.lane, self._prepared[0].call, CALLS)
        return "wall" if waits else "events"

    def _flush(self) -> None:
        self._gpu.flush(self.lane)

    def _next(self) -> None:
        self._prepared[self._turn % len(self._prepared)].call()
        self._turn += 1

    def run(self) -> None:
        """Work on all sets once, as it is timed."""
        with self.lane.current():
            if self.method == "graph":
                self._replay()
            else:
                for prepared in self._prepared:
                    prepared.call()
        self.lane.stream.synchronize()

    def sample(self) -> None:
        """Take a sample of each kind."""
        gpu, lane, flush = self._gpu, self.lane, self._flush
        if self.method == "wall":
            self._flush()
            self._samples.append(gpu.wall_us(lane, self._next))
        elif self.method == "events":
            self._samples.append(gpu.elapsed_us(lane, flush, self._next))
        elif self._ring.flushed:
            taken = gpu.elapsed_us(lane, flush, self._replay_apart)
            self._samples.append(taken / self._calls)
            taken = gpu.elapsed_us(lane, flush, self._replay, self._replay)
            self._warm.append(taken / self._calls)
        else:  # after a replay, not after a write whose data is still to be moved out of L2
            taken = gpu.elapsed_us(lane, self._replay, self._replay)
            self._samples.append(taken / self._calls)

    def time_host(self, expired: Callable[[], bool]) -> None:
        """Time calls until they return, in bursts, so that queues stay short."""
        call, clock = self._prepared[0].call, self._gpu.clock
        for _ in range(BURSTS):
            with self.lane.current():
                begin = clock()
                for _ in range(BURST):
                    call()
                end = clock()
            self.lane.stream.synchronize()
            self._host.append((end - begin) / BURST / 1000)
            if expired():
                return

    def subtracts(self) -> bool:
        """Return whether its samples contain the time of a write over L2."""
        return self.method == "graph" and self._ring.flushed

    def median_us(self, flush_us: float) -> float:
        """Return the median of a call, less that of a write over L2 if there is one in it."""
        return float(np.median(self._samples)) - (flush_us if self.subtracts() else 0)

    def timing(self, flush_us: float) -> Timing:
        """Return the timing of all samples."""
        times = np.percentile(self._samples, (50, 10, 90))
        cold = True
        if self.subtracts():
            times = times - flush_us
            if times[0] <= 0:
                cold, times = False, np.percentile(self._warm, (50, 10, 90))
                self.notes.append("cold time is lost in that of the writes over L2")
        return Timing(
            median_us=float(times[0]),
            p10_us=float(times[1]),
            p90_us=float(times[2]),
            samples=len(self._samples),
            method=self.method,
            cold=cold,
            warm_us=float(np.median(self._warm)) if self._warm and cold else None,
            host_us=float(np.median(self._host)) if self._host else None,
            scratch_bytes=self._prepared[0].scratch_bytes,
            note=join_notes(*dict.fromkeys(self.notes)),
        )
