import io
import re
import subprocess
import types
from dataclasses import dataclass

import pytest
from rich.console import Console

from cudakern.engines.base import KernelSpec, Launch
from cudakern.operators import base as operators
from perf import environment, run
from perf.cases.base import Case, Line
from perf.engines import NullEngine
from perf.results import OURS, load
from tests.helpers import timed_gpu
from tests.helpers.timed_problems import Increment, TimedPeer


@dataclass
class Launched(Increment):
    """An increment that goes through the engine of operators, too."""

    entry: str = "ck_increment"

    def call(self, inputs, outputs):
        call = super().call(inputs, outputs)
        kernel = KernelSpec("increment.cu", self.entry, ())
        found = Launch(kernel, (1, 1, 1), (1, 1, 1), 0, 0, b"")
        launch = operators.engine_for(0).prepare(found, 0)

        def both():
            launch()
            call()

        return both


class Fake:
    """A GPU, one case and one sweep."""

    def __init__(self, monkeypatch):
        self.cupy = timed_gpu.make()
        self.peers, self.missing = [TimedPeer(self.cupy, "cub")], {"torch": "is not installed"}
        self.problem = Launched(self.cupy, title="[4096] u8 increment")
        self.case = self.case_of("I-1", Line(self.problem, goal=0.01, quick=True))
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
        self.text = io.StringIO()
        monkeypatch.setattr(run, "Console", lambda: Console(file=self.text, width=300))

    @staticmethod
    def case_of(name, *lines):
        return Case(name, "", (), lines)

    @property
    def cases(self):
        return self.case, self.slow, self.sweep


@pytest.fixture
def fake(monkeypatch):
    return Fake(monkeypatch)


def test_a_run_is_written_and_shown(fake, tmp_path):
    path = tmp_path / "r.json"
    assert run.main(["--output", str(path)]) == 0
    found = load(path)
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
    text = fake.text.getvalue()
    row = next(line for line in text.splitlines() if "I-1" in line)
    # 8 KiB in 8 us are 1.024 GB/s of 10; the peer takes 5 us
    assert re.search(r"8\.0 \(8\.0-8\.0\).*10\.2%.*1% reached.*cub.*5\.0.*0\.6", row)
    row = next(line for line in text.splitlines() if "I-2" in line)
    assert "1 us missed" in row
    assert "without torch: is not installed" in text
    assert str(path) in text
    assert "warning" not in text


@pytest.mark.usefixtures("fake")
def test_quick_takes_few_lines_and_samples(tmp_path):
    path = tmp_path / "r.json"
    assert run.main(["--quick", "--output", str(path)]) == 0
    (line,) = load(path).lines
    assert (line.case, line.timings[OURS].samples) == ("I-1", 10)


@pytest.mark.usefixtures("fake")
def test_sweeps_can_be_left_out(tmp_path):
    path = tmp_path / "r.json"
    assert run.main(["--no-sweeps", "--output", str(path)]) == 0
    assert [line.case for line in load(path).lines] == ["I-1", "I-2"]


def test_a_wrong_result_fails_the_run_without_a_time(fake, tmp_path):
    path = tmp_path / "r.json"
    fake.problem.calls_that_work = 2
    assert run.main(["--output", str(path)]) == 1
    first, second, *_ = load(path).lines
    assert first.timings[OURS].note.startswith("WRONG")
    assert first.timings[OURS].samples == 0
    assert first.timings[OURS].median_us != first.timings[OURS].median_us
    assert second.timings[OURS].samples == 30
    row = next(line for line in fake.text.getvalue().splitlines() if "I-1" in line)
    assert "WRONG" in row


def test_an_error_of_ours_fails_the_run_which_goes_on(fake, tmp_path):
    path = tmp_path / "r.json"
    fake.problem.check = None
    assert run.main(["--output", str(path)]) == 1
    first, second, *_ = load(path).lines
    assert first.timings[OURS].note.startswith("failed: TypeError")
    assert second.timings[OURS].samples == 30


def test_a_gpu_that_stopped_working_ends_the_run_with_what_there_is(fake, tmp_path):
    path = tmp_path / "r.json"

    def broken(*_):
        raise fake.cupy.cuda.runtime.CUDARuntimeError("cudaErrorIllegalAddress")

    def check(*_):
        fake.cupy.cuda.Device = broken
        broken()

    fake.slow.lines[0].problem.check = check
    assert run.main(["--output", str(path)]) == 1
    assert [line.case for line in load(path).lines] == ["I-1", "I-2"]
    assert load(path).drift != load(path).drift
    assert "the run ended after 2 of 4 lines" in fake.text.getvalue()


def test_what_was_measured_before_an_interruption_is_written(fake, tmp_path):
    path = tmp_path / "r.json"

    def interrupt(*_):
        raise KeyboardInterrupt

    fake.slow.lines[0].problem.check = interrupt
    assert run.main(["--output", str(path)]) == 1
    assert [line.case for line in load(path).lines] == ["I-1"]


def test_a_ceiling_that_changes_is_warned_of(fake, tmp_path, monkeypatch):
    rates = iter([100.0, 103.0])

    def measure(_gpu):
        return dict.fromkeys(("read", "write", "copy", "memcpy"), next(rates))

    monkeypatch.setattr(run.ceilings, "measure", measure)
    path = tmp_path / "r.json"
    assert run.main(["--quick", "--output", str(path)]) == 0
    assert load(path).drift == pytest.approx(0.03)
    assert "warning: the copy ceiling changed" in fake.text.getvalue()


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
    ((cases, output),) = given
    assert [case.name for case in cases] == ["Z-1", "R-1"]
    assert output == path


def test_the_matrix_can_be_listed(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert run.main(["--list", "R-1", "Z-8"]) == 0
    text = capsys.readouterr().out
    for cells in (("1073.7", "249.7", "95%", "cub, torch"), ("0.0", "5 us", "torch, cub")):
        assert any(all(cell in row for cell in cells) for row in text.splitlines())


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
