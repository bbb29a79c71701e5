"""The stand-in makes and refuses what CuPy does, which is imported here without a GPU."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator.cupy_stand_in.modules import OWN
from cudakern.values.dtypes import copyable_dtypes
from tests.helpers.rows import each

#: Functions that make an array of a dtype; ``new`` makes one of a dtype, a shape and strides.
MADE = {
    "empty": lambda xp, _, kind: xp.empty((3, 4), kind),
    "zeros": lambda xp, _, kind: xp.zeros(3, kind),
    "ndarray of new memory": lambda xp, _, kind: xp.ndarray((3, 4), kind),
    "ndarray": lambda xp, new, kind: xp.ndarray((2, 0, 3), kind, new("u1").data),
    "ndarray, scalar": lambda xp, new, kind: xp.ndarray((), kind, new("u1").data),
    "ndarray, strides": lambda xp, new, kind: xp.ndarray((2, 3), kind, new("u1").data, (-16, 0)),
    "as_strided": lambda xp, new, kind: xp.lib.stride_tricks.as_strided(new(kind), (1,), (16,)),
    "view": lambda _, new, kind: new("u1", (3, 16)).view(kind),
    "view, bytes": lambda _, new, kind: new(kind, (3, 4), (64, 32)).view(f"V{kind.itemsize}"),
    "view, words": lambda _, new, kind: new(kind, (1,)).view(f"u{min(kind.itemsize, 8)}"),
    "view, back": lambda _, new, kind: new(f"V{kind.itemsize}", (3, 4), (64, 32)).view(kind),
    "view, scalar": lambda _, new, kind: new("u1", ()).view(kind),
    "view, gaps": lambda _, new, kind: new("u1", (32,), (2,)).view(kind),
    "view, rest": lambda _, new, kind: new("u1", (17,)).view(kind),
    "slice": lambda _, new, kind: new(kind, (3, 4))[1:, ..., ::-2],
    "transposed": lambda _, new, kind: new(kind, (3, 4)).T,
    "astype": lambda _, new, kind: new("f4").astype(kind),
}
#: NumPy does not make such a view of float8_e5m2, so the stand-in does not either.
OF_NUMPY = {("as_strided", kind) for kind in copyable_dtypes() if kind.name == "float8_e5m2"}


def made(xp, call, kind):
    """Return the result of a call or the error that it raises, or None if it asks the driver."""

    def new(dtype, shape=(4,), strides=None):
        memory = np.zeros(2048, np.uint8)  # which no call accesses
        there = xp.cuda.UnownedMemory(memory.ctypes.data, 2048, memory, 0)
        return xp.ndarray(shape, dtype, xp.cuda.MemoryPointer(there, 1024), strides)

    try:
        array = call(xp, new, kind)
    except xp.cuda.runtime.CUDARuntimeError:
        return None
    except (TypeError, ValueError) as error:
        return type(error), str(error)
    return array.dtype, array.shape, array.strides


def test_arrays_are_those_of_cupy():
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    cases = [(name, kind) for name in MADE for kind in copyable_dtypes()]
    theirs = [made(cupy, MADE[name], kind) for name, kind in cases]
    with ck.simulator.in_place_of_cupy() as xp:
        ours = [made(xp, MADE[name], kind) for name, kind in cases]
    compared = [row for row in zip(cases, ours, theirs, strict=True) if row[2] is not None]
    assert len(compared) > len(cases) / 2
    assert [row for row in compared if row[1] != row[2] and row[0] not in OF_NUMPY] == []


def test_constants_are_those_of_cupy():
    runtime = pytest.importorskip("cupy", reason="CuPy is not installed").cuda.runtime
    ours = {k: v for k, v in OWN["cupy.cuda.runtime"].items() if type(v) is int}
    assert ours == {name: getattr(runtime, name) for name in ours}
    assert len(ours) > 20


def misaligned(cp):
    """Return arrays at addresses 8 bytes beyond multiples of 16."""
    return [cp.ndarray(3, "c16", cp.zeros(64, "u1").data + 8) for _ in range(2)]


@each(
    "work",
    [
        lambda x, _: x + 1,
        lambda x, _: x.__iadd__(1),
        lambda x, _: x.astype("c8"),
        lambda x, _: x.fill(1),
        lambda x, _: x[::2].fill(0),
        lambda x, y: x.__setitem__(slice(1, None), y[1:]),
    ],
)
def test_kernels_of_cupy_need_aligned_elements(cp, work):
    error = cp.cuda.runtime.CUDARuntimeError
    with pytest.raises(error, match=r"cudaErrorMisalignedAddress: .* 16 for complex128"):
        work(*misaligned(cp))


def test_what_sets_or_copies_memory_takes_any_alignment(cp):
    x, y = misaligned(cp)
    y.set(np.array([1, 2j, 3]))
    x[...] = y
    assert x.get().tolist() == x.copy().tolist() == [1, 2j, 3]
    x.fill(0)
    assert not x.get().any()


def test_a_fill_with_zero_sets_memory(cp):
    """So, as in CuPy, -0.0 loses its sign if there are no gaps between the elements."""
    x = cp.ones((2, 3))
    x.fill(-0.0)
    assert not np.signbit(x.get()).any()
    x[:, ::2].fill(-0.0)
    assert np.signbit(x.get()).tolist() == [[True, False, True]] * 2
    for scalar in (cp.asarray(5), np.array(5), 5):
        x.fill(scalar)
        assert (x.get() == 5).all()
        x.fill(1)
    with pytest.raises(ValueError, match=r"takes a scalar; got an array of shape \(2,\)"):
        x.fill(cp.ones(2))


def test_events_and_streams_by_their_handles(cp):
    runtime, event = cp.cuda.runtime, cp.cuda.Event()
    stream = cp.cuda.Stream()
    runtime.eventRecord(event.ptr, stream.ptr)
    runtime.streamWaitEvent(stream.ptr, event.ptr)
    assert runtime.streamIsCapturing(stream.ptr) is False
    assert cp.cuda.get_elapsed_time(event, stream.record()) >= 0
    gone = cp.cuda.Event().ptr
    for use in (partial(runtime.eventRecord, gone, 0), partial(runtime.streamWaitEvent, 0, gone)):
        with pytest.raises(runtime.CUDARuntimeError, match="there is no event"):
            use()
    external = cp.cuda.Stream.from_external(stream)
    assert (external.ptr, external.device_id, external == stream) == (stream.ptr, -1, True)
    with external:
        assert cp.cuda.get_current_stream() is external
    for other in (3, SimpleNamespace(__cuda_stream__=lambda: (1, 77))):
        with pytest.raises(TypeError, match="__cuda_stream__"):
            cp.cuda.Stream.from_external(other)


def test_attributes_by_number(cp):
    runtime = cp.cuda.runtime
    assert runtime.deviceGetAttribute(runtime.cudaDevAttrMultiProcessorCount, 0) == 132
    assert runtime.deviceGetAttribute(runtime.cudaDevAttrMaxGridDimY, 0) == 65535
    for arguments, message in (((9999, 0), "no attribute 9999"), ((16, 1), "InvalidDevice")):
        with pytest.raises(runtime.CUDARuntimeError, match=message):
            runtime.deviceGetAttribute(*arguments)
