"""Faults of plain launches name their lines, whatever compiler made the code."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawKernel, RawModule, code_lines
from cudakern.simulator.ptx import library
from tests.simulator.test_compilers import FOUND

CODE = """struct Node { Node* next; float value; };
__device__ __noinline__ float called(const float* p, int i) {
  return p[i] * 2;
}
__device__ float inlined(const float* p, int i) {
  return p[i] * 2;
}
extern "C" __global__ void k(float* x, float* y, int which) {
  int t = threadIdx.x;
  if (which == 0) {
    float v = x[t];
    y[0] = v * 3 + 1;
  } else if (which == 1) {
    y[0] = called(x, t);
  } else if (which == 2) {
    y[0] = inlined(x, t);
  } else if (which == 3) {
    float a = y[0];
    for (int i = 0; i < 500000; ++i)
      a += x[i];
    y[1] = a;
  } else if (which == 4) {
    float a = y[0] + 1;
    float b = y[1] * a;
    *(float4*)(x + t) = make_float4(a, b, a, b);
  } else if (which == 5) {
    atomicAdd(x, 1.0f);
  } else if (which == 6) {
    float a = x[0];
    float b = y[0];
    __syncthreads();
    y[1] = a + b;
  } else {
    Node* node = (Node*)&y[2];
    while (node->value == 0)
      node = node->next;
  }
}"""
#: The lines that each fault may have.
LINES = [{11}, {3}, {6}, {20}, {25}, {27}, {29}, {35, 36}]


def fault(function, *arguments):
    with pytest.raises(ck.SimulatorError) as caught:
        function((1,), (32,), arguments)
    return caught.value


@pytest.mark.parametrize("compiler", [name for name, found in FOUND.items() if found])
def test_lines_of_null_pointers(compiler, monkeypatch):
    monkeypatch.setenv("CUDAKERN_CXX", FOUND[compiler])
    function, y = RawKernel(CODE, "k"), np.zeros(64, np.float32)
    for which, lines in enumerate(LINES):
        for x in (None, np.uint64(0x123456789000)):
            error = fault(function, x, y, which)
            assert error.kind == "out_of_bounds"
            assert error.thread == (0, 0, 0)
            place, _, text = error.message.partition(": ")
            assert place.partition(" (")[0] in {f"k.cu:{line}" for line in lines}
            assert text.startswith("memory must be mapped where it is accessed; address ")
            assert ("a null pointer, or near one" in text) == (x is None or which == 7)
            assert (" (called at k.cu:16)" in place) == (which == 2)


def test_lines_of_overruns():
    x, y = np.zeros(64, np.float32), np.zeros(64, np.float32)
    error = fault(RawKernel(CODE, "k"), x, y, 3)
    assert error.message.startswith("k.cu:20: an access must lie inside of an array; it reached ")
    assert error.message.endswith("of the memory of argument 0, which has 256 bytes")


def test_headers_come_behind():
    code = """#include <cub/block/block_load.cuh>
#line 1 "k.cu"
extern "C" __global__ void k(const int* x, int* y) {
  int v[2];
  cub::LoadDirectBlocked(threadIdx.x, x, v);
  y[threadIdx.x] = v[0] + v[1];
}"""
    error = fault(RawKernel(code, "k"), None, np.zeros(32, np.int32))
    assert error.message.startswith("k.cu:3 (in cub/block/block_load.cuh:")


def test_one_of_many_kernels():
    names = [f"k{i}" for i in range(20)]
    lines = [
        f'extern "C" __global__ void {name}(int* x)\n{{ x[threadIdx.x] = 1; }}' for name in names
    ]
    module = RawModule(code="\n".join(lines))
    for i in (0, 7, 19):
        message = fault(module.get_function(names[i]), None).message
        assert message.startswith(f"module.cu:{2 * i + 2}: memory must be mapped")


@pytest.mark.parametrize("reason", ["other code", "no compiler", "no such tables"])
def test_without_a_line(reason, monkeypatch):
    def fails(*_, **__):
        raise error

    function = RawKernel(f"// {reason}\n{CODE}", "k")
    function((1,), (32,), (np.zeros(32, np.float32), np.zeros(64, np.float32), 0))
    error = ck.EngineUnavailableError() if reason == "no compiler" else LookupError()
    if reason == "other code":
        monkeypatch.setattr(code_lines, "same_code", lambda *_: False)
    else:
        where = (library, "_built") if reason == "no compiler" else (code_lines, "line_of")
        monkeypatch.setattr(*where, fails)
    error = fault(function, None, np.zeros(64, np.float32), 0)
    assert error.message.startswith("memory must be mapped where it is accessed; address (nil)")
