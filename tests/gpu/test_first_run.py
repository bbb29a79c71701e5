"""The first run on a GPU: its checks see what does not hold, and no step can lose another."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from unittest import mock
from unittest.mock import call

import pytest

from tests.gpu import checks, first_run
from tests.gpu.first_run import Run, Step, planned
from tests.helpers.places import HOST
from tests.helpers.samples import sample

SLEEPS = "import time; time.sleep(60)"
SAVES = f"""
try:
    print('started', flush=True)
    {SLEEPS}
except KeyboardInterrupt:
    print('saved')
"""
DEAF = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); {SLEEPS}"
DIES = "import os, signal; print('last words', flush=True); os.kill(os.getpid(), signal.SIGKILL)"


def python(name, code, limit=60.0):
    return Step(name, [sys.executable, "-c", code], limit)


def summary(folder):
    """Return how each step ended, as the summary says."""
    steps = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return {step["name"]: step["status"] for step in steps}


@pytest.fixture
def interruptible():
    """Have steps start as from a terminal, also where the tests run in the background."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.mark.usefixtures("interruptible")
def test_no_step_ends_another(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(first_run, "GRACE", 1)
    steps = [
        python("fine", "print('good')"),
        python("fails", "print('bad'); raise SystemExit(3)"),
        python("dies", DIES),
        python("hangs", SAVES, 2),
        python("deaf", DEAF, 1),
        python("long", "print('begin' + 'x' * 9_000_000 + 'end')"),
        python("last", "print('still here')"),
    ]
    assert not Run(tmp_path, steps, 120).run(dict(os.environ))
    expected = {"fails": "ended with 3", "dies": "ended with -9"}
    expected |= {"hangs": "took too long", "deaf": "took too long"}
    assert summary(tmp_path) == {step.name: expected.get(step.name, "passed") for step in steps}
    log = (tmp_path / "first_run.log").read_text(encoding="utf-8")
    assert len(log) < 2 * first_run.KEPT + 10_000
    assert {"good", "bad", "last words", "saved", "still here"} <= set(log.splitlines())
    assert re.search(r"\nbeginx+\n\[\d+ bytes are left out here\]\nx+end\n", log)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first_run.log", "summary.json"]
    shown = capsys.readouterr().out
    assert "bad" in shown
    assert "last words" in shown
    assert "good" not in shown


def test_what_a_step_started_ends_with_it(tmp_path):
    late = f"import time; time.sleep(2); open({str(tmp_path / 'late')!r}, 'w')"
    parent = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {late!r}])"
    assert Run(tmp_path, [python("parent", parent)], 60).run(dict(os.environ))
    time.sleep(3)
    assert not (tmp_path / "late").exists()


def test_no_step_starts_when_the_time_is_over(tmp_path):
    steps = [python("late", "print('ran')")]
    assert not Run(tmp_path, steps, first_run.GRACE - 1).run(dict(os.environ))
    assert summary(tmp_path) == {"late": "no time was left"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_what_is_known(tmp_path, number):
    code = f"""
import sys
from tests.gpu import first_run
steps = [first_run.Step(name, [sys.executable, "-c", code], 60) for name, code in
         [("fine", "pass"), ("cut", {SAVES!r}), ("never", "pass")]]
first_run.planned = lambda folder: steps
sys.exit(first_run.main(["--output", {str(tmp_path)!r}]))
"""
    process = subprocess.Popen([sys.executable, "-c", code], cwd=first_run.ROOT, stderr=-3)
    partial = tmp_path / "step.log"
    deadline = time.monotonic() + 60
    while not (partial.exists() and b"started" in partial.read_bytes()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    try:
        assert process.wait(60) != 0
    finally:
        process.kill()
    assert summary(tmp_path) == {"fine": "passed", "cut": "interrupted", "never": "not run"}
    assert "saved" in (tmp_path / "first_run.log").read_text(encoding="utf-8").splitlines()


def test_caches_are_empty_and_the_tests_need_a_gpu(tmp_path, monkeypatch):
    code = """
import os, sys
names = ["CUDAKERN_CACHE_DIR", "CUPY_CACHE_DIR", "HYPOTHESIS_STORAGE_DIRECTORY"]
assert not any(os.path.exists(os.environ[name]) for name in names)
assert os.environ["CUDAKERN_REQUIRE_GPU"] == "1" and not sys.dont_write_bytecode
"""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(first_run, "planned", lambda _folder: [python("look", code)])
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert first_run.main(["--output", str(tmp_path)]) == 0


def test_the_plan_ends_within_its_time(tmp_path):
    steps = planned(tmp_path)
    names = ["info", "launch", "subnormal", "capture", "misaligned", "tests", "perf"]
    assert [step.name for step in steps] == names
    assert {"-m", "gpu", "--timeout=120"} <= set(steps[-2].command)
    assert sum(step.limit for step in steps[:4]) + steps[-2].limit <= 9.5 * 60 - first_run.GRACE


def test_benchmarks_get_the_time_that_is_left(tmp_path):
    steps = [python("perf", "import sys; print(sys.argv)", 600)]
    assert Run(tmp_path, steps, 200 + first_run.GRACE + first_run.BESIDES).run(dict(os.environ))
    assert steps[0].command[-1] in {"--minutes=3.33", "--minutes=3.32"}


def test_an_unknown_step_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        first_run.main(["--output", str(tmp_path), "lunch"])
    assert "no step is called lunch" in capsys.readouterr().err


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
    cupy = mock.MagicMock()
    stream = cupy.cuda.Stream.return_value
    stream.__exit__.return_value = False
    cupy.work.side_effect = ZeroDivisionError if fails else None
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(checks, "wait_for_gpu", cupy.wait)
    with pytest.raises(ZeroDivisionError) if fails else nullcontext():
        checks.captured(mode, cupy.work)()
    number = getattr(cupy.cuda.runtime, f"streamCaptureMode{mode}")
    on = call.cuda.Stream()
    assert cupy.mock_calls[:5] == [
        *(call.cuda.Stream(non_blocking=True), on.__enter__(), on.begin_capture(number)),
        *(call.work(), on.end_capture()),
    ]
    assert stream.__exit__.call_count == 1
    launch = on.end_capture().launch(stream)
    assert cupy.mock_calls[6:] == ([] if fails else [call.wait(), launch, call.wait()])
