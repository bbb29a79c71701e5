"""A result file is whole at any time; texts about its times are right."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from perf.results import OURS, LineResult, Result, format_number, load
from tests.perf.results import missing, timing


def line(**timings):
    return LineResult("R-1", "sum", "reduce", 8e6, "read", goal=0.9, timings=timings)


def result(*lines):
    ceilings = {"read": 4e12, "write": 2e12, "copy": 3e12, "memcpy": 3e12}
    gpu = {"name": "H200", "multiprocessors": 132}
    return Result("cuda", "2026-01-02T03:04:05+00:00", "abc+", gpu, {}, ceilings, 0.01, [*lines])


def test_what_is_written_is_read(tmp_path):
    nothing = missing("WRONG")
    entry = line(**{OURS: timing(5.0, warm_us=3.0, host_us=2.0), "cub": nothing})
    entry.state = {"sm_mhz": 1980.0}
    saved = result(entry)
    saved.incomplete = "ended after 1 of 2 lines"
    path = tmp_path / "new" / "r.json"
    saved.save(path)
    found = load(path)
    back = found.lines[0].timings["cub"]
    assert math.isnan(back.median_us)
    assert back.note == "WRONG"
    found.lines[0].timings["cub"] = nothing
    assert found == saved
    data = json.loads(path.read_text())
    assert data["lines"][0]["timings"]["cub"]["median_us"] is None
    del data["incomplete"]  # as in a file of an earlier version
    path.write_text(json.dumps(data))
    assert load(path).incomplete == ""


def test_a_write_that_is_cut_off_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path, write = tmp_path / "r.json", Path.write_text
    result().save(path)

    def cut_off(target, text, **_):
        write(target, text[:40])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", cut_off)
        with pytest.raises(KeyboardInterrupt):
            result(line()).save(path)
    assert load(path) == result()
    result(line()).save(path)
    assert load(path) == result(line())
    assert list(tmp_path.iterdir()) == [path]


def test_the_fraction_is_of_the_ceiling_of_the_line():
    entry = line(**{OURS: timing(4.0)})
    assert result().fraction(entry) == pytest.approx(0.5)  # 8 MB in 4 us are 2 TB/s of 4
    assert result().share_of_goal(entry) == pytest.approx(0.5 / 0.9)
    entry.goal_us = 3.0
    assert result().share_of_goal(entry) == pytest.approx(0.75)
    assert math.isnan(result().fraction(line(cub=timing(4.0))))


def test_the_best_peer_is_the_fastest_that_has_a_time():
    nothing = missing("")
    entry = line(**{OURS: timing(1.0), "a": nothing, "torch": timing(8.0), "cub": timing(5.0)})
    assert entry.best_peer() == ("cub", entry.timings["cub"])
    assert line(**{OURS: timing(1.0), "a": nothing}).best_peer() is None
    assert line(**{f"{OURS}, argwhere": timing(1.0)}).best_peer() is None


def test_a_ratio_has_a_mark_where_intervals_overlap():
    eight = timing(8.0, 0.1)
    assert eight.over(timing(4.0, 0.25)) == pytest.approx((2.0, 7.2 / 5, 8.8 / 3))
    assert [str(eight.over(timing(us, 0.1))) for us in (4, 16, 7)] == ["2.00", "0.50", "1.14 ~"]
    below_zero = timing(1.0, 1.2)  # a difference of two times
    assert eight.over(below_zero) == pytest.approx((8.0, 7.2 / 2.2, math.inf))
    assert below_zero.over(eight).low < 0


def test_numbers_have_three_digits():
    assert [*map(format_number, (3.14159, 31.4159, 3141.5))] == ["3.14", "31.4", "3142"]
