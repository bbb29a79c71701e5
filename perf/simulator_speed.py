"""Speed of the simulator, first compilation excluded. ``python -m perf.simulator_speed``."""

from __future__ import annotations

import time

import numpy as np
from rich.table import Table

import cudakern as ck
from perf.console import new_console

GOAL_SECONDS = 1.0
REPEATS = 5

#: Title, shape of x, number of indices, axis.
CASES = (
    ("2^20 elements in rows of 64 B", (2**16, 16), 2**16, 0),
    ("2^20 rows of 64 B", (2**20, 16), 2**20, 0),
    ("2^20 single elements", (2**20,), 2**20, 0),
    ("2^18 rows of 12 B", (2**18, 3), 2**18, 0),
    ("1024 x 1024, last axis", (1024, 1024), 1024, 1),
    ("2^20 elements, x transposed", (16, 2**16), 2**16, 1),
)


def main() -> None:
    """Time gather on the host, check each result, print the table."""
    table = Table(title="gather in the simulator, float32, int32 indices")
    for heading in ("case", "seconds", "Melements/s", "numpy.take, seconds"):
        table.add_column(heading, justify="left" if heading == "case" else "right")
    rng = np.random.default_rng(0)
    for title, shape, count, axis in CASES:
        x = rng.standard_normal(shape, np.float32)
        indices = rng.integers(0, shape[axis], count).astype(np.int32)
        if "transposed" in title:
            x, axis = x.T, 0  # noqa: PLW2901  the same elements, seen the other way round
        expected = x.take(indices, axis)
        result = ck.gather(x, indices, axis)
        assert np.array_equal(result, expected), title
        times: dict[str, list[float]] = {"ours": [], "numpy": []}
        for _ in range(REPEATS):
            start = time.perf_counter()
            ck.gather(x, indices, axis)
            middle = time.perf_counter()
            x.take(indices, axis)
            times["ours"].append(middle - start)
            times["numpy"].append(time.perf_counter() - middle)
        ours, numpy_time = (sorted(t)[REPEATS // 2] for t in times.values())
        table.add_row(title, f"{ours:.4f}", f"{result.size / ours / 1e6:.1f}", f"{numpy_time:.4f}")
    console = new_console()
    console.print(table)
    console.print(
        f"goal for the first case: below {GOAL_SECONDS} s on two cores; medians of {REPEATS}"
    )


if __name__ == "__main__":
    main()
