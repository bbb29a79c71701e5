"""The time model: its terms, each of which can decide; what it keeps in files; its fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from perf.model import fit, predictions, table
from perf.model.gpus import GPUS
from perf.model.time import in_flight, predict
from perf.model.work import Work
from perf.results import OURS, LineResult, Result, Timing

H200 = GPUS["H200"]
#: A read of 1 GiB by 528 blocks at once, all with 16 KiB in flight.
STREAM = Work(
    kernel="ck_stream",
    tasks=528,
    grid=528,
    threads=256,
    resident=4,
    least=2.0**30,
    sectors=2.0**30,
    moved=2.0**30,
    read=2.0**30,
    loads=2.0**30 / 528 / 2**15,
    instructions=2e7,
)
SMALL = replace(
    STREAM, tasks=1, grid=1, least=64.0, moved=64.0, read=64.0, loads=1, instructions=500.0
)


def test_a_long_read_takes_the_time_of_its_bytes():
    found = predict(STREAM, H200)
    assert found.bound == "memory"
    assert found.memory == pytest.approx(2**30 / 4.3e12 * 1e6)
    assert found.total == pytest.approx(2.0 + 0.7 + 249.7, abs=0.1)
    assert found.roofline == pytest.approx(2.0 + 249.7, abs=0.1)
    assert found.holds
    assert in_flight(STREAM, H200) == pytest.approx(4 * 2**15)


def test_a_launch_of_nothing_takes_a_latency():
    found = predict(SMALL, H200)
    assert found.bound == "latency"
    # A launch, a block's start, a load, 62.5 instructions of a warp.
    assert found.total == pytest.approx(2.0 + 0.2 + 0.5 + 62.5 * 2.5 / 1980, abs=1e-3)
    assert found.roofline == pytest.approx(2.0, abs=1e-3)
    assert found.holds


@pytest.mark.parametrize(
    ("bound", "change"),
    [
        ("memory", {"least": 2.0**32}),
        ("issue", {"instructions": 1e9}),
        ("pipe", {"special": 2e8}),
        ("pipe", {"double": 1e9}),
        ("pipe", {"convert": 1e9}),
        ("pipe", {"integer": 1e9}),
        ("pipe", {"shuffle": 5e8}),
        ("pipe", {"wavefronts": 5e8}),
        ("in flight", {"loads": 1000.0}),
        ("latency", {"exchanges": 1, "states": 2e8}),
        ("latency", {"trips": 2000.0}),
        ("latency", {"dependent": 1000.0}),
        ("tail", {"tasks": 10, "grid": 10, "loads": 1000.0}),
        ("port", {"moved": 2.0**33, "least": 1.0, "tasks": 132}),
    ],
)
def test_each_term_can_decide(bound, change):
    gpu = replace(H200, l2_bandwidth=1e15)
    found = predict(replace(STREAM, **change), gpu)
    assert found.bound == bound
    assert not found.holds or bound == "memory"


@pytest.mark.parametrize(
    "field",
    [
        *("least", "moved", "loads", "instructions", "special", "double", "convert", "integer"),
        *("shuffle", "wavefronts", "dependent", "trips", "exchanges", "states"),
    ],
)
@pytest.mark.parametrize("work", [STREAM, SMALL], ids=["stream", "small"])
@pytest.mark.parametrize("gpu", GPUS.values(), ids=GPUS)
def test_more_of_anything_is_never_faster(work, field, gpu):
    times = [
        predict(replace(work, **{field: getattr(work, field) * 4**k + k}), gpu).total
        for k in range(8)
    ]
    assert times == sorted(times)


def test_blocks_beyond_those_that_fit_take_another_wave():
    one, two = (predict(replace(STREAM, tasks=n, grid=n, loads=999), H200) for n in (528, 529))
    assert (one.waves, two.waves) == (1, 2)
    assert two.flight == pytest.approx(2 * one.flight, rel=1e-3)


def test_a_last_wave_takes_a_task_at_least():
    work = replace(STREAM, loads=8.0, instructions=1e5)
    even, odd = (predict(replace(work, tasks=n, grid=n), H200) for n in (1056, 1057))
    task = 0.2 + 8 * 0.75
    assert even.bound == odd.bound == "memory"
    assert odd.total - even.total == pytest.approx(task, rel=0.1)
    assert odd.tail - even.tail == pytest.approx(task, rel=0.1)


def test_persistent_blocks_take_tiles_in_turn():
    found = predict(replace(STREAM, tasks=4096, grid=444, resident=3), H200)
    assert found.waves == -(-4096 // 396)


def test_work_in_the_shadow_of_loads_costs_nothing():
    apart = replace(STREAM, tasks=132, grid=132, loads=1000.0)
    both, less = predict(apart, H200), predict(replace(apart, overlapped=True), H200)
    assert less.total == pytest.approx(both.total - both.serial)


def test_files_keep_what_decides(tmp_path):
    path = tmp_path / "p.json"
    rows = [predictions.Row("R-1", "long", STREAM), predictions.Row("R-2", "short", SMALL)]
    predictions.save(rows, H200, path)
    gpu, found = predictions.load(path)
    assert gpu is H200
    assert [(row.case, row.line) for row in found] == [("R-1", "long"), ("R-2", "short")]
    for row, before in zip(found, rows, strict=True):
        assert row.predict(gpu).total == pytest.approx(before.predict(gpu).total, rel=1e-3)
    assert "no measurement" in path.read_text()
    path.write_text('{"schema": 0}')
    with pytest.raises(ValueError, match=r"p\.json: must have schema 1; got 0"):
        predictions.load(path)


def test_the_table_says_that_it_is_no_measurement(capsys):
    Console(width=250).print(table.table_of([predictions.Row("R-1", "long", STREAM)], H200))
    text = capsys.readouterr().out
    assert "a model, no measurement" in text
    row = next(line for line in text.splitlines() if "R-1" in line)
    for cell in ("528", "128", "249.7", "252.4", "251.7", "1.00", "memory"):
        assert cell in row.split()


def synthetic_rows():
    """Works of which each parameter decides about some."""
    rng = np.random.default_rng(3)
    works = [SMALL]
    for _ in range(20):
        size = 2.0 ** rng.uniform(18, 30)
        works.append(replace(STREAM, least=size, moved=size, read=size, instructions=size / 60))
        works.append(replace(STREAM, least=size, moved=size, instructions=size))
        works.append(replace(SMALL, instructions=1e4 * rng.uniform(1, 9)))
        works.append(replace(SMALL, loads=rng.uniform(1, 99)))
        works.append(replace(SMALL, trips=rng.uniform(1, 99)))
    return [predictions.Row("X-1", f"{k}", work) for k, work in enumerate(works)]


def test_a_fit_finds_the_parameters():
    truth = replace(
        H200,
        launch=1.3,
        latency=0.6,
        l2_latency=0.35,
        bandwidth=4.0e12,
        issue=0.7,
        dependent=3.3,
    )
    lines = [(row, row.predict(truth).total) for row in synthetic_rows()]
    found = fit.fit(lines, H200)
    for name in fit.FREE:
        assert getattr(found, name) == pytest.approx(getattr(truth, name), rel=0.02), name
    assert not any(one.is_wrong for one in fit.judge(lines, H200, found))


def test_a_line_that_the_model_gets_wrong_is_named():
    lines = [(row, row.predict(H200).total) for row in synthetic_rows()]
    odd = lines[7][0]
    lines[7] = odd, 3 * lines[7][1]
    judged = fit.judge(lines, H200, fit.fit(lines, H200))
    assert odd.line in [one.line for one in judged if one.is_wrong]


def test_lines_of_a_result_meet_those_of_the_model():
    nothing = Timing(*[float("nan")] * 3, 0, "", cold=False)
    timed = Timing(5.0, 4.0, 6.0, 30, "graph", cold=True)
    made = (("X-1", "0", timed), ("X-1", "1", nothing), ("X-9", "2", timed))
    lines = [
        LineResult(case, line, "reduce", 1.0, "read", timings={OURS: timing})
        for case, line, timing in made
    ]
    result = Result("cuda", "", "", {"name": "H200"}, {}, {}, 0.0, lines)
    rows = synthetic_rows()
    assert fit.measured_lines(result, rows) == [(rows[0], 5.0)]
