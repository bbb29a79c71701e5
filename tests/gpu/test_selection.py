"""On a machine with a GPU and few packages, all tests on it are marked for it, and no other."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from tests.helpers.readmes import ROOT
from tests.helpers.samples import is_thorough

#: What neither the CUDA engine nor a test on a GPU needs.
ABSENT = {
    "build", "cuda_cccl", "dask", "hatchling", "jinja2",
    "nvtx", "onnxruntime", "pynvml", "ziglang",
}  # fmt: skip
MACHINE = f"""
from importlib.machinery import PathFinder
from cudakern.engines.cuda import library

library.device_count = lambda: 1
find = PathFinder.find_spec
PathFinder.find_spec = classmethod(
    lambda cls, name, *more: None if name.split(".")[0] in {ABSENT} else find(name, *more)
)

def pytest_collection_finish(session):
    for item in session.items:
        print("FOUND", item.get_closest_marker("gpu") is not None, item.nodeid)
"""
#: Files with tests on a GPU that have no place, and others.
ENGINE = "tests/engines/cuda"
MARKED = ["tests/test_gpu_present.py", f"{ENGINE}/test_loans.py", f"{ENGINE}/test_graphs.py"]
FEW = [*MARKED, "tests/operators/gather", "tests/gpu"]


def test_tests_on_a_gpu_are_marked_and_no_other(tmp_path):
    (tmp_path / "such_a_machine.py").write_text(MACHINE, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "such_a_machine", "-p", "no:cacheprovider"]
    result = subprocess.run(
        [*command, "--collect-only", "-qq", *(["--thorough"] if is_thorough() else FEW)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(tmp_path), "CUDAKERN_REQUIRE_GPU": "0"},
    )
    assert result.returncode == 0, result.stdout[-5000:]
    found = re.findall(
        r"FOUND (True|False) (\S+?)::[^[\n]+(?:\[(.*)\])?$", result.stdout, re.MULTILINE
    )
    marked = [(file, given.split("-")) for gpu, file, given in found if gpu == "True"]
    assert sum("cuda" in given for _, given in marked) > (200 if is_thorough() else 10)
    assert {file for file, given in marked if "cuda" not in given} >= {*MARKED}
    assert not any("host" in given for _, given in marked)
    others = [given.split("-") for gpu, *_, given in found if gpu == "False"]
    assert len(others) > len(marked)
    assert not any("cuda" in given for given in others)
