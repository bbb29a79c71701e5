"""Occupied cells of a grid, in arrays of a fixed capacity; nothing waits for their number."""

from __future__ import annotations

import numpy as np

import cudakern as ck


def voxels(density, features, capacity):
    """Return cells, with -1 for none, their features, and whether there are too many cells."""
    count, cells = ck.nonzero_coordinates(density > 0, size=capacity, dtype="int64")
    used = np.arange(capacity, like=cells) < count
    cells = np.where(used[:, None], cells, -1)
    return cells, ck.gather_nd(features, cells, mode="fill", negative="invalid"), count > capacity


if __name__ == "__main__":
    from cupy_or_numpy import xp  # beside this file

    density = xp.array([[[0, 0.5], [0, 0]], [[0.25, 0], [0, 0.75]]], dtype=xp.float32)
    cells, features, overflows = voxels(density, density[..., None] * 100, 2)
    print("cells:", cells.tolist(), "features:", features.ravel(), "too many:", overflows)
