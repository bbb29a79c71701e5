"""Names that public programs take from CuPy's other modules, in scripts in their manner."""

# ruff: noqa: PLC0415  the modules are there inside of the block alone

from __future__ import annotations

import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.processes import printed
from tests.helpers.rows import each

SCALE = """
template <typename T> __global__ void scale(T* x, T by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}"""


def memoized_templates(cp):
    """A factory of kernels, by types, as in many a library."""
    from cupy import _util
    from cupy._core._scalar import get_typename

    made = []

    @_util.memoize(for_each_device=True)
    def kernel(dtype):
        made.append(dtype)
        name = f"scale<{get_typename(dtype)}>"
        return cp.RawModule(code=SCALE, name_expressions=[name]).get_function(name)

    for dtype in ("f4", "f8", "i8", "f4"):
        x = cp.arange(5, dtype=dtype)
        kernel(x.dtype)((1,), (32,), (x, x.dtype.type(3), cp.int32(5)))
        assert x.tolist() == [0, 3, 6, 9, 12]
    assert made == [np.float32, np.float64, np.int64]


def kernels_of_the_core(cp):
    from cupy import _core
    from cupy._core import core, internal

    square = _core.ElementwiseKernel("T x", "T y", "y = x * x", "square")
    total = _core.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    x: core.ndarray = cp.arange(1.0, 4)
    assert isinstance(square(x), core.ndarray)
    assert (square(x).tolist(), total(x).item()) == ([1, 4, 9], 6)
    assert (internal.prod((2, 3)), internal.clp2(5), internal.clp2(8)) == (6, 8, 8)


def a_timed_kernel(cp):
    from cupyx.time import repeat

    times = repeat(cp.sqrt, (cp.arange(9.0),), n_repeat=2, n_warmup=1)
    assert times.gpu_times.shape == (1, 2)


def a_stream_of_another_library(cp):
    class Stream:
        def __cuda_stream__(self):
            return 0, 77

    x = cp.zeros(3, cp.int32)
    fill = cp.ElementwiseKernel("", "int32 x", "x = i + 1", "fill")
    with cp.cuda.Stream.from_external(Stream()) as stream:
        fill(x)
    stream.synchronize()
    assert x.tolist() == [1, 2, 3]


def pinned_memory(cp):
    memory = cp.cuda.PinnedMemory(16)
    cp.cuda.runtime.memcpy(memory.ptr, cp.arange(4, dtype=cp.int32).data.ptr, 16, 2)
    assert memory.size == 16
    pointer = cp.cuda.PinnedMemoryPointer(memory, 0) + 8
    assert (int(pointer), (pointer - 8).ptr, pointer.size()) == (memory.ptr + 8, memory.ptr, 8)
    assert np.frombuffer(pointer, np.int32).tolist() == [2, 3]
    np.frombuffer(pointer, np.int32)[:] = 7
    x = cp.zeros(4, cp.int32)
    x.data.copy_from_host(memory.ptr, 16)
    assert x.tolist() == [0, 1, 7, 7]
    with pytest.raises(ValueError, match=r"must lie in \[0, 16\]; got 24"):
        pointer + 16


def plans_and_facts(cp):
    import cupyx

    cp.fft.config.get_plan_cache().clear()
    cp.fft.config.enable_nd_planning = True
    with cupyx.errstate(linalg="raise"):
        assert cupyx.geterr()["linalg"] == "raise"
    assert cupyx.geterr() == {**cupyx.seterr(linalg=None), "linalg": "ignore"}
    assert cp.cuda.get_cuda_path() is None
    assert "stand-in" in str(cupyx.get_runtime_info(full=True))
    assert cp.testing.shaped_arange((2, 2), dtype=bool).tolist() == [[False, True], [False, True]]


SCRIPTS = (
    memoized_templates, kernels_of_the_core, a_timed_kernel, a_stream_of_another_library,
    pinned_memory, plans_and_facts,
)  # fmt: skip


@each("observed", [nullcontext, ck.simulator.checked])
@each("script", SCRIPTS, ids=lambda script: script.__name__)
def test_scripts(script, observed):
    with ck.simulator.in_place_of_cupy() as cp, observed():
        script(cp)


ARRAYS = """
import sys
import numpy as np
for shape, dtype in (((3,), "f4"), ((2, 3), "c16"), ((4,), "?"), ((0, 2), "i8")):
    for name in ("shaped_arange", "shaped_reverse_arange", "shaped_random"):
        print(getattr(testing, name)(shape, np, dtype).tobytes())
"""


def test_arrays_of_cupy_testing():
    pytest.importorskip("cupy", reason="CuPy is not installed")
    mine = "from cudakern.simulator.cupy_stand_in import testing"
    assert printed(mine + ARRAYS) == printed("from cupy import testing" + ARRAYS)


TESTS = """
import unittest
import numpy
import pytest
from cupy import testing


@testing.parameterize(*testing.product({"shape": [(3,), (2, 2)], "axis": [0, -1]}))
class TestSum:
    @testing.for_float_dtypes(no_float16=True)
    @testing.numpy_cupy_allclose(rtol=1e-5)
    def test_passes(self, xp, dtype):
        return testing.shaped_random(self.shape, xp, dtype).sum(axis=self.axis)

    @testing.for_all_dtypes(no_bool=True, no_complex=True)
    @testing.for_CF_orders()
    @testing.numpy_cupy_array_equal()
    def test_orders_pass(self, xp, dtype, order):
        return testing.shaped_arange(self.shape, xp, dtype, order).T


class TestMore(unittest.TestCase):
    @testing.for_int_dtypes_combination(("a", "b"))
    def test_combinations_pass(self, a, b):
        assert numpy.dtype(a).kind in "iub" and numpy.dtype(b).kind in "iub"

    @testing.numpy_cupy_raises()
    def test_error_passes(self, xp):
        xp.zeros(3).reshape(2, 2)

    @testing.with_requires("numpy>=100")
    def test_skips(self):
        assert False

    @testing.numpy_cupy_array_equal()
    def test_difference_fails(self, xp):
        return xp.zeros(2) + (xp is numpy)

    @testing.numpy_cupy_equal()
    def test_error_fails(self, xp):
        if xp is numpy:
            raise ValueError
        return 3

    @testing.for_dtypes("fd")
    def test_dtype_fails(self, dtype):
        assert dtype is not numpy.float64


@testing.numpy_cupy_allclose(type_check=False, rtol={numpy.float32: 1e-2, "default": 1e-9})
def test_tolerance_passes(xp):
    return xp.ones(3, "f4") + (1e-3 if xp is numpy else 0)
"""


def test_tests_written_with_cupy_testing(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--cudakern-cupy", "-v"]
    ran = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100
    )
    ends = [line.split() for line in ran.stdout.split("\n") if "::" in line and "%]" in line]
    wanted = {"skips": "SKIPPED", "pass": "PASSED", "fails": "FAILED"}
    wrong = [row for row in ends if not any(k in row[0] and row[1] == v for k, v in wanted.items())]
    assert (len(ends), wrong) == (15, []), ran.stdout
