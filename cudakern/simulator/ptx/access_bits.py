"""What an instruction does to memory, in the bits that runtime.hpp declares."""

from __future__ import annotations

from cudakern.simulator.ptx.model import LANES
from cudakern.simulator.runtime.abi_parser import constant, enumeration

_HEADER = "runtime/runtime.hpp"

BYTES = constant(_HEADER, "kBytes")
READS = constant(_HEADER, "kReads")
WRITES = constant(_HEADER, "kWrites")
ATOMIC = constant(_HEADER, "kAtomic")
STRONG = constant(_HEADER, "kStrong")
VOLATILE = constant(_HEADER, "kVolatile")
ACQUIRES = constant(_HEADER, "kAcquires")
RELEASES = constant(_HEADER, "kReleases")
GUESSES = constant(_HEADER, "kGuesses")
RETURNS = constant(_HEADER, "kReturns")
PIECE = constant(_HEADER, "kPiece")
MBARRIER = constant(_HEADER, "kMbarrier")
ALIGNED = constant(_HEADER, "kAligned")
SEQUENTIAL = constant(_HEADER, "kSequential")
NONCOHERENT = constant(_HEADER, "kNonCoherent")
PROXY = constant(_HEADER, "kProxy")
COMPARES = constant(_HEADER, "kCompares")
INVALIDATES = constant(_HEADER, "kInvalidates")
#: By the lengths of vectors, as PTX writes them.
VECTORS: dict[str, int] = {
    word: (length.bit_length() - 1) << constant(_HEADER, "kVectorShift")
    for word, length in LANES.items()
}
#: By the words of PTX; scopes the narrowest first.
SCOPES: dict[str, int] = {
    scope.name.lower(): scope << constant(_HEADER, "kScopeShift")
    for scope in enumeration(_HEADER, "Scope")
}
SPACES: dict[str, int] = {
    space.name.lower(): space << constant(_HEADER, "kSpaceShift")
    for space in enumeration(_HEADER, "Space")
}
SPACES["shared::cta"] = SPACES["shared"]
SPACES["shared::cluster"] = SPACES.pop("cluster")
