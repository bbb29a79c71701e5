"""`cupyx.scipy` over SciPy, in scripts in the manner of public ones; its names against CuPy's."""

# ruff: noqa: PLC0415  the modules are there inside of the block alone

from __future__ import annotations

import ast
import importlib
import importlib.util
import pickle
import re
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import scipy
import scipy.fft
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.sparse
import scipy.sparse.linalg
import scipy.spatial
import scipy.special
import scipy.stats

import cudakern as ck
from cudakern.simulator.cupy_stand_in import cupyx_scipy
from tests.helpers.processes import printed
from tests.helpers.rows import each

RNG = np.random.default_rng(7)
IMAGE = RNG.random((24, 31)).astype(np.float32)
SIGNAL = RNG.random(64)
MATRIX = scipy.sparse.csr_matrix(np.where(RNG.random((12, 9)) < 0.4, RNG.random((12, 9)), 0))
SOLVABLE = (MATRIX[:9] + scipy.sparse.eye(9) * 9).tocsr()
POINTS = RNG.random((20, 3))


def image_filter(cp):
    from cupyx.scipy.ndimage import gaussian_filter

    invert = cp.RawKernel(
        'extern "C" __global__ void invert(const float* x, float* y, int n) {'
        "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 1 - x[i]; }",
        "invert",
    )
    blurred = gaussian_filter(cp.asarray(IMAGE), 1.5)
    y = cp.empty_like(blurred)
    invert((-(-y.size // 128),), (128,), (blurred, y, cp.int32(y.size)))
    return y, 1 - scipy.ndimage.gaussian_filter(IMAGE, 1.5)


def labels(cp):
    import cupyx.scipy.ndimage as ndi

    found, count = ndi.label(cp.asarray(IMAGE) > 0.6)
    sizes = ndi.sum(cp.ones_like(found), found, cp.arange(1, count + 1))
    wanted, n = scipy.ndimage.label(IMAGE > 0.6)
    assert (type(count), count) == (int, n)
    return (found, sizes), (wanted, np.bincount(wanted.ravel())[1:])


def into_an_output(cp):
    import cupyx.scipy.ndimage as ndi

    out = cp.empty(IMAGE.shape, cp.float64)
    assert ndi.median_filter(cp.asarray(IMAGE), 3, output=out) is out
    return out, scipy.ndimage.median_filter(IMAGE, 3, output=np.float64)


def sparse_product(cp):
    from cupyx.scipy import sparse

    multiply = cp.RawKernel(
        """extern "C" __global__ void multiply(
            const int* start, const int* column, const double* a, const double* x, double* y) {
          double sum = 0;
          for (int k = start[threadIdx.x]; k < start[threadIdx.x + 1]; ++k)
            sum += a[k] * x[column[k]];
          y[threadIdx.x] = sum;
        }""",
        "multiply",
    )
    a, x = sparse.csr_matrix(MATRIX), cp.arange(9.0)
    y = cp.empty(12)
    multiply((1,), (12,), (a.indptr, a.indices, a.data, x, y))
    assert isinstance(a, sparse.csr_matrix)
    return (y, a @ x, x @ a.T, (2 * a - a).toarray()), (
        *(MATRIX @ np.arange(9.0),) * 3,
        MATRIX.toarray(),
    )


def sparse_solution(cp):
    from cupyx.scipy import sparse
    from cupyx.scipy.sparse.linalg import LinearOperator, cg, spsolve

    a, b = sparse.csr_matrix(SOLVABLE), cp.ones(9)
    operator = LinearOperator((9, 9), matvec=lambda v: a @ v)
    normal = a.T @ a
    x, failed = cg(normal, a.T @ b, rtol=1e-12)
    assert failed == 0
    exact = scipy.sparse.linalg.spsolve(SOLVABLE.tocsc(), np.ones(9))
    return (spsolve(a.tocsc(), b), x, operator.matvec(x)), (exact, exact, np.ones(9))


def parts_of_a_sparse_matrix(cp):
    from cupyx.scipy import sparse

    rows, columns, values = cp.array([0, 2]), cp.array([1, 0]), cp.array([3.0, 4.0])
    made = sparse.coo_matrix((values, (rows, columns)), shape=(3, 2)).tocsr()
    made.data *= 2
    made.data = made.data + 1
    assert (sparse.issparse(made), sparse.isspmatrix_csr(made)) == (True, True)
    assert made.indices.dtype == np.int32
    assert scipy.sparse.issparse(made.get())
    kept = pickle.loads(pickle.dumps(made))  # noqa: S301  our own
    return (made.toarray(), made.sum(axis=0), kept[2], made.T.toarray()), (
        [[0, 7], [0, 0], [9, 0]], [[9, 7]], scipy.sparse.csr_matrix([[9.0, 0]]).toarray(),
        [[0, 0, 9], [7, 0, 0]],
    )  # fmt: skip


def spectrum(cp):
    from cupyx.scipy import fft

    x = cp.asarray(SIGNAL, cp.float32)
    with fft.get_fft_plan(x) as plan:
        y = fft.fft(x, plan=plan)
    return (y, fft.dct(x)), (scipy.fft.fft(SIGNAL.astype("f4")), scipy.fft.dct(SIGNAL.astype("f4")))


def error_function(cp):
    from cupyx.scipy import special

    square = cp.ElementwiseKernel("T x", "T y", "y = x * x", "square")
    x = cp.linspace(-2, 2, 9, dtype=cp.float32)
    return special.erf(square(x)), scipy.special.erf(np.linspace(-2, 2, 9, dtype="f4") ** 2)


def convolution(cp):
    from cupyx.scipy.signal import convolve2d, fftconvolve, windows

    x, w = cp.asarray(IMAGE), cp.outer(windows.hann(5), windows.hann(5)).astype(cp.float32)
    window = np.outer(*(scipy.signal.windows.hann(5),) * 2).astype(np.float32)
    return (convolve2d(x, w, "same"), fftconvolve(x, w)), (
        scipy.signal.convolve2d(IMAGE, window, "same"),
        scipy.signal.fftconvolve(IMAGE, window),
    )


def interpolation(cp):
    from cupyx.scipy.interpolate import CubicSpline, RegularGridInterpolator

    x = cp.arange(64.0)
    spline = CubicSpline(x, cp.asarray(SIGNAL))
    grid = RegularGridInterpolator((x,), cp.asarray(SIGNAL))
    at = cp.array([1.5, 20.25])
    wanted = scipy.interpolate.CubicSpline(np.arange(64.0), SIGNAL)
    between = np.interp([1.5, 20.25], np.arange(64.0), SIGNAL)
    return (spline(at), spline.c, grid(at[:, None])), (wanted([1.5, 20.25]), wanted.c, between)


def distances(cp):
    from cupyx.scipy.spatial import KDTree, distance

    x = cp.asarray(POINTS)
    near, index = KDTree(x).query(x[:4] + 1e-3)
    wanted = scipy.spatial.KDTree(POINTS).query(POINTS[:4] + 1e-3)
    apart = scipy.spatial.distance.cdist(POINTS, POINTS)
    return (distance.cdist(x, x), near, index), (apart, *wanted)


def dense(cp):
    from cupyx.scipy import linalg, stats

    a = SOLVABLE.toarray()
    factors = linalg.lu_factor(cp.asarray(a))
    solved = linalg.lu_solve(factors, cp.ones(9))
    return (solved, stats.zscore(cp.asarray(SIGNAL))), (
        np.linalg.solve(a, np.ones(9)),
        scipy.stats.zscore(SIGNAL),
    )


def dispatch(cp):
    from cupyx.scipy import get_array_module, sparse

    x = cp.asarray(SIGNAL)
    modules = [get_array_module(v) for v in (x, sparse.eye(3), SIGNAL)]
    assert [m.__name__ for m in modules] == ["cupyx.scipy", "cupyx.scipy", "scipy"]
    return modules[0].special.gamma(x), modules[2].special.gamma(SIGNAL)


SCRIPTS = (
    image_filter, labels, into_an_output, sparse_product, sparse_solution,
    parts_of_a_sparse_matrix, spectrum, error_function, convolution, interpolation, distances,
    dense, dispatch,
)  # fmt: skip


@each("observed", [nullcontext, ck.simulator.checked])
@each("script", SCRIPTS, ids=lambda script: script.__name__)
def test_scripts(script, observed):
    with ck.simulator.in_place_of_cupy() as cp, observed():
        got, wanted = script(cp)
        pairs = zip(got, wanted, strict=True) if isinstance(got, tuple) else [(got, wanted)]
        for value, exact in pairs:
            mine = value.toarray() if hasattr(value, "toarray") else value
            assert isinstance(mine, cp.ndarray)
            assert mine.shape == np.shape(exact)
            assert np.asarray(exact).dtype.kind not in "fc" or mine.dtype == exact.dtype
            np.testing.assert_allclose(mine.get(), exact, rtol=1e-5, atol=1e-6)


REFUSED = {
    "special.erf": (lambda x, _: (TypeError, x.special.erf, np.ones(3))),
    "ndimage.laplace": (lambda x, _: (TypeError, x.ndimage.laplace, np.ones(3))),
    "csr_matrix": (lambda x, _: (TypeError, x.sparse.csr_matrix, np.eye(3))),
    "int64": (lambda x, cp: (ValueError, x.sparse.csr_matrix, cp.eye(3, dtype=int))),
    "CuPy has no cupyx.scipy.ndimage.watershed_ift": (
        lambda x, _: (AttributeError, getattr, x.ndimage, "watershed_ift")
    ),
    "generic_filter": (lambda x, _: (AttributeError, getattr, x.ndimage, "generic_filter")),
    "has no cupyx.scipy.special.nothing;": (
        lambda x, _: (AttributeError, getattr, x.special, "nothing")
    ),
    "CuPy has no cupyx.scipy.sparse.lil_matrix": (
        lambda x, _: (AttributeError, getattr, x.sparse, "lil_matrix")
    ),
}


@each("told, given", REFUSED.items())
def test_what_is_refused(told, given):
    with ck.simulator.in_place_of_cupy() as cp:
        import cupyx.scipy

        error, call, *arguments = given(cupyx.scipy, cp)
        with pytest.raises(error, match=re.escape(told)):
            call(*arguments)


def test_modules_that_are_refused():
    with ck.simulator.in_place_of_cupy():
        for name in ("cupyx.scipy.optimize", "cupyx.scipy.nothing", "cupyx.scipy.signal.nothing"):
            with pytest.raises(ImportError, match=name):
                importlib.import_module(name)


def test_without_scipy():
    program = """
import sys
sys.modules["scipy"] = None
from cudakern.simulator import in_place_of_cupy
with in_place_of_cupy() as cupy:
    try: import cupyx.scipy.ndimage
    except ImportError as error: print(error)"""
    assert "cupyx.scipy of in_place_of_cupy needs SciPy; from a clone run: pip" in printed(program)


def test_scipy_is_not_imported_before_it_is_asked_for():
    program = """
import sys
from cudakern.simulator import in_place_of_cupy
with in_place_of_cupy() as cupy:
    import cupyx.scipy.ndimage, cupyx.scipy.sparse.linalg
    print([name for name in sys.modules if name.startswith("scipy")])"""
    assert printed(program) == "[]\n"


def test_names_are_cupys():
    """CuPy's own modules need libraries of a GPU, so their texts are read."""
    spec = importlib.util.find_spec("cupyx")
    if spec is None:
        pytest.skip("CuPy is not installed")
    folder = Path(spec.submodule_search_locations[0], "scipy")
    for module, names in cupyx_scipy.NAMES.items():
        path = folder.joinpath(*module.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        there = set()
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom):
                there |= {alias.asname or alias.name for alias in node.names}
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                there.add(node.name)
            elif isinstance(node, ast.Assign):
                there |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        assert names <= there, module
