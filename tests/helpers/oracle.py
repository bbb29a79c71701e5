"""What each operator must compute, in plain NumPy and Python integers, slow and obvious."""

from __future__ import annotations

import numpy as np

#: What the indices out of range of a lookup that does not raise may mean.
MODES = ["clamp", "wrap", "fill", "invalid"]


def resolve(value: int, extent: int, mode: str) -> int | None:
    """Return the position an index stands for; None where the fill value goes."""
    if mode == "wrap":
        return value % extent
    if value < 0 and mode != "invalid":
        value += extent
    if mode in {"fill", "invalid"}:
        return value if 0 <= value < extent else None
    return min(max(value, 0), extent - 1)


def options(mode: str, fill_value: object) -> dict[str, object]:
    """Return the arguments for a mode; "invalid" is "fill" with negative indices out of range."""
    if mode == "invalid":
        return {"mode": "fill", "fill_value": fill_value, "negative": "invalid"}
    return {"mode": mode, "fill_value": fill_value} if mode == "fill" else {"mode": mode}


def gather(x, indices, axis, mode="clamp", fill_value=0):
    """Return what gather returns."""
    extent = x.shape[axis]
    raw = f"V{x.itemsize}"  # bytes, since NumPy normalises bools
    fill = np.array(fill_value, x.dtype).view(raw)
    positions = [resolve(int(i), extent, mode) for i in indices.ravel()]
    filled = np.array([p is None for p in positions], bool)
    index = np.array([p or 0 for p in positions], np.int64)
    moved = np.moveaxis(np.array(x, order="C").view(raw).reshape(x.shape), axis, 0)
    result = np.empty((len(positions), *moved.shape[1:]), raw)
    for k, position in enumerate(index):
        result[k] = fill if filled[k] else moved[position]
    result = result.reshape(indices.shape + moved.shape[1:])
    order = range(indices.ndim)
    return np.array(np.moveaxis(result, order, [axis + k for k in order]), order="C").view(x.dtype)
