"""Arrays in random chunks, and those that the tests of all operators have in chunks."""

from __future__ import annotations

import dask.array as da
import numpy as np
from hypothesis import strategies as st

#: Of CHUNKS.
X = np.array([[3, -1, 0.5, 2], [0, 7, 1e-45, -4], [1, 7, 2, 0]], np.float32)
I = np.array([2, 0, -1, 9, 1], np.int64)  # noqa: E741  as in the operators' formulas
T = np.array([[0, 3], [2, 1], [-1, 5]], np.int32)
#: Of CLUSTER.
_RNG = np.random.default_rng(6)
CLUSTER_X = _RNG.integers(-9, 9, (40, 30)).astype(np.float32)
CLUSTER_I = _RNG.integers(-50, 50, (7, 5))


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
