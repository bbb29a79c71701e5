"""Arithmetic that rounds once, by Python's integers, for the oracles of floats.

A finite float is an integer times a power of two, and so are results. In those of divisions and
roots, the last bit stands for all bits that follow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from tests.simulator.ptx.harness import DTYPES, Within


@dataclass(frozen=True)
class Format:
    """A format of floats: bits of precision, exponents of the largest and least normal numbers."""

    precision: int
    largest: int
    least: int


FORMATS = {
    "f16": Format(11, 15, -14),
    "bf16": Format(8, 127, -126),
    "tf32": Format(11, 127, -126),
    "f32": Format(24, 127, -126),
    "f64": Format(53, 1023, -1022),
}
#: The bits of the NaN that instructions return; f64 has no particular one.
NAN_BITS = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF}


def parts(x: float) -> tuple[int, int]:
    """Return a finite float as an integer and the exponent of its last bit."""
    numerator, denominator = x.as_integer_ratio()
    return numerator, 1 - denominator.bit_length()


def nearest(m: int, e: int, kind: str, rounding: str) -> float:
    """Return ``m * 2**e``, rounded to a format; m is not 0."""
    form, size = FORMATS[kind], abs(m)
    last = max(size.bit_length() + e - form.precision, form.least - form.precision + 1)
    if last > e:
        whole, rest, half = size >> (last - e), size & ((1 << (last - e)) - 1), 1 << (last - e - 1)
        up = {
            "rn": rest > half or (rest == half and whole & 1),
            "rna": rest >= half,
            "rz": False,
            "rm": rest and m < 0,
            "rp": rest and m > 0,
        }[rounding]
        whole += bool(up)
    else:
        whole = size << (e - last)
    if whole.bit_length() + last > form.largest + 1:
        grows = rounding in {"rn", "rna"} or rounding == ("rm" if m < 0 else "rp")
        edge = math.ldexp((1 << form.precision) - 1, form.largest - form.precision + 1)
        return (math.inf if grows else edge) * (1 if m > 0 else -1)
    return math.ldexp(whole, last) * (1 if m > 0 else -1)


def fused(a: float, b: float, c: float, kind: str, rounding: str) -> float:
    """Return ``a * b + c``."""
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        if math.isfinite(a) and math.isfinite(b):
            return c
        return float(np.float64(a) * np.float64(b) + np.float64(c))
    (m, e), (n, f), (k, g) = parts(a), parts(b), parts(c)
    unit = min(e + f, g)
    total = (m * n << (e + f - unit)) + (k << (g - unit))
    if total:
        return nearest(total, unit, kind, rounding)
    sign = math.copysign(1, a) * math.copysign(1, b)
    if sign == math.copysign(1, c) and not k and not m * n:
        return c
    return -0.0 if rounding == "rm" else 0.0


def added(a: float, b: float, kind: str, rounding: str) -> float:
    """Return ``a + b``."""
    return fused(a, 1.0, b, kind, rounding)


def subtracted(a: float, b: float, kind: str, rounding: str) -> float:
    """Return ``a - b``."""
    return fused(a, 1.0, -b, kind, rounding)


def multiplied(a: float, b: float, kind: str, rounding: str) -> float:
    """Return ``a * b``."""
    if not (a and b and math.isfinite(a) and math.isfinite(b)):
        return float(np.float64(a) * np.float64(b))
    (m, e), (n, f) = parts(a), parts(b)
    return nearest(m * n, e + f, kind, rounding)


def divided(a: float, b: float, kind: str, rounding: str) -> float:
    """Return ``a / b``."""
    if not (a and b and math.isfinite(a) and math.isfinite(b)):
        return float(np.float64(a) / np.float64(b))
    (m, e), (n, f) = parts(a), parts(b)
    scale = max(0, n.bit_length() - m.bit_length()) + 64
    whole, rest = divmod(abs(m) << scale, abs(n))
    sign = -1 if (m < 0) != (n < 0) else 1
    return nearest(sign * (2 * whole + bool(rest)), e - f - scale - 1, kind, rounding)


def root(a: float, kind: str, rounding: str) -> float:
    """Return the square root of ``a``."""
    if not (a > 0 and math.isfinite(a)):
        return float(np.sqrt(np.float64(a)))
    m, e = parts(a)
    scale = 128 + (e & 1)
    whole = math.isqrt(m << scale)
    rest = whole * whole != m << scale
    return nearest(2 * whole + rest, (e - scale) // 2 - 1, kind, rounding)


def converted(a: float, kind: str, rounding: str) -> float:
    """Return ``a`` in another format."""
    if not (a and math.isfinite(a)):
        return a
    return nearest(*parts(a), kind, rounding)


def from_integer(n: int, kind: str, rounding: str) -> float:
    """Return an integer as a float."""
    return nearest(n, 0, kind, rounding) if n else 0.0


def every(function, kind: str, rounding: str, *operands) -> np.ndarray:
    """Return a function's results for arrays of operands as an array of a type."""
    lists = [np.asarray(x).ravel().tolist() for x in operands]
    lists = [[float(v) for v in x] if isinstance(x[0], float) else x for x in lists]
    result = [function(*values, kind, rounding) for values in zip(*lists, strict=True)]
    return np.array(result).reshape(np.shape(operands[0])).astype(DTYPES[kind])


# Modifiers


def wide(x: np.ndarray) -> np.ndarray:
    """Return floats as Python floats."""
    return x.astype(np.float64)


def rounding_of(words) -> str:
    """Return the rounding that an instruction names, or the nearest."""
    return words.get("RND", "none").replace("none", "rn")


def flushed(words, x: np.ndarray) -> np.ndarray:
    """Return zeros for subnormal numbers, if the spelling says so."""
    if words.get("ftz") != "1":
        return x
    tiny = ml_dtypes.finfo(x.dtype).smallest_normal
    return np.where(np.abs(x) < tiny, np.copysign(x.dtype.type(0), x), x).astype(x.dtype)


def saturated(words, x: np.ndarray) -> np.ndarray:
    """Return numbers from +0 to 1, and +0 for NaN, if the spelling says so."""
    if words.get("sat") != "1":
        return x
    return np.where(x > 0, np.minimum(x, x.dtype.type(1)), x.dtype.type(0)).astype(x.dtype)


def bits_of(x: np.ndarray, kind: str) -> np.ndarray:
    """Return the bits of floats, with NaN as instructions return it."""
    bits = np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}")
    return np.where(np.isnan(x), bits.dtype.type(NAN_BITS[kind]), bits) if kind in NAN_BITS else x


def finished(words, x: np.ndarray, kind: str) -> np.ndarray:
    """Return the bits that an exact instruction stores."""
    return bits_of(saturated(words, flushed(words, x)), kind)


def within(words, y: np.ndarray, dtype, *, relative=0.0, absolute=0.0) -> Within:
    """Return bounds around exact results in f64, widened by half a unit in the last place."""
    info = ml_dtypes.finfo(dtype)
    tiny, largest = float(info.smallest_normal), float(info.max)
    step = float(info.smallest_subnormal)
    error = np.abs(y) * (relative + float(info.eps) / 2) + absolute + step
    lower, upper = (np.where(np.isinf(y), y, edge) for edge in (y - error, y + error))
    if words.get("ftz") == "1":
        lower = np.where((np.abs(lower) < tiny) & (lower > 0), 0, lower)
        upper = np.where((np.abs(upper) < tiny) & (upper < 0), 0, upper)
    lower = np.where((lower > largest) & ~np.isinf(y), largest, lower)
    upper = np.where((upper < -largest) & ~np.isinf(y), -largest, upper)
    return Within(lower.astype(dtype), upper.astype(dtype))
