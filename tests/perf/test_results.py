import json
import math
import os
from pathlib import Path

import pytest

from perf.results import OURS, LineResult, Result, Timing, digits, load
from tests.perf.synthetic import missing


def timing(median, **more):
    return Timing(median, median - 1, median + 1, 30, "graph", cold=True, **more)


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
    assert found.lines[0].timings[OURS] == entry.timings[OURS]
    back = found.lines[0].timings["cub"]
    assert math.isnan(back.median_us)
    assert math.isnan(back.p90_us)
    assert back.note == "WRONG"
    found.lines[0].timings["cub"] = nothing
    assert found == saved
    assert json.loads(path.read_text())["lines"][0]["timings"]["cub"]["median_us"] is None
    assert "NaN" not in path.read_text()


def test_a_file_of_an_earlier_version_is_complete(tmp_path):
    path = tmp_path / "r.json"
    result().save(path)
    data = json.loads(path.read_text())
    del data["incomplete"]
    path.write_text(json.dumps(data))
    assert load(path).incomplete == ""


@pytest.mark.parametrize("step", ["write_text", "replace"])
def test_a_write_that_is_cut_off_leaves_the_file_as_it_was(tmp_path, monkeypatch, step):
    path = tmp_path / "r.json"
    before = result()
    before.save(path)

    def cut_off(target, text, **_):
        with target.open("w") as file:
            file.write(str(text)[:40])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, step, cut_off)
        with pytest.raises(KeyboardInterrupt):
            result(line()).save(path)
    assert load(path) == before
    result(line()).save(path)
    assert load(path) == result(line())
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_plain_file_is_written_to_and_not_replaced(tmp_path):
    link, target, pipe = (tmp_path / name for name in ("link", "target.json", "pipe"))
    link.symlink_to(target)
    result().save(link)
    assert link.is_symlink()
    assert load(target) == result()
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    result().save(pipe)
    assert os.read(reader, 2**16) == target.read_bytes()
    os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    "text", ["", "[]", "3", '{"schema": 1}', '{"schema": 0, "lines": []}', '{"lines": []}']
)
def test_what_is_no_result_file_is_refused_by_name(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"other\.json: must"):
        load(path)


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
    assert timing(8.0).over(timing(4.0)) == pytest.approx((2.0, 7 / 5, 3.0))
    assert str(timing(8.0).over(timing(4.0))) == "2.00"
    assert str(timing(8.0).over(timing(16.0))) == "0.50"
    assert str(timing(8.0).over(timing(7.0))) == "1.14 ~"


@pytest.mark.parametrize(
    ("value", "text"), [(3.14159, "3.14"), (31.4159, "31.4"), (3141.5, "3142")]
)
def test_digits(value, text):
    assert digits(value) == text
