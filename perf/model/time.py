"""The time model: from what a launch has to do to what it takes, term by term, in microseconds."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perf.model.gpus import Gpu
    from perf.model.work import Work

_WARP = 32
_SCHEDULERS = 4
#: Bytes a clock that a multiprocessor gets from L2; lanes of it that shuffle in a clock.
PORT_BYTES, SHUFFLES = 64, 32
#: Trips to L2 of an exchange: a state is stored, its block counted in, the others' states read.
TRIPS = 3
#: Microseconds in which a block folds the states that it has read.
FOLD = 0.15
#: A line holds that takes so many times its roofline at most, or so many microseconds more.
RATIO, EXCESS = 1.3, 1.5


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the model says of a launch; terms are in microseconds."""

    waves: int  # how often the GPU fills with tasks
    memory: float  # the least bytes at memory's rate
    l2: float  # all that moves at the rate of L2
    port: float  # bytes of the busiest multiprocessor at what L2 gives one
    issue: float  # its instructions over its schedulers
    pipe: float  # those of the fullest pipe
    flight: float  # waves of rounds of loads, each of which takes a latency: Little's law
    serial: float  # waves of the instructions of a warp, one after the other
    latency: float  # waves of starts, dependent loads, trips to L2; exchanges at the end
    tail: float  # what is lost because the busiest multiprocessor has more to do than the mean
    total: float  # what the launch takes
    roofline: float  # what none gets below: a launch, and the least bytes of memory or of L2
    bound: str  # what decides

    @property
    def ratio(self) -> float:
        """The total over the roofline."""
        return self.total / self.roofline

    @property
    def excess(self) -> float:
        """Microseconds above the roofline."""
        return self.total - self.roofline

    @property
    def holds(self) -> bool:
        """Whether the total is close to the roofline."""
        return self.ratio <= RATIO or self.excess <= EXCESS


def in_flight(work: Work, gpu: Gpu) -> float:
    """Return the bytes of loads that the busiest multiprocessor has in flight."""
    blocks = ceil(min(work.grid, work.tasks) / gpu.multiprocessors)
    return min(work.resident, blocks) * work.read / work.tasks / work.loads


def predict(work: Work, gpu: Gpu) -> Prediction:
    """Return what a launch takes.

    total = launch + max(latency + max(memory, l2, port, issue, pipe), path) + exchanges, where path
    is what tasks take that follow each other and have a multiprocessor for themselves. A last wave
    that is not full takes no less than a task.
    """
    clock = gpu.clock * 1e3  # of a microsecond
    share = ceil(work.tasks / gpu.multiprocessors) / work.tasks  # of the busiest multiprocessor
    at_once = min(work.grid, work.tasks, work.resident * gpu.multiprocessors)
    waves = ceil(work.tasks / at_once)
    memory = work.least / gpu.bandwidth * 1e6
    l2 = work.moved / gpu.l2_bandwidth * 1e6
    port = share * work.moved / (PORT_BYTES * clock)
    issue = share * work.instructions / (_SCHEDULERS * gpu.issue * clock)
    pipe = share * max(pipes(work, gpu).values()) / clock

    flight = gpu.idle_latency + (waves * work.loads - 1) * gpu.latency  # first, nothing is busy
    warp = work.instructions / (work.tasks * work.threads / _WARP)
    serial = waves * warp * gpu.dependent / clock
    waits = gpu.start + work.dependent * gpu.idle_latency + work.trips * gpu.l2_latency
    last = gpu.l2_latency * TRIPS + FOLD + work.states / (PORT_BYTES * clock)
    exchange = work.exchanges * last
    path = waves * waits + (max(flight, serial) if work.overlapped else flight + serial)

    throughput = {"memory": memory, "L2": l2, "port": port, "issue": issue, "pipe": pipe}
    ramp, busy = gpu.start + gpu.idle_latency, max(throughput.values())
    rest = work.tasks % at_once if waves > 1 else 0
    if rest:  # what begins when the others end takes no less than a task
        busy += max(0.0, path / waves - busy * rest / work.tasks)
    total = gpu.launch + max(ramp + busy, path) + exchange
    paths = {"in flight": flight - gpu.idle_latency, "issue": serial}
    paths["latency"] = waves * waits + gpu.idle_latency + exchange
    by_path = path > ramp + busy
    terms = paths if by_path else throughput | {"latency": exchange + ramp}
    bound = max(terms, key=lambda name: terms[name])
    idle = 1 - 1 / (share * gpu.multiprocessors)
    top = max(throughput.values())
    lost = path if by_path else top if top > max(memory, l2) else 0.0
    tail = idle * lost + (0.0 if by_path else busy - top)
    if bound not in {"memory", "L2", "latency"} and idle > 1 / 2:
        bound = "tail"
    figures = (memory, l2, port, issue, pipe, flight, serial, waves * waits + exchange, tail)
    roofline = gpu.launch + max(memory, min(work.sectors, work.moved) / gpu.l2_bandwidth * 1e6)
    return Prediction(waves, *figures, total, roofline, bound)


def pipes(work: Work, gpu: Gpu) -> dict[str, float]:
    """Return the clocks that one multiprocessor's pipes would take for all of the work."""
    return {
        "special": work.special * _WARP / gpu.special,
        "double": work.double * _WARP / gpu.double,
        "convert": work.convert * _WARP / gpu.convert,
        "integer": work.integer * _WARP / gpu.integer,
        "shuffle": work.shuffle * _WARP / SHUFFLES,
        "shared": work.wavefronts,
    }
