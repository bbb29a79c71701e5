"""Streams: the current one of CuPy runs what is called, in order with those of other libraries.

On stand-ins for CuPy and PyTorch; what only a GPU can show is marked for one.
"""

from __future__ import annotations

import gc
import sys
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

import cudakern as ck
from cudakern import engines
from cudakern.engines.cuda import loans
from tests.helpers.foreign_arrays import CUDA as CUDA_DEVICE
from tests.helpers.places import CUDA, put
from tests.helpers.recorded_cupy import on_device
from tests.helpers.rows import each

X = np.arange(24, dtype=np.float32).reshape(4, 6)
INDICES = np.array([3, -1, 0], np.int32)


class Tensor:
    """A tensor of PyTorch on a GPU; its library orders streams if it is asked to."""

    def __init__(self, values, device=0):
        self.values, self.device = values, device
        self.asked = []

    def __dlpack_device__(self):
        return CUDA_DEVICE, self.device

    def __dlpack__(self, *, stream=None, max_version=None, copy=None):
        self.asked.append((stream, max_version, copy))
        return self.values

    @property
    def __cuda_array_interface__(self):
        return {**self.values.__array_interface__, "version": 2}


class Opaque(Tensor):
    """An array of a library whose stream is unknown."""


class Bound:
    """An array of Numba: its CUDA array interface names a stream."""

    def __init__(self, values):
        self.values, self.stream = values, sys.modules["torch"].theirs.cuda_stream

    @property
    def __cuda_array_interface__(self):
        return {**self.values.__array_interface__, "version": 3, "stream": self.stream}


class Streams:
    """The current stream of CuPy, and that of PyTorch, for which a stand-in is there, too."""

    def __init__(self, record):
        self.record, stream = record, record.cupy.cuda.Stream
        self.ours, self.theirs = stream(non_blocking=True), stream(non_blocking=True)
        current = SimpleNamespace(cuda_stream=self.theirs.ptr)
        cuda = SimpleNamespace(current_stream=lambda _device: current)
        self.torch = SimpleNamespace(Tensor=Tensor, cuda=cuda, theirs=current)

    def steps(self):
        """Return what was done since, on which stream; events are numbered from 1."""
        names, numbers = {self.theirs.ptr: "theirs", self.record.stream: "ours"}, {}
        steps = [
            (what, names[stream], *(numbers.setdefault(k, len(numbers) + 1) for k in event))
            for what, stream, *event in self.record.order
        ]
        self.record.order.clear()
        return steps


@pytest.fixture
def streams(record, monkeypatch):
    """Return streams, with a kernel loaded; one of CuPy's own is the current one."""
    streams = Streams(record)
    monkeypatch.setitem(sys.modules, "torch", streams.torch)
    ck.gather(on_device(X), on_device(INDICES))
    record.clear()
    with streams.ours:
        yield streams


#: A call on our stream with arrays of a library that is on theirs; and one that launches nothing.
IN_ORDER = [
    ("record", "theirs", 1),
    ("wait", "ours", 1),
    ("launch", "ours"),
    ("record", "ours", 2),
    ("wait", "theirs", 2),
]
WITHOUT_LAUNCH = [step for step in IN_ORDER if step[0] != "launch"]
MAKERS = [Tensor, Bound]


@each("make", MAKERS)
def test_a_call_stands_in_the_stream_of_its_operand_too(streams, make):
    result = ck.gather(make(X.copy()), on_device(INDICES))
    assert streams.steps() == IN_ORDER
    assert not streams.record.synchronisations, "the host waits for nothing"
    assert np.array_equal(result.get(), X[INDICES])
    streams.record.clear()
    out = make(np.full((3, 6), -1, np.float32))
    assert ck.gather(on_device(X), on_device(INDICES), out=out) is out
    assert np.array_equal(out.values, X[INDICES]), "written in place"
    assert streams.steps() == IN_ORDER


def test_compiled_operators_keep_the_order(streams):
    tensors = [
        ck.TensorDesc(ck.DataType.FLOAT32, (4, 6)),
        ck.TensorDesc(ck.DataType.INT32, (1, 3)),
        ck.TensorDesc(ck.DataType.FLOAT32, (3, 6)),
    ]
    op = ck.compile_operator(ck.GatherOperatorDesc(*tensors, 0, 1), ck.FeatureLevel.EXTENDED)
    out = Tensor(np.full((3, 6), -1, np.float32))
    assert op(on_device(X), on_device(INDICES[None]), out=out) is out
    assert np.array_equal(out.values, X[INDICES])
    assert streams.steps() == IN_ORDER


@each(("ours", "theirs"), [("own", "own"), ("null", 0), ("null", 1), ("ptds", 2)])
def test_one_stream_takes_no_event(streams, ours, theirs):
    own = streams.ours
    streams.torch.theirs.cuda_stream = own.ptr if theirs == "own" else theirs
    x = Tensor(X)
    with own if ours == "own" else getattr(type(own), ours):
        ck.gather(x, on_device(INDICES))
        assert streams.steps() == [("launch", "ours")]
    assert [stream for stream, *_ in x.asked] == [-1], "PyTorch refuses per-thread streams"


@each("ours", ["null", "ptds"])
def test_default_streams_wait_like_others(streams, ours):
    with getattr(type(streams.ours), ours):
        ck.gather(Tensor(X), on_device(INDICES))
        assert streams.steps() == IN_ORDER


def test_a_tensor_on_another_device_is_in_order_there(streams):
    cuda = streams.record.cupy.cuda
    with cuda.Device(1), cuda.Stream() as ours, cuda.Device(0):
        ck.gather(Tensor(X, 1), on_device(INDICES, 1))
    theirs, ours = streams.theirs.ptr, ours.ptr
    assert [step[1] for step in streams.record.order] == [theirs, ours, ours, ours, theirs]


def test_a_library_of_an_unknown_stream_is_asked_and_its_arrays_kept(streams):
    def call():
        """Gather from an array that nobody else holds; return whether it is there."""
        x = Opaque(X.copy())
        memory = weakref.ref(x.values)
        ck.gather(x, on_device(INDICES))
        asked.extend(x.asked)
        return memory

    streams.torch.Tensor = SimpleNamespace  # so that this is none
    streams.record.unfinished, asked = True, []
    first = call()
    assert asked == [(streams.ours.ptr, (1, 0), None)]
    assert streams.steps() == [("launch", "ours"), ("record", "ours", 1)]
    second = call()
    held = first() is not None, second() is not None
    assert held == (True, True), "the launches may still run"
    streams.ours.begin_capture(0)
    with pytest.raises(ck.BindingError, match="while a CUDA graph is captured"):
        call()  # asks for what has run, which a strict mode forbids
    streams.ours.end_capture()
    streams.record.unfinished = False
    third = call()
    gc.collect()
    assert first() is second() is None
    assert third() is not None


def test_views_keep_a_loan(streams):
    x = Tensor(np.arange(24, dtype=np.float32).reshape(4, 6).T[::-1])
    view = loans.borrow("f", "x", x).T[1:]
    assert np.array_equal(view.get(), x.values.T[1:])
    assert streams.steps() == IN_ORDER[:2]
    del view
    assert streams.steps() == [("record", "ours", 1), ("wait", "theirs", 1)]


def test_a_call_that_fails_ends_its_loans(streams):
    with pytest.raises(ck.ArgumentError, match="axis"):
        ck.gather(Tensor(X), on_device(INDICES), 5)
    gc.collect()
    assert streams.steps() == WITHOUT_LAUNCH


@each("make", MAKERS)
def test_a_captured_call_takes_what_is_on_another_stream_as_it_is(streams, make):
    x, out = make(X.copy()), make(np.zeros((3, 6), np.float32))
    streams.ours.begin_capture()
    ck.gather(x, on_device(INDICES), out=out)
    graph = streams.ours.end_capture()
    assert streams.steps() == [("launch", "ours")], "nothing uncaptured comes into the graph"
    graph.launch(streams.ours)
    assert np.array_equal(out.values, X[INDICES])


def test_what_cannot_be_kept_in_order_is_refused_under_capture(streams):
    def refusal(x):
        with pytest.raises(ck.BindingError) as caught:
            ck.gather(x, on_device(INDICES))
        return str(caught.value)

    streams.theirs.begin_capture()
    assert refusal(Tensor(X)) == (
        "gather: x must be of a library whose current stream is CuPy's while that stream is "
        "captured into a CUDA graph; got another stream; enter cupy.cuda.Stream.from_external of it"
    )
    streams.theirs.end_capture()
    assert streams.steps() == []
    streams.torch.Tensor = SimpleNamespace
    streams.ours.begin_capture()
    assert refusal(Opaque(X)) == (
        "gather: x must be of CuPy or PyTorch while a CUDA graph is captured; got Opaque"
    )
    streams.ours.end_capture()


def spin(torch, stream):
    """Keep a stream of PyTorch busy for some milliseconds."""
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)  # noqa: SLF001  as PyTorch's own tests do


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.mark.gpu
@each("default", ["null", "ptds", "non_blocking"])
def test_a_tensor_of_a_busy_side_stream(torch, default):
    """Operand and output are PyTorch's, on a stream that is still busy before and after."""
    from cupy import cuda  # noqa: PLC0415  optional

    side = torch.cuda.Stream()
    ours = cuda.Stream(non_blocking=True) if default == "non_blocking" else None
    ours = ours or getattr(cuda.Stream, default)
    indices = put(INDICES, CUDA)
    large = torch.zeros((4, 6), device="cuda")
    out = torch.full((3, 6), -1.0, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(side), ours:
        ck.gather(large, indices, out=out)  # the kernel is there
        for turn in range(1, 4):
            spin(torch, side)
            large.fill_(turn)
            ck.gather(large, indices, out=out)
            large.fill_(-turn)  # must not be seen
            gathered = out.clone()  # must see what was gathered
            assert gathered.cpu().unique().tolist() == [turn]


@pytest.mark.gpu
def test_memory_of_a_tensor_that_dies_is_not_taken_too_early(torch):
    from cupy import cuda  # noqa: PLC0415  optional

    side, ours = torch.cuda.Stream(), cuda.Stream(non_blocking=True)
    positions = put(np.zeros(2**24, np.int32), CUDA)
    with torch.cuda.stream(side), ours:
        for turn in range(1, 6):
            x = torch.full((1024,), float(turn), device="cuda")
            found = ck.gather(x, positions)
            del x
            torch.full((1024,), -1.0, device="cuda")  # gets the memory of x
            assert float(found.min().get()) == float(found.max().get()) == turn


@pytest.mark.gpu
def test_results_are_there_for_pytorch(torch):
    from cupy import cuda  # noqa: PLC0415  optional

    ours, side = cuda.Stream(non_blocking=True), torch.cuda.Stream()
    x = put(np.arange(2**24, dtype=np.float32), CUDA)
    positions = put(np.arange(2**24, dtype=np.int32)[::-1].copy(), CUDA)
    cuda.Device().synchronize()
    with torch.cuda.stream(side), ours:
        gathered = torch.from_dlpack(ck.gather(x, positions))
        assert gathered[:3].cpu().tolist() == [2.0**24 - 1, 2.0**24 - 2, 2.0**24 - 3]


@pytest.mark.gpu
def test_captured_by_pytorch(torch):
    """The tutorial's way: PyTorch captures, and CuPy's current stream is PyTorch's."""
    from cupy import cuda  # noqa: PLC0415  optional

    x = torch.arange(24.0, device="cuda").reshape(4, 6)
    indices = torch.tensor([3, -1, 0], device="cuda", dtype=torch.int32)
    out = torch.empty((3, 6), device="cuda")
    ck.gather(x, indices, out=out)
    graph = torch.cuda.CUDAGraph()
    with (
        torch.cuda.graph(graph),
        cuda.Stream.from_external(torch.cuda.current_stream()),
    ):
        ck.gather(x, indices, out=out)
    for turn in range(1, 4):
        x.fill_(turn)
        out.fill_(-1)
        graph.replay()
        assert out.cpu().unique().tolist() == [turn]


@pytest.mark.gpu
def test_objects_of_an_external_stream_share_a_workspace():
    from cupy import cuda  # noqa: PLC0415  optional

    def workspace(stream):
        with cuda.Stream.from_external(stream):
            return engines.engine_for(0).workspace(1024, 0, cuda.get_current_stream())

    streams = [cuda.Stream(non_blocking=True), cuda.Stream(), cuda.Stream.null]
    addresses = [workspace(stream) for stream in streams]
    assert len({*addresses}) == 3
    assert [workspace(stream) for stream in streams] == addresses


@pytest.mark.gpu
def test_a_capture_of_pytorch_beside_is_refused(torch):
    x = torch.arange(24.0, device="cuda").reshape(4, 6)
    indices = torch.tensor([3, -1, 0], device="cuda", dtype=torch.int32)
    out = torch.empty((3, 6), device="cuda")
    ck.gather(x, indices, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        with pytest.raises(ck.BindingError, match="whose current stream is CuPy's"):
            ck.gather(x, indices, out=out)
        x.add_(1)
    graph.replay()


@pytest.mark.gpu
def test_arrays_of_jax_are_kept_until_the_call_has_run():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    from cupy import cuda  # noqa: PLC0415  optional

    positions = put(np.zeros(2**24, np.int32), CUDA)
    with cuda.Stream(non_blocking=True):
        for turn in range(1, 6):
            x = jax.numpy.full((1024,), float(turn))
            found = ck.gather(x, positions)
            del x
            jax.numpy.full((1024,), -1.0).block_until_ready()
            assert float(found.min().get()) == float(found.max().get()) == turn


@pytest.mark.gpu
def test_arrays_of_numba_bound_to_a_stream():
    numba = pytest.importorskip("numba.cuda", reason="Numba is not installed")
    from cupy import cuda  # noqa: PLC0415  optional

    stream = numba.stream()
    out = numba.device_array((3, 6), np.float32, stream=stream)
    with cuda.Stream(non_blocking=True):
        assert ck.gather(put(X, CUDA), put(INDICES, CUDA), out=out) is out
    assert np.array_equal(out.copy_to_host(stream=stream), X[INDICES])
