"""Names that public programs take from CuPy's other modules, in scripts in their manner."""

# ruff: noqa: PLC0415  the modules are there inside of the block alone

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

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
    print(testing.shaped_linspace(-2, 7, shape, np, dtype).tobytes())
print(testing.shaped_linspace(-2, 7, (4,), np, "B"))
print(testing.product({"b": [1, 2], "a": "xy"}))
"""


def test_arrays_of_cupy_testing():
    pytest.importorskip("cupy", reason="CuPy is not installed")
    mine = "from cudakern.simulator.cupy_stand_in import testing"
    assert printed(mine + ARRAYS) == printed("from cupy import testing" + ARRAYS)


TESTS = """
import random
import unittest
import warnings
from importlib import util
import numpy
import pytest
from cupy import testing

warnings.simplefilter("ignore", DeprecationWarning)


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


@testing.parameterize({"size": 1, "f": lambda x: x + 1}, {"size": 2, "f": abs})
class TestCases(unittest.TestCase):
    @testing.numpy_cupy_array_equal()
    def test_case_passes(self, xp):
        return self.f(xp.ones(self.size))

    def test_case_fails(self):
        assert self.size == 3


class TestMore(unittest.TestCase):
    @testing.for_int_dtypes_combination(("a", "b"))
    def test_combinations_pass(self, a, b):
        assert numpy.dtype(a).kind in "iub" and numpy.dtype(b).kind in "iub"

    @testing.for_int_dtypes_combination(("a", "b"))
    def test_mixed_combinations_fail(self, a, b):
        assert a is b

    @testing.numpy_cupy_raises()
    def test_error_passes(self, xp):
        xp.zeros(3).reshape(2, 2)

    @testing.with_requires("cupy>=13", "numpy>=1.20")
    def test_requirement_fails(self):
        assert False

    @testing.with_requires("numpy>=100")
    def test_skips(self):
        assert False

    @testing.for_dtypes("fd")
    @testing.numpy_cupy_allclose()
    @testing.with_requires("numpy>=100")
    def test_loop_skips(self, xp, dtype):
        assert False

    @testing.for_signed_dtypes_combination(("a", "b"))
    @testing.for_unsigned_dtypes_combination(("c",), full=True)
    def test_signs_pass(self, a, b, c):
        assert [numpy.dtype(each).kind for each in (a, b, c)] == ["i", "i", "u"]

    @testing.for_dtypes("fd")
    def test_dtype_fails(self, dtype):
        assert dtype is not numpy.float64

    @testing.for_dtypes("fd")
    def test_skipped_dtype_fails(self, dtype):
        if dtype is numpy.float32:
            self.skipTest("this one alone")
        assert False

    @testing.for_orders("CF")
    def test_order_skips(self, order):
        pytest.skip("as the others")


@testing.for_dtypes_combination("fd", ("a", "b"), full=True)
def test_skipped_combinations_fail(a, b):
    if a is b:
        pytest.skip("this one alone")
    assert False


@testing.for_dtypes("fd")
@testing.numpy_cupy_allclose()
def test_skips_of_both_pass(xp, dtype):
    pytest.skip("no dtype at all")


@testing.numpy_cupy_allclose()
def test_one_reason_skips(xp):
    pytest.skip("no library")


@testing.numpy_cupy_allclose()
def test_other_reasons_fail(xp):
    pytest.skip(xp.__name__)


@testing.numpy_cupy_allclose(accept_error=True)
def test_one_skip_fails(xp):
    if xp is numpy:
        pytest.skip("numpy alone")
    return xp.ones(3)


@testing.numpy_cupy_allclose(rtol={numpy.float32: 1e-2, "default": 1e-9})
def test_tolerance_passes(xp):
    return xp.ones(3, "f4") + (1e-3 if xp is numpy else 0)


@testing.numpy_cupy_allclose(rtol={numpy.float32: 1e-2})
def test_missing_tolerance_fails(xp):
    return xp.ones(3)


@testing.for_CF_orders()
def test_other_orders_fail(order):
    assert order in ("C", "F")


def test_tolerances_fail():
    testing.numpy_cupy_allclose(rtol={numpy.float32: 1e-2}, type_check=False)


def test_key_of_a_tolerance_fails():
    testing.numpy_cupy_allclose(rtol={"f4": 1e-2})


def test_old_decorator_fails():
    with warnings.catch_warnings(action="error"):
        testing.numpy_cupy_raises()


def test_shown_warnings_pass():
    with warnings.catch_warnings(action="error"), testing.assert_warns(UserWarning):
        warnings.warn("other", DeprecationWarning)
        warnings.warn("this")


def test_missing_warning_fails():
    with testing.assert_warns(UserWarning):
        pass


def test_function_that_lacks_the_argument_fails():
    @testing.numpy_cupy_raises()
    def test():
        raise ValueError

    test()


@testing.fix_random()
class TestRandom(unittest.TestCase):
    def setUp(self):
        self.drawn = numpy.random.randint(0x7fffffff)

    def test_seed_passes(self):
        drawn = numpy.random.RandomState(100).randint(0x7fffffff, size=2)
        assert [self.drawn, testing.generate_seed()] == drawn.tolist()


def test_seed_of_no_fixed_random_fails():
    testing.generate_seed()


def test_random_passes():
    @testing.fix_random()
    def test_it(self):
        drawn.append((random.random(), testing.generate_seed()))

    drawn, before = [], numpy.random.get_state()[1].tolist()
    test_it(None), test_it(None)
    one = random.Random(99).random(), numpy.random.RandomState(100).randint(0x7fffffff)
    assert drawn == [one, one]
    assert numpy.random.get_state()[1].tolist() == before


def test_random_class_fails():
    testing.fix_random()(type("Test", (), {}))


#: A decorator, and what a test returns.
RETURNED = {
    "nothing_fails": ("array_equal()", "None"),
    "nothing_close_fails": ("allclose()", "None"),
    "nothing_equal_passes": ("equal()", "None"),
    "difference_fails": ("array_equal()", "xp.zeros(2) + ours"),
    "host_array_fails": ("allclose()", "numpy.ones(3)"),
    "host_scalars_pass": ("allclose()", "numpy.float64(3)"),
    "device_array_fails": ("allclose()", "cupy.ones(3)"),
    "scalar_shape_fails": ("allclose()", "cupy.ones(3) if ours else numpy.float64(1)"),
    "scalar_array_passes": ("allclose()", "xp.ones(3).sum()"),
    "shape_fails": ("array_equal()", "xp.ones((1, 3) if ours else 3)"),
    "number_fails": ("allclose()", "cupy.array(1.0) if ours else 1.0"),
    "numbers_pass": ("allclose()", "1.0"),
    "number_types_fail": ("allclose()", "1 if ours else 1.0"),
    "text_fails": ("array_equal()", "'text'"),
    "contiguous_fails": ("allclose()", "cupy.ones((4, 3)).T if ours else numpy.ones((3, 4))"),
    "more_contiguous_passes": ("allclose()", "cupy.ones(3) if ours else numpy.ones(6)[::2]"),
    "unchecked_contiguous_passes": (
        "allclose(contiguous_check=False)", "xp.ones((4, 3)).T if ours else xp.ones((3, 4))"
    ),
    "contiguous_equal_passes": (
        "array_equal()", "xp.ones((4, 3)).T if ours else xp.ones((3, 4))"
    ),
    "strides_fail": (
        "array_equal(strides_check=True)", "xp.ones((4, 3)).T if ours else xp.ones((3, 4))"
    ),
    "strides_pass": ("array_equal(strides_check=True)", "xp.ones((4, 3)).T"),
    "dtype_fails": ("array_equal()", "xp.ones(3, 'f' if ours else 'd')"),
    "unchecked_dtype_passes": ("array_equal(type_check=False)", "xp.ones(3, 'fd'[ours])"),
    "list_passes": ("array_equal()", "[xp.ones(3), (xp.zeros(2))]"),
    "list_and_tuple_pass": ("array_equal()", "[xp.ones(3)] if ours else (xp.ones(3),)"),
    "list_and_array_pass": ("array_equal()", "[xp.ones(3)] if ours else xp.ones(3)"),
    "list_length_fails": ("array_equal()", "[xp.ones(3)] * (1 + ours)"),
    "list_of_nothing_fails": ("array_equal()", "[None]"),
    "second_of_list_fails": ("array_equal()", "[xp.ones(3), xp.ones(3) + ours]"),
    "old_list_passes": ("array_list_equal()", "[xp.ones(3, 'fd'[ours])]"),
    "old_list_fails": ("array_list_equal()", "[xp.ones(3) + ours]"),
    "polynomials_pass": ("allclose()", "xp.poly1d([1, 2])"),
    "polynomials_fail": ("allclose()", "xp.poly1d([1, 2 + ours])"),
    "variables_fail": ("allclose()", "xp.poly1d([1, 2], variable='yx'[ours])"),
    "near_passes": ("array_almost_equal(3)", "xp.ones(3) + ours * 1e-5"),
    "near_fails": ("array_almost_equal()", "xp.ones(3) + ours * 1e-5"),
    "nulp_fails": ("array_almost_equal_nulp()", "xp.ones(3) + ours * 1e-5"),
    "ulp_fails": ("array_max_ulp()", "xp.ones(3) + ours * 1e-5"),
    "less_passes": ("array_less()", "xp.ones(3) - ours"),
    "less_fails": ("array_less()", "xp.ones(3)"),
    "equal_tuples_pass": ("equal()", "(1, 'a')"),
    "equal_kinds_fail": ("equal()", "[1] if ours else (1,)"),
    "equal_nan_fails": ("equal()", "float('nan')"),
    "equal_arrays_fail": ("equal()", "xp.ones(3)"),
    "equal_scalar_passes": ("equal()", "xp.ones(3).sum().item()"),
    "equal_fails": ("equal()", "3 + ours"),
    "no_error_fails": ("raises()", "3"),
    "one_error_fails": ("raises()", "3 if ours else xp.ones(3)[5, 5]"),
    "one_error_of_cupy_fails": ("allclose()", "xp.ones(3)[5, 5] if ours else xp.ones(3)"),
    "one_error_equal_fails": ("equal()", "3 if ours else xp.ones(3)[5, 5]"),
    "same_error_fails": ("allclose()", "xp.ones(3).reshape(2)"),
    "accepted_error_passes": ("allclose(accept_error=ValueError)", "xp.ones(3).reshape(2)"),
    "any_error_passes": ("allclose(accept_error=True)", "xp.ones(3).reshape(2)"),
    "other_error_fails": ("allclose(accept_error=TypeError)", "xp.ones(3).reshape(2)"),
    "types_of_errors_fail": ("raises()", "int('a') if ours else int([])"),
    "types_accepted_fail": ("allclose(accept_error=TypeError)", "int([] if ours else 'a')"),
    "axis_error_fails": ("raises()", "xp.sum(xp.ones(2), axis=3) if ours else int('a')"),
    "axis_errors_pass": ("raises()", "xp.ones(2).sum(axis=3)"),
}
if util.find_spec("scipy"):
    RETURNED |= {
        "matrix_passes": ("allclose(sp_name='sp')", "sp.csr_matrix(xp.eye(3))"),
        "values_fail": ("allclose(sp_name='sp')", "sp.csr_matrix(xp.eye(3) * (1 + ours))"),
        "format_fails": (
            "allclose(sp_name='sp')", "sp.csr_matrix(xp.eye(3)).asformat(('csr', 'csc')[ours])"
        ),
        "unchecked_format_passes": (
            "allclose(sp_name='sp', _check_sparse_format=False)",
            "sp.csr_matrix(xp.eye(3)).asformat(('csr', 'csc')[ours])",
        ),
        "dense_fails": (
            "allclose(sp_name='sp')", "sp.csr_matrix(xp.eye(3)) if ours else numpy.eye(3)"
        ),
        "unnamed_fails": ("allclose(scipy_name='sp')", "sp.sparse.csr_matrix(xp.eye(3))"),
        "both_names_pass": (
            "allclose(sp_name='sp', scipy_name='scp')", "scp.special.erf(sp.eye(2).toarray())"
        ),
    }


for _name, (_decorator, _result) in RETURNED.items():
    _scope = {"numpy": numpy, "cupy": __import__("cupy")}
    exec("def test(xp, sp=0, scp=0): ours = xp is cupy; return " + _result, _scope)
    globals()["test_" + _name] = eval("testing.numpy_cupy_" + _decorator)(_scope["test"])


#: Assertions.
ASSERTED = {
    "lists_pass": "assert_array_list_equal([xp.ones(3)], [numpy.ones(3)])",
    "list_of_other_type_fails": "assert_array_list_equal([xp.ones(3)], (numpy.ones(3),))",
    "array_as_list_fails": "assert_array_list_equal(xp.ones(3), xp.ones(3))",
    "list_with_more_fails": "assert_array_list_equal([xp.ones(3)], [])",
    "arrays_pass": "assert_array_equal(xp.ones(3), numpy.ones(3), strides_check=True)",
    "strides_of_arrays_fail": (
        "assert_array_equal(xp.ones((3, 3)), xp.ones((3, 3)).T, strides_check=True)"
    ),
    "strict_fails": "assert_array_equal(xp.ones(3), numpy.ones(3, 'f'), strict=True)",
    "list_of_arrays_fails": "assert_array_equal([xp.ones(3)], numpy.ones((1, 3)))",
    "list_of_arrays_close_fails": "assert_allclose(numpy.ones((1, 3)), (xp.ones(3),))",
}
for _name, _call in ASSERTED.items():
    exec(f"def test_{_name}(): import cupy as xp; testing.{_call}")
"""
#: Puts CuPy's own text of cupy.testing on the stand-in's arrays: what it says of tests is right.
CUPYS_OWN = """
import importlib.util
import sys
from pathlib import Path
from cupy import testing

FOLDER = Path({folder!r})
NAMES = "_pytest_impl _bundle _parameterized _array _helper _loops".split()
for name in NAMES:
    full = "cupy.testing." + name
    spec = importlib.util.spec_from_file_location(full, FOLDER / (name + ".py"))
    sys.modules[full] = importlib.util.module_from_spec(spec)
    setattr(testing, name, sys.modules[full])
for name in NAMES:
    module = sys.modules["cupy.testing." + name]
    module.__spec__.loader.exec_module(module)
    for key in dir(testing):
        if getattr(vars(module).get(key), "__module__", "") == module.__name__:
            setattr(testing, key, getattr(module, key))
assert testing.numpy_cupy_equal.__module__ == "cupy.testing._loops"
"""
#: What it does not see, as an array of the stand-in is also one of NumPy's.
UNSEEN = "device_array_fails", "list_of_arrays_fails", "list_of_arrays_close_fails"
ENDS = {"skip": "SKIPPED", "pass": "PASSED", "fail": "FAILED"}


@pytest.mark.parametrize("own", [False, True], ids=["ours", "cupys"])
def test_tests_written_with_cupy_testing(tmp_path, own):
    if own:
        cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
        conftest = CUPYS_OWN.format(folder=str(Path(cupy.__file__).parent / "testing"))
        (tmp_path / "conftest.py").write_text(conftest, encoding="utf-8")
    (tmp_path / "test_it.py").write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--cudakern-cupy", "-v"]
    command += ["--tb=native"]  # by far the quickest that says why
    ran = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100
    )
    lines = [line for line in ran.stdout.split("\n") if "::" in line and "%]" in line]
    ends = [re.search(r"::test_(\w+).* ([A-Z]+) ", line).groups() for line in lines]
    wrong = [row for row in ends if row[1] != ENDS[re.findall("skip|pass|fail", row[0])[-1]]]
    wrong = [row for row in wrong if not (own and row[0] in UNSEEN)]
    assert (ran.returncode, wrong) == (pytest.ExitCode.TESTS_FAILED, []), ran.stdout
