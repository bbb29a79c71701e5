"""Correct kernels with PTX in their text."""

from __future__ import annotations

import numpy as np

from tests.simulator.tables import correct, ints, poison


def _words(rng, n, dtype=np.uint32):
    return rng.integers(0, np.iinfo(dtype).max, n, dtype, endpoint=True)


def _wide_sums(x, y, *_):
    sums = [int(a) + (int(b) << 64) for a, b in x.reshape(-1, 2)]
    others = [int(a) + (int(b) << 64) for a, b in y.reshape(-1, 2)]
    words = [
        [(a + b) >> shift & 2**64 - 1 for shift in (0, 64)]
        for a, b in zip(sums, others, strict=True)
    ]
    return {2: np.array(words, np.uint64).ravel()}


ARITHMETIC = (
    correct(
        "sums_of_128_bits_by_carry",
        (1,),
        (32,),
        lambda rng: (_words(rng, 64, np.uint64), _words(rng, 64, np.uint64), poison(64, np.uint64)),
        _wide_sums,
    ),
    correct(
        "loop_and_predicates_in_the_text",
        (1,),
        (40,),
        lambda rng: (ints(rng, 40, np.uint32, 1, 1000), poison(40, np.uint32)),
        lambda x, _: {1: np.array([_collatz(int(n)) for n in x], np.uint32)},
    ),
)


def _collatz(n):
    steps = 0
    while n > 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


MEMORY = (
    correct(
        "vectors_past_the_cache",
        (1,),
        (32,),
        lambda rng: (ints(rng, (32, 4)), poison((32, 4), np.int32)),
        lambda x, _: {1: x[:, ::-1]},
    ),
    correct(
        "last_block_by_atom_inc",
        (9,),
        (1,),
        lambda rng: (
            ints(rng, 9),
            poison(9, np.int32),
            np.zeros(1, np.uint32),
            poison(1, np.int32),
        ),
        lambda x, *_: {2: np.zeros(1, np.uint32), 3: 3 * x.sum(keepdims=True, dtype=np.int32)},
    ),
    correct(
        "copies_behind_the_work",
        (1,),
        (32,),
        lambda rng: (ints(rng, (3, 128)), poison((3, 128), np.int32), np.int32(3)),
        lambda x, *_: {1: _copied(x)},
    ),
)


def _copied(x):
    kept = x.copy()
    kept[1:, 3::4] = 0  # the bytes that the third copy fills with zeros
    return np.roll(kept, -5, 1)


THREADS = (
    correct(
        "named_barriers_of_two_warps",
        (1,),
        (64,),
        lambda rng: (ints(rng, (4, 32)), poison((4, 32), np.int32), np.int32(4)),
        lambda x, *_: {1: 2 * x[:, ::-1]},
    ),
    correct(
        "reductions_of_the_warp",
        (1,),
        (32,),
        lambda rng: (ints(rng, 32), poison(64, np.int32)),
        lambda x, _: {
            1: np.repeat(
                np.array([x.sum() + 3 * x.min() + 5 * np.bitwise_xor.reduce(x), 1], np.int32), 32
            )
        },
    ),
    correct(
        "shuffle_with_its_predicate",
        (1,),
        (32,),
        lambda rng: (ints(rng, 32), poison(64, np.int32)),
        lambda x, _: {1: _shifted_in_segments(x)},
    ),
    correct(
        "special_registers",
        (2,),
        (16, 3),
        lambda _: (poison(96, np.uint32),),
        lambda _: {
            0: np.tile(np.arange(48) % 32 + 100 * (np.arange(48) // 32) + 10000, 2).astype(
                np.uint32
            )
        },
    ),
)


def _shifted_in_segments(x):
    lanes = np.arange(32)
    inside = lanes % 8 + 3 < 8
    return np.concatenate([np.where(inside, np.roll(x, -3), x), inside]).astype(np.int32)


INLINE_PTX = ARITHMETIC + MEMORY + THREADS
