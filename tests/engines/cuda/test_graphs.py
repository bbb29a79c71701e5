"""Calls that are captured into CUDA graphs: what they keep, for how long, and what cannot be."""

from __future__ import annotations

import ctypes
import inspect
import re
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest

import cudakern as ck
from cudakern import engines
from cudakern.engines.cuda import graphs
from cudakern.engines.cuda.engine import CudaEngine
from cudakern.engines.cuda.library import import_cupy
from tests.gpu import checks
from tests.helpers.places import CUDA, put, wait_for_gpu
from tests.helpers.recorded_cupy import on_device, recorded
from tests.helpers.rows import each

X = np.arange(24, dtype=np.float32).reshape(4, 6)
NARROW = np.array([3, 0, 1], np.int8)


def captured(call, indices=NARROW):
    """Return what launches a graph of a call, on the second device."""
    x, i = on_device(X, 1), on_device(indices, 1)
    with import_cupy().cuda.Device(1):
        return checks.captured("Relaxed", lambda: call(x, i))


COLUMNS = np.eye(512, 1024, dtype=np.float32)
#: Calls, and the bytes that each makes for itself.
KEPT = {
    "gather": (ck.gather, 4 * NARROW.size),  # indices of int32
    "one_hot": (lambda _, i: ck.one_hot(i, 3), 4 * NARROW.size),
    "nonzero": (lambda x, _: ck.nonzero(x, size=5), 4),  # the count
    "nonzero, two launches": (  # bits, too
        lambda *_: ck.nonzero(on_device(COLUMNS, 1).T, size=5),
        4 + COLUMNS.size // 8 + 16 * 64,  # and counts of 64 tiles
    ),
}


@each("name", KEPT)
def test_memory_lives_as_long_as_its_graph(record, name):
    call, nbytes = KEPT[name]
    first = captured(call)
    live = record.live
    second = captured(call)
    assert record.live == live + nbytes
    del first
    third = captured(call)
    assert record.live == live + nbytes, "the first one's went, the third's came"
    del second, third
    captured(call)
    assert record.live == live


def test_two_launches_find_what_is_there_when_a_graph_runs(record):
    del record  # graphs are its own
    x = COLUMNS.copy()
    with import_cupy().cuda.Device(1):
        count, rows = (on_device(np.zeros(shape, "u4"), 1) for shape in (1, (5000, 2)))
        columns = on_device(x, 1).T
        call = partial(ck.nonzero_coordinates, columns, size=5000, out=(count, rows))
        launch = checks.captured("Relaxed", call)
        for step in (1, 3, 0, 2):
            x[...] = 0
            x.reshape(-1)[:: 999 + step] = step
            launch()
            found = np.argwhere(x.T)
            assert count.get()[0] == len(found)
            assert np.array_equal(rows.get()[: len(found)], found)


def test_a_call_that_keeps_nothing_asks_for_no_destructor(record):
    graph = captured(ck.gather, NARROW.astype(np.int32)).func.__self__
    assert (len(graph.works), graph.after, record.live) == (1, [], 0)


def test_a_call_on_another_device_is_not_in_the_graph(record):
    stream = record.cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        found = ck.gather(on_device(X, 1), on_device(NARROW, 1))
        assert stream.end_capture().works == []
    assert np.array_equal(found.get(), X[NARROW])


def test_a_graph_may_outlive_the_engine(record):
    with engines.use(CudaEngine()):
        graph = captured(ck.gather)
    assert record.live == 0
    others = [ctypes.create_string_buffer(64) for _ in range(1000)]
    del graph
    assert not any(any(other.raw) for other in others)


NUMBERS = "must be an array, as numbers are copied to CUDA device 0,"
REFUSED = {
    "gather": (
        lambda x, i: ck.gather(x, i, mode="raise"),
        "gather: mode must not be 'raise', which waits for the GPU,",
    ),
    "gather_nd": (
        lambda x, i: ck.gather_nd(x, i[:, None], mode="raise"),
        "gather_nd: mode must not be 'raise', which waits for the GPU,",
    ),
    "nonzero": (
        lambda x, _: ck.nonzero(x),
        "nonzero: size must be given, as without it the call waits for the GPU,",
    ),
    "argwhere": (
        lambda x, _: ck.argwhere(x),
        "argwhere: x must be given to nonzero(x, size=...), which does not wait for the GPU,",
    ),
    "numbers for indices": (lambda x, _: ck.gather(x, [2, 0]), f"gather: indices {NUMBERS}"),
    "a number": (lambda x, _: ck.gather(x, 2), f"gather: indices {NUMBERS}"),
    "numbers for x": (lambda _, i: ck.gather([5, 6, 7], i), f"gather: x {NUMBERS}"),
    "a tuple": (lambda x, _: ck.gather_nd(x, (2,)), f"gather_nd: indices {NUMBERS}"),
    "numbers for values": (
        lambda _, i: ck.one_hot(i, 3, values=range(2)),
        f"one_hot: values {NUMBERS}",
    ),
}


def test_drivers_functions_are_called_as_they_are():
    """The bindings, which the stand-in leaves out, have parameters for these arguments."""
    driver = pytest.importorskip("cuda.bindings.driver", reason="cuda-bindings are not installed")
    assert int(driver.CUhostFn(1234)) == 1234
    ours = graphs.NO_DESTRUCTOR_SYNC, graphs.MOVE, graphs.RELAXED
    assert ours == (
        driver.CUuserObject_flags.CU_USER_OBJECT_NO_DESTRUCTOR_SYNC,
        driver.CUuserObjectRetain_flags.CU_GRAPH_USER_OBJECT_MOVE,
        driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED,
    )
    heads = {
        "cuThreadExchangeStreamCaptureMode": "(mode: CUstreamCaptureMode)",
        "cuStreamGetCaptureInfo": "(hStream)",
        "cuStreamGetId": "(hStream)",
        "cuUserObjectCreate": "(ptr, destroy, unsigned int initialRefcount, unsigned int flags)",
        "cuGraphRetainUserObject": "(graph, object, unsigned int count, unsigned int flags)",
    }
    for name, head in heads.items():
        assert inspect.getdoc(getattr(driver, name)).splitlines()[0] == name + head
    text = inspect.getdoc(driver.cuStreamGetCaptureInfo)
    results = re.findall(r"^ *(\w+_out) :", text, re.MULTILINE)
    assert results[:3] == ["captureStatus_out", "id_out", "graph_out"]


def assert_writes(replay, out):
    """A graph gathers into an output; its stream does not wait for others, nor they for it."""
    out.fill(-1)
    wait_for_gpu()
    replay()
    wait_for_gpu()
    assert np.array_equal(out.get(), X[NARROW])


@pytest.fixture(params=["stand-in", pytest.param(CUDA, marks=pytest.mark.gpu)])
def record_if_any(request, tmp_path):
    """Return what is recorded of the stand-in, or None on a GPU."""
    with recorded(tmp_path) if request.param != CUDA else nullcontext() as record:
        yield record


@each("name", REFUSED)
@each("mode", checks.MODES)
def test_calls_that_are_refused_leave_a_capture_valid(record_if_any, name, mode):
    """Those that wait for the GPU, or copy to it."""
    (call, text), record = REFUSED[name], record_if_any
    x, i = put(X, CUDA), put(NARROW.astype(np.int32), CUDA)
    out = put(np.empty((3, 6), np.float32), CUDA)
    ck.gather(x, i, out=out)

    def calls():
        with pytest.raises(ck.ArgumentError) as caught:
            call(x, i)
        assert str(caught.value) == f"{text} while a CUDA graph is captured"
        if record:
            done = record.launches, record.synchronisations, record.allocations, record.copies
            assert done == ([], [], [], [])
        ck.gather(x, i, out=out)

    if record:
        record.clear()
    assert_writes(checks.captured(mode, calls), out)
    call(x, i)


@pytest.mark.gpu
def test_memory_of_graphs_is_given_back():
    import cupy  # noqa: PLC0415  optional

    x, narrow = put(X, CUDA), put(NARROW, CUDA)
    out = put(np.empty((3, 6), np.float32), CUDA)
    ck.gather(x, narrow, out=out)
    engine = engines.engine_for(0)
    for _ in range(20):
        replay = checks.captured("Relaxed", lambda: ck.gather(x, narrow, out=out))
        assert_writes(replay, out)
        del replay
    cupy.cuda.Device().synchronize()
    assert len(engine._graphs) < 20  # noqa: SLF001
