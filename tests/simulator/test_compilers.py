"""Which compilers the tables of kernels ran with: an absent one is a test that is skipped."""

from __future__ import annotations

import pytest

import cudakern as ck
from tests.simulator.conftest import COMPILERS

CODE = r"""
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int s[64];
  s[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = s[63 - threadIdx.x];
}
"""


@pytest.mark.parametrize("name", ["g++", "clang++", "ziglang"])
def test_each_finds_a_missing_barrier(name, monkeypatch):
    if name not in COMPILERS:
        pytest.skip(f"{name} is not installed")
    monkeypatch.setenv("CUDAKERN_CXX", COMPILERS[name])
    x, y = ck.simulator.empty(64, "i4"), ck.simulator.empty(64, "i4")
    x[:] = range(64)
    with pytest.raises(ck.SimulatorError) as caught, ck.simulator.checked(seed=3):
        ck.simulator.RawKernel(CODE, "k")((1,), (64,), (x, y))
    places = {(finding.kind, finding.source) for finding in caught.value.findings}
    assert {kind for kind, _ in places} <= {"race", "uninitialized"}
    assert {source for kind, source in places if kind == "race"} <= {("k.cu", 4), ("k.cu", 5)}
