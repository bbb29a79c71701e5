"""What arithmetic with a carry gives: Python's integers."""

from __future__ import annotations

import numpy as np

from tests.simulator.ptx.harness import Oracle
from tests.simulator.ptx.oracles_integers import width

#: Sets the flag to an input before an instruction that takes it, and stores it after one that
#: gives it, by rows of this chapter.
TAKES = "{{ .reg .b32 %unused_; add.cc.u32 %unused_, {carry}, 0xffffffff; }}"
GIVES = "addc.u32 {out}, 0, 0;"


def bits(words, value):
    """Return an integer's bits as an unsigned one."""
    return value & ((1 << width(words)) - 1)


def total(words, a, b, carry):
    """Return a sum before it is cut."""
    return bits(words, a) + bits(words, b) + carry


def difference(words, a, b, borrow):
    """Return a difference before it is cut: negative where a borrow is due."""
    return bits(words, a) - bits(words, b) - borrow


def product(words, a, b, c, carry):
    """Return half of a product, with an addend, before it is cut."""
    half = a * b >> width(words) if words["HALF"] == "hi" else a * b
    return total(words, half, c, carry)


def chained(function, *, takes: bool, gives: bool) -> Oracle:
    """Return the oracle of an instruction that takes a carry, gives one, or both."""

    def answer(words, *operands):
        columns = [operand.tolist() for operand in operands]
        if not takes:
            columns.append([0] * len(columns[0]))
        made = [function(words, *row) for row in zip(*columns, strict=True)]
        result = np.array(made, object)
        carry = np.array([value != bits(words, value) for value in made])
        return (result, carry) if gives else result

    return Oracle(
        answer,
        before=TAKES if takes else "",
        after=GIVES if gives else "",
        inputs={"carry": "u32"} if takes else {},
        outputs={"out": "u32"} if gives else {},
        values={"carry": (0, 1)},
    )


ORACLES = {
    "add.cc.TYPE d, a, b": chained(total, takes=False, gives=True),
    "addc.TYPE d, a, b": chained(total, takes=True, gives=False),
    "addc.cc.TYPE d, a, b": chained(total, takes=True, gives=True),
    "sub.cc.TYPE d, a, b": chained(difference, takes=False, gives=True),
    "subc.TYPE d, a, b": chained(difference, takes=True, gives=False),
    "subc.cc.TYPE d, a, b": chained(difference, takes=True, gives=True),
    "mad.HALF.cc.TYPE d, a, b, c": chained(product, takes=False, gives=True),
    "madc.HALF.TYPE d, a, b, c": chained(product, takes=True, gives=False),
    "madc.HALF.cc.TYPE d, a, b, c": chained(product, takes=True, gives=True),
}
