"""Workspaces of the engines, and what calls ask of a device: on a stand-in for CuPy.

What only a driver can show is shown by the operators' tests on a GPU.
"""

from __future__ import annotations

import ctypes
import gc
import threading
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

import cudakern as ck
from cudakern.engines import kernel_text
from cudakern.engines.base import KernelSpec, Launch, Tensor
from cudakern.engines.cuda.engine import MAX_EXTERNAL_WORKSPACES, CudaEngine
from cudakern.engines.simulator import SimulatorEngine
from cudakern.operators.nonzero import plan as nonzero_plan
from cudakern.values.argument_struct import Arguments
from cudakern.values.layout import Layout
from tests.helpers.nonzero import expected_coordinates, random_elements
from tests.helpers.places import same_bytes
from tests.helpers.recorded_cupy import on_device
from tests.helpers.rows import each

PER_THREAD = 2
WORKSPACE = 8 * (2 + 4096)
SHAPE = (3, 5, 2000)  # of int32: more than one block's
COUNTED = 4  # bytes


class Streams:
    """Workspaces by stream, each marked so that it is known again."""

    def __init__(self, record):
        self.record, self.cuda = record, record.cupy.cuda
        self.engine, self.marked = CudaEngine(), 0
        self.null, self.ptds = self.cuda.Stream.null, self.cuda.Stream.ptds

    def new(self, device=0):
        with self.cuda.Device(device):
            return self.cuda.Stream(non_blocking=True)

    def external(self, handle):
        """Return an object of another library's stream, as each ``with`` makes one."""
        other = SimpleNamespace(__cuda_stream__=lambda: (0, handle))
        return self.cuda.Stream.from_external(other)

    def mark(self, stream, nbytes=WORKSPACE, device=0):
        """Return the mark of the workspace for a launch; a new one is zeros, and gets the next."""
        with self.cuda.Device(device), stream:
            address = self.engine.workspace(nbytes, device, self.cuda.get_current_stream())
        assert self.record.memory.at(address) == (device, nbytes)
        words = (ctypes.c_uint64 * (nbytes // 8)).from_address(address)
        if words[0] == 0:
            assert not any(words)
            self.marked += 1
            words[:] = [self.marked] * len(words)
        return words[0]


@pytest.fixture
def streams(record):
    return Streams(record)


@each("which", ["null", "ptds", "own"])
def test_launches_of_a_stream_share_a_workspace(streams, which):
    stream = streams.new() if which == "own" else getattr(streams, which)
    streams.record.clear()
    assert len({streams.mark(stream) for _ in range(3)}) == 1
    assert streams.record.allocations == streams.record.memsets == [WORKSPACE]
    assert not streams.record.synchronisations


def test_streams_devices_and_sizes_have_workspaces_of_their_own(streams):
    keys = [
        (stream, nbytes, device)
        for device in (0, 1)
        for stream in (streams.null, streams.ptds, streams.new(device), streams.new(device))
        for nbytes in (WORKSPACE, 2 * WORKSPACE)
    ]
    marks = [streams.mark(*key) for key in keys]
    assert marks == [*range(1, 17)]
    assert [streams.mark(*key) for key in keys] == marks


def test_threads_have_streams_of_their_own(streams):
    mine, theirs = streams.mark(streams.ptds), []
    for _ in range(3):  # one after the other: they may have the same identity, not the same stream
        thread = threading.Thread(
            target=lambda: theirs.append([streams.mark(streams.ptds) for _ in range(2)])
        )
        thread.start()
        thread.join()
    assert theirs == [[2, 2], [3, 3], [4, 4]]
    assert streams.mark(streams.external(PER_THREAD)) == mine


def test_threads_share_any_other_stream(streams):
    shared = streams.null, streams.new()
    marks = [*map(streams.mark, shared)]
    thread = threading.Thread(target=lambda: marks.extend(map(streams.mark, shared)))
    thread.start()
    thread.join()
    assert marks == [1, 2, 1, 2]


def test_a_workspace_goes_with_its_stream(streams):
    first, second = streams.new(), streams.new()
    assert [streams.mark(first), streams.mark(second)] == [1, 2]
    handle = first.ptr
    del first
    later = streams.new()
    later.ptr = handle
    assert [streams.mark(later), streams.mark(second)] == [3, 2]
    assert streams.record.live == 2 * WORKSPACE


def test_objects_of_an_external_stream_share_a_workspace(streams):
    handles = [77, 77, 78, 77, 1, 0, 1]
    marks = [streams.mark(streams.external(handle)) for handle in handles]
    assert marks == [1, 1, 2, 1, 3, 3, 3], "0 and 1 are the default stream"
    assert streams.mark(streams.null) == 3
    assert streams.record.memsets == [WORKSPACE] * 3
    marks = [streams.mark(streams.external(77), device=device) for device in (1, 0)]
    assert [*marks, streams.mark(streams.external(77), 2 * WORKSPACE)] == [4, 1, 5]


def test_a_later_external_stream_of_the_same_handle_has_its_own_workspace(streams):
    """The launches of the one before may still run."""
    first = streams.mark(streams.external(77))
    del streams.record.streams[77]
    assert [streams.mark(streams.external(77)) for _ in range(2)] == [first + 1] * 2


def test_workspaces_of_external_streams_are_not_kept_without_end(streams):
    most = MAX_EXTERNAL_WORKSPACES
    handles = range(100, 100 + most + 10)
    objects = [*map(streams.external, handles)]
    marks = [*map(streams.mark, objects)]
    assert marks == [*range(1, most + 11)]
    assert [streams.mark(streams.external(handle)) for handle in handles[:most]] == marks[:most]
    del objects
    assert streams.record.live == most * WORKSPACE, "those of the others went with their objects"


def test_a_thread_that_ends_leaves_no_workspace(streams):
    thread = threading.Thread(target=lambda: streams.mark(streams.ptds))
    thread.start()
    thread.join()
    gc.collect()
    assert streams.record.live == 0


@each("which", ["ptds", "own"])
def test_launches_of_a_stream_in_a_graph_share_a_workspace(streams, which):
    stream = streams.new() if which == "own" else streams.ptds
    beside, capturing = streams.new(), streams.record.capturing
    eager, other = streams.mark(stream), streams.mark(beside)
    stream.begin_capture(0)  # in the strictest mode
    (first,) = {streams.mark(stream) for _ in range(3)}
    assert first not in {eager, other}
    assert streams.mark(beside) == other
    capturing[beside.ptr] = capturing[stream.ptr]
    assert streams.mark(beside) not in {eager, other, first}, "a branch of the same graph"
    assert streams.record.mode == 0, "the mode is given back"
    graphs = [beside.end_capture(), stream.end_capture()]
    stream.begin_capture(0)
    assert streams.mark(stream) not in {eager, other, first}, "another graph"
    graphs.append(stream.end_capture())
    assert [streams.mark(stream) for _ in range(3)] == [eager] * 3


def test_a_stream_that_was_captured_first_starts_anew(streams):
    stream = streams.new()
    stream.begin_capture()
    assert streams.mark(stream) == 1
    stream.end_capture()
    assert [streams.mark(stream), streams.mark(stream)] == [2, 2]


def make(shape=SHAPE):
    """Return an array on the second device, and where it is not zero."""
    x = random_elements(np.random.default_rng(1), shape, "int32", 0.4)
    return on_device(x, 1), expected_coordinates(x)


def costs(record, call):
    """Return a call's result, its launches, bytes it allocated, and how often it waited."""
    record.clear()
    result = call()
    assert {launch[0] for launch in record.launches} <= {1}, "on the device of the arrays"
    return result, len(record.launches), record.allocations[:], len(record.synchronisations)


def test_argwhere_counts_first_where_memory_matters(record, monkeypatch):
    monkeypatch.setattr(nonzero_plan, "UNCOUNTED_BYTES", 1000)
    x, rows = make()
    ck.argwhere(x)
    found, *cost = costs(record, lambda: ck.argwhere(x))
    assert cost == [2, [0, rows.nbytes, COUNTED], 0]
    assert len(record.waits) == 1
    assert same_bytes(found, rows)


def test_captured_calls_share_nothing_with_others(record):
    x, rows = make()
    assert x.nbytes + x.size * x.ndim * 4 > nonzero_plan.ONE_BLOCK_BYTES, "several tiles"
    out = [on_device(np.empty(shape, np.uint32), 1) for shape in ((1,), (x.size, x.ndim))]

    def call():
        return ck.nonzero_coordinates(x, out=tuple(out))

    with record.cupy.cuda.Device(1), record.cupy.cuda.Stream() as stream:
        call()
        stream.begin_capture(0)
        assert costs(record, call)[1:] == (1, [WORKSPACE], 0)
        ((beside, launches),) = record.waits  # until the workspace is zero
        assert (beside != stream.ptr, launches) == (True, 0)
        assert costs(record, call)[1:] == (1, [], 0)
        assert not record.waits
        graph = stream.end_capture()
        assert costs(record, call)[1:] == (1, [], 0)
        for array in out:
            array.fill(7)
        graph.launch(stream)
    assert out[0].tolist() == [len(rows)]
    assert same_bytes(out[1][: len(rows)], rows.astype(np.uint32))


@each("observed", [False, True])
def test_a_launch_that_failed_leaves_no_workspace(tmp_path, monkeypatch, observed):
    text = 'extern "C" __global__ void CK_ENTRY(unsigned long long* w) { w[0] = 7; __trap(); }\n'
    (tmp_path / "fails.cu").write_text(text, encoding="utf-8")
    monkeypatch.setattr(kernel_text, "kernel_folder", lambda: tmp_path)
    engine = SimulatorEngine()
    launch = Launch(
        KernelSpec("fails", "plain", "ck_fails", (), 1), (1, 1, 1), 0, 1, Arguments(b"", ())
    )
    words = Tensor("workspace", Layout((8,), (8,), 8), read=True, written=True)
    run = engine.prepare(launch, -1, (words,))
    address = engine.workspace(64)
    kept = engine._workspaces.by_size[64]  # noqa: SLF001  so that its memory is not taken again
    assert engine.workspace(64) == address
    with (
        pytest.raises(ck.SimulatorError, match="trap"),
        ck.simulator.checked() if observed else nullcontext(),
    ):
        run(address)
    assert kept[0] == 7
    assert engine.workspace(64) != address
