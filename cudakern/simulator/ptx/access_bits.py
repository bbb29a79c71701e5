"""What an instruction does to memory, in the bits that runtime.hpp declares."""

from __future__ import annotations

from cudakern.simulator.headers import Constants

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
_SPACE_NAMES = {
    "global": "kGlobal",
    "shared": "kShared",
    "shared::cta": "kShared",
    "const": "kConst",
    "local": "kLocal",
    "shared::cluster": "kCluster",
}
#: By the words of PTX.
SPACES = {
    word: _BITS[f"Space::{name}"] << _BITS["kSpaceShift"] for word, name in _SPACE_NAMES.items()
}
#: By the words of PTX, the narrowest first.
SCOPES = {
    word: _BITS[f"Scope::k{word.title()}"] << _BITS["kScopeShift"]
    for word in ("cta", "cluster", "gpu", "sys")
}
