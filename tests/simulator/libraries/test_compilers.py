"""Kernels have the same results and the same findings with every C++ compiler."""

from __future__ import annotations

import importlib.util
import shutil
from dataclasses import replace

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.samples import is_thorough
from tests.helpers.simulated import ZIGLANG
from tests.simulator.checker.tables import Broken, Modules
from tests.simulator.checker.test_broken_kernels import BROKEN
from tests.simulator.checker.test_correct_kernels import CORRECT

FOUND = {
    "g++": shutil.which("g++"),
    "clang++": shutil.which("clang++"),
    "ziglang": importlib.util.find_spec("ziglang") and ZIGLANG,
}
#: One of this many rows is run.
STEP = 20 if is_thorough() else 80
ALL = (row for row in (*BROKEN, *CORRECT) if "#include" not in row.code and not row.alone)
SAMPLE = tuple(ALL)[::STEP]


def outcomes():
    """Run a sample of rows; return what each wrote, and its findings."""
    modules = Modules(SAMPLE)
    outcome = {}
    for row in SAMPLE:
        broken = isinstance(row, Broken)
        arguments = row.arguments() if broken else row.inputs(np.random.default_rng(0))
        with ck.simulator.checked(3, strict=True) as report:
            modules.kernel(row)(row.grid, row.block, arguments, shared_mem=row.shared_mem)
            # Each compiler's library has another name.
            findings, report.findings = [replace(f, library="") for f in report.findings], []
        outcome[row.name] = findings, [np.asarray(value).tobytes() for value in arguments]
    return outcome


@pytest.fixture(scope="module")
def expected():
    """Return the outcomes of the sample with the default compiler."""
    return outcomes()


@pytest.mark.parametrize("name", [*FOUND][not is_thorough() :])  # c++ is often g++
def test_each_makes_the_same(name, expected, monkeypatch):
    if not FOUND[name]:
        pytest.skip(f"{name} is not installed")
    monkeypatch.setenv("CUDAKERN_CXX", FOUND[name])
    assert outcomes() == expected
    assert {bool(findings) for findings, _ in expected.values()} == {True, False}
