import math
from contextlib import nullcontext
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest

from cudakern.simulator import RawModule, checked, empty
from perf.results import OURS
from perf.timing import ceilings, turns
from perf.timing.contender import CALLS, Ring, plan_ring
from perf.timing.gpu import Gpu
from perf.timing.turns import Deadline, measure
from tests.helpers import timed_gpu
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


@pytest.mark.parametrize(
    ("touched", "nbytes", "free", "ring"),
    [
        (60, 60, 10**6, Ring(6, flushed=False)),  # 6 x 60 > 3 x 100 = 5 x 60
        (301, 301, 10**6, Ring(1, flushed=False)),
        (300, 300, 10**6, Ring(2, flushed=False)),
        (16, 16, 10**6, Ring(19, flushed=False)),
        (15, 15, 10**6, Ring(1, flushed=True)),  # 21 sets
        (60, 1000, 18_000, Ring(6, flushed=False)),
        (60, 1000, 17_999, Ring(1, flushed=True)),  # not in a third of the memory
        (500, 10**9, 0, Ring(1, flushed=False)),
    ],
)
def test_sets_exceed_three_times_l2(touched, nbytes, free, ring):
    assert plan_ring(touched, nbytes, 100, free) == ring


@pytest.mark.parametrize("cold_us", [80, 130, 5000])  # 20 calls, 16, 1 are long enough
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


def test_time_that_is_lost_in_the_writes_is_not_made_up(cupy, take):
    ours = take(Increment(cupy, cold_us=0, warm_us=3)).timings[OURS]
    assert (ours.median_us, ours.cold, ours.warm_us) == (pytest.approx(3), False, None)
    assert "lost" in ours.note


def test_median_and_percentiles(cupy, take):
    before = (1000.0,) * 4  # a warm-up, an estimate, whether it waits, a sample that is none
    peer = TimedPeer(cupy, times_us=(*before, *range(11, 0, -1)), captures=False)
    found = take(Increment(cupy, nbytes=2**22), peer).timings["other"]
    assert (found.median_us, found.p10_us, found.p90_us) == pytest.approx((6, 2, 10))
    assert (found.method, found.samples, found.cold) == ("events", SAMPLES, True)


def test_time_on_the_host_is_left_out_where_memory_decides(cupy, take):
    assert take(Increment(cupy, nbytes=2**23)).timings[OURS].host_us is None


def test_contenders_take_turns(cupy, take):
    log = []
    peers = [TimedPeer(cupy, name, captures=False, log=log) for name in "AB"]
    workload = Increment(cupy, nbytes=2**23, begun=log)
    take(workload, *peers)
    samples = [name for name in log if name != "ours"]
    assert samples[-2 * SAMPLES :] == ["A", "B"] * SAMPLES
    starts = [k for k in range(1, len(log)) if log[k] == "ours" != log[k - 1]]
    between = [log[a:b] for a, b in pairwise(starts)]
    assert all(set(turn[:-2]) == {"ours"} and turn[-2:] == ["A", "B"] for turn in between)
    assert len(between) == SAMPLES - 1


@pytest.mark.parametrize(
    ("error", "note"),
    [
        (RuntimeError("not permitted when stream is capturing\nsecond line"), "RuntimeError: not"),
        (None, "CUDARuntimeError: cudaErrorStreamCaptureInvalidated"),  # found at the end
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
    after = TimedPeer(cupy, "after")
    found = take(Increment(cupy), peer, after).timings
    assert (found["other"].method, found["after"].method) == ("events", "graph")
    assert found["other"].median_us == pytest.approx(5)
    assert found["other"].note.startswith(f"not captured: {note}")
    assert "\n" not in found["other"].note
    first, second = peer.streams
    assert first.ptr != second.ptr
    assert first.works is None


def test_work_beside_the_captured_stream_is_noticed(cupy, take):
    found = take(Increment(cupy), TimedPeer(cupy, default_stream=True)).timings["other"]
    assert found.method == "wall"
    assert found.median_us == pytest.approx(5 + timed_gpu.ENQUEUE_NS / 1000)
    assert found.note == "works on a stream of its own"


def test_calls_that_wait_are_timed_on_the_host(cupy, take):
    peer = TimedPeer(cupy, waits=True, captures=False, times_us=(50,), note="reads the count")
    found = take(Increment(cupy), peer).timings["other"]
    assert (found.method, found.note) == ("wall", "reads the count")
    assert found.median_us == pytest.approx(50 + timed_gpu.ENQUEUE_NS / 1000)


def test_a_wrong_result_has_no_time(cupy, take):
    workload = Increment(cupy, calls_that_work=3)  # what is right is left of an earlier call
    peer = TimedPeer(cupy)
    found = take(workload, peer)
    assert (found.failed, found.checked) == (True, True)
    assert set(found.timings) == {OURS}
    assert math.isnan(found.timings[OURS].median_us)
    assert found.timings[OURS].note.startswith("WRONG: ")
    assert not peer.log


def test_the_time_limit_cuts_samples_and_peers(cupy, take):
    def at_call():  # the first one takes long
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


out_of_memory = mock.Mock(side_effect=timed_gpu.OutOfMemoryError)


@pytest.mark.parametrize(
    ("peer", "note"),
    [
        ({"at_prepare": fail}, "ValueError: not today"),
        ({"at_call": fail}, "ValueError: not today"),
        ({"at_prepare": out_of_memory}, "not enough memory"),
    ],
)
def test_peers_that_raise_are_noted(cupy, take, peer, note):
    found = take(Increment(cupy), TimedPeer(cupy, **peer), TimedPeer(cupy, "after"))
    assert math.isnan(found.timings["other"].median_us)
    assert found.timings["other"].note == note
    assert found.timings["after"].samples == found.timings[OURS].samples == SAMPLES
    assert (found.checked, found.failed) == (True, False)


def test_a_peer_that_raises_after_a_while_is_out(cupy, take):
    peer = TimedPeer(cupy, captures=False)
    peer.at_call = lambda: fail() if len(peer.log) == 8 else None
    found = take(Increment(cupy), peer).timings
    assert (found["other"].samples, found["other"].note) == (0, "ValueError: not today")
    assert found[OURS].samples == SAMPLES


def test_peers_without_the_operator_are_left_out(cupy, take):
    peer = TimedPeer(cupy, at_prepare=lambda: None)
    assert set(take(Increment(cupy), peer).timings) == {OURS}


def test_a_line_leaves_no_memory_behind(cupy, take):
    def allocate():
        cupy.empty(2**20, np.uint8)

    def allocate_and_refuse():
        allocate()
        if cupy.cuda.get_current_stream().works is not None:
            raise RuntimeError("not while capturing")

    before = cupy.gpu.capacity
    peers = TimedPeer(cupy, at_call=allocate), TimedPeer(cupy, "new", at_call=allocate_and_refuse)
    found = take(Increment(cupy), *peers).timings
    assert [found[peer.name].method for peer in peers] == ["graph", "events"]
    assert cupy.gpu.capacity == before


def test_memory_of_a_peer_that_is_out_serves_the_next(cupy, take):
    nbytes = cupy.gpu.capacity // 3 * 2

    def allocate():
        cupy.empty(nbytes, np.uint8)

    def allocate_and_fail():
        allocate()
        fail()

    peers = TimedPeer(cupy, at_prepare=allocate_and_fail), TimedPeer(cupy, "next", at_call=allocate)
    found = take(Increment(cupy), *peers).timings
    assert found["other"].note == "ValueError: not today"
    assert found["next"].samples == SAMPLES


def test_a_graph_goes_with_a_lane_that_is_replaced(cupy, take):
    class Peer(TimedPeer):
        def prepare(self, *data):
            captured = []

            def refuse():
                captured.append(cupy.cuda.get_current_stream().works is not None)
                if sum(captured) > CALLS:  # in the second graph
                    raise RuntimeError("not while capturing")

            self.at_call = refuse
            return super().prepare(*data)

    found = take(Increment(cupy), Peer(cupy), Peer(cupy, "next")).timings
    assert [found[name].method for name in ("other", "next")] == ["events", "events"]


@pytest.mark.parametrize("kept_by", ["a graph", "an engine"])
def test_memory_that_outlives_its_lane_is_given_back_in_the_end(cupy, kept_by):
    gpu = Gpu(cupy, cupy.clock)
    before = cupy.gpu.capacity
    lane = gpu.lane("a")
    if kept_by == "a graph":
        kept = [lane, gpu.capture(lane, [lambda: cupy.empty(2**20, np.uint8)])]
    else:
        with lane.current():
            kept = [cupy.empty(2**20, np.uint8)]
    del lane
    gpu.release()
    gpu.lane("b")
    assert cupy.gpu.capacity == before - 2**20
    kept.clear()
    gpu.release()
    assert cupy.gpu.capacity == before


def test_too_little_memory_for_all_sets_leaves_one(cupy, monkeypatch):
    gpu = Gpu(cupy, cupy.clock)
    monkeypatch.setattr(turns, "plan_ring", lambda *_: Ring(7, flushed=False))
    cupy.gpu.capacity = 6 * 2**18
    workload = Increment(cupy, nbytes=2**17)
    found = measure(gpu, workload, (), SAMPLES, Deadline(cupy.clock, 1000, 1)).timings[OURS]
    assert (found.median_us, found.warm_us) == (pytest.approx(8), pytest.approx(3))


def test_too_little_memory_for_one_set_is_noted(cupy, take):
    found = take(Increment(cupy, nbytes=2**26))
    assert found.timings[OURS].note == "not enough memory"
    assert (found.failed, found.checked) == (False, False)


def test_our_own_errors_are_raised(cupy, take):
    workload = Increment(cupy)
    workload.call = lambda *_: fail
    with pytest.raises(ValueError, match="not today"):
        take(workload)


#: 16-byte vectors of which the last tile is not full; all blocks have several tiles.
COUNT = 3 * 2 * 2048 + 777
BLOCKS = 2


@pytest.mark.parametrize("mode", [nullcontext, checked])
def test_each_kernel_moves_every_word(mode):
    kernels = ceilings.Kernels(RawModule, BLOCKS)
    words = np.random.default_rng(1).integers(0, 2**32, 4 * COUNT, np.uint32)
    with mode():
        copied, written = empty(words.shape, np.uint32), empty(words.shape, np.uint32)
        sums = empty(BLOCKS, np.uint64)
        kernels.copy(words, copied)
        kernels.read(words, sums)
        kernels.write(written, 0x9E3779B9)
    np.testing.assert_array_equal(copied, words)
    assert sum(map(int, sums)) == sum(map(int, words))
    np.testing.assert_array_equal(written, np.full(words.shape, 0x9E3779B9, np.uint32))


def test_rates_count_what_is_read_and_what_is_written(cupy):
    rates = ceilings.measure(Gpu(cupy, cupy.clock))
    assert set(rates) == {"read", "write", "copy", "memcpy"}
    for rate in rates.values():
        assert rate == pytest.approx(timed_gpu.MEMORY_RATE * 1e9, rel=1e-3)


def test_the_copy_ceiling_is_the_better_of_two(cupy):
    slow = cupy.cuda.runtime.memcpyAsync

    def twice(*arguments):
        slow(*arguments)
        slow(*arguments)

    cupy.cuda.runtime.memcpyAsync = twice
    rates = ceilings.measure(Gpu(cupy, cupy.clock))
    assert rates["copy"] == pytest.approx(2 * rates["memcpy"], rel=1e-3)


def test_the_higher_ceilings_count_and_drift_is_that_of_copies():
    before = {"read": 3.0, "write": 5.0, "copy": 4.0}
    after = {"read": 4.0, "write": 1.0, "copy": 3.0}
    highest, drift = ceilings.combine(before, after)
    assert highest == {"read": 4.0, "write": 5.0, "copy": 4.0}
    assert drift == pytest.approx(0.25)
