"""What `checked` finds in faulty kernels stands beside compute-sanitizer's answer."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.gpu import faulty
from tests.gpu.faulty import FAULTY, Faulty
from tests.helpers import nsight


def rows(text):
    """Return the cells of a printed table by kernel."""
    lines = [line.split("  ") for line in text.splitlines()]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    return {name: answers for name, *answers in filter(None, cells)}


@pytest.mark.parametrize("name", FAULTY)
def test_each_fault_is_found(name):
    kind, tool, _ = FAULTY[name]
    assert kind in faulty.found_by_checked(name)
    assert tool in {"memcheck", "initcheck", "racecheck", "synccheck"}


def test_a_right_kernel_is_no_fault(monkeypatch, capsys):
    right = Faulty("race", "racecheck", "s[t] = x[i]; __syncthreads(); y[i] = s[t ^ 1];")
    monkeypatch.setattr(faulty, "FAULTY", {"right": right})
    assert faulty.main(["--engine", "simulator"]) == 1
    assert rows(capsys.readouterr().out)["right"] == ["nothing", "-"]


@pytest.mark.parametrize(
    ("state", "said"),
    [("found", "2 errors"), ("failed", "ended with 1; 0 errors"), ("silent", "no summary")],
)
def test_the_answers_stand_side_by_side(tmp_path, monkeypatch, capsys, state, said):
    log = nsight.install(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE", f"{state} memcheck")
    names = ("misaligned", "a sum of two blocks")
    monkeypatch.setattr(faulty, "FAULTY", {name: FAULTY[name] for name in names})
    assert faulty.main([]) == 0
    table = rows(capsys.readouterr().out)
    assert table["misaligned"] == ["misaligned", f"memcheck: {said}"]
    hazards = "racecheck: 0 hazards displayed (0 errors, 0 warnings)"
    assert table["a sum of two blocks"] == ["race", hazards]
    assert [f'"-m", "tests.gpu.faulty", "{name}"' in log.read_text() for name in names] == [
        True
    ] * 2


def test_a_process_of_its_own_launches_through_cupy():
    command = [sys.executable, "-m", "tests.gpu.faulty", "misaligned"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "cupy" in ended.stderr.lower()  # none, without a GPU; an error of its launch, with one
