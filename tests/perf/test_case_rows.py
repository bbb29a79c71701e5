"""What rows cost, held against rows that are laid out and picked one by one."""

from __future__ import annotations

from math import lcm

import numpy as np
import pytest

from perf.cases.gather import GatherProblem
from perf.cases.gather_nd import GatherNDProblem
from perf.cases.one_hot import OneHotProblem
from perf.cases.rows import bytes_of_distinct, granules_of_row

PROBLEMS = [
    GatherProblem((50, 3), 0, (40,), "float32", "int32", "random"),
    GatherProblem((50, 3), 0, (4, 10), "float16", "int64", "out_of_range"),
    GatherProblem((6, 5, 7), 1, (40,), "uint8", "int32", "sorted"),
    GatherProblem((50,), 0, (40,), "float64", "int32", "equal"),
    GatherNDProblem((3, 4, 5, 6), (3, 7, 2), 1, "float16", "int64"),
    GatherNDProblem((4, 5, 6), (7, 2), 0, "float32", "int32"),
    OneHotProblem((9, 5), 7, 1, "int8", "int64"),
    OneHotProblem((30,), 7, 1, "float16", "int64"),
]


def touched(rows, row_bytes, granule):
    """Return the set of granules that each row lies in."""
    return [set(range(r * row_bytes // granule, ((r + 1) * row_bytes - 1) // granule + 1))
            for r in rows]  # fmt: skip


@pytest.mark.parametrize("granule", [32, 64])
@pytest.mark.parametrize("row_bytes", [1, 2, 3, 4, 12, 16, 17, 48, 64, 100, 128, 1000, 1024])
def test_granules_of_a_row(row_bytes, granule):
    rows = range(lcm(row_bytes, granule) // row_bytes)
    mean = np.mean([len(each) for each in touched(rows, row_bytes, granule)])
    assert granules_of_row(row_bytes, granule) == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize(
    ("count", "rows", "row_bytes"),
    [(300, 4000, 4), (5000, 4000, 4), (200_000, 4000, 4), (700, 1000, 64), (900, 2000, 100)],
)
def test_distinct_granules(count, rows, row_bytes):
    picks = np.random.default_rng(2).integers(0, rows, count).tolist()
    found = 64 * len(set().union(*touched(picks, row_bytes, 64)))
    assert bytes_of_distinct(count, rows * row_bytes, row_bytes, 64) == pytest.approx(
        found, rel=0.05
    )


def test_a_large_table_is_read_row_by_row_and_a_small_one_once():
    small = GatherProblem((2**20,), 0, (2**24,), "float32", "int32", "random")
    assert small.traffic().read == pytest.approx(2**24 * 4 + 2**20 * 4)
    assert small.traffic(cached=False).read == 2**24 * (4 + 64)
    large = GatherProblem((2**25,), 0, (2**24,), "float32", "int32", "random")
    assert large.traffic() == large.traffic(cached=False)


def test_planes_have_tables_of_their_own():
    problem = GatherProblem((4096, 2**16), 1, (2**16,), "float32", "int32", "random")
    assert problem.traffic().read == pytest.approx(4096 * 2**16 * 4 + 2**16 * 4, rel=1e-6)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.title)
def test_one_wrong_bit_is_found_wherever_it_is(problem, monkeypatch):
    monkeypatch.setattr("perf.cases.rows.CHUNK", 37)
    monkeypatch.setattr("perf.cases.one_hot.CHUNK", 37)
    inputs, (out,) = problem.inputs(np, 3), problem.outputs(np)
    problem.call(inputs, (out,))()
    problem.check(np, inputs, (out,))
    bits = out.reshape(-1).view(f"u{out.itemsize}")
    for k in range(bits.size):
        bits[k] ^= 1
        with pytest.raises(AssertionError, match=r"^1 of \d+ elements are wrong"):
            problem.check(np, inputs, (out,))
        bits[k] ^= 1
