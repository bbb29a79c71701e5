"""`cupyx.scipy` over SciPy, in scripts in the manner of public ones; its names against CuPy's."""

# ruff: noqa: PLC0415  the modules are there inside of the block alone

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
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


def compare(script, observed):
    with ck.simulator.in_place_of_cupy() as cp, observed():
        got, wanted = script(cp)
        pairs = zip(got, wanted, strict=True) if isinstance(got, tuple) else [(got, wanted)]
        for value, exact in pairs:
            mine = value.toarray() if hasattr(value, "toarray") else value
            exact = np.asarray(exact)  # noqa: PLW2901
            assert isinstance(mine, cp.ndarray)
            assert mine.shape == exact.shape
            assert exact.dtype.kind not in "fc" or mine.dtype == exact.dtype
            np.testing.assert_allclose(mine.get(), exact, rtol=1e-5, atol=1e-6)


@each("observed", [nullcontext, ck.simulator.checked])
@each("script", SCRIPTS, ids=lambda script: script.__name__)
def test_scripts(script, observed):
    compare(script, observed)


REFUSED = {
    "special.erf": (lambda x, _: (TypeError, x.special.erf, np.ones(3))),
    "ndimage.laplace": (lambda x, _: (TypeError, x.ndimage.laplace, np.ones(3))),
    "csr_matrix": (lambda x, _: (TypeError, x.sparse.csr_matrix, np.eye(3))),
    "cupy.sum: CuPy takes no sparse matrix": (
        lambda x, cp: (TypeError, cp.sum, x.sparse.csr_matrix(cp.eye(3)))
    ),
    "use x.toarray()": (
        lambda x, cp: (TypeError, cp.dot, x.sparse.csr_matrix(cp.eye(3)), cp.ones(3))
    ),
    "texture_memory": (
        lambda x, cp: (
            NotImplementedError,
            lambda: x.ndimage.affine_transform(cp.eye(2), cp.eye(2), texture_memory=True),
        )
    ),
    "float64_distances": (
        lambda x, cp: (
            NotImplementedError,
            lambda: x.ndimage.distance_transform_edt(cp.eye(2), float64_distances=False),
        )
    ),
    "int64": (lambda x, cp: (ValueError, x.sparse.csr_matrix, cp.eye(3, dtype=int))),
    "CuPy has no cupyx.scipy.ndimage.watershed_ift": (
        lambda x, _: (AttributeError, getattr, x.ndimage, "watershed_ift")
    ),
    "in_place_of_cupy has no cupyx.scipy.ndimage.generic_filter;": (
        lambda x, _: (AttributeError, getattr, x.ndimage, "generic_filter")
    ),
    "import from cupyx.scipy.ndimage;": (
        lambda x, _: (AttributeError, getattr, x.ndimage, "measurements")
    ),
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


HOST = np.arange(1.0, 9)
THREE = np.ones(3)
#: Calls of CuPy's with an array of the host where it takes none.
ONE_OF_THE_HOST = (
    lambda x, _: x.sparse.eye(3) @ THREE,
    lambda x, _: THREE @ x.sparse.eye(3),
    lambda x, _: x.sparse.eye(3).tocsr().dot(THREE),
    lambda x, _: setattr(x.sparse.eye(3), "data", THREE),
    lambda x, cp: x.sparse.csr_matrix((THREE, (cp.arange(3), cp.arange(3)))),
    lambda x, _: x.sparse.linalg.spsolve(x.sparse.eye(3).tocsr(), THREE),
    lambda x, cp: x.sparse.linalg.spsolve(scipy.sparse.eye(3).tocsr(), cp.ones(3)),
    lambda x, _: x.sparse.linalg.cg(x.sparse.eye(3), THREE),
    lambda x, _: x.sparse.linalg.factorized(x.sparse.eye(3).tocsc())(THREE),
    lambda x, _: x.sparse.linalg.splu(x.sparse.eye(3).tocsc()).solve(THREE),
    lambda x, cp: x.sparse.linalg.LinearOperator((3, 3), lambda _: THREE).matvec(cp.ones(3)),
    lambda x, cp: x.signal.convolve(cp.ones(3), THREE),
    lambda x, cp: x.spatial.distance.cdist(cp.eye(3), np.eye(3)),
    lambda x, cp: x.spatial.KDTree(cp.eye(3)).query(np.eye(3)),
    lambda x, cp: x.ndimage.convolve(cp.ones(3), THREE),
    lambda x, cp: x.ndimage.map_coordinates(cp.ones(3), THREE[None]),
    lambda x, cp: x.ndimage.affine_transform(cp.eye(2), np.eye(2)),
    lambda x, _: x.ndimage.gaussian_filter(input=THREE, sigma=1),
    lambda x, cp: x.ndimage.gaussian_filter(cp.ones(3), 1, output=np.empty(3)),
    lambda x, cp: x.interpolate.BSpline(np.arange(8.0), cp.ones(4), 3),
    lambda x, _: x.ndimage.gaussian_filter([1.0, 2.0], 1),
    lambda x, _: x.ndimage.label(input=[1, 0]),
    lambda x, _: x.fft.fft(x=THREE),
    lambda x, _: x.fft.dct([1.0, 2.0]),
    lambda x, _: x.stats.entropy([0.5, 0.5]),
    lambda x, _: x.special.softmax([1.0, 2.0]),
    lambda x, _: x.special.erf([1.0, 2.0]),
    lambda x, cp: x.special.erf(cp.ones(3, cp.complex64)),
)


@each("call", ONE_OF_THE_HOST)
def test_arrays_of_the_host_are_refused(call):
    with ck.simulator.in_place_of_cupy() as cp:
        import cupyx.scipy

        with pytest.raises(TypeError, match="CuPy takes"):
            call(cupyx.scipy, cp)


#: Calls whose arrays of the host CuPy takes by cupy.asarray, or as numbers.
FROM_THE_HOST = (
    lambda x, _: x.interpolate.CubicSpline(HOST, HOST**2)(HOST + 0.5),
    lambda x, _: x.interpolate.UnivariateSpline(HOST, HOST**2)(HOST),
    lambda x, _: x.interpolate.RBFInterpolator(HOST[:, None], HOST)(HOST[:, None]),
    lambda x, _: x.signal.resample(HOST, 4),
    lambda x, _: x.signal.resample_poly(HOST, 2, 1),
    lambda x, _: x.signal.savgol_filter(HOST, 5, 2),
    lambda x, _: x.signal.detrend(HOST),
    lambda x, _: x.signal.decimate(SIGNAL, 2),
    lambda x, _: x.signal.periodogram(SIGNAL)[1],
    lambda x, _: x.signal.csd(SIGNAL, SIGNAL, nperseg=32)[1],
    lambda x, _: x.signal.istft(IMAGE.T[:9])[1],
    lambda x, _: x.signal.lombscargle(HOST, HOST, HOST),
    lambda x, _: x.signal.chirp(HOST, 1, 1, 2),
    lambda x, _: x.signal.square(HOST),
    lambda x, _: x.signal.sawtooth(HOST),
    lambda x, _: x.signal.argrelmax(SIGNAL)[0],
    lambda x, _: x.signal.butter(2, np.array([0.2, 0.4]), "band")[0],
    lambda x, _: x.spatial.distance_matrix(POINTS, POINTS),
    lambda x, _: x.fft.fftshift([1.0, 2.0, 3.0]),
    lambda x, _: x.linalg.bandwidth(np.eye(3)),
    lambda x, _: x.linalg.lu_factor(np.eye(3))[0],
    lambda x, np_: x.signal.upfirdn(THREE, np_.ones(4)),
    lambda x, _: x.sparse.dia_matrix((THREE[None], np.array([0])), shape=(3, 3)).toarray(),
    lambda x, np_: x.sparse.csr_matrix(np_.eye(3))[np.array([0, 2])].toarray(),
    lambda x, np_: x.ndimage.gaussian_filter(np_.asarray(IMAGE), np.array([1, 2])),
    lambda x, np_: x.ndimage.median_filter(np_.asarray(IMAGE), footprint=np.eye(3)),
    lambda x, np_: x.ndimage.maximum(np_.asarray(IMAGE), np_.asarray(IMAGE > 0), np.array([0, 1])),
)


@pytest.mark.filterwarnings(r"ignore:.\w*distance\w*. is deprecated")
@each("call", FROM_THE_HOST)
def test_arrays_of_the_host_that_are_taken(call):
    with ck.simulator.in_place_of_cupy() as cp:
        import cupyx.scipy

        got = cp.asnumpy(call(cupyx.scipy, cp))
    np.testing.assert_allclose(got, call(scipy, np), rtol=1e-6)


def test_arguments_of_tables_are_scipys():
    for name, parameters in cupyx_scipy.FROM_HOST.items():
        modules = [module for module, names in cupyx_scipy.NAMES.items() if name in names]
        assert modules or hasattr(scipy.sparse.csr_matrix, name)
        for module in modules if "*" not in parameters else ():
            function = getattr(importlib.import_module(f"scipy.{module}"), name)
            assert parameters <= inspect.signature(function).parameters.keys(), name


def operators(cp):
    from cupyx.scipy.sparse.linalg import LinearOperator, cg

    class Twice(LinearOperator):
        def __init__(self, n):
            self.n = n
            super().__init__(np.float64, (n, n))

        def _matvec(self, v):
            assert isinstance(v, cp.ndarray)
            return 2 * v

        def _rmatvec(self, v):
            return 3 * v

    class Threefold(LinearOperator):
        def __init__(self, n):
            self.shape, self.dtype = (n, n), np.dtype(float)

        def _matmat(self, x):
            return 3 * x

    two, three, v = Twice(3), Threefold(3), cp.ones(3)
    assert (two.n, two.shape, isinstance(two, LinearOperator)) == (3, (3, 3), True)
    return (cg(two, v)[0], two(v), two @ cp.eye(3), two.H.matvec(v), cg(three, v)[0], three @ v), (
        np.full(3, 0.5), np.full(3, 2.0), 2 * np.eye(3), np.full(3, 3.0), np.full(3, 1 / 3),
        np.full(3, 3.0),
    )  # fmt: skip


def objects(cp):
    from cupyx.scipy import ndimage, signal, sparse
    from cupyx.scipy.sparse.linalg import SuperLU, splu

    matrix = sparse.csr_matrix(SOLVABLE)
    assert cp.get_array_module(matrix) is cp
    assert not callable(matrix)
    rows = [*matrix]
    assert {type(row) for row in rows} == {sparse.csr_matrix}
    factors = splu(matrix.tocsc())
    assert isinstance(factors, SuperLU)
    assert (factors.L.format, matrix.device) == ("csr", cp.cuda.Device(0))
    where = ndimage.value_indices(cp.array([0, 2, 2]))
    assert [type(key) for key in where] == [int, int]
    peaks = signal.find_peaks(cp.asarray(SIGNAL), height=0.5)[1]["peak_heights"]
    exact = scipy.sparse.linalg.splu(SOLVABLE.tocsc())
    return (
        factors.perm_r, factors.solve(cp.ones(9)), rows[1], where[2][0], peaks, matrix.A, matrix.H,
    ), (
        exact.perm_r, exact.solve(np.ones(9)), SOLVABLE[1].toarray(), [1, 2],
        scipy.signal.find_peaks(SIGNAL, height=0.5)[1]["peak_heights"], SOLVABLE.toarray(),
        SOLVABLE.T.toarray(),
    )  # fmt: skip


def results(cp):
    from cupyx.scipy import ndimage, sparse
    from cupyx.scipy.sparse.linalg import eigsh
    from cupyx.scipy.spatial import KDTree, distance

    labels, one = cp.array([[1, 1], [2, 2]]), cp.array([1, 2])
    image = cp.array([[3.0, 1], [1, 3]])
    assert ndimage.maximum_position(image, labels, one) == [(0, 0), (1, 1)]
    assert ndimage.extrema(image)[2:] == ((0, 1), (0, 0))
    assert sparse.csr_matrix(image).multiply(image).format == "csr"
    assert (sparse.csr_array(image) * image).format == "csr"
    first, second = ndimage.center_of_mass(image, labels, one)
    tree = KDTree(cp.array([[0.0, 0], [1, 0], [5, 5]]))
    near, far = tree.query_ball_point(cp.array([[0.0, 0], [9, 9]]), 2)
    (alone,) = tree.query_ball_point(cp.array([0.0, 0]), 2)
    single = image.astype("f")
    return (
        eigsh(sparse.diags(cp.arange(1.0, 9)).tocsr(), 3, which="SA", return_eigenvectors=False),
        first, second, near, far, alone, tree.query(cp.array([5.0, 4]))[0], tree.query_pairs(2.0),
        distance.cdist(single, single), distance.euclidean(image[0], image[1]),
    ), (
        [1.0, 2, 3], [0, 0.25], [1, 0.75], [0, 1], np.zeros(0, int), [0, 1], [1.0], [[0, 1]],
        np.float32([[0, 8**0.5], [8**0.5, 0]]), 8**0.5,
    )  # fmt: skip


def arguments(cp):
    from cupyx.scipy import linalg, ndimage, sparse
    from cupyx.scipy.sparse.linalg import eigsh, lsmr, minres, svds

    a, b = cp.asarray(IMAGE), cp.ones(3)
    twice, large = 2 * sparse.eye(3).tocsr(), sparse.diags(cp.arange(1.0, 9)).tocsr()
    return (
        ndimage.distance_transform_edt(image=a > 0.5, float64_distances=True),
        ndimage.affine_transform(a, cp.eye(2), order=1, texture_memory=False),
        minres(twice, b, None, 0.0, 1e-9)[0], minres(twice, b, tol=1e-9)[0],
        eigsh(a=large, k=2, which="LA")[0], svds(a=large, k=2)[1], linalg.expm(a=cp.eye(1)),
        lsmr(twice, b, cp.full(3, 0.5))[0],
        linalg.solve_triangular(cp.eye(2), cp.array([np.nan, 1])),
    ), (
        scipy.ndimage.distance_transform_edt(IMAGE > 0.5), IMAGE, b.get() / 2, b.get() / 2,
        [7.0, 8], [7.0, 8], [[np.e]], b.get() / 2, [np.nan, 1],
    )  # fmt: skip


def classes(cp):
    from cupyx.scipy.interpolate import BSpline, CubicSpline, PPoly

    x = cp.arange(8.0)
    assert isinstance(CubicSpline(x, x), PPoly)
    spline = BSpline.construct_fast(x, x[:4], 3)
    assert type(spline) is BSpline
    exact = scipy.interpolate.BSpline(np.arange(8.0), np.arange(4.0), 3)
    at = [3.25, 3.5]
    return (spline(cp.array(at)), PPoly.from_spline(spline)(cp.array(at))), (exact(at), exact(at))


def halves(cp):
    from cupyx.scipy import ndimage

    given = IMAGE.astype(np.float16)
    out = cp.empty(IMAGE.shape, cp.float16)
    assert ndimage.gaussian_filter(cp.asarray(IMAGE), 1, output=out) is out
    return (
        ndimage.gaussian_filter(cp.asarray(given), 1), out,
        ndimage.median_filter(cp.asarray(given), 3),
        ndimage.sobel(cp.asarray(given), output=cp.float32), ndimage.label(cp.asarray(given))[0],
        ndimage.spline_filter(cp.asarray(given)), ndimage.fourier_gaussian(cp.asarray(given), 1),
    ), (
        scipy.ndimage.gaussian_filter(given.astype("f"), 1).astype("e"),
        scipy.ndimage.gaussian_filter(IMAGE, 1).astype("e"),
        scipy.ndimage.median_filter(given.astype("f"), 3).astype("e"),
        scipy.ndimage.sobel(given.astype("f")), scipy.ndimage.label(given.astype("f"))[0],
        scipy.ndimage.spline_filter(given.astype("f")),
        scipy.ndimage.fourier_gaussian(given.astype("d"), 1),
    )  # fmt: skip


def backend(cp):
    from cupyx.scipy import fft

    x = cp.asarray(SIGNAL)
    with scipy.fft.set_backend(fft):
        assert type(scipy.fft.fft(SIGNAL)) is np.ndarray
        got = scipy.fft.fft(x), fft.fft(x)
    with scipy.fft.set_backend(fft, coerce=True):
        got += (scipy.fft.fft(SIGNAL),)
    return got, (scipy.fft.fft(SIGNAL),) * 3


def pickles(_):
    from cupyx.scipy import ndimage, sparse

    for kept in (ndimage.gaussian_filter, sparse.csr_matrix):
        assert pickle.loads(pickle.dumps(kept)) is kept  # noqa: S301  our own
    return (), ()


AS_CUPY = (
    operators, objects, results, arguments, classes, halves, backend, pickles,
)  # fmt: skip


@each("script", AS_CUPY, ids=lambda script: script.__name__)
def test_what_is_as_in_cupy(script):
    compare(script, nullcontext)


def test_sparse_matrices_of_another_device():
    with ck.simulator.in_place_of_cupy(devices=2) as cp:
        from cupyx.scipy import sparse

        with cp.cuda.Device(1):
            there = sparse.csr_matrix(cp.eye(3))
        assert there.device == there.data.device == cp.cuda.Device(1)
        for call in (lambda: there @ cp.ones(3), there.toarray, lambda: sparse.kron(there, there)):
            with pytest.raises(ValueError, match="a sparse matrix on device 1 must not be used"):
                call()


def find_loops(spec):
    """Return the types of functions of special, from the text of CuPy's."""
    folder = Path(spec.submodule_search_locations[0], "scipy/special")
    for path in folder.glob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            call = getattr(node, "value", None)
            if not (isinstance(call, ast.Call) and ast.unparse(call.func).endswith("create_ufunc")):
                continue
            loops = call.args[1] if len(call.args) > 1 else call.keywords[0].value
            if isinstance(loops, ast.Tuple):
                texts = [getattr(loop, "elts", [loop])[0] for loop in loops.elts]
                yield node.targets[0].id, [ast.literal_eval(text) for text in texts]


def decide_type(loops, dtype):
    """Return the types of results that CuPy decides for equal types of arguments, or None."""
    for loop in loops:
        taken, _, made = loop.partition("->")
        if all(np.can_cast(dtype, each_one) for each_one in taken):
            return made or taken
    return None


@pytest.mark.filterwarnings("ignore:non-integer arg n")
def test_types_of_special_functions():
    spec = importlib.util.find_spec("cupyx")
    if spec is None:
        pytest.skip("CuPy is not installed")
    wrong, tried = [], 0
    with ck.simulator.in_place_of_cupy() as cp:
        from cupyx.scipy import special

        for name, loops in find_loops(spec):
            if name not in cupyx_scipy.NAMES["special"] or name == "exprel":  # real ones in SciPy
                continue
            for dtype in "?bBhHilefdFD":
                values = [cp.ones(1, dtype)] * len(loops[0].partition("->")[0])
                try:
                    made = getattr(special, name)(*values)
                    found = "".join(r.dtype.char for r in (made if type(made) is tuple else [made]))
                except TypeError:
                    found = None
                tried += 1
                if found != decide_type(loops, dtype):
                    wrong.append((name, dtype, found, decide_type(loops, dtype)))
    assert tried > 500
    assert wrong == []


def test_modules_that_are_refused():
    with ck.simulator.in_place_of_cupy():
        for name in ("cupyx.scipy.optimize", "cupyx.scipy.nothing", "cupyx.scipy.signal.nothing"):
            with pytest.raises(ImportError, match=name):
                importlib.import_module(name)


def test_a_star_brings_the_names_of_a_module():
    names = {}
    with ck.simulator.in_place_of_cupy():
        exec("from cupyx.scipy.ndimage import *", names)  # noqa: S102  only there
    assert {"gaussian_filter", "label", "zoom"} <= names.keys()


def test_without_scipy():
    program = """
import sys
sys.modules["scipy"] = None
from cudakern.simulator import in_place_of_cupy
with in_place_of_cupy() as cupy:
    try: import cupyx.scipy.ndimage
    except ImportError as error: print(error)"""
    assert "cupyx.scipy of in_place_of_cupy needs SciPy; run: pip" in printed(program)


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
