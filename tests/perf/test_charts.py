"""perf.charts and perf.curves: what is drawn is what is in the result."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
from perf import charts, curves, summary
from perf.results import OURS, load
from tests.perf import synthetic


@pytest.fixture(scope="module")
def full():
    """Return a result of all cases; tests leave it as it is."""
    return synthetic.result()


@pytest.fixture
def small():
    """Return a result of a few cases that a test may change."""
    return synthetic.result(cases={"R-1", "R-2", "R-10", "O-1", "sweep-reduce"})


def rows(axes):
    """Return the text at the left of each row."""
    return [label.get_text().replace("\n", " ") for label in axes.get_yticklabels()]


def name(line):
    return f"{line.case} {line.line}"


def cases(result, operator):
    return [x for x in result.lines if x.operator == operator and not x.case.startswith("sweep-")]


def fastest(line):
    times = {n: t.median_us for n, t in line.timings.items() if n != OURS}
    times = {n: t for n, t in times.items() if t == t}  # noqa: PLR0124  not NaN
    return min(times, key=times.get) if times else None


def test_synthetic_results_are_like_real_ones_and_survive_a_file(full, tmp_path):
    full.save(tmp_path / "result.json")
    again = load(tmp_path / "result.json")
    assert len(again.lines) >= 90
    assert np.isnan([t.median_us for x in again.lines for t in x.timings.values()]).any()
    assert [repr(x) for x in again.lines] == [repr(x) for x in full.lines]


def test_a_picture_for_each_operator(full):
    five = ("reduce", "nonzero_coordinates", "gather", "gather_nd", "one_hot")
    expected = {f"{kind}-{o}" for kind in ("ratio", "fraction", "change") for o in five}
    assert set(charts.figures(full, synthetic.result(2))) == expected | {"roofline", "growth"}


@pytest.mark.parametrize("operator", ["reduce", "nonzero_coordinates", "gather", "one_hot"])
def test_bars_are_the_times_of_the_best_peer_by_ours(full, operator):
    axes = charts.ratios(full, operator).axes[0]
    lines = [x for x in cases(full, operator) if fastest(x)]
    assert rows(axes) == [name(line).replace(" ", "  ", 1) for line in lines]
    assert axes.get_xscale() == "log"
    assert len(axes.patches) == len(axes.texts) == len(lines)
    for y, (line, bar, text) in enumerate(zip(lines, axes.patches, axes.texts, strict=True)):
        ours, peer = line.timings[OURS], line.timings[fastest(line)]
        assert bar.get_x() + bar.get_width() == pytest.approx(peer.median_us / ours.median_us)
        assert bar.get_y() + bar.get_height() / 2 == pytest.approx(y)
        whisker = axes.lines[y].get_xdata()
        assert list(whisker) == pytest.approx(
            [peer.p10_us / ours.p90_us, peer.p90_us / ours.p10_us]
        )
        assert text.get_text().startswith(fastest(line))
        shown = text.get_text().split()[1].removesuffix("x")
        assert float(shown) == pytest.approx(peer.median_us / ours.median_us, rel=0.01)
        overlap = ours.p10_us <= peer.p90_us and peer.p10_us <= ours.p90_us
        assert bool(bar.get_hatch()) == overlap
        assert text.get_text().endswith("*") == bool(peer.note)


def test_lines_without_a_peer_or_a_time_are_listed_not_drawn(small):
    alone, refused = small.lines[0], small.lines[1]
    alone.timings = {OURS: alone.timings[OURS], "cub": synthetic.missing("out of memory")}
    refused.timings[OURS] = synthetic.missing("refused")
    axes = charts.ratios(small, "reduce").axes[0]
    assert not any("R-1 " in row or "i8 max" in row for row in rows(axes))
    listed = axes.get_xlabel().replace("\n", " ")
    assert "R-1 [2^28] f32 sum (no peer); R-2 [2^28] i8 max (no time)" in listed.replace("  ", " ")


def test_dots_are_fractions_and_ticks_are_goals(full):
    wide, latency = charts.fractions(full, "reduce").axes
    lines = cases(full, "reduce")
    for axes, chosen in (
        (wide, [x for x in lines if x.goal_us is None]),
        (latency, [x for x in lines if x.goal_us is not None]),
    ):
        assert rows(axes) == [name(line).replace(" ", "  ", 1) for line in chosen]
        for y, line in enumerate(chosen):
            drawn = {d.get_label(): d for d in axes.lines if d.get_ydata()[0] == y}
            expected = {"goal": line.goal if axes is wide else line.goal_us}
            for who in filter(None, (OURS, fastest(line))):
                us = line.timings[who].median_us
                rate = line.bytes / us * 1e6
                expected[who] = us if axes is latency else rate / full.ceilings[line.ceiling]
            assert {k: d.get_xdata()[0] for k, d in drawn.items()} == pytest.approx(expected)
            ours, goal = expected[OURS], expected["goal"]
            reached = ours <= goal if axes is latency else ours >= goal
            assert (drawn[OURS].get_markerfacecolor() != "white") == reached


def test_roofline_has_all_points_and_ceilings(full):
    drawn = {x.get_label(): x for x in curves.roofline(full).axes[0].lines}
    for operator in summary.operators(full):
        for own, label in ((True, operator), (False, f"{operator}, peers")):
            expected = [
                (line.bytes, line.bytes / t.median_us * 1e6)
                for line in full.lines
                for who, t in line.timings.items()
                if line.operator == operator and (who == OURS) == own and t.samples
            ]
            points = zip(*(drawn[label].get_data()), strict=True)
            assert np.allclose(sorted(points), sorted(expected))
    for ceiling, value in full.ceilings.items():
        line = next(x for label, x in drawn.items() if label.startswith(f"ceiling: {ceiling},"))
        assert line.get_ydata() == [value, value]


def test_growth_has_a_panel_for_each_sweep_and_gaps_without_a_time(full):
    figure = curves.growth(full)
    assert [axes.get_title() for axes in figure.axes] == [f"sweep-{x}" for x in synthetic.SWEEPS]
    for axes in figure.axes:
        lines = [x for x in full.lines if x.case == axes.get_title()]
        drawn = {x.get_label(): x for x in axes.lines}
        for who in (OURS, *synthetic.PEERS):
            missing = synthetic.missing("none")
            timings = [line.timings.get(who, missing) for line in lines]
            expected = [timing.median_us for timing in timings]
            assert list(drawn[who].get_xdata()) == [line.size for line in lines]
            assert np.array_equal(drawn[who].get_ydata(), expected, equal_nan=True)
        band = axes.collections[0].get_paths()[0].vertices[:, 1]
        assert band.min() == min(x.timings[OURS].p10_us for x in lines)
        assert band.max() == max(x.timings[OURS].p90_us for x in lines)


def test_change_is_old_by_new_with_both_intervals(small):
    old = synthetic.result(2)
    old.lines = [x for x in old.lines if x.case in {"R-1", "R-2", "R-5"}]
    new = small.lines[0].timings[OURS]
    old.lines[0].timings[OURS] = synthetic.timing(new.median_us * 1.25, 0.001)
    old.lines[2].timings[OURS] = synthetic.missing("refused")
    axes = charts.change(summary.compare(old, small), "reduce").axes[0]
    assert rows(axes) == ["R-1  [2^28] f32 sum", "R-2  [2^28] i8 max"]
    assert axes.patches[0].get_width() == pytest.approx(0.25)
    before, now = old.lines[1].timings[OURS], small.lines[1].timings[OURS]
    ratio = before.median_us / now.median_us
    assert 1 + axes.patches[1].get_width() == pytest.approx(ratio)
    assert axes.texts[1].get_text() == (
        f"{ratio:.3f}x:  {summary.interval(before)} to {summary.interval(now)} us"
    )
    listed = axes.get_xlabel().replace("\n", " ").replace("  ", " ")
    new, rest = listed.removeprefix("New: ").split(" Gone: ")
    gone, untimed = rest.split(" No time in one of the two: ")
    assert new.split("; ") == [name(x) for x in small.lines if x.operator == "reduce"][3:]
    assert gone.split("; ") == [name(x) for x in old.lines if x.case == "R-5"]
    assert untimed == "R-2 [2^28] f16 sum"


def test_many_contenders_look_different_and_none_like_ours():
    result = synthetic.result(cases={"sweep-reduce"})
    names = [OURS, *(f"peer {letter}" for letter in "abcdefghijkl")]
    for line in result.lines:
        line.timings = {who: synthetic.timing(3.0 + at) for at, who in enumerate(names)}
    lines = curves.growth(result).axes[0].lines
    assert [line.get_label() for line in lines] == names
    looks = {(x.get_color(), x.get_marker(), x.get_linestyle()) for x in lines}
    assert len(looks) == len(names)
    assert [x.get_label() for x in lines if x.get_color() == lines[0].get_color()] == [OURS]


@pytest.mark.parametrize(
    ("value", "text"), [(3.14159, "3.14"), (31.4159, "31.4"), (3141.5, "3142")]
)
def test_digits(value, text):
    assert summary.digits(value) == text


@pytest.mark.parametrize("name", ["ratios", "fractions", "change"])
def test_nothing_is_clipped_and_no_labels_overlap(name):
    result = synthetic.result()
    result.lines[3].line = " ".join(["long"] * 40)
    result.lines[4].timings = {
        OURS: synthetic.timing(1.0),
        "a peer with quite a long name": synthetic.timing(0.05, 0.5),
    }
    result.lines[6].timings = {"cub": synthetic.timing(2.0)}
    before = summary.compare(synthetic.result(2), result)
    figure = getattr(charts, name)(before if name == "change" else result, "reduce")
    figure.draw_without_rendering()
    frame = figure.bbox.padded(1)
    for axes in figure.axes:
        rows = [x.get_window_extent() for x in axes.get_yticklabels()]
        low, high = axes.get_xlim()
        marks = zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
        ticks = [label.get_window_extent() for x, label in marks if low <= x <= high]
        texts = [x.get_window_extent() for x in axes.texts]
        assert len(ticks) >= 3
        for group in (rows, texts, ticks):
            assert not any(a.overlaps(b) for a, b in itertools.pairwise(group))
        for box in (*rows, *texts, *ticks, axes.xaxis.label.get_window_extent()):
            assert box.x0 >= frame.x0
            assert box.y0 >= frame.y0
            assert box.x1 <= frame.x1
            assert box.y1 <= frame.y1
