"""The data of benchmark cases: what it is like, what of it moves, that results are checked."""

from __future__ import annotations

from dataclasses import replace
from math import lcm, prod

import numpy as np
import pytest

from perf.cases import CASES, SHAPES, SWEEPS, find
from perf.cases.base import LINE_BYTES, SECTOR_BYTES
from perf.cases.gather import GatherProblem
from perf.cases.nonzero_coordinates import NonzeroProblem
from perf.cases.reduce import ReduceProblem
from perf.cases.rows import bytes_of_distinct, granules_of_row
from tests.helpers.samples import sample

LINES = [(case.name, line) for case in CASES for line in case.lines]
IDS = [f"{name}: {line.problem.title}" for name, line in LINES]
PROBLEMS = [line.problem for _, line in LINES]
BYTE = np.uint8


@pytest.mark.parametrize("problem", PROBLEMS, ids=IDS)
def test_inputs_are_as_blank_ones_and_differ_by_seed(problem):
    problem = problem.shrunk(2**12)
    first, again, other = (problem.inputs(np, seed) for seed in (1, 1, 2))
    for array, blank, same in zip(first, problem.blank(np), again, strict=True):
        assert (array.shape, array.dtype) == (blank.shape, blank.dtype)
        assert array.strides == blank.strides
        assert np.array_equal(array, same)
    differs = any(not np.array_equal(a, b) for a, b in zip(first, other, strict=True))
    assert differs == (getattr(problem, "density", 0.5) not in {0, 1})


def test_reduced_numbers():
    for problem in (p for p in PROBLEMS if isinstance(p, ReduceProblem)):
        (x,) = problem.shrunk(2**16).inputs(np, 3)
        if x.dtype.kind == "f":
            low, high = x.min().astype(float), x.max().astype(float)
            assert low > 0
            assert 1 < high / low <= 3
            assert len(np.unique(x)) > min(x.size, 1024) / 2
        else:
            assert x.min() < -90 < 90 < x.max()


def test_sums_of_halves_are_finite():
    half = find(["R-2"])[0].lines[1].problem
    assert half.dtype == "float16"
    (x,) = replace(half, shape=(2**22,)).inputs(np, 3)
    total = x.sum(dtype=np.float64)
    assert 2**14 < total < 65504
    assert x.min() >= 2**-14  # no subnormal numbers


def test_numbers_of_elements_that_are_not_zero():
    for problem in (p for p in PROBLEMS if isinstance(p, NonzeroProblem)):
        small = problem.shrunk(2**18)
        (x,) = small.inputs(np, 3)
        count, size = np.count_nonzero(x), x.size
        if problem.pattern == "last":
            assert x[-65536:].all()
            assert count == 65536
        else:
            deviation = (problem.density * (1 - problem.density) * size) ** 0.5
            assert abs(count - problem.density * size) <= 5 * deviation
        assert small.found == (65536 if problem.pattern == "last" else problem.density * size)
        if problem.pattern == "clustered":  # pieces of 64 elements
            pieces = (x.reshape(-1, 64) != 0).sum(1)
            assert set(pieces) == {0, 64}
            assert (np.diff(pieces) != 0).sum() > 100


def granules_of(rows, row_bytes, granule):
    """Return in how many granules each of some rows of a packed table lies, and all of them."""
    begin = rows * row_bytes
    first, last = begin // granule, (begin + row_bytes - 1) // granule
    change = np.zeros(int(last.max()) + 2, np.int64)
    np.add.at(change, first, 1)
    np.add.at(change, last + 1, -1)
    return last - first + 1, int((np.cumsum(change) > 0).sum())


def rows_of(problem, table, indices):
    """Return the numbers of the rows that a gather picks, and their bytes."""
    if problem.operator == "gather":
        extents, batches = (table.shape[problem.axis],), table.shape[: problem.axis]
        row = table.shape[problem.axis + 1 :]
        tuples = np.broadcast_to(indices.reshape(-1, 1), (prod(batches), indices.size, 1))
    else:
        depth = problem.batch_dims + indices.shape[-1]
        extents, batches = (
            table.shape[problem.batch_dims : depth],
            table.shape[: problem.batch_dims],
        )
        row = table.shape[depth:]
        tuples = indices.reshape(prod(batches), -1, indices.shape[-1])
    rows = np.arange(prod(batches))[:, None]
    for k, extent in enumerate(extents):
        index = tuples[..., k].astype(np.int64)
        index = np.clip(np.where(index < 0, index + extent, index), 0, extent - 1)
        rows = rows * extent + index
    return rows.reshape(-1), prod(row) * table.itemsize


@pytest.mark.parametrize("problem", PROBLEMS, ids=IDS)
@pytest.mark.parametrize("granule", [SECTOR_BYTES, LINE_BYTES])
@pytest.mark.parametrize("cached", [True, False])
def test_traffic_is_what_the_data_says(problem, granule, cached):
    problem = problem.shrunk(2**18)
    inputs, outputs = problem.inputs(np, 5), problem.outputs(np)
    read = sum(array.nbytes for array in inputs)
    written = sum(array.nbytes for array in outputs)
    slack = 0  # five standard deviations
    if problem.operator == "nonzero_coordinates":
        count, coordinates = outputs
        written = count.nbytes + np.count_nonzero(inputs[0]) * coordinates[0].nbytes
        slack = 5 * (problem.density * (1 - problem.density) * problem.size) ** 0.5
        slack *= coordinates[0].nbytes
    elif problem.operator in {"gather", "gather_nd"}:
        each, distinct = granules_of(*rows_of(problem, *inputs), granule)
        once = cached or getattr(problem, "pattern", "") in {"sorted", "equal"}
        read = inputs[1].nbytes + (distinct if once else each.sum()) * granule
        slack = 2.5 * each.sum() * granule / len(each) ** 0.5
        if cached and getattr(problem, "pattern", "") == "out_of_range":
            slack += 0.06 * read  # those beyond the ends share two rows: not in the figure
    found = problem.traffic(granule, cached=cached)
    assert abs(found.read - read) <= slack + 0.002 * read
    assert abs(found.written - written) <= slack


def poisoned(problem):
    """Return outputs full of NaNs, or of numbers that are no results."""
    outputs = problem.outputs(np)
    for array in outputs:
        array.reshape(-1).view(BYTE)[...] = 0xFF if array.dtype.kind == "f" else 0xA5
    return outputs


def corrupted(problem, outputs):
    """Yield outputs of which one element that means something is wrong: first, any, last."""
    rng = np.random.default_rng(9)
    for k, array in enumerate(outputs):
        size = array.size
        if problem.operator == "nonzero_coordinates" and k == 1:
            size = int(outputs[0][0]) * array.shape[1]
        for at in {0, int(rng.integers(size)), size - 1} if size else ():
            bad = [a.copy() for a in outputs]
            flat = bad[k].reshape(-1)
            if problem.operator == "reduce" and array.dtype.kind == "f":
                flat[at] *= array.dtype.type(1.01)
            else:
                flat.view(BYTE)[at * array.itemsize] ^= 1
            yield bad


RUN = [line.problem.shrunk(2**12) for _, line in LINES] + [c.lines[0].problem for c in SWEEPS]
RUN += [case.lines[0].problem.shrunk(2**12) for case in SHAPES]


@pytest.mark.parametrize("problem", sample(RUN, 3), ids=lambda problem: problem.title)
def test_runs_and_is_checked(problem, monkeypatch):
    monkeypatch.setattr("perf.cases.rows.CHUNK", 997)  # several pieces, the last of them smaller
    monkeypatch.setattr("perf.cases.one_hot.CHUNK", 997)
    inputs, outputs = problem.inputs(np, 11), poisoned(problem)
    kept = [array.copy() for array in inputs]
    with pytest.raises(AssertionError):
        problem.check(np, inputs, outputs)
    problem.call(inputs, outputs)()
    problem.check(np, inputs, outputs)
    for array, before in zip(inputs, kept, strict=True):
        assert np.array_equal(array, before)
    wrong = list(corrupted(problem, outputs))
    assert wrong
    for bad in wrong:
        with pytest.raises(AssertionError):
            problem.check(np, inputs, bad)


@pytest.mark.parametrize("name", ["R-1", "R-6", "R-9"])
def test_a_lost_share_of_a_sum_is_noticed(name):
    problem = find([name])[0].lines[0].problem.shrunk(2**22)
    (x,) = problem.inputs(np, 13)
    total = x.sum(problem.axes, dtype=np.float64)
    problem.check(np, (x,), (np.asarray(total, problem.dtype),))
    lost = np.asarray(total * (1 - 1 / 2048), problem.dtype)  # one of the most blocks that share
    with pytest.raises(AssertionError, match="results are wrong"):
        problem.check(np, (x,), (lost,))


@pytest.mark.parametrize("granule", [32, 64])
@pytest.mark.parametrize("row_bytes", [1, 2, 3, 4, 12, 16, 17, 48, 64, 100, 128, 1000, 1024])
def test_granules_of_a_row(row_bytes, granule):
    each, _ = granules_of(np.arange(lcm(row_bytes, granule) // row_bytes), row_bytes, granule)
    assert granules_of_row(row_bytes, granule) == pytest.approx(each.mean(), rel=1e-12)


@pytest.mark.parametrize(
    ("count", "rows", "row_bytes"),
    [(300, 4000, 4), (5000, 4000, 4), (200_000, 4000, 4), (700, 1000, 64), (900, 2000, 100)],
)
def test_distinct_granules(count, rows, row_bytes):
    _, distinct = granules_of(np.random.default_rng(2).integers(0, rows, count), row_bytes, 64)
    found = bytes_of_distinct(count, rows * row_bytes, row_bytes, 64)
    assert found == pytest.approx(64 * distinct, rel=0.05)


def test_a_large_table_is_read_row_by_row_and_a_small_one_once():
    small = GatherProblem((2**20,), 0, (2**24,), "float32", "int32", "random")
    assert small.traffic().read == pytest.approx(2**24 * 4 + 2**20 * 4)
    assert small.traffic(cached=False).read == 2**24 * (4 + 64)
    large = GatherProblem((2**25,), 0, (2**24,), "float32", "int32", "random")
    assert large.traffic() == large.traffic(cached=False)


def test_planes_have_tables_of_their_own():
    problem = GatherProblem((4096, 2**16), 1, (2**16,), "float32", "int32", "random")
    assert problem.traffic().read == pytest.approx(4096 * 2**16 * 4 + 2**16 * 4, rel=1e-6)
