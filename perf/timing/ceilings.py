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


def load_kernels(raw_module: Callable[..., Any], blocks: int) -> Callable[..., None]:
    """Return what launches a kernel of ceilings.cu by its name; RawModule may be the simulator's.

    ``copy`` takes a source and a target, ``read`` a source and room for a sum of 64 bits for each
    block, ``write`` a target and a word of 32 bits.
    """
    code = Path(__file__).with_name("ceilings.cu").read_text(encoding="utf-8")
    module = raw_module(code=code, options=("-std=c++17",), backend="nvrtc")

    def launch(name: str, array: Array, other: Any) -> None:  # noqa: ANN401  an argument
        count = np.uint64(array.nbytes // VECTOR_BYTES)
        module.get_function(f"ceiling_{name}")((blocks,), (THREADS,), (array, other, count))

    return launch


def measure(gpu: Gpu) -> dict[str, float]:
    """Return the bytes per second of reading, writing, copying, and of the driver's own copy."""
    cupy = gpu.cupy
    words = min(NBYTES, gpu.free_bytes() // 4) // VECTOR_BYTES * VECTOR_BYTES // 4
    blocks = BLOCKS_PER_MULTIPROCESSOR * gpu.multiprocessors
    launch = load_kernels(cupy.RawModule, blocks)
    source = cupy.arange(words, dtype=np.uint32)
    source *= np.uint32(2654435761)  # an odd number: all words differ, half of the bits are set
    target = cupy.empty(words, np.uint32)
    sums = cupy.empty(blocks, np.uint64)
    gpu.synchronize()
    lane = gpu.lane("ceilings")
    size = source.nbytes
    runtime, pointers = cupy.cuda.runtime, (target.data.ptr, source.data.ptr)
    kind = runtime.memcpyDeviceToDevice
    moved: dict[str, tuple[int, Callable[[], None]]] = {
        "read": (size, partial(launch, "read", source, sums)),
        "write": (size, partial(launch, "write", target, np.uint32(0x9E3779B9))),
        "own copy": (2 * size, partial(launch, "copy", source, target)),
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
