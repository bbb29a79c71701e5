"""Which compilers the tables of kernels ran with: an absent one is a test that is skipped."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.places import HOST, Buffer
from tests.simulator.conftest import COMPILERS

CODE = r"""
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int s[64];
  s[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = s[63 - threadIdx.x];
}
"""
FLOAT4 = """
extern "C" __global__ void k(const float4* x, float4* y) { y[threadIdx.x] = x[threadIdx.x]; }
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


def on_8_bytes(dtype):
    """Return an array of 64 elements of 16 bytes that lies 8 bytes behind a multiple of 16."""
    return Buffer(bytes(8 + 64 * 16), HOST).view((64,), dtype, offset=8)


@pytest.mark.usefixtures("each_compiler")
def test_each_finds_vectors_of_16_bytes_on_8():
    x, y = on_8_bytes("c16"), on_8_bytes("c16")
    with pytest.raises(ck.SimulatorError) as caught, ck.simulator.checked():
        ck.simulator.RawKernel(FLOAT4, "k")((1,), (64,), (x.view("f4"), y.view("f4")))
    assert {finding.kind for finding in caught.value.findings} == {"misaligned"}


@pytest.mark.usefixtures("each_compiler")
def test_for_each_complex_numbers_may_lie_on_8_bytes():
    x, out = on_8_bytes("c16").reshape(4, 16)[:, ::2], on_8_bytes("c16")[:8]
    x[...] = np.arange(32).reshape(4, 8) * (1 - 2j)
    with ck.simulator.checked():
        ck.reduce(x, "sum", 0, out=out)
    np.testing.assert_array_equal(out, x.sum(0))
