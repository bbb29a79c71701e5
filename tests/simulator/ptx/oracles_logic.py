"""Results of logic and shifts: NumPy's and Python's integers."""

from __future__ import annotations

import numpy as np

from tests.simulator.ptx.harness import Oracle
from tests.simulator.ptx.oracles_integers import each, width

SHIFTS = (*range(34), 47, 48, 63, 64, 65, 127, 128, 255, 256, 2**31, 2**32 - 1)
COUNTS = {"b": SHIFTS}
TABLES = {"lut": (*range(0, 256, 15), 0xE8, 0x96, 0x80, 0xFE, 0xCA, 0x01, 0x02, 0x04, 0x10, 0x40)}


def lop3(a, b, c, table):
    """Look each bit up in a table of eight, whose index has the bits of a, b and c."""
    result = np.zeros_like(a)
    for place in range(32):
        index = (a >> place & 1) << 2 | (b >> place & 1) << 1 | (c >> place & 1)
        result |= (table >> index & 1) << place
    return result


def funnel(words, a, b, c):
    """Shift two words as one of 64 bits."""
    count = min(c, 32) if words["MODE"] == "clamp" else c % 32
    return count, b << 32 | a


def left(words, a, b, c):
    """Return the upper word of one shifted left."""
    count, both = funnel(words, a, b, c)
    return both << count >> 32


def right(words, a, b, c):
    """Return the lower word of one shifted right."""
    count, both = funnel(words, a, b, c)
    return both >> count


def shl(words, a, b):
    """Shift left; if the count is at least the width, all bits leave."""
    return a << min(b, width(words))


def shr(words, a, b):
    """Shift right; Python's integers have any number of copies of the sign."""
    return a >> min(b, width(words))


ORACLES = {
    "and.TYPE d, a, b": lambda _, a, b: a & b,
    "or.TYPE d, a, b": lambda _, a, b: a | b,
    "xor.TYPE d, a, b": lambda _, a, b: a ^ b,
    "not.pred d, a": lambda _, a: ~a,
    "not.TYPE d, a": lambda _, a: ~a,
    "cnot.TYPE d, a": lambda _, a: a == 0,
    "lop3.b32 d, a, b, c, lut:u32": Oracle(
        lambda _, a, b, c, lut: lop3(a, b, c, lut), immediates=TABLES
    ),
    "lop3.or.b32 d|p:pred, a, b, c, lut:u32, q:pred": Oracle(
        lambda _, a, b, c, lut, q: (lop3(a, b, c, lut), (lop3(a, b, c, lut) != 0) | q),
        immediates=TABLES,
    ),
    "lop3.and.b32 d|p:pred, a, b, c, lut:u32, q:pred": Oracle(
        lambda _, a, b, c, lut, q: (lop3(a, b, c, lut), (lop3(a, b, c, lut) != 0) & q),
        immediates=TABLES,
    ),
    "shf.l.MODE.b32 d, a, b, c:u32": Oracle(each(left), values={"c": SHIFTS}),
    "shf.r.MODE.b32 d, a, b, c:u32": Oracle(each(right), values={"c": SHIFTS}),
    "shl.TYPE d, a, b:u32": Oracle(each(shl), values=COUNTS),
    "shr.TYPE d, a, b:u32": Oracle(each(shr), values=COUNTS),
}


# Permutation of bytes: the manual's tables

#: The bytes of the result, highest first, for each selector, of b's bytes 7 to 4 and a's 3 to 0.
CHOSEN = {
    "f4e": ("3210", "4321", "5432", "6543"),
    "b4e": ("5670", "6701", "7012", "0123"),
    "rc8": ("0000", "1111", "2222", "3333"),
    "ecl": ("3210", "3211", "3222", "3333"),
    "ecr": ("0000", "1110", "2210", "3210"),
    "rc16": ("1010", "3232", "1010", "3232"),
}


def prmt(words, a, b, c):
    """Choose bytes of two words; with its highest bit, a selector means the byte's sign."""
    both = np.stack([a, b], axis=1).view("u1").reshape(-1, 8)
    result = np.empty((len(a), 4), "u1")
    for place in range(4):
        if words["MODE"] == "none":
            chosen = c >> np.uint32(4 * place) & 15
        else:
            table = [int(row[3 - place]) for row in CHOSEN[words["MODE"]]]
            chosen = np.array(table)[c & 3]
        byte = both[np.arange(len(a)), chosen & 7]
        result[:, place] = np.where(chosen & 8, np.where(byte & 0x80, 0xFF, 0), byte)
    return result.view("u4")[:, 0]


ORACLES |= {
    "prmt.b32{.MODE} d, a, b, c": Oracle(
        prmt,
        values={"a": (0x03020100, 0x83828180, 0x7F80FF00), "b": (0x07060504, 0x87868584)},
    ),
}
