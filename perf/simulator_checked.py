"""Cost of checked and counted launches in the simulator. ``python -m perf.simulator_checked``."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

import cudakern as ck
from cudakern.simulator import RawModule, checked, traffic
from perf.console import new_console

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    Array = np.ndarray[Any, np.dtype[Any]]

#: A checked or counted launch is meant to take at most so many times as long as a plain one. All
#: run on one core.
BOUND = 15
THREADS = 256

CODE = r"""
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    y[i] = a * x[i] + y[i];
  }
}
extern "C" __global__ void tree_sum(const float* x, float* sums) {
  __shared__ float s[256];
  s[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = s[0];
}
extern "C" __global__ void tiled_matmul(int n, const float* a, const float* b, float* c) {
  __shared__ float left[16][16], right[16][16];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    left[y][x] = a[row * n + k + x];
    right[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
extern "C" __global__ void histogram(int n, const unsigned char* x, int* counts) {
  __shared__ int bins[256];
  bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
    atomicAdd(&bins[x[i]], 1);
  }
  __syncthreads();
  atomicAdd(&counts[threadIdx.x], bins[threadIdx.x]);
}
"""


@dataclass(frozen=True)
class Case:
    """A launch, and whether what it gave is right."""

    title: str
    launch: Callable[[], Array]
    expected: Array

    def seconds(self, around: Callable[[], AbstractContextManager[object]], repeats: int) -> float:
        """Return the least processor time of a call inside of a context."""
        times = []
        for _ in range(repeats + 1):  # the first one compiles
            start = time.process_time()
            with around():
                result = self.launch()
            times.append(time.process_time() - start)
            assert np.allclose(result, self.expected, rtol=1e-4), self.title
        return min(times[1:])


def gathers(rng: np.random.Generator) -> list[Case]:
    """Return calls of gather."""

    def case(title: str, x: Array, count: int) -> Case:
        indices = rng.integers(0, len(x), count).astype(np.int32)
        return Case(f"gather, {title}", lambda: ck.gather(x, indices), x[indices])

    def floats(*shape: int) -> Array:
        return rng.random(shape, np.float32)

    return [
        case("2^15 x 64 B", floats(2**12, 16), 2**15),
        case("2^13 x 256 B", floats(2**12, 64), 2**13),
        case("2^18 scalars", floats(2**16), 2**18),
        case("2^17 strided", floats(16, 2**13).T, 2**13),
    ]


def raw_kernels(rng: np.random.Generator) -> list[Case]:
    """Return launches of the kernels in `CODE`."""
    module = RawModule(code=CODE)
    x, y = rng.random(2**19, np.float32), rng.random(2**19, np.float32)
    a, b = rng.random((128, 128), np.float32), rng.random((128, 128), np.float32)
    letters = rng.integers(0, 256, 2**18).astype(np.uint8)

    def saxpy() -> Array:
        result = y.copy()
        module.get_function("saxpy")((64,), (THREADS,), (x.size, np.float32(2), x, result))
        return result

    def tree_sum() -> Array:
        sums = np.zeros(2**9, np.float32)
        module.get_function("tree_sum")((sums.size,), (THREADS,), (x, sums))
        return sums

    def matmul() -> Array:
        c = np.zeros_like(a)
        module.get_function("tiled_matmul")((8, 8), (16, 16), (128, a, b, c))
        return c

    def histogram() -> Array:
        counts = np.zeros(256, np.int32)
        module.get_function("histogram")((32,), (THREADS,), (letters.size, letters, counts))
        return counts

    return [
        Case("saxpy, 2^19", saxpy, 2 * x + y),
        Case("tree reduction, 2^17", tree_sum, x[: 2**17].reshape(-1, 256).sum(1)),
        Case("tiled matmul, 128^2", matmul, a @ b),
        Case("shared histogram, 2^18", histogram, np.bincount(letters, minlength=256)),
    ]


def main() -> None:
    """Time each case plain, checked and counted; print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="calls, of which the best counts")
    repeats = parser.parse_args().repeats
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # plain launches would use all
    table = Table(title="the simulator: plain, checked, counting traffic; milliseconds")
    table.add_column("case", no_wrap=True)
    for heading in ("plain", "checked", "traffic", "checked / plain", "traffic / plain"):
        table.add_column(heading, justify="right")
    rng = np.random.default_rng(0)
    worst = 0.0
    for case in (*gathers(rng), *raw_kernels(rng)):
        plain, check, count = (case.seconds(f, repeats) for f in (nullcontext, checked, traffic))
        worst = max(worst, check / plain, count / plain)
        times = (f"{1000 * t:.2f}" for t in (plain, check, count))
        table.add_row(case.title, *times, f"{check / plain:.1f}", f"{count / plain:.1f}")
    console = new_console()
    console.print(table)
    console.print(f"bound of both: {BOUND}; worst here: {worst:.1f}")
    console.print(f"processor time, best of {repeats} calls on one core")


if __name__ == "__main__":
    main()
