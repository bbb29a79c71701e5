"""The program that is profiled: on the simulator, and with a GPU in whose place NumPy is."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import numpy as np
import pytest

from cudakern import _ranges as ranges
from perf.cases import find
from perf.nsight import command, target, tools


def test_target_runs_on_the_simulator(capsys, monkeypatch):
    marked = []

    @contextlib.contextmanager
    def mark(name, payload):
        marked.append((name, payload))
        yield

    monkeypatch.setattr(ranges, "marked", mark)
    options = ["--engine", "simulator", "--elements", "4096", "--repeats", "3"]
    assert command.main(["target", "G-1", *options]) == 0
    problems = [line.problem.shrunk(4096) for line in find(["G-1"])[0].lines]
    assert marked == [(f"G-1 {p.title}", round(p.traffic().total)) for p in problems]
    assert capsys.readouterr().out.count(": 3 calls of ") == len(problems)


@pytest.fixture
def gpu(monkeypatch):
    """Have a GPU whose arrays are NumPy's, and two tiny lines; return what is done with it."""
    events = []

    def noted(name):
        return lambda *arguments: events.append(" ".join((name, *map(str, arguments))))

    runtime = SimpleNamespace(profilerStart=noted("start"), profilerStop=noted("stop"))
    cupy = SimpleNamespace(
        zeros=np.zeros,
        cuda=SimpleNamespace(
            set_allocator=noted("allocator"),
            set_pinned_memory_allocator=noted("pinned"),
            Device=lambda: SimpleNamespace(synchronize=noted("synchronize")),
            runtime=runtime,
        ),
    )

    @contextlib.contextmanager
    def mark(name, payload):
        events.append(f"{name} {payload}")
        yield
        events.append("end")

    def problem(title, moved):
        return SimpleNamespace(
            title=title,
            inputs=lambda xp, _seed: (xp.zeros(1),),
            outputs=lambda xp: (xp.zeros(1),),
            traffic=lambda: SimpleNamespace(total=moved),
            call=lambda _inputs, _outputs: lambda: events.append(f"call {title}"),
        )

    lines = [SimpleNamespace(problem=problem(*given)) for given in (("a", 12.0), ("b", 9.6))]
    monkeypatch.setattr(tools, "find", lambda _names: [SimpleNamespace(name="X-1", lines=lines)])
    monkeypatch.setattr(target, "choose", lambda engine: engine)
    monkeypatch.setattr(target, "import_cupy", lambda: cupy)
    monkeypatch.setattr(ranges, "marked", mark)
    return events


def test_target_profiles_prepared_calls_alone(gpu):
    assert command.main(["target", "X-1", "--repeats", "2"]) == 0
    assert gpu == [
        *("call a", "call b", "synchronize", "start"),
        *("X-1 a 12", "call a", "call a", "end", "X-1 b 10", "call b", "call b", "end"),
        *("synchronize", "stop"),
    ]


def test_target_without_pools_turns_them_off_first(gpu):
    assert command.main(["target", "X-1", "--no-pool"]) == 0
    assert gpu[:3] == ["allocator None", "pinned None", "call a"]


def test_target_out_of_memory_is_one_sentence(gpu, capsys, monkeypatch):
    def refuse(*_arguments):
        raise MemoryError

    monkeypatch.setattr(target, "prepare", refuse)
    assert command.main(["target", "X-1"]) == 1
    text = capsys.readouterr().err
    assert "name fewer cases" in text
    assert text.count("\n") == 1
    assert gpu == []


def test_target_without_a_gpu_is_one_sentence(capsys, monkeypatch):
    def absent(engine):
        message = f"cudakern: no device for {engine}"
        raise target.EngineUnavailableError(message)

    monkeypatch.setattr(target, "choose", absent)
    assert command.main(["target", "G-1"]) == 1
    assert capsys.readouterr().err == "perf nsight target: cudakern: no device for cuda\n"
