"""Symbols of C++, and the names that they stand for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

_LENGTH = re.compile(r"L?(\d{1,9})(?!\d)")
_LOCAL_LENGTH = re.compile(r"E(\d{1,9})(?!\d)")
_MAX_LOCALS = 16  # functions around a variable
#: Namespaces without a name, as g++, clang and NVRTC call them.
_UNNAMED = ("_GLOBAL__N", "_INTERNAL_")


def demangle(symbol: str) -> str:
    """Return a function or variable as C++ calls it, without parameters, or the symbol itself.

    ``_ZN5outer5scaleEPfi`` is ``outer::scale``, ``_ZZ5countPiE5calls`` ``count::calls``. Instances
    of templates have no such name; nor has what uses abbreviations (``St``, ``S_``).
    """
    if not symbol.startswith("_Z"):
        return symbol
    if symbol.startswith("_ZZ"):
        return _local(symbol)
    is_nested = symbol.startswith("_ZN")
    names, position = [], 3 if is_nested else 2
    while length := _LENGTH.match(symbol, position):
        position = length.end() + int(length[1])
        names.append(symbol[length.end() : position])
        if not is_nested:
            break
    ends = symbol[position : position + 1]
    if not names or position > len(symbol) or ends == "I" or (is_nested and ends != "E"):
        return symbol
    return "::".join(name for name in names if not name.startswith(_UNNAMED))


def _local(symbol: str) -> str:
    """Return a variable of a function: its encoding, E, the variable's name, perhaps a number."""
    names: list[str] = []
    while symbol.startswith("_ZZ") and len(names) < _MAX_LOCALS:
        for match in _LOCAL_LENGTH.finditer(symbol):
            end = match.end() + int(match[1])
            if end <= len(symbol) and re.fullmatch(r"(?:_\d+|__\d+_)?", symbol[end:]):
                names.insert(0, symbol[match.end() : end])
                symbol = f"_Z{symbol[3 : match.start()]}"
                break
        else:
            break
    outer = symbol if symbol.startswith("_ZZ") else demangle(symbol)
    return "::".join((outer, *names))


def name_variable(symbol: str) -> str:
    """Return the name of a variable, without its namespaces and functions."""
    return demangle(symbol).rpartition("::")[2]


def find_symbols(name: str, symbols: Collection[str]) -> list[str]:
    """Return the symbols that a name may mean: itself, or with or without its namespaces."""
    if name in symbols:
        return [name]
    names = {symbol: demangle(symbol) for symbol in symbols}
    exact = [symbol for symbol, full in names.items() if full == name]
    return exact or [symbol for symbol, full in names.items() if full.endswith(f"::{name}")]
