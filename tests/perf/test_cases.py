"""The benchmark matrix: its cases, least times, arrays, and kernels at smaller sizes."""

from __future__ import annotations

import mmap
from concurrent.futures import ProcessPoolExecutor
from math import prod
from multiprocessing import get_context

import numpy as np
import pytest

from cudakern.engines import use
from perf.cases import CASES, SHAPES, SWEEPS, find
from perf.cases.base import SECTOR_BYTES
from perf.engines import NullEngine, RecordingEngine

# Least times of the lines of each case in microseconds, at 4.3 TB/s. -: too small to matter, or of
# no size in particular.
LEAST = {
    "R": "250 250,62 125,62.5 62.5 62.5,133 78,1 62.5,250,125 129,15.6 15.6,499 499,- - - -",
    # Z-9 as Z-3, but with two coordinates.
    "Z": "62 62,65 67,187 312,310 557 312 562 62,624 999,175 225,5.5 7,- - -,312",
    # G-1 in lines, 2497 in sectors; G-2: 500 and the table; G-8: 33 if slices that are picked again
    # are read again.
    "G": "4495,749 503,531 -,501,500 437,- - - - -,500,29.8,- -,- -",
    "O": "977,70,70,3064,1953,64,379,-",
}
LINES = [(case.name, line) for case in CASES for line in case.lines]
IDS = [f"{name}: {line.problem.title}" for name, line in LINES]
PROBLEMS = [line.problem for _, line in LINES]


def by_name(name):
    (case,) = find([name])
    return case


def is_about(found, expected):
    """Return whether a figure is that of a table, whose own figures are rounded: 2 per mille."""
    digits = len(expected.partition(".")[2])
    return abs(found - float(expected)) <= 0.5 * 10**-digits + 0.002 * float(expected)


def test_names():
    counts = {"R": 10, "Z": 9, "G": 10, "O": 8}
    names = [f"{letter}-{k}" for letter, count in counts.items() for k in range(1, count + 1)]
    assert [case.name for case in CASES] == names
    assert len(names) == 37


def test_sweeps():
    operators = ["reduce", "nonzero_coordinates", "gather", "gather_nd", "one_hot"]
    assert [case.name for case in SWEEPS] == [f"sweep-{operator}" for operator in operators]
    for case, operator in zip(SWEEPS, operators, strict=True):
        problems = [line.problem for line in case.lines]
        assert {problem.operator for problem in problems} == {operator}
        sizes = [problem.size for problem in problems]
        assert sizes == sorted(set(sizes))
        assert sizes[0] <= 2**14
        assert sizes[-1] >= 2**26
    for case in SWEEPS[:2]:
        assert [line.problem.size for line in case.lines] == [4**k for k in range(5, 15)]


def test_shapes():
    assert [case.name for case in SHAPES] == [f"S-{number}" for number in range(1, 8)]
    titles = [line.problem.title for case in SHAPES for line in case.lines]
    assert len(set(titles)) == len(titles)
    # A run has twelve minutes: shapes must not take long.
    assert sum(line.problem.traffic().total for case in SHAPES for line in case.lines) < 3e9


def test_titles_are_unique():
    titles = [(p.operator, p.title) for p in PROBLEMS]
    assert len(set(titles)) == len(titles)
    assert by_name("R-4").lines[0].problem.title == "[2^22, 33] f32 sum, axis 1"
    assert by_name("Z-2").lines[0].problem.title == "[2^28] bool, 1 %, u32"


def test_find():
    assert find([]) == CASES + SWEEPS + SHAPES
    assert [case.name for case in find(["sweep-gather", "Z-3"])] == ["sweep-gather", "Z-3"]
    with pytest.raises(ValueError, match="got 'Z-10'"):
        find(["R-1", "Z-10"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_least_times(case):
    letter, number = case.name.split("-")
    least = LEAST[letter].split(",")[int(number) - 1].split()
    for line, expected in zip(case.lines, least, strict=True):
        found = line.problem.traffic().microseconds()
        assert expected == "-" or is_about(found, expected), (line.problem.title, found)


def test_least_times_of_other_models():
    (scalars,), (slices,) = by_name("G-1").lines, by_name("G-8").lines
    assert is_about(scalars.problem.traffic(SECTOR_BYTES).microseconds(), "2497")
    assert is_about(slices.problem.traffic(cached=False).microseconds(), "33")


@pytest.mark.parametrize(
    ("name", "ceiling"),
    [("R-1", "read"), ("Z-1", "read"), ("Z-3", "copy"), ("G-4", "copy"), ("O-1", "write")],
)
def test_ceilings(name, ceiling):
    assert by_name(name).lines[0].problem.traffic().ceiling == ceiling


def test_each_line_has_limits():
    for case in CASES:
        for line in case.lines:
            assert line.goal is None or 0.5 <= line.goal < 1
            assert line.goal_us is None or 0 < line.goal_us <= 15
            assert line.moved >= 1.05


def test_quick_lines_are_few_and_small():
    quick = [(name, line.problem) for name, line in LINES if line.quick]
    assert 20 <= len(quick) <= 30
    for name, problem in quick:
        assert problem.traffic().total <= 2.3e9, name
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


FULL = [
    ("R-3", 1, [((65536, 1024), "f4", (4096, 4))], [((65536,), "i8")]),
    ("R-8", 1, [((32, 64, 128, 128), "f2", (2097152, 32768, 256, 2))], [((64,), "f2")]),
    ("R-9", 1, [((16384, 16384), "f8", (8, 131072))], [((16384,), "f8")]),
    ("Z-4", 3, [((2**28,), "?", (1,))], [((1,), "u4"), ((2**28, 1), "i8")]),
    ("Z-5", 1, [((512, 512, 1024), "f4", None)], [((1,), "u4"), ((2**28, 3), "i8")]),
    ("Z-9", 0, [((16384, 16384), "?", (1, 16384))], [((1,), "u4"), ((2**28, 2), "u4")]),
    ("G-7", 0, [((4096, 65536), "f4", None), ((65536,), "i4", (4,))], [((4096, 65536), "f4")]),
    (
        *("G-8", 0, [((64, 128, 128, 64), "f2", None), ((64, 8192, 2), "i8", None)]),
        [((64, 8192, 64), "f2")],
    ),
    ("O-4", 0, [((131072,), "i8", (8,))], [((131072, 50257), "f2")]),
    ("O-6", 0, [((256, 4096), "i8", (32768, 8))], [((256, 64, 4096), "f4")]),
]


@pytest.mark.parametrize(("name", "line", "inputs", "outputs"), FULL)
def test_arrays_of_full_size(name, line, inputs, outputs):
    problem = by_name(name).lines[line].problem
    blank, empty = problem.blank(Reserved), problem.outputs(Reserved)
    for found, (shape, dtype, strides) in zip(blank, inputs, strict=True):
        assert (found.shape, found.dtype) == (shape, np.dtype(dtype))
        assert found.flags.c_contiguous if strides is None else found.strides == strides
    for found, expected in zip(empty, outputs, strict=True):
        assert (found.shape, found.dtype) == (expected[0], np.dtype(expected[1]))
    largest = max(array.size for array in (*blank, *empty))
    assert problem.size == (max(a.size for a in blank) if name[0] == "Z" else largest)


@pytest.mark.parametrize("problem", PROBLEMS, ids=IDS)
@pytest.mark.parametrize("elements", [2**18, 2**20])
def test_smaller_problems(problem, elements):
    small = problem.shrunk(elements)
    assert type(small) is type(problem)
    assert small.size <= max(2 * elements, 2**14)
    assert small.size >= min(problem.size, elements / 4)
    if problem.size <= elements:
        assert small == problem
    for size, before in zip(
        getattr(small, "shape", ()), getattr(problem, "shape", ()), strict=True
    ):
        assert size <= before
        assert size == before or before not in {4, 8, 33}


# Above 2 GB, offsets have 64 bits; otherwise these are the same kernels.
WIDE = {
    "[2^28] f64 sum",
    "[2^14, 2^14] f64 sum, axis 1, transposed",
    "[2^17] int64 x 50257 f16",
}


def entries():
    """Return the kernel of each line, and whether it has one block, at full and smaller sizes."""
    engine = RecordingEngine(NullEngine())
    found = []
    with use(engine):
        for problem in PROBLEMS:
            row = []
            for p in (problem, problem.shrunk(2**20), problem.shrunk(2**18)):
                engine.launches.clear()
                p.call(p.blank(Reserved), p.outputs(Reserved))()
                (launch,) = engine.launches
                row.append((launch.kernel.entry, launch.grid == (1, 1, 1)))
            found.append(row)
    return found


def test_smaller_problems_run_the_same_kernels():
    # Prepared launches are kept with the engine they were made for: hence another process.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = pool.submit(entries).result()
    for problem, ((entry, is_small), *smaller) in zip(PROBLEMS, found, strict=True):
        assert entry.startswith(f"ck_{problem.operator}_")
        assert entry.endswith("_o64") == (problem.title in WIDE), entry
        expected = [(entry.replace("_o64", "_o32"), is_small)] * 2
        if problem.title.startswith("[2^16, 1024]"):  # so few of these rows get a block each
            expected[1] = (entry.replace("_warps_", "_stream_"), is_small)
        assert smaller == expected, problem.title
