"""The benchmark cases in the simulator: right and wrong results, and no times."""

from __future__ import annotations

import re
from unittest import mock

import pytest

import cudakern as ck
from cudakern.errors import EngineUnavailableError
from perf.cases.one_hot import OneHotWorkload
from perf.results import load
from perf.timing import command
from tests.helpers.rows import each
from tests.perf.results import rows


@pytest.fixture
def run(tmp_path, capsys):
    """Return a function that runs cases and returns status, output and the path of the result."""
    path = tmp_path / "folder" / "result.json"

    def run(*words):
        status = command.main([*words, "--engine", "simulator", "--output", str(path)])
        return status, capsys.readouterr().out, path

    return run


def corrupted(workload, inputs, outputs):
    """Stand in for OneHotWorkload.call; one element of the result is wrong."""

    def call():
        ck.one_hot(inputs[0], workload.depth, axis=workload.axis, out=outputs[0])
        outputs[0][3, 0] += 1

    return call


def test_right_results(run):
    status, printed, path = run("O-8", "G-9")
    assert status == 0
    title, kernel = "[128] int64 x 10 f32", "ck_one_hot_strided_few_r2_w4_i64_o32"
    assert rows(printed)[1] == ["O-8", title, kernel, "1280", "right"]
    assert "3 of 3 results are right." in printed
    assert not re.search(r"\d\s*(us|ms|s|GB/s|TB/s|%)\b", printed)
    result = load(path)
    assert (result.engine, result.ceilings, result.gpu) == ("simulator", {}, {})
    lines = [(line.case, line.operator, line.checked, line.timings) for line in result.lines]
    assert lines == [("O-8", "one_hot", True, {}), *[("G-9", "gather", True, {})] * 2]
    first = result.lines[0]
    assert (first.line, first.size, first.kernel) == (title, 1280, kernel)
    assert first.bytes == 128 * 8 + 1280 * 4


@each(
    ("call", "message"),
    [
        (corrupted, "WRONG: 1 of 1280 elements are wrong"),
        (lambda of, x, y: lambda: ck.one_hot(*x, of.depth, out=y[0][:-1]), "WRONG: one_hot: out"),
    ],
)
def test_wrong_results_are_told(run, monkeypatch, call, message):
    monkeypatch.setattr(OneHotWorkload, "call", call)
    status, printed, path = run("O-8", "G-9")
    assert status == 1
    verdicts = [row[-1] for row in rows(printed)[1:]]
    assert verdicts[0].startswith(message)
    assert verdicts[1:] == ["right"] * 2
    assert "2 of 3 results are right." in printed
    assert [line.checked for line in load(path).lines] == [False, True, True]


def test_a_run_ends_in_time_and_needs_a_simulator(run, monkeypatch):
    status, printed, path = run("O-8", "--minutes", "1e-9")
    assert status == 1
    assert "0 of 1 results are right." in printed
    assert load(path).incomplete == "time limit: ended after 0 of 1 lines"
    absent = mock.Mock(side_effect=EngineUnavailableError("no C++ compiler"))
    monkeypatch.setattr(OneHotWorkload, "call", absent)
    assert run("O-8")[:2] == (1, "no C++ compiler\n")
