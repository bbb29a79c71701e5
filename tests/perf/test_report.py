"""What is drawn, and what the page has, is what is in the result; what is wrong is a sentence."""

from __future__ import annotations

import html
import importlib.util
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
from matplotlib import image

from perf.report import command, pictures
from perf.results import NAN, OURS
from tests.perf import synthetic

VOID = {"meta", "img", "col"}


@pytest.fixture
def result():
    return synthetic.result()


@pytest.fixture
def write(tmp_path):
    """Return a function that saves results and reports on them: rc and the page."""

    def write(*results):
        paths = [tmp_path / f"{number}.json" for number in range(len(results))]
        for result, path in zip(results, paths, strict=True):
            result.save(path)
        rc = command.main([*map(str, paths), "--output", str(tmp_path / "out")])
        return rc, (tmp_path / "out" / "index.html").read_text(encoding="utf-8")

    return write


class _Tags(HTMLParser):
    """Checks that tags are closed in order; gathers the rows of the table and what they unfold."""

    def __init__(self):
        super().__init__()
        self.open, self.rows, self.classes = [], [], []

    def handle_starttag(self, tag, attrs):
        assert tag != "script"
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append(([], []))
            self.classes.append(dict(attrs).get("class"))
        if "table" in self.open and tag in {"td", "th", "dt", "dd"}:
            self.rows[-1][tag in {"dt", "dd"}].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & {*self.open}:
            cells, more = self.rows[-1]
            texts = more if "dl" in self.open else cells
            texts[-1] += data.replace("\u200b", "").strip()


def rows(page):
    """Return the cells of each line by heading, what it unfolds, and its class."""
    tags = _Tags()
    tags.feed(page)
    assert not tags.open
    (head, _), *table = tags.rows
    return [
        (dict(zip(head, cells, strict=True)), dict(zip(more[::2], more[1::2], strict=True)), red)
        for (cells, more), red in zip(table, tags.classes[1:], strict=True)
        if len(cells) > 1  # not the name of an operator
    ]


def grouped(result):
    """Return the lines in the order of the table: those of an operator stand together."""
    operators = [line.operator for line in result.lines]
    return sorted(result.lines, key=lambda line: operators.index(line.operator))


def without_pictures(page):
    return re.sub(r"data:[^\"]*", "", page)


def test_page_has_every_line(result, write, tmp_path, capsys):
    result.lines[1].checked = False
    result.lines[2].timings[OURS] = synthetic.missing("WRONG: 3 elements")
    result.lines[2].checked = False
    result.drift = 0.021
    rc, page = write(result)
    assert rc == 0
    for line, (row, more, red) in zip(grouped(result), rows(page), strict=True):
        ours = line.timings[OURS]
        is_checked, timed = line is not result.lines[1], ours.samples > 0
        title = f"{line.case} {line.line}"
        assert row["case"] == (title if is_checked else f"{title} (not checked)")
        assert row["ours"] == (ours.interval.split()[0] if timed else "WRONG")
        assert more["kernel"] == line.kernel
        for who, timing in line.timings.items():
            (known,) = (text for names, text in more.items() if who in names.split("; "))
            assert known.startswith(timing.interval if timing.samples else timing.note)
            assert (row.get(who) == "-") == (who != OURS and not timing.samples)
        if line.goal is not None and timed:
            fraction = line.bytes / ours.median_us * 1e6 / result.ceilings[line.ceiling]
            reached = "reached" if fraction >= line.goal else "missed"
            assert more["goal"] == f"{line.goal:.0%} {reached}"
            assert row["of ceiling"] == f"{fraction:.0%}"
        if line.goal_us is not None:
            reached = "reached" if ours.median_us <= line.goal_us else "missed"
            assert more["goal"] == f"{line.goal_us:g} us {reached}"
        assert red == ("bad" if line in result.lines[1:3] else None)
    text = without_pictures(page)
    assert "changed by more than 2%" in text
    for part in (synthetic.GPU, result.commit, result.date, "read 4.45", "2.1%", "perf/README.md"):
        assert part in text
    assert "http" not in text
    assert text.count("<img") == 5
    assert str(tmp_path / "out" / "index.html") in capsys.readouterr().out


def test_a_ratio_says_who_is_faster(result, write):
    result.lines = result.lines[:4]
    for line, peer in zip(result.lines, (2.0, 0.5, 1.01, None), strict=True):
        line.timings = {OURS: synthetic.timing(100, 0.01)}
        if peer:
            line.timings["slow"] = synthetic.timing(1000)
            line.timings["best"] = synthetic.timing(100 * peer, 0.01)
    table = rows(write(result)[1])
    shown = [(row["ours"], row["best"], row["slow"], row["ratio"]) for row, *_ in table]
    assert shown == [
        ("100", "200", "1000", "2.00 faster"),
        ("100", "50.0", "1000", "0.50 slower"),
        ("100", "101", "1000", "1.01 ~"),
        ("100", "-", "-", "-"),
    ]


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
    for row, more, _ in rows(page):
        assert [*row] == ["case", "ours", "ratio", "of ceiling"]
        assert (row["ratio"], row["of ceiling"], more["goal"]) == ("-", "-", "-")
        assert "before" not in more


@pytest.mark.parametrize("engine", ["simulator", "cuda"])
def test_what_is_no_measurement_is_not_drawn(result, write, engine):
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
    expected = [f"{line.case} {line.line}" for line in grouped(result)]
    assert [row["case"] for row, *_ in rows(page)] == expected


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
    (_, first, _), (_, second, _), *_ = rows(page)
    old, now = older.lines[0].timings[OURS], result.lines[0].timings[OURS]
    assert first["before"] == f"{old.interval} us, {old.over(now)} of now"
    assert "before" not in second


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
        least = [line.bytes / result.ceilings[line.ceiling] * 1e6 for line in lines]
        assert drawn[pictures.LEAST].get_ydata() == pytest.approx(least)
        band = axes.collections[0].get_paths()[0].vertices[:, 1]
        assert band.min() == min(x.timings[OURS].p10_us for x in lines)
        assert band.max() == max(x.timings[OURS].p90_us for x in lines)
    assert gaps


def test_axes_have_plain_numbers(result):
    for line in result.lines:
        line.timings["cub"] = synthetic.timing(20 * line.timings[OURS].median_us)
    drawn = pictures.figures(result)
    for figure in drawn.values():
        figure.draw_without_rendering()
    sweep, (ratios, shares) = drawn["growth"].axes[0], drawn["lines-gather"].axes
    shown = {
        axis: [label.get_text() for label in axis.get_ticklabels() if label.get_text()]
        for axis in (sweep.xaxis, sweep.yaxis, ratios.xaxis, shares.xaxis)
    }
    assert {"256", "4K", "64K", "1M", "16M", "256M"} <= {*shown[sweep.xaxis]}
    assert {"1", "10", "100", "1000"} <= {*shown[sweep.yaxis]}
    assert {"0.5", "1", "2", "5", "10"} <= {*shown[ratios.xaxis]}
    assert {"0%", "100%"} <= {*shown[shares.xaxis]}
    assert not any("$" in text for texts in shown.values() for text in texts)


def test_many_contenders_look_different(result):
    result.lines = [line for line in result.lines if line.case == "sweep-reduce"]
    names = [OURS, *(f"peer {letter}" for letter in "abcdefghijkl")]
    for line in result.lines:
        line.timings = {who: synthetic.timing(3.0 + at) for at, who in enumerate(names)}
    lines = pictures.growth(result).axes[0].lines
    assert [line.get_label() for line in lines] == [*names, pictures.LEAST]
    assert len({(x.get_color(), x.get_linestyle()) for x in lines}) == len(lines)


def test_a_long_title_and_a_dollar_sign_are_drawn(result):
    result.lines[0].line = " ".join(["long $x_$"] * 20)
    pictures.lines(result, "reduce").draw_without_rendering()


#: The contrast of text with what is behind it, as WCAG 2 defines it.
CONTRAST = """element => {
  const colour = text => text.match(/[\\d.]+/g).map(Number)
  const light = text => colour(text).slice(0, 3)
    .map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0)
  let behind = element
  while (colour(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement
  const [a, b] = [getComputedStyle(element).color, getComputedStyle(behind).backgroundColor]
    .map(light).sort((a, b) => b - a)
  return (a + 0.05) / (b + 0.05)
}"""


@pytest.fixture
def crowded(result):
    """A result with ten peers, long times, and a title that is too long for a row."""
    result.lines[0].line = " ".join(["long"] * 40)
    result.lines[1].checked = False
    for line in result.lines:
        for name in ("torch, memset + scatter", "torch, nonzero_static", *"uvwx"):
            line.timings[name] = synthetic.timing(195376.0)
    result.drift = 0.5
    return result


@pytest.fixture
def opened(browser, write, tmp_path):
    def opened(result, **options):
        write(result)
        return browser.open(tmp_path / "out" / "index.html", **options)

    return opened


def test_page_fits_a_screen_and_pictures_come_first(crowded, opened):
    page = opened(crowded)
    assert page.evaluate("document.documentElement.scrollWidth") == 1280
    assert page.locator("table").count() == 1
    assert page.locator("thead th").count() == 14
    tops = page.eval_on_selector_all("img, table", "all => all.map(x => [x.tagName, x.offsetTop])")
    assert [name for name, _ in tops] == ["IMG"] * 5 + ["TABLE"]
    assert [top for _, top in tops] == sorted(top for _, top in tops)
    assert page.eval_on_selector_all("img", "all => all.every(x => x.naturalWidth > 900)")
    heights = page.eval_on_selector_all("tbody tr", "all => all.map(x => x.offsetHeight)")
    assert len(heights) == len(crowded.lines) + 4
    assert max(heights) <= min(heights) + 1 <= 28
    cut = "all => all.filter(x => x.scrollWidth > x.clientWidth).map(x => x.textContent)"
    assert page.eval_on_selector_all("td", cut) == []


def test_a_row_unfolds_by_keyboard(crowded, opened):
    page = opened(crowded)
    page.focus("a[href='#run-1']")
    for line in crowded.lines[:2]:
        page.keyboard.press("Tab")
        row = page.locator("tr:has(:focus)")
        folded = row.bounding_box()["height"]
        assert not row.locator("dl").is_visible()
        page.keyboard.press("Enter")
        assert line.line in row.inner_text()
        assert line.kernel in row.inner_text()
        box = row.locator("dl").bounding_box()
        assert box["width"] > 1000
        assert box["x"] + box["width"] <= 1280
        page.keyboard.press("Space")
        assert row.bounding_box()["height"] == folded
    assert page.evaluate("document.documentElement.scrollWidth") == 1280


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_in_light_and_dark(crowded, opened, dark):
    page = opened(crowded, dark=dark)
    coloured = (".slower", "td .alike", ".warning", "tr.bad summary", "tr.bad td", "td.best")
    for what in (".faster", *coloured, "thead th", "th[colspan]", "td", "figcaption", "dt", "a"):
        assert page.locator(what).first.evaluate(CONTRAST) >= 4.5, what
    pixels = image.imread(io.BytesIO(page.locator("img").first.screenshot()))[..., :3]
    paper, ink = (0, 1) if dark else (1, 0)
    assert pixels[0, 0] == pytest.approx(paper, abs=0.1)
    assert np.abs(pixels - ink).max(axis=2).min() < 0.2
