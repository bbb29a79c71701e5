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


def functions_of_cupy(cp):
    import cupyx
    from cupy import maximum
    from cupyx import jit

    pair = (cp.cos, cp.sin)

    @jit.rawkernel(device=True)
    def root(v):
        return cp.sqrt(v) + cp.pi

    @jit.rawkernel()
    def kernel(x, y):
        i = jit.grid(1)
        y[i] = root(x[i]) + maximum(x[i], 3) + pair[1](x[i]) + cp.exp(x[0]) + cupyx.rsqrt(x[i])

    x, y = cp.arange(1.0, 33), cp.zeros(32)
    h = x.get()
    kernel[1, 32](x, y)
    wanted = np.sqrt(h) + np.pi + np.maximum(h, 3) + np.sin(h) + np.exp(1) + 1 / np.sqrt(h)
    return y.round(9), wanted.round(9)


def complex_numbers(cp):
    from cupyx import jit

    @jit.rawkernel()
    def kernel(x, y, c):
        i = jit.grid(1)
        y[i] = cp.conj(x[i]) * x[i] + x[i] + c

    x, y = cp.arange(8, dtype="F") + 2j, cp.zeros(8, "D")
    h = x.get()
    kernel[1, 8](x, y, 1 + 3j)
    return y, np.conj(h) * h + h + (1 + 3j)


def shuffles_of_halves(cp):
    from cupyx import jit

    @jit.rawkernel()
    def kernel(x, y, total):
        i = jit.threadIdx.x
        jit.atomic_add(total, 0, x[i])
        y[i] = jit.shfl_xor_sync(0xFFFFFFFF, x[i], 1)

    x, y, total = cp.arange(32, dtype="e"), cp.zeros(32, "e"), cp.zeros(1, "e")
    kernel[1, 32](x, y, total)
    assert total.item() == 31 * 16
    return y, np.arange(32) ^ 1


def waits_of_the_grid(cp):
    from cupyx import jit

    @jit.rawkernel()
    def kernel(x, y):
        grid = jit.cg.this_grid()
        i = jit.grid(1)
        x[i] = i
        grid.sync()
        y[i] = x[i ^ 32]

    x, y = cp.zeros(64), cp.zeros(64)
    kernel[2, 32](x, y)
    return y, np.arange(64) ^ 32


SCRIPTS = (
    saxpy, block_sums, matrices, atomics_and_lanes, functions_of_cupy, complex_numbers,
    shuffles_of_halves, waits_of_the_grid,
)  # fmt: skip


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


def test_thrust_is_refused():
    with ck.simulator.in_place_of_cupy() as cp:
        from cupyx import jit

        @jit.rawkernel()
        def order(x):
            jit.thrust.sort(jit.thrust.seq, x.begin(), x.end())

        with pytest.raises(NotImplementedError, match=r"no cupyx.jit.thrust; NVRTC does not"):
            order((1,), (1,), (cp.zeros(8),))
        with pytest.raises(ImportError, match=r"no cupyx.jit.cg; write: from cupyx.jit import cg"):
            import cupyx.jit.cg  # noqa: F401


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
