"""Correct kernels that use what CUDA C++ has beyond C: objects, calls by address, constants."""

from __future__ import annotations

import numpy as np

from tests.simulator.tables import correct, ints, poison

OBJECTS = (
    correct(
        "pairs_of_halves_in_shared_memory",
        (1,),
        (64,),
        lambda rng: (
            rng.integers(-99, 99, (64, 2)).astype(np.float16),
            poison((64, 2), np.float16),
        ),
        lambda x, _: {
            1: np.stack(
                [(x[::-1] * 2 + x)[:, 0], np.maximum((x[::-1] * 2 + x)[:, 1], np.float16(0))], 1
            )
        },
    ),
    correct(
        "pairs_of_bfloat16",
        (1,),
        (32,),
        lambda rng: (
            (ints(rng, (32, 2)).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16),
            poison((32, 2), np.float32),
        ),
        lambda x, _: {1: _widened(x) + _widened(x)[::-1]},
    ),
    correct(
        "classes_with_constructors",
        (1,),
        (64,),
        lambda rng: (ints(rng, 301, high=9999), poison(2, np.int32), np.int32(301)),
        lambda x, *_: {1: np.array([x.min(), x.max()], np.int32)},
    ),
    correct(
        "virtual_functions",
        (1,),
        (64,),
        lambda rng: (ints(rng, (64, 2), low=0), poison(64, np.int32)),
        lambda x, _: {
            1: np.where(x[:, 0] % 2 == 0, x.prod(1) * 10 + 4, x.prod(1) // 2 * 10 + 3).astype(
                np.int32
            )
        },
    ),
)


def _widened(x):
    return (x.astype(np.uint32) << 16).view(np.float32)


CALLS = (
    correct(
        "functions_by_address",
        (1,),
        (64,),
        lambda rng: (ints(rng, 64), ints(rng, 64, low=0, high=3), poison(64, np.int32)),
        lambda x, which, _: {
            2: np.choose(which, [x + x[::-1], x - x[::-1], np.maximum(x, x[::-1])])
        },
    ),
    correct(
        "recursion",
        (1,),
        (64,),
        lambda _: (poison(64, np.int32),),
        lambda _: {0: np.tile([_fibonacci(n) + 1000 * (2 * n + 3) for n in range(16)], 4)},
    ),
    correct(
        "structures_to_functions_and_back",
        (1,),
        (32,),
        lambda rng: (
            rng.standard_normal((32, 5)),
            poison((32, 5), np.float64),
            poison(32, np.int8),
        ),
        lambda x, *_: {
            1: np.stack([np.roll(row, -(i % 5)) for i, row in enumerate(x)]),
            2: np.arange(3, 35, dtype=np.int8),
        },
    ),
    correct(
        "a_table_of_branches",
        (1,),
        (64,),
        lambda rng: (ints(rng, 64, low=0), poison(64, np.int32)),
        lambda x, _: {1: np.array([_switched(int(v)) for v in x], np.int64).astype(np.int32)},
    ),
)


def _fibonacci(n):
    return n if n < 2 else _fibonacci(n - 1) + _fibonacci(n - 2)


def _switched(v):
    reversed_bits = int(f"{v:032b}"[::-1], 2)
    cases = [v * v, v // 3, v ^ 0x55, -v, v.bit_count(), 32 - v.bit_length(), v % 7, v << 3]
    cases += [reversed_bits - (reversed_bits >> 31 << 32), abs(v - 40)]
    return cases[v & 15] if v & 15 < 10 else 1000


NAMES = (
    correct(
        "constants",
        (1,),
        (64,),
        lambda rng: (ints(rng, 64, np.float32), poison(64, np.float32), np.int32(64)),
        lambda x, *_: {
            1: np.roll(x, -1) * np.float32(0.25)
            - np.roll(x, -2)
            + np.roll(x, -3) * np.float32(0.5)
            + np.roll(x, -4) * 2
            + 1
        },
    ),
    correct(
        "early_exit_before_a_barrier",
        (1,),
        (96,),
        lambda rng: (ints(rng, 96), np.full(96, -1, np.int32)),
        lambda x, _: {1: np.concatenate([x[69::-1], np.full(26, -1, np.int32)])},
        options=("-DTHREADS=96", "-D", "COUNT=70"),
        strict=False,
    ),
    correct(
        "kernel_named_as_a_function_of_c",
        (1,),
        (32,),
        lambda rng: (ints(rng, 32), poison(32, np.int32)),
        lambda x, _: {1: x - 1},
        kernel="write",
        alone=True,
    ),
    correct(
        "template_named_as_a_function_of_c",
        (1,),
        (32,),
        lambda rng: (ints(rng, 32, np.float32), poison(32, np.float32)),
        lambda x, _: {1: x * x},
        kernel="exp2<float>",
        alone=True,
    ),
    correct(
        "globals_named_as_functions_of_c",
        (1,),
        (64,),
        lambda rng: (ints(rng, 64), poison(64, np.int32)),
        lambda x, _: {1: x[::-1] * 3 + 7},
        alone=True,
    ),
    correct(
        "registers_named_as_words_of_cpp",
        (1,),
        (32,),
        lambda rng: (ints(rng, 32), poison(32, np.int32)),
        lambda x, _: {1: x * (x + 1) - 3},
    ),
)

LANGUAGE = OBJECTS + CALLS + NAMES
