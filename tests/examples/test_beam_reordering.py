"""Beam search: each beam goes on with the history of the beam that it extends."""

from __future__ import annotations

import numpy as np

import cudakern as ck
from tests.helpers.checked import PLAIN_UNLESS_THOROUGH
from tests.helpers.places import put, same_bytes


def extend(histories, parents, words):
    """Return (batch, beam, time) histories, in the order of their parents, with one word more."""
    return np.concatenate(
        [ck.gather_nd(histories, parents[..., None], batch_dims=1), words[..., None]], axis=-1
    )


def reorder(caches, parents):
    """Return (layer, batch, beam, ...) caches, all layers in the order of the parents."""
    each_layer = np.broadcast_to(parents, (len(caches), *parents.shape))
    return ck.gather_nd(caches, each_layer[..., None], batch_dims=2)


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
