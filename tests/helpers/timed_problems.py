"""Problems and peers whose times are known, for `tests.helpers.timed_gpu`."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from perf.cases.base import Traffic
from perf.peers.base import Prepared


@dataclass
class Increment:
    """Adds 1; takes so many microseconds with its data in L2, and so many without."""

    cupy: object
    nbytes: int = 2**12
    cold_us: float = 8.0
    warm_us: float = 3.0
    host_us: float = 0.0
    title: str = "increment"
    operator: str = "increment"
    calls_that_work: int = 10**9
    begun: list = field(default_factory=list)

    @property
    def size(self):
        return self.nbytes

    def traffic(self):
        return Traffic(self.nbytes, self.nbytes)

    def inputs(self, xp, seed):
        x = xp.empty(self.nbytes, np.uint8)
        x[...] = seed + 1
        return (x,)

    def outputs(self, xp):
        return (xp.empty(self.nbytes, np.uint8),)

    def call(self, inputs, outputs):
        (x,), (out,) = inputs, outputs
        gpu = self.cupy.gpu

        def work():
            self.begun.append("ours")
            if len(self.begun) <= self.calls_that_work:
                out[...] = x + 1
            hit = gpu.touch(id(out), 2 * self.nbytes)
            return round(1000 * (self.warm_us if hit else self.cold_us))

        def call():
            self.cupy.clock.now += round(1000 * self.host_us)
            self.cupy.cuda.get_current_stream().enqueue(work)

        return call

    def check(self, xp, inputs, outputs):
        assert xp is self.cupy
        np.testing.assert_array_equal(outputs[0], inputs[0] + 1)


@dataclass
class TimedPeer:
    """A peer that takes so many microseconds a call, in turn; the last one for ever."""

    cupy: object
    name: str = "other"
    times_us: tuple = (5.0,)
    captures: bool = True
    waits: bool = False
    #: What happens at each call, and when it is prepared.
    at_call: object = None
    at_prepare: object = None
    default_stream: bool = False
    note: str = ""
    version: str = "1.0"
    log: list = field(default_factory=list)
    streams: list = field(default_factory=list)

    def prepare(self, problem, inputs):
        assert len(inputs) == len(problem.inputs(self.cupy, 0))
        if self.at_prepare is not None:
            return self.at_prepare()
        cuda = self.cupy.cuda
        stream = cuda.streams[0] if self.default_stream else cuda.get_current_stream()
        self.streams.append(stream)

        def work():
            self.log.append(self.name)
            turn = min(len(self.log), len(self.times_us)) - 1
            return round(1000 * self.times_us[turn])

        def call():
            if self.at_call is not None:
                self.at_call()
            stream.enqueue(work)
            if self.waits:
                stream.synchronize()

        return Prepared(call, self.note, self.captures)


__all__ = ["Increment", "TimedPeer"]
