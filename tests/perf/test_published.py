"""The README's table of times is what the newest result file says."""

from __future__ import annotations

import pytest

from perf.report import table
from perf.results import load
from tests.helpers.readmes import FOLDERS, rows, section

LEAST_SHOWN = 10


@pytest.fixture
def result():
    """Return the newest result of a GPU."""
    paths = (FOLDERS["perf"] / "results").glob("*/*.json")
    return load(max(paths, key=lambda path: path.name))


def test_the_readme_has_the_newest_times(result):
    assert result.is_measurement
    assert not result.incomplete
    measured = {(line.case, line.line): table.row(result, line) for line in result.lines}
    shown = rows(section("README.md", "## Speed"))
    assert len(shown) >= LEAST_SHOWN
    for case, work, us, share, peer, ratio in shown:
        cells = measured[case, work]
        assert us == cells["us (p10-p90)"].split(" (")[0]
        assert (share, peer, ratio) == (cells["of ceiling"], cells["best peer"], cells["ratio"])


def test_the_readme_counts_what_it_is_ahead_in(result):
    lines = [line for line in result.lines if not line.case.startswith("S")]
    pairs = [(line.timing().median_us, line.best_peer()) for line in lines if line.best_peer()]
    ratios = [round(best.median_us / ours, 2) for ours, (_, best) in pairs]
    ahead, near = sum(r >= 1 for r in ratios), sum(0.95 <= r < 1 for r in ratios)
    assert f"Of {len(ratios)} workloads" in section("README.md", "## Speed")
    assert f"ahead in {ahead} and within 5 % in {near} more" in section("README.md", "## Speed")
