"""What reduce must give, bit for bit: the balanced binary tree over the elements of a row.

Neighbours are combined, then neighbours of these, and so on; an odd one passes up. An initial value
is combined last, and a result is rounded once. Rows lie along the last axis.

Nothing says which bits a logarithm, an exponential or a hypotenuse has: there are only the trees in
front of logarithms here, and those of NumPy's hypotenuses.
"""

from __future__ import annotations

import ctypes

import numpy as np

from cudakern.values.dtypes import bfloat16
from cudakern.values.layout import Dimension, merge, sort_for_walk
from tests.helpers.small_floats import BF16

INTEGERS, FLOATS, COMPLEX = 1, 2, 3
WIDE = {np.dtype("float64"), np.dtype("complex128")}
_libm = ctypes.CDLL("libm.so.6")
_libm.fma.restype, _libm.fma.argtypes = ctypes.c_double, [ctypes.c_double] * 3
_fma_of_doubles = np.frompyfunc(_libm.fma, 3, 1)


def category(dtype):
    """Return 0 for bool, 1 for integers, 2 for floats, 3 for complex numbers."""
    return FLOATS if dtype == bfloat16() else {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}[dtype.kind]


def part_of(dtype):
    """Return the dtype of the parts of a complex dtype; another one itself."""
    dtype = np.dtype(dtype)
    return np.empty(0, dtype).real.dtype if dtype.kind == "c" else dtype


def number_of(kind, result):
    """Return what is computed in for elements of a dtype and a result of another: of its parts."""
    wide = category(kind) <= INTEGERS or not WIDE.isdisjoint({kind, result})
    return np.dtype(np.float64 if wide else np.float32)


def complex_of(real, imaginary):
    """Return complex numbers of these parts."""
    numbers = np.empty(real.shape, np.result_type(real.dtype, np.complex64))
    numbers.real, numbers.imag = real, imaginary
    return numbers


def fma(a, b, c):
    """Return a * b + c, rounded once."""
    if a.dtype == np.float64:
        return np.asarray(_fma_of_doubles(a, b, c), np.float64)
    a, b, c = (np.asarray(x, np.float64) for x in (a, b, c))
    product = a * b  # exact, as is every rounding to odd that is rounded to fewer bits
    total = product + c
    tail = total - product
    error = (product - (total - tail)) + (c - tail)
    is_even = np.asarray(total).view(np.int64) & 1 == 0
    inside = np.isfinite(error) & (error != 0) & is_even
    return np.where(inside, np.nextafter(total, np.copysign(np.inf, error)), total).astype("f4")


def product(a, b):
    """Return a * b as kernels compute it."""
    if a.dtype.kind != "c":
        return a * b
    real = fma(a.real, b.real, -(a.imag * b.imag))
    return complex_of(real, fma(a.real, b.imag, a.imag * b.real))


def tree(states, combine=np.add):
    """Return what states next to each other are combined to."""
    while states.shape[-1] > 1:
        even = states.shape[-1] // 2 * 2
        pairs = combine(states[..., 0:even:2], states[..., 1:even:2])
        states = np.concatenate([pairs, states[..., even:]], -1)
    return states[..., 0]


def leaves(rows, function, result):
    """Return the states of elements."""
    number = number_of(rows.dtype, np.dtype(result))
    if rows.dtype.kind != "c":
        x = rows.astype(number)
        return x * x if function in {"l2", "sum_square"} else abs(x) if function == "l1" else x
    re, im = rows.real.astype(number), rows.imag.astype(number)
    if function == "l1":
        return np.hypot(re, im)
    if function == "l2":
        return fma(re, re, im * im)
    x = complex_of(re, im)
    return product(x, x) if function == "sum_square" else x


def state_of(rows, function, result):
    """Return the states of rows: what is left to do is the root, the quotient or the logarithm."""
    combine = product if function == "multiply" else np.add
    return tree(leaves(rows, function, result), combine)


def finished(state, function, count):
    """Return the results of states of ``count`` elements, before they are rounded."""
    if function == "l2":
        return np.sqrt(state)
    if function != "average":
        return state
    n = part_of(state.dtype).type(count)
    return complex_of(state.real / n, state.imag / n) if state.dtype.kind == "c" else state / n


def rounded_to(values, dtype):
    """Return values as a dtype has them, rounded once."""
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        part = part_of(dtype)
        return complex_of(values.real.astype(part), values.imag.astype(part))
    return (BF16.rounded(values) if dtype == bfloat16() else values).astype(dtype)


def combined_with(values, function, initial):
    """Return what values give with an initial value of the result's dtype behind them."""
    initial = np.asarray(initial)
    number = part_of(values.dtype)
    if initial.dtype.kind == "c":
        number = np.result_type(number, np.complex64)
        values = rounded_to(values, number)
    behind = np.broadcast_to(rounded_to(initial, number), values.shape)
    return product(values, behind) if function == "multiply" else values + behind


def results(rows, function, result, initial=None):
    """Return the results of rows of elements: floats and complex numbers of a dtype."""
    with np.errstate(all="ignore"):
        found = finished(state_of(rows, function, result), function, rows.shape[-1])
        found = found if initial is None else combined_with(found, function, initial)
        return rounded_to(found, result)


def walked(x, axes):
    """Return the elements of an array along some axes as rows, in the order that they lie in.

    The longest strides of the reduced axes come first, behind those of zero.
    """
    kept = [d for d in range(x.ndim) if d not in axes]
    given = merge(Dimension(x.shape[d], (x.strides[d],)) for d in axes)
    along = merge(sort_for_walk(given))
    shape = [*(x.shape[d] for d in kept), *(d.size for d in along)]
    strides = [*(x.strides[d] for d in kept), *(d.strides[0] for d in along)]
    view = np.lib.stride_tricks.as_strided(x, shape, strides, writeable=False)
    return view.reshape(*(x.shape[d] for d in kept), -1) if x.size else view


def same_numbers(found, expected):
    """Return where numbers have the same bits, but for those of NaN."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.dtype.kind == "c":
        parts = [(found.real, expected.real), (found.imag, expected.imag)]
        return np.all([same_numbers(*pair) for pair in parts], 0)
    bits = f"u{found.itemsize}"
    same = np.ascontiguousarray(found).view(bits) == np.ascontiguousarray(expected).view(bits)
    same = same.reshape(found.shape)
    if category(found.dtype) < FLOATS:
        return same
    return same | (np.isnan(found) & np.isnan(expected))
