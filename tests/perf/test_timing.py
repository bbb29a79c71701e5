"""How times are taken, on a stand-in for a GPU with a clock of its own: each figure is known."""

from __future__ import annotations

import math
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest

from cudakern.simulator import RawModule, checked, empty
from perf.results import OURS
from perf.timing import ceilings
from perf.timing.contender import CALLS, Ring, plan_ring
from perf.timing.gpu import Gpu
from perf.timing.turns import Deadline, measure
from tests.helpers import timed_gpu
from tests.helpers.rows import each
from tests.helpers.timed_gpu import Increment, TimedPeer

SAMPLES = 11


@pytest.fixture
def cupy():
    return timed_gpu.make()


@pytest.fixture
def take(cupy):
    gpu = Gpu(cupy, cupy.clock)

    def take(workload, *peers, samples=SAMPLES, seconds=1000.0):
        deadline = Deadline(cupy.clock, seconds, 1)
        return measure(gpu, workload, peers, samples, deadline)

    return take


@each(
    ("touched", "nbytes", "free", "ring"),
    [
        (60, 60, 10**6, Ring(6, flushed=False)),  # 6 x 60 > 3 x 100 = 5 x 60
        (301, 301, 10**6, Ring(1, flushed=False)),
        (15, 15, 10**6, Ring(1, flushed=True)),  # 21 sets
        (60, 1000, 18_000, Ring(6, flushed=False)),
        (60, 1000, 17_999, Ring(1, flushed=True)),  # not in a third of the memory
        (500, 10**9, 0, Ring(1, flushed=False)),
    ],
)
def test_sets_exceed_three_times_l2(touched, nbytes, free, ring):
    assert plan_ring(touched, nbytes, 100, free) == ring


@each("cold_us", [80, 130, 5000])  # 20 calls, 16 and 1 are long enough
def test_sets_in_turn_are_cold(cupy, take, cold_us):
    workload = Increment(cupy, nbytes=2**18, cold_us=cold_us, warm_us=20)  # 7 sets of half of L2
    ours = take(workload).timings[OURS]
    assert (ours.median_us, ours.p10_us, ours.p90_us) == pytest.approx((cold_us,) * 3)
    assert (ours.method, ours.cold, ours.warm_us, ours.samples) == ("graph", True, None, SAMPLES)


def test_small_workloads_are_cold_after_writes_over_l2_and_warm_without(cupy, take):
    ours = take(Increment(cupy, cold_us=8, warm_us=3, host_us=7)).timings[OURS]
    assert (ours.median_us, ours.warm_us) == pytest.approx((8, 3))
    assert ours.host_us == pytest.approx(7 + timed_gpu.ENQUEUE_NS / 1000)
    assert (ours.method, ours.cold, ours.note) == ("graph", True, "")
    ours = take(Increment(cupy, cold_us=0, warm_us=3)).timings[OURS]  # lost among other writes
    assert (ours.median_us, ours.cold, ours.warm_us) == (pytest.approx(3), False, None)
    assert "lost" in ours.note


def test_median_and_percentiles(cupy, take):
    before = (1000.0,) * 4  # a warm-up, an estimate, a test for waits, a discarded sample
    peer = TimedPeer(cupy, times_us=(*before, *range(11, 0, -1)), captures=False)
    found = take(Increment(cupy, nbytes=2**22), peer).timings["other"]
    assert (found.median_us, found.p10_us, found.p90_us) == pytest.approx((6, 2, 10))
    assert (found.method, found.samples, found.cold) == ("events", SAMPLES, True)


def test_contenders_take_turns(cupy, take):
    log = []
    peers = [TimedPeer(cupy, name, captures=False, log=log) for name in "AB"]
    lacks = TimedPeer(cupy, "lacks the operator", at_prepare=lambda: None)
    found = take(Increment(cupy, nbytes=2**23, begun=log), *peers, lacks).timings
    assert [*found] == [OURS, "A", "B"]
    assert found[OURS].host_us is None  # memory, not the host, sets the time
    starts = [k for k in range(1, len(log)) if log[k] == "ours" != log[k - 1]]
    between = [log[a:b] for a, b in pairwise(starts)]
    assert all(set(turn[:-2]) == {"ours"} and turn[-2:] == ["A", "B"] for turn in between)
    assert len(between) == SAMPLES - 1


@each(
    ("error", "note"),
    [
        (RuntimeError("not permitted when stream is capturing\nsecond line"), "RuntimeError: not"),
        (None, "CUDARuntimeError: cudaErrorStreamCaptureInvalidated"),  # noticed at the end
    ],
)
def test_a_failed_capture_is_timed_by_events_on_a_new_stream(cupy, take, error, note):
    def refuse():
        stream = cupy.cuda.get_current_stream()
        if stream.works is not None:
            stream.invalid = True
            if error:
                raise error

    peer = TimedPeer(cupy, at_call=refuse)
    found = take(Increment(cupy), peer, TimedPeer(cupy, "after")).timings
    assert (found["other"].method, found["after"].method) == ("events", "graph")
    assert found["other"].median_us == pytest.approx(5)
    assert found["other"].note.startswith(f"not captured: {note}")
    assert "\n" not in found["other"].note
    first, second = peer.streams
    assert first.ptr != second.ptr
    assert first.works is None


@each(
    ("peer", "us", "note"),
    [
        ({"default_stream": True}, 5, "works on a stream of its own"),
        ({"waits": True, "captures": False, "times_us": (50,), "note": "waits"}, 50, "waits"),
    ],
)
def test_work_beside_the_stream_and_calls_that_wait_are_timed_on_the_host(
    cupy, take, peer, us, note
):
    found = take(Increment(cupy), TimedPeer(cupy, **peer)).timings["other"]
    assert (found.method, found.note) == ("wall", note)
    assert found.median_us == pytest.approx(us + timed_gpu.ENQUEUE_NS / 1000)


def test_a_wrong_result_has_no_time(cupy, take):
    workload = Increment(cupy, calls_that_work=3)  # later calls leave the earlier right result
    peer = TimedPeer(cupy)
    found = take(workload, peer)
    assert (found.failed, found.checked) == (True, True)
    assert set(found.timings) == {OURS}
    assert math.isnan(found.timings[OURS].median_us)
    assert found.timings[OURS].note.startswith("WRONG: ")
    assert not peer.log


def test_the_time_limit_cuts_samples_and_peers(cupy, take):
    def at_call():  # the first call takes long
        cupy.clock.now += int(2e9)
        peers[0].at_call = None

    peers = TimedPeer(cupy, at_call=at_call), TimedPeer(cupy, "late")
    found = take(Increment(cupy), *peers, samples=30, seconds=1).timings
    for name in (OURS, "other"):
        assert (found[name].samples, found[name].note) == (5, "time limit: 5 of 30 samples")
    assert (found["late"].samples, found["late"].note) == (0, "time limit: not tried")
    assert not peers[1].log


def test_lines_share_the_time():
    now = [0]
    deadline = Deadline(lambda: now[0], 12, 4)
    deadline.next_line()
    now[0] = int(2.9e9)
    assert not deadline.expired()
    now[0] = int(6e9)  # twice its share
    assert deadline.expired()
    deadline.next_line()
    assert not deadline.expired()
    now[0] = int(8e9)  # a third of the 6 s that are left
    assert deadline.expired()


def test_slow_peers_get_few_samples(cupy, take):
    peers = TimedPeer(cupy, "19x", (8 * 19,)), TimedPeer(cupy, "21x", (8 * 21,))
    found = take(Increment(cupy, cold_us=8), *peers).timings
    assert [found[name].samples for name in (OURS, "19x", "21x")] == [SAMPLES, SAMPLES, 5]
    assert "20 times" in found["21x"].note
    assert found["21x"].median_us == pytest.approx(8 * 21)


def fail():
    raise ValueError("not today")


def fails_at(number):
    """Return a function that raises at its call of this number, counted from 0."""
    return mock.Mock(side_effect=[None] * number + [ValueError("not today")])


@each(
    ("peer", "note"),
    [
        ({"at_prepare": fail}, "ValueError: not today"),
        ({"at_call": fails_at(0)}, "ValueError: not today"),
        ({"at_call": fails_at(8), "captures": False}, "ValueError: not today"),  # at a sample
        ({"at_prepare": mock.Mock(side_effect=timed_gpu.OutOfMemoryError)}, "not enough memory"),
    ],
)
def test_peers_that_raise_are_noted(cupy, take, peer, note):
    found = take(Increment(cupy), TimedPeer(cupy, **peer), TimedPeer(cupy, "after"))
    assert math.isnan(found.timings["other"].median_us)
    assert (found.timings["other"].samples, found.timings["other"].note) == (0, note)
    assert found.timings["after"].samples == found.timings[OURS].samples == SAMPLES
    assert (found.checked, found.failed) == (True, False)


def test_a_line_leaves_no_memory_behind(cupy, take):
    """Memory of a peer that fails is free, too, so that the next peer has all of it."""
    nbytes = cupy.gpu.capacity // 3 * 2

    def allocate():
        cupy.empty(nbytes, np.uint8)

    def allocate_and_fail():
        allocate()
        fail()

    def refuse():
        refused.append(cupy.cuda.get_current_stream().works is not None)
        cupy.empty(2**20, np.uint8)
        if (
            refused[-1] and sum(refused) > CALLS
        ):  # in the second graph, while the first holds memory
            raise RuntimeError("not while capturing")

    before, refused = cupy.gpu.capacity, []
    peers = TimedPeer(cupy, at_prepare=allocate_and_fail), TimedPeer(cupy, "next", at_call=allocate)
    found = take(Increment(cupy), *peers).timings
    assert [found[name].note for name in ("other", "next")] == ["ValueError: not today", ""]
    assert found["next"].method == "graph"
    found = take(Increment(cupy), TimedPeer(cupy, at_call=refuse)).timings
    assert found["other"].method == "events"
    assert cupy.gpu.capacity == before


#: How many 16-byte vectors: the last tile is not full, and all blocks have several tiles.
COUNT = 3 * 2 * 2048 + 777
BLOCKS = 2


def test_each_kernel_moves_every_word():
    launch = ceilings.load_kernels(RawModule, BLOCKS)
    words = np.random.default_rng(1).integers(0, 2**32, 4 * COUNT, np.uint32)
    with checked():
        copied, written = empty(words.shape, np.uint32), empty(words.shape, np.uint32)
        sums = empty(BLOCKS, np.uint64)
        launch("copy", words, copied)
        launch("read", words, sums)
        launch("write", written, np.uint32(0x9E3779B9))
    np.testing.assert_array_equal(copied, words)
    assert sum(map(int, sums)) == sum(map(int, words))
    np.testing.assert_array_equal(written, np.full(words.shape, 0x9E3779B9, np.uint32))


def test_rates_count_what_is_read_and_what_is_written(cupy):
    rates = ceilings.measure(Gpu(cupy, cupy.clock))
    bandwidth = timed_gpu.MEMORY_RATE * 1e9
    assert rates == pytest.approx(
        dict.fromkeys(("read", "write", "copy", "memcpy"), bandwidth), 1e-3
    )
    once = cupy.cuda.runtime.memcpyAsync
    cupy.cuda.runtime.memcpyAsync = lambda *given: (once(*given), once(*given))
    rates = ceilings.measure(Gpu(cupy, cupy.clock))
    assert rates["copy"] == pytest.approx(2 * rates["memcpy"], rel=1e-3)  # the better result
    highest, drift = ceilings.combine({"read": 3.0, "copy": 4.0}, {"read": 4.0, "copy": 3.0})
    assert (highest, drift) == ({"read": 4.0, "copy": 4.0}, pytest.approx(0.25))
