"""Plots and pages have what the result has; errors are sentences."""

from __future__ import annotations

import html
import importlib.util
import json
import re
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
from perf.report import command, pictures
from perf.results import NAN, OURS
from tests.helpers.rows import each
from tests.perf.results import missing, newest, timing

PEERS = ("cub", "cupy", "torch")


@pytest.fixture
def result():
    """Return a run of few lines, some of which belong to sweeps."""
    found = newest("nvidia-h200")
    found.lines = [x for x in found.lines if x.case in ("R-1", "R-2", "R-10", "G-2", "S-3", "S-5")]
    for number, line in enumerate(found.lines):
        line.timings = {who: line.timings.get(who, missing("out")) for who in (OURS, *PEERS)}
        if line.case.startswith("S"):
            line.case, line.size = f"sweep-{line.operator}", 2**number
    return found


def rows(result, before=None):
    """Return the rows of a page's table."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pictures, "figures", lambda _result: {})
        groups = command.section(result, before)["groups"]
    return [row for group in groups.values() for row in group]


def test_a_row_has_what_is_known_of_a_line(result):
    result.lines[1].checked = result.lines[2].checked = False
    result.lines[2].timings[OURS] = missing("WRONG: 3 elements")
    operators = [line.operator for line in result.lines]  # the lines of an operator stand together
    grouped = sorted(result.lines, key=lambda line: operators.index(line.operator))
    for line, row in zip(grouped, rows(result), strict=True):
        ours, more = line.timings[OURS], row["more"]
        is_checked, timed = line is not result.lines[1], ours.samples > 0
        title = f"{line.case} {line.line}"
        assert row["title"] == (title if is_checked else f"{title} (not checked)")
        assert row["times"][0][0] == (ours.interval.split()[0] if timed else "WRONG")
        assert row["bad"] == (line in result.lines[1:3])
        assert more["kernel"] == line.kernel
        for who, took in line.timings.items():
            (known,) = (text for names, text in more.items() if who in names.split("; "))
            assert known.startswith(took.interval if took.samples else took.note)
        rate = line.bytes / ours.median_us * 1e6 / result.ceilings[line.ceiling]
        assert row["share"] == (f"{rate:.0%}" if timed else "-")
        if line.goal is not None and timed:
            assert more["goal"] == f"{line.goal:.0%} {'reached' if rate >= line.goal else 'missed'}"
        if line.goal_us is not None:
            reached = "reached" if ours.median_us <= line.goal_us else "missed"
            assert more["goal"] == f"{line.goal_us:g} us {reached}"


def test_the_page_has_the_rows_and_the_run(result, tmp_path, capsys):
    result.lines[0].line = "<script>alert(1)</script> $x_$ & [bold]"
    result.drift, result.incomplete = 0.021, "ended after 3 of <9> lines"
    result.save(tmp_path / "r.json")
    assert command.main([str(tmp_path / "r.json"), "--output", str(tmp_path / "out")]) == 0
    path = tmp_path / "out" / "index.html"
    assert str(path) in capsys.readouterr().out
    text = re.sub(r"data:[^\"]*", "", path.read_text(encoding="utf-8"))
    for line in result.lines:
        assert html.escape(f"{line.case} {line.line}") in text
    for part in (result.gpu["name"], result.commit, result.date, "2.1%", "changed"):
        assert part in text
    assert "the run is incomplete: ended after 3 of &lt;9&gt; lines" in text
    assert "http" not in text
    assert text.count("<img") == 3
    assert text.count("<td") == len(result.lines) * (3 + len(PEERS))


def test_a_ratio_says_who_is_faster(result):
    result.lines = result.lines[:4]
    for line, peer in zip(result.lines, (2.0, 0.5, 1.01, None), strict=True):
        line.timings = {OURS: timing(100, 0.01)}
        if peer:
            line.timings["slow"] = timing(1000)
            line.timings["best"] = timing(100 * peer, 0.01)
    assert [([text for text, _ in row["times"]], row["ratio"]) for row in rows(result)] == [
        (["100", "1000", "200"], "2.00 faster"),
        (["100", "1000", "50.0"], "0.50 slower"),
        (["100", "1000", "101"], "1.01 ~"),
        (["100", "-", "-"], "-"),
    ]


@each("engine", ["simulator", "cuda"])
def test_what_is_no_measurement_is_not_drawn(result, engine):
    result = replace(result, engine=engine, gpu={}, ceilings={}, drift=NAN)
    for line in result.lines:
        line.timings = {OURS: missing("no driver")} if engine == "cuda" else {}
    section = command.section(result, None)
    assert section["pictures"] == []
    assert section["warnings"] == [f"no measurement (engine {engine})"]
    assert {row["share"] for row in rows(result)} == {"-"}


def test_newest_is_compared_with_the_one_before_on_the_same_gpu(result):
    older, oldest = (replace(deepcopy(result), date=date) for date in ("2026-01-02", "2026-01-01"))
    other = replace(result, date="9999-01-01", gpu={"name": "another"})
    older.lines[0].timings[OURS] = timing(100.0)
    pairs = command.newest([oldest, result, other, older])
    assert [(a is other, b) for a, b in pairs[:1]] == [(True, None)]
    assert [(a is result, b is older) for a, b in pairs[1:]] == [(True, True)]
    del older.lines[1]
    first, second, *_ = rows(result, older)
    ratio = timing(100.0).over(result.lines[0].timings[OURS])
    assert first["more"]["before"] == f"100 (100-100) us, {ratio} of now"
    assert "before" not in second["more"]


def test_runs_of_one_commit_that_share_no_line_are_one_result(result):
    lines, middle = result.lines, len(result.lines) // 2
    first = replace(result, date="2026-11-18", lines=lines[:middle], incomplete="no <time>")
    second = replace(result, date="2026-11-19", lines=lines[middle:], drift=NAN)
    other = replace(first, commit="another")
    assert command.newest([first, second]) == [
        (replace(first, date="2026-11-19", lines=lines[middle:] + lines[:middle]), None)
    ]
    assert command.newest([other, second]) == [(second, other)]
    again = replace(second, date="2026-11-20")
    assert command.newest([second, again]) == [(again, second)]


def test_what_is_no_result_is_named_in_a_sentence(tmp_path, monkeypatch, capsys):
    path = tmp_path / "a.json"
    for text in (b"{", b"[]", json.dumps({"schema": 99}).encode(), b"{}", b"\xff"):
        path.write_bytes(text)
        assert command.main([str(path)]) == 1
        assert re.fullmatch(rf"{path}: must .*\n", capsys.readouterr().err)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if "lib" in name else name)
    assert command.main([]) == 1
    assert capsys.readouterr().err == "the report needs matplotlib: pip install '.[perf]'\n"


def test_dots_are_the_best_peer_by_ours_and_the_share_of_the_goal(result):
    cases = [x for x in result.lines if x.operator == "reduce" and x.size is None]
    cases[0].timings = {OURS: cases[0].timings[OURS]}
    cases[1].line = " ".join(["long $x_$"] * 20)
    compared = [y for y, line in enumerate(cases) if line.best_peer()]
    figure = pictures.lines(result, "reduce")
    figure.draw_without_rendering()
    ratios, shares = figure.axes
    assert len(compared) < len(cases)
    for y, drawn in zip(compared, ratios.containers, strict=True):
        ours, (name, peer) = cases[y].timings[OURS], cases[y].best_peer()
        assert ratios.get_yticklabels()[y].get_text().endswith(f": {name}") or y == 1
        (dot, (low, high), _) = drawn
        assert dot.get_xydata().tolist() == [pytest.approx([peer.median_us / ours.median_us, y])]
        assert low.get_xdata() == pytest.approx(peer.p10_us / ours.p90_us)
        assert high.get_xdata() == pytest.approx(peer.p90_us / ours.p10_us)
    dots = [x.get_xydata()[0] for x in shares.lines if x.get_marker() == "o"]
    shares = [result.share_of_goal(line) for line in cases]
    assert np.array(dots).tolist() == [pytest.approx([s, y]) for y, s in enumerate(shares)]


def test_growth_has_a_panel_for_each_sweep_and_gaps_without_a_time(result):
    figure = pictures.growth(result)
    assert [axes.get_title() for axes in figure.axes] == ["sweep-reduce", "sweep-gather"]
    gaps = 0
    for axes in figure.axes:
        lines = [x for x in result.lines if x.case == axes.get_title()]
        drawn = {x.get_label(): x for x in axes.lines}
        for who in (OURS, *PEERS):
            expected = [line.timings[who].median_us for line in lines]
            gaps += np.isnan(expected).sum()
            assert list(drawn[who].get_xdata()) == [line.size for line in lines]
            assert np.array_equal(drawn[who].get_ydata(), expected, equal_nan=True)
        least = [line.bytes / result.ceilings[line.ceiling] * 1e6 for line in lines]
        assert drawn[pictures.LEAST].get_ydata() == pytest.approx(least)
    assert gaps
