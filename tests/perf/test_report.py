"""Pages and their pictures have what the result has; errors are sentences."""

from __future__ import annotations

import importlib.util
import json
import math
import re
from copy import deepcopy
from dataclasses import replace
from itertools import chain, groupby
from xml.etree import ElementTree as ET

import numpy as np
import pytest

pytest.importorskip("jinja2", reason="jinja2 is not installed")
from perf.report import command, pictures
from perf.results import NAN, OURS, load
from tests.helpers.pages import CONTRAST, Page
from tests.helpers.readmes import FOLDERS, section
from tests.helpers.rows import each
from tests.perf.results import missing, newest, timing

PEERS = ("cub", "cupy", "torch")
SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
#: Of a page, its picture of a sweep, a line that is compared, and a line of the table.
MOST_BYTES = (20_000, 6_000, 400, 1_000)


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


@pytest.fixture(scope="module")
def published():
    """Return the page of the published results."""
    results = map(load, (FOLDERS["perf"] / "results").glob("*/*.json"))
    return command.page([command.section(*pair) for pair in command.newest(results)])


def rows(result, before=None):
    """Return the rows of a page's table."""
    groups = command.section(result, before)["groups"]
    return [row for group in groups.values() for row in group]


def elements(result, pattern):
    """Return the elements of a result's page that match a pattern, as trees."""
    text = command.page([command.section(result, None)])
    return [ET.fromstring(found) for found in re.findall(pattern, text, re.DOTALL)]  # noqa: S314  our own


def panels(result):
    return {x.find("figcaption").text: x for x in elements(result, "<figure>.*?</figure>")}


def comparisons(result):
    return elements(result, '<table class="strips".*?</table>')


def scale(ticks):
    """Return what gives the value at a place, by an axis's ticks, as a reader's eye does."""
    places = [float(str(place).rstrip("%")) for place, _ in ticks]
    logs = [math.log(value(text)) for _, text in ticks]
    assert len(ticks) > 1
    slope, start = np.polyfit(places, logs, 1)
    assert np.polyval((slope, start), places) == pytest.approx(logs, abs=0.02)
    return lambda place: math.exp(start + slope * float(str(place).rstrip("%")))


def value(text):
    base, power = re.fullmatch("(.*?)([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]*)", text).groups()
    return float(base) ** int(power.translate(SUPERSCRIPTS) or 1)


def axes(panel):
    """Return what gives a size and a time at their places in a panel."""
    texts = [(x.attrib, x.text) for x in panel.find("svg").iter("text") if x.text[0].isdigit()]
    sizes = [(x["x"], text) for x, text in texts if x["text-anchor"] == "middle"]
    times = [(str(float(x["y"]) - 4), text) for x, text in texts if x["text-anchor"] == "end"]
    return scale(sizes), scale(times)


def points(path, size, time):
    """Return sizes and times along a path, a list for each part of it."""
    parts = re.findall("M([^MVz]*)", path)
    pairs = [zip(*[iter(part.replace("h0", "").split())] * 2, strict=True) for part in parts]
    return [[(size(x), time(y)) for x, y in part] for part in pairs]


def has_samples(pair):
    return pair[1].samples > 0


def near(values):
    """Return what values at places are equal to, which are rounded to a tenth."""
    return pytest.approx(values, rel=0.01)


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
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    shown = page.tables[-1]
    for line in result.lines:
        assert any(row[0].strip().startswith(f"{line.case} {line.line}") for row in shown)
    for part in (result.gpu["name"], result.commit, result.date, "2.1%", "changed"):
        assert part in text
    assert "the run is incomplete: ended after 3 of &lt;9&gt; lines" in text
    assert len(panels(result)) == 2
    assert len(comparisons(result)) == 2
    assert {len(row) for row in shown if len(row) > 1} == {4 + len(PEERS)}


def test_the_page_stands_alone(published):
    page = Page(published)
    assert not page.scripts
    assert "url(" not in published
    links = re.findall(r"(?:href|src|srcset|data|action)=\"(.*?)\"", published)
    assert len(links) > 10
    assert {link[0] for link in links} == {"#"}
    assert {link[1:] for link in links} <= {*page.ids}
    text = " ".join("".join(page.data).split())
    limits = section("perf/README.md", "## Measure").partition("do not say:\n\n")[2]
    sentences = [" ".join(x.replace("`", "").split()) for x in limits.split("\n- ")]
    assert len(sentences) > 5
    assert all(sentence.removeprefix("- ") in text for sentence in sentences)


def test_the_page_is_no_larger_than_what_it_shows(published):
    counts = (1, *map(published.count, ("<figure>", 'class="peer">', "<summary>")))
    assert min(counts) > 0
    assert len(published.encode()) < np.dot(counts, MOST_BYTES)


def test_pages_are_readable_at_any_width(browser, result, tmp_path):
    path = tmp_path / "index.html"
    path.write_text(command.page([command.section(result, None)]), encoding="utf-8")
    page = browser.open(path)
    page.evaluate("document.querySelectorAll('details').forEach((x) => { x.open = true })")
    letters = "[...document.querySelectorAll('svg text')].map((x) => x.getBoundingClientRect())"
    for width, scheme in ((1280, "light"), (400, "dark")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert min(page.evaluate(f"{letters}.map((box) => box.height)")) > 10
        count, faults = page.evaluate(CONTRAST)
        assert count > 100
        assert not faults


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
    assert not panels(result)
    assert not comparisons(result)
    assert command.section(result, None)["warnings"] == [f"no measurement (engine {engine})"]
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
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if "jinja" in name else name)
    assert command.main([]) == 1
    assert capsys.readouterr().err == "the report needs jinja2: pip install '.[perf]'\n"


@each(
    "values",
    [[3], [1, 1.1], [0.5, 2, 7.9], [9.7, 104], [1.5, 1400], [2e-3, 5e9], [-1, 0, 1, math.inf]],
)
def test_an_axis_has_its_values_and_a_few_round_ticks(values):
    axis = pictures.Axis.around(values, (10, 90))
    for ticks in (axis.numbers(), axis.powers_of_two()):
        at = scale(ticks)
        assert len(ticks) <= 10
        assert all(10 <= place <= 90 for place, _ in ticks)
        for number in values:
            if 0 < number < math.inf:
                assert 10 <= axis.place(number) <= 90
                assert at(axis.place(number)) == pytest.approx(number, rel=0.3)


def test_dots_are_the_best_peer_by_ours_and_the_share_of_the_goal(result):
    cases = [x for x in result.lines if x.operator == "reduce" and x.size is None]
    cases[0].timings = {OURS: cases[0].timings[OURS]}
    cases[1].timings = {OURS: timing(2.0, 0.1), "slow": timing(30.0), "best": timing(20.0, 0.2)}
    cases[2].timings = {OURS: timing(2.0, 1.2), "best": timing(20.0)}  # 10th percentile below zero
    (table,) = [x for x in comparisons(result) if x.find("caption").text.strip() == "reduce"]
    headings = table.findall("thead/tr/th")
    assert [x.text.strip() for x in headings[:3]] == ["case", "best peer", "its time / ours"]
    ratio, share = (
        scale([(x.get("x"), x.text) for x in heading.iter("text")]) for heading in headings[2:]
    )
    for line, row in zip(cases, table.findall("tbody/tr"), strict=True):
        title, peer, ratios, shares = row
        assert title.text == f"{line.case} {line.line}"
        best = line.best_peer()
        assert peer.text == (best[0] if best else "none")
        dots = [ratio(x.get("cx")) for x in ratios.iter("circle")]
        whiskers = [[ratio(x.get(end)) for end in ("x1", "x2")] for x in ratios.iter("line")]
        ours, theirs = line.timings[OURS], best[1] if best else None
        assert dots == ([near(theirs.median_us / ours.median_us)] if best else [])
        for low, high in whiskers:
            assert low == near(theirs.p10_us / ours.p90_us)
            if ours.p10_us > 0:
                assert high == near(theirs.p90_us / ours.p10_us)
            else:
                assert high > ratio("100%")
        reached = result.share_of_goal(line)
        dots = [share(x.get("cx")) / 100 for x in shares.iter("circle")]
        assert dots == ([near(reached)] if reached > 0 else [])


def test_growth_has_a_panel_for_each_sweep_and_gaps_without_a_time(result):
    _, between, *_ = (line for line in result.lines if line.case == "sweep-reduce")
    between.timings["torch"] = missing("out")
    found = panels(result)
    assert [*found] == ["sweep-reduce", "sweep-gather"]
    parts = []
    for case, panel in found.items():
        size, time = axes(panel)
        lines = [x for x in result.lines if x.case == case]
        curves = {x.find("title").text: x for x in panel.iter("g")}
        for who in (OURS, *PEERS):
            timed = [(x.size, x.timings[who]) for x in lines]
            runs = [[*run] for has_time, run in groupby(timed, has_samples) if has_time]
            parts.append(len(runs))
            drawn = [x for x in curves.get(who, ()) if x.get("d")]
            paths = {x.get("class"): points(x.get("d"), size, time) for x in drawn}
            medians = [[near((at, t.median_us)) for at, t in run] for run in runs]
            assert paths.get("curve", []) == medians
            assert [*chain(*paths.get("dots", []))] == [*chain(*medians)]
            there = [[near((at, t.p10_us)) for at, t in run] for run in runs]
            back = [[near((at, t.p90_us)) for at, t in run[::-1]] for run in runs]
            assert paths.get("band", []) == [a + b for a, b in zip(there, back, strict=True)]
        (least,) = [x.get("d") for x in panel.iter("path") if x.get("class") == "least"][:1]
        rates = [result.ceilings[line.ceiling] for line in lines]
        expected = [near((x.size, x.bytes / r * 1e6)) for x, r in zip(lines, rates, strict=True)]
        assert points(least, size, time) == [expected]
    assert {*parts} == {0, 1, 2}


def test_pictures_say_where_no_other_library_was_timed(result):
    absent = {who: missing("too <slow>" if who == "cub" else "") for who in PEERS}
    sweep = [line for line in result.lines if line.case == "sweep-reduce"]
    for line in result.lines:
        if line.case == "sweep-gather":
            line.timings = {who: timing(2.0) for who in (OURS, *PEERS)}
        elif line.operator == "reduce" and line is not sweep[0]:
            line.timings |= absent
    sweep[0].timings[PEERS[0]] = timing(2.0)
    partly = f"No other library was timed at {len(sweep) - 1} of {len(sweep)} sizes (too <slow>)."
    assert said(panels(result)["sweep-reduce"]) == [partly]
    assert said(panels(result)["sweep-gather"]) == []
    sweep[0].timings |= absent
    panel = panels(result)["sweep-reduce"]
    assert said(panel) == ["No other library was timed (too <slow>)."]
    assert [x.text for x in panel.iter("title")] == [OURS]
    (table,) = [x for x in comparisons(result) if x.find("caption").text.strip() == "reduce"]
    assert said(table) == ["No other library was timed (too <slow>)."]
    assert [x.text.strip() for x in table.findall("thead/tr/th")] == [
        "case",
        "per cent of the goal",
    ]


def said(picture):
    return [x.text for x in picture.iter() if x.get("class") == "absence"]


def test_a_page_without_other_libraries_compares_nothing(result):
    for line in result.lines:
        line.timings = {OURS: line.timings[OURS]}
    text = command.page([command.section(result, None)])
    *_, table = Page(text).tables
    assert table[0] == ["case", "ours", "of ceiling"]
    body = text.partition("</style>")[2].partition("</details>")[2]
    for word in ("faster", "slower", "ratio", "peer's", "best", "Bold"):
        assert word not in body
    assert body.count("No other library was timed") == 5
