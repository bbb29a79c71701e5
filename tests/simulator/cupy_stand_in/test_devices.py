"""Several devices: each thread has a current device, on which its arrays are made."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.rows import each


@pytest.fixture
def cp():
    with ck.simulator.in_place_of_cupy(devices=3) as module:
        yield module


def test_the_current_device(cp):
    runtime = cp.cuda.runtime
    assert runtime.getDeviceCount() == 3
    with cp.cuda.Device(1) as entered:
        assert (entered.id, cp.cuda.Device().id, cp.cuda.get_device_id()) == (1, 1, 1)
        with cp.cuda.Device(2):
            assert runtime.getDevice() == 2
            assert cp.cuda.Device(1).use().id == runtime.getDevice() == 1
        assert runtime.getDevice() == 1
        runtime.setDevice(2)
    assert runtime.getDevice() == 0
    assert cp.cuda.Device(1) == cp.cuda.Device(1) != cp.cuda.Device(2)
    assert len({cp.cuda.Device(k % 2) for k in range(4)}) == 2
    assert len({cp.cuda.Device(k).pci_bus_id for k in range(3)}) == 3
    assert runtime.getDeviceProperties(2)["pciBusID"] == 2
    for refused in (cp.cuda.Device, runtime.setDevice, cp.cuda.get_current_stream):
        with pytest.raises(runtime.CUDARuntimeError, match="has 3 devices; got 3"):
            refused(3)


def test_each_thread_has_its_own(cp):
    found = []
    cp.cuda.Device(2).use()
    thread = threading.Thread(target=lambda: found.append(cp.ones(1).device.id))
    thread.start()
    thread.join()
    assert (found, cp.ones(1).device.id) == ([0], 2)


MADE = """
cp.ones(3) | cp.empty((2, 3), order="F") | cp.array([1, 2]) | cp.asarray(np.ones(2)) | cp.asarray(x)
cp.ndarray(4, "u1", cp.cuda.alloc(4)) | cp.random.rand(3) | x + x | cp.add(x, x, out=cp.empty(4))
x.astype(int) | x.sum() | x.copy() | x.flatten() | x[cp.array([2, 0])] | ck.reduce(x, "sum")
cp.ElementwiseKernel("T x", "T y", "y = x", "same")(x) | pickle.loads(pickle.dumps(x))
cp.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")(x)
"""
VIEWS = {
    "a slice": lambda x: x[1:],
    "an element": lambda x: x[0],
    "nothing": lambda x: x[:0],
    "another shape": lambda x: x.reshape(2, 2).T,
    "another type": lambda x: x.view("i8"),
    "a broadcast": lambda x: np.broadcast_to(x, (3, 4)),
}


@each("expression", MADE.strip().replace("\n", " | ").split(" | "))
def test_arrays_are_made_on_the_current_device(cp, expression):
    with cp.cuda.Device(1):
        names = {"cp": cp, "ck": ck, "np": np, "pickle": pickle, "x": cp.arange(4.0)}
        made = eval(expression, names)  # noqa: S307  ours
        assert made.device.id == made.data.device_id == made.data.mem.device_id == 1
    assert made.device == cp.cuda.Device(1)


@each("name", VIEWS)
def test_views_are_where_the_array_is(cp, name):
    x = cp.arange(4.0)
    with cp.cuda.Device(1):
        view = VIEWS[name](x)
        assert view.device.id == x.device.id == 0
        assert view.get().tolist() == VIEWS[name](x.get()).tolist()


WORK = [
    *(lambda x: x + 1, lambda x: x.sum(), lambda x: x.astype(int), lambda x: x[[0, 2]]),
    *(lambda x: x.fill(3), lambda x: np.where(x > 1, x, 0), lambda x: np.stack([x, x])),
    *(lambda x: x.scatter_add(0, 1), lambda x: x.__setitem__(1, 2)),
]


@each("work", WORK)
def test_work_on_another_device_is_refused(cp, work):
    """A device does not reach the memory of another one."""
    with cp.cuda.Device(2):
        x = cp.arange(4.0)
        work(x)
    with pytest.raises(ValueError, match=r"an array on device 2 .* current device, 0: peer access"):
        work(x)


def test_kernels_and_sources_on_another_device_are_refused(cp):
    with cp.cuda.Device(1):
        x, index = cp.arange(4.0), cp.array([1])
    y = cp.zeros(4)
    same = cp.ElementwiseKernel("T x", "T y", "y = x", "same")
    for work in (lambda: same(x), lambda: same(y, x), lambda: y[index], lambda: y + x):
        with pytest.raises(ValueError, match="peer access is unavailable"):
            work()
    with pytest.raises(ValueError, match="peer access is unavailable"):
        y[...] = x


def test_raw_kernels_on_another_device(cp):
    f = cp.RawKernel('extern "C" __global__ void f(int* x) { *x = 7; }', "f")
    x, refused = cp.zeros(1, "i4"), cp.cuda.runtime.CUDARuntimeError
    with cp.cuda.Device(1):
        y = cp.zeros(1, "i4")
        f((1,), (1,), (y,))
        for argument in (x, x.data):
            with pytest.raises(refused, match=r"IllegalAddress: .* device 0; .* device, 1"):
                f((1,), (1,), (argument,))
    assert (int(x[0]), int(y[0])) == (0, 7)


def test_copies_between_devices(cp):
    with cp.cuda.Device(1):
        x = cp.arange(4.0)
    copies = x.copy(), cp.asarray(x), cp.array(x, dtype=int), cp.array(x, copy=False)
    assert [copy.device.id for copy in copies] == [0] * 4
    assert x.get().tolist() == x.tolist() == copies[1].tolist()
    x.set(np.full(4, 7.0))
    assert (float(x[2]), int(copies[1][2])) == (7, 2)
    y = cp.empty(4)
    y.data.copy_from_device(x.data, x.nbytes)
    assert y.tolist() == [7] * 4


def test_streams_belong_to_devices(cp):
    null, current = cp.cuda.Stream.null, cp.cuda.get_current_stream
    with cp.cuda.Device(1):
        stream = cp.cuda.Stream()
        with stream:
            assert current() is current(1) is stream
            assert current(0) == null
            with cp.cuda.Device(0):
                assert current() == null
        assert stream.use() is current()
    assert (stream.device_id, null.device_id, current(), current(1)) == (1, -1, null, stream)
    for enter in (stream.use, stream.__enter__):
        with pytest.raises(RuntimeError, match=r"of device 1 .* the current device is 0"):
            enter()
    for device in range(3):
        with cp.cuda.Device(device), cp.cuda.Stream(null=True) as anywhere:
            assert current() is anywhere


def test_what_is_memoized_for_each_device(cp):
    calls = []
    of_each = cp.memoize(for_each_device=True)(calls.append)
    of_all = cp.memoize()(calls.append)
    for device in (0, 1, 0):
        with cp.cuda.Device(device):
            of_each("each")
            of_all("all")
    assert calls == ["each", "all", "each"]


def test_blocks_in_blocks():
    """The largest number of devices of all open blocks counts; each block starts on device 0."""
    for devices in (2, 1):
        with ck.simulator.in_place_of_cupy(devices=devices) as cp:
            count = cp.cuda.runtime.getDeviceCount
            assert (count(), cp.ones(1).device.id) == (devices, 0)
            with ck.simulator.in_place_of_cupy(devices=3):
                assert count() == 3
            assert count() == devices
            cp.cuda.Device(devices - 1).use()


@each("devices, error", [(0, ck.ArgumentError), (True, ck.DTypeError)])
def test_numbers_of_devices_that_are_refused(devices, error):
    with (
        pytest.raises(error, match=r"in_place_of_cupy: devices must be .*; got"),
        ck.simulator.in_place_of_cupy(devices=devices),
    ):
        pass
