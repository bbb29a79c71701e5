"""Results of integer arithmetic: Python's integers, and the manual's own pseudo code."""

from __future__ import annotations

import numpy as np

from tests.simulator.ptx.harness import DTYPES, Oracle


def each(function):
    """Return an oracle that gives Python's integers to a function, one by one."""

    def answer(words, *operands):
        columns = (operand.tolist() for operand in operands)
        return np.array([function(words, *row) for row in zip(*columns, strict=True)], object)

    return answer


def width(words) -> int:
    """Return the bits of an instruction's type."""
    return 8 * DTYPES[words["TYPE"]].itemsize


def wrap(value: int, kind: str) -> int:
    """Return an integer cut to a type."""
    bits = 8 * DTYPES[kind].itemsize
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if kind[0] == "s" and low >> (bits - 1) else low


def saturated(value: int) -> int:
    """Return the nearest integer of type s32."""
    return min(max(value, -(2**31)), 2**31 - 1)


def low24(value: int, words) -> int:
    """Return the low 24 bits, as a signed number where the type is signed."""
    low = value & 0xFFFFFF
    return low - (1 << 24) if words["TYPE"] == "s32" and low >> 23 else low


def product24(words, a, b):
    """Return the 48 bits of the product of the low 24 bits."""
    return low24(a, words) * low24(b, words)


def high24(words, a, b):
    """Return bits 16 to 47 of that product."""
    return wrap(product24(words, a, b) >> 16, words["TYPE"])


def high(words, a, b):
    """Return the upper half of a product."""
    return a * b >> width(words)


def quotient(_, a, b):
    """Return a quotient, cut towards zero; all ones for a division by zero."""
    return -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def rest(_, a, b):
    """Return the remainder: with the sign of a, or a itself for a division by zero."""
    return a if b == 0 else abs(a) % abs(b) * (-1 if a < 0 else 1)


def relu(function):
    """Return a function whose negative results are zero, if the spelling says so."""

    def answer(words, a, b):
        result = function(a, b)
        return np.maximum(result, 0) if words.get("relu") == "1" else result

    return answer


def bits(words, value) -> str:
    """Return the digits of an unsigned value, the lowest first."""
    return f"{value & ((1 << width(words)) - 1):0{width(words)}b}"[::-1]


def bfind(words, a):
    """Find the highest digit that differs from the sign."""
    digits = bits(words, a)
    place = digits.rfind("1" if a >= 0 else "0")
    if place < 0:
        return 0xFFFFFFFF
    return width(words) - 1 - place if words["shiftamt"] == "1" else place


def fns(_, mask, base, offset):
    """Find the n-th set bit: the manual's loop, which finds none if the base exceeds 31."""
    if base > 31:
        return 0xFFFFFFFF
    places = range(base, 32) if offset >= 0 else range(base, -1, -1)
    if offset == 0:
        return base if mask >> base & 1 else 0xFFFFFFFF
    result = [at for at in places if mask >> at & 1]
    return result[abs(offset) - 1] if len(result) >= abs(offset) else 0xFFFFFFFF


def bfe(words, a, b, c):
    """Cut a field out of digits, and extend it with its sign."""
    start, length = b & 255, c & 255
    if length == 0:
        return 0
    digits = bits(words, a)
    sign = digits[min(start + length, len(digits)) - 1] if words["TYPE"][0] == "s" else "0"
    field = digits[start : start + length]
    return int((field + sign * (len(digits) - len(field)))[::-1], 2)


def bfi(words, a, b, c, e):
    """Put digits of a into b."""
    start, length = c & 255, e & 255
    digits = [*bits(words, b)]
    for i, digit in enumerate(bits(words, a)[:length]):
        if start + i < len(digits):
            digits[start + i] = digit
    return int("".join(digits)[::-1], 2)


def szext(words, a, b):
    """Extend the low bits: the manual's pseudo code."""
    count = b & 31
    if b >= 32 and words["MODE"] == "clamp":
        return a
    low = a & ((1 << count) - 1)
    return low - (1 << count) if count and low >> (count - 1) & words["signed"] else low


def bmsk(words, a, b):
    """Make a mask: the manual's pseudo code, in 32 bits."""
    every = 0xFFFFFFFF
    start, count = a & 31, b & 31
    mask0, mask1 = every << start & every, every << (start + count) & every
    wide = start + count >= 32
    if words["MODE"] == "clamp":
        mask0 = 0 if a >= 32 else mask0
        wide = wide or a >= 32 or b >= 32
    if wide:
        mask1 = 0
    elif count == 0:
        mask1 = every
    return mask0 & ~mask1


def parts(values, kind: str, count: int):
    """Return the bytes or halves of words as wide integers, along a new last axis."""
    small = f"{'i' if kind == 's32' else 'u'}{4 // count}"
    return np.ascontiguousarray(values).view(small).reshape(-1, count).astype("i8")


def dp4a(words, a, b, c):
    """Add the products of bytes."""
    return c + (parts(a, words["A"], 4) * parts(b, words["B"], 4)).sum(axis=1)


def dp2a(words, a, b, c):
    """Add the products of halves with bytes."""
    which = slice(0, 2) if words["HALF"] == "lo" else slice(2, 4)
    return c + (parts(a, words["A"], 2) * parts(b, words["B"], 4)[:, which]).sum(axis=1)


#: Starts and lengths of fields, some with bits above the lowest eight, which do not count.
PLACES = (
    *(0, 1, 2, 7, 8, 15, 16, 30, 31, 32, 33, 40, 63, 64, 65, 127),
    *(128, 130, 160, 254, 255, 256, 257, 0x12320),
)
FIELDS = {"b": PLACES, "c": PLACES}
COUNTS = {"b": (*range(34), 63, 64, 65, 255, 256, 2**31, 2**32 - 1)}

ORACLES = {
    "add.TYPE d, a, b": lambda _, a, b: a + b,
    "add.sat.s32 d, a, b": each(lambda _, a, b: saturated(a + b)),
    "sub.TYPE d, a, b": lambda _, a, b: a - b,
    "sub.sat.s32 d, a, b": each(lambda _, a, b: saturated(a - b)),
    "mul.lo.TYPE d, a, b": each(lambda _, a, b: a * b),
    "mul.hi.TYPE d, a, b": each(high),
    **{f"mul.wide.{kind}16 d:{kind}32, a, b": lambda _, a, b: a.astype("i8") * b for kind in "us"},
    **{f"mul.wide.{kind}32 d:{kind}64, a, b": each(lambda _, a, b: a * b) for kind in "us"},
    "mad.lo.TYPE d, a, b, c": each(lambda _, a, b, c: a * b + c),
    "mad.hi.TYPE d, a, b, c": each(lambda words, a, b, c: high(words, a, b) + c),
    "mad.hi.sat.s32 d, a, b, c": each(lambda _, a, b, c: saturated((a * b >> 32) + c)),
    **{
        f"mad.wide.{kind}{n} d:{kind}{2 * n}, a, b, c:{kind}{2 * n}": each(
            lambda _, a, b, c: a * b + c
        )
        for kind in "us"
        for n in (16, 32)
    },
    "mul24.lo.TYPE d, a, b": each(product24),
    "mul24.hi.TYPE d, a, b": each(high24),
    "mad24.lo.TYPE d, a, b, c": each(lambda words, a, b, c: product24(words, a, b) + c),
    "mad24.hi.TYPE d, a, b, c": each(lambda words, a, b, c: high24(words, a, b) + c),
    "mad24.hi.sat.s32 d, a, b, c": each(
        lambda _, a, b, c: saturated(high24({"TYPE": "s32"}, a, b) + c)
    ),
    "sad.TYPE d, a, b, c": each(lambda _, a, b, c: c + abs(a - b)),
    "div.TYPE d, a, b": each(quotient),
    "rem.TYPE d, a, b": each(rest),
    "abs.TYPE d, a": each(lambda _, a: abs(a)),
    "neg.TYPE d, a": each(lambda _, a: -a),
    "min.TYPE d, a, b": lambda _, a, b: np.minimum(a, b),
    "min.relu.s32 d, a, b": lambda _, a, b: np.maximum(np.minimum(a, b), 0),
    "min.u16x2 d, a, b": relu(np.minimum),
    "min{.relu}.s16x2 d, a, b": relu(np.minimum),
    "max.TYPE d, a, b": lambda _, a, b: np.maximum(a, b),
    "max.relu.s32 d, a, b": lambda _, a, b: np.maximum(np.maximum(a, b), 0),
    "max.u16x2 d, a, b": relu(np.maximum),
    "max{.relu}.s16x2 d, a, b": relu(np.maximum),
    "popc.TYPE d:u32, a": each(lambda words, a: bits(words, a).count("1")),
    "clz.TYPE d:u32, a": each(lambda words, a: width(words) - a.bit_length()),
    "bfind{.shiftamt}.TYPE d:u32, a": each(bfind),
    "fns.b32 d, a, b:u32, c:s32": Oracle(
        each(fns),
        values={"b": (*range(33), 2**32 - 1), "c": (*range(-9, 10), -32, 32, 33, -(2**31))},
    ),
    "brev.TYPE d, a": each(lambda words, a: int(bits(words, a), 2)),
    "bfe.TYPE d, a, b:u32, c:u32": Oracle(each(bfe), values=FIELDS),
    "bfi.TYPE d, a, b, c:u32, e:u32": Oracle(each(bfi), values={"c": PLACES, "e": PLACES}),
    **{
        f"szext.MODE.{kind} d, a, b:u32": Oracle(
            each(lambda words, a, b, s=s: szext({**words, "signed": s}, a, b)), values=COUNTS
        )
        for kind, s in (("u32", 0), ("s32", 1))
    },
    "bmsk.MODE.b32 d, a, b": Oracle(each(bmsk), values={**COUNTS, "a": COUNTS["b"]}),
    "dp4a.A.B d:u32, a:u32, b:u32, c:u32": dp4a,
    "dp2a.HALF.A.B d:u32, a:u32, b:u32, c:u32": dp2a,
}


# Arithmetic with a carry: Python's integers

#: Sets the flag to an input before an instruction that takes it, and stores the flag after one
#: that sets it, with instructions of this chapter.
TAKES = "{{ .reg .b32 %unused_; add.cc.u32 %unused_, {carry}, 0xffffffff; }}"
GIVES = "addc.u32 {out}, 0, 0;"


def low_bits(words, value):
    """Return an integer's bits as an unsigned integer."""
    return value & ((1 << width(words)) - 1)


def total(words, a, b, carry):
    """Return a sum before it is cut."""
    return low_bits(words, a) + low_bits(words, b) + carry


def difference(words, a, b, borrow):
    """Return a difference before it is cut: negative where a borrow is due."""
    return low_bits(words, a) - low_bits(words, b) - borrow


def product(words, a, b, c, carry):
    """Return half of a product, with an addend, before it is cut."""
    half = a * b >> width(words) if words["HALF"] == "hi" else a * b
    return total(words, half, c, carry)


def chained(function, *, takes: bool, gives: bool) -> Oracle:
    """Return the oracle of an instruction that takes a carry, sets one, or both."""

    def answer(words, *operands):
        columns = [operand.tolist() for operand in operands]
        if not takes:
            columns.append([0] * len(columns[0]))
        result = [function(words, *row) for row in zip(*columns, strict=True)]
        result = np.array(result, object)
        carry = np.array([value != low_bits(words, value) for value in result])
        return (result, carry) if gives else result

    return Oracle(
        answer,
        before=TAKES if takes else "",
        after=GIVES if gives else "",
        inputs={"carry": "u32"} if takes else {},
        outputs={"out": "u32"} if gives else {},
        values={"carry": (0, 1)},
    )


ORACLES |= {
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
