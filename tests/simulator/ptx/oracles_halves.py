"""Results of instructions on halves: Python's integers for exact ones, bounds for others."""

from __future__ import annotations

import numpy as np

from tests.simulator.ptx import exact
from tests.simulator.ptx.exact import bits_of, every, finished, flushed, rounding_of, wide, within
from tests.simulator.ptx.harness import DTYPES, Oracle
from tests.simulator.ptx.oracles_compare import LOGIC
from tests.simulator.ptx.oracles_compare import compare as compared
from tests.simulator.ptx.oracles_floats import ANGLES, EXPONENTS, extreme, xorsign


def exactly(function):
    """Return the oracle of an instruction that rounds once, in f16 or bf16."""

    def oracle(words, *operands):
        kind = words["TYPE"].removesuffix("x2")
        wide_operands = (wide(flushed(words, x)) for x in operands)
        result = flushed(words, every(function, kind, "rn", *wide_operands))
        if words.get("relu") == "1":
            is_negative = np.signbit(result) & ~np.isnan(result)
            result = np.where(is_negative, 0, result).astype(result.dtype)
        return finished(words, result, kind)

    return oracle


def mixed(function):
    """Return the oracle of an instruction on f32 whose first operands are halves."""

    def oracle(words, *operands):
        result = every(function, "f32", rounding_of(words), *map(wide, operands))
        return finished(words, result, "f32")

    return oracle


def of_kind(make, **options):
    """Return the oracle of an instruction, which makes one for the kind of half."""
    return lambda words, *x: make(words["TYPE"].removesuffix("x2"), **options)(words, *x)


def negated(words, a):
    """Return the number with the other sign."""
    return bits_of(-flushed(words, a), words["TYPE"].removesuffix("x2"))


def magnitude(words, a):
    """Return the number without its sign."""
    return bits_of(np.abs(flushed(words, a)), words["TYPE"].removesuffix("x2"))


def approximate(function, **errors):
    """Return the oracle of an approximation, with an error for each kind of half."""

    def oracle(words, a):
        flush = {"ftz": "1"} if "ftz" in words else {}
        error = errors[words["TYPE"].removesuffix("x2")]
        return within(flush, function(wide(flushed(flush, a))), a.dtype, **error)

    return oracle


def pairs(values):
    """Return a function that gives values for halves and for pairs of them."""
    return lambda kind: np.stack([values, values[::-1]], 1) if kind.endswith("x2") else values


def compare(words, *operands):
    """Compare; bf16 is compared as f32, since NumPy does not know it as a float."""
    result = (x.astype("f4") if x.dtype == DTYPES["bf16"] else x for x in operands)
    return compared(words, *result)


def set_half(half):
    """Return the oracle of set whose result is a half: 1.0 or 0."""
    one = {"f16": 0x3C00, "bf16": 0x3F80}[half]

    def oracle(words, a, b, *c):
        result = compare(words, a, b)
        if c:
            chosen = c[0] if result.ndim == 1 else c[0][:, None]
            result = LOGIC[words["BOOL"]](result, chosen)
        return np.where(result, np.uint16(one), np.uint16(0))

    return oracle


def set_integer(words, a, b, *c):
    """Return all ones where a comparison is true."""
    result = compare(words, a, b)
    result = LOGIC[words["BOOL"]](result, c[0]) if c else result
    return np.where(result, -1, 0).astype(f"i{int(words['RESULT'][1:]) // 8}")


def set_word(words, a, b, *c):
    """Return a word with all ones in the halves where a comparison is true."""
    result = compare(words, a, b)
    result = LOGIC[words["BOOL"]](result, c[0][:, None]) if c else result
    return np.where(result, np.uint16(0xFFFF), np.uint16(0)).view("u4")[:, 0]


def setp(words, a, b, *c):
    """Return a comparison, or one for each half."""
    result = compare(words, a, b)
    if result.ndim == 1:
        return LOGIC[words["BOOL"]](result, c[0]) if c else result
    return tuple(LOGIC[words["BOOL"]](x, c[0]) if c else x for x in result.T)


def _comparisons():
    for half, ftz in (("f16", "{.ftz}"), ("bf16", "")):
        pair = f"{half}x2"
        rows = {
            f"set.CMP.{half}.SRC d:{half}, a:SRC, b:SRC": set_half(half),
            f"set.CMP{ftz}.{half}.SRC d:{half}, a:SRC, b:SRC": set_half(half),
            f"set.CMP{ftz}.RESULT.{half} d:RESULT, a, b": set_integer,
            f"set.CMP{ftz}.{pair}.{pair} d, a, b": set_half(half),
            f"set.CMP{ftz}.RESULT.{pair} d:RESULT, a, b": set_word,
            f"setp.CMP{ftz}.{half} p:pred, a, b": setp,
            f"setp.CMP{ftz}.{pair} p:pred|q:pred, a, b": setp,
        }
        for pattern, oracle in rows.items():
            yield pattern, oracle
            yield pattern.replace(".CMP", ".CMP.BOOL") + ", c:pred", oracle


def _of_pairs():
    """Yield the rows of both kinds of halves; those of f16 may flush and saturate."""
    rows = {
        "add{.rn}%s.TYPE d, a, b": ("{.ftz}{.sat}", exactly(exact.added)),
        "sub{.rn}%s.TYPE d, a, b": ("{.ftz}{.sat}", exactly(exact.subtracted)),
        "mul{.rn}%s.TYPE d, a, b": ("{.ftz}{.sat}", exactly(exact.multiplied)),
        "neg%s.TYPE d, a": ("{.ftz}", negated),
        "abs%s.TYPE d, a": ("{.ftz}", magnitude),
        "min%s{.NaN}.TYPE d, a, b": ("{.ftz}", of_kind(extreme, greatest=False)),
        "min%s{.NaN}.xorsign.abs.TYPE d, a, b": ("{.ftz}", of_kind(xorsign, greatest=False)),
        "max%s{.NaN}.TYPE d, a, b": ("{.ftz}", of_kind(extreme, greatest=True)),
        "max%s{.NaN}.xorsign.abs.TYPE d, a, b": ("{.ftz}", of_kind(xorsign, greatest=True)),
    }
    for pattern, (modifiers, oracle) in rows.items():
        yield pattern % modifiers, oracle
        yield pattern % "", oracle


TANH = {"f16": {"absolute": 2.0**-10.987}, "bf16": {"absolute": 2.0**-8}}
EX2 = {"f16": {"relative": 2.0**-9.9}, "bf16": {"relative": 2.0**-7}}

ORACLES = {
    **dict(_of_pairs()),
    "fma.rn{.ftz}{.sat}.TYPE d, a, b, c": exactly(exact.fused),
    "fma.rn{.ftz}.relu.TYPE d, a, b, c": exactly(exact.fused),
    "fma.rn{.relu}.TYPE d, a, b, c": exactly(exact.fused),
    "tanh.approx.TYPE d, a": Oracle(approximate(np.tanh, **TANH), {"a": pairs(ANGLES)}),
    "ex2.approx.TYPE d, a": Oracle(approximate(np.exp2, **EX2), {"a": pairs(EXPONENTS)}),
    "ex2.approx.ftz.TYPE d, a": Oracle(approximate(np.exp2, **EX2), {"a": pairs(EXPONENTS)}),
    "add{.RND}{.sat}.f32.TYPE d:f32, a, c:f32": mixed(exact.added),
    "sub{.RND}{.sat}.f32.TYPE d:f32, a, c:f32": mixed(exact.subtracted),
    "fma.RND{.sat}.f32.TYPE d:f32, a, b, c:f32": mixed(exact.fused),
    **dict(_comparisons()),
}
