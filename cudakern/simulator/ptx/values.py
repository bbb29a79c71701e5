"""Values in C++: the types of PTX's, conversions between them, constants."""

from __future__ import annotations

import re
import struct
from math import copysign, inf, isfinite
from typing import TYPE_CHECKING, NamedTuple

from cudakern.simulator.ptx.model import TYPE_BYTES

if TYPE_CHECKING:
    from cudakern.simulator.ptx.model import Immediate

#: Types of device/types.hpp that have the names of PTX's.
_STRUCTURES = {"f16", "bf16", "f16x2", "bf16x2"}
_INTEGERS = {f"{kind}{size}" for kind in "us" for size in (8, 16, 32, 64)}
_NAMED = {"f32", "f64", "pred", "b128", *_INTEGERS, *_STRUCTURES}
_FORMATS = {4: "<f", 8: "<d"}
_MOST = 300  # characters of a text in a message
_FEW = 10  # numbers below have one digit
_SUFFIXES = {"f32": "f", "f64": ""}
_UNSAFE = re.compile(r"\W")
#: Names of NVRTC's registers, but those of types.
_OWN = re.compile(r"(?:rd|rs|fd|rq|[rp]|f(?!(?:16|32|64)$))\d+")


class CppVariable(NamedTuple):
    """The variable that a register is in C++."""

    type: str
    name: str


def unsigned(size: int) -> str:
    """Return the C++ type of a word of so many bytes."""
    return "b128" if size == TYPE_BYTES["b128"] else f"u{8 * size}"


def type_of_value(kind: str) -> str:
    """Return the C++ type of a value of a PTX type."""
    return kind if kind in _NAMED else unsigned(TYPE_BYTES[kind])


def type_of_register(kind: str) -> str:
    """Return the C++ type of a register that is declared with a PTX type."""
    return kind if kind in {"f32", "f64", "pred"} else unsigned(TYPE_BYTES[kind])


def is_integer(cpp: str) -> bool:
    """Return whether a C++ type is one of integers."""
    return cpp[0] in "us" or cpp == "b128"


def convert(value: str, kind: str, wanted: str) -> str:
    """Return a C++ value of one type as one of another: the same bits, extended or cut.

    It is a name, or a primary or unary expression; so is the result.
    """
    if kind == wanted:
        return value
    if wanted == "pred":
        return f"({value} != 0)"
    if kind == "pred" or (is_integer(kind) and is_integer(wanted)):
        return f"({wanted}){value}"
    if is_integer(wanted):
        bits = unsigned(TYPE_BYTES[kind])
        word = f"{value}.bits" if kind in _STRUCTURES else f"bit_cast<{bits}>({value})"
        return convert(word, bits, wanted)
    bits = convert(value, kind, unsigned(TYPE_BYTES[wanted]))
    return f"{wanted}{{{bits}}}" if wanted in _STRUCTURES else f"bit_cast<{wanted}>({bits})"


def literal(constant: Immediate, wanted: str) -> str:
    """Return a constant as a C++ value."""
    if wanted == "pred":
        return "true" if constant.value else "false"
    size = TYPE_BYTES[wanted]
    word = constant_word(constant, size, as_float=wanted in _SUFFIXES)
    if wanted in _SUFFIXES:
        number = struct.unpack(_FORMATS[size], word.to_bytes(size, "little"))[0]
        if isfinite(number):
            return f"({number.hex()}{_SUFFIXES[wanted]})"
    if wanted == "b128":
        return f"((b128){word >> 64:#x}ull << 64 | {word % 2**64:#x}ull)"
    bits = unsigned(size)
    digits = f"{word:#x}" if word >= _FEW else str(word)
    text = (
        f"{digits}u" if bits == "u32" else f"{digits}ull" if bits == "u64" else f"({bits}){digits}"
    )
    return convert(text, bits, wanted)


def constant_word(constant: Immediate, size: int, *, as_float: bool) -> int:
    """Return the bits of a constant in so many bytes; a float that is asked for is converted."""
    word = constant.value
    own_size = constant.float_bytes
    if as_float and own_size not in {0, size}:
        number = struct.unpack(_FORMATS[own_size], word.to_bytes(own_size, "little"))[0]
        try:
            packed = struct.pack(_FORMATS[size], number)
        except OverflowError:
            packed = struct.pack(_FORMATS[size], copysign(inf, number))
        word = int.from_bytes(packed, "little")
    return word % (1 << 8 * size)


def shorten(text: str) -> str:
    """Return a text for a message, cut since names can be of any length."""
    return text if len(text) <= _MOST else f"{text[:_MOST]}..."


def quote(text: str) -> str:
    """Return a text as a C++ string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def identifier(name: str) -> str:
    """Return a name as one of C++ that is no keyword, and no name of a header."""
    stem = name.lstrip("%")
    return stem if _OWN.fullmatch(stem) else "r_" + _UNSAFE.sub("_", stem)
