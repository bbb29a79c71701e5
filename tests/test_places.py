"""How tests read arrays of a GPU: on a stand-in for CuPy that copies bytes and nothing else."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.places import HOST, get, same_bytes
from tests.helpers.strategies import memory_layouts, random_bytes

STREAM = 77


class Gpu:
    """Copies from one piece of memory; what was asked of it is recorded."""

    def __init__(self):
        self.asked = []
        runtime = SimpleNamespace(memcpyAsync=self.copy, memcpyDeviceToHost=2)
        stream = SimpleNamespace(ptr=STREAM, synchronize=lambda: self.asked.append("wait"))
        self.cuda = SimpleNamespace(runtime=runtime, get_current_stream=lambda: stream)

    def array(self, x, offset, nbytes):
        """Return x, which begins so far into a run of bytes, as an array of this GPU."""
        self.low = x.__array_interface__["data"][0] - offset
        self.high = self.low + nbytes
        data = SimpleNamespace(ptr=self.low + offset)
        return SimpleNamespace(data=data, shape=x.shape, strides=x.strides, dtype=x.dtype)

    def copy(self, target, source, nbytes, kind, stream):
        assert self.low <= source <= source + nbytes <= self.high
        assert (kind, stream) == (2, STREAM)
        self.asked.append(nbytes)
        ctypes.memmove(target, source, nbytes)


@pytest.fixture
def gpu(monkeypatch):
    stand_in = Gpu()
    monkeypatch.setitem(sys.modules, "cupy", stand_in)
    return stand_in


@given(data=st.data())
def test_any_layout_comes_back_with_one_copy(gpu, data):
    dtype = np.dtype(data.draw(st.sampled_from(["u1", "f2", "i4", "c16"])))
    shape = data.draw(st.lists(st.integers(0, 5), max_size=4).map(tuple))
    layout = data.draw(memory_layouts(shape, dtype.itemsize))
    values = random_bytes(np.random.default_rng(1), shape, dtype)
    x = layout.holding(values, HOST)
    gpu.asked.clear()
    copy = get(gpu.array(x, layout.offset, layout.nbytes))
    assert same_bytes(copy, x)
    assert copy.strides == x.strides
    assert gpu.asked[1:] == ["wait"] if x.size else not gpu.asked
