"""The first run on a GPU: no step can lose another, and all phases run without a GPU."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from cudakern.operators.operator import operators
from perf.cases import find
from perf.timing import command
from tests.container.entrypoint import GPU_TESTS
from tests.gpu import first_run
from tests.gpu.checks import CHECKS
from tests.gpu.first_run import BESIDES, GRACE, Run, Step, planned
from tests.helpers.processes import is_alive
from tests.helpers.rows import each
from tests.helpers.samples import sample

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
LEAVES = f"""
import pathlib, subprocess, sys
folder = pathlib.Path(sys.argv[1])
folder.mkdir()
for name in ("counters.json", "report"):
    (folder / name).touch()
print('left', subprocess.Popen([sys.executable, '-c', '{SLEEPS}']).pid)
"""


#: What steps have in their environment.
NEEDS = """
import os, sys
assert os.environ["CUDAKERN_REQUIRE_GPU"] == "1"
assert not sys.dont_write_bytecode
"""


def python(name, code, limit=60.0):
    return Step(name, [sys.executable, "-c", code], limit)


def log(folder):
    """Return the log's lines, and how each step ended, as the log says."""
    (path,) = folder.glob("*.log")
    text = path.read_text(encoding="utf-8")
    ended = re.findall(r"^== (\w+) +(\w.*?) +[\d.]+ s$", text, re.MULTILINE)
    return text.splitlines(), dict(ended)


def test_no_step_ends_another(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(first_run, "GRACE", 0.5)
    steps = [
        python("fine", "print('good')"),
        python("fails", "print('bad'); raise SystemExit(3)"),
        python("dies", DIES),
        python("hangs", SAVES, 1),
        python("deaf", DEAF, 0.5),
        Step("leaves", [sys.executable, "-c", LEAVES, str(tmp_path / "leaves")]),
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
    text = "\n".join(lines)
    assert re.search(r"\nbeginx+\n\[\d+ bytes are left out here\]\nx+end\n", text)
    assert not is_alive(re.search(r"^left (\d+)$", text, re.MULTILINE)[1])
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"x.log", "leaves.json", "leaves.tar.gz"}
    shown = capsys.readouterr().out
    assert "bad" in shown
    assert "good" not in shown


def test_a_step_is_told_its_time_and_starts_in_time_alone(tmp_path):
    told = Step("perf", [sys.executable, "-c", "import sys; print(sys.argv)", first_run.MINUTES])
    assert Run(tmp_path / "x.log", [told], 200 + GRACE + BESIDES).run(dict(os.environ))
    assert re.search(r"'--minutes', '3.3[23]'\]", log(tmp_path)[0][2])
    assert not Run(tmp_path / "x.log", [python("late", "print()")], GRACE - 1).run({})
    assert log(tmp_path)[1] == {"perf": "passed", "late": "no time was left"}


@each("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_leaves_what_is_known(tmp_path, number):
    folder = tmp_path / number.name
    code = f"""
import sys
from tests.gpu import first_run
steps = [first_run.Step(name, [sys.executable, "-c", code]) for name, code in
         [("fine", {NEEDS!r}), ("cut", {SAVES!r}), ("never", "pass")]]
first_run.planned = lambda *_: steps
sys.exit(first_run.main(["--phase=speed", "--output", {str(folder)!r}]))
"""
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, "-c", code]
    process = subprocess.Popen(words, cwd=first_run.ROOT, env=environment, stderr=-3)
    text, deadline = folder / "speed.log", time.monotonic() + 60
    while not (text.exists() and (started := re.search(r"^started (\d+)", text.read_text(), 8))):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(60) != 0
    lines, ended = log(folder)
    if number == signal.SIGKILL:
        os.kill(int(started[1]), number)
        assert ended == {"fine": "passed"}
    else:
        assert ended == {"fine": "passed", "cut": "interrupted"}
        assert "saved" in lines


STEPS = {
    "correctness": ["info", *CHECKS, "raw_kernels", "tests"],
    "speed": ["perf"],
    "tools": ["sanitizer", "faulty", "compute", "sweeps"],
}


def test_each_phase_leaves_time_for_its_last_step(tmp_path, monkeypatch):
    for phase, names in STEPS.items():
        *steps, last = planned(phase, tmp_path, "cuda")
        assert [step.name for step in (*steps, last)] == ["machine", *names]
        assert sum(step.limit for step in steps) < 9 * 60 - GRACE
        assert set(GPU_TESTS) <= set(last.command) or phase != "correctness"
        if phase == "speed":
            assert command.parse([*last.command[4:], "2"])[0].minutes == 2
    monkeypatch.setattr(first_run, "find_spec", lambda name: None if "x" in name else name)
    step = planned("correctness", tmp_path, "cuda")[-1]
    assert (step.command, step.status) == ([], "needs xdist")


@each("names", [first_run.CHECKED, first_run.PROFILED])
def test_tools_have_a_case_of_each_operator(names):
    measured = {line.workload.operator for case in find(names) for line in case.lines}
    assert measured == {operator.name for operator in operators()}


@pytest.mark.parametrize(
    ("phase", "steps", "file"),
    sample(
        [
            ("correctness", ["machine", "info", "launch", "raw_kernels", "tests"], "gpu.xml"),
            ("tools", ["sanitizer", "faulty", "sweeps"], "sweeps.json"),
        ],
        2,
    ),
)
def test_phases_run_without_a_gpu(tmp_path, phase, steps, file):
    tool, results = tmp_path / "compute-sanitizer", tmp_path / "results"
    tool.write_text("#!/bin/sh\necho ========= ERROR SUMMARY: 0 errors\n", encoding="utf-8")
    tool.chmod(0o700)
    options = ["--engine=simulator", f"--phase={phase}", "--minutes=3", f"--output={results}"]
    result = subprocess.run(
        [sys.executable, "-m", "tests.gpu.first_run", *options, *steps],
        cwd=first_run.ROOT,
        env=os.environ
        | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    lines, ended = log(results)
    assert ended == dict.fromkeys(steps, "passed"), result.stdout
    assert f"pytest {pytest.__version__}" in lines or phase == "tools"
    assert {path.name for path in results.iterdir()} == {f"{phase}.log", file}
