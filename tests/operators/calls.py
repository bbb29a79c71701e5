"""Calls that hypothesis draws."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.helpers.places import POISON, same_bytes
from tests.helpers.strategies import memory_layouts


def assert_gives(expected, place, draw, call):
    """A call returns these bytes, or writes them and no other into an output of a drawn layout."""
    if not draw(st.booleans(), "give out"):
        assert same_bytes(call(), expected)
        return
    layout = draw(memory_layouts(expected.shape, expected.itemsize, output=True), "out layout")
    buffer, out = layout.poisoned(expected.dtype, place)
    assert call(out=out) is out
    assert same_bytes(out, expected)
    outside = ~layout.touched(expected.itemsize)
    assert (buffer.bytes()[outside] == POISON).all(), "bytes beside out were written"
