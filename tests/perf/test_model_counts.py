"""What the model reads of plans, machine code, PTX and the simulator; the file of predictions."""

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
from perf.model import command, predictions
from perf.model.code import Code, bytes_in_flight, loop_of_ptx, shuffles_answer
from perf.model.counts import plan_of, tasks_of, trips, work_of
from perf.model.data import data_of
from perf.model.gpus import GPUS
from perf.results import OURS, LineResult, Result, Timing

H200 = GPUS["H200"]
REGENERATE = "run python -m perf model --json perf/model/predictions.json"
MIB = 2**20

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
    first = plan_of(problem)
    assert plan_of(problem) == first


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
    for row, (_, problem) in zip(rows, lines, strict=True):
        launch = plan_of(problem)
        grid = prod(launch.grid_on(gpu.multiprocessors))
        found = launch.kernel.entry, launch.block[0], grid, tasks_of(problem, launch)
        work = row.work
        assert (work.kernel, work.threads, work.grid, work.tasks) == found, REGENERATE
    for row, (name, problem) in zip(rows, lines, strict=True):
        if name in {"R-10", "O-8", "G-9"}:
            again = work_of(problem, gpu)
            assert again.moved == pytest.approx(row.work.moved, rel=1e-3), REGENERATE
            # Other versions of the compiler make other instructions.
            assert again.instructions == pytest.approx(row.work.instructions, rel=0.3), REGENERATE


def test_a_run_on_another_gpu_has_no_predictions():
    assert predictions.predicted_for("NVIDIA GeForce RTX 4090") == {}
    assert predictions.predicted_for("NVIDIA H200")["R-1", "[2^28] f32 sum"] > 249.7


def test_a_measured_run_judges_the_model(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    _, rows = predictions.load()
    lines = []
    for row in rows:
        time = row.predict(H200).total
        time *= 5 if row.case == "R-9" else 1
        timing = Timing(time, time, time, 30, "graph", cold=True)
        lines.append(LineResult(row.case, row.line, "reduce", 1.0, "read", timings={OURS: timing}))
    ceilings = {"read": 4e12, "write": 4e12, "copy": 4e12, "memcpy": 4e12}
    path = tmp_path / "r.json"
    Result("cuda", "", "", {"name": "NVIDIA H200"}, {}, ceilings, 0.0, lines).save(path)
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
    for title in ("[64, 128] f32 sum", "[1024] bool, 50 %, u32", "[64, 4] f32, 8 random int32"):
        assert title in text
    assert command.main(["--load", str(path)]) == status
    assert capsys.readouterr().out.strip() == text.strip()
