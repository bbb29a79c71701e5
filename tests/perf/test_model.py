"""The time model: its terms, each of which can decide; what it reads of plans and code; its fit."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
import pytest

from perf.cases import find
from perf.cases.gather import GatherProblem
from perf.cases.nonzero_coordinates import NonzeroProblem
from perf.cases.one_hot import OneHotProblem
from perf.cases.reduce import ReduceProblem
from perf.model import command, fit, predictions
from perf.model.code import Code, bytes_in_flight, loop_of_ptx, shuffles_answer
from perf.model.counts import plan_of, tasks_of, trips, work_of
from perf.model.data import data_of
from perf.model.gpus import GPUS
from perf.model.time import in_flight, predict
from perf.model.work import Work
from perf.results import OURS, LineResult, Result, Timing

H200 = GPUS["H200"]
REGENERATE = "run python -m perf model --json perf/model/predictions.json"
MIB = 2**20
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
        H200, launch=1.3, latency=0.6, l2_latency=0.35, bandwidth=4.0e12, issue=0.7, dependent=3.3
    )
    lines = [(row, row.predict(truth).total) for row in synthetic_rows()]
    found = fit.fit(lines, H200)
    for name in fit.FREE:
        assert getattr(found, name) == pytest.approx(getattr(truth, name), rel=0.02), name
    assert not any(one.is_wrong for one in fit.judge(lines, H200, found))


def measured(times):
    """Return a result of rows and their times; NaN stands for none."""
    ceilings = dict.fromkeys(("read", "write", "copy", "memcpy"), 4e12)
    lines = []
    for row, us in times:
        timing = Timing(us, us, us, 30 if us > 0 else 0, "graph", cold=True)
        lines.append(LineResult(row.case, row.line, "reduce", 1.0, "read", timings={OURS: timing}))
    return Result("cuda", "", "", {"name": "NVIDIA H200"}, {}, ceilings, 0.0, lines)


def test_lines_of_a_result_meet_those_of_the_model():
    rows = synthetic_rows()
    times = [(rows[0], 5.0), (rows[1], float("nan")), (replace(rows[2], case="X-9"), 5.0)]
    assert fit.measured_lines(measured(times), rows) == [(rows[0], 5.0)]


LOADS = [
    "LDG.E.128.CONSTANT R4, desc[UR4][R2.64]",
    "LDG.E.128.CONSTANT R8, desc[UR4][R2.64+0x10]",
    "LDG.E.64 R12, desc[UR4][R2.64+0x20]",
    "LDG.E.U8 R14, desc[UR4][R2.64+0x28]",
    "FADD R0, R0, R13",
    "LDG.E R4, desc[UR4][R2.64]",
    "FADD R0, R0, R4",
]


def test_loads_are_in_flight_until_one_of_their_registers_is_named():
    assert bytes_in_flight(LOADS) == 16 + 16 + 8 + 1
    assert bytes_in_flight(["LDG.E R7, desc[UR4][R2.64]", "IADD3 R9, R17, R70, RZ", LOADS[0]]) == 20
    assert bytes_in_flight(["FADD R0, R0, R4"]) == 0
    again = [LOADS[0], "FADD R0, R0, R4", LOADS[1], "FADD R0, R0, R5", LOADS[2]]  # R5 was there
    assert bytes_in_flight(again) == 16 + 8


def test_an_answer_that_is_shuffled():
    atomic = "@P0 ATOMG.E.ADD.64.STRONG.GPU PT, R4, desc[UR6][R2.64], R8"
    shuffle = "SHFL.IDX PT, R6, R4, R0, 0x1f"
    assert shuffles_answer([atomic, "IADD3 R44, R1, R2, RZ", shuffle])
    assert not shuffles_answer([atomic, "IADD3 R9, R4, R2, RZ", shuffle])
    assert not shuffles_answer([atomic])


def test_the_loop_of_a_ptx_that_moves_most():
    text = """
$L__BB0_1:
	ld.global.nc.v4.u32 	{%r1, %r2, %r3, %r4}, [%rd1];
	add.s64 	%rd1, %rd1, 16;
	{  cvt.f32.f16 %f1, %rs1;}
	@%p1 bra 	$L__BB0_1;
$L__BB0_2:
$L__BB0_3:
	st.global.v2.u64 	[%rd2], {%rd3, %rd4};
	st.global.v2.u64 	[%rd2+16], {%rd3, %rd4};
	@%p2 bra 	$L__BB0_3;
	add.s32 	%r1, %r1, 1;
	bra.uni 	$L__BB0_2;
"""
    assert loop_of_ptx(text) == (3, 2)
    assert loop_of_ptx(text.replace("v2.u64", "v2.u32")) == (4, 1)
    assert loop_of_ptx("\tret;\n") == (0, 0)


def test_a_plan_binds_nothing():
    problem = ReduceProblem("sum", (77, 1001), (0,), "float32")
    assert plan_of(problem) == plan_of(problem)


def test_a_stream_of_shares():
    problem = ReduceProblem("sum", (MIB,), (0,), "float32")
    work, plan = work_of(problem, H200), plan_of(problem)
    assert work.tasks == work.grid == plan.grid[0]
    assert work.read == pytest.approx(4 * MIB, rel=0.01)
    assert work.moved == pytest.approx(4 * MIB, rel=0.03)
    assert work.least == work.sectors == 4 * MIB + 4
    assert 32 < plan.splits == work.tasks <= 256
    assert (work.exchanges, work.states) == (1, 4 * plan.splits)
    assert work.loads == 1
    assert 2 * MIB / 32 / 4 < work.instructions < 100 * MIB / 32 / 4
    assert work.dependent == work.trips == work.special == work.double == 0


def test_many_blocks_that_share_a_result_exchange_twice():
    problem = ReduceProblem("sum", (2**15, 64), (0,), "float32")
    work, plan = work_of(problem, H200), plan_of(problem)
    assert plan.splits > 32
    assert plan.variant != "stream"
    assert (work.exchanges, work.states) == (2, 32 * plan.states_bytes)


def test_pipes_are_told_apart():
    shape = 64, 4096
    double = work_of(ReduceProblem("sum", shape, (1,), "float64"), H200)
    assert double.double * 32 >= 64 * 4096
    logarithms = work_of(ReduceProblem("log_sum_exp", shape, (1,), "float32"), H200)
    assert logarithms.special * 32 >= 64 * 4096
    assert logarithms.double == 0
    assert work_of(ReduceProblem("max", shape, (1,), "int8"), H200).integer > 0


def test_tiles_of_a_search():
    problem = NonzeroProblem((2**22,), "bool", 0.01, "random", "uint32")
    work, plan = work_of(problem, H200), plan_of(problem)
    assert work.tasks == tasks_of(problem, plan)
    assert work.read == pytest.approx(2**22, rel=0.1)
    alone = NonzeroProblem((2**10,), "bool", 0.01, "random", "uint32")
    assert (work_of(alone, H200).tasks, work_of(alone, H200).trips) == (1, 0)


@pytest.mark.parametrize(
    ("grid", "threads", "tiles", "expected"),
    [
        (1, 256, 1, 0),  # nobody to wait for
        (16, 256, 16, 1 + 1 + 1 + 1),  # ticket, look-back of the block, publish, a round
        (300, 288, 300, 1 + 1 + 2),  # the look-back has a warp of its own
        (396, 256, 4096, 1 + 2),
        (396, 288, 4096, 0),
    ],
)
def test_trips_of_a_search(grid, threads, tiles, expected):
    code = Code(72, 0, 128, 0, 0.8, shuffles_ticket=False)
    assert trips(grid, threads, tiles, code) == expected
    waits = int(expected > 0 and (grid == tiles or threads == 256))
    assert trips(grid, threads, tiles, replace(code, shuffles_ticket=True)) == expected + waits


def test_indices_are_waited_for():
    work = work_of(GatherProblem((2**12, 16), 0, (2**12,), "float32", "int32", "random"), H200)
    assert (work.dependent, work.loads) == (1, 1)
    assert work_of(OneHotProblem((2**10,), 16, 1, "float32", "int32"), H200).dependent == 0


@pytest.mark.parametrize("pattern", ["random", "sorted", "equal", "out_of_range"])
def test_indices_of_large_gathers_are_like_those_of_the_case(pattern):
    problem = GatherProblem((2**20, 8), 0, (2**20,), "float32", "int32", pattern)
    table, indices = data_of(problem)
    assert (table.shape, table.dtype) == ((2**20, 8), np.float32)
    assert (indices.shape, indices.dtype) == ((2**20,), np.int32)
    if pattern == "sorted":
        assert (np.diff(indices) >= 0).all()
    end = 2**20 + (2**17 if pattern == "out_of_range" else 0)
    assert -end <= indices.min() <= indices.max() < end
    distinct = np.unique(indices[:1000]).size
    assert distinct == 1 if pattern == "equal" else distinct > 900


def test_the_file_has_each_line_for_the_present_kernels():
    """Plans are those that the file was made with; of some lines, so are the counts."""
    gpu, rows = predictions.load()
    lines = [(case.name, line.problem) for case in find([]) for line in case.lines]
    assert [(row.case, row.line) for row in rows] == [(n, p.title) for n, p in lines], REGENERATE
    for row, (name, problem) in zip(rows, lines, strict=True):
        launch, work = plan_of(problem), row.work
        grid = prod(launch.grid_on(gpu.multiprocessors))
        found = launch.kernel.entry, launch.block[0], grid, tasks_of(problem, launch)
        assert (work.kernel, work.threads, work.grid, work.tasks) == found, REGENERATE
        if name in {"R-10", "O-8", "G-9"}:
            again = work_of(problem, gpu)
            assert again.moved == pytest.approx(work.moved, rel=1e-3), REGENERATE
            # Other versions of the compiler make other instructions.
            assert again.instructions == pytest.approx(work.instructions, rel=0.3), REGENERATE


def test_a_run_on_another_gpu_has_no_predictions():
    assert predictions.predicted_for("NVIDIA GeForce RTX 4090") == {}
    assert predictions.predicted_for("NVIDIA H200")["R-1", "[2^28] f32 sum"] > 249.7


def test_a_measured_run_judges_the_model(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    _, rows = predictions.load()
    times = [row.predict(H200).total * (5 if row.case == "R-9" else 1) for row in rows]
    path = tmp_path / "r.json"
    measured(zip(rows, times, strict=True)).save(path)
    assert command.main(["--fit", str(path)]) == 1
    wrong = [line for line in capsys.readouterr().out.splitlines() if line.startswith("wrong")]
    assert [line.partition(",")[0] for line in wrong] == ["wrong: R-9"] * 2


def test_the_command_takes_shapes_and_files(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "240")
    path = tmp_path / "p.json"
    given = "--reduce sum float32 2^6x128 0x1 --gather float32 64x4 0 8 --nonzero bool 2^10 0.5"
    status = command.main([*given.split(), "--json", str(path)])
    text = capsys.readouterr().out
    assert "a model, no measurement" in text
    assert "no measurement" in path.read_text()
    for title in ("[64, 128] f32 sum", "[1024] bool, 50 %, u32", "[64, 4] f32, 8 random int32"):
        assert title in text
    assert command.main(["--load", str(path)]) == status
    assert capsys.readouterr().out.strip() == text.strip()
    path.write_text('{"schema": 0}')
    with pytest.raises(ValueError, match=r"p\.json: must have schema 1; got 0"):
        predictions.load(path)
