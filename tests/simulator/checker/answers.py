"""Functions that the heads in correct_*.cu call to make arguments and to compute results."""

from __future__ import annotations

import numpy as np

from tests.simulator.checker.tables import ints, poison

#: A struct of CUDA C++ with four bytes of padding.
ITEM = np.dtype([("value", np.float64), ("key", np.int32)], align=True)


def tiled_matmul(rng):
    """Return integers whose products are exact in float32."""
    a, b = ints(rng, (30, 41), np.float32), ints(rng, (41, 23), np.float32)
    return a, b, poison((30, 23), np.float32), np.int32(30), np.int32(23), np.int32(41)


def five_points(x, steps):
    """Return the grid after some steps of the 5-point stencil, which keeps the border."""
    x = x.copy()
    for _ in range(steps):
        inner = x[1:-1, 1:-1] + x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
        x[1:-1, 1:-1] = inner % 1000
    return x


def exclusive(x):
    """Return the exclusive prefix sums of the last axis."""
    return np.cumsum(x, axis=-1, dtype=x.dtype) - x


def fullest_of_four(x, dtype):
    """Return, for each row, the sum and the size of the fullest of four classes."""
    result = np.zeros(len(x), dtype)
    for i, row in enumerate(x):
        counts = np.bincount(row.astype(int) & 3, minlength=4)
        best = counts.argmax()
        result[i] = (row[(row.astype(int) & 3) == best].sum(), counts[best])
    return result


def tile_sums(x):
    sums = x.sum(1, keepdims=True) * 100 + (x > 0).sum(1, keepdims=True) * 10
    return np.broadcast_to(sums + np.arange(8)[:, None], (8, 8)).ravel().astype(np.int32)


def largest_and_before(x):
    before = np.cumsum(x, 1) - x
    return (x.max(1, keepdims=True) * 10000 + before).ravel().astype(np.int32)


def words(rng, n, dtype=np.uint32):
    return rng.integers(0, np.iinfo(dtype).max, n, dtype, endpoint=True)


def wide_sums(x, y, *_):
    sums = [int(a) + (int(b) << 64) for a, b in x.reshape(-1, 2)]
    others = [int(a) + (int(b) << 64) for a, b in y.reshape(-1, 2)]
    words = [
        [(a + b) >> shift & 2**64 - 1 for shift in (0, 64)]
        for a, b in zip(sums, others, strict=True)
    ]
    return {2: np.array(words, np.uint64).ravel()}


def collatz(n):
    steps = 0
    while n > 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


def copied(x):
    kept = x.copy()
    kept[1:, 3::4] = 0  # the bytes that the third copy fills with zeros
    return np.roll(kept, -5, 1)


def shifted_in_segments(x):
    lanes = np.arange(32)
    inside = lanes % 8 + 3 < 8
    return np.concatenate([np.where(inside, np.roll(x, -3), x), inside]).astype(np.int32)


def widened(x):
    return (x.astype(np.uint32) << 16).view(np.float32)


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def switched(v):
    reversed_bits = int(f"{v:032b}"[::-1], 2)
    cases = [v * v, v // 3, v ^ 0x55, -v, v.bit_count(), 32 - v.bit_length(), v % 7, v << 3]
    cases += [reversed_bits - (reversed_bits >> 31 << 32), abs(v - 40)]
    return cases[v & 15] if v & 15 < 10 else 1000


def thrice(x):
    for _ in range(3):
        x = x[::-1] + 3 * x
    return x


# cuRAND's generator as its paper states it. Salmon, Moraes, Dror and Shaw: Parallel Random Numbers:
# As Easy as 1, 2, 3 (SC 2011).

SEED, OFFSET = 0x123456789ABCDEF, 5


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
    """Return cuRAND's words: the n-th of a subsequence is word n % 4 of block n / 4."""
    key = (seed & 0xFFFFFFFF, seed >> 32)
    words = []
    for n in range(offset // 4, (offset + count + 3) // 4):
        counter = (n & 0xFFFFFFFF, n >> 32, subsequence & 0xFFFFFFFF, subsequence >> 32)
        words += philox(counter, key)
    return np.array(words[offset % 4 :][:count], np.uint32)


def uniform(words):
    """Return float32 in (0, 1]: round x, then round x / 2^32 + 1 / 2^33 once."""
    return (words.astype(np.float32).astype(np.float64) / 2**32 + 2.0**-33).astype(np.float32)
