"""Results that nothing measured, for tests of what is made of results."""

from __future__ import annotations

import random
import re

from perf.results import NAN, LineResult, Result, Timing

GPU = "made up"
PEERS = ("cub", "cupy", "torch", "cuda.compute")
#: Case, title, operator, bytes, ceiling, goal as a fraction or, above 1, in microseconds.
LINES = [
    ("R-1", "[2^28] f32 sum", "reduce", 1.07e9, "read", 0.95),
    ("R-2", "[2^28] i8 max", "reduce", 2.7e8, "read", 0.92),
    ("R-2", "[2^28] f16 sum", "reduce", 5.4e8, "read", 0.92),
    *(("R-10", f"[2^{n}] f32 sum", "reduce", 4.0 * 2**n, "read", 3.5) for n in (4, 12, 16)),
    ("Z-3", "[2^28] bool, 50 %, u32", "nonzero_coordinates", 8e8, "copy", 0.8),
    ("G-3", "[2^24, 16] f32, 2^24 random int64", "gather", 2.3e9, "copy", 0.85),
    ("G-10", "[2^20, 256] f32, 2^20 equal int32", "gather", 2.1e9, "copy", None),
    ("O-1", "[2^20] int64 x 1000 f32", "one_hot", 4.2e9, "write", 0.93),
    *(
        (f"sweep-{operator}", f"[2^{n}] f32", operator, 8.0 * 2**n, "copy", None)
        for operator in ("reduce", "gather", "one_hot")
        for n in range(8, 29, 3)
    ),
]


def result(seed: int = 1, date: str = "2026-11-20T10:00:00Z") -> Result:
    """Return a result with a line of each kind; times are drawn by chance."""
    chance = random.Random(seed)  # noqa: S311  not cryptography
    gpu = {"name": GPU, "multiprocessors": 7, "l2_bytes": 60 * 2**20, "driver": "0.0"}
    rates = {"read": 4.45e12, "write": 4.1e12, "copy": 4.3e12, "memcpy": 4.2e12}
    found = Result("cuda", date, f"{seed:07x}+", gpu, {"cupy": "0"}, rates, 0.004)
    for case, title, operator, size, ceiling, goal in LINES:
        line = LineResult(case, title, operator, size, ceiling, checked=True)
        line.kernel = f"ck_{operator}_{ceiling}_f32"
        line.goal, line.goal_us = (None, goal) if goal and goal > 1 else (goal, None)
        line.size = int(size / 8) if case.startswith("sweep-") else None
        least = size / rates[ceiling] * 1e6 + 2.5
        line.timings["cudakern"] = timing(least * chance.uniform(1.0, 1.3), chance.uniform(0, 0.03))
        for peer in PEERS:
            if chance.random() < 0.75:
                slower = 1.05 * 10 ** chance.triangular(-0.04, 1.6, 0.1)
                line.timings[peer] = timing(least * slower, chance.uniform(0, 0.06))
            else:
                line.timings[peer] = missing("out of memory")
        found.lines.append(line)
    return found


def timing(median: float, spread: float = 0.0) -> Timing:
    """Return a timing with an interval around its median."""
    interval = median * (1 - spread), median * (1 + 1.5 * spread)
    return Timing(median, *interval, 30, "graph", cold=True, host_us=4.5)


def missing(note: str) -> Timing:
    """Return a timing without times."""
    return Timing(NAN, NAN, NAN, 0, "graph", cold=True, note=note)


def rows(text):
    """Return the lines of printed tables as lists of cells."""
    lines = [line.strip() for line in text.splitlines() if line.startswith("  ")]
    return [re.split(r"  +", line) for line in lines]
