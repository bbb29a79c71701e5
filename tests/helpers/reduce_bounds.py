"""How far rounding may take what reduce computes from the exact value.

The exact value is enclosed, the enclosure follows the steps of the computation, and its ends are
rounded to the result's type: rounding is monotone, so a right result lies between them. Overflow
and underflow need no case of their own, unless the order of the elements decides about them.

Every bound comes from these facts:

- Rounding to nearest has a relative error of u, 2^-24 in float32 and 2^-53 in float64, and where
  numbers are subnormal an absolute one, of the ULPS of a function: here 3 of the least number.
- A sum is exact in any order if its terms are multiples of a step, and the absolute ones add up to
  at most 1/u steps: all subnormal numbers are.
- A term of a sum goes through ``depth`` additions. The error of a sum is gamma = depth u /
  (1 - depth u) of the sum of all absolute values, that of a product gamma for all its factors.
- CUDA documents the errors of its functions in units in the last place: ULPS. One is at most 2 u.
- log_sum_exp is log1p(expm1(m) + s) near zero, otherwise m + log1p(s exp(-m)), for the maximum m
  and the sum s of all other exponentials. Where a shift changes, by LEAST_STEP or more, sums are
  scaled by products that round twice. Rough exponentials, for 16 bits, are of rounded exponents,
  which are at most ROUGH_EXPONENT where the distance from the maximum is small. Logarithms are left
  out where a unit in the last place of the maximum is 16 or more.
- The exact value itself is computed in long double.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cudakern.values.dtypes import bfloat16
from tests.helpers.small_floats import BF16

#: From the CUDA C++ Programming Guide, single precision; double precision is not worse. That of exp
#: is 2^-22 in relation to the result where it is ex2.approx, from the PTX manual.
ULPS = {"exp": 2, "expm1": 1, "log": 1, "log1p": 1, "hypot": 3, "atan2": 3}
LEAST_STEP, ROUGH_EXPONENT = 44, 64
#: Of NumPy's pairwise sums in long double.
REFERENCE = 64 * float(np.finfo(np.longdouble).eps)
#: Relative error of a complex product in u, at most sqrt(5) (Brent, Percival, Zimmermann 2007).
COMPLEX_PRODUCT = 2.25


def depth(n):
    """Return how many additions a term of a sum of n goes through at most.

    A level of a tree has two where a state has a term of its own; trees of trees have half as many
    levels more.
    """
    return max(0, min(n - 1, 4 * n.bit_length()))


class Arithmetic:
    """What computations in float32 or float64 are like; those for 16 bits are rough."""

    def __init__(self, dtype, *, is_rough=False):
        self.dtype, self.is_rough = np.dtype(dtype), is_rough
        info = np.finfo(self.dtype)
        self.u = float(info.eps) / 2
        self.least = np.longdouble(info.smallest_subnormal)
        self.tiny = 3 * self.least
        self.largest = np.longdouble(info.max)
        self.greatest_shift = 2.0 ** (info.nmant + 4)  # units in the last place are 16 or more
        self.exponents = info.minexp, info.maxexp

    def gamma(self, steps):
        """Return the relative error after so many roundings."""
        return steps * self.u / (1 - steps * self.u)

    def ulps(self, function):
        """Return the relative error of a function."""
        return 2 * self.u * ULPS[function]


@dataclass
class Enclosure:
    """Bounds of real numbers; a NaN is due where ``nan`` is, possible where ``free`` is."""

    low: np.ndarray
    high: np.ndarray
    nan: np.ndarray
    free: np.ndarray

    @classmethod
    def around(cls, value, error=0):
        """Enclose what is off by such an error at most; infinities and NaNs are exact."""
        value = np.asarray(value, np.longdouble)
        low, high = np.where(np.isinf(value), value, [value - error, value + error])
        return cls(low, high, np.isnan(value), np.zeros(value.shape, bool))

    def map(self, function, relative=0, absolute=0):
        """Enclose a rising function that has these errors."""
        low, high = function(self.low), function(self.high)
        low = np.where(np.isinf(low), low, low - relative * abs(low) - absolute)
        high = np.where(np.isinf(high), high, high + relative * abs(high) + absolute)
        return Enclosure(low, high, self.nan, self.free)

    def rounded(self, dtype):
        """Enclose what rounding to a dtype makes of it."""
        low, high = (rounded(end, dtype) for end in (self.low, self.high))
        return Enclosure(low, high, self.nan, self.free)

    def release(self, where):
        """Let anything be possible in some places."""
        self.low = np.where(where, -np.inf, self.low)
        self.high = np.where(where, np.inf, self.high)
        self.free = self.free | where
        return self

    def has(self, found):
        """Return where values can come from a right computation."""
        found = found.astype(np.longdouble)
        inside = (self.low <= found) & (found <= self.high) & ~self.nan
        return np.where(np.isnan(found), self.nan | self.free, inside)


def rounded(values, dtype):
    """Return the nearest values of a dtype, in long double."""
    if dtype == bfloat16():
        return BF16.rounded(values).astype(np.longdouble)
    return values.astype(dtype).astype(np.longdouble)


def enclose_sum(terms, kind, relative=0, sizes=None):
    """Enclose sums of rows of terms, each of which has a relative error before it is added.

    That, and those of the additions, are in relation to ``sizes``: if there are none, to the
    absolute terms.
    """
    n = terms.shape[-1]
    finite = np.where(np.isfinite(terms), terms, 0)
    sizes = abs(finite) if sizes is None else sizes
    size = sizes.sum(-1)
    share = kind.gamma(depth(n)) + relative
    tiny = n * kind.tiny if n > 1 or relative else 0
    error = size * (share + REFERENCE * (n > 1)) + tiny
    if relative <= kind.u:  # a product that is such a multiple is not rounded either
        error = np.where(_adds_exactly(finite, size, kind), 0, error)
    result = Enclosure.around(finite.sum(-1), error).rounded(kind.dtype)
    one_sign = (sizes == finite).all(-1) | (sizes == -finite).all(-1)
    result.release((size * (1 + share) > kind.largest) & ~one_sign)
    plus, minus = (terms == np.inf).any(-1), (terms == -np.inf).any(-1)
    result.low = np.where(plus & ~result.free, np.inf, np.where(minus, -np.inf, result.low))
    result.high = np.where(minus & ~result.free, -np.inf, np.where(plus, np.inf, result.high))
    result.nan = np.isnan(terms).any(-1) | plus & minus
    return result


def _adds_exactly(terms, size, kind):
    """Return where no order of the additions rounds, for sums of the absolute terms."""
    step = np.maximum(np.ldexp(np.longdouble(kind.u), np.frexp(size)[1]), kind.least)[..., None]
    return (np.rint(terms / step) * step == terms).all(-1)


def _spread(factors):
    """Return the logarithms of the largest and of the least partial product in any order."""
    finite = np.isfinite(factors) & (factors != 0)
    logs = np.log2(np.where(finite, abs(factors), 1))
    return np.where(logs > 0, logs, 0).sum(-1), np.where(logs < 0, logs, 0).sum(-1)


def enclose_product(factors, kind):
    """Enclose products of rows of real numbers."""
    n = factors.shape[-1]
    up, down = _spread(factors)
    least, most = kind.exponents
    infinite, zero = np.isinf(factors).any(-1), (factors == 0).any(-1)
    value = np.where(np.isinf(factors), np.sign(factors), factors).prod(-1)
    error = abs(value) * (kind.gamma(max(n - 1, 0)) + n * REFERENCE) + n * kind.tiny * (
        down <= least
    )
    result = Enclosure.around(
        np.where(infinite, value * np.inf, value), np.where(zero, 0, error)
    ).rounded(kind.dtype)
    over, under = up >= most - 1, down <= least + 1
    result.release((over & (down < 0)) | (under & (up > 0)) | (over & zero) | (under & infinite))
    result.nan = np.isnan(factors).any(-1) | zero & infinite
    return result


def enclose_complex_product(factors, kind):
    """Enclose real and imaginary parts of products of rows, where no order overflows."""
    n = factors.shape[-1]
    up, down = _spread(factors)
    # The square of a part must not be subnormal, nor its error count.
    least, most = (end // 2 for end in kind.exponents)
    exact = ((factors != 1) & (factors != -1)).sum(-1) <= 1
    unsure = ~np.isfinite(factors).all(-1) | ~exact & ((up >= most) | (down <= least))
    value = factors.prod(-1)
    error = abs(value) * (kind.gamma(COMPLEX_PRODUCT * max(n - 1, 0)) + n * REFERENCE) * ~exact
    return [
        Enclosure.around(part, error).rounded(kind.dtype).release(unsure)
        for part in (value.real, value.imag)
    ]


def enclose_log(total, kind):
    """Enclose the logarithm of a sum."""
    result = total.map(lambda end: np.log(np.maximum(end, 0)), kind.ulps("log"), kind.tiny)
    result.nan = result.nan | (total.high < 0)
    result.free = result.free | (total.low < 0)
    return result


def enclose_complex_log(real, imaginary, kind):
    """Enclose real and imaginary parts of the principal value of the logarithm of a sum."""
    parts = real, imaginary
    middle = [(part.low + part.high) / 2 for part in parts]
    spread = np.hypot(*[(part.high - part.low) / 2 for part in parts])
    size = np.hypot(*middle)
    near_zero = spread >= size
    off = np.where(near_zero, 0, spread / np.where(near_zero, 1, size - spread))
    log, angle = np.log(size), np.arctan2(middle[1], middle[0])
    log_error = off + kind.ulps("hypot") + kind.ulps("log") * abs(log) + kind.tiny
    angle_error = off + kind.ulps("atan2") * abs(angle) + kind.tiny
    # On both sides of the negative real axis the angles are 2 pi apart.
    angle_error += 7 * ((real.low < 0) & (imaginary.low <= 0) & (imaginary.high >= 0))
    results = [Enclosure.around(log, log_error), Enclosure.around(angle, angle_error)]
    unsure = real.nan | imaginary.nan | ~(size + spread < kind.largest)
    zero = (size == 0) & (spread == 0)
    results[0].release(unsure | near_zero & ~zero)
    results[1].release(unsure | near_zero)
    return results


def enclose_log_sum_exp(x, kind):
    """Enclose the logarithm of the sum of the exponentials of each row."""
    n = x.shape[-1]
    if n == 0:
        return Enclosure.around(np.full(x.shape[:-1], -np.inf))
    places = np.argmax(x, -1, keepdims=True)  # of NaN, if there is one
    top = np.take_along_axis(x, places, -1)[..., 0]
    decided = ~np.isfinite(top)  # the result is the maximum itself
    below = np.where(decided[..., None], 0, np.where(decided, 0, top)[..., None] - x)
    terms = np.exp(-below)
    np.put_along_axis(terms, places, 0, -1)
    rest = terms.sum(-1)
    far = np.where(np.isfinite(below), below * terms, 0).sum(-1)
    log = np.log1p(rest)
    value = top + np.where(decided, 0, log)
    size, height = (np.where(decided, 0, abs(number)) for number in (value, top))
    error = rest * (kind.gamma(depth(n) + 5) + 2 * kind.ulps("exp") + REFERENCE)
    error += far * kind.gamma(2) / LEAST_STEP
    if kind.is_rough:
        error += kind.u * (rest * (ROUGH_EXPONENT + 3 * height) + 3 * far)
    error /= 1 + rest
    near = top > -1
    error += kind.ulps("log1p") * np.where(near, size, log) + kind.u * size
    error += near * (kind.ulps("expm1") + kind.u) * 3 * np.minimum(height, 1)
    error = np.where(height >= kind.greatest_shift, log + kind.u * size, error) + kind.tiny
    return Enclosure.around(value, np.where(decided, 0, error)).rounded(kind.dtype)
