"""Arrays in random chunks."""

from __future__ import annotations

import dask.array as da
from hypothesis import strategies as st


@st.composite
def cuts(draw, size):
    """Draw the chunks of an axis, some of them empty."""
    if draw(st.integers(0, 3)) == 0:
        return (size,)
    ends = sorted(draw(st.lists(st.integers(0, size), max_size=min(size, 3) + 1)))
    return tuple(b - a for a, b in zip([0, *ends], [*ends, size], strict=True))


@st.composite
def chunked(draw, array):
    """Draw a dask array that holds a NumPy array."""
    return da.from_array(array, chunks=tuple(draw(cuts(size)) for size in array.shape))
