"""Results of video instructions: NumPy in 64 bits."""

from __future__ import annotations

import numpy as np

from tests.simulator.ptx.oracles_integers import parts

COMPARE = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
ARITHMETIC = {
    "add": np.add,
    "sub": np.subtract,
    "absdiff": lambda a, b: abs(a - b),
    "min": np.minimum,
    "max": np.maximum,
    "avrg": lambda a, b: np.where(a + b >= 0, a + b + 1, a + b) >> 1,
}


def clamped(words, result, bits):
    """Return the nearest values that the destination can hold, if the spelling says so."""
    if words.get("sat") != "1":
        return result
    limits = np.iinfo(f"{'i' if words['D'] == 's32' else 'u'}{bits // 8}")
    return result.clip(limits.min, limits.max)


def scalar(operation):
    """Return the oracle of an operation on words, perhaps followed by a second one."""

    def answer(words, a, b, c=None):
        result = operation(words, a.astype("i8"), b.astype("i8"))
        result = clamped(words, result, 32)
        return result if c is None else ARITHMETIC[words["SECOND"]](result, c.astype("i8"))

    return answer


def on_lanes(operation, lanes):
    """Return the oracle of an operation on the lanes of words."""
    unsigned = f"u{4 // lanes}"

    def answer(words, a, b, c):
        result = operation(words, parts(a, words["A"], lanes), parts(b, words["B"], lanes))
        if words.get("add") == "1":
            return c + result.sum(axis=1)
        return clamped(words, result, 32 // lanes).astype(unsigned).view("u4")[:, 0]

    return answer


def arithmetic(name):
    """Return an operation by its name."""
    return lambda _, a, b: ARITHMETIC[name](a, b)


def compare(words, a, b):
    """Return 1 where a comparison holds."""
    return COMPARE[words["CMP"]](a, b).astype("i8")


ORACLES = {
    "vset.A.B.CMP d:u32, a:A, b:B": scalar(compare),
    "vset.A.B.CMP.SECOND d:u32, a:A, b:B, c:u32": scalar(compare),
}
for name in ("add", "sub", "absdiff", "min", "max"):
    ORACLES |= {
        f"v{name}.D.A.B{{.sat}} d:D, a:A, b:B": scalar(arithmetic(name)),
        f"v{name}.D.A.B{{.sat}}.SECOND d:D, a:A, b:B, c:D": scalar(arithmetic(name)),
    }
for lanes in (2, 4):
    for name in ARITHMETIC:
        oracle = on_lanes(arithmetic(name), lanes)
        ORACLES |= {
            f"v{name}{lanes}.D.A.B{{.sat}} d:D, a:u32, b:u32, c:u32": oracle,
            f"v{name}{lanes}.D.A.B.add d:D, a:u32, b:u32, c:u32": oracle,
        }
    oracle = on_lanes(compare, lanes)
    ORACLES |= {
        f"vset{lanes}.A.B.CMP d:u32, a:u32, b:u32, c:u32": oracle,
        f"vset{lanes}.A.B.CMP.add d:u32, a:u32, b:u32, c:u32": oracle,
    }
