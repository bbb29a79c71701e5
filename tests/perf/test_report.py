"""What is drawn, and what the page has, is what is in the result; what is wrong is a sentence."""

from __future__ import annotations

import base64
import html
import importlib.util
import json
from html.parser import HTMLParser

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
from perf.report import command, pictures
from perf.results import NAN, OURS
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
    headings = ("of ceiling", "goal", "best peer", "ratio", "before")
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


def fastest(line):
    times = {n: t.median_us for n, t in line.timings.items() if n != OURS and t.samples}
    return min(times, key=times.get) if times else None


def test_a_picture_for_each_operator_and_one_of_growth(result):
    operators = ("reduce", "nonzero_coordinates", "gather", "one_hot")
    expected = {f"lines-{operator}" for operator in operators} | {"growth"}
    assert set(pictures.figures(result)) == expected
    result.lines = [line for line in result.lines if not pictures.is_sweep(line)]
    assert set(pictures.figures(result)) == expected - {"growth"}


@pytest.mark.parametrize("operator", ["reduce", "gather", "one_hot"])
def test_dots_are_the_best_peer_by_ours_and_the_share_of_the_goal(result, operator):
    cases = [x for x in result.lines if x.operator == operator and not x.case.startswith("sweep-")]
    cases[0].timings = {OURS: cases[0].timings[OURS], "cub": synthetic.missing("out of memory")}
    ratios, shares = pictures.lines(result, operator).axes
    labels = [label.get_text() for label in ratios.get_yticklabels()]
    assert labels == [f"{line.case} {line.line}: {fastest(line) or 'no peer'}" for line in cases]
    compared = [y for y, line in enumerate(cases) if fastest(line)]
    assert len(ratios.containers) == len(compared) < len(cases)
    for y, drawn in zip(compared, ratios.containers, strict=True):
        ours, peer = cases[y].timings[OURS], cases[y].timings[fastest(cases[y])]
        (dot, (low, high), _) = drawn
        assert dot.get_xydata().tolist() == [pytest.approx([peer.median_us / ours.median_us, y])]
        assert low.get_xdata() == pytest.approx(peer.p10_us / ours.p90_us)
        assert high.get_xdata() == pytest.approx(peer.p90_us / ours.p10_us)
    dots = [x for x in shares.lines if x.get_marker() == "o"]
    for y, (line, dot) in enumerate(zip(cases, dots, strict=True)):
        us = line.timings[OURS].median_us
        rate = line.bytes / us * 1e6 / result.ceilings[line.ceiling]
        goal = np.nan if line.goal is None else rate / line.goal
        expected = line.goal_us / us if line.goal_us else goal
        assert np.allclose(dot.get_xydata(), [[expected, y]], equal_nan=True)


def test_lines_without_our_time_are_not_drawn(result):
    line = next(x for x in result.lines if x.operator == "one_hot")
    line.timings[OURS] = synthetic.missing("refused")
    assert pictures.lines(result, "one_hot") is None


def test_growth_has_a_panel_for_each_sweep_and_gaps_without_a_time(result):
    figure = pictures.growth(result)
    titles = [f"sweep-{operator}" for operator in ("reduce", "gather", "one_hot")]
    assert [axes.get_title() for axes in figure.axes] == titles
    gaps = 0
    for axes in figure.axes:
        lines = [x for x in result.lines if x.case == axes.get_title()]
        drawn = {x.get_label(): x for x in axes.lines}
        for who in (OURS, *synthetic.PEERS):
            expected = [line.timings[who].median_us for line in lines]
            gaps += np.isnan(expected).sum()
            assert list(drawn[who].get_xdata()) == [line.size for line in lines]
            assert np.array_equal(drawn[who].get_ydata(), expected, equal_nan=True)
        band = axes.collections[0].get_paths()[0].vertices[:, 1]
        assert band.min() == min(x.timings[OURS].p10_us for x in lines)
        assert band.max() == max(x.timings[OURS].p90_us for x in lines)
    assert gaps


def test_many_contenders_look_different(result):
    result.lines = [line for line in result.lines if line.case == "sweep-reduce"]
    names = [OURS, *(f"peer {letter}" for letter in "abcdefghijkl")]
    for line in result.lines:
        line.timings = {who: synthetic.timing(3.0 + at) for at, who in enumerate(names)}
    lines = pictures.growth(result).axes[0].lines
    assert [line.get_label() for line in lines] == names
    assert len({(x.get_color(), x.get_linestyle()) for x in lines}) == len(names)


def test_a_long_title_and_a_dollar_sign_are_drawn(result):
    result.lines[0].line = " ".join(["long $x_$"] * 20)
    pictures.lines(result, "reduce").draw_without_rendering()
