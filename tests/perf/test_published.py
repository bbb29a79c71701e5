"""The README's table of times, and its text about them, agree with the result files."""

from __future__ import annotations

from perf.report import table
from tests.helpers.readmes import rows, section
from tests.helpers.rows import each
from tests.perf.results import newest

LEAST_SHOWN = 10


def test_the_readme_has_the_newest_times():
    result = newest("nvidia-h200")
    assert result.is_measurement
    assert not result.incomplete
    measured = {(line.case, line.line): table.row(result, line) for line in result.lines}
    shown = rows(section("README.md", "## Speed"))
    assert len(shown) >= LEAST_SHOWN
    for case, work, us, share, peer, ratio in shown:
        cells = measured[case, work]
        assert us == cells["us (p10-p90)"].split(" (")[0]
        assert (share, peer, ratio) == (cells["of ceiling"], cells["best peer"], cells["ratio"])


@each(
    ("gpu", "of", "ahead_in"),
    [
        ("nvidia-h200", "Of {} workloads", "ahead in {} and within 5 % in {} more"),
        ("nvidia-h100-80gb-hbm3", "of {} workloads", "ahead in {} and within 5 % in {} more;"),
    ],
)
def test_the_readme_counts_what_it_is_ahead_in(gpu, of, ahead_in):
    lines = [line for line in newest(gpu).lines if not line.case.startswith("S")]
    pairs = [(line.timing().median_us, line.best_peer()) for line in lines if line.best_peer()]
    ratios = [round(best.median_us / ours, 2) for ours, (_, best) in pairs]
    ahead, near = sum(r >= 1 for r in ratios), sum(0.95 <= r < 1 for r in ratios)
    text = " ".join(section("README.md", "## Speed").split())
    assert of.format(len(ratios)) in text
    assert ahead_in.format(ahead, near) in text
