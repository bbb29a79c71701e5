"""Eleven kernels as users write them: their launches, and their results by NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np

from perf.static.comparison import Array

SOURCE = Path(__file__).with_name("user_kernels.cu")
F32, I32 = np.float32, np.int32


@dataclass(frozen=True)
class UserKernel:
    """A launch of a kernel, and its expected result."""

    name: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[Any, ...]
    output: int  # which argument it writes
    expected: Array  # of what it writes; if that is a number, its sum

    @property
    def title(self) -> str:
        """What tables call it."""
        return self.name.replace("_", " ")

    def prepare(self, ready: Ready) -> Callable[[], Array]:
        """Return a call that writes into an array of its own, and returns it."""
        arguments = list(self.arguments)
        output: Array = arguments[self.output].copy()
        arguments[self.output] = output
        call = ready(self, arguments)

        def run() -> Array:
            call()
            return output

        return run


#: Returns the call of a kernel with its arguments.
Ready = Callable[[UserKernel, Sequence[Any]], Callable[[], object]]


def kernels(n: int, rng: np.random.Generator) -> list[UserKernel]:
    """Return launches over about n elements, a power of 4 of at least 2^14."""
    return [*_without_barriers(n, rng), *_with_barriers(n, rng)]


def _without_barriers(n: int, rng: np.random.Generator) -> list[UserKernel]:
    side = isqrt(n)
    x, y = rng.random(n, F32), rng.random(n, F32)
    field, size = x.reshape(side, side), (I32(side), I32(side))
    means = np.zeros_like(field)
    means[1:-1, 1:-1] = field[:-2, 1:-1] + field[2:, 1:-1] + field[1:-1, :-2] + field[1:-1, 2:]
    letters, none = rng.integers(0, 256, n).astype(np.uint8), np.zeros(256, I32)
    counts = np.bincount(letters, minlength=256)
    keys = rng.integers(0, 2**32, n, dtype=np.uint32)
    pairs = np.sort(keys.reshape(-1, 2, 2))
    pairs[:, 1] = pairs[:, 1, ::-1].copy()  # downwards
    grid, block, tiles = (n // 256,), (256,), (side // 32, side // 8)
    x_to_y, of_letters = (I32(n), F32(2), x, y), (I32(n), letters, none)
    x_to_means, step = (field, np.zeros_like(field), *size), (keys, I32(1), I32(2))
    return [
        UserKernel("saxpy", grid, block, x_to_y, 3, 2 * x + y),
        UserKernel("stencil", tiles, (32, 8), x_to_means, 1, means / 4),
        UserKernel("global_histogram", grid, block, of_letters, 2, counts),
        UserKernel("shared_histogram", (64,), block, of_letters, 2, counts),
        UserKernel("bitonic_step", grid, block, step, 0, pairs.ravel()),
    ]


def _with_barriers(n: int, rng: np.random.Generator) -> list[UserKernel]:
    side, grid, block = isqrt(n) // 2, (n // 256,), (256,)
    a, b = (rng.random((side, side), F32) for _ in range(2))
    product = (a, b, np.zeros_like(a), I32(side))
    x, keys = rng.random(n, F32), rng.integers(0, 2**32, n, dtype=np.uint32)
    tree, warp, all_x = (x.reshape(-1, size).sum(1) for size in (256, 32, n))
    sorted_keys = np.sort(keys.reshape(-1, 512)).ravel()
    bodies = rng.random((4 * side, 4), F32)
    attraction = (bodies, np.zeros((4 * side, 3), F32), I32(4 * side))
    places, masses = bodies[:, :3].astype(np.float64), bodies[:, 3]
    away = (places - place for place in places)
    forces = [masses * ((d**2).sum(1) + 1e-3) ** -1.5 @ d for d in away]
    return [
        UserKernel("matrix_product", (side // 16,) * 2, (16, 16), product, 2, a @ b),
        UserKernel("tree_sum", grid, block, (x, np.zeros_like(tree)), 1, tree),
        UserKernel("warp_sum", grid, block, (x, np.zeros_like(warp)), 1, warp),
        UserKernel("grid_sum", (264,), block, (x, np.zeros(264, F32), I32(n)), 1, all_x[0]),
        UserKernel("bitonic_sort", (n // 512,), block, (keys,), 0, sorted_keys),
        UserKernel("n_body", (side // 64,), block, attraction, 1, np.array(forces)),
    ]
