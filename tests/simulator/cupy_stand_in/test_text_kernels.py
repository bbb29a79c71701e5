"""The user's text in an ElementwiseKernel or a ReductionKernel is told from what is around it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.rows import each

PREAMBLE = """template <typename A>
__device__ A twice(A a) { return a + a; }"""
SHIFTED = """
  T next = x[i + 1];
  y = twice(next);
"""
MAPPED = "x * weights[7 + x]"
HERE = Path(__file__)


def own_line(text):
    """Return the line of this file that has a text first."""
    return HERE.read_text(encoding="utf-8").partition(text)[0].count("\n") + 1


def launch_shifted(cp, dtype=np.float32):
    kernel = cp.ElementwiseKernel("raw T x", "T y", SHIFTED, "shifted", preamble=PREAMBLE)
    kernel(cp.zeros(8, dtype), cp.zeros(8, dtype))


def test_lines_are_those_of_the_user(cp):
    with pytest.raises(ck.SimulatorError) as caught, ck.simulator.checked() as report:
        launch_shifted(cp)
    (finding,) = caught.value.findings
    assert (finding.source, finding.code) == (("shifted.cu", 4), "  T next = x[i + 1];")
    assert finding.origin == (str(HERE), own_line("T next"))
    assert report.sources[finding.library, "shifted.cu"] == f"{PREAMBLE}\n{SHIFTED}"
    mapped = cp.ReductionKernel("T x, raw T weights", "T y", MAPPED, "a + b", "y = a", "0", "s")
    with pytest.raises(ck.SimulatorError) as caught, ck.simulator.checked() as report:
        mapped(cp.ones(8, np.int32), cp.ones(8, np.int32))
    first, *_ = caught.value.findings
    assert first.code == MAPPED
    assert first.origin == (str(HERE), own_line("x * weights"))
    assert report.sources[first.library, "s.cu"] == f"a + b\n{MAPPED}\ny = a"


def test_traffic_of_the_text_around_is_not_of_the_users_lines(cp):
    total = cp.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    with ck.simulator.traffic() as report:
        total(cp.ones(200, np.float32))
    (kernel,) = report.kernels
    places = {line.kind: line.source[0] for line in kernel.lines}
    assert places == {
        "load": "total.cu",
        "store": "total.cu",
        "shared load": "cupy.ReductionKernel",
        "shared store": "cupy.ReductionKernel",
    }
    assert {file for file, _ in kernel.executed} == {"total.cu"}
    assert {file for _, file in report.sources} == {"total.cu"}
    code = total.cached_code.split("\n")
    for line in kernel.lines:
        if line.source[0] == "cupy.ReductionKernel":
            assert code[line.source[1] - 1].strip()
            assert "_own" in code[line.source[1] - 1] or "_partial" in code[line.source[1] - 1]


@each(
    "operation, options, error",
    [
        ("y = x +\n  twice(z)", {"preamble": PREAMBLE}, r"scaled\.cu\(4\): error"),
        ("y = x", {"loop_prep": "int k = x_;"}, r"scaled\.cu\(1\): error"),
        ("y = x // last", {"after_loop": "\nint k = x_;"}, r"scaled\.cu\(3\): error"),
    ],
)
def test_errors_of_compilers_have_the_users_lines(operation, options, error):
    with ck.simulator.in_place_of_cupy() as cp:
        kernel = cp.ElementwiseKernel("T x", "T y", operation, "scaled", **options)
        with pytest.raises(ck.KernelCompileError, match=error):
            kernel(cp.ones(8))
