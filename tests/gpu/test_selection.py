"""``-m gpu`` on a machine with a GPU and few packages: all tests on it are found, and no other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: What neither the CUDA engine nor a test on a GPU needs.
ABSENT = {
    "build", "cuda_cccl", "dask", "hatchling", "jinja2", "matplotlib", "ncu_report",
    "nvtx", "onnxruntime", "pynvml", "ziglang",
}  # fmt: skip
MACHINE = f"""
from importlib.machinery import PathFinder
from cudakern.engines import cuda

cuda.device_count = lambda: 1
find = PathFinder.find_spec
PathFinder.find_spec = classmethod(
    lambda cls, name, *more: None if name.split(".")[0] in {ABSENT} else find(name, *more)
)
"""
#: Some that have no place.
MARKED = {
    "test_a_gpu_is_used",
    "test_cupy_passes_addresses",
    "test_mixed_places_are_named",
    "test_nothing_waits_for_the_gpu",
}


def collect(folder, *options):
    """Return the tests that are found on such a machine."""
    (folder / "such_a_machine.py").write_text(MACHINE, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "such_a_machine", "-p", "no:cacheprovider"]
    result = subprocess.run(
        [*command, "--collect-only", "-q", *options],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(folder), "CUDAKERN_REQUIRE_GPU": "0"},
    )
    assert result.returncode == 0, result.stdout[-5000:]
    return [line for line in result.stdout.splitlines() if "::" in line and " " not in line[:20]]


def test_all_tests_on_a_gpu_are_found_and_no_other(tmp_path):
    found = collect(tmp_path, "-m", "gpu")
    named = [re.search(r"::(\w+)(?:\[(.*)\])?$", line).groups() for line in found]
    placed = [name for name, given in named if given and "cuda" in given.split("-")]
    assert len(placed) > 2300
    assert {name for name, _ in named} - set(placed) >= MARKED
    assert not any(given and "host" in given.split("-") for _, given in named)


def test_no_other_test_is_on_a_gpu(tmp_path):
    folder = ROOT / "tests" / "operators"
    others = collect(tmp_path, "-m", "not gpu", str(folder / "test_nonzero_columns.py"))
    assert others
    assert not any("cuda" in line for line in others)
