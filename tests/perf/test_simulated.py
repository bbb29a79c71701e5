"""The benchmark cases in the simulator: what is right, what is wrong, and that no time is told."""

from __future__ import annotations

import re
from unittest import mock

import pytest

import cudakern as ck
from cudakern.errors import EngineUnavailableError
from perf.cases import find
from perf.cases.one_hot import OneHotWorkload
from perf.results import load
from perf.timing import simulated
from tests.perf.synthetic import rows

ONE_HOT = "ck_one_hot_stream_w4_i64_o32"


def corrupted(workload, inputs, outputs):
    """Stand in for OneHotWorkload.call: the right result, but for one element."""

    def call():
        ck.one_hot(inputs[0], workload.depth, axis=workload.axis, out=outputs[0])
        outputs[0][3, 0] += 1

    return call


def test_right_results(capsys, tmp_path):
    path = tmp_path / "folder" / "result.json"
    assert simulated.main_simulator(find(["O-8", "G-9"]), None, path) == 0
    printed = capsys.readouterr().out
    title = "[128] int64 x 10 f32"
    _, *found = rows(printed)
    assert found[0] == ["O-8", title, ONE_HOT, "1280", "right"]
    assert [(row[0], row[4]) for row in found] == [
        (name, "right") for name in ("O-8", "G-9", "G-9")
    ]
    assert "3 of 3 results are right." in printed
    assert "This is no measurement" in printed
    assert not re.search(r"\d\s*(us|ms|s|GB/s|TB/s|%)\b", printed)
    result = load(path)
    assert (result.engine, result.ceilings, result.gpu) == ("simulator", {}, {})
    lines = [(line.case, line.operator, line.checked, line.timings) for line in result.lines]
    assert lines == [("O-8", "one_hot", True, {}), *[("G-9", "gather", True, {})] * 2]
    first = result.lines[0]
    assert (first.line, first.size, first.kernel) == (title, 1280, ONE_HOT)
    assert first.bytes == 128 * 8 + 1280 * 4


def test_a_large_workload_runs_small(monkeypatch):
    monkeypatch.setattr(simulated, "ELEMENTS", 4000)
    done = []
    (line,) = simulated.run(find(["O-2"]), 1.0, done.append).lines
    assert done == ["O-2"]
    assert (line.line, line.size) == ("[64] int64 x 32 f16", 2**11)
    assert (line.checked, line.kernel) == (True, "ck_one_hot_stream_w2_i64_o32")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (corrupted, "WRONG: 1 of 1280 elements are wrong"),
        (lambda *_: lambda: None, "WRONG: 1280 of 1280 elements are wrong"),
        (lambda of, x, y: lambda: ck.one_hot(*x, of.depth, out=y[0][:-1]), "WRONG: one_hot: out"),
    ],
)
def test_wrong_results_are_told(monkeypatch, call, message, capsys, tmp_path):
    path = tmp_path / "result.json"
    monkeypatch.setattr(OneHotWorkload, "call", call)
    assert simulated.main_simulator(find(["O-8", "G-9"]), None, path) == 1
    printed = capsys.readouterr().out
    _, first, *others = rows(printed)
    assert first[0] == "O-8"
    assert first[-1].startswith(message)
    assert all(row[-1] == "right" for row in others)
    assert "2 of 3 results are right." in printed
    assert [line.checked for line in load(path).lines] == [False, True, True]


def test_a_run_ends_in_time(capsys, tmp_path):
    path = tmp_path / "result.json"
    assert simulated.main_simulator(find(["O-8", "G-9"]), 1e-9, path) == 1
    assert "0 of 3 results are right." in capsys.readouterr().out
    assert load(path).incomplete == "time limit: ended after 0 of 3 lines"


def test_without_a_simulator(monkeypatch, capsys, tmp_path):
    path = tmp_path / "result.json"
    absent = mock.Mock(side_effect=EngineUnavailableError("no C++ compiler"))
    monkeypatch.setattr(OneHotWorkload, "call", absent)
    assert simulated.main_simulator(find(["O-8"]), None, path) == 1
    assert capsys.readouterr().out.strip() == "no C++ compiler"
    assert not path.exists()
