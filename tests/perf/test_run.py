"""A run on a stand-in for a GPU: its file, its table, what ends it early, what may be missing."""

from __future__ import annotations

import io
import math
import os
import re
import signal
import subprocess
from contextlib import redirect_stdout
from dataclasses import dataclass
from unittest import mock

import pytest

from cudakern.engines import engine_for
from cudakern.engines.base import KernelSpec, Launch
from perf.cases.base import Case, Line
from perf.engines import NullEngine
from perf.peers.base import MissingPeerError
from perf.results import OURS, load
from perf.timing import command as run
from perf.timing import environment
from perf.timing.gpu import FLUSH_FACTOR
from perf.timing.turns import Deadline
from tests.helpers import timed_gpu
from tests.helpers.processes import printed
from tests.helpers.rows import each
from tests.helpers.timed_gpu import Increment, TimedPeer


@dataclass
class Launched(Increment):
    """An increment that also launches through the engine of operators."""

    entry: str = "ck_increment"

    def call(self, inputs, outputs):
        call = super().call(inputs, outputs)
        kernel = KernelSpec("increment", "plain", self.entry, (), 1)
        launch = engine_for(0).prepare(Launch(kernel, (1, 1, 1), 0, 0, b""), 0)

        def both():
            launch()
            call()

        return both


class Fake:
    """A GPU, two cases and a sweep."""

    def __init__(self, monkeypatch, path):
        self.path, self.said = path, ""
        self.cupy = timed_gpu.make()
        self.peers = [TimedPeer(self.cupy, "cub")]
        self.workload = Launched(self.cupy, title="[4096] u8 increment")
        self.slow = Launched(self.cupy, title="slow", entry="ck_slow")
        self.sizes = [Launched(self.cupy, nbytes=2**k, title=f"2^{k}") for k in (8, 9)]
        sweep = Case("sweep-increment", "", tuple(map(Line, self.sizes)))
        cases = (
            Case("I-1", "", (Line(self.workload, goal=0.01, quick=True),)),
            Case("I-2", "", (Line(self.slow, goal_us=1.0),)),
            sweep,
        )
        for name, value in {
            "find": lambda names: [c for c in cases if not names or c.name in names],
            "SWEEPS": (sweep,),
            "device_count": lambda: 1,
            "import_cupy": lambda: self.cupy,
            "find_peers": lambda: (self.peers, {"torch": "pip install 'x[torch]'"}),
            "engine_for": lambda _device: NullEngine(),
        }.items():
            monkeypatch.setattr(run, name, value)
        monkeypatch.setattr(run.time, "perf_counter_ns", self.cupy.clock)

    def run(self, *options):
        """Run with a path for the result; return the status."""
        with redirect_stdout(io.StringIO()) as text:
            status = run.main([*options, "--output", str(self.path)])
        self.said = text.getvalue()
        return status

    @property
    def result(self):
        return load(self.path)


@pytest.fixture
def fake(monkeypatch, tmp_path):
    return Fake(monkeypatch, tmp_path / "r.json")


def test_a_run_is_written_and_shown(fake):
    assert fake.run() == 0
    found = fake.result
    assert [line.case for line in found.lines] == ["I-1", "I-2", *["sweep-increment"] * 2]
    assert [line.size for line in found.lines] == [None, None, 2**8, 2**9]
    first = found.lines[0]
    assert (first.line, first.operator, first.bytes) == ("[4096] u8 increment", "increment", 2**13)
    assert (first.ceiling, first.goal, first.checked) == ("copy", 0.01, True)
    kernels = [line.kernel for line in found.lines]
    assert kernels == ["ck_increment", "ck_slow", *["ck_increment"] * 2]
    assert set(first.timings) == {OURS, "cub"}
    ours = first.timings[OURS]
    assert (ours.median_us, ours.warm_us, ours.samples) == (pytest.approx(8), pytest.approx(3), 30)
    assert (found.engine, found.incomplete) == ("cuda", "")
    expected = {"name": "Stand-in 1", "compute_capability": "9.0", "l2_bytes": 2**20}
    assert found.gpu.items() >= expected.items()
    expected = {"cuda driver": "13.2", "cuda runtime": "13.1", "cub": "1.0"}
    assert found.versions.items() >= expected.items()
    assert found.drift == pytest.approx(0, abs=1e-3)
    # 8 KiB in 8 us are 1.024 GB/s of a possible 10; the peer takes 5 us
    shown = r"I-1 .* 8\.00 \(8\.00-8\.00\).*10\.2%.*1% reached +cub, 5\.00 us +0\.62"
    assert re.search(shown, fake.said)
    assert re.search("I-2 .* 1 us missed", fake.said)
    assert "without torch: pip install 'x[torch]'" in fake.said
    assert str(fake.path) in fake.said
    assert "warning" not in fake.said


@each(
    ("options", "cases", "samples", "seconds"),
    [
        ("--quick", ["I-1"], 10, 240),
        ("--quick --minutes 7", ["I-1"], 10, 420),
        ("--no-sweeps", ["I-1", "I-2"], 30, 720),
    ],
)
def test_some_lines_can_be_left_out(fake, monkeypatch, options, cases, samples, seconds):
    given = []
    monkeypatch.setattr(run, "Deadline", lambda *of: given.append(of) or Deadline(*of))
    assert fake.run(*options.split()) == 0
    lines = fake.result.lines
    assert [line.case for line in lines] == cases
    assert lines[0].timings[OURS].samples == samples
    assert [limit for _, limit, _ in given] == [seconds]


@pytest.mark.parametrize(
    ("attribute", "value", "note"),
    [("calls_that_work", 2, "WRONG"), ("check", None, "failed: TypeError")],
)
def test_a_wrong_result_or_an_error_fails_the_run_which_goes_on(fake, attribute, value, note):
    setattr(fake.workload, attribute, value)
    inputs, free, before = fake.slow.inputs, [], fake.cupy.gpu.capacity
    fake.slow.inputs = lambda *of: free.append(fake.cupy.gpu.capacity) or inputs(*of)
    assert fake.run("I-1", "I-2") == 1
    first, second = fake.result.lines
    assert first.timings[OURS].note.startswith(note)
    assert first.timings[OURS].samples == 0
    assert math.isnan(first.timings[OURS].median_us)
    assert second.timings[OURS].samples == 30
    assert re.search(f"I-1 .*{note}", fake.said)
    # The next line has all memory, although the error keeps the line's frames while it is handled.
    assert free[0] == before - FLUSH_FACTOR * fake.cupy.gpu.l2_bytes


def test_a_gpu_that_stopped_working_ends_the_run_with_what_there_is(fake):
    def broken(*_):
        raise fake.cupy.cuda.runtime.CUDARuntimeError("cudaErrorIllegalAddress")

    def check(*_):
        fake.cupy.cuda.Device = broken
        broken()

    fake.slow.check = check
    assert fake.run() == 1
    assert [line.case for line in fake.result.lines] == ["I-1", "I-2"]
    assert math.isnan(fake.result.drift)
    assert fake.result.incomplete == "ended after 2 of 4 lines: the GPU no longer works"
    assert f"the run is incomplete: {fake.result.incomplete}" in fake.said


def terminate(*_):
    os.kill(os.getpid(), signal.SIGTERM)


def test_an_interruption_keeps_what_was_measured(fake, monkeypatch):
    def ignore(*_):
        """Stand for SIGTERM's default, so that a failure ends this test and not the process."""

    show = run.table.show
    monkeypatch.setattr(run.table, "show", lambda *of: terminate() or show(*of))  # a second signal
    fake.slow.check = terminate
    previous = signal.signal(signal.SIGTERM, ignore)
    try:
        assert fake.run() == 1
        assert signal.getsignal(signal.SIGTERM) is ignore
    finally:
        signal.signal(signal.SIGTERM, previous)
    found = fake.result
    assert [line.case for line in found.lines] == ["I-1"]
    assert found.incomplete == "interrupted: ended after 1 of 4 lines"
    assert f"the run is incomplete: {found.incomplete}" in fake.said
    assert "nan" not in fake.said


RATES = dict.fromkeys(("read", "write", "copy", "memcpy"), 100.0)


def test_the_closing_ceilings_cannot_lose_the_lines(fake, monkeypatch):
    measure = mock.Mock(side_effect=[RATES, KeyError("copy")])
    monkeypatch.setattr(run.ceilings, "measure", measure)
    assert fake.run("I-1") == 1
    result = fake.result
    assert result.lines[0].timings[OURS].samples == 30
    assert result.ceilings == RATES
    assert result.incomplete == "the closing ceilings failed: KeyError: 'copy'"
    monkeypatch.setattr(run.ceilings, "measure", mock.Mock(side_effect=MemoryError))
    assert fake.run("I-1") == 1
    assert fake.result.lines == result.lines  # there was no run, so the earlier file stays


@each("found", [[False], [False, MissingPeerError("nvcc cannot")], [False, True]])
def test_a_peer_is_waited_for_and_may_never_be_ready(fake, found):
    late = TimedPeer(fake.cupy, "cub")
    late.ready = mock.Mock(side_effect=[*found, *found[-1:] * 9])
    fake.peers = [late]
    assert fake.run("I-1", "I-2") == 0
    timed = [{*line.timings} - {OURS} for line in fake.result.lines]
    assert timed == [set(), {"cub"} if found[-1] is True else set()]
    reason = "nvcc cannot" if len(found) > 1 else "not ready in time"
    assert (f"without cub: {reason}" in fake.said) == (found[-1] is not True)


def test_what_is_not_there_is_named(monkeypatch, capsys):
    monkeypatch.setattr(run, "device_count", lambda: 0)
    assert run.main(["R-1"]) == 1
    out, error = capsys.readouterr()
    assert (out, error.count("\n")) == ("", 1)
    assert "a CUDA GPU is needed" in error
    with pytest.raises(SystemExit, match="2"):
        run.main(["R-99"])
    error = capsys.readouterr().err
    assert "R-99" in error
    assert "sweep-reduce" in error  # a name that exists


def test_packages_of_the_extra_perf_are_optional():
    code = """
import sys
for name in ("jinja2", "markdown_it", "nvtx", "pynvml", "rich"):
    sys.modules[name] = None
sys.stderr = sys.stdout
from perf.__main__ import main
assert main(["run", "--list", "R-1"]) == 0
assert main(["run", "R-10", "--engine", "simulator"]) == 0
assert main(["nsight", "compute", "R-1", "--dry-run"]) == 0
assert main(["nsight", "target", "R-10", "--engine", "simulator"]) == 0
for name in [*sys.modules]:
    if name.startswith("perf."):
        del sys.modules[name]
sys.modules["numpy"] = None
assert main(["static"]) == 1
"""
    text = printed(code)
    assert all(part in text for part in ("1073.7", "4 of 4", "nsight target R-1", "10 calls of"))
    assert re.search(r"perf static: .*numpy.*; run: pip install '.\[perf\]'\n$", text)


def test_the_commit_has_a_mark_if_files_were_changed(tmp_path):
    assert environment.commit(tmp_path) == "unknown"
    made = "git init -q; echo 1 > a; git add a; git -c user.name=a -c user.email=a@b commit -qm a"
    subprocess.run(made, shell=True, check=True, cwd=tmp_path)  # noqa: S602  our own
    head = ["git", "rev-parse", "HEAD"]
    clean = environment.commit(tmp_path)
    assert subprocess.check_output(head, cwd=tmp_path, text=True).startswith(clean)
    (tmp_path / "a").write_text("2")
    assert environment.commit(tmp_path) == clean + "+"
