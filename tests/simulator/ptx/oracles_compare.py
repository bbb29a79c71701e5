"""Results of comparisons and selections: NumPy's comparisons."""

from __future__ import annotations

import numpy as np

from tests.simulator.ptx.exact import flushed
from tests.simulator.ptx.harness import DTYPES

TRUE = {"u32": np.uint32(2**32 - 1), "s32": np.int32(-1), "f32": np.float32(1)}
ORDERED = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal,
    "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip
LOGIC = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def compare(words, a, b):
    """Compare; with a NaN, a comparison is true only if its name says unordered."""
    word = words["CMP"]
    if a.dtype.kind != "f":
        return ORDERED[word](a, b)
    nan = np.isnan(a) | np.isnan(b)
    if word in {"num", "nan"}:
        return nan == (word == "nan")
    a, b = flushed(words, a), flushed(words, b)
    if word.endswith("u") and word[:-1] in ORDERED:
        return ORDERED[word[:-1]](a, b) | nan
    return ORDERED[word](a, b) & ~nan


def setp(words, a, b):
    """Return a comparison and its negation."""
    return compare(words, a, b), ~compare(words, a, b)


def setp_logic(words, a, b, c):
    """Return a comparison and its negation, each combined with a predicate."""
    logic = LOGIC[words["BOOL"]]
    return logic(compare(words, a, b), c), logic(~compare(words, a, b), c)


def truth(words, result):
    """Return the result of set."""
    return np.where(result, TRUE[words["RESULT"]], DTYPES[words["RESULT"]].type(0))


def set_(words, a, b):
    """Return all ones or 1.0 where a comparison is true."""
    return truth(words, compare(words, a, b))


def set_logic(words, a, b, c):
    """Return all ones or 1.0 where a comparison, combined with a predicate, is true."""
    return truth(words, LOGIC[words["BOOL"]](compare(words, a, b), c))


def chosen(which, a, b):
    """Return one of two operands, bit for bit."""
    unsigned = f"u{a.dtype.itemsize}"
    return np.where(which, a.view(unsigned), b.view(unsigned))


ORACLES = {
    "selp.TYPE d, a, b, c:pred": lambda _, a, b, c: chosen(c, a, b),
    "slct.TYPE.s32 d, a, b, c:s32": lambda _, a, b, c: chosen(c >= 0, a, b),
    "slct{.ftz}.TYPE.f32 d, a, b, c:f32": lambda words, a, b, c: chosen(
        flushed(words, c) >= 0, a, b
    ),
}
for kind, ftz in ((".TYPE", ""), (".f32", "{.ftz}"), (".f64", "")):
    ORACLES |= {
        f"set.CMP{ftz}.RESULT{kind} d:RESULT, a, b": set_,
        f"set.CMP.BOOL{ftz}.RESULT{kind} d:RESULT, a, b, c:pred": set_logic,
        f"setp.CMP{ftz}{kind} p:pred|q:pred, a, b": setp,
        f"setp.CMP.BOOL{ftz}{kind} p:pred|q:pred, a, b, c:pred": setp_logic,
    }
