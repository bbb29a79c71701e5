"""Calls that NumPy computes and CuPy refuses: scripts that pass here must run on a GPU."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest

from cudakern.simulator.cupy_stand_in.names import NO_LISTS, ONLY_IN_NUMPY, STRICT, STRICT_OF_MANY
from cudakern.values.dtypes import narrow_floats
from tests.helpers.rows import each

REFUSED = """
    cp.sum([1, 2]) | cp.mean([x[0, 0], x[0, 1]]) | cp.max((x[0], x[1])) | cp.linalg.norm([1, 2])
    cp.any(h) | cp.cumsum(h, axis=0) | cp.stack([x, h]) | cp.column_stack([h, x]) | cp.fft.fft(h)
    cp.clip([1, 2], 0, 1) | cp.array([x[0, 0], 1]) | cp.asarray([[x[0, 0]], [2]])
    cp.ascontiguousarray(h) | cp.asfortranarray(h) | cp.copyto(x, h)
    cp.zeros(x[0, 1]) | cp.ones((2, x[0, 1])) | cp.empty(x[0]) | cp.full([x[0, 1]], 2)
    cp.isin(x, h) | cp.interp(x[0], x[0], h[0])
    cp.searchsorted(x[0], [1.0]) | cp.digitize(x, h[0]) | cp.angle(h)
    cp.random.shuffle(h) | cp.random.permutation(h) | cp.random.normal(h, 1)
    float(x[0, :1]) | int(x[:1, :1])
    x.dot(h.T) | cp.kron(x, h) | np.dot(x, h.T) | np.copyto(x, h) | np.stack([h, x])
    np.geomspace(x[0, 0], x[1, 1]) | np.linalg.multi_dot([x, x.T]) | x.sum(where=x > 0)
    cp.sum(x, where=x > 0) | cp.max(x, initial=0) | cp.zeros(3, like=x) | cp.isin(x, x, kind="sort")
    x.argsort(stable=True) | cp.linalg.svd(x, hermitian=True) | np.sum(x, where=x > 0)
    cp.exp([1.0])
    cp.vectorize(lambda a: a if a > 1 else np.int8(0))(x) | cp.vectorize(abs)(h)
"""
METHODS = """
    cp.maximum.accumulate(x) | cp.maximum.reduce(x) | cp.multiply.reduceat(x, [0])
    cp.multiply.at(x, 0, 2)
"""
UNSUPPORTED = """
    cp.zeros(3, dtype=object) | cp.zeros(3, "S3") | x.astype(object) | x.astype("U3")
    cp.full(2, "a") | cp.array([None]) | cp.arange(3).astype("M8[s]")
    cp.zeros(3, "g") | x.astype("G") | narrow + narrow | narrow.sum() | narrow.fill(1)
    narrow[[0, 1]] | cp.where(x > 1, narrow, narrow) | narrow.astype("f4")
"""


@pytest.fixture
def names(cp):
    x = cp.arange(6.0).reshape(2, 3)
    narrow = cp.asarray(np.ones(3, narrow_floats()["float8_e5m2"]))
    return {"cp": cp, "np": np, "x": x, "h": x.get(), "narrow": narrow}


def texts(table):
    """Return the expressions of a table."""
    return [text.strip() for line in table.strip().split("\n") for text in line.split(" | ")]


@each("text", texts(REFUSED))
def test_arguments_that_numpy_takes(names, text):
    with pytest.raises(TypeError, match=r"CuPy|one type|no implementation found for 'numpy"):
        eval(text, names)  # noqa: S307


@each("text", texts(METHODS))
def test_methods_of_functions(names, text):
    with pytest.raises(NotImplementedError, match="CuPy has no "):
        eval(text, names)  # noqa: S307


@each("text", texts(UNSUPPORTED))
def test_elements_that_are_no_numbers(names, text):
    with pytest.raises(ValueError, match="Unsupported dtype"):
        eval(text, names)  # noqa: S307


def test_axes_of_a_product_may_be_lists(cp):
    x = cp.arange(6.0).reshape(2, 3)
    assert cp.tensordot(x, x, ([0, 1], [0, 1])).item() == 55
    assert cp.tile(x, [2, 1]).shape == (4, 3)
    assert cp.delete(x, np.array([1]), axis=1).get().tolist() == [[0, 2], [3, 5]]


def test_vectorize_keeps_types(cp):
    x = cp.asarray([-1.0, 0.5, 2.0], cp.float32)
    first = cp.vectorize(lambda a: max(a, 0))(x)  # the first result is a Python int
    assert (first.dtype, first.get().tolist()) == ("f4", [0, 0.5, 2])
    total, product = cp.vectorize(lambda a, b: (a + b, a * b))(x, 2)
    assert (total.dtype, total.get().tolist()) == ("f8", [1, 2.5, 4])
    assert product.get().tolist() == [-2, 1, 4]
    with pytest.raises(NotImplementedError, match="neither otypes nor"):
        cp.vectorize(abs, otypes="f")


H, M = np.arange(4.0), np.eye(2)
CALLS = (
    (H,),
    (M,),
    (H, H),
    (M, M),
    (H, 1),
    (H > 0, H),
    (H > 0, H, H),
    (H, H, H),
    (H.astype(int),),
    (H, (4,)),
    (M, 0, 1),
    (H, 0, 1),
    (H.astype(int), (H, H, H, H)),
    (H, H > 0, H),
    (H > 0, H),
    ((H, H),),
    (M, (1, 0)),
)


#: Functions that NumPy 2.0 lacks.
NEW_IN_NUMPY = {"cumulative_prod", "cumulative_sum"}


def _both(name):
    """Return CuPy's function and NumPy's, or None if this NumPy lacks it."""
    for below in (".fft", ".linalg", ""):
        modules = [importlib.import_module(f"{package}{below}") for package in ("cupy", "numpy")]
        if all(hasattr(module, name) for module in modules):
            return [getattr(module, name) for module in modules]
    assert name in NEW_IN_NUMPY
    return None


def _call(function, name):
    """Return arguments that a function of NumPy takes."""
    for args in CALLS:
        try:
            function(*args)
        except (TypeError, ValueError, IndexError, np.linalg.LinAlgError):
            continue
        return args
    raise AssertionError(name)


@each("name", sorted({*STRICT, *STRICT_OF_MANY} - {"dot"}))  # one array for one argument
def test_cupy_refuses_arrays_of_numpy(name):
    pytest.importorskip("cupy")
    if functions := _both(name):
        theirs, ours = functions
        with pytest.raises(Exception, match=r"."):  # of any class; without a GPU, too
            theirs(*_call(ours, name))


@each("name", sorted(NO_LISTS))
def test_cupy_refuses_lists(name):
    pytest.importorskip("cupy")
    theirs, ours = _both(name)
    first, *others = _call(ours, name)
    with pytest.raises((AttributeError, TypeError)):
        theirs(np.asarray(first).tolist(), *others)


@each("keyword", ONLY_IN_NUMPY)
def test_cupy_has_no_such_keywords(keyword):
    pytest.importorskip("cupy")
    for name in ONLY_IN_NUMPY[keyword]:
        if name == "as_strided":
            continue
        assert keyword not in inspect.signature(_both(name)[0]).parameters
