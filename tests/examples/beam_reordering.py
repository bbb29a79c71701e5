"""Beam search: each beam continues the history of the beam that it extends."""

from __future__ import annotations

import numpy as np

import cudakern as ck


def extend(histories, parents, words):
    """Return (batch, beam, time) histories in the order of their parents, each with a new word."""
    return np.concatenate(
        [ck.gather_nd(histories, parents[..., None], batch_dims=1), words[..., None]], axis=-1
    )


def reorder(caches, parents):
    """Return (layer, batch, beam, ...) caches with the beams in the order of their parents."""
    each_layer = np.broadcast_to(parents, (len(caches), *parents.shape))
    return ck.gather_nd(caches, each_layer[..., None], batch_dims=2)


if __name__ == "__main__":
    from cupy_or_numpy import xp  # beside this file

    histories = xp.array([[[3, 7], [3, 8], [4, 9]]])
    print("histories of three beams, then parents 1, 1, 0 with the words 5, 6, 5:")
    print(extend(histories, xp.array([[1, 1, 0]]), xp.array([[5, 6, 5]])))
