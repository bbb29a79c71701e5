"""The measurement of the simulator's speed: results, rows, budgets; nothing is timed here."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest

from perf.static import simulator, user_kernels
from perf.static.comparison import Comparison, Row, require
from perf.static.simulator import ObservedCase
from tests.helpers.rows import each


def test_a_wrong_result_has_no_time():
    kernel = user_kernels.kernels(2**14, np.random.default_rng(0))[0]
    idle = partial(kernel.prepare, lambda _kernel, _arguments: int)  # launches nothing
    with pytest.raises(AssertionError, match=f"{kernel.title}, ours"):
        Comparison(kernel.title, {"ours": idle}, kernel.expected).row()
    require(np.array([1.0, 1e-6]), np.array([1.0, 0.0]), "nearly")
    require(np.array([1.0, 2.0]), np.array(3.0), "in sum")
    for result, expected in (([1, 2], [1, 3]), ([1.0, 1.0], [1.0]), ([1.0, 1e-4], [1.0, 0.0])):
        with pytest.raises(AssertionError, match="it"):
            require(np.array(result), np.array(expected), "it")


@each(
    ("times", "found"),
    [
        ([(8, 1, 4), (8, 1, None)], []),
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


def test_observed_launches_are_held_to_a_limit(monkeypatch):
    monkeypatch.setattr(simulator, "REPEATS", 1)
    x = np.arange(64, dtype=np.float32)
    cases = [ObservedCase("it", limit, x.copy, x) for limit in (1e9, 0)]
    monkeypatch.setattr(ObservedCase, "accesses", lambda _case: 64)
    monkeypatch.setattr(simulator, "observed_gathers", lambda _rng: cases)
    monkeypatch.setattr(simulator, "observed_user_kernels", lambda _rng: [])
    broken = simulator.measure_observed(np.random.default_rng(0))
    assert [re.sub(r"\d+ ns", "N ns", fault) for fault in broken] == [
        f"it: an access takes N ns in {name}, more than 0" for name in ("checked", "traffic")
    ]


def test_an_access_is_that_of_one_thread_by_one_instruction():
    found, ready = {}, simulator.simulator_launcher()
    for kernel in user_kernels.kernels(2**14, np.random.default_rng(0)):
        launch = partial(kernel.prepare, ready)
        require(launch()(), kernel.expected, kernel.title)
        case = ObservedCase("", 0, lambda launch=launch: launch()(), kernel.expected)
        found[kernel.name] = case.accesses()
    n, blocks = 2**14, 2**14 // 256
    assert found["saxpy"] == 3 * n
    assert found["global_histogram"] == 2 * n
    assert found["warp_sum"] == n + n // 32
    # A load and a store, 255 additions of 2 loads and a store each, a load and a store of the sum.
    assert found["tree_sum"] == blocks * (2 * 256 + 3 * 255 + 2)
