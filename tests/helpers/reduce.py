"""What reduce must compute: all of it exactly, but for what logarithms and hypotenuses round.

Those, and sums and products in any order, lie between two bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from cudakern.operators.arrays import native
from tests.helpers.places import get
from tests.helpers.reduce_bounds import (
    Arithmetic,
    Enclosure,
    enclose_complex_log,
    enclose_complex_product,
    enclose_log,
    enclose_log_sum_exp,
    enclose_product,
    enclose_sum,
)
from tests.helpers.reduce_tree import (
    COMPLEX,
    FLOATS,
    INTEGERS,
    category,
    number_of,
    part_of,
    results,
    same_numbers,
    state_of,
    walked,
)

FUNCTIONS = [
    "argmax", "argmin", "average", "l1", "l2", "log_sum", "log_sum_exp", "max", "min", "multiply",
    "sum", "sum_square",
]  # fmt: skip
POSITIONS = {"argmax", "argmin"}
#: Functions that have no value for no elements.
EXTREMES = POSITIONS | {"max", "min"}
#: What the others are of no elements.
OF_NOTHING = {"sum": 0, "l1": 0, "l2": 0, "sum_square": 0, "multiply": 1, "log_sum": -np.inf,
              "log_sum_exp": -np.inf, "average": np.nan}  # fmt: skip
#: Functions that give no integers.
FLOATING = {"average", "l2", "log_sum", "log_sum_exp"}


def result_dtype(function, dtype):
    """Return the dtype of a result if none is asked for."""
    dtype = np.dtype(dtype)
    if function in POSITIONS:
        return np.dtype(np.int64)
    if function in FLOATING and category(dtype) <= INTEGERS:
        return np.dtype(np.float64)
    if function in {"sum", "l1", "sum_square"} and dtype.kind == "b":
        return np.dtype(np.int64)
    return dtype


def is_legal(function, dtype):
    """Return whether a function takes a dtype."""
    return function != "log_sum_exp" or category(np.dtype(dtype)) < COMPLEX


@dataclass
class Expected:
    """The results that are right: of a dtype, and those, or between bounds for each real part."""

    dtype: np.dtype
    shape: tuple[int, ...]
    parts: list[Enclosure] | np.ndarray

    def wrong(self, result):
        """Return where a result is not right; of another dtype or shape, everywhere."""
        found = np.array(get(result))
        if (found.dtype, found.shape) != (self.dtype, self.shape):
            return np.ones(self.shape, bool)
        found = found.reshape(-1)
        if isinstance(self.parts, np.ndarray):
            return ~same_numbers(found, self.parts).reshape(self.shape)
        parts = [found.real, found.imag] if found.dtype.kind == "c" else [found]
        right = [part.has(values) for part, values in zip(self.parts, parts, strict=True)]
        return ~np.all(right, axis=0).reshape(self.shape)

    def assert_is(self, result):
        """Raise AssertionError unless a result is right."""
        found = np.array(get(result))
        assert (found.dtype, found.shape) == (self.dtype, self.shape)
        wrong = self.wrong(found)
        if wrong.any():
            at = np.flatnonzero(wrong)[0]
            where, value = np.unravel_index(at, self.shape), found.reshape(-1)[at]
            found = f"{wrong.sum()} are wrong, the first at {where} is {value!r}"
            message = f"{found}, not {self._right(at)}"
            raise AssertionError(message)

    def _right(self, at):
        """Return a result, or its bounds, in words."""
        if isinstance(self.parts, np.ndarray):
            return repr(self.parts[at])
        return "in " + ", ".join(f"[{part.low[at]!r}, {part.high[at]!r}]" for part in self.parts)


def reduce(
    x,
    function,
    axis=None,
    *,
    keepdims=False,
    dtype=None,
    nan="propagate",
    last_index=False,
    initial=None,
    any_order=False,
):
    """Return what `cudakern.reduce` may return for an array.

    In any order, it may combine elements as it likes, not as they lie in the array's memory.
    """
    x = _as_read(x)
    dtype = result_dtype(function, x.dtype) if dtype is None else np.dtype(dtype)
    given = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = sorted(d % x.ndim for d in given)
    kept = [d for d in range(x.ndim) if d not in axes]
    shape = tuple(1 if d in axes else n for d, n in enumerate(x.shape) if keepdims or d not in axes)
    size = prod(x.shape[d] for d in kept), prod(x.shape[d] for d in axes)
    initial = None if initial is None else np.array(initial, dtype)
    with np.errstate(all="ignore"):
        if not any_order and 0 not in size and has_order(function, x.dtype, dtype):
            parts = _in_order(walked(x, axes).reshape(size), function, dtype, initial)
        else:
            rows = np.ascontiguousarray(x.transpose(*kept, *axes)).reshape(size)
            parts = _reduce_rows(rows, function, dtype, nan, last_index, initial)
        return Expected(dtype, shape, parts)


def _as_read(x):
    """Return elements on the host, laid out as kernels read them: misaligned ones row by row."""
    x = x if hasattr(x, "dtype") else np.asarray(x)
    is_aligned = native.layout_of(x, native.address_of(x)).is_aligned
    return get(x) if is_aligned else get(x).copy()


def has_order(function, kind, dtype):
    """Return whether the order of combinations decides about results but for a logarithm's bits."""
    of_hypotenuses = function == "l1" and category(kind) == COMPLEX
    is_exact = function in EXTREMES or category(dtype) <= INTEGERS
    return not (is_exact or of_hypotenuses or function == "log_sum_exp")


def _in_order(rows, function, dtype, initial):
    """Return the results of trees; of logarithms of sums, enclosures."""
    if function != "log_sum":
        return results(rows, function, dtype, initial)
    arithmetic = _arithmetic(rows.dtype, dtype)
    total = state_of(rows, function, dtype)
    if total.dtype.kind != "c":
        return _converted([enclose_log(Enclosure.around(total), arithmetic)], dtype)
    parts = [Enclosure.around(part) for part in (total.real, total.imag)]
    return _converted(enclose_complex_log(*parts, arithmetic), dtype)


def _arithmetic(kind, dtype):
    """Return what is computed in for elements of a dtype and a result of another."""
    return Arithmetic(number_of(kind, dtype), is_rough=dtype.itemsize == 2)


def _reduce_rows(rows, function, dtype, nan, last_index, initial):
    kind = rows.dtype
    if category(kind) == FLOATS:
        rows = rows.astype(np.longdouble)
    if rows.shape[0] == 0:
        return np.empty(0, dtype)
    if function in EXTREMES and initial is not None:
        return _extremes_from(rows, function, dtype, nan, initial)
    if function in EXTREMES:
        return _extremes(rows, function, dtype, nan, last_index=last_index)
    if category(dtype) <= INTEGERS:
        return _integers(rows, function, initial).astype(dtype)
    arithmetic = _arithmetic(kind, dtype)
    if category(kind) == COMPLEX:
        rows = rows.astype(np.clongdouble)
    elif category(kind) <= INTEGERS:
        rows = rows.astype(np.float64).astype(np.longdouble)
    if initial is not None:  # one more element
        wide = initial.astype(np.clongdouble if dtype.kind == "c" else np.longdouble)
        rows = np.concatenate([rows, np.full((len(rows), 1), wide)], 1)
    if rows.dtype.kind == "c":
        return _converted(_complex(rows, function, arithmetic), dtype)
    return _converted([_real(rows, function, arithmetic)], dtype)


def _converted(parts, dtype):
    """Return enclosures of the real parts of a dtype's elements."""
    if dtype.kind == "c" and len(parts) == 1:
        parts.append(Enclosure.around(np.zeros(parts[0].low.shape)))
    return [part.rounded(part_of(dtype)) for part in parts]


def _extremes(rows, function, dtype, nan, *, last_index):
    """Return positions or values, the latter converted as a C cast does."""
    if rows.dtype.kind == "c" and function in POSITIONS:
        rows = _ranks(rows)
    if rows.dtype.kind == "c":
        found = _first_extremes(rows, function, nan)
        found[np.isnan(rows).all(-1) & (nan == "ignore")] = complex(np.nan, np.nan)
        return _parts(found.astype(dtype))
    highest = function in {"argmax", "max"}
    is_nan = rows != rows  # noqa: PLR0124  there are none among integers
    if is_nan.any():
        rows = np.where(is_nan, -np.inf if highest else np.inf, rows)
    best = (rows.max if highest else rows.min)(-1)
    propagated = is_nan.any(-1) & (nan == "propagate")
    if function in POSITIONS:
        matches = (rows == best[:, None]) & ~is_nan
        matches = np.where(propagated[:, None], is_nan, matches)
        last = rows.shape[-1] - 1 - matches[:, ::-1].argmax(-1)
        position = last if last_index else matches.argmax(-1)
        return np.where(matches.any(-1), position, 0).astype(dtype)
    if category(dtype) <= INTEGERS:
        return best.astype(dtype)
    value = np.where(propagated | is_nan.all(-1), np.nan, best.astype(np.longdouble))
    return _converted([Enclosure.around(value)], dtype)


def _extremes_from(rows, function, dtype, nan, initial):
    """Return the larger or smaller of extremes, as a dtype has them, and of an initial value."""
    whole = category(dtype) <= INTEGERS
    start = np.full(len(rows), initial if whole or dtype.kind == "c" else np.longdouble(initial))
    if rows.shape[1] == 0:
        found = start
    else:
        values = _extremes(rows, function, dtype, nan, last_index=False)
        values = values if whole else [np.where(p.nan, np.nan, p.low) for p in values]
        if dtype.kind == "c":  # of equal ones and of NaNs, the initial value
            found = np.empty(len(rows), dtype)
            found.real, found.imag = values
            found = _first_extremes(np.stack([start, found], 1), function, nan)
        else:
            choose = {"max": (np.maximum, np.fmax), "min": (np.minimum, np.fmin)}[function]
            found = choose[nan == "ignore"](values if whole else values[0], start)
    if dtype.kind == "c":
        return _parts(found)
    return found if whole else _converted([Enclosure.around(found)], dtype)


def _parts(numbers):
    """Return enclosures of complex numbers that are exact."""
    return [Enclosure.around(part) for part in (numbers.real, numbers.imag)]


def _ranks(rows):
    """Return numbers that have the order of complex ones: by real, then by imaginary parts."""
    pairs = np.stack([rows.real, rows.imag], -1).reshape(-1, 2) + 0.0  # of -0, 0
    is_nan = np.isnan(pairs).any(-1)
    pairs[is_nan] = 0
    _, ranks = np.unique(pairs, axis=0, return_inverse=True)
    return np.where(is_nan, np.nan, ranks.reshape(-1)).reshape(rows.shape)


def _first_extremes(rows, function, nan):
    """Return the first largest or smallest complex number of each row; if all are NaN, that one."""
    places = _extremes(_ranks(rows), f"arg{function}", np.dtype(int), nan, last_index=False)
    return np.take_along_axis(rows, places[:, None], 1)[:, 0]


def _integers(rows, function, initial):
    """Return sums and products modulo 2^64, whose low bits are those modulo less."""
    if function == "l1" and rows.dtype.kind == "i":
        rows = abs(rows).view(f"u{rows.itemsize}")  # 128 of the int8 -128
    rows = _modulo(rows)
    operation = np.multiply if function == "multiply" else np.add
    total = operation.reduce(rows * rows if function == "sum_square" else rows, -1, dtype=np.uint64)
    return total if initial is None else operation(total, _modulo(initial))


def _modulo(values):
    """Return integers modulo 2^64."""
    signed = values.dtype.kind == "i"
    return (values.astype(np.int64) if signed else values).astype(np.uint64)


def _real(rows, function, arithmetic):
    """Enclose a function of rows of real numbers."""
    n = rows.shape[-1]
    if function == "multiply":
        return enclose_product(rows, arithmetic)
    if function == "log_sum_exp":
        return enclose_log_sum_exp(rows, arithmetic)
    if function in {"l2", "sum_square"}:
        total = enclose_sum(rows * rows, arithmetic, arithmetic.u)
    else:
        total = enclose_sum(abs(rows) if function == "l1" else rows, arithmetic)
    if function == "average":
        return _average(total, n, arithmetic)
    if function == "l2":
        return total.map(lambda end: np.sqrt(np.maximum(end, 0)), arithmetic.u)
    return enclose_log(total, arithmetic) if function == "log_sum" else total


def _average(total, n, arithmetic):
    """Enclose a quotient; n itself may be rounded."""
    if n == 0:
        return Enclosure.around(np.full(total.low.shape, np.nan))
    rounds = n & (n - 1) != 0  # before the result is subnormal, or of fewer bits
    quotient = total.map(
        lambda end: end / np.longdouble(n), 2 * arithmetic.u * rounds, arithmetic.tiny * rounds
    )
    return quotient.rounded(arithmetic.dtype)


def _complex(rows, function, arithmetic):
    """Enclose real and imaginary parts of a function of rows of complex numbers."""
    n, u = rows.shape[-1], arithmetic.u
    real, imaginary = rows.real, rows.imag
    if function == "multiply":
        return enclose_complex_product(rows, arithmetic)
    if function == "l1":
        sizes = np.hypot(real, imaginary)
        return [enclose_sum(sizes, arithmetic, arithmetic.ulps("hypot"))]
    squares = real * real + imaginary * imaginary
    if function == "l2":
        total = enclose_sum(squares, arithmetic, 2 * u)
        return [total.map(lambda end: np.sqrt(np.maximum(end, 0)), u)]
    if function == "sum_square":
        parts = (rows * rows).real, (rows * rows).imag
        unsure = ~np.isfinite(rows).all(-1)
        return [enclose_sum(part, arithmetic, 2 * u, squares).release(unsure) for part in parts]
    parts = [enclose_sum(part, arithmetic) for part in (real, imaginary)]
    if function == "average":
        return [_average(part, n, arithmetic) for part in parts]
    return enclose_complex_log(*parts, arithmetic) if function == "log_sum" else parts
