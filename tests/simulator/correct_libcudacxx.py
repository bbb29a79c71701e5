"""Correct kernels with libcu++: atomics, barriers and pipelines."""

from __future__ import annotations

import numpy as np

from tests.simulator.tables import correct, ints, poison

LIBCUDACXX = (
    correct(
        "atomic_references",
        (2,),
        (64,),
        lambda rng: (
            ints(rng, 128),
            np.zeros(1, np.int32),
            np.zeros(1, np.uint64),
            np.zeros(1, np.float32),
        ),
        lambda x, *_: {
            1: x.sum(keepdims=True, dtype=np.int32),
            2: np.full(1, 2**64 - 1, np.uint64),
            3: np.full(1, 128, np.float32),
        },
    ),
    correct(
        "barrier_in_shared_memory",
        (1,),
        (64,),
        lambda rng: (ints(rng, 64), poison(64, np.int32)),
        lambda x, _: {1: _thrice(x)},
    ),
    correct(
        "pipeline_of_copies",
        (1,),
        (64,),
        lambda rng: (ints(rng, (5, 64)), poison((5, 64), np.int32), np.int32(5)),
        lambda x, *_: {1: x[:, ::-1] + np.arange(5, dtype=np.int32)[:, None]},
    ),
    correct(
        "pipeline_of_one_thread",
        (1,),
        (32,),
        lambda rng: (ints(rng, (32, 4)), poison((32, 4), np.int32)),
        lambda x, _: {1: x[::-1]},
    ),
)


def _thrice(x):
    for _ in range(3):
        x = x[::-1] + 3 * x
    return x
