"""The benchmark matrix: its cases, least bytes and data, the same kernels at smaller sizes."""

from __future__ import annotations

import mmap
import re
from math import prod

import numpy as np
import pytest

from cudakern.engines import use
from cudakern.operators.operator import operators
from cudakern.values.layout import SECTOR_BYTES
from perf.cases import CASES, MODULES, SHAPES, SWEEPS, find
from perf.cases.base import LINE_BYTES
from perf.cases.gather import GatherWorkload
from perf.engines import NullEngine, planned_as
from tests.helpers.rows import each
from tests.helpers.samples import sample

LINES = [(case.name, line) for case in CASES for line in case.lines]
IDS = [f"{name}: {line.workload.title}" for name, line in LINES]
WORKLOADS = [line.workload for _, line in LINES]


def test_cases_are_found_by_name():
    cases = CASES + SWEEPS + SHAPES
    assert find([]) == cases
    lines = [(case.name, line.workload.title) for case in cases for line in case.lines]
    assert len({case.name for case in cases}) == len(cases)
    assert len({*lines}) == len(lines)
    assert [case.name for case in find(["sweep-gather", "Z-3"])] == ["sweep-gather", "Z-3"]
    with pytest.raises(ValueError, match="got 'Z-10'"):
        find(["R-1", "Z-10"])


@each("operator", operators(), ids=lambda operator: operator.name)
def test_an_operator_has_its_own_module(operator):
    module = MODULES[operator.name]
    lines = [line.workload for case in (*module.CASES, module.SWEEP) for line in case.lines]
    workloads = [*lines, module.SMALL, *module.SIMULATED]
    assert {workload.operator for workload in workloads} == {operator.name}
    assert len({case.name[:2] for case in module.CASES}) == 1  # their letter
    assert module.SWEEP.name == f"sweep-{operator.name}"
    assert module.SMALL.size <= 1024
    called = {title.partition("(")[0] for title in module.GRAPHS}
    assert called == {function.__name__ for function in operator.functions}


def test_lines_are_held_against_the_memory_that_they_use_most():
    ceilings = [case.lines[0].workload.traffic().ceiling for case in find(["R-1", "G-4", "O-1"])]
    assert ceilings == ["read", "copy", "write"]


class Reserved:
    """Stands for NumPy where memory is reserved but not touched, so its size has no limit."""

    @staticmethod
    def empty(shape, dtype):
        shape, dtype = np.atleast_1d(shape), np.dtype(dtype)
        nbytes = max(1, prod(map(int, shape)) * dtype.itemsize)
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
        return np.ndarray(shape, dtype, mmap.mmap(-1, nbytes, flags=flags))


@each("workload", WORKLOADS, ids=IDS)
@each("elements", [2**18, 2**20])
def test_smaller_workloads(workload, elements):
    small = workload.shrink(elements)
    assert small.size <= max(2 * elements, 2**14)
    assert small.size >= min(workload.size, elements / 4)
    if workload.size <= elements:
        assert small == workload


def launch(workload):
    """Return the kernel of a workload, and whether it has one block."""
    call, engine = workload.call(workload.blank(Reserved), workload.outputs(Reserved)), NullEngine()
    with use(engine):
        call()
    launched = engine.launches[-1].parts[0]
    assert launched.shared_bytes <= launched.kernel.most_shared
    return launched.kernel.entry, launched.grid == (1, 1, 1)


@each("line", [line for _, line in LINES], ids=IDS)
def test_smaller_workloads_run_the_same_kernels(line):
    workload = line.workload
    entry, is_small = launch(workload)
    assert entry.startswith(f"ck_{workload.operator}_")
    assert entry.endswith("_o64") == line.wide, entry
    expected = {(_form(entry), is_small)}
    with planned_as(workload):
        small = [launch(workload.shrink(elements)) for elements in (2**20, 2**18)]
    assert {(_form(entry), is_small) for entry, is_small in small} == expected


def _form(entry):
    """Return a kernel's name without what the number of elements decides: offsets and turns."""
    return re.sub(r"_(o\d+|l[12]|n\d+|a|v)(?=_|$)", "", entry)


@each("workload", WORKLOADS, ids=IDS)
def test_inputs_are_as_blank_ones_and_differ_by_seed(workload):
    workload = workload.shrink(2**12)
    first, again, other = (workload.inputs(np, seed) for seed in (1, 1, 2))
    for array, blank, same in zip(first, workload.blank(np), again, strict=True):
        assert (array.shape, array.dtype) == (blank.shape, blank.dtype)
        assert array.strides == blank.strides
        assert np.array_equal(array, same)
    differs = any(not np.array_equal(a, b) for a, b in zip(first, other, strict=True))
    assert differs == (getattr(workload, "density", 0.5) not in {0, 1})


def granules_of(rows, row_bytes, granule):
    """Return how many granules of a packed table each of some rows touches, and all together."""
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


@each("workload", WORKLOADS, ids=IDS)
@each(("granule", "cached"), [(LINE_BYTES, True), (SECTOR_BYTES, False)])
def test_traffic_is_what_the_data_says(workload, granule, cached):
    workload = workload.shrink(2**18)
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
        of_rows, distinct = granules_of(*rows_of(workload, *inputs), granule)
        once = cached or getattr(workload, "pattern", "") in {"sorted", "equal"}
        read = inputs[1].nbytes + (distinct if once else of_rows.sum()) * granule
        slack = 2.5 * of_rows.sum() * granule / len(of_rows) ** 0.5
        if cached and getattr(workload, "pattern", "") == "out_of_range":
            slack += 0.06 * read  # indices beyond the ends share two rows; the figure ignores it
    found = workload.traffic(cached=cached)
    assert abs(found.read - read) <= slack + 0.002 * read
    assert abs(found.written - written) <= slack


def poisoned(workload):
    """Return outputs filled with NaN, or with numbers that are never results."""
    outputs = workload.outputs(np)
    for array in outputs:
        array.reshape(-1).view(np.uint8)[...] = 0xFF if array.dtype.kind == "f" else 0xA5
    return outputs


#: Operators whose floats are computed, and may be rounded otherwise.
COMPUTED = {"reduce"}


def corrupted(workload, outputs):
    """Yield outputs with one wrong element among those that count: the first, any, the last."""
    rng = np.random.default_rng(9)
    for k, array in enumerate(outputs):
        size = array.size
        if workload.operator == "nonzero_coordinates" and k == 1:
            size = int(outputs[0][0]) * array.shape[1]
        for at in {0, int(rng.integers(size)), size - 1} if size else ():
            bad = [a.copy() for a in outputs]
            flat = bad[k].reshape(-1)
            if array.dtype.kind == "f" and workload.operator in COMPUTED:
                flat[at] = flat[at] * array.dtype.type(1.01) or 1
            else:
                flat.view(np.uint8)[at * array.itemsize] ^= 1
            yield bad


RUN = [w.shrink(2**12) for w in WORKLOADS] + [case.lines[0].workload for case in SWEEPS]
RUN += [case.lines[0].workload.shrink(2**12) for case in SHAPES]
RUN = [
    workload
    for operator in MODULES
    for workload in sample([w for w in RUN if w.operator == operator], 7)
]


@each("workload", RUN, ids=lambda workload: workload.title)
def test_runs_and_is_checked(workload, monkeypatch):
    monkeypatch.setattr("perf.cases.rows.CHUNK", 997)  # several pieces; the last is smaller
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


@each("name", ["R-1", "R-6", "R-9"])
def test_a_lost_share_of_a_sum_is_noticed(name):
    workload = find([name])[0].lines[0].workload.shrink(2**22)
    (x,) = workload.inputs(np, 13)
    total = x.sum(workload.axes, dtype=np.float64)
    workload.check(np, (x,), (np.asarray(total, workload.dtype),))
    lost = np.asarray(total * (1 - 1 / 2048), workload.dtype)  # without one of 2048 blocks' parts
    with pytest.raises(AssertionError, match="results are wrong"):
        workload.check(np, (x,), (lost,))


def test_a_large_table_is_read_row_by_row_and_a_small_one_once():
    small = GatherWorkload((2**20,), 0, (2**24,), "float32", "int32", "random")
    assert small.traffic().read == pytest.approx(2**24 * 4 + 2**20 * 4)
    assert small.traffic(cached=False).read == 2**24 * (4 + 32)
    large = GatherWorkload((2**25,), 0, (2**24,), "float32", "int32", "random")
    assert large.traffic().read == 2**24 * (4 + 64)
