"""NVIDIA's tools over lines of the matrix: their arguments, and what their output becomes."""

from __future__ import annotations

import csv
import io
import json
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest

from cudakern.engines.kernel_text import kernel_folder
from cudakern.operators import nvtx_ranges
from perf.cases import CASES, find
from perf.cases.gather import GatherWorkload
from perf.engines import launch_of
from perf.nsight import command, compute, target, tools
from perf.nsight.tools import Ended
from tests.helpers.rows import each
from tests.perf.results import rows

#: A case of two lines, small enough to run at full size in the simulator.
SMALL = find(["G-9"])[0]
#: Counters of a kernel on ncu's raw page, with their units and values.
COUNTERS = {
    "ID": ("", "0"),
    "Kernel Name": ("", ""),
    **{f"launch__grid_dim_{axis}": ("", n) for axis, n in (("x", "264"), ("y", "2"), ("z", "1"))},
    "gpu__time_duration.sum": ("ns", "123,456"),
    "dram__bytes_read.sum": ("byte", "2,500,000"),
    "dram__bytes_write.sum": ("byte", "1750000"),
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": ("sector", "3,072"),
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": ("sector", "2048"),
    "smsp__average_warps_issue_stalled_selected_per_issue_active.ratio": ("inst", "99"),
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio": ("inst", "12.34"),
    "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio": ("inst", "3"),
}


def page(names):
    """Return a raw page of kernels with these names, of which every second one has no values."""
    table = [[*COUNTERS], [unit for unit, _ in COUNTERS.values()]]
    for i, name in enumerate(names):
        row = {counter: "" if i % 2 else value for counter, (_, value) in COUNTERS.items()}
        table.append([*(row | {"ID": i, "Kernel Name": name}).values()])
    text = io.StringIO("==PROF== a message\n")
    text.seek(0, io.SEEK_END)
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(table)
    return text.getvalue()


def after(arguments, name):
    return arguments[arguments.index(name) + 1]


def target_of(arguments):
    """Return the arguments of the profiled program, which must be ours."""
    first = arguments.index(sys.executable)
    assert arguments[first + 1 : first + 5] == ["-m", "perf", "nsight", "target"]
    return arguments[first + 5 :]


@pytest.fixture
def nsight(tmp_path, monkeypatch):
    """Return a function that runs a command with stand-ins for the tools, their calls, a folder."""
    ran, folder = [], tmp_path / "reports"
    monkeypatch.setattr(tools.shutil, "which", lambda name: name)

    def run(words, program):
        def execute(arguments, _seconds, *_outputs):
            ran.append(arguments)
            printed = program(arguments) or ""
            return printed if isinstance(printed, Ended) else Ended(0, printed, late=False)

        monkeypatch.setattr(tools, "execute", execute)
        return command.main([*words.split(), "--output", str(folder)])

    return run, ran, folder


def nsys(arguments):
    base = after(arguments, "--output")
    if arguments[1] == "profile":
        Path(f"{base}.nsys-rep").touch()
        return ""
    assert arguments[-1] == f"{base}.nsys-rep"
    heading = "Time (%),Total Time (ns),Avg (ns),Min (ns),StdDev (ns),Name"
    text = f"{heading}\n60.0,1200,100.0,90,1.5,ck_gather_rows\n"
    Path(f"{base}_cuda_gpu_kern_sum.csv").write_text(text)
    return "SKIPPED: the report has no such data"


def ncu(arguments):
    if "--import" in arguments:
        return page([launch_of(line.workload).kernel.entry for line in SMALL.lines])
    Path(f"{after(arguments, '--export')}.ncu-rep").touch()
    return ""


def test_systems_profiles_and_sums_up(nsight, capsys):
    run, ran, folder = nsight
    assert run("systems G-1 Z-1 --repeats 7", nsys) == 0
    profile, stats = ran
    assert {"--capture-range=cudaProfilerApi", "--capture-range-end=stop"} < {*profile}
    assert target_of(profile) == ["G-1", "Z-1", "--repeats", "7"]
    assert after(stats, "--format") == "csv"
    text = capsys.readouterr().out
    assert ["60.0", "1200", "100.0", "ck_gather_rows"] in rows(text)
    assert "nvtx_gpu_proj_sum: nsys has nothing to sum up" in text
    assert f"report: {next(folder.glob('*.nsys-rep'))}" in text


def test_compute_profiles_and_prints_counters(nsight, capsys):
    run, ran, folder = nsight
    assert run("compute G-9 Z-1", ncu) == 0
    arguments, reading, other, _ = ran
    expected = {"--clock-control": "none", "--kernel-name": "regex:^ck_", "--set": "full"}
    expected |= {"--profile-from-start": "off", "--source-folders": str(kernel_folder())}
    assert {name: after(arguments, name) for name in expected} == expected
    assert "dram__bytes_read.sum" in after(arguments, "--metrics").split(",")
    assert target_of(arguments) == ["G-9", "--repeats", "1"]
    assert target_of(other) == ["Z-1", "--repeats", "1"]
    assert after(reading, "--import") == f"{after(arguments, '--export')}.ncu-rep"
    heading, first, second, *_ = (row for row in rows(capsys.readouterr().out) if len(row) == 15)
    title, kernel = SMALL.lines[0].workload.title, launch_of(SMALL.lines[0].workload).kernel.entry
    assert first[:5] == ["G-9", title, kernel, "264x2x1", "-"]
    assert first[5:] == ["123.5", "2.5", "1.8", *["-"] * 6, "long_scoreboard 12.3"]
    assert heading[5:8] == ["us", "read MB", "written MB"]
    assert second[1] == SMALL.lines[1].workload.title
    assert second[3:] == ["-"] * 12
    (path,) = folder.glob("*.json")
    found = json.loads(path.read_text())["kernels"]
    assert [one["case"] for one in found] == ["G-9", "G-9", "Z-1", "Z-1"]
    assert [one["line"] for one in found[2:]] == ["-", "-"]  # kernels of another case
    loads, stores = found[0]["sectors"].values()
    simulated = loads["traffic"]  # 2 for a row of 64 bytes, 1 for 4 indices; a few rows meet
    assert simulated == pytest.approx(4096 * 2.25, rel=0.01)
    assert (loads["ncu"], loads["ratio"]) == (3072, 3072 / simulated)
    assert stores == {"ncu": 2048, "traffic": 8192, "ratio": 0.25}
    assert found[2]["sectors"]["loads"]["traffic"] is None


def test_what_was_profiled_is_kept_when_a_case_fails(nsight, capsys, monkeypatch):
    monkeypatch.setattr(compute, "simulated_sectors", lambda *_: None)
    run, _, folder = nsight
    assert run("compute G-9 Z-1", lambda given: "" if "Z-1" in given else ncu(given)) == 1
    out, error = capsys.readouterr()
    assert "Z-1: ncu ended with 0 and left no complete report" in error
    assert [row[0] for row in rows(out) if row[0] == "G-9"]
    (path,) = folder.glob("*.json")
    assert len(json.loads(path.read_text())["kernels"]) == 2
    assert run("compute G-9", lambda _: Ended(1, "ERR_NVGPUCTRPERM - no", late=False)) == 1
    assert "NVreg_RestrictProfilingToAdminUsers=0\n" in capsys.readouterr().err


@each(
    ("status", "summary", "late", "verdict"),
    [
        (0, "ERROR SUMMARY: 0 errors", False, ["clean", "0 errors"]),
        (86, "ERROR SUMMARY: 2 errors", False, ["NOT CLEAN", "2 errors"]),
        (0, "RACECHECK SUMMARY: 1 hazard", False, ["NOT CLEAN", "1 hazard"]),
        (0, "", False, ["NOT CLEAN", "no summary"]),
        (86, "ERROR SUMMARY: 0 errors", False, ["NOT CLEAN", "0 errors"]),
        (1, "ERROR SUMMARY: 0 errors", False, ["NOT CLEAN", "ended with 1; 0 errors"]),
        (124, "", True, ["NOT CLEAN", "ended after 1200 s, the time limit; no summary"]),
    ],
)
def test_sanitizer_fails_unless_every_tool_says_clean(
    nsight, capsys, status, summary, late, verdict
):
    def program(arguments):
        if after(arguments, "--tool") == "racecheck":
            return Ended(status, f"========= COMPUTE-SANITIZER\n========= {summary}\n", late)
        return "========= ERROR SUMMARY: 0 errors"

    run, ran, _ = nsight
    assert run("sanitizer", program) == (verdict[0] != "clean")
    names = ["memcheck", "racecheck", "initcheck", "synccheck"]
    assert [after(arguments, "--tool") for arguments in ran[-4:]] == names
    options = ["--repeats", "1", "--elements", "65536", "--no-pool"]
    assert target_of(ran[-1]) == [*(case.name for case in CASES), *options]
    found = {row[0]: row[1:3] for row in rows(capsys.readouterr().out)}
    assert found.items() >= {"racecheck": verdict, "synccheck": ["clean", "0 errors"]}.items()


def test_a_program_has_source_lines_and_ends_in_time():
    code = "import os, time; print(os.environ['CUDAKERN_LINEINFO'], flush=True); time.sleep({})"
    log, command = io.StringIO(), [sys.executable, "-c"]
    assert tools.execute([*command, code.format(0)], 60, log) == Ended(0, "1\n", late=False)
    assert log.getvalue() == "1\n"
    ended = tools.execute([*command, code.format(60)], 1)
    assert (ended.status, ended.printed[:2], ended.late) == (124, "1\n", True)


@each(
    ("name", "program"),
    [("systems", "nsys"), ("compute", "ncu"), ("sanitizer", "compute-sanitizer")],
)
def test_a_tool_that_is_absent_can_be_shown_alone(capsys, nsight, monkeypatch, name, program):
    run, ran, _ = nsight
    monkeypatch.setattr(tools.shutil, "which", lambda _name: None)
    monkeypatch.setattr(tools, "glob", lambda _pattern: [])
    assert run(f"{name} G-1", None) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"perf nsight {name}: {program} is not installed: NVIDIA's apt package")
    assert run(f"{name} G-1 --dry-run", None) == 0
    shown = shlex.split(capsys.readouterr().out)
    assert shown[:2] == ["CUDAKERN_LINEINFO=1", program]
    assert target_of(shown)[0] == "G-1"
    assert ran == []


def test_target_profiles_prepared_calls_alone(monkeypatch):
    cupy = mock.MagicMock()
    lines = [
        SimpleNamespace(workload=mock.Mock(title=title, call=lambda *_, work=work: work))
        for title, work in (("a", cupy.a), ("b", cupy.b))
    ]
    for line in lines:
        line.workload.traffic.return_value.total = 9.6
    monkeypatch.setattr(tools, "find", lambda _names: [SimpleNamespace(name="X-1", lines=lines)])
    monkeypatch.setattr(target, "choose", lambda engine: engine)
    monkeypatch.setattr(target, "import_cupy", lambda: cupy)
    monkeypatch.setattr(nvtx_ranges, "mark_range", cupy.mark)
    assert command.main(["target", "X-1", "--repeats", "2", "--no-pool"]) == 0
    done = [name.removeprefix("cuda.") for name, *_ in cupy.mock_calls]
    assert done[:2] == ["set_allocator", "set_pinned_memory_allocator"]
    span = "mark mark().__enter__ {0} {0} mark().__exit__"
    profiled = f"runtime.profilerStart {span.format('a')} {span.format('b')} Device().synchronize"
    assert " ".join(done[2:]) == f"a b Device Device().synchronize {profiled} runtime.profilerStop"


ROWS, BITS = "ck_gather_rows_w16_i32_clamp_o32", "ck_one_hot_stream_w4_i64_o32"


def test_sectors_are_those_of_the_full_size():
    rows_of_64_bytes = GatherWorkload((2**19, 16), 0, (2**19,), "float32", "int32", "random")
    loads, stores = compute.simulated_sectors(rows_of_64_bytes, ROWS)
    assert loads == pytest.approx(2**19 * (2 + 1 / 8), rel=0.001)
    assert stores == 2**20
    (one_hot,) = find(["O-1"])[0].lines  # one warp reads each sector of the indices, once
    assert compute.simulated_sectors(one_hot.workload, BITS) == (
        2**20 * 8 / 32,
        2**20 * 1000 * 4 / 32,
    )
