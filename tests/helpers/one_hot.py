"""What one_hot must compute, shapes and values to draw, and short descriptors."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import strategies as st

from cudakern.operators.one_hot import plan
from perf.engines import planned_with
from tests.helpers.oracle import resolve


def expected(indices, depth, axis, values, negative="from_end"):
    """Return what one_hot returns for an array of two values, slow and obvious."""
    off, on = np.array(values, order="C").reshape(2).view(f"V{values.itemsize}")
    rows = np.full((indices.size, depth), off)
    for row, index in zip(rows, indices.ravel(), strict=True):
        position = resolve(int(index), depth, "fill" if negative == "from_end" else "invalid")
        if position is not None:
            row[position] = on
    result = np.moveaxis(rows.reshape(*indices.shape, depth), -1, axis)
    return np.array(result, order="C").view(values.dtype)


def in_tiles():
    """Have small outputs take tiles, as large ones do."""
    return planned_with(plan, FEW=0)


@st.composite
def one_hot_shapes(draw):
    """Draw (indices shape, depth, axis), among them what each kernel variant is made for."""
    kind = draw(st.sampled_from(["any", "any", "any", "short", "long", "inner", "planes"]))
    if kind == "short":
        depth = draw(st.integers(1, 40))
        return (draw(st.integers(1, 40_000 // depth)),), depth, 1
    if kind == "long":
        depth = draw(st.integers(1, 100_000))
        return (draw(st.integers(1, min(20, 1 + 100_000 // depth))),), depth, 1
    if kind in {"inner", "planes"}:
        sizes = ((1, 5), (2, 70)) if kind == "inner" else ((1, 3), (200, 5000))
        shape = tuple(draw(st.integers(*size)) for size in sizes)
        return shape, draw(st.integers(1, 60_000 // prod(shape))), 1
    rank = draw(st.sampled_from([0, 1, 1, 2, 3, 4, 8]))
    low = st.sampled_from([0] + [1] * 24)
    longest = 2 if rank > 4 else 5
    shape = tuple(draw(st.integers(min(1, draw(low)), longest)) for _ in range(rank))
    depth = draw(st.integers(min(1, draw(low)), 9))
    return shape, depth, draw(st.integers(0, rank))
