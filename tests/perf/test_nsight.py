"""NVIDIA's tools over lines of the matrix, small programs in their places; what they profile."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from types import SimpleNamespace
from unittest import mock
from unittest.mock import call

import numpy as np
import pytest

from cudakern import _nvtx
from cudakern.engines.sources import kernel_folder
from cudakern.errors import EngineUnavailableError
from perf.cases import CASES, find
from perf.cases.gather import GatherWorkload
from perf.engines import launch_of
from perf.nsight import command, compute, target, tools
from tests.helpers.nsight import install, page
from tests.perf.synthetic import rows

#: A case of two lines, which the simulator runs at full size at once.
SMALL = find(["G-9"])[0]


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Put stand-ins of the programs on PATH; return what ran."""
    folder = tmp_path / "bin"
    log = install(folder, [launch_of(line.workload).kernel.entry for line in SMALL.lines])
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    monkeypatch.setenv("FAKE", "")
    monkeypatch.setenv("CUDAKERN_LINEINFO", "0")
    return lambda: [json.loads(line) for line in log.read_text().splitlines()]


def after(arguments, name):
    return arguments[arguments.index(name) + 1]


def target_of(arguments):
    """Return what follows the program that is profiled, which must be ours."""
    first = arguments.index(sys.executable)
    assert arguments[first + 1 : first + 5] == ["-m", "perf", "nsight", "target"]
    return arguments[first + 5 :]


def test_systems_profiles_and_sums_up(fake, tmp_path, capsys):
    output = tmp_path / "reports"
    assert command.main(["systems", "G-1", "Z-1", "--repeats", "7", "--output", str(output)]) == 0
    (profile, lines, folder), (stats, _, _) = fake()
    assert profile[:5] == [
        "profile",
        "--trace=cuda,nvtx,osrt",
        "--capture-range=cudaProfilerApi",
        "--capture-range-end=stop",
        "--output",
    ]
    assert target_of(profile) == ["G-1", "Z-1", "--repeats", "7"]
    assert lines == "1"
    assert folder == str(tools.ROOT)
    assert after(stats, "--format") == "csv"
    (report,) = output.glob("*.nsys-rep")
    assert {p.name.removeprefix(report.stem) for p in output.glob("*.csv")} == {
        "_cuda_gpu_kern_sum.csv",
        "_nvtx_kern_sum.csv",
    }
    text = capsys.readouterr().out
    assert ["60.0", "1200", "12", "100.0", "101.0", "ck_gather_rows"] in rows(text)
    by_range = ["cudakern:G-1 [2^12] f32, random", "1", "12", "1200", "100.0", "101.0"]
    assert [*by_range, "ck_gather_rows"] in rows(text)
    assert "nvtx_gpu_proj_sum: nsys has nothing to sum up" in text
    assert f"report: {report}" in text


def test_compute_profiles_and_prints_counters(fake, tmp_path, capsys):
    output = tmp_path / "reports"
    assert command.main(["compute", "G-9", "Z-1", "--output", str(output)]) == 0
    (arguments, lines, _), (reading, *_), (other, *_), _ = fake()
    assert after(arguments, "--set") == "full"
    assert after(arguments, "--clock-control") == "none"
    assert after(arguments, "--import-source") == "yes"
    assert after(arguments, "--source-folders") == str(kernel_folder())
    assert after(arguments, "--kernel-name") == "regex:^ck_"
    assert after(arguments, "--profile-from-start") == "off"
    assert "--nvtx" in arguments
    assert "dram__bytes_read.sum" in after(arguments, "--metrics").split(",")
    assert target_of(arguments) == ["G-9", "--repeats", "1"]
    assert target_of(other) == ["Z-1", "--repeats", "1"]
    assert after(reading, "--import") == f"{after(arguments, '--export')}.ncu-rep"
    assert lines == "1"
    text = capsys.readouterr().out
    heading, first, second, *_ = (row for row in rows(text) if len(row) == 15)
    title, kernel = SMALL.lines[0].workload.title, launch_of(SMALL.lines[0].workload).kernel.entry
    assert dict(zip(heading, first, strict=True)) == {
        "case": "G-9",
        "line": title,
        "kernel": kernel,
        "grid": "264x2x1",
        "block": "512x1x1",
        "us": "123.5",
        "read MB": "2.5",
        "written MB": "1.8",
        "DRAM %": "87.2",
        "L2 hit %": "31.5",
        "sectors/load": "4.12",
        "sectors/store": "16.00",
        "registers": "40",
        "occupancy %": "62.5",
        "top stall": "long_scoreboard 12.3",
    }
    assert second[1] == SMALL.lines[1].workload.title
    assert second[3:] == ["-"] * 12
    assert "these are no benchmark times" in text
    (path,) = output.glob("*.json")
    assert {p.suffix for p in output.iterdir()} == {".ncu-rep", ".json"}
    found = json.loads(path.read_text())["kernels"]
    assert [one["case"] for one in found] == ["G-9", "G-9", "Z-1", "Z-1"]
    assert [one["line"] for one in found[2:]] == ["-", "-"]  # those of another case's kernels
    loads, stores = found[0]["sectors"].values()
    simulated = loads["traffic"]  # of each row of 64 bytes 2, and 1 of 4 indices; a few meet
    assert simulated == pytest.approx(4096 * 2.25, rel=0.01)
    assert (loads["ncu"], loads["ratio"]) == (3072, 3072 / simulated)
    assert stores == {"ncu": 2048, "traffic": 8192, "ratio": 0.25}
    assert found[0]["counters"]["dram__bytes_read.sum"] == ["2,500,000", "byte"]
    assert found[1]["sectors"]["loads"]["ncu"] is None
    assert found[2]["sectors"]["loads"]["traffic"] is None
    ratio = f"{loads['ratio']:.3f}"
    sectors = ["G-9", title, kernel, "3072", f"{simulated:.0f}", ratio, "2048", "8192", "0.250"]
    assert sectors in rows(text)


def test_what_was_profiled_is_kept_when_a_case_fails(fake, tmp_path, capsys, monkeypatch):
    ncu = tmp_path / "bin" / "ncu"
    ncu.write_text(ncu.read_text().replace("FAKE = ", 'FAKE = "slow" if "Z-1" in sys.argv else '))
    absent = mock.Mock(side_effect=EngineUnavailableError("no C++ compiler"))
    monkeypatch.setattr(compute, "simulated_sectors", absent)
    given = ["compute", "G-9", "Z-1", "--minutes", "0.05", "--output", str(tmp_path / "reports")]
    assert command.main(given) == 1
    out, error = capsys.readouterr()
    assert re.search(r"Z-1: ncu ended after [123] s and left no complete report", error)
    assert error.endswith("no time is left to simulate all lines\n")
    assert [row[0] for row in rows(out) if row[0] == "G-9"]
    (path,) = (tmp_path / "reports").glob("*.json")
    assert len(json.loads(path.read_text())["kernels"]) == 2
    assert command.main([*given[:2], *given[5:]]) == 1
    assert "sectors cannot be simulated: no C++ compiler" in capsys.readouterr().err
    assert fake()


@pytest.mark.parametrize(
    ("name", "state", "reasons"),
    [
        ("systems", "empty", ("nsys ended with 0 and left no",)),
        ("systems", "no kernels", ("summed up no kernels:\nSKIPPED",)),
        ("compute", "empty", ("left no complete report",)),
        (
            "compute",
            "refused",
            ("--user 0", "SYS_ADMIN", "R565", "NVreg_RestrictProfilingToAdminUsers=0\n"),
        ),
    ],
)
def test_a_tool_without_a_result_fails(fake, tmp_path, capsys, monkeypatch, name, state, reasons):
    monkeypatch.setenv("FAKE", state)
    assert command.main([name, "G-1", "--output", str(tmp_path)]) == 1
    text = capsys.readouterr().err
    assert all(reason in text for reason in reasons), text
    assert state != "refused" or text.count("\n") == 1
    assert fake()


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        (page([]), "has no kernel"),
        ("==ERROR== the report is broken", "ncu prints no raw page but '==ERROR=="),
        (f'{page()}"2","of another length"', 'ncu prints no raw page but \'"ID"'),
    ],
)
def test_a_report_without_kernels_fails(fake, tmp_path, capsys, monkeypatch, printed, reason):
    ended = tools.Ended(0, printed, late=False)
    monkeypatch.setattr(compute, "execute", lambda *_: ended)
    assert command.main(["compute", "G-1", "--output", str(tmp_path / "reports")]) == 1
    assert reason in capsys.readouterr().err
    assert [path.suffix for path in (tmp_path / "reports").iterdir()] == [".ncu-rep"]
    assert fake()


def test_sanitizer_runs_all_tools_over_all_cases(fake, tmp_path, capsys):
    assert command.main(["sanitizer", "--output", str(tmp_path / "reports")]) == 0
    calls = [arguments for arguments, _, _ in fake()]
    tools_run = [after(arguments, "--tool") for arguments in calls]
    assert tools_run == ["memcheck", "racecheck", "initcheck", "synccheck"]
    options = ["--repeats", "1", "--elements", "65536", "--no-pool"]
    for arguments in calls:
        assert target_of(arguments) == [*(case.name for case in CASES), *options]
    table = [row for row in rows(capsys.readouterr().out) if row[0] in tools_run]
    assert [row[1] for row in table] == ["clean"] * 4
    texts = [p.read_text() for p in (tmp_path / "reports").iterdir()]
    assert len(texts) == 4
    assert all("========= COMPUTE-SANITIZER" in text for text in texts)


def test_sanitizer_ends_a_tool_that_takes_too_long(fake, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("FAKE", "slow memcheck")
    names = ["memcheck", "racecheck", "G-1", "--elements", "512", "--minutes", "0.08"]
    assert command.main(["sanitizer", *names, "--output", str(tmp_path / "reports")]) == 1
    found = {row[0]: row[1:3] for row in rows(capsys.readouterr().out)}
    assert found["memcheck"] == ["NOT CLEAN", "ended after 2 s, the time limit; no summary"]
    assert found["racecheck"][0] == "clean"
    assert all(after(arguments, "--elements") == "512" for arguments, _, _ in fake())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_a_tool_says_is_kept_when_the_command_is_interrupted(
    fake, tmp_path, monkeypatch, number
):
    monkeypatch.setenv("FAKE", "slow racecheck")
    output = tmp_path / "reports"
    program = f"import signal; signal.signal({signal.SIGINT:d}, signal.default_int_handler)\n"
    program += "import sys; from perf.nsight.command import main; sys.exit(main(sys.argv[1:]))"
    given = ["sanitizer", "memcheck", "racecheck", "G-1", "--output", str(output)]
    with subprocess.Popen(
        [sys.executable, "-c", program, *given],
        cwd=tools.ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while not [p for p in output.glob("racecheck-*") if "COMPUTE" in p.read_text()]:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(number)
        out, error = process.communicate(timeout=30)
    assert process.returncode == 1
    assert error == "perf nsight sanitizer: interrupted\n"
    assert [row[:2] for row in rows(out)[-2:]] == [["tool", "verdict"], ["memcheck", "clean"]]
    assert len(fake()) == 2


@pytest.mark.parametrize(
    ("state", "summary"),
    [
        ("found racecheck", "2 errors"),
        ("warned racecheck", "1 hazard displayed (0 errors, 1 warning)"),
        ("silent racecheck", "no summary"),
        ("denied racecheck", "0 hazards displayed (0 errors, 0 warnings)"),
        ("failed racecheck", "ended with 1; 0 hazards displayed (0 errors, 0 warnings)"),
    ],
)
def test_sanitizer_fails_unless_every_tool_says_clean(
    fake, tmp_path, capsys, monkeypatch, state, summary
):
    monkeypatch.setenv("FAKE", state)
    names = ["racecheck", "G-1", "memcheck"]
    assert command.main(["sanitizer", *names, "--output", str(tmp_path / "reports")]) == 1
    assert [target_of(arguments)[0] for arguments, _, _ in fake()] == ["G-1", "G-1"]
    found = {row[0]: row[1:3] for row in rows(capsys.readouterr().out)}
    assert found["racecheck"] == ["NOT CLEAN", summary]
    assert found["memcheck"] == ["clean", "0 errors"]


COMMANDS = [("systems", "nsys"), ("compute", "ncu"), ("sanitizer", "compute-sanitizer")]


@pytest.mark.parametrize(("name", "program"), COMMANDS)
def test_a_dry_run_prints_the_command_alone(fake, tmp_path, capsys, name, program):
    assert command.main([name, "G-1", "--dry-run", "--output", str(tmp_path / "reports")]) == 0
    text = capsys.readouterr().out
    assert text.startswith("CUDAKERN_LINEINFO=1 ")
    assert program in shlex.split(text)[1]
    assert "perf nsight target G-1" in text
    assert fake() == []
    assert not (tmp_path / "reports").exists()


def one_sentence(capsys):
    text = capsys.readouterr().err
    assert text.count("\n") == 1
    return text


@pytest.mark.parametrize(("name", "program"), COMMANDS)
def test_an_absent_tool_is_one_sentence(tmp_path, capsys, monkeypatch, name, program):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tools, "glob", lambda _pattern: [])
    assert command.main([name, "G-1", "--output", str(tmp_path)]) == 1
    text = one_sentence(capsys)
    assert text.startswith(f"perf nsight {name}: {program} is not installed: NVIDIA's apt package")
    assert command.main([name, "G-1", "--dry-run"]) == 0
    assert f"CUDAKERN_LINEINFO=1 {program} " in capsys.readouterr().out


@pytest.mark.parametrize("name", [name for name, _ in COMMANDS])
def test_an_unknown_case_is_one_sentence(fake, capsys, name):
    assert command.main([name, "G-1", "G-77"]) == 1
    assert "G-77" in one_sentence(capsys)
    assert fake() == []


def test_the_newest_of_installed_versions_counts(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    for version in ("2025.9.1", "2025.10.2", "2025.2.3"):
        path = tmp_path / "nsight" / version / "nsys"
        path.parent.mkdir(parents=True)
        path.touch(mode=0o755)
    (tmp_path / "nsight" / "2026.1.1").mkdir()
    (tmp_path / "nsight" / "2026.1.1" / "nsys").touch(mode=0o644)
    tool = tools.Tool("nsys", "", (str(tmp_path / "none*" / "nsys"), f"{tmp_path}/nsight/*/nsys"))
    assert tool.find(dry_run=False) == str(tmp_path / "nsight" / "2025.10.2" / "nsys")


def test_target_runs_on_the_simulator(capsys, monkeypatch):
    marked = []

    @contextlib.contextmanager
    def mark(name, payload):
        marked.append((name, payload))
        yield

    monkeypatch.setattr(_nvtx, "marked", mark)
    options = ["--engine", "simulator", "--elements", "4096", "--repeats", "3"]
    assert command.main(["target", "G-1", *options]) == 0
    workloads = [line.workload.shrunk(4096) for line in find(["G-1"])[0].lines]
    assert marked == [(f"G-1 {p.title}", round(p.traffic().total)) for p in workloads]
    assert capsys.readouterr().out.count(": 3 calls of ") == len(workloads)


@pytest.fixture
def gpu(monkeypatch):
    """Have a GPU whose arrays are NumPy's, and two tiny lines; its calls are what is done."""
    cupy = mock.MagicMock(zeros=np.zeros)

    @contextlib.contextmanager
    def mark(name, payload):
        cupy.begin(name, payload)
        yield
        cupy.end()

    def workload(title, moved):
        return SimpleNamespace(
            title=title,
            inputs=lambda xp, _seed: (xp.zeros(1),),
            outputs=lambda xp: (xp.zeros(1),),
            traffic=lambda: SimpleNamespace(total=moved),
            call=lambda _inputs, _outputs: lambda: cupy.work(title),
        )

    lines = [SimpleNamespace(workload=workload(*given)) for given in (("a", 12.0), ("b", 9.6))]
    monkeypatch.setattr(tools, "find", lambda _names: [SimpleNamespace(name="X-1", lines=lines)])
    monkeypatch.setattr(target, "choose", lambda engine: engine)
    monkeypatch.setattr(target, "import_cupy", lambda: cupy)
    monkeypatch.setattr(_nvtx, "marked", mark)
    return cupy


def test_target_profiles_prepared_calls_alone(gpu):
    assert command.main(["target", "X-1", "--repeats", "2"]) == 0
    device, runtime = call.cuda.Device(), call.cuda.runtime
    prepared = [call.work("a"), call.work("b"), device, device.synchronize()]
    first = [call.begin("X-1 a", 12), call.work("a"), call.work("a"), call.end()]
    second = [call.begin("X-1 b", 10), call.work("b"), call.work("b"), call.end()]
    profiled = [runtime.profilerStart(), *first, *second, device.synchronize()]
    assert gpu.mock_calls == [*prepared, *profiled, runtime.profilerStop()]


def test_target_without_pools_turns_them_off_first(gpu):
    assert command.main(["target", "X-1", "--no-pool"]) == 0
    off = [call.cuda.set_allocator(None), call.cuda.set_pinned_memory_allocator(None)]
    assert gpu.mock_calls[:3] == [*off, call.work("a")]


def test_target_out_of_memory_is_one_sentence(gpu, capsys, monkeypatch):
    monkeypatch.setattr(target, "prepare", mock.Mock(side_effect=MemoryError))
    assert command.main(["target", "X-1"]) == 1
    text = capsys.readouterr().err
    assert "name fewer cases" in text
    assert text.count("\n") == 1
    assert not gpu.mock_calls


def test_target_without_a_gpu_is_one_sentence(capsys, monkeypatch):
    absent = mock.Mock(side_effect=target.EngineUnavailableError("no device"))
    monkeypatch.setattr(target, "choose", absent)
    assert command.main(["target", "G-1"]) == 1
    assert capsys.readouterr().err == "perf nsight target: no device\n"
    absent.assert_called_once_with("cuda")


def test_sectors_are_those_of_the_full_size():
    rows_of_64_bytes = GatherWorkload((2**22, 16), 0, (2**22,), "float32", "int32", "random")
    loads, stores = compute.simulated_sectors(rows_of_64_bytes)
    assert loads == pytest.approx(2**22 * (2 + 1 / 8), rel=0.001)
    assert stores == 2**23
    (one_hot,) = find(["O-1"])[0].lines  # its indices are read once, each sector by one warp
    assert compute.simulated_sectors(one_hot.workload) == (2**20 * 8 / 32, 2**20 * 1000 * 4 / 32)


def test_sectors_of_searches_are_scaled(monkeypatch):
    monkeypatch.setattr(compute, "SEARCHED", 2**20)
    few, last = find(["Z-2"])[0].lines[0].workload, find(["Z-4"])[0].lines[-1].workload
    loads, stores = compute.simulated_sectors(few)
    # Reads of x, and for each tile what blocks tell each other; a sector or two for each element.
    assert 2**28 / 32 < loads < 1.1 * 2**28 / 32
    assert few.nonzeros / 8 < stores < few.nonzeros
    assert compute.simulated_sectors(last) is None
