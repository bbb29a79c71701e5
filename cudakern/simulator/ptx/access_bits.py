"""What an instruction does to memory, in the bits that runtime.hpp declares."""

from __future__ import annotations

from cudakern.simulator.headers import Constants, enumeration

_BITS = Constants("runtime/runtime.hpp")

BYTES = _BITS["kBytes"]
READS = _BITS["kReads"]
WRITES = _BITS["kWrites"]
ATOMIC = _BITS["kAtomic"]
STRONG = _BITS["kStrong"]
VOLATILE = _BITS["kVolatile"]
ACQUIRES = _BITS["kAcquires"]
RELEASES = _BITS["kReleases"]
GUESSES = _BITS["kGuesses"]
RETURNS = _BITS["kReturns"]
PIECE = _BITS["kPiece"]
MBARRIER = _BITS["kMbarrier"]
ALIGNED = _BITS["kAligned"]
#: By the words of PTX; scopes the narrowest first.
SCOPES: dict[str, int] = {
    scope.name.lower(): scope << _BITS["kScopeShift"]
    for scope in enumeration("runtime/runtime.hpp", "Scope")
}
SPACES: dict[str, int] = {
    space.name.lower(): space << _BITS["kSpaceShift"]
    for space in enumeration("runtime/runtime.hpp", "Space")
}
SPACES["shared::cta"] = SPACES["shared"]
SPACES["shared::cluster"] = SPACES.pop("cluster")
