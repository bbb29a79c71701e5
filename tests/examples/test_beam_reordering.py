"""Beam search: each beam goes on with the history of the beam that it extends."""

from __future__ import annotations

import numpy as np
import pytest

from tests.examples.beam_reordering import extend, reorder
from tests.helpers.checked import PLAIN_UNLESS_THOROUGH
from tests.helpers.places import put, same_bytes

pytestmark = pytest.mark.device


@PLAIN_UNLESS_THOROUGH
def test_beam_reordering(place):
    rng = np.random.default_rng(4)
    histories = rng.integers(0, 1000, (3, 4, 9))
    caches = rng.standard_normal((2, 3, 4, 5, 8)).astype(np.float16)
    parents, words = rng.integers(0, 4, (3, 4)), rng.integers(0, 1000, (3, 4))
    found = extend(*(put(array, place) for array in (histories, parents, words)))
    batch = np.arange(3)[:, None]
    assert same_bytes(found, np.dstack([histories[batch, parents], words]))
    found = reorder(put(caches, place), put(parents, place))
    assert same_bytes(found, caches[:, batch, parents])
