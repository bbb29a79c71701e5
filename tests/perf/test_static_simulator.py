"""What the speed of the simulator is measured by: results, rows, budgets; nothing is timed."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest

from perf.static import comparison, launchers, pocl, simulator, user_kernels
from perf.static.comparison import Comparison, Row, require
from perf.static.simulator import ObservedCase

NAMES = re.findall(r"__global__ void (\w+)", user_kernels.SOURCE.read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(comparison, "REPEATS", 1)
    monkeypatch.setattr(comparison, "LONG", 0)
    monkeypatch.setattr(simulator, "REPEATS", 1)
    monkeypatch.setattr(simulator, "ELEMENTS", 2**14)
    monkeypatch.setattr(pocl, "launcher", lambda _code: None)  # not everybody has it


@pytest.mark.parametrize("name", ["saxpy", "n_body", "grid_sum"])
def test_a_wrong_result_has_no_time(name):
    (kernel,) = (k for k in user_kernels.kernels(2**14, np.random.default_rng(0)) if k.name == name)
    idle = partial(kernel.prepared, lambda _kernel, _arguments: int)  # launches nothing
    with pytest.raises(AssertionError, match=f"{kernel.title}, ours"):
        Comparison(kernel.title, {"ours": idle}, kernel.expected).row()


@pytest.mark.parametrize(
    ("result", "expected", "same"),
    [
        ([1, 2], [1, 2], True),
        ([1, 2], [1, 3], False),
        ([1, 2], [1], False),
        ([1.0, 1.0], [1.0], False),
        ([1.0, 1e-6], [1.0, 0.0], True),
        ([1.0, 1e-4], [1.0, 0.0], False),
        ([1.0, 2.0], 3.0, True),
        ([1.0, 2.0], 3.1, False),
        (np.nan, 1.0, False),
    ],
)
def test_results_are_held_against_an_oracle(result, expected, same):
    try:
        require(np.asarray(result), np.asarray(expected), "it")
    except AssertionError:
        assert not same
    else:
        assert same


def test_each_kernel_gives_what_the_oracle_says_in_the_simulator_and_in_cpp():
    rows = [c.row() for c in launchers.comparisons(2**14, np.random.default_rng(0))]
    assert sorted(row.title for row in rows) == sorted(name.replace("_", " ") for name in NAMES)
    assert all(set(row.times) == {"ours", "C++"} for row in rows)
    assert all(min(row.wall, *row.times.values()) > 0 for row in rows)


def test_pocl_gets_each_kernel_without_warps(monkeypatch):
    text = pocl.opencl_of(user_kernels.SOURCE.read_text(encoding="utf-8"))
    assert "_sync(" not in text
    assert re.findall(r"^kernel void (\w+)", text, re.MULTILINE) == [
        name for name in NAMES if name not in pocl.LACKING
    ]
    lists = re.findall(r"^kernel void \w+\((.*)\)", text, re.MULTILINE)
    assert len(lists) == 9
    assert [p.count("*") for p in lists] == [len(re.findall(r"global \w+\* ", p)) for p in lists]
    assert "kernel void saxpy(int n, float a, const global float* x, global float* y) {" in text
    monkeypatch.setattr(pocl, "launcher", lambda _code: lambda *_: None)
    compared = launchers.comparisons(2**14, np.random.default_rng(0))
    lacking = {c.title for c in compared if "POCL" not in c.contenders}
    assert lacking == {"grid sum", "warp sum"}


@pytest.mark.parametrize(
    ("times", "found"),
    [
        ([(8, 1, 4), (8, 1, None)], []),
        ([(10, 1, 5), (6, 1, None)], []),
        ([(10, 1, 5), (7, 1, None)], ["kernels of users: 8.4 times C++, more than 8"]),
        ([(26, 1, 13), (1, 1, None)], ["0: 26.0 times C++, more than 25"]),
        ([(8, 1, 3), (1, 1, 1)], ["0: 2.7 times POCL, more than 2"]),
    ],
)
def test_kernels_of_users_are_held_to_budgets(times, found):
    rows = [
        Row(str(i), {k: t for k, t in zip(("ours", "C++", "POCL"), row, strict=True) if t}, 0)
        for i, row in enumerate(times)
    ]
    assert simulator.faults(rows) == found


def test_a_kernel_may_have_a_limit_of_its_own(monkeypatch):
    monkeypatch.setattr(simulator, "ALLOWED", {("it", "C++"): 50})
    rows = [Row(title, {"ours": 30, "C++": 1}, 0) for title in ("it", "other")]
    monkeypatch.setattr(simulator, "MEAN", 100)
    assert simulator.faults(rows) == ["other: 30.0 times C++, more than 25"]


def test_plain_launches_are_shown_beside_others(monkeypatch, capsys):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(simulator, "faults", lambda rows: [row.title for row in rows])
    kernels = simulator.measure_plain(rng)
    assert len(kernels) == len(NAMES)
    said = capsys.readouterr().out
    for name in (*NAMES, "nonzero", "sum of 1 element", "ours / NumPy"):
        assert name.replace("_", " ") in said.replace("_", " ")
    assert "geometric mean of ours / C++: " in said
    assert pocl.ABSENT in said
    allowed = {title for title, _ in simulator.ALLOWED}
    assert allowed < set(kernels)


def test_observed_launches_are_held_to_a_limit(monkeypatch, capsys):
    x = np.arange(64, dtype=np.float32)
    cases = [ObservedCase("it", limit, x.copy, x) for limit in (1e9, 0)]
    monkeypatch.setattr(ObservedCase, "accesses", lambda _case: 64)
    monkeypatch.setattr(simulator, "observed_gathers", lambda _rng: cases)
    monkeypatch.setattr(simulator, "observed_user_kernels", lambda _rng: [])
    broken = simulator.measure_observed(np.random.default_rng(0))
    assert [re.sub(r"\d+ ns", "N ns", fault) for fault in broken] == [
        f"it: an access takes N ns in {name}, more than 0" for name in ("checked", "traffic")
    ]
    assert "limit" in capsys.readouterr().out


def test_eight_launches_are_observed():
    rng = np.random.default_rng(0)
    cases = [*simulator.observed_gathers(rng), *simulator.observed_user_kernels(rng)]
    assert len({case.title for case in cases}) == 8
    for case in cases[-2:]:
        require(case.launch(), case.expected, case.title)


def test_an_access_is_that_of_one_thread_by_one_instruction():
    rng = np.random.default_rng(0)
    ready = launchers.simulated()
    found = {}
    for kernel in user_kernels.kernels(2**14, rng):
        case = ObservedCase("", 0, lambda k=kernel: k.prepared(ready)(), kernel.expected)
        found[kernel.name] = case.accesses()
    n, blocks = 2**14, 2**14 // 256
    assert found["saxpy"] == 3 * n
    assert found["global_histogram"] == 2 * n
    assert found["warp_sum"] == n + n // 32
    # A load and a store, 255 additions of two loads and a store, a load and a store of the sum.
    assert found["tree_sum"] == blocks * (2 * 256 + 3 * 255 + 2)
