"""Occupied cells of a grid, in arrays of a fixed capacity; nothing waits for their number."""

from __future__ import annotations

import numpy as np
import pytest

from tests.examples.voxel_grid import voxels
from tests.helpers.checked import PLAIN_UNLESS_THOROUGH
from tests.helpers.places import get, put, same_bytes

pytestmark = pytest.mark.device


@PLAIN_UNLESS_THOROUGH
@pytest.mark.parametrize("spare", [-1, 0, 1, 300])
def test_voxel_grid(place, spare):
    rng = np.random.default_rng(2)
    density = rng.standard_normal((8, 9, 10), np.float32) - 1
    features = rng.standard_normal((8, 9, 10, 3), np.float32)
    occupied = np.argwhere(density > 0)
    capacity = len(occupied) + spare
    cells, vectors, overflows = voxels(put(density, place), put(features, place), capacity)
    kept = occupied[:capacity]
    padding = ((0, capacity - len(kept)), (0, 0))
    assert same_bytes(cells, np.pad(kept, padding, constant_values=-1))
    assert same_bytes(vectors, np.pad(features[tuple(kept.T)], padding))
    assert get(overflows).tolist() == [spare < 0]
