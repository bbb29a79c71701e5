"""Kernels in Python, which CuPy's own translator makes CUDA C++ of."""

# ruff: noqa: PLC0415  the modules are there inside of the block alone

from __future__ import annotations

import sys
from contextlib import nullcontext

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.processes import printed
from tests.helpers.rows import each

pytest.importorskip("cupy", reason="CuPy is not installed")


def saxpy(cp):
    from cupyx import jit

    @jit.rawkernel()
    def kernel(a, x, y, n):
        i = jit.grid(1)
        if i < n:
            y[i] += a * x[i]

    x, y = cp.arange(100, dtype=cp.float32), cp.ones(100, cp.float32)
    kernel[4, 32](cp.float32(2), x, y, x.size)
    return y, 1 + 2 * np.arange(100, dtype="f4")


def block_sums(cp):
    from cupyx import jit

    @jit.rawkernel()
    def kernel(x, y):
        t = jit.threadIdx.x
        shared = jit.shared_memory(cp.float64, 64)
        shared[t] = x[jit.blockIdx.x * jit.blockDim.x + t]
        jit.syncthreads()
        if t == 0:
            total = cp.float64(0)
            for i in range(jit.blockDim.x):
                total += shared[i]
            y[jit.blockIdx.x] = total

    x, y = cp.arange(192.0), cp.zeros(3)
    kernel((3,), (64,), (x, y))
    return y, np.arange(192.0).reshape(3, 64).sum(1)


def matrices(cp):
    from cupyx import jit

    @jit.rawkernel()
    def transpose(x, y):
        i, j = jit.grid(2)
        if i < x.shape[0] and j < x.shape[1]:
            y[j, i] = x[i, j] * len(x)

    x = cp.arange(24, dtype=cp.int32).reshape(4, 6)[:, ::2]
    y = cp.zeros((3, 4), cp.int32)
    transpose((1, 1), (8, 8), (x, y))
    return y, 4 * np.arange(24, dtype="i4").reshape(4, 6)[:, ::2].T


def atomics_and_lanes(cp):
    from cupyx import jit

    @jit.rawkernel()
    def count(x, y):
        for i in range(jit.threadIdx.x, x.size, jit.blockDim.x):
            jit.atomic_add(y, x[i], 1)
        lane = jit.laneid()
        jit.atomic_max(y, 3, lane)

    x, y = cp.asarray(np.arange(90) % 3), cp.zeros(4, cp.int32)
    count((1,), (32,), (x, y))
    return y, np.array([30, 30, 30, 31])


SCRIPTS = (saxpy, block_sums, matrices, atomics_and_lanes)


@each("observed", [nullcontext, ck.simulator.checked])
@each("script", SCRIPTS, ids=lambda script: script.__name__)
def test_kernels(script, observed):
    before = sys.modules.get("cupy")
    with ck.simulator.in_place_of_cupy() as cp, observed():
        got, wanted = script(cp)
        assert sys.modules["cupy"] is cp
        np.testing.assert_array_equal(got.get(), wanted)
    assert sys.modules.get("cupy") is before


def test_faults_are_found():
    with ck.simulator.in_place_of_cupy() as cp:
        from cupyx import jit

        @jit.rawkernel()
        def shift(x, y):
            i = jit.grid(1)
            y[i] = x[i + 1]

        with pytest.raises(ck.SimulatorError, match="element 8 of arg"), ck.simulator.checked():
            shift((1,), (8,), (cp.zeros(8), cp.zeros(8)))
        assert "shift" in shift.cached_code


def test_without_cupy():
    program = """
import importlib.machinery
found = importlib.machinery.PathFinder.find_spec
importlib.machinery.PathFinder.find_spec = lambda name, *more: (
    None if name.startswith("cupy") else found(name, *more))
from cudakern.simulator import in_place_of_cupy
with in_place_of_cupy():
    try: from cupyx import jit
    except ImportError as error: print(error)"""
    assert "in_place_of_cupy has no cupyx.jit; write the kernel as CUDA C++" in printed(program)
