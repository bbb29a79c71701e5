"""Correct kernels compute what NumPy says, plain and checked, and the checker finds nothing."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import cudakern as ck
from tests.simulator.correct_kernels import CORRECT

EACH = pytest.mark.parametrize("correct", CORRECT, ids=str)
#: What every compiler gets; the first one that is found gets all.
SAMPLE = CORRECT[::3]


def launch(correct, seed) -> None:
    """Run a kernel once and compare what it wrote."""
    arguments = correct.inputs(np.random.default_rng(seed))
    expected = correct.expected(*copy.deepcopy(arguments))
    kernel = ck.simulator.RawKernel(correct.code, correct.kernel)
    kernel(correct.grid, correct.block, arguments, shared_mem=correct.shared_mem)
    for position, wanted in expected.items():
        if correct.rtol:
            np.testing.assert_allclose(arguments[position], wanted, rtol=correct.rtol)
        else:
            np.testing.assert_array_equal(arguments[position], wanted)


def test_names_are_distinct():
    assert len({correct.name for correct in CORRECT}) == len(CORRECT)


@EACH
def test_result(correct):
    launch(correct, 0)


@EACH
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_found(correct, seed):
    with ck.simulator.checked(seed=seed) as report:
        launch(correct, seed)
    assert list(report.findings) == []


@pytest.mark.usefixtures("each_compiler")
@pytest.mark.parametrize("correct", SAMPLE, ids=str)
def test_each_compiler_serves(correct):
    launch(correct, 0)
    with ck.simulator.checked() as report:
        launch(correct, 0)
    assert list(report.findings) == []


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
