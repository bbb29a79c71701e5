"""Many threads at once: calls of everything, caches cleared, launches observed."""

from __future__ import annotations

import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import numpy as np
import pytest

import cudakern as ck
from cudakern.process import caches
from tests.helpers.bindings import DESC, EXPECTED, INDICES, X
from tests.helpers.mixed_calls import CALLS, call, call_all
from tests.helpers.samples import is_thorough

THREADS = 8
BROKEN = 'extern "C" __global__ void broken(int* x) { x[threadIdx.x + 1] = 1; }'


def side_by_side(work, threads=THREADS):
    """Run work(number) on threads that start at once; return its results."""
    start = Barrier(threads, timeout=120)

    def wait_and_work(number):
        start.wait()
        return work(number)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(wait_and_work, range(threads)))


def mixed(calls, *, clearing):
    """Return a function that makes ``calls`` calls; the first thread also clears the caches."""

    def work(number):
        random = np.random.default_rng(number)
        for turn in range(calls):
            if clearing and number == 0 and turn % 20 == 0:
                ck.clear_caches()
            call(int(random.integers(len(CALLS))), random)
        return calls

    return work


@pytest.fixture
def switching_often():
    """Make threads switch as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("switching_often")
def test_calls_of_everything_while_caches_are_cleared():
    calls = 1000 if is_thorough() else 300
    assert sum(side_by_side(mixed(calls, clearing=True))) == THREADS * calls


def test_nothing_grows_once_all_has_been_called():
    ck.clear_caches()
    for seed in range(30):  # initial values and axes are random
        call_all(seed)
    before = caches.sizes()
    side_by_side(mixed(300, clearing=False))
    assert caches.sizes() == before


@pytest.mark.usefixtures("switching_often")
def test_tables_are_never_too_long(monkeypatch):
    monkeypatch.setattr("cudakern.process.caches.Table.limit", 2)
    ck.clear_caches()
    side_by_side(mixed(200, clearing=False))
    sizes = caches.sizes()
    assert max(sizes[name].entries for name in ("gather", "one_hot", "reduce")) <= 2 * 2


@pytest.mark.usefixtures("switching_often")
def test_operators_are_compiled_and_forgotten_beside_calls():
    gc.collect()
    before = caches.sizes()["compiled operators"].limit

    def work(_number):
        for _ in range(50):
            operator = ck.compile_operator(DESC)
            np.testing.assert_array_equal(operator(X, INDICES), EXPECTED)
            ck.clear_caches()
            caches.sizes()
        return True

    assert all(side_by_side(work))
    gc.collect()
    assert caches.sizes()["compiled operators"].limit == before


def test_every_launch_inside_of_a_session_is_counted():
    """Launches of other threads are counted, too, each once."""
    with ck.simulator.checked() as checked, ck.simulator.traffic() as traffic:
        side_by_side(lambda _: [ck.gather(X, INDICES[0]) for _ in range(20)])
    assert checked.launches == THREADS * 20
    assert [kernel.launches for kernel in traffic.kernels] == [THREADS * 20]
    (loads,) = {line.requests for line in traffic.kernels[0].lines if line.kind == "store"}
    assert loads % (THREADS * 20) == 0


def test_launches_are_those_of_the_threads_own_session():
    kernel = ck.simulator.RawKernel(BROKEN, "broken")
    begun = Barrier(2, timeout=120)

    def work(number):
        x = np.zeros(4, np.int32)
        if number == 1:
            begun.wait()  # the session of the other thread is the outer one
        try:
            with ck.simulator.checked() as report:
                if number == 0:
                    begun.wait()
                begun.wait()
                if number == 0:
                    kernel((1,), (4,), (x,))
                begun.wait()
        except ck.SimulatorError as error:
            return len(error.findings)
        return -report.launches

    assert side_by_side(work, 2) == [1, 0]


def test_results_are_right_while_sessions_come_and_go():
    stop = Event()

    def work(number):
        if number == 0:
            reports = []
            try:
                for turn in range(30):
                    with (ck.simulator.checked if turn % 2 else ck.simulator.traffic)() as report:
                        Event().wait(0.01)
                    reports.append((report, str(report)))
            finally:
                stop.set()
            # Nothing is added to a report once its block has ended.
            return [str(report) for report, _ in reports] == [text for _, text in reports]
        random = np.random.default_rng(number)
        while not stop.is_set():
            call(int(random.integers(len(CALLS))), random)
        return True

    assert all(side_by_side(work, 4))
