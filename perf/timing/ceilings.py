"""The best rates of the GPU's memory in bytes per second, of which results are fractions."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.values.layout import VECTOR_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from perf.cases.base import Array
    from perf.timing.gpu import Gpu, Lane

#: Size of what is read and of what is written.
NBYTES = 2**30
#: Threads of a block, as in ceilings.cu.
THREADS = 256
BLOCKS_PER_MULTIPROCESSOR = 8
CALLS, SAMPLES = 5, 10


class Kernels:
    """The kernels of ceilings.cu, for launches of so many blocks.

    RawModule is CuPy's or the simulator's.
    """

    def __init__(self, raw_module: Callable[..., Any], blocks: int) -> None:
        code = Path(__file__).with_name("ceilings.cu").read_text(encoding="utf-8")
        module = raw_module(code=code, options=("-std=c++17",), backend="nvrtc")
        self.blocks = blocks
        names = ("copy", "read", "write")
        self._kernels = {name: module.get_function(f"ceiling_{name}") for name in names}

    def copy(self, source: Array, target: Array) -> None:
        """Copy an array whose size is a multiple of 16 bytes."""
        self._launch("copy", source, target)

    def read(self, source: Array, sums: Array) -> None:
        """Sum the 32-bit words of an array; as many sums as there are blocks, of 64 bits each."""
        self._launch("read", source, sums)

    def write(self, target: Array, value: int) -> None:
        """Write a 32-bit word all over an array."""
        self._launch("write", target, np.uint32(value))

    def _launch(self, name: str, array: Array, other: Any) -> None:  # noqa: ANN401  an argument
        count = np.uint64(array.nbytes // VECTOR_BYTES)
        self._kernels[name]((self.blocks,), (THREADS,), (array, other, count))


def measure(gpu: Gpu) -> dict[str, float]:
    """Return the bytes per second of reading, writing, copying, and of the driver's own copy."""
    cupy = gpu.cupy
    words = min(NBYTES, gpu.free_bytes() // 4) // VECTOR_BYTES * VECTOR_BYTES // 4
    kernels = Kernels(cupy.RawModule, BLOCKS_PER_MULTIPROCESSOR * gpu.multiprocessors)
    source = cupy.arange(words, dtype=np.uint32)
    source *= np.uint32(2654435761)  # an odd number: all words differ, half of the bits are set
    target = cupy.empty(words, np.uint32)
    sums = cupy.empty(kernels.blocks, np.uint64)
    gpu.synchronize()
    lane = gpu.lane("ceilings")
    size = source.nbytes
    runtime, pointers = cupy.cuda.runtime, (target.data.ptr, source.data.ptr)
    kind = runtime.memcpyDeviceToDevice
    moved: dict[str, tuple[int, Callable[[], None]]] = {
        "read": (size, partial(kernels.read, source, sums)),
        "write": (size, partial(kernels.write, target, 0x9E3779B9)),
        "own copy": (2 * size, partial(kernels.copy, source, target)),
        "memcpy": (2 * size, partial(runtime.memcpyAsync, *pointers, size, kind, lane.stream.ptr)),
    }
    rates = {name: nbytes / _seconds(gpu, lane, call) for name, (nbytes, call) in moved.items()}
    rates["copy"] = max(rates.pop("own copy"), rates["memcpy"])
    return rates


def _seconds(gpu: Gpu, lane: Lane, call: Callable[[], None]) -> float:
    with lane.current():
        call()
    lane.stream.synchronize()
    replay = gpu.make_replay(lane, [call] * CALLS)
    times = [gpu.elapsed_us(lane, replay, replay) for _ in range(SAMPLES)]
    return float(np.median(times)) / CALLS / 1e6


def combine(before: dict[str, float], after: dict[str, float]) -> tuple[dict[str, float], float]:
    """Return the higher ceilings of two measurements, and how much the copy one changed."""
    highest = {name: max(before[name], after[name]) for name in before}
    return highest, abs(after["copy"] / before["copy"] - 1)
