"""The README's table of times, and its text about them, agree with the result files."""

from __future__ import annotations

from perf.report import table
from perf.results import load
from tests.helpers.readmes import FOLDERS, rows, section
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


def test_the_readme_says_which_sweeps_have_no_other_library():
    paths = (FOLDERS["perf"] / "results" / "nvidia-h100-80gb-hbm3").glob("*.json")
    swept = [x for path in paths for x in load(path).lines if x.case.startswith("sweep-")]
    timed = {x.case: 0 for x in swept}
    for line in swept:
        timed[line.case] += line.best_peer() is not None
    few = {case.removeprefix("sweep-"): count for case, count in timed.items() if count < 2}
    assert few == {"nonzero_coordinates": 0, "gather": 0, "reduce": 1}
    text = " ".join(section("perf/README.md", "## Report").split())
    assert "over `nonzero_coordinates` and `gather`, and at one size alone over `reduce`" in text
