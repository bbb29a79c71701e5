"""GPUs as the model sees them, by public figures and estimates, which a fit replaces."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU."""

    name: str
    arch: str  # what kernels are compiled for
    multiprocessors: int  # of the whole chip as it is sold
    clock: float  # in GHz, boosted
    datasheet: float  # bytes per second of memory: what the maker says
    bandwidth: float  # what a copy reaches
    l2_bytes: float  # of the L2 cache
    l2_bandwidth: float  # bytes per second
    latency: float  # microseconds until a load is there, from memory that is busy
    idle_latency: float  # from memory that is not
    l2_latency: float  # from L2
    double: float  # lanes a clock of a multiprocessor, for float64
    convert: float  # for conversions between integers and floats
    launch: float = 2.0  # microseconds from one kernel of a graph to the next, at least
    start: float = 0.2  # until a block's first load is issued, and from its last result to its end
    issue: float = 0.85  # share of its issue slots that a busy multiprocessor uses
    dependent: float = 2.5  # clocks from one instruction of a warp to its next, on average
    special: float = 16.0  # lanes a clock for special functions
    integer: float = 64.0  # for integers, comparisons and selections


MB = 2**20
#: Clocks and widths: NVIDIA's whitepapers of Hopper, Ampere, Ada and Turing and the datasheets of
#: H200 SXM, A100 80 GB SXM, RTX 4090 and T4; lanes a clock: CUDA C++ Programming Guide, arithmetic
#: instructions. What a copy reaches: measured on H200; elsewhere estimates, 75 to 93 % of the
#: datasheet. Latencies and rates of L2: estimates in the range of published microbenchmarks.
GPUS = {
    gpu.name: gpu
    for gpu in (
        Gpu(
            *("H200", "sm_90", 132, 1.98, 4.8e12, 4.3e12, 50 * MB, 6.5e12, 0.75, 0.5, 0.27),
            double=64,
            convert=64,
        ),
        Gpu(
            *("A100", "sm_80", 108, 1.41, 2.039e12, 1.75e12, 40 * MB, 4.0e12, 0.65, 0.45, 0.26),
            double=32,
            convert=64,
        ),
        Gpu(
            *("RTX 4090", "sm_89", 128, 2.52, 1.008e12, 0.93e12, 72 * MB, 5.0e12, 0.65, 0.45, 0.27),
            double=2,
            convert=64,
        ),
        Gpu(
            *("T4", "sm_75", 40, 1.59, 0.32e12, 0.24e12, 4 * MB, 1.2e12, 0.6, 0.4, 0.24),
            double=2,
            convert=16,
        ),
    )
}
