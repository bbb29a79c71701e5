"""What `checked` finds in faulty kernels stands beside compute-sanitizer's answer."""

from __future__ import annotations

from perf.nsight.sanitizer import FOUND
from perf.nsight.tools import Ended
from tests.gpu import faulty
from tests.gpu.faulty import FAULTY, Faulty


def rows(text):
    """Return the cells of a printed table by kernel."""
    lines = [line.split("  ") for line in text.splitlines()]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    return {name: answers for name, *answers in filter(None, cells)}


def test_each_fault_is_found(capsys):
    assert faulty.main(["--engine", "simulator"]) == 0
    table = rows(capsys.readouterr().out)
    for name, (kind, tool, _) in FAULTY.items():
        kinds, said = table[name]
        assert kind in kinds.split(", "), name
        assert said == "-"
        assert tool in {"memcheck", "initcheck", "racecheck", "synccheck"}


def test_a_right_kernel_is_no_fault(monkeypatch, capsys):
    right = Faulty("race", "racecheck", "s[t] = x[i]; __syncthreads(); y[i] = s[t ^ 1];")
    monkeypatch.setattr(faulty, "FAULTY", {"right": right})
    assert faulty.main(["--engine", "simulator"]) == 1
    assert rows(capsys.readouterr().out)["right"] == ["nothing", "-"]


def test_the_answers_stand_side_by_side(monkeypatch, capsys):
    ran = []

    def execute(command, _seconds):
        ran.append(command)
        printed = "" if "racecheck" in command else "========= ERROR SUMMARY: 2 errors\n"
        return Ended(FOUND if printed else 0, printed, late=False)

    monkeypatch.setattr(faulty.SANITIZER.__class__, "find", lambda *_, **__: "sanitizer")
    monkeypatch.setattr(faulty, "execute", execute)
    names = ("misaligned", "a sum of two blocks")
    monkeypatch.setattr(faulty, "FAULTY", {name: FAULTY[name] for name in names})
    assert faulty.main([]) == 0
    table = rows(capsys.readouterr().out)
    assert table["misaligned"] == ["misaligned", "memcheck: 2 errors"]
    assert table["a sum of two blocks"] == ["race", "racecheck: no summary"]
    assert [command[-3:] for command in ran] == [["-m", "tests.gpu.faulty", n] for n in names]
