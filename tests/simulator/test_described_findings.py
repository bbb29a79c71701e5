"""Findings as a terminal shows them: the message, then the lines of the source."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator.reports.findings import Finding, OtherAccess
from cudakern.simulator.reports.text import described, grouped

FOLDER = Path(__file__).parent
FILE = FOLDER / "every_kind.cu"
KERNELS = re.findall(r"__global__ void (\w+)", FILE.read_text(encoding="utf-8"))
#: What a terminal shows of each, in order.
EXPECTED = FOLDER / "every_kind.txt"


@pytest.fixture(scope="module")
def findings():
    """What the checker finds in every kernel."""
    module = ck.simulator.RawModule(path=str(FILE))
    result = []
    for name in KERNELS:
        x, y = np.arange(1, 65, dtype=np.int32), np.zeros(64, np.int32)
        with pytest.raises(ck.SimulatorError) as caught, ck.simulator.checked():
            module.get_function(name)((1,), (64,), (x, y))
        result += caught.value.findings
    return result


def test_every_kind(findings):
    text = described(findings, width=100).replace(f"{FOLDER}/", "")
    assert f"{text}\n" == EXPECTED.read_text(encoding="utf-8")
    assert [finding.kind for finding in grouped(findings)] == [
        {"asserts": "assert"}.get(name, name) for name in KERNELS
    ]


def test_each_message_is_a_line_of_its_own(findings):
    lines = described(findings, width=40).split("\n")
    for finding in grouped(findings):
        escaped = str(finding).replace("\x1b", r"\x1b")
        assert lines.count(escaped) == 1


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_colours_are_all_that_they_add(findings):
    notes = ["k: not checked: k.cu:7: a write"]
    text = described(findings, notes, width=100)
    coloured = described(findings, notes, color=True, width=100)
    assert "\x1b" not in text
    assert plain(coloured) == text
    assert "\x1b[1;31m^\x1b[0m \x1b[1;31mread by block" in coloured
    assert "\x1b[1;34m^\x1b[0m \x1b[1;34mwrite by block" in coloured
    assert "\x1b[1mrace\x1b[0m: \x1b[1;31mrace\x1b[0m: " in coloured


LINE = "  if (t < n) s[t] += s[t + n];"


def finding(code=LINE, column=None, number=6, **fields):
    """Return a race or, without another access, something else."""
    kind = "race" if fields.get("other") else "out_of_bounds"
    source = ("dir/k.cu", number) if number else None
    values = {"kind": kind, "message": "said", "access": "read", "stack": (), "index": 0} | fields
    return Finding(
        **{"array": "s", "kernel": "k", "block": (0, 0, 0), "thread": (3, 0, 0)} | values,
        source=source,
        code=code,
        column=column,
    )


def other(code=LINE, column=None, number=6, access="write"):
    return OtherAccess(access, ("dir/k.cu", number), column, (), (0, 0, 0), (9, 0, 0), code)


def shown(*findings, width=100, **options):
    """Return what is shown below the first message."""
    return described(findings, width=width, **options).split("\n")[1:]


READ, WRITE = (
    "read by block (0, 0, 0), thread (3, 0, 0)",
    "write by block (0, 0, 0), thread (9, 0, 0)",
)


def test_two_accesses_of_one_statement():
    assert shown(finding(column=3, other=other(column=3), threads=32)) == [
        "  k.cu:6 |   if (t < n) s[t] += s[t + n];",
        f"         |   ^ {READ} and 31 more",
        f"         |     {WRITE}",
    ]


def test_two_accesses_in_one_line():
    assert shown(finding(column=22, other=other(column=14))) == [
        "  k.cu:6 |   if (t < n) s[t] += s[t + n];",
        f"         |              ^       ^ {READ}",
        f"         |              {WRITE}",
    ]
    assert shown(finding(column=14, other=other(column=22))) == [
        "  k.cu:6 |   if (t < n) s[t] += s[t + n];",
        f"         |              ^       ^ {WRITE}",
        f"         |              {READ}",
    ]


def test_accesses_that_one_line_has_too_far_apart():
    code = f"a = b; {'x' * 200} c = d;"
    assert shown(finding(code, 1, other=other(code, 209)), width=60) == [
        f"  k.cu:6 | a = b; {'x' * 39}...",
        f"         | ^ {READ}",
        f"  k.cu:6 | ...{'x' * 39} c = d;",
        f"         | {' ' * 43}^",
        f"         |        {WRITE}",
    ]


def test_accesses_in_two_lines():
    there = other("\tint v = s[t];", 10, number=10)
    assert shown(finding(column=14, other=there)) == [
        "   k.cu:6 |   if (t < n) s[t] += s[t + n];",
        f"          |              ^ {READ}",
        "  k.cu:10 |     int v = s[t];",
        f"          |             ^ {WRITE}",
    ]


@pytest.mark.parametrize(
    ("code", "column", "text", "caret"),
    [
        ("\tx[t] = 1;", 2, "    x[t] = 1;", 4),
        ("x\ty\tz;", 5, "x   y   z;", 8),
        ("/* é */ x[t];", 9, "/* é */ x[t];", 8),
        ("/* 日本 */ x;", 10, "/* 日本 */ x;", 11),
        ("/* e\u0301 */ x;", 10, "/* e\u0301 */ x;", 8),
        ("/*\x1b[2J*/ x;", 10, r"/*\x1b[2J*/ x;", 12),
        ("/*\u202e*/ x;", 7, r"/*\u202e*/ x;", 11),
        ("x;\r", 1, "x;", 0),
        ("x;", 99, "x;", 2),
    ],
)
def test_a_caret_below_its_column(code, column, text, caret):
    """A terminal shows characters in none, one or two columns of its own."""
    line, mark = shown(finding(code, column))
    assert line == f"  k.cu:6 | {text}"
    assert mark == f"         | {' ' * caret}^ {READ}"


@pytest.mark.parametrize("width", [20, 30, 40, 57, 80])
def test_a_long_line_is_cut_around_its_caret(width):
    code = "".join(f"x{i:03}日;" for i in range(100))
    for column in range(1, 601, 6):
        line, mark, *_ = (
            text.partition("| ")[2] for text in shown(finding(code, column), width=width)
        )
        cells = "".join(f"{c}\0" if c == "日" else c for c in line)
        assert len(cells) <= max(20, width - 11)
        assert cells[mark.index("^") :].startswith(
            f"x{column // 6:03}"[: len(cells) - mark.index("^") - 3]
        )
        assert ("..." in line[:3]) is (not line.startswith("x000"))
        assert line.endswith("...") is ("x099日;" not in line)


def test_what_is_not_known():
    assert shown(finding("")) == [f"  k.cu:6 | {READ}"]
    assert shown(finding(column=None)) == [
        "  k.cu:6 |   if (t < n) s[t] += s[t + n];",
        f"         |   {READ}",
    ]
    assert shown(finding("", number=0, other=other(column=3))) == [
        f"  unknown line | {READ}",
        f"        k.cu:6 | {LINE}",
        f"               |   ^ {WRITE}",
    ]
    assert shown(finding(access="", column=3)) == [f"  k.cu:6 | {LINE}", "         |   ^"]
    assert shown(finding(access="")) == [f"  k.cu:6 | {LINE}"]
    assert shown(finding("", access="")) == []
    assert shown(finding("", number=0, access="", threads=5)) == ["  unknown line | 5 threads"]


def test_nothing_but_printable_text_reaches_the_terminal():
    hostile = "a\x1b]0;t\x07\r\n\x9b1m\u2028b"
    text = described(
        [finding(hostile, 1, kernel=hostile, message=hostile, array=hostile)], [hostile], width=120
    )
    assert all(line.isprintable() for line in text.split("\n"))
    assert len(text.split("\n")) == 5
    assert r"a\x1b]0;t\x07\r\n\x9b1m\u2028b: out_of_bounds: " in text


def test_groups():
    race = finding(number=7, other=other(number=6), array="s")
    mirrored = finding(number=6, other=other(number=7), array="s")
    found = [
        *[finding(number=6, threads=threads) for threads in (1, 9, 3)],
        finding(number=6, array="t"),
        *[finding(number=line) for line in range(10, 300)],
        race,
        mirrored,
        finding("", number=0, message="here"),
        finding("", number=0, message="there"),
    ]
    once = grouped(found)
    assert len(once) == 295
    assert once[0] == found[1]
    assert once[-3:] == [race, *found[-2:]]
    assert described(found).count("k: out_of_bounds: said") == 292


def test_nothing():
    assert described([]) == ""
    assert described([], ["a", "b"]) == "a\nb"
    assert described([finding("", access="")], ["a"]) == "k: out_of_bounds: said\na"


def test_the_terminal_gives_the_width(monkeypatch):
    code = "x" * 300
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((0, 0)))
    for columns, length in (("70", 70), ("0", 120), ("", 120)):
        monkeypatch.setenv("COLUMNS", columns)
        assert len(described([finding(code, 1)]).split("\n")[1]) == length


def test_rich_prints_a_report(monkeypatch):
    rich = pytest.importorskip("rich.console", reason="rich is not installed")
    code = 'extern "C" __global__ void set(int* x) { x[threadIdx.x] = 7; }'
    with pytest.raises(ck.SimulatorError), ck.simulator.checked() as report:
        ck.simulator.RawKernel(code, "set")((1,), (4,), (np.zeros(3, np.int32),))
    monkeypatch.delenv("NO_COLOR", raising=False)
    for color_system in ("standard", None):
        console = rich.Console(
            file=io.StringIO(), force_terminal=True, width=500, color_system=color_system
        )
        console.print(report)
        printed = console.file.getvalue()
        assert plain(printed) == f"{described(report.findings, width=500)}\n"
        assert ("\x1b" in printed) is (color_system is not None)
        console.print(ck.simulator.CheckReport())
        assert console.file.getvalue().endswith("nothing found in 0 launches\n")
    assert str(report) == str(report.findings[0])
