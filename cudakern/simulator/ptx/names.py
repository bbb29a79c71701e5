"""Names that symbols stand for, as far as kernels and variables need it."""

from __future__ import annotations

import re

__all__ = ["called", "qualified"]

_LENGTH = re.compile(r"L?(\d+)")
#: Namespaces without a name, as g++, clang and NVRTC call them.
_UNNAMED = ("_GLOBAL__N", "_INTERNAL_")


def qualified(symbol: str) -> str:
    """Return a function or variable as C++ calls it, without parameters, or the symbol itself.

    ``_ZN5outer5scaleEPfi`` is ``outer::scale``, ``_ZZ5countPiE5calls`` ``count::calls``. Instances
    of templates have no such name; nor has what uses abbreviations (``St``, ``S_``).
    """
    if not symbol.startswith("_Z"):
        return symbol
    if symbol.startswith("_ZZ"):
        return _local(symbol)
    is_nested = symbol.startswith("_ZN")
    found, position = [], 3 if is_nested else 2
    while length := _LENGTH.match(symbol, position):
        position = length.end() + int(length[1])
        found.append(symbol[length.end() : position])
        if not is_nested:
            break
    ends = symbol[position : position + 1]
    if not found or position > len(symbol) or ends == "I" or (is_nested and ends != "E"):
        return symbol
    return "::".join(name for name in found if not name.startswith(_UNNAMED))


def _local(symbol: str) -> str:
    """Return a variable of a function: its encoding, E, the variable's name, perhaps a number."""
    for match in re.finditer(r"E(\d+)", symbol):
        end = match.end() + int(match[1])
        if end <= len(symbol) and re.fullmatch(r"(?:_\d+|__\d+_)?", symbol[end:]):
            return f"{qualified(f'_Z{symbol[3 : match.start()]}')}::{symbol[match.end() : end]}"
    return symbol


def called(name: str, symbols: list[str]) -> list[str]:
    """Return the symbols that a name may mean: itself, or with or without its namespaces."""
    if name in symbols:
        return [name]
    names = {symbol: qualified(symbol) for symbol in symbols}
    exact = [symbol for symbol, full in names.items() if full == name]
    return exact or [symbol for symbol, full in names.items() if full.endswith(f"::{name}")]
