"""What one call does not show: epochs that begin anew, threads, streams, repeats, graphs."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from typing import NamedTuple

import numpy as np

import cudakern as ck
from cudakern import engines
from cudakern.engines.cuda.engine import CudaEngine
from cudakern.engines.simulator import SimulatorEngine
from cudakern.operators.arrays.native import address_of
from cudakern.operators.nonzero.plan import HEADER_WORDS, MIN_SLOTS
from tests.gpu.calls import Calls, assert_are, captured, elements, wait
from tests.helpers.places import CUDA, get, overwrite, poison, put

#: Launches of nonzero_coordinates after which a workspace counts anew.
EPOCHS = 2**18
THREADS = 4


class Amounts(NamedTuple):
    """How much is done."""

    launches: int  # of nonzero_coordinates in a graph
    replays: int  # of that graph: EPOCHS - 1 launches
    seconds: float  # of threads
    columns: int  # of what is reduced
    repeats: int  # of a reduction
    turns: int  # of a graph beside eager calls
    at_once: int  # calls of each operator before anybody waits


ON_GPU = Amounts(513, 511, 20, 2**14, 1000, 100, 32)
ON_SIMULATOR = Amounts(3, 2, 0.1, 300, 3, 1, 1)


def stress(place):
    """Yield the checks."""
    amounts = ON_GPU if place == CUDA else ON_SIMULATOR
    yield "nonzero_coordinates, beyond the last epoch", partial(epochs, place, amounts)
    yield f"{THREADS} threads on two streams", partial(threads, place, amounts)
    for axis in (None, 0, 1):
        yield f"reduce, axis {axis}, the same bits", partial(same_bits, place, amounts, axis)
    yield "a graph beside eager calls", partial(graph_beside_calls, place, amounts)


def graph_of(call, place):
    """Return what launches a graph of a call; on the host, the call."""
    wait(place)
    return captured("Relaxed", call) if place == CUDA else call


def two_streams(place):
    """Return two new streams, which find all there that was enqueued before."""
    if place != CUDA:
        return nullcontext(), nullcontext()
    from cupy import cuda  # noqa: PLC0415  optional

    wait(place)
    return cuda.Stream(non_blocking=True), cuda.Stream(non_blocking=True)


def one_workspace(place):
    """Return an engine whose launches have one workspace, eager or not, and that."""
    words = put(np.zeros(HEADER_WORDS + MIN_SLOTS, np.uint64), place)

    class OneWorkspace(CudaEngine if place == CUDA else SimulatorEngine):
        def workspace(self, nbytes, *_):
            assert nbytes == words.nbytes
            return address_of(words)

    return OneWorkspace(), words


class Sparse:
    """Arrays with up to 60 elements that are not zero, and room for their coordinates."""

    def __init__(self, place, size, seeds):
        self.arrays = []
        self.expected = poison((len(seeds), 1), np.uint32), poison((len(seeds), 60, 1), np.uint32)
        for k, seed in enumerate(seeds):
            rng = np.random.default_rng(seed)
            rows = np.sort(rng.choice(size, rng.integers(40, 60), replace=False))
            x = np.zeros(size, np.uint8)
            x[rows] = 1
            self.arrays.append(put(x, place))
            self.expected[0][k] = rows.size
            self.expected[1][k, : rows.size, 0] = rows
        self.out = tuple(put(poison(array.shape, array.dtype), place) for array in self.expected)
        self.place = place

    def find(self):
        count, rows = self.out
        for k, x in enumerate(self.arrays):
            ck.nonzero_coordinates(x, size=60, out=(count[k], rows[k]))

    def check(self, find):
        """Find the coordinates, which must be right."""
        for array in self.out:
            overwrite(array, poison(array.shape, array.dtype))
        wait(self.place)
        find()
        wait(self.place)
        assert_are(self.out, self.expected)


def epochs(place, amounts):
    """What a launch leaves in the workspace does not count in the next launch of the same epoch.

    Both have more tiles than all launches between, of which the simulator leaves most out.
    """
    engine, words = one_workspace(place)
    with engines.use(engine):
        first, last = (Sparse(place, 400_000, [seed]) for seed in (1, 2))
        first.check(first.find)
        state = get(words).copy()
        assert state[0] == 1 << 32
        state[0] = EPOCHS - amounts.launches * amounts.replays << 32
        overwrite(words, state)
        some = Sparse(place, 150_000, [3 + k % 7 for k in range(amounts.launches)])
        find = graph_of(some.find, place)
        for _ in range(amounts.replays):
            some.check(find)
        assert not get(words).any(), "the last epoch must leave nothing behind"
        last.check(last.find)
        assert get(words)[0] == 1 << 32
        del find  # before the engine and its kernels


def threads(place, amounts):
    """Threads that share streams get their own results."""
    streams = two_streams(place)
    end = time.monotonic() + amounts.seconds

    def work(number):
        with streams[number % 2]:
            calls = Calls(np.roll(elements(), number), place)
            while True:
                calls.poison()
                for _ in range(amounts.at_once):
                    calls.run()
                calls.check()
                if time.monotonic() > end:
                    return

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))


def same_bits(place, amounts, axis):
    """A sum, in which the order of additions shows, has the same bits each time."""
    values = np.random.default_rng(7).random((64, amounts.columns), np.float32)
    expected = values.sum(axis, dtype=np.float64)
    x = put(values, place)
    out = put(poison((amounts.repeats, *expected.shape), np.float32), place)
    streams = two_streams(place)
    for k in range(amounts.repeats):
        with streams[k % 2]:
            ck.reduce(x, "sum", axis, out=out[k, ...])
    wait(place)
    found = get(out)
    np.testing.assert_allclose(found[0], expected, rtol=1e-6)
    bits = found.view(np.uint32)
    assert np.array_equal(bits, np.broadcast_to(bits[0], bits.shape))


def graph_beside_calls(place, amounts):
    """A graph and eager calls that run at the same time get their own results."""
    captured_calls, eager = (Calls(np.roll(elements(), k), place) for k in range(2))
    stream, _ = two_streams(place)
    launch = graph_of(captured_calls.run, place)
    for _ in range(amounts.turns):
        captured_calls.poison()
        eager.poison()
        wait(place)
        for _ in range(amounts.at_once):
            launch()
            with stream:
                eager.run()
        wait(place)
        captured_calls.check()
        eager.check()
