"""Results that nothing measured, for tests of what is made of results."""

from __future__ import annotations

import random

from perf.results import LineResult, Result, Timing

NAN = float("nan")
GPU = "made up"
PEERS = ("cub", "cupy", "torch", "cuda.compute")
#: Title, bytes, ceiling, goal as a fraction or, above 1, in microseconds.
CASES: dict[str, list[tuple[str, float, str, float | None]]] = {
    "R-1": [("[2^28] f32 sum", 1.07e9, "read", 0.95)],
    "R-2": [("[2^28] i8 max", 2.7e8, "read", 0.92), ("[2^28] f16 sum", 5.4e8, "read", 0.92)],
    "R-3": [
        (f"[65536, 1024] f32 {function}, axis 1", 2.7e8, "read", 0.92)
        for function in ("sum", "argmax", "logsumexp")
    ],
    "R-4": [
        ("[2^22, 33] f32 sum, axis 1", 5.7e8, "read", 0.85),
        ("[2^24, 4] f32 sum, axis 1", 3.36e8, "copy", 0.85),
    ],
    "R-5": [
        ("[8, 129280] f32 argmax, axis 1", 4.1e6, "read", 6.0),
        ("[4, 2^24] f32 sum, axis 1", 2.7e8, "read", 0.92),
    ],
    "R-6": [("[2^14, 2^14] f32 sum, axis 0", 1.07e9, "read", 0.92)],
    "R-7": [
        ("[2^24, 8] f32 sum, axis 0", 5.4e8, "read", 0.88),
        ("[2^22, 33] f32 max, axis 0", 5.7e8, "read", 0.88),
    ],
    "R-8": [
        ("[64, 512, 512] f32 sum, axis 1", 6.7e7, "read", 0.8),
        ("[32, 64, 128, 128] f16 sum, axes 0, 2, 3", 6.7e7, "read", 0.8),
    ],
    "R-9": [
        ("[2^28] f64 sum", 2.1e9, "read", 0.95),
        ("[2^14, 2^14] f64 sum, axis 1, transposed view", 2.1e9, "read", 0.88),
    ],
    "R-10": [
        (f"{shape} f32 sum", size, "read", 3.5)
        for shape, size in (("[16]", 68), ("[2^12]", 1.6e4), ("[2^16]", 2.6e5), ("[1024, 64]", 3e5))
    ],
    "Z-1": [("[2^28] bool, 0 % random, to uint32", 2.7e8, "read", 0.85)],
    "Z-2": [(f"[2^28] bool, 1 % random, to {t}", 2.8e8, "read", 0.8) for t in ("uint32", "int64")],
    "Z-3": [(f"[2^28] bool, 50 % random, to {t}", 8e8, "copy", 0.8) for t in ("uint32", "int64")],
    "Z-4": [
        (f"[2^28] bool, {d} % random, to {t}", 1.3e9, "copy", 0.85)
        for d in (99, 100)
        for t in ("uint32", "int64")
    ],
    "Z-5": [("[512, 512, 1024] f32, 50 % random, to uint32", 2.7e9, "copy", 0.85)],
    "Z-6": [("[2^14, 2^14] f16, 10 % clustered, to uint32", 7.5e8, "copy", 0.8)],
    "Z-7": [("[2^24] i8, 10 % random, to uint32", 2.4e7, "copy", 15.0)],
    "Z-8": [
        (f"[2^{n}] bool, 50 % random, to uint32", 3.0 * 2**n, "copy", 5.0) for n in (10, 14, 18)
    ],
    "Z-9": [("[2^14, 2^14] bool, 50 % random, to uint32, transposed view", 1.3e9, "write", 0.5)],
    "G-1": [("[2^28] f32, axis 0, [2^28] i32 random", 1.9e10, "read", 0.9)],
    "G-2": [
        ("[2^28] f32, axis 0, [2^28] i32 sorted", 3.2e9, "copy", 0.85),
        ("[2^22] f32, axis 0, [2^28] i32 random", 2.1e9, "copy", None),
    ],
    "G-3": [("[2^24, 16] f32, axis 0, [2^24] i64 random", 2.3e9, "copy", 0.85)],
    "G-4": [("[2^20, 256] f32, axis 0, [2^20] i64 random", 2.1e9, "copy", 0.92)],
    "G-5": [
        ("[2^18, 1024] f32, axis 0, [2^18] i64 random", 2.1e9, "copy", 0.92),
        ("[2^16, 7168] f16, axis 0, [2^16] i64 random", 1.9e9, "copy", 0.92),
    ],
    "G-6": [
        (f"[2^22, {n}] {t}, axis 0, [2^22] i32 random", 4.2e6 * n * 2, "copy", 0.75)
        for n, t in ((3, "f32"), (25, "f32"), (12, "u8"), (50, "f16"))
    ],
    "G-7": [("[2^12, 65536] f32, axis 1, [65536] i32 random", 2.1e9, "copy", 0.7)],
    "G-9": [
        ("[2^12, 16] f32, axis 0, [2^12] i32 random", 5.4e5, "copy", 3.0),
        ("[2^12] f32, axis 0, [256] i32 random", 1.8e4, "copy", 3.0),
    ],
    "G-10": [
        (f"[2^20, 256] f32, axis 0, [2^20] i32 {p}", 2.1e9, "copy", None)
        for p in ("equal", "out of range")
    ],
    "G-8": [("[64, 128, 128, 64] f16, tuples [64, 8192, 2] i32, batch 1", 1.4e8, "copy", 0.85)],
    "O-1": [("[2^20] i32, depth 1000, f32", 4.2e9, "write", 0.93)],
    "O-2": [("[2^22] i32, depth 32, f16", 2.8e8, "write", 0.88)],
    "O-3": [("[2^24] i32, depth 10, i8", 2.3e8, "copy", 0.8)],
    "O-4": [("[2^17] i32, depth 50257, f16", 1.3e10, "write", 0.93)],
    "O-5": [("[2^20] i64, depth 1000, i64", 8.4e9, "write", 0.93)],
    "O-6": [("[256, 2^12] i32, depth 64, axis 1, f32", 2.7e8, "write", 0.9)],
    "O-7": [("[2^18] i32, depth 777, f64", 1.6e9, "write", 0.92)],
    "O-8": [("[128] i32, depth 10, f32", 5632.0, "write", 3.0)],
}
OPERATORS = {"R": "reduce", "Z": "nonzero_coordinates", "G": "gather", "O": "one_hot"}
SWEEPS = ("reduce", "nonzero_coordinates", "gather", "gather_nd", "one_hot")


def result(
    seed: int = 1, date: str = "2026-11-20T10:00:00Z", cases: set[str] | None = None
) -> Result:
    """Return a result with a line of each kind, or of some cases; times are drawn by chance."""
    chance = random.Random(seed)  # noqa: S311  not cryptography
    found = Result(
        engine="cuda",
        date=date,
        commit=f"{seed:07x}+",
        gpu={
            "name": GPU,
            "compute_capability": "9.0",
            "multiprocessors": 7,
            "l2_bytes": 60 * 2**20,
            "memory_bytes": 2**37,
            "driver": "0.0",
        },
        versions={"cudakern": "0", "cupy": "0", "numpy": "0"},
        ceilings={"read": 4.45e12, "write": 4.1e12, "copy": 4.3e12, "memcpy": 4.2e12},
        drift=0.004,
    )
    for case, lines in CASES.items():
        operator = "gather_nd" if case == "G-8" else OPERATORS[case[0]]
        for title, size, ceiling, goal in lines:
            latency = goal is not None and goal > 1
            line = LineResult(case, title, operator, size, ceiling, checked=True)
            line.kernel = f"ck_{operator}_{ceiling}_f32"
            line.goal, line.goal_us = (None, goal) if latency else (goal, None)
            _time(found, line, chance)
            found.lines.append(line)
    for operator in SWEEPS:
        for power in range(8, 29, 3):
            title = f"[2^{power}] f32"
            line = LineResult(f"sweep-{operator}", title, operator, 8.0 * 2**power, "copy")
            line.checked, line.size = True, 2**power
            _time(found, line, chance)
            found.lines.append(line)
    found.lines = [line for line in found.lines if cases is None or line.case in cases]
    return found


def _time(result: Result, line: LineResult, chance: random.Random) -> None:
    least = line.bytes / result.ceilings[line.ceiling] * 1e6 + 2.5
    line.timings["cudakern"] = timing(least * chance.uniform(1.0, 1.3), chance.uniform(0, 0.03))
    for peer in PEERS:
        if chance.random() < 0.75:
            slower = 1.05 * 10 ** chance.triangular(-0.04, 1.6, 0.1)
            line.timings[peer] = timing(least * slower, chance.uniform(0, 0.06))
        elif chance.random() < 0.3:
            line.timings[peer] = missing("out of memory")
    if "torch" in line.timings and line.case in {"R-2", "Z-3"}:
        line.timings["torch"].note = "result is int64"


def timing(median: float, spread: float = 0.0) -> Timing:
    """Return a timing with an interval around its median."""
    interval = median * (1 - spread), median * (1 + 1.5 * spread)
    return Timing(median, *interval, 30, "graph", cold=True, host_us=4.5)


def missing(note: str) -> Timing:
    """Return a timing without times."""
    return Timing(NAN, NAN, NAN, 0, "graph", cold=True, note=note)
