"""The page has every line of a result, and what is wrong is said in a sentence."""

from __future__ import annotations

import base64
import html
import importlib.util
import json
from html.parser import HTMLParser

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
from perf.report import command, pictures
from perf.results import NAN, OURS, digits
from tests.perf import synthetic

VOID = {"meta", "img"}


@pytest.fixture
def result():
    return synthetic.result()


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return a function that saves results and reports on them: rc and the page."""
    monkeypatch.setattr(command, "DPI", 20)

    def write(*results):
        paths = [tmp_path / f"{number}.json" for number in range(len(results))]
        for result, path in zip(results, paths, strict=True):
            result.save(path)
        rc = command.main([*map(str, paths), "--output", str(tmp_path / "out")])
        return rc, (tmp_path / "out" / "index.html").read_text(encoding="utf-8")

    return write


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


def rows(page):
    """Return the rows of the page's table by heading, and their classes."""
    tags = _Tags()
    tags.feed(page)
    assert not tags.open
    head, *table = tags.table
    return [dict(zip(head, cells, strict=True)) for cells in table], tags.classes[1:]


def test_page_has_every_line(result, write, tmp_path, capsys):
    result.lines[1].checked = False
    result.lines[2].timings[OURS] = synthetic.missing("WRONG: 3 elements")
    result.lines[0].predicted_us = 100.0
    result.drift = 0.021
    rc, page = write(result)
    assert rc == 0
    table, classes = rows(page)
    for line, row, colour in zip(result.lines, table, classes, strict=True):
        ours = line.timings[OURS]
        timed = ours.samples > 0
        assert (row["case"], row["line"], row["kernel"]) == (line.case, line.line, line.kernel)
        assert row["us (p10-p90)"] == (ours.interval if timed else "WRONG")
        assert row["host, us"] == ("4.50" if timed else "-")
        for who, timing in line.timings.items():
            in_peers = f"{who} {timing.interval}" in row["peers"]
            assert in_peers == (who != OURS and timing.samples > 0)
            assert (f"{who}: {timing.note}" in row["notes"]) == bool(timing.note)
        if line.goal is not None and timed:
            fraction = line.bytes / ours.median_us * 1e6 / result.ceilings[line.ceiling]
            reached = "reached" if fraction >= line.goal else "missed"
            assert row["goal"] == f"{line.goal:.0%} {reached}"
            assert row["of ceiling"] == f"{fraction:.1%}"
        if line.goal_us is not None:
            reached = "reached" if ours.median_us <= line.goal_us else "missed"
            assert row["goal"] == f"{line.goal_us:g} us {reached}"
        assert colour == ("bad" if line in result.lines[1:3] else None)
    assert table[0]["of model"] == digits(result.lines[0].timings[OURS].median_us / 100)
    assert "changed by more than 2%" in page
    for text in (synthetic.GPU, result.commit, result.date, "read 4.45", "2.1%", "perf/README.md"):
        assert text in page
    assert "http" not in page
    saved = sorted((tmp_path / "out").glob("made-up-*.png"))
    assert len(saved) == page.count("<img") == 5
    for picture in saved:
        assert base64.b64encode(picture.read_bytes()).decode() in page
    assert str(tmp_path / "out" / "index.html") in capsys.readouterr().out


@pytest.fixture
def undrawn(monkeypatch):
    monkeypatch.setattr(pictures, "figures", lambda _result: {})


def test_names_are_escaped(result, write):
    result.lines = result.lines[:2]
    result.lines[0].line = "<script>alert(1)</script> $x_$ & [bold]"
    result.lines[0].kernel = "a<b>"
    result.gpu["name"] = "<i>made up"
    rc, page = write(result)
    assert rc == 0
    assert html.escape(result.lines[0].line) in page
    assert "a&lt;b&gt;" in page
    for raw in ("<script", "<b>", "<i>"):
        assert raw not in page


def test_without_peers_goals_or_ceilings(result, write):
    result.lines = result.lines[:2]
    for line in result.lines:
        line.timings = {OURS: line.timings[OURS]}
        line.goal = line.goal_us = None
    result.ceilings = {}
    result.drift = NAN
    rc, page = write(result)
    assert rc == 0
    assert "unknown" in page
    table, _ = rows(page)
    headings = ("of ceiling", "goal", "best peer", "ratio", "model, us", "of model", "before")
    assert {row[heading] for row in table for heading in headings} == {"-"}


@pytest.mark.parametrize("engine", ["simulator", "cuda"])
def test_what_is_no_measurement_is_not_drawn(result, write, tmp_path, engine):
    result.engine = engine
    if engine == "simulator":
        result.gpu, result.ceilings = {}, {}
    else:
        for line in result.lines:
            line.timings = {OURS: synthetic.missing("no driver")}
    rc, page = write(result)
    assert rc == 0
    assert f"no measurement (engine {engine})" in page
    assert "<img" not in page
    assert not list((tmp_path / "out").glob("*.png"))
    assert [row["line"] for row in rows(page)[0]] == [line.line for line in result.lines]


@pytest.mark.usefixtures("undrawn")
def test_an_incomplete_run_is_marked(result, write):
    assert "incomplete" not in write(result)[1]
    result.incomplete = "ended after 3 of <9> lines"
    assert "the run is incomplete: ended after 3 of &lt;9&gt; lines" in write(result)[1]


@pytest.mark.usefixtures("undrawn")
def test_newest_is_compared_with_the_one_before_on_the_same_gpu(result, write):
    older, oldest = synthetic.result(2, "2026-11-19"), synthetic.result(3, "2026-11-18")
    other = synthetic.result(4, "2026-11-21")
    other.gpu["name"] = "made up too"
    pairs = command.newest([oldest, result, other, older])
    assert [(a is other, b) for a, b in pairs[:1]] == [(True, None)]
    assert [(a is result, b is older) for a, b in pairs[1:]] == [(True, True)]
    del older.lines[1]
    _, page = write(result, older)
    assert "before</dt><dd>2026-11-19, commit 0000002+, driver 0.0" in page
    table, _ = rows(page)
    old, now = older.lines[0].timings[OURS], result.lines[0].timings[OURS]
    assert table[0]["before"] == f"{old.interval} us, {old.over(now)} of now"
    assert table[1]["before"] == "-"


@pytest.mark.usefixtures("undrawn")
def test_results_of_all_folders_by_default(result, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "RESULTS", tmp_path)
    assert command.main([]) == 1
    assert "perf run" in capsys.readouterr().err
    result.save(tmp_path / "made-up" / "a.json")
    assert command.main(["--output", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "index.html").exists()


@pytest.mark.parametrize("text", [b"{", b"[]", json.dumps({"schema": 99}).encode(), b"{}", b"\xff"])
def test_broken_files_are_named_in_a_sentence(tmp_path, capsys, text):
    path = tmp_path / "broken.json"
    path.write_bytes(text)
    assert command.main([str(path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"{path}: ")
    assert error.count("\n") == error.count(str(path)) == 1


def test_absent_files_and_packages_are_named(tmp_path, capsys, monkeypatch):
    assert command.main([str(tmp_path / "none.json")]) == 1
    assert capsys.readouterr().err == f"{tmp_path / 'none.json'}: No such file or directory\n"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if "lib" in name else name)
    assert command.main([]) == 1
    assert capsys.readouterr().err == "the report needs matplotlib: pip install '.[perf]'\n"
