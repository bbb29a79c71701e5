"""What is drawn is what is in the result."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
from perf.report import pictures
from perf.results import OURS
from tests.perf import synthetic


@pytest.fixture
def result():
    return synthetic.result()


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
