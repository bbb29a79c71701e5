"""The command line: demo, info, messages about wrong arguments and after Ctrl-C."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from cudakern import __version__
from cudakern.__main__ import COMMANDS, main
from cudakern._commands import demo, info
from cudakern.compilation import nvrtc
from cudakern.errors import EngineUnavailableError
from cudakern.operators.operator import examples
from tests.conftest import HAS_GPU
from tests.helpers.processes import printed
from tests.helpers.readmes import section
from tests.helpers.rows import each

ROOT = Path(__file__).parent.parent
ALL = [*examples()]
ALL_EXAMPLES = f"{len(ALL)} of {len(ALL)} examples"


def test_demo_runs_every_documented_example(capsys):
    assert main(["demo"]) == 0
    text = capsys.readouterr().out
    assert f"{ALL_EXAMPLES} equal the documented results" in text
    assert text.count("verdict: equal to the documented result") == len(ALL)
    assert "as printed: gather: input_tensor.sizes must be 1 in the first 1 dimensions" in text
    assert "as printed: gather_nd: indices_tensor.sizes must be 1 to 2 in the last" in text
    assert "argmin, example 3: axes=(0, 1), axis_direction=INCREASING" in text
    assert ("a CUDA device" if HAS_GPU else "the simulator") in text


@each(("output", "row", "correct"), [(1, 4, True), (1, 3, False), (0, 0, False)])
def test_demo_compares_what_is_defined_of_each_output(capsys, monkeypatch, output, row, correct):
    (example,) = [e for e in examples() if e.title == "nonzero_coordinates, example 1"]
    count, coordinates = example.expected
    results = count.copy(), np.pad(coordinates, [(0, 0), (0, 0), (0, 4), (0, 0)])
    results[output][0, 0, row] = 77
    monkeypatch.setattr(demo, "examples", lambda: (example,))
    monkeypatch.setattr(demo, "compile_operator", lambda _desc: lambda _x: results)
    assert main(["demo", "--engine", "simulator"]) == (0 if correct else 1)
    text = capsys.readouterr().out
    assert "output_count_tensor" in text
    assert "output_coordinates_tensor" in text
    assert ("77" in text) is not correct
    assert f"{correct:d} of 1 examples" in text


def test_info_shows_what_is_there(capsys):
    assert main(["info"]) == 0
    text = capsys.readouterr().out
    for name in ("cuda.available", "simulator.compiler", "simulator.architecture", "kernels"):
        assert name in text
    assert nvrtc.version() in text
    assert "libnvrtc.so" in text
    page = section("cudakern/operators/reference.md", "## Environment")
    variables = set(re.findall(r"`(CUDAKERN_\w+)`", page))
    assert len(variables) >= 6
    assert all(f"  environment.{name} " in text for name in variables)


@each(
    ("variable", "value", "reason"),
    [
        ("CUDAKERN_ARCH", "sm", "cudakern: CUDAKERN_ARCH must be an architecture such as 90, "),
        ("CUDAKERN_CXX", "no-compiler", "cudakern: CUDAKERN_CXX must name a C++ compiler; "),
        (None, "", "cudakern: NVRTC must be installed to compile kernels; "),
    ],
)
def test_info_says_why_the_simulator_cannot_run(capsys, monkeypatch, variable, value, reason):
    def absent():
        raise EngineUnavailableError(reason)

    with monkeypatch.context() as patch:
        if variable is None:
            patch.setattr(nvrtc, "library_path", absent)
        else:
            patch.setenv(variable, value)
        assert main(["info", "--json"]) == 0
    simulator = json.loads(capsys.readouterr().out)["simulator"]
    assert not simulator["available"]
    assert simulator["reason"].startswith(reason)


USED = [
    *("cuda-bindings", "cuda-toolkit", "cudakern", "cupy", "cupy-cuda12x", "cupy-cuda13x", "dask"),
    *("jax", "jinja2", "ml-dtypes", "numba", "numpy", "nvtx", "rich", "torch", "ziglang"),
]


@each("quote", ["'", '"'])
def test_info_names_what_the_package_uses_and_no_tools_of_its_developers(
    capsys, monkeypatch, quote
):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = project["dependencies"] + [
        f"{line}; extra == {quote}{extra}{quote}"
        for extra, brought in project["optional-dependencies"].items()
        for line in brought
    ]
    monkeypatch.setattr(metadata, "requires", {"cudakern": lines}.get)  # from this pyproject.toml
    assert main(["info", "--json"]) == 0
    packages = json.loads(capsys.readouterr().out)["packages"]
    assert {"numpy", "cuda-bindings", "cupy", "dask", "ziglang"} <= packages.keys()
    assert not {"pytest", "ruff", "mypy"} & packages.keys()
    assert main(["info"]) == 0
    text = capsys.readouterr().out
    assert re.search(rf"^  packages\.numpy +{re.escape(np.__version__)}$", text, re.MULTILINE)
    assert re.findall(r"^  packages\.(\S+) ", text, re.MULTILINE) == [*packages]


@each("checkout", [True, False])
def test_info_where_cudakern_is_not_installed(capsys, monkeypatch, tmp_path, checkout):
    version = metadata.version

    def absent(name):
        if name == "cudakern":
            raise metadata.PackageNotFoundError(name)
        return version(name)

    with monkeypatch.context() as patch:
        patch.setattr(info, "_CHECKOUT", ROOT if checkout else tmp_path)
        patch.setattr(metadata, "requires", absent)
        patch.setattr(metadata, "version", absent)
        assert main(["info", "--json"]) == 0
    information = json.loads(capsys.readouterr().out)
    assert information["cudakern"] == __version__
    packages = information["packages"]
    assert packages["cudakern"] == "not installed"
    assert packages["numpy"] == np.__version__
    assert ("ziglang" in packages) is checkout


def test_info_json_is_one_object(capsys):
    status = main(["info", "--json", "--check"])
    information = json.loads(capsys.readouterr().out)
    assert information["cuda"]["available"] is HAS_GPU
    assert information["simulator"]["available"] is True
    assert status == (0 if HAS_GPU else 1)
    assert (information["check"] == "passed") is HAS_GPU
    assert "\n" not in information["check"]


@pytest.mark.skipif(HAS_GPU, reason="a CUDA device is there")
def test_cuda_asked_for_and_absent_is_one_line(capsys):
    assert main(["demo", "--engine", "cuda"]) == 1
    text = capsys.readouterr().err
    assert text.startswith("cudakern: ")
    assert text.count("\n") == 1


def run(command, *, few=False, **options):
    """Run a command where rich is not installed, in a process of its own."""
    code = """
import sys
sys.modules["rich"] = None
from cudakern.__main__ import COMMANDS, main
from cudakern._commands import warmup
few = [*warmup.kernels(everything=False)]
few = few[:: len(few) // 5][:5]
if FEW: warmup.kernels = lambda everything: few
sys.exit(main(sys.argv[1:]))
"""
    words = [sys.executable, "-c", code.replace("FEW", str(few)), *command.split()]
    options |= {"stderr": subprocess.PIPE, "text": True, "cwd": ROOT}
    buffered = {**os.environ, "PYTHONUNBUFFERED": ""}
    return subprocess.run(words, check=False, env=buffered, **options)


@each(
    ("command", "text"),
    [
        ("demo --engine simulator", f"{ALL_EXAMPLES} equal the documented results\n"),
        ("info", f"  cudakern                                {__version__}\n"),
        ("warmup --arch sm_90", "5 kernels are compiled and cached for sm_90\n"),
    ],
)
def test_commands_without_rich(command, text):
    result = run(command, few=True, stdout=subprocess.PIPE)
    assert (result.returncode, result.stderr) == (0, "")
    assert text in result.stdout
    assert result.stdout.isascii()


@each("command", ["info", "demo --engine simulator"])
def test_a_reader_that_has_ended(command):
    read, write = os.pipe()
    os.close(read)
    result = run(command, stdout=write)
    os.close(write)
    assert (result.returncode, result.stderr) == (1, "")


WRONG = {
    "": "error: the following arguments are required: check|demo|info|warmup|clear-cache",
    "heat-up": "python -m cudakern: error: argument check|demo|info|warmup|clear-cache: invalid",
    "demo --engine gpu": "python -m cudakern demo: error: argument --engine: invalid choice: 'gpu'",
    "warmup --jobs 0": "argument --jobs: must be an integer of at least 1; got '0'",
    "warmup --jobs -1": "argument --jobs: must be an integer of at least 1; got '-1'",
    "warmup --jobs all": "argument --jobs: must be an integer of at least 1; got 'all'",
    "warmup --arch": "error: argument --arch: expected at least one argument",
    "check --seeds a,b script.py": "argument --seeds: must be integers of at least 0, separated by",
}


@each("words", WRONG)
def test_wrong_arguments_are_one_line(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    out, said = capsys.readouterr()
    assert (ended.value.code, out, said.count("\n")) == (2, "", 1)
    assert WRONG[words] in said


def interrupted(*_):
    raise KeyboardInterrupt


@each("command", COMMANDS)
def test_ctrl_c_ends_a_command_with_one_line(command, capsys, monkeypatch):
    name = f"cudakern._commands.{command.replace('-', '_')}"
    monkeypatch.setattr(importlib.import_module(name), "run", interrupted)
    assert main([command, *["script.py"] * (command == "check")]) == 130
    assert capsys.readouterr() == ("", f"cudakern {command}: stopped\n")


#: Runs a command with SIGCHLD ignored, which programs inherit.
IGNORING = """
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.executable, [sys.executable, "-m", "cudakern", *sys.argv[1:]])
"""


def test_a_script_is_checked_where_the_ends_of_processes_are_ignored(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import cudakern as ck; ck.gather([1, 2], [0])")
    said = "cudakern: nothing found in 1 launch\n"
    assert printed(IGNORING, "check", str(script)) == said
