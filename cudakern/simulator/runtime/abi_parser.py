"""What Python and the runtimes share, read from the headers that declare it."""

from __future__ import annotations

import ctypes
import re
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_SIMULATOR = Path(__file__).resolve().parents[1]
_FUNCTION = re.compile(r"\w+ \(\*(\w+)\)\(.*\)")
_FIELDS = re.compile(r"(?:mutable )?(const )?(?:ck_sim::)?(\w+)(\**) ((?:(?:, )?\w+(?:\[\d+\])?)+)")
_SCALARS = {
    "int": ctypes.c_int,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "int64_t": ctypes.c_int64,
    "char": ctypes.c_char,
}
#: By their names in C++, with the headers that declare them.
STRUCTURES: dict[str, tuple[type[ctypes.Structure], str]] = {}


def read_constant(header: str, name: str) -> int:
    """Return a constant of a header, a number that may be shifted."""
    number = r"(0x[\dA-F]+|\d+)u?(?: << (\d+))?"
    declaration = _declaration(header, name, rf"\nconstexpr \w+ {name} = {number};")
    return int(declaration[1], 0) << int(declaration[2] or 0)


def read_enumeration(header: str, name: str) -> Any:  # noqa: ANN401  mypy wants a literal's members
    """Return an enumeration without values: its ``kGlobal`` or ``ck_sim_global`` is ``GLOBAL``."""
    pattern = rf"\nenum (?:class )?{name} : \w+ \{{([\w\s,]*)\}};"
    words = re.findall(r"\w+", _declaration(header, name, pattern)[1])
    names = [re.sub(r"^(?:k|ck_sim_)|_$", "", word).upper() for word in words]
    return IntEnum(name, names, start=0)


def read_structure(header: str, name: str) -> type[ctypes.Structure]:
    """Return a structure as a header declares it; those that it points to must be read before."""
    body = _declaration(header, name, rf"\nstruct {name} \{{(.*?)\n\}};")
    declarations = [" ".join(words.split()) for words in body[1].split(";")][:-1]
    fields = [field for words in declarations for field in _fields(words, f"{header}: {name}")]
    type_ = type(name, (ctypes.Structure,), {"__slots__": (), "_fields_": fields})
    STRUCTURES[name] = type_, header
    return type_


def _fields(declaration: str, owner: str) -> Iterator[tuple[str, Any]]:
    """Yield name and type of what a declaration such as ``uint32_t block[3], bytes`` declares."""
    function = _FUNCTION.fullmatch(declaration)
    if function is not None:
        yield function[1], ctypes.c_void_p
        return
    words = _FIELDS.fullmatch(declaration)
    is_const, stem, stars, names = words.groups() if words else ("", "", "", "")
    target = STRUCTURES[stem][0] if stem in STRUCTURES else _SCALARS.get(stem)
    if stars:
        type_ = _pointer(target, stars, is_constant=bool(is_const))
    elif target is not None:
        type_ = target
    else:
        message = f"cudakern: {owner}: abi_parser.py must know the type of {declaration!r}"
        raise AssertionError(message)
    for name in names.split(", "):
        field, _, count = name.rstrip("]").partition("[")
        yield field, type_ * int(count) if count else type_


def _pointer(target: Any, stars: str, *, is_constant: bool) -> Any:  # noqa: ANN401
    """Return the type of a pointer: an address, unless Python follows it."""
    if target is None or stars != "*" or (target is ctypes.c_char and not is_constant):
        return ctypes.c_void_p
    return ctypes.c_char_p if target is ctypes.c_char else ctypes.POINTER(target)


def initializer(struct: type[ctypes.Structure], **values: object) -> str:
    """Return the initializer of a structure in C++; fields without a value are zeros."""
    names = [field[0] for field in struct._fields_]
    if not values.keys() <= set(names):
        requirement = f"{struct.__name__} must have the fields {', '.join(values)}"
        message = f"cudakern: {requirement}; its header declares {', '.join(names)}"
        raise AssertionError(message)
    while names and names[-1] not in values:
        names.pop()
    return f"{{{', '.join(str(values.get(name, '{}')) for name in names)}}}"


def _declaration(header: str, name: str, pattern: str) -> re.Match[str]:
    declaration = re.search(pattern, _text_of(header), re.DOTALL)
    if declaration is None:
        message = f"cudakern: {header} must declare {name} as abi_parser.py reads it"
        raise AssertionError(message)
    return declaration


@cache
def _text_of(header: str) -> str:
    """Return the text of a header without comments."""
    return re.sub(r"//.*", "", (_SIMULATOR / header).read_text(encoding="utf-8"))
