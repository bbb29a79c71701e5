"""Correct kernels compute what NumPy computes, plain and checked, and have no findings."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.rows import each
from tests.helpers.samples import sample
from tests.simulator.checker import answers, correct_fences, correct_matrices
from tests.simulator.checker.headers import OPTIONS, lacking, present
from tests.simulator.checker.tables import INCLUDE, Modules, correct_rows, launch, require_result

CORRECT = (*correct_rows(vars(answers)), *correct_fences.ROWS, *correct_matrices.ROWS)
MODULES = Modules(CORRECT, OPTIONS)

#: Rows that share a text: compiling all of them takes as long as compiling one.
TOGETHER = [row for row in CORRECT if not row.alone and not INCLUDE.search(row.code)]
APART = [row for row in CORRECT if row not in TOGETHER]


@each(
    "correct",
    [*present(TOGETHER), *sample(present(APART), 4, 1)],
    ids=lambda correct: correct.name,
)
def test_result_and_nothing_found(correct):
    kernel = MODULES.kernel(correct)
    require_result(kernel, correct, 0)
    for seed in sample(range(3), 3):
        with ck.simulator.checked(seed=seed) as report:
            require_result(kernel, correct, seed)
        assert report.launches == 1
    with ck.simulator.checked(seed=3, strict=True) as report:
        launch(kernel, correct, 3)
        findings, report.findings = report.findings, []
    assert bool(findings) != correct.strict
    assert all("which only strict reports" in finding.message for finding in findings)


def test_every_header_is_there():
    if missing := sorted(set().union(*map(lacking, APART))):
        pytest.skip(f"{', '.join(missing)}: not installed")


def test_launches_are_ordered():
    code = r"""
extern "C" __global__ void k(const int* x, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = x[n - 1 - i] + 1;
}
"""
    kernel = ck.simulator.RawKernel(code, "k")
    a, b = np.arange(128, dtype=np.int32), ck.simulator.empty(128, np.int32)
    with ck.simulator.checked():
        for _ in range(3):
            kernel((2,), (64,), (a, b, np.int32(128)))
            kernel((2,), (64,), (b, a, np.int32(128)))
    np.testing.assert_array_equal(a, np.arange(6, 134))
