"""log_sum_exp is accurate to a few units in the last place, near zero, too.

Columns have the bits of rows (test_tree.py), so a thorough run alone takes both.
"""

from __future__ import annotations

from math import exp, log1p

import ml_dtypes
import numpy as np

import cudakern as ck
from tests.helpers.log_sum_exp import MOST, errors, rows
from tests.helpers.places import CUDA, get, put
from tests.helpers.rows import each
from tests.helpers.samples import covering, is_thorough, sample

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = ["float16", BFLOAT16, "float32", "float64"]
#: Of x: one for each variant, at least. Axes that are reduced, and a view.
LAYOUTS = {
    "long rows": ((3, 20_001), (1,), np.s_[...]),
    "rows of pieces": ((4, 3, 700), (0, 2), np.s_[...]),
    "many rows": ((600, 342), (1,), np.s_[:, :-1]),
    "short rows": ((900, 3), (1,), np.s_[...]),
    "short rows of vectors": ((50, 64), (1,), np.s_[...]),
    "slabs": ((40, 60, 5), (1,), np.s_[...]),
    "columns": ((900, 33), (0,), np.s_[...]),
    "vectors of columns": ((900, 40), (0,), np.s_[:, :32]),
    "backwards": ((50, 5, 90), (0, 2), np.s_[:, :, ::-2]),
}


@each(("dtype", "length"), covering(FLOATS, [2, 40, 7]))
def test_rows_of_any_kind(place, dtype, length):
    rng = np.random.default_rng(length)
    for name, x in rows(rng, 20_000 if is_thorough() else 200, length, dtype).items():
        for axis in (0, 1) if is_thorough() else (1,):
            array = put(x if axis else np.ascontiguousarray(x.T), place)
            off = errors(x, get(ck.reduce(array, "log_sum_exp", axis)))
            assert off.max() <= MOST[x.itemsize], (name, axis, x[off.argmax()])


@each(("layout", "dtype"), sample(covering(LAYOUTS, FLOATS), 9))
def test_every_layout_keeps_the_digits_of_a_result_near_zero(place, dtype, layout):
    shape, axes, view = LAYOUTS[layout]
    rng = np.random.default_rng(2)
    x = rng.uniform(-12, -8, shape).astype(dtype)
    behind = tuple(range(-len(axes), 0))
    kept = np.delete(x[view].shape, axes)
    places = tuple(rng.integers(x[view].shape[d], size=kept) for d in axes)
    np.moveaxis(x[view], axes, behind)[(*np.indices(kept), *places)] = 0
    result = get(ck.reduce(put(x, place)[view], "log_sum_exp", axes))
    of_rows = np.moveaxis(x[view], axes, behind).reshape(*kept, -1)
    assert errors(of_rows, result).max() <= MOST[x.itemsize]


LONG = {
    "rising slowly": np.linspace(10, 10.001, 100_000),
    "rising": np.linspace(-80, 800, 100_000),
    "below zero": np.append(np.full(100_000, -9.0), 0),
    "subnormal": np.append(0, np.full(4000, -100.0)),
    "cancelled": np.full(100_000, -np.log(100_000)),
    "large": np.full(1000, 2.0**29),
    "low": np.full(1000, -3e4),
}


@each(("name", "dtype"), covering(LONG, FLOATS if is_thorough() else FLOATS[2:]))
def test_rows_of_any_length(place, name, dtype):
    with np.errstate(over="ignore"):
        x = LONG[name].astype(dtype)
    assert errors(x, get(ck.reduce(put(x, place), "log_sum_exp"))) <= MOST[x.itemsize]


@each(
    ("dtype", "bound"),
    covering(["float32", "float64"], [(2, 4), (9, 8), (40, 16), (1000, 32)]),
)
def test_equal_terms_beside_a_largest_one_near_zero(place, dtype, bound):
    """The worst rows: what rounds each addition of equal terms alike shows in the result.

    ex2.approx of a GPU may be off by two units of a term, which is up to twice the largest.
    """
    length, most = bound
    if place == CUDA and dtype == "float32":
        most = max(most, 6)
    rng = np.random.default_rng(length)
    shape = ((2_000_000 if is_thorough() else 30_000) // length, 1)
    largest = -np.exp2(rng.integers(-7, 0, shape)) * rng.uniform(0.97, 1, shape)
    terms = np.exp(rng.uniform(-1, 1, shape) * abs(largest)) - np.exp(largest)
    lesser = np.repeat(np.log(terms / (length - 1)), length - 1, 1)
    x = np.append(lesser, largest, 1).astype(dtype)
    for axis in (0, 1) if is_thorough() else (1,):
        array = put(x if axis else np.ascontiguousarray(x.T), place)
        assert errors(x, get(ck.reduce(array, "log_sum_exp", axis))).max() <= most


@each("below", [8, 20, 40, 80])
def test_what_python_gives(place, below):
    right = log1p(exp(-below))
    for dtype in ("float32", "float64"):
        result = get(ck.reduce(put(np.array([0, -below], dtype), place), "log_sum_exp"))
        assert abs(result / right - 1) <= 2 * np.finfo(dtype).eps
    wide = get(ck.reduce(put(np.array([0, -below], np.int8), place), "log_sum_exp"))
    assert abs(wide / right - 1) <= 2**-51
