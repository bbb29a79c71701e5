"""Speed of the simulator, and what checked and counted launches cost. First calls are excluded."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import cudakern as ck
from cudakern._commands import console
from cudakern.simulator import RawModule, checked, traffic

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    Array = np.ndarray[Any, np.dtype[Any]]

#: Seconds that the first case may take on two cores.
GOAL = 1.0
#: A checked or counted launch may take so many times as long as a plain one, all on one core. The
#: worst of these cases takes 17 times as long on an idle machine.
BOUND = 25
#: Calls, of which the fastest counts.
REPEATS = 5

CODE = r"""
extern "C" __global__ void tree_sum(const float* x, float* sums) {
  __shared__ float s[256];
  s[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = s[0];
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
    """A launch, and what it must give."""

    title: str
    launch: Callable[[], Array]
    expected: Array

    def seconds(
        self,
        around: Callable[[], AbstractContextManager[object]] = nullcontext,
        clock: Callable[[], float] = time.perf_counter,
    ) -> float:
        """Return the least time of a call inside of a context."""
        times = []
        for _ in range(REPEATS + 1):  # the first one compiles
            start = clock()
            with around():
                result = self.launch()
            times.append(clock() - start)
            assert np.allclose(result, self.expected, rtol=1e-4), self.title
        return min(times[1:])


def gathers(rng: np.random.Generator) -> list[Case]:
    """Return calls of gather, with float32 and int32."""

    def case(title: str, x: Array, count: int, axis: int = 0) -> Case:
        indices = rng.integers(0, x.shape[axis], count).astype(np.int32)
        return Case(title, lambda: ck.gather(x, indices, axis), x.take(indices, axis))

    def floats(*shape: int) -> Array:
        return rng.random(shape, np.float32)

    return [
        case("gather, 2^16 rows of 64 B", floats(2**16, 16), 2**16),
        case("gather, 2^13 rows of 256 B", floats(2**12, 64), 2**13),
        case("gather, 2^18 rows of 12 B", floats(2**18, 3), 2**18),
        case("gather, 2^20 scalars", floats(2**20), 2**20),
        case("gather, 1024 x 1024, last axis", floats(1024, 1024), 1024, 1),
        case("gather, 2^20 elements, transposed", floats(16, 2**16).T, 2**16),
    ]


def raw_kernels(rng: np.random.Generator) -> list[Case]:
    """Return launches of the kernels in `CODE`."""
    module = RawModule(code=CODE)
    x = rng.random(2**17, np.float32)
    letters = rng.integers(0, 256, 2**18).astype(np.uint8)

    def tree_sum() -> Array:
        sums = np.zeros(2**9, np.float32)
        module.get_function("tree_sum")((sums.size,), (256,), (x, sums))
        return sums

    def histogram() -> Array:
        counts = np.zeros(256, np.int32)
        module.get_function("histogram")((32,), (256,), (letters.size, letters, counts))
        return counts

    return [
        Case("tree reduction, 2^17", tree_sum, x.reshape(-1, 256).sum(1)),
        Case("shared histogram, 2^18", histogram, np.bincount(letters, minlength=256)),
    ]


@contextmanager
def _on_one_core() -> Iterator[None]:
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def measure() -> list[str]:
    """Print the figures of all cases; return which budgets are broken."""
    rng, broken, rows = np.random.default_rng(0), [], []
    for number, case in enumerate((*gathers(rng), *raw_kernels(rng))):
        wall = case.seconds()
        with _on_one_core():
            plain, *others = (
                case.seconds(around, time.process_time)
                for around in (nullcontext, checked, traffic)
            )
        ratios = [other / plain for other in others]
        rows.append((case.title, f"{1000 * wall:.2f}", *(f"{ratio:.1f}" for ratio in ratios)))
        if number == 0 and wall > GOAL:
            broken.append(f"{case.title}: {wall:.2f} s, more than {GOAL:g}")
        broken += [
            f"{case.title}: {name} takes {ratio:.1f} times as long as plain, more than {BOUND}"
            for name, ratio in zip(("checked", "traffic"), ratios, strict=True)
            if ratio > BOUND
        ]
    console.show(f"the simulator: a plain call on all cores; on one core, at most {BOUND} x")
    console.show_table(rows, ("case", "plain, ms", "checked / plain", "traffic / plain"))
    return broken
