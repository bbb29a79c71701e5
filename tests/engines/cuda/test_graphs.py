"""Calls that are captured into CUDA graphs: what they keep, for how long, and what cannot be."""

from __future__ import annotations

import ctypes
import inspect
import re

import numpy as np
import pytest

import cudakern as ck
from cudakern import engines
from cudakern.engines.cuda import graphs
from tests.gpu import checks
from tests.helpers import fake_cupy
from tests.helpers.places import CUDA, put, wait_for_gpu

STREAM = 77
X = np.arange(24, dtype=np.float32).reshape(4, 6)
NARROW = np.array([3, 0, 1], np.int8)


@pytest.fixture
def cupy(cupy):
    """Return the stand-in; its current stream is one that can be captured."""
    cupy.state.stream = cupy.state.stream_of(STREAM)
    return cupy


def capture(cupy, call):
    """Return what a call gives that is captured into a new graph, and the graph's destructor."""
    state = cupy.state
    state.captures += 1
    state.capturing.add(STREAM)
    state.capture_mode = fake_cupy.RELAXED  # as CuPy's begin_capture: outputs may be allocated
    try:
        result = call()
    finally:
        state.capturing.clear()
        state.capture_mode = 0
    return result, state.destructors.get(fake_cupy.GRAPH + state.captures)


def destroy(destructor):
    """Do what CUDA does when nothing is left of a graph."""
    function, argument = destructor
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function)(argument)


def captured_gathers(cupy, count):
    """Return the destructors of graphs of a call that makes a copy of its indices."""
    x, i = fake_cupy.Array(X), fake_cupy.Array(NARROW)
    return [capture(cupy, lambda: ck.gather(x, i))[1] for _ in range(count)]


def kept():
    return len(engines.engine_for(0)._graphs)  # noqa: SLF001


def test_memory_lives_as_long_as_its_graph(cupy):
    first, second = captured_gathers(cupy, 2)
    assert kept() == 2
    live = cupy.state.live
    destroy(first)
    (third,) = captured_gathers(cupy, 1)
    assert (kept(), cupy.state.live) == (2, live), "the first one's memory went, the third's came"
    destroy(second)
    destroy(third)
    captured_gathers(cupy, 1)
    assert kept() == 1


def test_a_call_that_keeps_nothing_asks_for_no_destructor(cupy):
    x, i = fake_cupy.Array(X), fake_cupy.Array(NARROW.astype(np.int32))
    ck.gather(x, i)  # loads the kernel
    assert capture(cupy, lambda: ck.gather(x, i))[1] is None
    assert kept() == 0


LARGE = np.arange(60_000, dtype=np.float32) % 3
FLOAT32, INT32 = ck.DataType.FLOAT32, ck.DataType.INT32
GATHER = ck.GatherOperatorDesc(
    *(ck.TensorDesc(kind, size) for kind, size in ((FLOAT32, (4, 6)), (INT32, (1, 3)))),
    ck.TensorDesc(FLOAT32, (3, 6)),
    axis=0,
    index_dimensions=1,
)
#: Calls that never wait, with what they write to.
CAPTURABLE = {
    "gather": (lambda out: ck.gather(on(X), on(NARROW), out=out), X[:3]),
    "gather_nd": (lambda out: ck.gather_nd(on(X), on(NARROW[:, None]), out=out), X[:3]),
    "one_hot": (lambda out: ck.one_hot(on(NARROW), 6, dtype="float32", out=out), X[:3]),
    "reduce": (lambda out: ck.reduce(on(LARGE), "sum", out=out), np.float32(0)),
    "nonzero_coordinates": (
        lambda out: ck.nonzero_coordinates(on(LARGE), out=(on(np.zeros(1, np.uint32)), out)),
        np.zeros((60_000, 1), np.uint32),
    ),
    "compiled": (
        lambda out: ck.compile_operator(GATHER, ck.FeatureLevel.EXTENDED)(
            on(X), on(NARROW.astype(np.int32)[None]), out=out
        ),
        X[:3],
    ),
}


def on(values):
    """Return an array on the GPU of the stand-in."""
    return fake_cupy.Array(np.array(values))


@pytest.mark.parametrize("loaded", [True, False], ids=["loaded", "first call"])
@pytest.mark.parametrize("name", CAPTURABLE)
def test_calls_are_captured_in_the_strictest_mode(cupy, name, loaded):
    """Nothing is allocated or loaded but in relaxed mode, nothing waits, nothing is filled."""
    call, out = CAPTURABLE[name]
    if loaded:
        call(on(out))
    state = cupy.state
    state.clear()
    state.captures += 1
    state.capturing.add(STREAM)
    result = on(out)
    call(result)
    state.capturing.clear()
    assert state.capture_mode == 0, "the mode is given back"
    assert (len(state.launches), state.synchronisations) == (1, [])
    assert [stream for _, stream in state.order] == [STREAM]
    eager = on(out)
    call(eager)
    assert np.array_equal(result.values, eager.values)


def test_a_graph_may_outlive_the_engine(cupy):
    (destructor,) = captured_gathers(cupy, 1)
    engines.engine_for(0)._graphs = graphs.GraphMemory()  # noqa: SLF001
    others = [ctypes.create_string_buffer(64) for _ in range(1000)]
    destroy(destructor)
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


def assert_refused(name, error):
    """Check the message of a call that waits for the GPU, or copies to it."""
    assert str(error) == f"{REFUSED[name][1]} while a CUDA graph is captured"


@pytest.mark.parametrize("name", REFUSED)
def test_calls_that_wait_or_copy_are_refused_under_capture(cupy, name):
    call = REFUSED[name][0]
    x, i = fake_cupy.Array(X), fake_cupy.Array(NARROW.astype(np.int32))
    with pytest.raises(ck.ArgumentError) as caught:
        capture(cupy, lambda: call(x, i))
    assert_refused(name, caught.value)
    state = cupy.state
    assert [state.launches, state.synchronisations, state.allocations, state.copies] == [[]] * 4
    call(x, i)  # works on the same stream afterwards


def test_drivers_functions_are_called_as_they_are():
    """The stand-in leaves them out: the bindings take these arguments, as far as can be told."""
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


@pytest.mark.gpu
@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("mode", checks.MODES)
def test_calls_that_are_refused_leave_a_capture_valid(name, mode):
    call = REFUSED[name][0]
    x, i = put(X, CUDA), put(NARROW.astype(np.int32), CUDA)
    out = put(np.empty((3, 6), np.float32), CUDA)
    ck.gather(x, i, out=out)

    def captured():
        with pytest.raises(ck.ArgumentError) as caught:
            call(x, i)
        assert_refused(name, caught.value)
        ck.gather(x, i, out=out)

    replay = checks.captured(mode, captured)
    assert_writes(replay, out)


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
