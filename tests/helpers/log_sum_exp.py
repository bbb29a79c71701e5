"""Rows that are hard for log_sum_exp, and how far a result is off."""

from __future__ import annotations

import ml_dtypes
import numpy as np

#: Units in the last place that a result may be off, by bytes of an element.
MOST = {2: 1, 4: 4, 8: 4}


def errors(x, results):
    """Return how far results for rows of x are off, in units of the last place.

    They are those of the result, or of the largest element where that is larger. The exact value
    is computed in long double. Infinities and NaN must be equal, or an error is infinite.
    """
    kind, x = ml_dtypes.finfo(x.dtype), x.astype(np.longdouble)
    places = np.argmax(x, -1, keepdims=True)
    largest = np.take_along_axis(x, places, -1)
    below = np.where(np.isfinite(largest), x, -np.inf) - np.where(np.isfinite(largest), largest, 0)
    np.put_along_axis(below, places, -np.inf, -1)
    terms, largest = np.exp(below), largest[..., 0]
    right = np.where(np.isfinite(largest), largest + np.log1p(terms.sum(-1)), largest)
    found = results.astype(np.longdouble)
    sizes = np.maximum(abs(right), abs(largest))
    sizes = np.maximum(np.where(np.isfinite(sizes), sizes, 1), np.longdouble(kind.smallest_normal))
    units = np.exp2(np.floor(np.log2(sizes)) - kind.nmant)
    with np.errstate(invalid="ignore"):
        off = np.where(np.isfinite(right), abs(found - right) / units, np.inf)
    equal = (found == right) | (np.isnan(found) & np.isnan(right))
    return np.where(equal, 0, np.where(np.isnan(off), np.inf, off))


def rows(rng, count, length, dtype):
    """Return arrays of rows by name: around zero, one that dominates, and others."""
    kind = ml_dtypes.finfo(dtype)
    shape, column, first = (count, length), (count, 1), np.arange(count)
    deepest = min(-np.log(float(kind.smallest_subnormal)), 700)
    scales = np.exp(rng.uniform(-40, 0, column))
    some = rng.integers(length, size=count)
    under_zero = -np.exp(rng.uniform(-20, np.log(deepest), shape))
    under_zero[first, some] = 0
    under_tiny = under_zero.copy()
    under_tiny[first, some] = rng.choice([-1, 1], count) * np.exp(rng.uniform(-90, -1, count))
    dominated = rng.uniform(-200, 0, shape)
    dominated[first, some] = np.exp(rng.uniform(-5, 6, count))
    masked = np.where(rng.random(shape) < 0.3, -np.inf, rng.normal(0, 30, shape))
    masked[:4], masked[4:8, -1:], masked[8:12, -1:] = -np.inf, np.inf, np.nan
    arrays = {
        "uniform": rng.uniform(-50, 50, shape),
        "around zero": rng.uniform(-1, 1, shape),
        "near zero": rng.uniform(-1, 1, shape) * scales,
        "under zero": under_zero,
        "under a tiny one": under_tiny,
        "one dominates": dominated,
        "equal": np.repeat(rng.normal(0, 100, column) * scales, length, 1),
        "cancelled": rng.normal(0, 1, shape) * scales - np.log(length),
        "masked": masked,
        "large": rng.normal(0, 1, shape) / scales,
        "ascending": np.sort(rng.uniform(-deepest, 0, shape), -1),
        "subnormal": np.where(np.arange(length) == some[:, None], 0, -deepest + rng.random(shape)),
    }
    with np.errstate(over="ignore", under="ignore"):
        return {name: array.astype(dtype) for name, array in arrays.items()}
