"""Correct kernels with cuRAND's Philox4x32-10, against the generator as its paper states it.

Salmon, Moraes, Dror and Shaw: Parallel Random Numbers: As Easy as 1, 2, 3 (SC 2011).
"""

from __future__ import annotations

import numpy as np

from tests.simulator.tables import correct, poison


def philox(counter, key):
    """Return the four words of Philox4x32-10 for a counter of four words and a key of two."""
    c, k = [int(word) for word in counter], [int(word) for word in key]
    for _ in range(10):
        left, right = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [
            right >> 32 ^ c[1] ^ k[0],
            right & 0xFFFFFFFF,
            left >> 32 ^ c[3] ^ k[1],
            left & 0xFFFFFFFF,
        ]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def stream(seed, subsequence, offset, count):
    """Return words of cuRAND's: the n-th of a subsequence is word n % 4 of block n / 4."""
    key = (seed & 0xFFFFFFFF, seed >> 32)
    words = []
    for n in range(offset // 4, (offset + count + 3) // 4):
        counter = (n & 0xFFFFFFFF, n >> 32, subsequence & 0xFFFFFFFF, subsequence >> 32)
        words += philox(counter, key)
    return np.array(words[offset % 4 :][:count], np.uint32)


def _uniform(words):
    """Return float32 in (0, 1]: x / 2^32 + 1 / 2^33, rounded once after x was rounded."""
    return (words.astype(np.float32).astype(np.float64) / 2**32 + 2.0**-33).astype(np.float32)


SEED, OFFSET = 0x123456789ABCDEF, 5

RANDOM = (
    correct(
        "philox_words",
        (2,),
        (32,),
        lambda _: (np.uint64(SEED), np.uint64(OFFSET), poison((64, 11), np.uint32)),
        lambda *_: {2: np.stack([stream(SEED, i, OFFSET, 11) for i in range(64)])},
    ),
    correct(
        "philox_uniform",
        (1,),
        (64,),
        lambda _: (np.uint64(7), poison((64, 6), np.float32)),
        lambda *_: {1: np.stack([_uniform(stream(7, i, 0, 6)) for i in range(64)])},
    ),
)
