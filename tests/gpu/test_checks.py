"""The checks of a first run: they hold in the simulator, and see what does not hold."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from tests.gpu import checks
from tests.helpers.places import HOST
from tests.helpers.samples import sample

OPERATORS = ("gather", "gather_nd", "nonzero_coordinates", "one_hot", "reduce")


@pytest.mark.parametrize("name", checks.CHECKS)
def test_checks_hold(place, name, capsys, monkeypatch):
    if (place, name) == (HOST, "subnormal"):  # a kernel each
        some = sample(checks.subnormal(HOST), 4)
        monkeypatch.setitem(checks.CHECKS, name, lambda _place: some)
    assert checks.run(name, place) == 0
    assert ": ok\n" in capsys.readouterr().out


@pytest.mark.parametrize("name", checks.CHECKS)
def test_operators_that_do_nothing_fail_every_check(monkeypatch, capsys, name):
    for operator in OPERATORS:
        monkeypatch.setattr(checks.ck, operator, lambda *_, **__: None)
    made = len(list(checks.CHECKS[name](HOST)))
    assert checks.run(name, HOST) == made > 0
    assert capsys.readouterr().out.count("FAILED") == made


def test_one_that_fails_is_named_and_the_others_are_made(monkeypatch, capsys):
    monkeypatch.setattr(checks.ck, "gather_nd", lambda *_, **__: 1 / 0)
    assert checks.main(["launch", "--engine", "simulator"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "launch: gather_nd: FAILED" in lines
    assert "ZeroDivisionError: division by zero" in lines
    assert "launch: reduce: ok" in lines
    assert lines[-1] == "1 failed"


@pytest.mark.parametrize("mode", checks.MODES)
@pytest.mark.parametrize("fails", [False, True])
def test_each_capture_has_its_mode_and_ends(monkeypatch, mode, fails):
    events = []

    class Stream:
        def __init__(self, *, non_blocking):
            assert non_blocking

        def __enter__(self):
            events.append("current")

        def __exit__(self, *_):
            events.append("left")

        def begin_capture(self, mode):
            events.append(mode)

        def end_capture(self):
            events.append("end")
            return SimpleNamespace(launch=lambda _stream: events.append("launch"))

    modes = {f"streamCaptureMode{name}": name for name in checks.MODES}
    cuda = SimpleNamespace(Stream=Stream, runtime=SimpleNamespace(**modes))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(checks, "wait_for_gpu", lambda: events.append("wait"))
    captured = ["current", mode, "call", "end", "left"]
    if fails:
        with pytest.raises(ZeroDivisionError):
            checks.captured(mode, lambda: events.append("call") or 1 / 0)
        assert events == captured
    else:
        checks.captured(mode, lambda: events.append("call"))()
        assert events == [*captured, "wait", "launch", "wait"]
