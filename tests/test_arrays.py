"""Fills and words of arrays, which operators use for what is no kernel of theirs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from cudakern import _arrays as arrays
from cudakern._layout import Layout
from perf.static.host_cost import cupy_stand_in
from tests.helpers.alignment import WHERE, Memory, layout, repeated, written
from tests.helpers.places import HOST
from tests.helpers.rows import each
from tests.helpers.strategies import DTYPES


@each(
    ("dtype", "value", "where", "fills"),
    [
        ("float32", -0.0, "packed", [24]),
        ("float32", -0.0, "odd", [6] * 4),
        ("float32", 0, "odd", [24]),
        ("complex128", complex(-0.0, -0.0), "half", [96]),
        ("complex128", 1, "packed", [48] * 2),
    ],
)
def test_a_fill_is_one_launch_unless_words_differ(dtype, value, where, fills):
    there, element = layout(where, (2, 3), dtype), np.array(value, dtype)
    with recorded() as record:
        buffer, out = Memory(HOST, stand_in=True).poisoned(there, dtype)
        arrays.fill_elements(out, element.tobytes())
    assert np.array_equal(buffer.bytes(), written(there, repeated((2, 3), element)))
    assert record.memsets == fills
    assert (record.allocations, record.synchronisations) == ([], [])


def test_words_of_cupy_arrays_are_numpys():
    pytest.importorskip("cupy", reason="CuPy is not installed")
    shapes = (), (3,), (2, 1, 3, 1, 2, 1, 2, 3)
    for dtype, shape, where, width in product(DTYPES, shapes, WHERE, (1, 2, 4, 8)):
        _, array = layout(where, shape, dtype).poisoned(dtype, HOST)
        if width > array.itemsize:
            continue
        host, device = (arrays._words(a, width) for a in (array, cupy_stand_in(array)))  # noqa: SLF001
        for a, b in ((host, device), (host[..., -1], device[..., -1])):
            assert arrays.describe([a])[1][0][:4] == arrays.describe([b])[1][0][:4]
            assert arrays.address_of(a) == arrays.address_of(b)
        assert host.tobytes() == array.tobytes()


def test_overlap_that_takes_long_to_decide_counts():
    """NumPy's documentation has this example; no byte is in both."""
    a = Layout((1049,) * 3, (36674, 61119, 85569), 1)
    b = Layout((1049, 1049, 1), (12223, 12224, 1), 1)
    assert arrays.share_memory(a, 2**40, b, 2**40 + 64_023_025)
