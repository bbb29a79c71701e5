"""Findings as a terminal shows them: the message, then the lines of the source."""

from __future__ import annotations

import io
import os
import re

import pytest

import cudakern as ck
from cudakern.display.styled_text import as_ansi, as_text
from cudakern.simulator.reports.findings import (
    Finding,
    OtherAccess,
    format_findings,
    merge_findings,
)
from tests.helpers.rows import each

LINE = "  if (t < n) s[t] += s[t + n];"
SHOWN = f"  k.cu:6 | {LINE}"


def finding(code=LINE, column=None, number=6, **fields):
    """Return a race or, without another access, an access out of bounds."""
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
    """Return the lines that a terminal shows below the first message."""
    return described(findings, width=width, **options).split("\n")[1:]


def described(findings, notes=(), width=None):
    """Return what a terminal shows, without colours."""
    return as_text(format_findings(findings, notes, width=width))


READ, WRITE = (
    "read by block (0, 0, 0), thread (3, 0, 0)",
    "write by block (0, 0, 0), thread (9, 0, 0)",
)
FAR = f"a = b; {'x' * 200} c = d;"
ACCESSES = {
    "one_statement": (
        finding(column=3, other=other(column=3), threads=32),
        [SHOWN, f"         |   ^ {READ} and 31 more", f"         |     {WRITE}"],
    ),
    "one_line": (
        finding(column=22, other=other(column=14)),
        [SHOWN, f"         |              ^       ^ {READ}", f"         |              {WRITE}"],
    ),
    "the_other_comes_later": (
        finding(column=14, other=other(column=22)),
        [SHOWN, f"         |              ^       ^ {WRITE}", f"         |              {READ}"],
    ),
    "too_far_apart": (
        finding(FAR, 1, other=other(FAR, 209)),
        [
            f"  k.cu:6 | a = b; {'x' * 39}...",
            f"         | ^ {READ}",
            f"  k.cu:6 | ...{'x' * 39} c = d;",
            f"         | {' ' * 43}^",
            f"         |        {WRITE}",
        ],
    ),
    "two_lines": (
        finding(column=14, other=other("\tint v = s[t];", 10, number=10)),
        [
            "   k.cu:6 |   if (t < n) s[t] += s[t + n];",
            f"          |              ^ {READ}",
            "  k.cu:10 |     int v = s[t];",
            f"          |             ^ {WRITE}",
        ],
    ),
    "no_text": (finding(""), [f"  k.cu:6 | {READ}"]),
    "no_column": (finding(), [SHOWN, f"         |   {READ}"]),
    "no_line": (
        finding("", number=0, other=other(column=3)),
        [
            f"  unknown line | {READ}",
            f"        k.cu:6 | {LINE}",
            f"               |   ^ {WRITE}",
        ],
    ),
    "no_access": (finding(access="", column=3), [SHOWN, "         |   ^"]),
    "no_access_no_column": (finding(access=""), [SHOWN]),
    "line_alone": (finding("", access=""), []),
    "threads_alone": (
        finding("", number=0, access="", threads=5),
        ["  unknown line | 5 threads"],
    ),
}


@each("name", ACCESSES)
def test_what_is_shown_of_a_line(name):
    found, lines = ACCESSES[name]
    assert shown(found, width=60 if name == "too_far_apart" else 100) == lines


@each(
    "code, column, text, caret",
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
    """Characters take no, one or two columns of a terminal."""
    line, mark = shown(finding(code, column))
    assert line == f"  k.cu:6 | {text}"
    assert mark == f"         | {' ' * caret}^ {READ}"


@each("width", [20, 40, 57, 80])
def test_a_long_line_is_cut_around_its_caret(width):
    code = "".join(f"x{i:03}日;" for i in range(100))
    for column in (*range(1, 91, 6), *range(505, 601, 6)):
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


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_colours_are_all_that_they_add():
    found = [finding(column=22, other=other(column=14)), finding("", access="")]
    notes = ["k: not checked: k.cu:7: a write"]
    text = described(found, notes, width=100)
    coloured = as_ansi(format_findings(found, notes, width=100))
    assert "\x1b" not in text
    assert plain(coloured) == text
    assert f"\x1b[1;31m^\x1b[0m \x1b[1;31m{READ}" in coloured
    assert "\x1b[1;34m^\x1b[0m" in coloured
    assert f"\x1b[1;34m{WRITE}" in coloured
    assert coloured.startswith("\x1b[1mk\x1b[0m: \x1b[1;31mrace\x1b[0m: ")


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
    once = merge_findings(found)
    assert len(once) == 295
    assert once[0] == found[1]
    assert once[-3:] == (race, *found[-2:])
    assert described(once).count("k: out_of_bounds: said") == 292


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
    report = ck.simulator.CheckReport(findings=[finding(column=14)])
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
