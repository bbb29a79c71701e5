"""Correct kernels with cooperative groups."""

from __future__ import annotations

import numpy as np

from tests.simulator.tables import correct, ints, poison

GROUPS = (
    correct(
        "group_of_the_block",
        (2,),
        (32, 3),
        lambda rng: (ints(rng, (2, 96)), poison((2, 96), np.int32)),
        lambda x, _: {1: x[:, ::-1] + np.arange(96, dtype=np.int32) // 32},
    ),
    correct(
        "tiles_of_eight",
        (1,),
        (64,),
        lambda rng: (ints(rng, 64), poison(64, np.int32)),
        lambda x, _: {1: _tile_sums(x.reshape(8, 8))},
    ),
    correct(
        "threads_that_came_together",
        (1,),
        (32,),
        lambda rng: (ints(rng, 32), np.zeros(32, np.int32), np.zeros(1, np.int32)),
        lambda x, *_: {
            1: np.concatenate([x[x > 0], np.zeros((x <= 0).sum(), np.int32)]),
            2: np.array([(x > 0).sum()], np.int32),
        },
    ),
    correct(
        "reduction_and_scan_of_a_tile",
        (1,),
        (64,),
        lambda rng: (ints(rng, 64), poison(64, np.int32)),
        lambda x, _: {1: _largest_and_before(x.reshape(2, 32))},
    ),
    correct(
        "groups_by_label",
        (1,),
        (64,),
        lambda rng: (ints(rng, 64), poison(64, np.int32)),
        lambda x, _: {
            1: np.concatenate(
                [
                    [row[(row & 3) == (v & 3)].sum(dtype=np.int32) for v in row]
                    for row in x.reshape(2, 32)
                ]
            )
        },
    ),
    correct(
        "group_of_the_grid",
        (4,),
        (32,),
        lambda rng: (ints(rng, 128), poison(128, np.int32), poison(128, np.int32)),
        lambda x, *_: {1: 2 * x + 1, 2: 2 * x[::-1]},
        cooperative=True,
    ),
)


def _tile_sums(x):
    sums = x.sum(1, keepdims=True) * 100 + (x > 0).sum(1, keepdims=True) * 10
    return np.broadcast_to(sums + np.arange(8)[:, None], (8, 8)).ravel().astype(np.int32)


def _largest_and_before(x):
    before = np.cumsum(x, 1) - x
    return (x.max(1, keepdims=True) * 10000 + before).ravel().astype(np.int32)
