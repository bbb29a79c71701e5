import io
import math
import os
import re
import signal
import subprocess
import types
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
from perf.timing.contender import Contender
from perf.timing.gpu import FLUSH_FACTOR
from perf.timing.turns import Deadline
from tests.helpers import timed_gpu
from tests.helpers.processes import printed
from tests.helpers.timed_gpu import Increment, TimedPeer


@dataclass
class Launched(Increment):
    """An increment that goes through the engine of operators, too."""

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
    """A GPU, one case and one sweep."""

    def __init__(self, monkeypatch, path):
        self.path, self.said = path, ""
        self.cupy = timed_gpu.make()
        self.peers = [TimedPeer(self.cupy, "cub")]
        self.missing = {"torch": "pip install 'x[torch]'"}
        self.workload = Launched(self.cupy, title="[4096] u8 increment")
        self.case = self.case_of("I-1", Line(self.workload, goal=0.01, quick=True))
        self.slow = self.case_of(
            "I-2", Line(Launched(self.cupy, title="slow", entry="ck_slow"), goal_us=1.0)
        )
        sizes = [Launched(self.cupy, nbytes=2**k, title=f"2^{k}") for k in (8, 9)]
        self.sweep = self.case_of("sweep-increment", *map(Line, sizes))
        for name, value in {
            "find": lambda names: [c for c in self.cases if not names or c.name in names],
            "SWEEPS": (self.sweep,),
            "device_count": lambda: 1,
            "import_cupy": lambda: self.cupy,
            "present": lambda: (self.peers, self.missing),
            "engine_for": lambda _device: NullEngine(),
        }.items():
            monkeypatch.setattr(run, name, value)
        monkeypatch.setattr(run.time, "perf_counter_ns", self.cupy.clock)

    @staticmethod
    def case_of(name, *lines):
        return Case(name, "", (), lines)

    @property
    def cases(self):
        return self.case, self.slow, self.sweep

    def run(self, *options):
        """Run with a path for the result; return the status."""
        with redirect_stdout(io.StringIO()) as text:
            status = run.main([*options, "--output", str(self.path)])
        self.said = text.getvalue()
        return status

    @property
    def result(self):
        return load(self.path)

    def row(self, name):
        """Return the row of a case in the table."""
        return next(line for line in self.said.splitlines() if name in line)


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
    assert found.engine == "cuda"
    assert found.gpu["name"] == "Stand-in 1"
    assert found.gpu["compute_capability"] == "9.0"
    assert found.gpu["l2_bytes"] == 2**20
    assert found.versions["cuda driver"] == "13.2"
    assert found.versions["cuda runtime"] == "13.1"
    assert found.versions["cub"] == "1.0"
    assert found.drift == pytest.approx(0, abs=1e-3)
    text = fake.said
    # 8 KiB in 8 us are 1.024 GB/s of 10; the peer takes 5 us
    shown = r"8\.00 \(8\.00-8\.00\).*10\.2%.*1% reached +cub, 5\.00 us +0\.62"
    assert re.search(shown, fake.row("I-1"))
    assert "1 us missed" in fake.row("I-2")
    assert "without torch: pip install 'x[torch]'" in text
    assert str(fake.path) in text
    assert "warning" not in text


@pytest.mark.parametrize(
    ("option", "cases", "samples"), [("--quick", ["I-1"], 10), ("--no-sweeps", ["I-1", "I-2"], 30)]
)
def test_some_lines_can_be_left_out(fake, option, cases, samples):
    assert fake.run(option) == 0
    lines = fake.result.lines
    assert [line.case for line in lines] == cases
    assert lines[0].timings[OURS].samples == samples


@pytest.mark.parametrize(
    ("attribute", "value", "note"),
    [("calls_that_work", 2, "WRONG"), ("check", None, "failed: TypeError")],
)
def test_a_wrong_result_or_an_error_fails_the_run_which_goes_on(fake, attribute, value, note):
    setattr(fake.workload, attribute, value)
    assert fake.run() == 1
    first, second, *_ = fake.result.lines
    assert first.timings[OURS].note.startswith(note)
    assert first.timings[OURS].samples == 0
    assert math.isnan(first.timings[OURS].median_us)
    assert second.timings[OURS].samples == 30
    assert note in fake.row("I-1")


def test_an_error_of_ours_among_the_samples_fails_its_line(fake, monkeypatch):
    sample, turns = Contender.sample, iter(range(99))

    def failing(contender):
        if contender.name == OURS and next(turns) == 3:
            raise RuntimeError("lost")
        sample(contender)

    monkeypatch.setattr(Contender, "sample", failing)
    assert fake.run("--quick") == 1
    assert fake.result.lines[0].timings[OURS].note == "failed: RuntimeError: lost"


def test_a_gpu_that_stopped_working_ends_the_run_with_what_there_is(fake):

    def broken(*_):
        raise fake.cupy.cuda.runtime.CUDARuntimeError("cudaErrorIllegalAddress")

    def check(*_):
        fake.cupy.cuda.Device = broken
        broken()

    fake.slow.lines[0].workload.check = check
    assert fake.run() == 1
    assert [line.case for line in fake.result.lines] == ["I-1", "I-2"]
    assert fake.result.drift != fake.result.drift
    assert fake.result.incomplete == "ended after 2 of 4 lines: the GPU no longer works"
    assert f"the run is incomplete: {fake.result.incomplete}" in fake.said


@pytest.mark.parametrize("broken", [False, True])
def test_each_line_begins_with_all_memory(fake, broken):
    """Also after one of our own errors, which holds the frames of the line while it is handled."""
    if broken:
        fake.workload.check = None
    begin, free = fake.slow.lines[0].workload.inputs, []

    def inputs(xp, seed):
        free.append(fake.cupy.gpu.capacity)
        return begin(xp, seed)

    fake.slow.lines[0].workload.inputs = inputs
    before = fake.cupy.gpu.capacity
    assert fake.run() == int(broken)
    assert free[0] == before - FLUSH_FACTOR * fake.cupy.gpu.l2_bytes


def test_a_file_is_there_after_each_line(fake):
    check, found = fake.sweep.lines[0].workload.check, []

    def look(*arguments):
        found.append(fake.result)
        check(*arguments)

    fake.sweep.lines[0].workload.check = look
    assert fake.run() == 0
    assert [line.case for line in found[0].lines] == ["I-1", "I-2"]
    assert found[0].incomplete == "ended after 2 of 4 lines"
    assert math.isnan(found[0].drift)
    assert found[0].ceilings == pytest.approx(fake.result.ceilings)
    assert fake.result.incomplete == ""
    assert "incomplete" not in fake.said


def terminate(*_):
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.fixture
def handler():
    """What SIGTERM does outside of a run: nothing, so that a test fails in place of the process."""

    def ignore(*_):
        pass

    previous = signal.signal(signal.SIGTERM, ignore)
    yield ignore
    signal.signal(signal.SIGTERM, previous)


@pytest.mark.parametrize("end", [mock.Mock(side_effect=KeyboardInterrupt), terminate])
def test_an_interruption_keeps_what_was_measured(fake, monkeypatch, handler, end):
    show = run.table.show

    def show_late(*arguments):
        if end is terminate:
            terminate()  # once more
        show(*arguments)

    monkeypatch.setattr(run.table, "show", show_late)
    fake.slow.lines[0].workload.check = end
    assert fake.run() == 1
    found = fake.result
    assert [line.case for line in found.lines] == ["I-1"]
    assert found.incomplete == "interrupted: ended after 1 of 4 lines"
    text = fake.said
    assert f"the run is incomplete: {found.incomplete}" in text
    assert "nan" not in text
    assert signal.getsignal(signal.SIGTERM) is handler


RATES = dict.fromkeys(("read", "write", "copy", "memcpy"), 100.0)
ENDS = {
    "sticky": (timed_gpu.CUDARuntimeError("cudaErrorIllegalAddress"), "cudaErrorIllegalAddress"),
    "memory": (timed_gpu.OutOfMemoryError("Out of memory allocating"), "OutOfMemoryError"),
    "any": (KeyError("copy"), "KeyError: 'copy'"),
    "interrupted": (KeyboardInterrupt(), "interrupted: the closing ceilings are missing"),
}


@pytest.mark.parametrize("end", ENDS)
def test_the_closing_ceilings_cannot_lose_the_lines(fake, monkeypatch, end):
    error, message = ENDS[end]
    found = []

    def measure(_gpu):
        if not fake.path.exists():
            return RATES
        found.append(fake.result)
        raise error

    monkeypatch.setattr(run.ceilings, "measure", measure)
    assert fake.run() == 1
    assert found[0].incomplete == "the closing ceilings are missing"
    result = fake.result
    assert result.lines[0].timings[OURS].samples == 30
    assert len(result.lines) == len(found[0].lines) == 4
    assert result.ceilings == RATES
    assert math.isnan(result.drift)
    assert message in result.incomplete
    assert f"the run is incomplete: {result.incomplete}" in fake.said


@pytest.mark.parametrize("end", ["sticky", "memory", "interrupted", "none at all"])
def test_what_fails_before_the_first_line_is_one_sentence(fake, tmp_path, monkeypatch, capsys, end):
    error, message = ENDS.get(end, (None, "the GPU cannot be measured: OutOfMemory"))
    if error is None:
        fake.cupy.gpu.capacity = 2**20
    else:
        monkeypatch.setattr(run.ceilings, "measure", mock.Mock(side_effect=error))
    assert fake.run() == 1
    said = capsys.readouterr().err
    assert said.startswith("perf run: ")
    assert said.count("\n") == 1
    assert message.split(":")[0] in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "seconds"),
    [("", 720), ("--quick", 240), ("--minutes 0.5", 30), ("--quick --minutes 7", 420)],
)
def test_the_time_for_all_lines(fake, monkeypatch, options, seconds):
    given = []
    monkeypatch.setattr(run, "Deadline", lambda *of: given.append(of) or Deadline(*of))
    assert fake.run(*options.split()) == 0
    assert [limit for _, limit, _ in given] == [seconds]


@pytest.mark.parametrize("minutes", ["0", "-1", "nan", "inf", "soon"])
def test_minutes_are_a_positive_number(capsys, minutes):
    with pytest.raises(SystemExit, match="2"):
        run.main(["--minutes", minutes])
    expected = f"argument --minutes: must be a positive number; got '{minutes}'"
    assert expected in capsys.readouterr().err


def test_a_ceiling_that_changes_is_warned_of(fake, monkeypatch):
    rates = iter([RATES, dict.fromkeys(RATES, 103.0)])
    monkeypatch.setattr(run.ceilings, "measure", lambda _gpu: next(rates))
    assert fake.run("--quick") == 0
    assert fake.result.drift == pytest.approx(0.03)
    assert "warning: the copy ceiling changed" in fake.said


class Late(TimedPeer):
    """A peer that has been asked before it is ready; it has increments alone."""

    increment, asked, found = True, 0, (False, False, True)

    def ready(self):
        found = self.found[min(self.asked, len(self.found) - 1)]
        self.asked += 1
        if isinstance(found, str):
            raise MissingPeerError(found)
        return found


def test_lines_without_a_peer_that_is_not_ready_come_first(fake):
    fake.slow.lines[0].workload.operator = "decrement"
    fake.peers = [Late(fake.cupy, "cub"), TimedPeer(fake.cupy, "torch")]
    seen = []
    for case in fake.cases:
        for line in case.lines:
            workload, check = line.workload, line.workload.check
            workload.check = lambda *of, _of=workload, _do=check: seen.append(_of.title) or _do(*of)
    assert fake.run() == 0
    assert seen == ["slow", "[4096] u8 increment", "2^8", "2^9"]
    found = fake.result
    assert [line.case for line in found.lines] == ["I-1", "I-2", *["sweep-increment"] * 2]
    late = [set(line.timings) - {OURS, "torch"} for line in found.lines]
    assert late == [set(), set(), {"cub"}, {"cub"}]
    assert (found.versions["cub"], found.versions["torch"]) == ("1.0", "1.0")
    assert "without cub" not in fake.said


@pytest.mark.parametrize(
    ("answers", "reason"),
    [((False,), "not ready in time"), ((False, "nvcc cannot"), "nvcc cannot")],
)
def test_a_peer_that_is_never_ready_is_missing(fake, answers, reason):
    fake.peers = [Late(fake.cupy, "cub")]
    fake.peers[0].found = answers
    assert fake.run("--quick") == 0
    assert f"without cub: {reason}" in fake.said
    assert set(fake.result.lines[0].timings) == {OURS}


def test_peers_are_chosen_by_library():
    names = ("cupy", "cupy, CUB off", "torch", "torch.compile", "cub")
    peers = [types.SimpleNamespace(name=name) for name in names]
    missing = {"onnxruntime": "is not installed"}
    chosen, absent = run.choose(peers, missing, "torch, cupy,onnxruntime,tf")
    assert [peer.name for peer in chosen] == list(names[:4])
    assert absent["onnxruntime"] == "is not installed"
    assert "torch.compile" in absent["tf"]
    assert run.choose(peers, missing, None) == (peers, missing)


def test_without_a_gpu_one_sentence_says_so(monkeypatch, capsys):
    monkeypatch.setattr(run, "device_count", lambda: 0)
    assert run.main(["R-1"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "a CUDA GPU is needed" in captured.err
    assert "--engine simulator" in captured.err


def test_the_simulator_gets_the_cases(monkeypatch, tmp_path):
    given = []
    monkeypatch.setattr(run, "main_simulator", lambda *arguments: given.append(arguments) or 7)
    path = tmp_path / "r.json"
    assert run.main(["Z-1", "R-1", "--engine", "simulator", "--output", str(path)]) == 7
    ((cases, minutes, output),) = given
    assert [case.name for case in cases] == ["Z-1", "R-1"]
    assert (minutes, output) == (None, path)


def test_the_matrix_can_be_listed(capsys):
    assert run.main(["--list", "R-1", "Z-8"]) == 0
    text = capsys.readouterr().out
    for cells in (("1073.7", "249.7", "95%", "cub, torch"), ("0.0", "5 us", "torch, cub")):
        assert any(all(cell in row for cell in cells) for row in text.splitlines())


def test_packages_of_the_extra_perf_are_optional():
    code = """
import sys
for name in ("jinja2", "matplotlib", "nvtx", "pynvml", "rich"):
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


def test_unknown_cases_are_refused_with_those_that_are_known(capsys):
    with pytest.raises(SystemExit, match="2"):
        run.main(["R-99"])
    error = capsys.readouterr().err
    assert "R-99" in error
    assert "R-1" in error.replace("R-10", "")
    assert "sweep-reduce" in error


def test_the_commit_has_a_mark_if_files_were_changed(tmp_path):
    assert environment.commit(tmp_path) == "unknown"

    def git(*arguments):
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        command = ["git", "-C", str(tmp_path), *who, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init")
    (tmp_path / "a").write_text("1")
    git("add", "a")
    git("commit", "-m", "a")
    clean = environment.commit(tmp_path)
    assert git("rev-parse", "HEAD").startswith(clean)
    (tmp_path / "a").write_text("2")
    assert environment.commit(tmp_path) == clean + "+"


def test_files_are_named_by_gpu_date_and_commit(tmp_path):
    date = "2026-01-02T03:04:05+00:00"
    found = environment.default_path("NVIDIA H200 (SXM)", date, "abc+", tmp_path)
    expected = "perf/results/nvidia-h200-sxm/2026-01-02T030405Z-abc+.json"
    assert found == tmp_path / expected
