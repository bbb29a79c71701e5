"""How tests read arrays of a GPU: on the stand-in for CuPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cudakern as ck
from cudakern.simulator.arguments import span_of
from tests.helpers.places import HOST, get, same_bytes
from tests.helpers.recorded_cupy import on_device
from tests.helpers.strategies import memory_layouts, random_bytes


@given(data=st.data())
def test_any_layout_comes_back_with_one_copy(data):
    dtype = np.dtype(data.draw(st.sampled_from(["u1", "f2", "i4", "c16"])))
    shape = data.draw(st.lists(st.integers(0, 5), max_size=4).map(tuple))
    layout = data.draw(memory_layouts(shape, dtype.itemsize))
    x = layout.holding(random_bytes(np.random.default_rng(1), shape, dtype), HOST)
    copies, (low, high) = [], span_of(x)
    with ck.simulator.in_place_of_cupy() as cupy, pytest.MonkeyPatch.context() as patch:
        copy = cupy.cuda.runtime.memcpyAsync
        note = lambda *given: copies.append(given[1:3]) or copy(*given)  # noqa: E731
        patch.setattr(cupy.cuda.runtime, "memcpyAsync", note)
        found = get(on_device(x))
    assert same_bytes(found, x)
    assert found.strides == x.strides or not x.size
    assert copies == ([(low, high - low)] if x.size else [])
