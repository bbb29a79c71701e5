"""Correct kernels about who goes first: atomics, locks, flags, warps."""

from __future__ import annotations

import numpy as np

from tests.simulator.tables import correct, ints, poison

ATOMICS = (
    correct(
        "histogram_global",
        (3,),
        (64,),
        lambda rng: (ints(rng, 500, low=0, high=10), np.int32(500), np.zeros(10, np.uint32)),
        lambda x, *_: {2: np.bincount(x, minlength=10).astype(np.uint32)},
    ),
    correct(
        "histogram_shared",
        (3,),
        (96,),
        lambda rng: (ints(rng, 999, np.uint8, 0, 256), np.int32(999), np.zeros(256, np.int32)),
        lambda x, *_: {2: np.bincount(x, minlength=256).astype(np.int32)},
    ),
    correct(
        "atomic_minimum_and_maximum",
        (2,),
        (64,),
        lambda rng: (
            ints(rng, 120),
            np.int32(120),
            np.full(1, 2**31 - 1, np.int32),
            np.full(1, -(2**31), np.int32),
        ),
        lambda x, *_: {2: x.min(keepdims=True), 3: x.max(keepdims=True)},
    ),
    correct(
        "float_maximum_by_cas",
        (2,),
        (64,),
        lambda rng: (rng.standard_normal(128).astype(np.float32), np.full(1, -np.inf, np.float32)),
        lambda x, _: {1: x.max(keepdims=True)},
    ),
    correct(
        "hash_table_of_counts",
        (1,),
        (96,),
        lambda rng: (
            ints(rng, 96, low=0, high=50),
            np.full(128, -1, np.int32),
            np.zeros(128, np.int32),
            poison(96, np.int32),
        ),
        lambda x, *_: {3: np.bincount(x)[x].astype(np.int32)},
    ),
    correct(
        "list_by_exchange",
        (1,),
        (64,),
        lambda rng: (ints(rng, 64), poison(64, np.int32), poison(2, np.int32)),
        lambda x, *_: {2: np.array([x.sum(), 64], np.int32)},
    ),
    correct(
        "spin_lock",
        (4,),
        (64,),
        lambda rng: (ints(rng, 256), np.zeros(1, np.int32), np.zeros(2, np.int32)),
        lambda x, *_: {1: np.zeros(1, np.int32), 2: np.array([x[::16].sum(), 16], np.int32)},
    ),
)


BETWEEN_BLOCKS = (
    correct(
        "ring_of_flags",
        (2,),
        (32,),
        lambda rng: (ints(rng, 32), np.zeros(1, np.uint32), np.int32(3)),
        lambda x, *_: {0: x * 729 + 91, 1: np.array([6], np.uint32)},
    ),
    correct(
        "barrier_of_the_grid",
        (2,),
        (64,),
        lambda rng: (
            ints(rng, 128),
            poison(128, np.int32),
            poison(128, np.int32),
            np.zeros(1, np.uint32),
        ),
        lambda x, *_: {2: 2 * x[::-1]},
    ),
    correct(
        "message_by_volatile_flag",
        (2,),
        (64,),
        lambda rng: (
            ints(rng, 64),
            poison(64, np.int32),
            np.zeros(1, np.int32),
            poison(64, np.int32),
        ),
        lambda x, *_: {3: x[::-1] + 1},
        strict=False,
    ),
    correct(
        "ticket_lock",
        (9,),
        (32,),
        lambda rng: (ints(rng, 9, low=0), np.zeros(2, np.uint32), np.zeros(2, np.int32)),
        lambda x, *_: {
            1: np.full(2, 9, np.uint32),
            2: np.array([x.sum(), x.max()], np.int32),
        },
    ),
    correct(
        "lock_released_by_a_volatile_write",
        (9,),
        (32,),
        lambda rng: (ints(rng, 9), np.zeros(1, np.int32), np.zeros(1, np.int32)),
        lambda x, *_: {2: x.sum(keepdims=True, dtype=np.int32)},
        strict=False,
    ),
    correct(
        "chain_of_three_blocks",
        (3,),
        (1,),
        lambda rng: (
            ints(rng, 1),
            poison(1, np.int32),
            np.zeros(3, np.int32),
            poison(1, np.int32),
        ),
        lambda x, *_: {3: x},
    ),
    correct(
        "flag_polled_by_one_lane_for_its_warp",
        (2,),
        (32,),
        lambda rng: (
            ints(rng, 32),
            poison(32, np.int32),
            np.zeros(1, np.int32),
            poison(32, np.int32),
        ),
        lambda x, *_: {3: x[::-1] - 1},
    ),
)


WARPS = (
    correct(
        "producer_and_consumer_warps",
        (1,),
        (64,),
        lambda rng: (ints(rng, (4, 32)), poison((4, 32), np.int32), np.int32(4)),
        lambda x, *_: {1: 5 * x[:, ::-1]},
    ),
    correct(
        "halves_of_a_warp",
        (1,),
        (32,),
        lambda rng: (ints(rng, 32), poison(32, np.int32)),
        lambda x, _: {1: np.full(32, x[:16].sum() + x[16:].max(), np.int32)},
    ),
    correct(
        "mask_of_the_lanes_inside",
        (1,),
        (64,),
        lambda rng: (ints(rng, 45), poison(45, np.int32), np.int32(45)),
        lambda x, *_: {
            1: np.concatenate([x[:32] - x[0] + 32, x[32:] - x[32] + 13]).astype(np.int32)
        },
    ),
    correct(
        "votes_of_the_block",
        (3,),
        (48,),
        lambda rng: (ints(rng, (3, 48), low=-52, high=40), poison((3, 3), np.int32)),
        lambda x, _: {
            1: np.stack([(x > 0).sum(1), (x == 7).any(1), (x > -50).all(1)], 1).astype(np.int32)
        },
    ),
    correct(
        "barrier_in_a_uniform_branch",
        (3,),
        (64,),
        lambda rng: (ints(rng, (3, 64)), poison((3, 64), np.int32)),
        lambda x, _: {1: np.stack([x[0, ::-1], x[1], x[2, ::-1]])},
    ),
)
