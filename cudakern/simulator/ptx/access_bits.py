"""What an instruction does to memory, in the bits that runtime.hpp declares."""

from __future__ import annotations

from cudakern.simulator.ptx.model import LANES
from cudakern.simulator.runtime.abi_parser import read_constant, read_enumeration

_HEADER = "runtime/runtime.hpp"

BYTES = read_constant(_HEADER, "kBytes")
READS = read_constant(_HEADER, "kReads")
WRITES = read_constant(_HEADER, "kWrites")
ATOMIC = read_constant(_HEADER, "kAtomic")
STRONG = read_constant(_HEADER, "kStrong")
VOLATILE = read_constant(_HEADER, "kVolatile")
ACQUIRES = read_constant(_HEADER, "kAcquires")
RELEASES = read_constant(_HEADER, "kReleases")
GUESSES = read_constant(_HEADER, "kGuesses")
RETURNS = read_constant(_HEADER, "kReturns")
PIECE = read_constant(_HEADER, "kPiece")
MBARRIER = read_constant(_HEADER, "kMbarrier")
ALIGNED = read_constant(_HEADER, "kAligned")
SEQUENTIAL = read_constant(_HEADER, "kSequential")
NONCOHERENT = read_constant(_HEADER, "kNonCoherent")
PROXY = read_constant(_HEADER, "kProxy")
COMPARES = read_constant(_HEADER, "kCompares")
INVALIDATES = read_constant(_HEADER, "kInvalidates")
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
