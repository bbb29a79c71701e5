"""Workspaces of the engines, and what calls ask of a device: on a stand-in for CuPy.

What only a driver can show is shown by the operators' tests on a GPU.
"""

from __future__ import annotations

import gc
import threading
from contextlib import nullcontext

import numpy as np
import pytest

import cudakern as ck
from cudakern import engines
from cudakern._kernel_arguments import Arguments
from cudakern._layout import Layout
from cudakern.engines import sources
from cudakern.engines.base import KernelSpec, Launch, Tensor
from cudakern.engines.cuda.engine import MAX_EXTERNAL_WORKSPACES, CudaEngine
from cudakern.engines.simulator import SimulatorEngine
from cudakern.operators.nonzero import plan as nonzero_plan
from tests.helpers import fake_cupy
from tests.helpers.nonzero import expected_coordinates, random_elements
from tests.helpers.places import same_bytes

PER_THREAD = 2
WORKSPACE = 8 * (2 + 4096)
SHAPE = (3, 5, 2000)  # of int32: more than one block's
COUNTED = 4  # bytes


class Streams:
    """Workspaces by stream, each marked so that it is known again."""

    def __init__(self, cupy):
        self.cupy, self.engine, self.marked = cupy, CudaEngine(), 0
        self.streams = {}

    def words(self, stream, nbytes=WORKSPACE, device=0):
        """Return the words of the workspace for a launch on a stream."""
        current = self.streams.setdefault(stream, self.cupy.state.stream_of(stream))
        self.cupy.state.stream = current
        address = self.engine.workspace(device, nbytes)
        assert self.cupy.state.current == 0, "the current device is given back"
        engine = self.engine
        tables = [engine._workspaces, engine._of_thread.workspaces]  # noqa: SLF001
        tables += [graph.workspaces for graph in engine._graphs._captured.values()]  # noqa: SLF001
        kept = [memory for table in tables for memory in table.values()]
        (memory,) = {id(m): m for m in kept if m.data.ptr == address}.values()
        assert memory.data.device_id == device
        assert memory.nbytes == nbytes
        return memory.values

    def mark(self, *key, **options):
        """Return the mark of a workspace, which a new one gets; it starts as zeros."""
        words = self.words(*key, **options)
        if words[0] == 0:
            assert not words.any()
            self.marked += 1
            words[:] = self.marked
        return int(words[0])


@pytest.fixture
def streams(cupy):
    return Streams(cupy)


@pytest.mark.parametrize("stream", [0, 1, PER_THREAD, 77])
def test_launches_of_a_stream_share_a_workspace(streams, cupy, stream):
    assert [streams.mark(stream) for _ in range(3)] == [1, 1, 1]
    assert cupy.state.allocations == cupy.state.memsets == [WORKSPACE]
    assert not cupy.state.synchronisations


def test_streams_devices_and_sizes_have_workspaces_of_their_own(streams):
    keys = [
        (stream, nbytes, device)
        for stream in (0, PER_THREAD, 77, 78)
        for nbytes in (WORKSPACE, 2 * WORKSPACE)
        for device in (0, 1)
    ]
    marks = [streams.mark(*key) for key in keys]
    assert marks == [*range(1, 17)]
    assert [streams.mark(*key) for key in keys] == marks


def test_threads_have_streams_of_their_own(streams):
    mine, theirs = streams.mark(PER_THREAD), []
    for _ in range(3):  # one after the other: they may have the same identity, not the same stream
        thread = threading.Thread(
            target=lambda: theirs.append([streams.mark(PER_THREAD), streams.mark(PER_THREAD)])
        )
        thread.start()
        thread.join()
    assert theirs == [[2, 2], [3, 3], [4, 4]]
    assert external(streams, PER_THREAD) == mine


def test_threads_share_any_other_stream(streams):
    marks = [streams.mark(0), streams.mark(77)]
    thread = threading.Thread(target=lambda: marks.extend([streams.mark(0), streams.mark(77)]))
    thread.start()
    thread.join()
    assert marks == [1, 2, 1, 2]


def test_a_workspace_goes_with_its_stream(streams, cupy):
    assert [streams.mark(77), streams.mark(78)] == [1, 2]
    cupy.state.stream = None
    del streams.streams[77]
    assert [streams.mark(77), streams.mark(78)] == [3, 2], "a later stream of the same handle"
    assert len(streams.engine._workspaces) == 2  # noqa: SLF001


def external(streams, handle=77):
    """Make an object of another library's stream the only one, as each ``with`` does."""
    stream = streams.cupy.state.stream_of(handle)
    streams.streams[handle] = streams.cupy.cuda.Stream.from_external(stream)
    return streams.mark(handle)


def test_objects_of_an_external_stream_share_a_workspace(streams, cupy):
    assert [external(streams) for _ in range(3)] == [1, 1, 1]
    assert external(streams, 78) == 2
    assert cupy.state.memsets == [WORKSPACE] * 2
    assert [streams.mark(77, device=1), external(streams)] == [3, 1]
    assert len(streams.engine._workspaces) == 2  # noqa: SLF001  one for each object that is there


def test_objects_of_the_default_stream_share_a_workspace(streams):
    assert [external(streams, handle) for handle in (0, 1, 0)] == [1, 1, 1]
    streams.streams[0] = streams.cupy.cuda.Stream.null
    assert streams.mark(0) == 1


def test_a_later_external_stream_of_the_same_handle_has_its_own_workspace(streams, cupy):
    """The launches of the one before may still run."""
    first = external(streams)
    del cupy.state.numbers[77]
    assert external(streams) == external(streams) != first


def test_workspaces_of_external_streams_are_not_kept_without_end(streams, cupy):
    most = MAX_EXTERNAL_WORKSPACES
    handles = range(100, 100 + most + 10)
    marks = [external(streams, handle) for handle in handles]
    assert [external(streams, handle) for handle in handles[:most]] == marks[:most]
    streams.streams.clear()
    cupy.state.stream = None
    assert cupy.state.live == most * WORKSPACE, "those of the others went with their objects"


def test_a_thread_that_ends_leaves_no_workspace(streams, cupy):
    thread = threading.Thread(target=lambda: streams.mark(PER_THREAD))
    thread.start()
    thread.join()
    gc.collect()
    assert cupy.state.live == 0


@pytest.mark.parametrize("stream", [PER_THREAD, 77])
def test_launches_of_a_stream_in_a_graph_share_a_workspace(streams, cupy, stream):
    eager, other = streams.mark(stream), streams.mark(79)
    cupy.state.capturing.add(stream)
    (captured,) = {streams.mark(stream) for _ in range(3)}
    assert captured not in {eager, other}
    assert streams.mark(79) == other
    cupy.state.capturing.add(79)
    assert streams.mark(79) not in {eager, other, captured}, "a branch of the same graph"
    assert cupy.state.capture_mode == 0, "the mode is given back"
    cupy.state.capturing.clear()
    assert [streams.mark(stream) for _ in range(3)] == [eager] * 3


def test_graphs_have_workspaces_of_their_own(streams, cupy):
    cupy.state.capturing.add(77)
    first = streams.mark(77)
    cupy.state.captures += 1
    assert streams.mark(77) != first


def test_a_stream_that_was_captured_first_starts_anew(streams, cupy):
    cupy.state.capturing.add(77)
    assert streams.mark(77) == 1
    cupy.state.capturing.clear()
    assert [streams.mark(77), streams.mark(77)] == [2, 2]


def make(shape=SHAPE):
    """Return an array on the second device, and where it is not zero."""
    x = random_elements(np.random.default_rng(1), shape, "int32", 0.4)
    return fake_cupy.Array(x, 1), expected_coordinates(x)


def costs(cupy, call):
    """Return a call's result, its launches, bytes it allocated, and how often it waited."""
    cupy.state.clear()
    result = call()
    assert {launch[0] for launch in cupy.state.launches} <= {1}, "on the device of the arrays"
    state = cupy.state
    return result, len(state.launches), list(state.allocations), len(state.synchronisations)


def outputs(cupy, x):
    with cupy.cuda.Device(1):
        return cupy.empty((1,), np.uint32), cupy.empty((x.size, x.ndim), np.uint32)


def assert_found(pair, rows):
    assert pair[0].get().tolist() == [len(rows)]
    assert same_bytes(pair[1].get()[: len(rows)], rows.astype(np.uint32))


def test_argwhere_keeps_what_it_allocated_if_most_of_it_is_needed(cupy):
    x = fake_cupy.Array(np.ones(SHAPE, np.int32), 1)
    ck.argwhere(x)
    found, *cost = costs(cupy, lambda: ck.argwhere(x))
    assert cost == [1, [COUNTED, x.size * x.ndim * 8], 1]
    assert same_bytes(found, np.argwhere(x.values))


def test_argwhere_counts_first_where_memory_matters(cupy, monkeypatch):
    monkeypatch.setattr(nonzero_plan, "UNCOUNTED_BYTES", 1000)
    x, rows = make()
    ck.argwhere(x)
    found, *cost = costs(cupy, lambda: ck.argwhere(x))
    assert cost == [2, [COUNTED, 0, rows.nbytes], 1]
    assert same_bytes(found, rows)


def test_captured_calls_share_nothing_with_others(cupy):
    x, rows = make()
    out = outputs(cupy, x)
    cupy.state.stream = cupy.state.stream_of(77)
    assert ck.nonzero_coordinates(x, out=out) is not None
    cupy.state.capturing.add(77)
    for number in range(2):
        pair, *cost = costs(cupy, lambda: ck.nonzero_coordinates(x, out=out))
        assert cost == [1, [] if number else [WORKSPACE], 0]
        # until the workspace is zero
        assert cupy.state.waits == ([] if number else [(fake_cupy.NEW_STREAM, 0)])
        assert_found(pair, rows)
    cupy.state.capturing.clear()
    assert costs(cupy, lambda: ck.nonzero_coordinates(x, out=out))[1:] == (1, [], 0)


@pytest.mark.parametrize(
    ("call", "dtype", "size"),
    [
        (ck.gather, "int32", 7),
        (lambda _, i: ck.one_hot(i, 3), "int32", 7),
        (lambda x, _: ck.nonzero(x, size=5), "uint32", 1),
    ],
    ids=["gather", "one_hot", "nonzero"],
)
def test_what_a_captured_call_makes_for_itself_is_kept(cupy, call, dtype, size):
    (x, _), narrow = make(shape=(20, 30)), fake_cupy.Array(np.zeros(7, np.int8), 1)
    with cupy.cuda.Device(1):
        call(x, narrow)
        engine = engines.engine_for(1)
        assert len(engine._graphs) == 0  # noqa: SLF001
        cupy.state.stream, cupy.state.capture_mode = cupy.state.stream_of(77), fake_cupy.RELAXED
        cupy.state.capturing.add(77)
        call(x, narrow)
    (graph,) = engine._graphs._captured.values()  # noqa: SLF001
    (kept,) = graph.memory
    assert (kept.dtype, kept.size) == (dtype, size)


def test_arrays_here_have_several_tiles():
    assert np.prod(SHAPE) * (4 + 4 * len(SHAPE)) > nonzero_plan.ONE_BLOCK_BYTES


@pytest.mark.parametrize("observed", [False, True])
def test_a_launch_that_failed_leaves_no_workspace(tmp_path, monkeypatch, observed):
    text = 'extern "C" __global__ void CK_ENTRY(unsigned long long* w) { w[0] = 7; __trap(); }\n'
    (tmp_path / "fails.cu").write_text(text, encoding="utf-8")
    monkeypatch.setattr(sources, "kernel_folder", lambda: tmp_path)
    engine = SimulatorEngine()
    launch = Launch(
        KernelSpec("fails", "plain", "ck_fails", (), 1), (1, 1, 1), 0, 1, Arguments(b"", ())
    )
    words = Tensor("workspace", Layout((8,), (8,), 8), read=True, written=True)
    run = engine.prepare(launch, -1, (words,))
    address = engine.workspace(-1, 64)
    kept = engine._workspaces.by_size[64]  # noqa: SLF001  so that its memory is not taken again
    assert engine.workspace(-1, 64) == address
    with (
        pytest.raises(ck.SimulatorError, match="trap"),
        ck.simulator.checked() if observed else nullcontext(),
    ):
        run(address)
    assert kept[0] == 7
    assert engine.workspace(-1, 64) != address
