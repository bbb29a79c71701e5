"""Results of instructions on floats: Python's integers for exact ones, bounds for others."""

from __future__ import annotations

import numpy as np

from tests.simulator.ptx import exact
from tests.simulator.ptx.exact import bits_of, every, finished, flushed, rounding_of, wide, within
from tests.simulator.ptx.harness import Oracle, edges


def exactly(function, kind: str):
    """Return the oracle of an instruction that rounds once."""

    def oracle(words, *operands):
        exact_operands = (wide(flushed(words, x)) for x in operands)
        return finished(words, every(function, kind, rounding_of(words), *exact_operands), kind)

    return oracle


def testp(words, a):
    """Return whether a number is of a class; zeros are normal."""
    subnormal = (a != 0) & (np.abs(a) < np.finfo(a.dtype).tiny)
    return {
        "finite": np.isfinite(a),
        "infinite": np.isinf(a),
        "number": ~np.isnan(a),
        "notanumber": np.isnan(a),
        "normal": np.isfinite(a) & ~subnormal,
        "subnormal": subnormal,
    }[words["OP"]]


def copysign(_, a, b):
    """Return b with the sign of a, bit for bit."""
    word = np.dtype(f"u{a.dtype.itemsize}")
    sign = word.type(1 << (8 * a.dtype.itemsize - 1))
    return (b.view(word) & ~sign) | (a.view(word) & sign)


def ordered(a, b, *, greatest: bool, nan: bool):
    """Return the least or greatest of pairs, as the manual orders them."""
    first = (a < b) | ((a == b) & np.signbit(a))
    result = np.where(first != greatest, a, b)
    either, both = np.isnan(a) | np.isnan(b), np.isnan(a) & np.isnan(b)
    result = np.where(either & ~both, np.where(np.isnan(a), b, a), result)
    return np.where(either if nan else both, np.nan, result).astype(a.dtype)


def extreme(kind: str, *, greatest: bool):
    """Return the oracle of min or max of two or three operands."""

    def oracle(words, a, *others):
        result = np.abs(flushed(words, a)) if words.get("abs") == "1" else flushed(words, a)
        for other in others:
            b = np.abs(other) if words.get("abs") == "1" else other
            result = ordered(
                result, flushed(words, b), greatest=greatest, nan=words.get("NaN") == "1"
            )
        return bits_of(result, kind)

    return oracle


def xorsign(kind: str, *, greatest: bool):
    """Return the oracle of min or max of magnitudes, with the product of the signs."""

    def oracle(words, a, b):
        p, q = np.abs(flushed(words, a)), np.abs(flushed(words, b))
        result = ordered(p, q, greatest=greatest, nan=words["NaN"] == "1")
        sign = np.where(np.signbit(a) != np.signbit(b), -1, 1).astype(a.dtype)
        return bits_of(np.copysign(result, sign).astype(a.dtype), kind)

    return oracle


def negated(words, a):
    """Return the number with the other sign."""
    return -flushed(words, a)


def magnitude(words, a):
    """Return the number without its sign."""
    return np.abs(flushed(words, a))


def approximate(function, relative: float = 0.0, absolute: float = 0.0):
    """Return the oracle of an approximation of a function of f64."""

    def oracle(words, *operands):
        y = function(*(wide(flushed(words, x)) for x in operands))
        return within(words, y, operands[0].dtype, relative=relative, absolute=absolute)

    return oracle


ULP = 2.0**-23


def div_approx(words, a, b):
    """Return bounds of 2 units in the last place around a quotient; large divisors give zero."""
    result = approximate(np.divide, 2 * ULP)(words, a, b)
    lost = (np.abs(b) > 2.0**126) & np.isfinite(b)
    zero = np.where(np.isfinite(a), np.float32(0), np.float32(np.nan))
    for bound in (result.lower, result.upper):
        bound[lost] = zero[lost]
    return result


def upper_half(function):
    """Return the oracle of an approximation of f64 in its upper 32 bits."""

    def oracle(words, a):
        x = np.where(np.isnan(a), a, (a.view("u8") & np.uint64(0xFFFFFFFF00000000)).view("f8"))
        y = function(flushed(words, x))
        return within(words, y, a.dtype, relative=2.0**-20)

    return oracle


def trigonometric(function):
    """Return the oracle of a sine: close up to pi, less so up to 100 pi, beyond only in [-1, 1]."""

    def oracle(words, a):
        size = np.abs(wide(a))
        error = np.where(size <= np.pi, 2.0**-20.5, np.where(size <= 100 * np.pi, 2.0**-14.7, 2))
        return within(words, function(wide(flushed(words, a))), a.dtype, absolute=error)

    return oracle


def lg2(words, a):
    """Return bounds of a logarithm, with an absolute error from 0.5 to 2."""
    x = wide(flushed(words, a))
    absolute = np.where((x > 0.5) & (x < 2), 2.0**-22, 0)
    relative = np.where((x > 0.5) & (x < 2), 0, 2.0**-22)
    return within(words, np.log2(x), a.dtype, relative=relative, absolute=absolute)


def rsqrt(x):
    """Return 1 / sqrt(x)."""
    return 1 / np.sqrt(x)


#: Arguments of functions: of all magnitudes, and where functions have special points.
ANGLES = np.concatenate(
    [
        np.linspace(-20, 20, 801),
        np.linspace(-320, 320, 641),
        [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 1e-45, 5e-30, 1e30],
    ]
)
EXPONENTS = np.concatenate(
    [
        np.linspace(-152, 130, 2001),
        [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, -126, -127, -149, 128, 127.99999],
    ]
)


def hard_squares() -> np.ndarray:
    """Return numbers of f64 whose roots exceed numbers of f64 by less than 2**-100."""
    result = []
    for start in (1, 3):
        k = start  # k**2 is -7 modulo ever higher powers of two, up to 2**52
        for bit in range(3, 52):
            k += ((k * k + 7) >> bit & 1) << (bit - 1)
        for root in (k, 2**52 - k):
            total = 2**52 + 2 * root + ((root * root + 7) >> 52)
            result += [total * 2.0**-52] if int(float(total)) == total else []
    return np.array(result)


def of_roots(kind):
    """Return floats to take roots of."""
    more = np.random.default_rng(1).integers(0, 2**63, 200, "u8").view("f8")
    return np.concatenate([edges(kind), hard_squares(), more])


_EXACT = {
    "add": (exact.added, "{.RND}", "a, b"),
    "sub": (exact.subtracted, "{.RND}", "a, b"),
    "mul": (exact.multiplied, "{.RND}", "a, b"),
    "fma": (exact.fused, ".RND", "a, b, c"),
}

ORACLES = {
    "testp.OP.TYPE p:pred, a": testp,
    "copysign.TYPE d, a, b": copysign,
    **{
        f"{op}{rounding}{modifiers}.{kind} d, {operands}": exactly(function, kind[:3])
        for op, (function, rounding, operands) in _EXACT.items()
        for kind, modifiers in (("f32", "{.ftz}{.sat}"), ("f32x2", "{.ftz}"), ("f64", ""))
    },
    "mad.RND{.ftz}{.sat}.f32 d, a, b, c": exactly(exact.fused, "f32"),
    "mad.RND.f64 d, a, b, c": exactly(exact.fused, "f64"),
    "div.approx{.ftz}.f32 d, a, b": div_approx,
    "div.full{.ftz}.f32 d, a, b": approximate(np.divide, 2 * ULP),
    "div.RND{.ftz}.f32 d, a, b": exactly(exact.divided, "f32"),
    "div.RND.f64 d, a, b": exactly(exact.divided, "f64"),
    "abs{.ftz}.f32 d, a": magnitude,
    "abs.f64 d, a": magnitude,
    "neg{.ftz}.f32 d, a": negated,
    "neg.f64 d, a": negated,
    "min{.ftz}{.NaN}.f32 d, a, b": extreme("f32", greatest=False),
    "min{.ftz}{.NaN}.xorsign.abs.f32 d, a, b": xorsign("f32", greatest=False),
    "min{.ftz}{.NaN}{.abs}.f32 d, a, b, c": extreme("f32", greatest=False),
    "min.f64 d, a, b": extreme("f64", greatest=False),
    "max{.ftz}{.NaN}.f32 d, a, b": extreme("f32", greatest=True),
    "max{.ftz}{.NaN}.xorsign.abs.f32 d, a, b": xorsign("f32", greatest=True),
    "max{.ftz}{.NaN}{.abs}.f32 d, a, b, c": extreme("f32", greatest=True),
    "max.f64 d, a, b": extreme("f64", greatest=True),
    "rcp.approx{.ftz}.f32 d, a": approximate(np.reciprocal, ULP),
    "rcp.RND{.ftz}.f32 d, a": exactly(lambda a, *how: exact.divided(1.0, a, *how), "f32"),
    "rcp.RND.f64 d, a": exactly(lambda a, *how: exact.divided(1.0, a, *how), "f64"),
    "rcp.approx.ftz.f64 d, a": upper_half(np.reciprocal),
    "sqrt.approx{.ftz}.f32 d, a": approximate(np.sqrt, 2.0**-23),
    "sqrt.RND{.ftz}.f32 d, a": exactly(exact.root, "f32"),
    "sqrt.RND.f64 d, a": Oracle(exactly(exact.root, "f64"), {"a": of_roots}),
    "rsqrt.approx{.ftz}.f32 d, a": approximate(rsqrt, 2.0**-22.4),
    "rsqrt.approx.f64 d, a": approximate(rsqrt, 2.0**-50),
    "rsqrt.approx.ftz.f64 d, a": upper_half(rsqrt),
    "sin.approx{.ftz}.f32 d, a": Oracle(trigonometric(np.sin), {"a": ANGLES}),
    "cos.approx{.ftz}.f32 d, a": Oracle(trigonometric(np.cos), {"a": ANGLES}),
    "lg2.approx{.ftz}.f32 d, a": lg2,
    "ex2.approx{.ftz}.f32 d, a": Oracle(approximate(np.exp2, 2.0**-22), {"a": EXPONENTS}),
    "tanh.approx.f32 d, a": Oracle(approximate(np.tanh, 2.0**-11), {"a": ANGLES}),
}
