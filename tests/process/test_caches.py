"""What a process keeps: bounded, named, and given back."""

from __future__ import annotations

import gc
import json
import os
import random
import tracemalloc
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import cudakern as ck
from cudakern.__main__ import main
from cudakern.operators import binding
from cudakern.operators.operator import operators
from cudakern.process import caches
from cudakern.process.caches import MAX_ENTRIES, Size, Table
from tests.helpers.bindings import DESC, EXPECTED, INDICES, X
from tests.helpers.mixed_calls import call_all
from tests.helpers.rows import each

NAMES = sorted(["compiled operators", *(operator.name for operator in operators())])


@pytest.fixture
def cleared():
    """Run the test with empty caches."""
    ck.clear_caches()
    assert not any(size.entries for size in caches.sizes().values())


def test_every_cache_has_a_name_and_a_bound():
    assert all(getattr(ck, name) for name in ck.__all__)  # an operator's caches come with it
    sizes = caches.sizes()
    assert list(sizes) == NAMES
    assert all(size.limit > 0 for name, size in sizes.items() if name != "compiled operators")
    assert all(size.entries <= size.limit for size in sizes.values())


@each("beyond", [1, 50])
def test_a_loop_over_a_few_more_than_fit_finds_nearly_all(beyond):
    table, keys = Table(), range(MAX_ENTRIES + beyond)
    misses = 0
    for turn in range(12):
        for key in keys:
            if table.find(key) is None:
                table.add(key, key)
                misses += turn >= 2
    assert misses < 10 * len(keys) / 4  # about two for each that does not fit, in a turn


def test_the_random_numbers_of_the_caller_stay_as_they_are():
    table = Table()
    state = random.getstate()
    for key in range(MAX_ENTRIES + 10):
        table.add(key, key)
    assert random.getstate() == state


@pytest.mark.usefixtures("cleared")
def test_results_are_right_when_few_launches_are_kept(monkeypatch):
    monkeypatch.setattr(Table, "limit", 3)
    for seed in range(2):
        call_all(seed)
        sizes = caches.sizes()
        assert sizes["gather"] == sizes["one_hot"] == sizes["reduce"] == Size(6, 6)
        assert all(2 * sizes[o.name].entries >= sizes[o.name].limit for o in operators())


@pytest.mark.usefixtures("cleared")
def test_each_initial_value_is_an_entry_and_entries_are_few(monkeypatch):
    monkeypatch.setattr(Table, "limit", 16)
    x = np.arange(12).reshape(3, 4)
    for initial in range(50):
        np.testing.assert_array_equal(ck.reduce(x, "sum", 0, initial=initial), x.sum(0) + initial)
        assert caches.sizes()["reduce"].entries == min(2 * (initial + 1), 2 * 16)


def test_clearing_empties_every_table_and_results_stay_right():
    for seed in range(2):
        call_all(seed)
        sizes = caches.sizes()
        assert all(sizes[name].entries for name in NAMES)
        assert ck.clear_caches() is None
        assert not any(size.entries for size in caches.sizes().values())


@pytest.mark.usefixtures("cleared")
def test_clearing_gives_memory_back():
    x = np.zeros((2, 300), np.float32)

    def traced():
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    def gather_all():
        for n in range(1, 300):
            ck.gather(x[:, :n], [0])

    gather_all()  # loads the kernels, which stay for good
    ck.clear_caches()
    tracemalloc.start()
    try:
        before = traced()
        gather_all()
        full = traced()
        ck.clear_caches()
        after = traced()
    finally:
        tracemalloc.stop()
    assert full - before > 299 * 1000
    assert after - before < (full - before) / 20


@pytest.mark.usefixtures("cleared")
def test_tables_of_compiled_operators_count_as_long_as_these_live():
    gc.collect()
    before = caches.sizes()["compiled operators"]
    operators = [ck.compile_operator(DESC) for _ in range(3)]
    for operator in operators:
        np.testing.assert_array_equal(operator(X, INDICES), EXPECTED)
    size = caches.sizes()["compiled operators"]
    assert size == Size(before.entries + 6, before.limit + 6 * MAX_ENTRIES)
    ck.clear_caches()
    for operator in operators:
        np.testing.assert_array_equal(operator(X, INDICES), EXPECTED)
    assert caches.sizes()["compiled operators"].entries == 6
    del operators, operator
    assert caches.sizes()["compiled operators"] == Size(0, before.limit)


@each("how", ["function", "compiled"])
def test_clearing_while_a_launch_runs(monkeypatch, how):
    run = binding.Bound.__call__

    def clear_and_run(self, addresses, arrays):
        ck.clear_caches()
        gc.collect()
        run(self, addresses, arrays)
        ck.clear_caches()

    operator = ck.compile_operator(DESC)
    work = partial(ck.gather, X, INDICES[0]) if how == "function" else partial(operator, X, INDICES)
    with monkeypatch.context() as patch:
        patch.setattr(binding.Bound, "__call__", clear_and_run)
        for _ in range(3):
            np.testing.assert_array_equal(work(), EXPECTED)


@pytest.mark.usefixtures("cleared")
def test_info_has_the_sizes(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(tmp_path))
    (tmp_path / "zig").mkdir()
    (tmp_path / "zig" / "one").write_bytes(bytes(100))
    (tmp_path / "two").write_bytes(bytes(20))
    (tmp_path / "link").symlink_to("two")
    assert main(["info", "--json"]) == 0
    information = json.loads(capsys.readouterr().out)
    assert information["cache"] == str(tmp_path)
    assert (information["cache_files"], information["cache_bytes"]) == (2, 120)
    assert (information["cache_trusted"], information["cache_writable"]) == (True, True)
    assert information["cache_problem"] is None
    assert list(information["caches"]) == NAMES
    assert information["caches"]["gather"] == {"entries": 0, "limit": 2 * MAX_ENTRIES}
    assert main(["info"]) == 0
    assert "caches.gather.limit" in capsys.readouterr().out


def test_info_while_another_process_ends_a_build(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(tmp_path))
    build = tmp_path / "build-of-another"
    build.mkdir()
    (tmp_path / "one").write_bytes(bytes(100))
    scan = os.scandir

    def scandir(path):
        if Path(path) == build:
            build.rmdir()
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert main(["info", "--json"]) == 0
    assert not build.exists()
    assert json.loads(capsys.readouterr().out)["cache_files"] == 1


def test_info_without_a_folder(capsys, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert main(["info", "--json"]) == 0
    information = json.loads(capsys.readouterr().out)
    assert information["cache"] == str(tmp_path / "file" / "cache")
    assert (information["cache_trusted"], information["cache_writable"]) == (False, False)
    assert f"{tmp_path}/file/cache: Not a directory" in information["cache_problem"]
    assert (information["cache_files"], information["cache_bytes"]) == (0, 0)
    assert list(information["caches"]) == NAMES
