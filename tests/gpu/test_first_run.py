"""The first run on a GPU: no step can lose another, and all phases run where there is no GPU."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.container.entrypoint import GPU_TESTS
from tests.gpu import first_run
from tests.gpu.checks import CHECKS
from tests.gpu.first_run import BESIDES, GRACE, PHASES, Run, Step, planned
from tests.helpers import nsight

SLEEPS = "import time; time.sleep(60)"
SAVES = f"""
import os
try:
    print('started', os.getpid(), flush=True)
    {SLEEPS}
except KeyboardInterrupt:
    print('saved')
"""
DEAF = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); {SLEEPS}"
DIES = "import os, signal; print('last words', flush=True); os.kill(os.getpid(), signal.SIGKILL)"


def python(name, code, limit=60.0):
    return Step(name, [sys.executable, "-c", code], limit)


def log(folder):
    """Return the log's lines, and how each step ended, as the log says."""
    (path,) = folder.glob("*.log")
    text = path.read_text(encoding="utf-8")
    ended = re.findall(r"^== (\w+) +(\w.*?) +[\d.]+ s$", text, re.MULTILINE)
    return text.splitlines(), dict(ended)


def test_no_step_ends_another(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(first_run, "GRACE", 1)
    steps = [
        python("fine", "print('good')"),
        python("fails", "print('bad'); raise SystemExit(3)"),
        python("dies", DIES),
        python("hangs", SAVES, 2),
        python("deaf", DEAF, 1),
        python("long", "print('begin' + 'x' * 9_000_000 + 'end')"),
        Step("left_out", [], status="needs pytest"),
        python("last", "print('still here')"),
    ]
    assert not Run(tmp_path / "x.log", steps, 120).run(dict(os.environ))
    expected = {"fails": "ended with 3", "dies": "ended with -9", "left_out": "needs pytest"}
    expected |= {"hangs": "took too long", "deaf": "took too long"}
    lines, ended = log(tmp_path)
    assert ended == {step.name: expected.get(step.name, "passed") for step in steps}
    assert sum(map(len, lines)) < 2 * first_run.KEPT + 10_000
    assert {"good", "bad", "last words", "saved", "still here"} <= set(lines)
    assert re.search(r"\nbeginx+\n\[\d+ bytes are left out here\]\nx+end\n", "\n".join(lines))
    assert [path.name for path in tmp_path.iterdir()] == ["x.log"]
    shown = capsys.readouterr().out
    assert "bad" in shown
    assert "last words" in shown
    assert "good" not in shown


def test_what_a_step_started_ends_with_it(tmp_path):
    late = f"import time; time.sleep(2); open({str(tmp_path / 'late')!r}, 'w')"
    parent = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {late!r}])"
    assert Run(tmp_path / "x.log", [python("parent", parent)], 60).run(dict(os.environ))
    time.sleep(3)
    assert not (tmp_path / "late").exists()


def test_no_step_starts_when_the_time_is_over(tmp_path):
    steps = [python("late", "print('ran')")]
    assert not Run(tmp_path / "x.log", steps, GRACE - 1).run(dict(os.environ))
    assert log(tmp_path)[1] == {"late": "no time was left"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_signal_leaves_what_is_known(tmp_path, number):
    code = f"""
import sys
from tests.gpu import first_run
from tests.gpu.checks import CHECKS
steps = [first_run.Step(name, [sys.executable, "-c", code]) for name, code in
         [("fine", "pass"), ("cut", {SAVES!r}), ("never", "pass")]]
first_run.planned = lambda *_: steps
sys.exit(first_run.main(["--phase=speed", "--output", {str(tmp_path)!r}]))
"""
    process = subprocess.Popen([sys.executable, "-c", code], cwd=first_run.ROOT, stderr=-3)
    text, deadline = tmp_path / "speed.log", time.monotonic() + 60
    while not (text.exists() and (started := re.search(r"^started (\d+)", text.read_text(), 8))):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(60) != 0
    lines, ended = log(tmp_path)
    if number == signal.SIGKILL:
        os.kill(int(started[1]), number)
        assert ended == {"fine": "passed"}
    else:
        assert ended == {"fine": "passed", "cut": "interrupted"}
        assert "saved" in lines


def test_the_tests_need_a_gpu_and_may_write_bytecode(tmp_path, monkeypatch):
    code = """
import os, sys
assert os.environ["CUDAKERN_REQUIRE_GPU"] == "1"
assert not sys.dont_write_bytecode and sys.pycache_prefix is None
"""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(first_run, "planned", lambda *_: [python("look", code)])
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert first_run.main(["--phase=speed", "--output", str(tmp_path)]) == 0


STEPS = {
    "correctness": ["info", *CHECKS, "raw_kernels", "tests"],
    "speed": ["perf"],
    "tools": ["sanitizer", "faulty", "compute", "sweeps"],
}


@pytest.mark.parametrize("phase", PHASES)
def test_each_phase_leaves_time_for_its_last_step(tmp_path, phase):
    steps = planned(phase, tmp_path, "cuda")
    assert [step.name for step in steps] == ["machine", *STEPS[phase]]
    assert sum(step.limit for step in steps[:-1]) < 9 * 60 - GRACE
    assert set(GPU_TESTS) <= set(steps[-1].command) or phase != "correctness"


def test_what_the_tests_need_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(first_run, "version", lambda name: None if "x" in name else "1.0")
    step = planned("correctness", tmp_path, "cuda")[-1]
    assert (step.command, step.status) == ([], "needs pytest-xdist")


def test_a_step_is_told_its_time(tmp_path):
    steps = [Step("perf", [sys.executable, "-c", "import sys; print(sys.argv)", first_run.MINUTES])]
    assert Run(tmp_path / "x.log", steps, 200 + GRACE + BESIDES).run(dict(os.environ))
    assert re.search(r"'--minutes', '3.3[23]'\]", log(tmp_path)[0][2])


@pytest.mark.parametrize(
    ("words", "error"),
    [("--phase=speed lunch", "no step of speed is called lunch"), ("perf", "--phase")],
)
def test_what_is_not_there_is_refused(tmp_path, capsys, words, error):
    with pytest.raises(SystemExit, match="2"):
        first_run.main(["--output", str(tmp_path), *words.split()])
    assert error in capsys.readouterr().err


@pytest.mark.parametrize(
    ("phase", "minutes", "files"),
    [
        ("correctness", 3, {"gpu.xml"}),
        ("speed", 0.5, {"perf.json"}),
        ("tools", 1, {"compute.json", "compute.tar.gz", "sweeps.json"}),
    ],
)
def test_all_phases_run_without_a_gpu(tmp_path, phase, minutes, files):
    nsight.install(tmp_path / "programs")
    path, results = f"{tmp_path}/programs{os.pathsep}{os.environ['PATH']}", tmp_path / "results"
    options = [f"--phase={phase}", f"--minutes={minutes}", f"--output={results}"]
    result = subprocess.run(
        [sys.executable, "-m", "tests.gpu.first_run", "--engine=simulator", *options],
        cwd=first_run.ROOT,
        env=os.environ | {"PATH": path, "FAKE": "", "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    expected = dict.fromkeys(["machine", *STEPS[phase]], "passed")
    lines, ended = log(results)
    if phase == "speed":  # few cases in that time
        assert any(line.endswith(" results are right.") for line in lines)
        expected["perf"] = ended["perf"]
    assert ended == expected, result.stdout
    assert f"pytest {pytest.__version__}" in lines
    assert {path.name for path in results.iterdir()} == {f"{phase}.log", *files}
