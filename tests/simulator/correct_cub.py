"""Correct kernels with CUB's collectives of blocks and warps."""

from __future__ import annotations

import numpy as np

from tests.simulator.tables import correct, ints, poison

CUB = (
    correct(
        "cub_block_reduce",
        (2,),
        (128,),
        lambda rng: (ints(rng, (2, 128), low=0, high=9), poison(2, np.int32)),
        lambda x, _: {1: (x.sum(1) + 1000000 * x[:, :77].sum(1)).astype(np.int32)},
    ),
    correct(
        "cub_block_scan",
        (2,),
        (96,),
        lambda rng: (ints(rng, (2, 192)), poison((2, 192), np.int32), poison(2, np.int32)),
        lambda x, *_: {
            1: (np.cumsum(x, 1) - x).astype(np.int32),
            2: x.sum(1, dtype=np.int32),
        },
    ),
    correct(
        "cub_block_radix_sort",
        (1,),
        (64,),
        lambda rng: (
            rng.standard_normal(256).astype(np.float32).round(1) + np.float32(0),
            poison(256, np.float32),
            poison(256, np.int32),
        ),
        lambda x, *_: {1: np.sort(x), 2: np.argsort(x, kind="stable").astype(np.int32)},
    ),
    correct(
        "cub_warp_reduce",
        (1,),
        (96,),
        lambda rng: (rng.standard_normal(96), poison(3, np.float64)),
        lambda x, _: {1: x.reshape(3, 32).max(1)},
    ),
)
