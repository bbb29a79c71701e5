"""perf.report: the page has every line of a result, and what is wrong is said in a sentence."""

from __future__ import annotations

import base64
import html
import importlib.util
import json
from html.parser import HTMLParser

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
from perf import charts, report, summary
from perf.results import OURS, LineResult
from tests.perf import synthetic

VOID = {"meta", "img"}


@pytest.fixture
def small():
    """Return a result of a few cases that a test may change."""
    return synthetic.result(cases={"R-1", "R-2", "R-10", "O-1", "sweep-reduce"})


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return a function that saves results and reports on them: rc and the page."""
    monkeypatch.setattr(report, "DPI", 20)

    def write(*results):
        paths = [tmp_path / f"{number}.json" for number in range(len(results))]
        for result, path in zip(results, paths, strict=True):
            result.save(path)
        rc = report.main([*map(str, paths), "--output", str(tmp_path / "out")])
        return rc, (tmp_path / "out" / "index.html").read_text(encoding="utf-8")

    return write


def name(line):
    return f"{line.case} {line.line}"


class _Tags(HTMLParser):
    """Checks that tags are closed in order, and gathers the rows of the table."""

    def __init__(self):
        super().__init__()
        self.open, self.table, self.classes = [], [], []

    def handle_starttag(self, tag, attrs):
        assert tag != "script"
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.table.append([])
            self.classes.append(dict(attrs).get("class"))
        if tag in {"td", "th"}:
            self.table[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "td" in self.open or "th" in self.open:
            self.table[-1][-1] += data


def test_page_has_every_line(small, write, tmp_path, capsys):
    small.lines[1].checked = False
    small.lines[2].timings[OURS] = synthetic.missing("WRONG: 3 elements")
    small.drift = 0.021
    rc, page = write(small)
    assert rc == 0
    tags = _Tags()
    tags.feed(page)
    assert not tags.open
    head, *table = tags.table
    assert len(table) == len(small.lines)
    for line, cells, colour in zip(small.lines, table, tags.classes[1:], strict=True):
        row = dict(zip(head, cells, strict=True))
        assert row["line"].startswith(name(line))
        ours = line.timings[OURS]
        timed = ours.samples > 0
        assert row["cudakern, us"] == (summary.interval(ours) if timed else "no time")
        for who, timing in line.timings.items():
            if who != OURS and timing.samples:
                ratio = timing.median_us / ours.median_us
                start = summary.digits(timing.median_us)
                start += f" ({summary.digits(ratio)}x" if timed else ""
                assert row[f"{who}, us"].startswith(start)
            assert (f"{who}: {timing.note}" in row["notes"]) == bool(timing.note)
        if line.goal is not None and timed:
            reached = small.fraction(line) >= line.goal
            assert (row["goal"], row["reached"]) == (f"{line.goal:.0%}", "yes" if reached else "no")
            assert row["fraction"] == f"{small.fraction(line):.1%}"
        if line.goal_us is not None:
            assert row["reached"] == ("yes" if ours.median_us <= line.goal_us else "no")
        assert row["kernel"] == line.kernel
        assert colour == ("bad" if line in small.lines[1:3] else None)
    assert "not checked" in table[1][0]
    assert "wrong" in table[2][0]
    assert "drifted by more than 2 %" in page
    for text in (synthetic.GPU, small.commit, small.date, "read 4.45", "2.1%", "perf/README.md"):
        assert text in page
    assert "http" not in page
    pictures = sorted((tmp_path / "out").glob("made-up-*.png"))
    assert len(pictures) == page.count("<img") == 6
    for picture in pictures:
        assert base64.b64encode(picture.read_bytes()).decode() in page
    assert f"{tmp_path / 'out' / 'index.html'}, pictures beside it: 6" in capsys.readouterr().out


def test_names_are_escaped(small, write):
    small.lines = small.lines[:2]
    small.lines[0].line = "<script>alert(1)</script> $x_$ & [bold]"
    small.lines[0].kernel = "a<b>"
    small.gpu["name"] = "<i>made up"
    rc, page = write(small)
    assert rc == 0
    assert html.escape(small.lines[0].line) in page
    assert "a&lt;b&gt;" in page
    for raw in ("<script", "<b>", "<i>"):
        assert raw not in page


def test_without_peers_sweeps_goals_or_ceilings(small, write):
    small.lines = [x for x in small.lines if x.case in {"R-1", "R-10"}][:2]
    for line in small.lines:
        line.timings = {OURS: line.timings[OURS]}
        line.goal = line.goal_us = None
    small.ceilings = {}
    small.drift = synthetic.NAN
    rc, page = write(small)
    assert rc == 0
    assert "unknown" in page
    assert page.count("<img") == 2  # times without a ceiling: neither ratios nor growth


@pytest.mark.parametrize("engine", ["simulator", "cuda"])
def test_what_is_no_measurement_is_not_drawn(small, write, tmp_path, capsys, engine):
    small.engine = engine
    if engine == "simulator":
        small.gpu, small.ceilings = {}, {}
    else:
        for line in small.lines:
            line.timings = {OURS: synthetic.missing("no driver")}
    rc, page = write(small)
    assert rc == 0
    assert "holds no measurement" in page
    assert "<img" not in page
    assert not list((tmp_path / "out").glob("*.png"))
    assert all(html.escape(name(line)) in page for line in small.lines)
    assert "no measurement" in capsys.readouterr().out


def test_an_incomplete_run_is_marked(small, write, capsys, monkeypatch):
    monkeypatch.setattr(charts, "figures", lambda *_results: {})
    assert "run is incomplete" not in write(small)[1] + capsys.readouterr().out
    small.incomplete = "ended after 3 of <9> lines"
    assert "This run is incomplete: ended after 3 of &lt;9&gt; lines." in write(small)[1]
    assert "the run is incomplete: ended after 3 of <9> lines" in capsys.readouterr().out


def test_newest_is_compared_with_the_one_before_on_the_same_gpu(small):
    older, oldest = synthetic.result(2, "2026-11-19"), synthetic.result(3, "2026-11-18")
    other = synthetic.result(4, "2026-11-21")
    other.gpu["name"] = "made up too"
    pairs = summary.newest([oldest, small, other, older])
    assert [(a is other, b) for a, b in pairs[:1]] == [(True, None)]
    assert [(a is small, b is older) for a, b in pairs[1:]] == [(True, True)]


def test_page_says_what_changed(small, write):
    small.lines = small.lines[:2]
    old = synthetic.result(2, "2026-11-01")
    old.lines = [old.lines[0], LineResult("R-0", "gone & lost", "reduce", 1.0, "read")]
    rc, page = write(small, old)
    assert rc == 0
    assert "compared with</dt><dd>2026-11-01" in page
    assert "new lines</dt><dd>R-2 [2^28] i8 max<" in page
    assert "lines that are gone</dt><dd>R-0 gone &amp; lost<" in page
    assert "made-up-change-reduce.png" in page


def test_terminal_shows_what_is_furthest_below_its_goal(small, write, capsys, monkeypatch):
    monkeypatch.setattr(charts, "figures", lambda *_results: {})
    shares = (0.9, 1.1, 0.5, 0.99)
    small.lines = [x for x in small.lines if x.goal or x.goal_us][: len(shares)]
    for line, share in zip(small.lines, shares, strict=True):
        least = line.bytes / small.ceilings[line.ceiling] * 1e6
        time = line.goal_us / share if line.goal_us else least / (line.goal * share)
        line.timings = {OURS: synthetic.timing(time)}
    worst = [small.lines[2], small.lines[0], small.lines[3]]
    assert summary.furthest_below(small, 5) == worst
    assert summary.furthest_below(small, 2) == worst[:2]
    assert write(small)[0] == 0
    shown = capsys.readouterr().out
    assert [x for x in shown.replace("│", " ").split() if x in {"50%", "90%", "99%", "110%"}] == [
        "50%",
        "90%",
        "99%",
    ]


def test_results_of_all_folders_by_default(small, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    assert report.main([]) == 1
    assert "perf.run" in capsys.readouterr().err
    small.lines = small.lines[:1]
    small.save(tmp_path / "made-up" / "a.json")
    assert report.main(["--output", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "index.html").exists()


@pytest.mark.parametrize("text", ["{", "[]", json.dumps({"schema": 99}), "{}"])
def test_broken_files_are_named_in_a_sentence(tmp_path, capsys, text):
    path = tmp_path / "broken.json"
    path.write_text(text)
    assert report.main([str(path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"{path}: ")
    assert error.count("\n") == error.count(str(path)) == 1


def test_absent_files_and_packages_are_named(tmp_path, capsys, monkeypatch):
    assert report.main([str(tmp_path / "none.json")]) == 1
    assert capsys.readouterr().err == f"{tmp_path / 'none.json'}: No such file or directory\n"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if "lib" in name else name)
    assert report.main([]) == 1
    assert capsys.readouterr().err == "the report needs matplotlib: pip install '.[perf]'\n"
