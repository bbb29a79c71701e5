"""What an instruction does to memory, in the bits that runtime.hpp declares."""

from __future__ import annotations

from cudakern.simulator.ptx.model import LANES
from cudakern.simulator.runtime.abi_parser import read_constant, read_enumeration

_HEADER = "runtime/runtime.hpp"

_NAMES = """
Bytes Reads Writes Atomic Strong Volatile Acquires Releases Guesses Returns Piece Mbarrier Aligned
Sequential NonCoherent Proxy Compares Invalidates
"""

#: By their names without the k, in lower case.
BITS = {name.lower(): read_constant(_HEADER, f"k{name}") for name in _NAMES.split()}
#: By the lengths of vectors, as PTX writes them.
VECTORS: dict[str, int] = {
    word: (length.bit_length() - 1) << read_constant(_HEADER, "kVectorShift")
    for word, length in LANES.items()
}
#: By the words of PTX; scopes the narrowest first.
SCOPES: dict[str, int] = {
    scope.name.lower(): scope << read_constant(_HEADER, "kScopeShift")
    for scope in read_enumeration(_HEADER, "Scope")
}
SPACES: dict[str, int] = {
    space.name.lower(): space << read_constant(_HEADER, "kSpaceShift")
    for space in read_enumeration(_HEADER, "Space")
}
SPACES["shared::cta"] = SPACES["shared"]
SPACES["shared::cluster"] = SPACES.pop("cluster")
