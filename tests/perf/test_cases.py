"""The benchmark matrix: its cases, least bytes and data, the same kernels at smaller sizes."""

from __future__ import annotations

import mmap
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from math import prod
from multiprocessing import get_context

import numpy as np
import pytest

from cudakern.engines import use
from perf.cases import CASES, SHAPES, SWEEPS, find
from perf.cases.base import LINE_BYTES, SECTOR_BYTES
from perf.cases.gather import GatherWorkload
from perf.cases.nonzero_coordinates import NonzeroWorkload
from perf.cases.reduce import ReduceWorkload
from perf.engines import NullEngine, RecordingEngine
from tests.helpers.samples import sample

LINES = [(case.name, line) for case in CASES for line in case.lines]
IDS = [f"{name}: {line.workload.title}" for name, line in LINES]
WORKLOADS = [line.workload for _, line in LINES]


def by_name(name):
    (case,) = find([name])
    return case


def test_names_and_titles_are_unique():
    cases = CASES + SHAPES + SWEEPS
    assert len({case.name for case in cases}) == len(cases)
    for group in (CASES, SHAPES, SWEEPS):
        titles = [(line.workload.operator, line.workload.title) for c in group for line in c.lines]
        assert len(set(titles)) == len(titles)
    assert by_name("R-4").lines[0].workload.title == "[2^22, 33] f32 sum, axis 1"
    assert by_name("Z-2").lines[0].workload.title == "[2^28] bool, 1 %, u32"


def test_shapes_leave_time_in_a_run():
    assert sum(line.workload.traffic().total for case in SHAPES for line in case.lines) < 3e9


def test_find():
    assert find([]) == CASES + SWEEPS + SHAPES
    assert [case.name for case in find(["sweep-gather", "Z-3"])] == ["sweep-gather", "Z-3"]
    with pytest.raises(ValueError, match="got 'Z-10'"):
        find(["R-1", "Z-10"])


@pytest.mark.parametrize(
    ("name", "ceiling"),
    [("R-1", "read"), ("Z-1", "read"), ("Z-3", "copy"), ("G-4", "copy"), ("O-1", "write")],
)
def test_ceilings(name, ceiling):
    assert by_name(name).lines[0].workload.traffic().ceiling == ceiling


def test_quick_lines_are_few_and_small():
    quick = [(name, line.workload) for name, line in LINES if line.quick]
    assert 20 <= len(quick) <= 30
    for name, workload in quick:
        assert workload.traffic().total <= 2.3e9, name
    assert {name[0] for name, _ in quick} == set("RZGO")


class Reserved:
    """Stands for NumPy where memory is not touched: of any size, none of it there."""

    @staticmethod
    def empty(shape, dtype):
        shape, dtype = np.atleast_1d(shape), np.dtype(dtype)
        nbytes = max(1, prod(map(int, shape)) * dtype.itemsize)
        no_reserve = getattr(mmap, "MAP_NORESERVE", 0x4000)
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | no_reserve
        memory = mmap.mmap(-1, nbytes, flags=flags)
        return np.ndarray(shape, dtype, memory)


@pytest.mark.parametrize("workload", WORKLOADS, ids=IDS)
@pytest.mark.parametrize("elements", [2**18, 2**20])
def test_smaller_workloads(workload, elements):
    small = workload.shrunk(elements)
    assert type(small) is type(workload)
    assert small.size <= max(2 * elements, 2**14)
    assert small.size >= min(workload.size, elements / 4)
    if workload.size <= elements:
        assert small == workload
    for size, before in zip(
        getattr(small, "shape", ()), getattr(workload, "shape", ()), strict=True
    ):
        assert size <= before
        assert size == before or before not in {4, 8, 33}


# Above 2 GB, offsets have 64 bits; otherwise these are the same kernels.
WIDE = {"[2^28] f64 sum", "[2^14, 2^14] f64 sum, axis 1, transposed", "[2^17] int64 x 50257 f16"}


def entries():
    """Return the kernel of each line, and whether it has one block, at full and smaller sizes."""
    engine = RecordingEngine(NullEngine())
    found = []
    with use(engine):
        for workload in WORKLOADS:
            row = []
            for p in (workload, workload.shrunk(2**20), workload.shrunk(2**18)):
                engine.launches.clear()
                p.call(p.blank(Reserved), p.outputs(Reserved))()
                (launch,) = engine.launches
                row.append((launch.kernel.entry, launch.grid == (1, 1, 1)))
            found.append(row)
    return found


def test_smaller_workloads_run_the_same_kernels():
    # Prepared launches are kept with the engine they were made for: hence another process.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = pool.submit(entries).result()
    for workload, ((entry, is_small), *smaller) in zip(WORKLOADS, found, strict=True):
        assert entry.startswith(f"ck_{workload.operator}_")
        assert entry.endswith("_o64") == (workload.title in WIDE), entry
        expected = [(entry.replace("_o64", "_o32"), is_small)] * 2
        if workload.title.startswith("[2^16, 1024]"):  # so few of these rows get a block each
            expected[1] = (entry.replace("_warps_", "_stream_"), is_small)
        assert smaller == expected, workload.title


@pytest.mark.parametrize("workload", WORKLOADS, ids=IDS)
def test_inputs_are_as_blank_ones_and_differ_by_seed(workload):
    workload = workload.shrunk(2**12)
    first, again, other = (workload.inputs(np, seed) for seed in (1, 1, 2))
    for array, blank, same in zip(first, workload.blank(np), again, strict=True):
        assert (array.shape, array.dtype) == (blank.shape, blank.dtype)
        assert array.strides == blank.strides
        assert np.array_equal(array, same)
    differs = any(not np.array_equal(a, b) for a, b in zip(first, other, strict=True))
    assert differs == (getattr(workload, "density", 0.5) not in {0, 1})


def test_reduced_numbers():
    for workload in (p for p in WORKLOADS if isinstance(p, ReduceWorkload)):
        (x,) = workload.shrunk(2**16).inputs(np, 3)
        if x.dtype.kind == "f":
            low, high = x.min().astype(float), x.max().astype(float)
            assert low > 0
            assert 1 < high / low <= 3
            assert len(np.unique(x)) > min(x.size, 1024) / 2
        else:
            assert x.min() < -90 < 90 < x.max()


def test_sums_of_halves_are_finite():
    half = find(["R-2"])[0].lines[1].workload
    assert half.dtype == "float16"
    (x,) = replace(half, shape=(2**22,)).inputs(np, 3)
    total = x.sum(dtype=np.float64)
    assert 2**14 < total < 65504
    assert x.min() >= 2**-14  # no subnormal numbers


def test_numbers_of_elements_that_are_not_zero():
    for workload in (p for p in WORKLOADS if isinstance(p, NonzeroWorkload)):
        small = workload.shrunk(2**18)
        (x,) = small.inputs(np, 3)
        count, size = np.count_nonzero(x), x.size
        if workload.pattern == "last":
            assert x[-65536:].all()
            assert count == 65536
        else:
            deviation = (workload.density * (1 - workload.density) * size) ** 0.5
            assert abs(count - workload.density * size) <= 5 * deviation
        assert small.nonzeros == (65536 if workload.pattern == "last" else workload.density * size)
        if workload.pattern == "clustered":  # pieces of 64 elements
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


def rows_of(workload, table, indices):
    """Return the numbers of the rows that a gather picks, and their bytes."""
    if workload.operator == "gather":  # the same indices for each batch
        first, depth, tuples = workload.axis, 1, indices.reshape(1, -1, 1)
    else:
        first, depth = workload.batch_dims, indices.shape[-1]
        tuples = indices.reshape(prod(table.shape[:first]), -1, depth)
    rows = np.arange(prod(table.shape[:first]))[:, None]
    for k, extent in enumerate(table.shape[first : first + depth]):
        index = tuples[..., k].astype(np.int64)
        index = np.clip(np.where(index < 0, index + extent, index), 0, extent - 1)
        rows = rows * extent + index
    return rows.reshape(-1), prod(table.shape[first + depth :]) * table.itemsize


@pytest.mark.parametrize("workload", WORKLOADS, ids=IDS)
@pytest.mark.parametrize(("granule", "cached"), [(LINE_BYTES, True), (SECTOR_BYTES, False)])
def test_traffic_is_what_the_data_says(workload, granule, cached):
    workload = workload.shrunk(2**18)
    inputs, outputs = workload.inputs(np, 5), workload.outputs(np)
    read = sum(array.nbytes for array in inputs)
    written = sum(array.nbytes for array in outputs)
    slack = 0  # five standard deviations
    if workload.operator == "nonzero_coordinates":
        count, coordinates = outputs
        written = count.nbytes + np.count_nonzero(inputs[0]) * coordinates[0].nbytes
        slack = 5 * (workload.density * (1 - workload.density) * workload.size) ** 0.5
        slack *= coordinates[0].nbytes
    elif workload.operator in {"gather", "gather_nd"}:
        each, distinct = granules_of(*rows_of(workload, *inputs), granule)
        once = cached or getattr(workload, "pattern", "") in {"sorted", "equal"}
        read = inputs[1].nbytes + (distinct if once else each.sum()) * granule
        slack = 2.5 * each.sum() * granule / len(each) ** 0.5
        if cached and getattr(workload, "pattern", "") == "out_of_range":
            slack += 0.06 * read  # those beyond the ends share two rows: not in the figure
    found = workload.traffic(cached=cached)
    assert abs(found.read - read) <= slack + 0.002 * read
    assert abs(found.written - written) <= slack


def poisoned(workload):
    """Return outputs full of NaNs, or of numbers that are no results."""
    outputs = workload.outputs(np)
    for array in outputs:
        array.reshape(-1).view(np.uint8)[...] = 0xFF if array.dtype.kind == "f" else 0xA5
    return outputs


def corrupted(workload, outputs):
    """Yield outputs of which one element that means something is wrong: first, any, last."""
    rng = np.random.default_rng(9)
    for k, array in enumerate(outputs):
        size = array.size
        if workload.operator == "nonzero_coordinates" and k == 1:
            size = int(outputs[0][0]) * array.shape[1]
        for at in {0, int(rng.integers(size)), size - 1} if size else ():
            bad = [a.copy() for a in outputs]
            flat = bad[k].reshape(-1)
            if workload.operator == "reduce" and array.dtype.kind == "f":
                flat[at] *= array.dtype.type(1.01)
            else:
                flat.view(np.uint8)[at * array.itemsize] ^= 1
            yield bad


RUN = [line.workload.shrunk(2**12) for _, line in LINES] + [c.lines[0].workload for c in SWEEPS]
RUN += [case.lines[0].workload.shrunk(2**12) for case in SHAPES]


@pytest.mark.parametrize("workload", sample(RUN, 3), ids=lambda workload: workload.title)
def test_runs_and_is_checked(workload, monkeypatch):
    monkeypatch.setattr("perf.cases.rows.CHUNK", 997)  # several pieces, the last of them smaller
    monkeypatch.setattr("perf.cases.one_hot.CHUNK", 997)
    inputs, outputs = workload.inputs(np, 11), poisoned(workload)
    before = [array.copy() for array in inputs]
    with pytest.raises(AssertionError):
        workload.check(np, inputs, outputs)
    workload.call(inputs, outputs)()
    workload.check(np, inputs, outputs)
    for array, as_before in zip(inputs, before, strict=True):
        assert np.array_equal(array, as_before)
    wrong = list(corrupted(workload, outputs))
    assert wrong
    for bad in wrong:
        with pytest.raises(AssertionError):
            workload.check(np, inputs, bad)


@pytest.mark.parametrize("name", ["R-1", "R-6", "R-9"])
def test_a_lost_share_of_a_sum_is_noticed(name):
    workload = find([name])[0].lines[0].workload.shrunk(2**22)
    (x,) = workload.inputs(np, 13)
    total = x.sum(workload.axes, dtype=np.float64)
    workload.check(np, (x,), (np.asarray(total, workload.dtype),))
    lost = np.asarray(total * (1 - 1 / 2048), workload.dtype)  # one of the most blocks that share
    with pytest.raises(AssertionError, match="results are wrong"):
        workload.check(np, (x,), (lost,))


def test_a_large_table_is_read_row_by_row_and_a_small_one_once():
    small = GatherWorkload((2**20,), 0, (2**24,), "float32", "int32", "random")
    assert small.traffic().read == pytest.approx(2**24 * 4 + 2**20 * 4)
    assert small.traffic(cached=False).read == 2**24 * (4 + 32)
    large = GatherWorkload((2**25,), 0, (2**24,), "float32", "int32", "random")
    assert large.traffic().read == 2**24 * (4 + 64)
